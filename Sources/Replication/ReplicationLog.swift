/// Where a leader's changes are, in their order, for whoever follows: a folder, or a stream of a server. What ships,
/// follows and restores is written against this alone.
///
/// Everything is of an origin, the leader's file. Batches of one make a chain: each begins at the version where the one
/// before ends. A snapshot is the whole file at a version of the chain.
import MotteStorage
import MotteValues

package struct LogSnapshot: Equatable, Sendable {
    package var origin: ChangeOrigin
    package var info: SnapshotInfo

    package init(origin: ChangeOrigin, info: SnapshotInfo) {
        self.origin = origin
        self.info = info
    }
}

package protocol ReplicationLog: AnyObject {
    /// As messages name it and followers keep it: without passwords.
    var place: String { get }
    /// By which name the leader's file keeps its changes for this log: another one for each log.
    var consumer: String { get }
    /// With which batches are encrypted there, if the file is.
    var key: BatchKey { get }

    /// Who leads; nil where nobody has shipped yet.
    func leader() throws(DatabaseError) -> LeaderRecord?
    /// nil where there is nothing of the origin.
    func end(of origin: ChangeOrigin) throws(DatabaseError) -> LogEnd?
    /// What whoever takes over from that leader must have: up to where the leader has shipped, or if it has shipped
    /// nothing yet, what it must have had itself. nil: nothing.
    func needed(of leader: LeaderRecord) throws(DatabaseError) -> LogPosition?
    /// Those that are whole, the oldest first.
    func snapshots(of origin: ChangeOrigin) throws(DatabaseError) -> [SnapshotInfo]
    /// Those of everybody who has led, in the order in which they came.
    func allSnapshots() throws(DatabaseError) -> [LogSnapshot]
    /// The batch that begins at a version; nil where there is none yet, or none any more.
    func changes(after version: Version, of origin: ChangeOrigin) throws(DatabaseError) -> ChangeBatch?
    /// Whether there is a batch that begins after a version, and ends at `last` or before; nil: anywhere. Where none
    /// begins at that version, something is missing before it.
    func hasChanges(of origin: ChangeOrigin, beyond version: Version, upTo last: Version?) throws(DatabaseError) -> Bool
    /// Makes a new file of a snapshot, with the key that batches are encrypted with, all or nothing.
    func copySnapshot(_ info: SnapshotInfo, of origin: ChangeOrigin, to path: String) throws(DatabaseError)
    /// Whether the last look for changes came to something else that goes on: another leader, or a snapshot.
    var maySeeGap: Bool { get }
    /// Whether a batch may be missing among others: files can be deleted, or come later than those behind them.
    var mayLackBatches: Bool { get }
    /// Waits until there may be something new, or for that time.
    func wait(milliseconds: Int64) throws(DatabaseError)

    /// Begins to lead, in place of `former`, which is what `leader` said. Refused where it is not any more. A log that
    /// can keeps what the new leader calls the objects of the former one.
    func lead(
        _ record: LeaderRecord, inPlaceOf former: LeaderRecord?, handing: NameHandover?
    ) throws(DatabaseError)
    /// What the leader calls the objects of whoever led before; nil where that is not there.
    func handover(to leader: LeaderRecord) throws(DatabaseError) -> NameHandover?
    /// Refused where somebody else leads by now; `shipped` is up to where the log has what this process leads.
    func checkLead(shipped: Version?) throws(DatabaseError)
    /// Adds a batch at the end; false where there is already one from that version on.
    func append(_ batch: ChangeBatch) throws(DatabaseError) -> Bool
    /// Where the file of a snapshot is to be made, on which nothing else depends.
    func placeForSnapshot(_ version: Version) throws(DatabaseError) -> String
    /// Takes the file that was made there.
    func addSnapshot(_ info: SnapshotInfo, from path: String) throws(DatabaseError)
    /// Whether a snapshot of the leader is still there.
    func has(_ snapshot: SnapshotInfo) throws(DatabaseError) -> Bool
    /// Removes, the oldest first, what is before a snapshot: nothing where that is not whole.
    func trim(before base: LogSnapshot) throws(DatabaseError)
    /// Whether there is more of that than was removed at once.
    var isTrimming: Bool { get }
    /// Removes some more of it.
    func goOnTrimming() throws(DatabaseError)

    /// Says that the leader is there; from any thread.
    func beat(_ heartbeat: Heartbeat) throws(DatabaseError)
    /// What was said last; nil: nothing.
    func heartbeat() throws(DatabaseError) -> Heartbeat?

    /// Steps between which a process may be killed, or a disk be full: tests throw there.
    func step(_ step: LogStep) throws(DatabaseError)
}

