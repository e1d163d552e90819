/// Following a leader by the log that it ships to: a new file begins with the newest snapshot, and goes on batch by
/// batch, each one write in which the file also keeps how far it got. So it may be killed anywhere, and what is
/// delivered again does nothing. Whoever writes to the file otherwise is refused, with the leader's name.
import MotteLiveObjects
import MotteStorage
import MotteValues

package enum FollowingStep: Equatable, Sendable {
    case nothing
    case applied(from: Version, to: Version, byteCount: Int)
    /// Another one leads, which has handed over.
    case goesOn(with: String, from: Version)
    /// Somebody has made it a file of its own meanwhile.
    case left
}

package final class Following {
    package let session: Session
    package private(set) var leader: LeaderRecord
    package let log: ReplicationLog
    package private(set) var position: ReplicaPosition
    /// Where nothing came, the log is looked through for what came after a gap.
    private var waits = 0
    private static let waitsBetweenLooks = 64
    /// What comes in another order than it was made, as where a folder is copied file by file, is waited for so long.
    package var gapMilliseconds: Int64 = 0
    private var gapSince: Int64?

    package init(_ options: SessionOptions, from log: ReplicationLog) throws(DatabaseError) {
        self.log = log
        try log.key.use(options.encryptionKey)
        leader = try log.knownLeader()
        if try !Session.exists(options) { try Self.begin(options, log, leader) }
        var existing = options
        existing.noCreate = true
        session = try Session.open(existing)
        var known = try session.leader()
        if let followed = known, followed.origin != leader.origin {
            guard try Self.goOn(session, after: followed.origin, in: log, with: leader) else {
                throw Self.otherLeader(followed, leader, log.place)
            }
            known = try session.leader()
        }
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
        let mark = Self.mark(leader, log)
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

    /// Whoever has followed the former leader up to where it ended has the same objects as the new one had then, and
    /// goes on with that: its readers go on too. False where it begins again.
    static func goOn(
        _ session: Session, after former: ChangeOrigin, in log: ReplicationLog, with leader: LeaderRecord
    ) throws(DatabaseError) -> Bool {
        do throws(DatabaseError) {
            guard let handover = try log.handover(to: leader), handover.former.origin == former,
                var position = try session.replicaPosition(former)
            else { return false }
            while position.version < handover.former.version,
                let batch = try log.changes(after: position.version, of: former)
            {
                guard try session.follow(by: batch) else { return false }
                guard let now = try session.replicaPosition(former), now.version >= batch.to else { return false }
                position = now
            }
            try session.take(
                handover, FollowedLeader(origin: leader.origin, name: leader.name, source: log.place))
            return true
        } catch {
            switch error.code {
            case .outOfSequence, .historyForked, .schemaMismatch, .corrupted, .unsupportedFormat: return false
            default: throw error
            }
        }
    }

    private static func mark(_ leader: LeaderRecord, _ log: ReplicationLog) -> FollowedLeader {
        FollowedLeader(origin: leader.origin, name: leader.name, source: log.place)
    }

    /// A new file from the newest snapshot. It is a follower's as soon as it has its name: nobody else writes to it.
    private static func begin(
        _ options: SessionOptions, _ log: ReplicationLog, _ leader: LeaderRecord
    ) throws(DatabaseError) {
        guard case .file(let path) = options.location else {
            throw DatabaseError(.invalidArgument, "a follower is a file")
        }
        // By a name that the next one finds, if this is killed.
        let renewal = try Renewal(options, from: log)
        try log.step(.make)
        let copy = try renewal.fetch(try renewal.newest(of: leader), of: leader)
        try log.step(.name)
        try Session.rename(copy, to: path)
    }

    /// The newest snapshot as a file that follows.
    static func make(
        _ path: String, _ options: SessionOptions, _ log: ReplicationLog, _ leader: LeaderRecord
    ) throws(DatabaseError) {
        try log.copyNewestSnapshot(of: leader.origin, to: path)
        var own = SessionOptions(path: path)
        (own.encryptionKey, own.noCreate) = (options.encryptionKey, true)
        let session = try Session.open(own)
        // What was committed is there, and an open write would be rolled back.
        defer { _ = try? session.close() }
        try session.follow(mark(leader, log))
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
        let found: ChangeBatch?
        do throws(DatabaseError) { found = try log.changes(after: position.version, of: leader.origin) } catch {
            // It may be on its way.
            guard error.code == .corrupted, log.mayLackBatches, isWaiting() else { throw error }
            return .nothing
        }
        guard let batch = found else {
            try session.checkPlace()
            try session.refresh()
            guard try session.leader()?.origin == leader.origin else { return try left() }
            return try lookForGap()
        }
        (waits, gapSince) = (0, nil)
        try log.step(.make)
        guard try session.follow(by: batch) else { return try left() }
        try log.step(.name)
        guard let now = try session.replicaPosition(leader.origin), now.version >= batch.to else {
            throw DatabaseError(.internal, "a batch was applied and the position stayed")
        }
        position = now
        return .applied(from: batch.from, to: batch.to, byteCount: batch.bytes.count)
    }

    /// Whether what the log has from there on goes beyond what this file has: with batches of another leader, too, none
    /// of which ends where the file is.
    private func leadsOn(from start: Version) throws(DatabaseError) -> Bool {
        var reached = start
        while reached <= position.version {
            guard let batch = try log.changes(after: reached, of: leader.origin), batch.to > reached else {
                return false
            }
            reached = batch.to
        }
        return true
    }

    /// By somebody who has ended that, or by another process that has gone on with the next leader.
    private func left() throws(DatabaseError) -> FollowingStep {
        guard let other = try session.leader() else { return .left }
        throw DatabaseError(
            .invalidArgument,
            "another process follows for this file, and goes on with \(other.name): end one of the two",
            path: session.path)
    }

    /// Whether what is missing may still come.
    private func isWaiting() -> Bool {
        let now = monotonicMilliseconds()
        let since = gapSince ?? now
        gapSince = since
        return now - since < gapMilliseconds
    }

    /// What is older than the oldest snapshot is removed: then nothing follows any more.
    private func lookForGap() throws(DatabaseError) -> FollowingStep {
        waits += 1
        guard waits % Self.waitsBetweenLooks == 1 || log.maySeeGap else { return .nothing }
        let found = try log.knownLeader()
        guard found.origin == leader.origin else {
            if try Self.goOn(session, after: leader.origin, in: log, with: found),
                let position = try session.replicaPosition(found.origin)
            {
                (leader, self.position, waits) = (found, position, 0)
                return .goesOn(with: found.name, from: position.version)
            }
            throw DatabaseError(
                .historyForked,
                "\(found.name) has taken over '\(log.place)' from \(leader.name): begin a new file to follow that",
                path: log.place)
        }
        guard let end = try log.end(of: leader.origin), end.version > position.version else { return .nothing }
        // It may have come just now.
        guard try log.changes(after: position.version, of: leader.origin) == nil else {
            waits = 0
            return .nothing
        }
        let newest = try log.snapshots(of: leader.origin).last?.version ?? Version(0)
        if try !leadsOn(from: newest) {
            if isWaiting() { return .nothing }
            // What the file has is more than it could begin again with.
            throw DatabaseError(
                .corrupted,
                "the changes after version \(position.version.rawValue) are missing in '\(log.place)', which goes up "
                    + "to \(end.version.rawValue), and no snapshot there leads beyond them: the file stays at "
                    + "\(position.version.rawValue) until the leader ships one (motte ship --snapshot-bytes 1)",
                path: log.place)
        }
        throw DatabaseError(
            .outOfSequence,
            "the changes after version \(position.version.rawValue) are not in '\(log.place)': the file has to begin "
                + "again with its newest snapshot, of version \(newest.rawValue)",
            path: log.place)
    }
}
