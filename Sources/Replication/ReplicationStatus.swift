/// What a file is to others, and how far behind: from the file itself, and from the log that it follows or ships to.
import MotteLiveObjects
import MotteStorage
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package struct ReplicationStatus: Sendable {
    package let version: Version
    /// Whom the file follows.
    package let leader: FollowedLeader?
    package let positions: [ReplicaPosition]
    /// From where on its changes are kept, and for whom.
    package let kept: KeptChanges
    /// What each of those lacks, in the same order, who has no name last.
    package let backlogs: [ChangeBacklog]
    /// What the log lacks that the file ships to; nil where it is none of that.
    package let unshipped: ChangeBacklog?
    /// Of the leader's log, or of the one that the file ships to; nil where nothing is known of it.
    package let end: LogEnd?
    /// Who leads there.
    package let leads: LeaderRecord?
    /// Newest heartbeat of the leader; nil: there was none.
    package let heartbeat: Heartbeat?
    /// What is wrong; empty where all that is to be known is known and well.
    package let problems: [String]
    /// When this was looked at, nanoseconds since 1970.
    package let wallTimeNanoseconds: Int64
    /// When the first commit was made that the follower lacks; 0 if it is not known.
    private let missingSince: Int64

    /// `open` gives the log at a place; `place` is that of the leader if it is not said.
    package init(
        _ session: Session, at place: String?, open: (String) throws(DatabaseError) -> ReplicationLog
    ) throws(DatabaseError) {
        wallTimeNanoseconds = MotteReplication.wallTimeNanoseconds()
        leader = try session.leader()
        positions = try session.replicaPositions()
        let kept = try session.keptChanges()
        let versions = kept.consumers.map(\.version) + [kept.unnamed].compactMap(\.self)
        backlogs = try versions.map { version throws(DatabaseError) in try session.backlog(after: version) }
        self.kept = kept
        guard let place = place ?? leader?.source else {
            (end, leads, unshipped, heartbeat) = (nil, nil, nil, nil)
            (problems, missingSince) = ([], 0)
            version = try session.version
            return
        }
        var look = LogLook()
        do throws(DatabaseError) {
            try look.run(session, leader, positions, try open(place), at: wallTimeNanoseconds)
        } catch {
            look.problems.append(error.message)
        }
        (end, leads, unshipped, heartbeat) = (look.end, look.leads, look.unshipped, look.heartbeat)
        (problems, missingSince) = (look.problems, look.missingSince)
        // It may have been looked at again meanwhile.
        version = try session.version
    }

    /// Of the leader that the file follows.
    package var position: ReplicaPosition? {
        guard let leader else { return nil }
        return positions.first { $0.origin == leader.origin }
    }

    /// Versions that are in the log and not in the file that follows, or, of a leader, commits that have changed
    /// something and are not in the log; nil where that is not known.
    package var lagVersions: UInt64? {
        if let unshipped { return unshipped.commits }
        guard let end, let position, leads?.origin == position.origin else { return nil }
        return end.version > position.version ? end.version.rawValue - position.version.rawValue : 0
    }

    /// How long ago the first commit was made that is missing; 0 where nothing is.
    package var lagNanoseconds: Int64? {
        if let unshipped { return unshipped.nanoseconds(at: wallTimeNanoseconds) }
        guard let lagVersions else { return nil }
        guard lagVersions > 0 else { return 0 }
        return missingSince == 0 ? nil : max(0, wallTimeNanoseconds - missingSince)
    }

    /// How old that is.
    package var heartbeatNanoseconds: Int64? { heartbeat?.ageNanoseconds(at: wallTimeNanoseconds) }

    package var isHealthy: Bool { problems.isEmpty }
}

/// What is found in the log.
private struct LogLook {
    var end: LogEnd?
    var leads: LeaderRecord?
    var unshipped: ChangeBacklog?
    var heartbeat: Heartbeat?
    var problems: [String] = []
    var missingSince: Int64 = 0
    /// What is ahead for a moment is looked at again: a commit that is acknowledged is in the log before it is made.
    private static let looks = 50

    mutating func run(
        _ session: Session, _ followed: FollowedLeader?, _ positions: [ReplicaPosition], _ log: ReplicationLog,
        at now: Int64
    ) throws(DatabaseError) {
        // Nothing of it is applied.
        log.key.isPlain = true
        try log.key.use(session.encryptionKey)
        guard let leader = try log.leader() else {
            return problems.append("nobody has shipped to '\(log.place)' yet")
        }
        leads = leader
        end = try log.end(of: leader.origin)
        heartbeat = try log.heartbeat().flatMap { $0.origin == leader.origin ? $0 : nil }
        let origin = try session.changeOrigin()
        if leader.origin == origin {
            try lookAsLeader(session, log)
        } else if let followed {
            try lookAsFollower(followed, positions, leader, log)
        } else {
            problems.append(
                try log.end(of: origin) == nil
                    ? "\(leader.name) leads '\(log.place)', which has nothing of this file"
                    : "\(leader.name) leads '\(log.place)', where this file led before: its commits are not shipped")
        }
        if let end {
            if end.snapshot == nil { problems.append("there is no snapshot of \(leader.name) in '\(log.place)'") }
        } else if leader.origin != origin {
            problems.append("nothing of \(leader.name), who leads, is in '\(log.place)': nobody can begin with it")
        }
        if let heartbeat, heartbeat.isOverdue(at: now) {
            problems.append(
                "there has been no heartbeat of \(leader.name) for "
                    + "\(heartbeat.ageNanoseconds(at: now) / 1_000_000_000) s: does its 'motte ship' run?")
        }
        if let ahead = heartbeat?.secondsAhead(of: now) {
            problems.append(
                "the clocks differ by \(ahead) s: by this machine's, the last heartbeat of \(leader.name) is from the "
                    + "future, and nobody can tell whether it still gives any")
        }
    }