extension ReplicationLog {
    package var consumer: String { place }
    package func step(_ step: LogStep) throws(DatabaseError) {}
    package var maySeeGap: Bool { false }
    package var mayLackBatches: Bool { false }
    package var isTrimming: Bool { false }
    package func goOnTrimming() throws(DatabaseError) {}
    package func handover(to leader: LeaderRecord) throws(DatabaseError) -> NameHandover? { nil }

    package func needed(of leader: LeaderRecord) throws(DatabaseError) -> LogPosition? {
        try end(of: leader.origin).map { LogPosition(origin: leader.origin, version: $0.version) }
    }

    /// The leader, who must be there.
    func knownLeader() throws(DatabaseError) -> LeaderRecord {
        if let leader = try leader() { return leader }
        throw DatabaseError(.fileNotFound, "nobody has shipped to '\(place)' yet: it names no leader", path: place)
    }

    /// The newest snapshot of an origin that can be had: one may be removed while it is read.
    func copyNewestSnapshot(of origin: ChangeOrigin, to path: String) throws(DatabaseError) {
        var failure = DatabaseError(
            .fileNotFound, "there is no snapshot in '\(place)' yet to begin with", path: place)
        for info in try snapshots(of: origin).reversed() {
            do throws(DatabaseError) {
                return try copySnapshot(info, of: origin, to: path)
            } catch {
                guard error.code == .busy else { throw error }
                if failure.code != .busy { failure = error }
            }
        }
        throw failure
    }

    /// Somebody leads who is not `record`.
    func deposed(by found: LeaderRecord, after version: Version?) -> DatabaseError {
        DatabaseError(
            .historyForked,
            "\(found.name) has taken over '\(place)': this file leads no longer, and what it has committed after "
                + "version \(version?.rawValue ?? 0) is not there; make it a follower, as a new file", path: place)
    }
}

/// A version of an origin.
package struct LogPosition: Equatable, Sendable {
    package let origin: ChangeOrigin
    package let version: Version

    package init(origin: ChangeOrigin, version: Version) {
        self.origin = origin
        self.version = version
    }
}

/// How far a log has an origin's changes.
package struct LogEnd: Equatable, Sendable {
    package let version: Version
    package let checksum: UInt32
    /// Of that version's commit, nanoseconds since 1970.
    package let wallTimeNanoseconds: Int64
    /// Of the batches after the newest snapshot.
    package let bytes: Int
    package let snapshot: SnapshotInfo?

    init(_ batch: ChangeBatch, bytes: Int, snapshot: SnapshotInfo?) {
        self.init(batch.to, batch.toChecksum, batch.wallTimeNanoseconds, bytes: bytes, snapshot)
    }

    /// The log ends with a snapshot, which may have been lost since.
    init(_ snapshot: SnapshotInfo, isThere: Bool = true) {
        self.init(
            snapshot.version, snapshot.checksum, snapshot.wallTimeNanoseconds, bytes: 0, isThere ? snapshot : nil)
    }

    init(_ version: Version, _ checksum: UInt32, _ wallTime: Int64, bytes: Int, _ snapshot: SnapshotInfo?) {
        self.version = version
        self.checksum = checksum
        wallTimeNanoseconds = wallTime
        self.bytes = bytes
        self.snapshot = snapshot
    }
}
