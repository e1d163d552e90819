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
    /// Since when its changes are kept.
    package let kept: Version?
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
        kept = try session.keptChanges()
        guard let place = place ?? leader?.source else {
            (end, leads, problem) = (nil, nil, nil)
            return
        }
        do throws(DatabaseError) {
            let log = try open(place)
            // Nothing of it is applied.
            log.key.isPlain = true
            try log.key.use(session.encryptionKey)
            let found = try log.leader()
            let known = try found.flatMap { leader throws(DatabaseError) in try log.end(of: leader.origin) }
            (end, leads) = (known, found)
            problem = known == nil ? "nobody has shipped to '\(place)' yet" : nil
        } catch {
            (end, leads) = (nil, nil)
            problem = error.message
        }
    }

    /// Of the leader that the file follows.
    package var position: ReplicaPosition? {
        guard let leader else { return nil }
        return positions.first { $0.origin == leader.origin }
    }

    /// Versions that are in the log and not in the file; nil where that is not known.
    package var lagVersions: UInt64? {
        guard let end, let position, leads?.origin == position.origin else { return nil }
        return end.version > position.version ? end.version.rawValue - position.version.rawValue : 0
    }

    /// How much later the log's last commit was than the file's.
    package var lagNanoseconds: Int64? {
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
