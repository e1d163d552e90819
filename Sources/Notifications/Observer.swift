/// What computes the changes of one observed thing: remembers it as it was, and compares when the session moves.
///
/// On the session's thread only. `advance` is called with the session at a committed version and nothing changed in it.
import MotteLiveObjects
import MotteStorage
import MotteValues

class Observer {
    let session: Session
    /// Which changes below the elements count; nil: all that are not too far away.
    let filter: KeyPathFilter?
    /// The version that is remembered.
    var version: Version

    init(_ session: Session, _ filter: KeyPathFilter? = nil) throws(DatabaseError) {
        self.session = session
        self.filter = filter
        version = try session.version
    }

    /// Whether the first delivery tells the state that observation starts from.
    var tellsInitialState: Bool { false }

    /// What the notifier may move on ahead of the session.
    var watched: WatchedQuery? { nil }

    /// Remembers the present state.
    func initialState() throws(DatabaseError) -> ChangeSet {
        version = try session.version
        var changes = ChangeSet(.collection, from: version, to: version)
        changes.isInitial = true
        return changes
    }

    /// What changed since the remembered version, nil for nothing; remembers the present one.
    func advance(_ context: DeliveryContext) throws(DatabaseError) -> ChangeSet? { nil }
}
