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
    /// Why nothing is known of the log.
    package let problem: String?

    /// `open` gives the log at a place; `place` is that of the leader if it is not said.
    package init(
        _ session: Session, at place: String?, open: (String) throws(DatabaseError) -> ReplicationLog
    ) throws(DatabaseError) {
        version = try session.version
        leader = try session.leader()
        positions = try session.replicaPositions()
        let kept = try session.keptChanges()
        let versions = kept.consumers.map(\.version) + [kept.unnamed].compactMap(\.self)
        backlogs = try versions.map { version throws(DatabaseError) in try session.backlog(after: version) }
        self.kept = kept
        guard let place = place ?? leader?.source else {
            (end, leads, problem, unshipped) = (nil, nil, nil, nil)
            return
        }
        let origin = try session.changeOrigin()
        do throws(DatabaseError) {
            let log = try open(place)
            // Nothing of it is applied.
            log.key.isPlain = true
            try log.key.use(session.encryptionKey)
            let found = try log.leader()
            let known = try found.flatMap { leader throws(DatabaseError) in try log.end(of: leader.origin) }
            var missing: ChangeBacklog?
            if let known, found?.origin == origin { missing = try session.backlog(after: known.version) }
            (end, leads, unshipped) = (known, found, missing)
            problem = known == nil ? "nobody has shipped to '\(place)' yet" : nil
        } catch {
            (end, leads, unshipped) = (nil, nil, nil)
            problem = error.message
        }
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

    /// How much later the last commit was than the last one that is there too.
    package var lagNanoseconds: Int64? {
        if let unshipped, let end { return unshipped.nanoseconds(since: end.wallTimeNanoseconds) }
        guard let end, let position, let lagVersions else { return nil }
        return lagVersions == 0 ? 0 : max(0, end.wallTimeNanoseconds - position.wallTimeNanoseconds)
    }

    /// Whether all that is to be known of it is known and well.
    package var isHealthy: Bool {
        guard problem == nil else { return false }
        guard let leader, let leads else { return true }
        return leads.origin == leader.origin && position != nil
    }
}

extension ChangeBacklog {
    /// How much later the last commit was than that one; nil where one of the times is not known.
    package func nanoseconds(since wallTime: Int64) -> Int64? {
        guard commits > 0 else { return 0 }
        return wallTime == 0 || wallTimeNanoseconds == 0 ? nil : max(0, wallTimeNanoseconds - wallTime)
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

func sleepMilliseconds(_ milliseconds: Int64) {
    var time = timespec(tv_sec: Int(milliseconds / 1_000), tv_nsec: Int(milliseconds % 1_000) * 1_000_000)
    nanosleep(&time, nil)
}

/// 0 where there is no such file.
func fileBytes(_ path: String) -> Int {
    var facts = stat()
    return stat(path, &facts) == 0 ? Int(facts.st_size) : 0
}
