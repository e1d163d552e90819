/// Following a leader by the log that it ships to: a new file begins with the newest snapshot, and goes on batch by
/// batch, each one write in which the file also keeps how far it got. So it may be killed anywhere, and what is
/// delivered again does nothing. Whoever writes to the file otherwise is refused, with the leader's name.
import MotteLiveObjects
import MotteStorage
import MotteValues

package enum FollowingStep: Equatable, Sendable {
    case nothing
    case applied(from: Version, to: Version, byteCount: Int)
}

package final class Following {
    package let session: Session
    package let leader: LeaderRecord
    package let log: ReplicationLog
    package private(set) var position: ReplicaPosition
    /// Where nothing came, the log is looked through for what came after a gap.
    private var waits = 0
    private static let waitsBetweenLooks = 64

    package init(_ options: SessionOptions, from log: ReplicationLog) throws(DatabaseError) {
        self.log = log
        try log.key.use(options.encryptionKey)
        leader = try log.knownLeader()
        if try !Session.exists(options) { try Self.begin(options, log, leader.origin) }
        var existing = options
        existing.noCreate = true
        session = try Session.open(existing)
        let known = try session.leader()
        if let known, known.origin != leader.origin { throw Self.otherLeader(known, leader, log.place) }
        guard let position = try session.replicaPosition(leader.origin) else {
            throw DatabaseError(
                .invalidArgument,
                "this file has nothing of \(leader.name): name a new file, which begins with a snapshot",
                path: session.path)
        }
        guard try !session.hasLeft() else {
            throw DatabaseError(
                .invalidArgument,
                "this file goes a way of its own since it was restored, or ceased to follow \(leader.name): name a new "
                    + "file, which begins with a snapshot", path: session.path)
        }
        self.position = position
        let mark = FollowedLeader(origin: leader.origin, name: leader.name, source: log.place)
        if known != mark { try session.follow(mark) }
    }

    private static func otherLeader(
        _ known: FollowedLeader, _ leader: LeaderRecord, _ path: String
    ) -> DatabaseError {
        DatabaseError(
            .historyForked,
            "this file follows \(known.name), and '\(path)' is led by \(leader.name), another file: begin a new one to "
                + "follow that", path: path)
    }

    /// A new file from the newest snapshot.
    private static func begin(
        _ options: SessionOptions, _ log: ReplicationLog, _ origin: ChangeOrigin
    ) throws(DatabaseError) {
        guard case .file(let path) = options.location else {
            throw DatabaseError(.invalidArgument, "a follower is a file")
        }
        try log.step(.make)
        try log.copyNewestSnapshot(of: origin, to: path, encryptionKey: options.encryptionKey)
        try log.step(.name)
    }

    /// Makes a copy of a leader's file one that is at a position of it.
    static func adopt(_ path: String, _ position: ReplicaPosition, _ leader: Session) throws(DatabaseError) {
        var options = SessionOptions(path: path)
        options.encryptionKey = leader.encryptionKey
        options.noCreate = true
        let copy = try Session.open(options)
        // What was committed is there, and an open write would be rolled back.
        defer { _ = try? copy.close() }
        try copy.adopt(position)
    }

    /// Applies the next batch, if it is there.
    package func step() throws(DatabaseError) -> FollowingStep {
        guard let batch = try log.changes(after: position.version, of: leader.origin) else {
            try lookForGap()
            return .nothing
        }
        waits = 0
        try log.step(.make)
        _ = try session.apply(batch)
        try log.step(.name)
        guard let now = try session.replicaPosition(leader.origin), now.version >= batch.to else {
            throw DatabaseError(.internal, "a batch was applied and the position stayed")
        }
        position = now
        return .applied(from: batch.from, to: batch.to, byteCount: batch.bytes.count)
    }

    /// What is older than the oldest snapshot is removed: then nothing follows any more.
    private func lookForGap() throws(DatabaseError) {
        waits += 1
        guard waits % Self.waitsBetweenLooks == 1 || log.hasSeenAnotherLeader else { return }
        let now = try log.knownLeader()
        guard now.origin == leader.origin else {
            throw DatabaseError(
                .historyForked,
                "\(now.name) has taken over '\(log.place)' from \(leader.name): begin a new file to follow that",
                path: log.place)
        }
        guard let end = try log.end(of: leader.origin), end.version > position.version else { return }
        // It may have come just now.
        guard try log.changes(after: position.version, of: leader.origin) == nil else { return waits = 0 }
        throw DatabaseError(
            .outOfSequence,
            "the changes after version \(position.version.rawValue) are no longer in '\(log.place)', which begins at "
                + "\(try log.snapshots(of: leader.origin).first?.version.rawValue ?? 0): begin a new file",
            path: log.place)
    }
}
