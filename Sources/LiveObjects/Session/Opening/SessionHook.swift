/// How the layer above is notified that a session advances: it puts one of these into `Session.hook`.
///
/// Called on the session's thread. At the time of a call the session shows the version it moved to, and its rows are
/// those of that version: during `.beginWrite` nothing has been changed yet.
import MotteValues

package enum DeliveryPoint: Sendable {
    case refresh
    case beginWrite
    case commit
    case dispatch
}

package protocol SessionHook: AnyObject {
    /// After every refresh, begin-write and commit, also those that did not move.
    func deliver(_ session: Session, at point: DeliveryPoint) throws(DatabaseError)

    /// True while callbacks of this session run: it must not be moved or closed under them.
    var isDelivering: Bool { get }

    /// Before a wait for a change returns: what a version means to observers may be about to be known.
    func waitUntilPrepared(_ version: Version)

    /// What waited for the end of a write of the session can go on.
    func writeHasEnded()

    /// Whoever is not notified of the next commit; and takes that back, to be said again when it is notified of.
    func skip(_ observers: [AnyObject])
    func takeSkipped() -> [AnyObject]

    func sessionWillClose(_ session: Session)

    /// The session lets go of its file for a while: nothing may keep it open.
    func sessionWillLeaveFile(_ session: Session)

    /// It has the file again, or one in its place, at the newest version.
    func sessionDidReturn(_ session: Session) throws(DatabaseError)
}