    private mutating func lookAsLeader(_ session: Session, _ log: ReplicationLog) throws(DatabaseError) {
        guard let end else { return problems.append("nothing of this file is in '\(log.place)' yet") }
        // Since the file was opened it may have got, and shipped, more.
        try session.refresh()
        for _ in 0 ..< Self.looks where try session.version < end.version {
            try log.wait(milliseconds: 20)
            try session.refresh()
        }
        guard let own = try session.changeChecksum(of: end.version) else {
            return problems.append(
                "'\(log.place)' has version \(end.version.rawValue) of this file, which ends before: it was replaced "
                    + "by an older copy, or is another copy than the one that leads")
        }
        guard own == end.checksum || own == 0 || end.checksum == 0 else {
            return problems.append(
                "version \(end.version.rawValue) of this file is another one than '\(log.place)' has: another copy of "
                    + "it has shipped there")
        }
        unshipped = try session.backlog(after: end.version)
    }

    private mutating func lookAsFollower(
        _ followed: FollowedLeader, _ positions: [ReplicaPosition], _ leader: LeaderRecord, _ log: ReplicationLog
    ) throws(DatabaseError) {
        guard followed.origin == leader.origin else {
            return problems.append("\(leader.name) leads '\(log.place)', and the file follows \(followed.name)")
        }
        guard let position = positions.first(where: { $0.origin == leader.origin }) else {
            return problems.append("the file has nothing of \(leader.name), whom it follows")
        }
        guard var end else { return }
        // What a machine sees of a folder may be behind.
        for _ in 0 ..< Self.looks where end.version < position.version {
            try log.wait(milliseconds: 20)
            guard let now = try log.end(of: leader.origin) else { break }
            (end, self.end) = (now, now)
        }
        guard end.version >= position.version else {
            return problems.append(
                "the file has version \(position.version.rawValue) of \(leader.name), and '\(log.place)' ends with "
                    + "\(end.version.rawValue): what was there was replaced by an older copy")
        }
        if end.version == position.version, end.checksum != position.checksum, end.checksum != 0, position.checksum != 0
        {
            return problems.append("version \(end.version.rawValue) of \(leader.name) is another one here than there")
        }
        guard end.version > position.version else { return }
        // It need not be readable, as of an encrypted file.
        let next = try? log.changes(after: position.version, of: leader.origin)
        if let next, next.fromChecksum != position.checksum, next.fromChecksum != 0, position.checksum != 0 {
            problems.append(
                "version \(position.version.rawValue) of \(leader.name) is another one here than there: what was there "
                    + "was replaced by an older copy, and has gone another way since")
        }
        missingSince = next?.wallTimeNanoseconds ?? end.wallTimeNanoseconds
    }
}

extension ChangeBacklog {
    /// How long ago the first of the commits was made; nil where that is not known.
    package func nanoseconds(at now: Int64) -> Int64? {
        guard commits > 0 else { return 0 }
        return wallTimeNanoseconds == 0 ? nil : max(0, now - wallTimeNanoseconds)
    }
}

/// Nanoseconds since 1970.
package func wallTimeNanoseconds() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) &* 1_000_000_000 &+ Int64(now.tv_nsec)
}

func monotonicMilliseconds() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return Int64(now.tv_sec) * 1_000 + Int64(now.tv_nsec) / 1_000_000
}

func sleepMilliseconds(_ milliseconds: Int64) { sleepMicroseconds(milliseconds * 1_000) }

func sleepMicroseconds(_ microseconds: Int64) {
    var time = timespec(tv_sec: Int(microseconds / 1_000_000), tv_nsec: Int(microseconds % 1_000_000) * 1_000)
    nanosleep(&time, nil)
}

/// 0 where there is no such file.
/// Two names of one file.
func isSameFile(_ path: String, _ other: String) -> Bool {
    var facts = stat(), others = stat()
    return stat(path, &facts) == 0 && stat(other, &others) == 0 && facts.st_ino == others.st_ino
        && facts.st_dev == others.st_dev
}

func fileBytes(_ path: String) -> Int {
    var facts = stat()
    return stat(path, &facts) == 0 ? Int(facts.st_size) : 0
}
