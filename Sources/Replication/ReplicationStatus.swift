/// What a file is to others, and how far behind: from the file itself, and from the folder, if it is there.
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
    /// Of the leader's folder, or of the one that the file ships to; nil where nothing is known of it.
    package let end: LogEnd?
    /// Why nothing is known of the folder.
    package let problem: String?

    package struct LogEnd: Equatable, Sendable {
        package let leader: LeaderRecord
        package let version: Version
        package let wallTimeNanoseconds: Int64
        package let snapshot: Version?
    }

    /// `path` is the folder; without it that of the leader.
    package init(_ session: Session, folder path: String?) throws(DatabaseError) {
        version = try session.version
        leader = try session.leader()
        positions = try session.replicaPositions()
        kept = try session.keptChanges()
        guard let path = path ?? leader?.source else {
            (end, problem) = (nil, nil)
            return
        }
        do throws(DatabaseError) {
            end = try Self.end(of: path)
            problem = end == nil ? "nobody has shipped to '\(path)' yet" : nil
        } catch {
            end = nil
            problem = error.message
        }
    }

    package static func end(of path: String) throws(DatabaseError) -> LogEnd? {
        let root = try LogFolder(path, making: false)
        guard let leader = try LeaderRecord(in: root) else { return nil }
        let folder = try LogFolder(root.file(leader.origin.text), making: false)
        let contents = try LogContents(of: folder)
        let snapshot = try contents.snapshots.last.flatMap { version throws(DatabaseError) in
            try SnapshotInfo(version, in: folder)
        }
        if let last = contents.changes.last, let batch = try folder.changes(after: last),
            batch.to >= snapshot?.version ?? Version(0)
        {
            return LogEnd(
                leader: leader, version: batch.to, wallTimeNanoseconds: batch.wallTimeNanoseconds,
                snapshot: snapshot?.version)
        }
        return snapshot.map {
            LogEnd(
                leader: leader, version: $0.version, wallTimeNanoseconds: $0.wallTimeNanoseconds, snapshot: $0.version)
        }
    }

    /// Of the leader that the file follows.
    package var position: ReplicaPosition? {
        guard let leader else { return nil }
        return positions.first { $0.origin == leader.origin }
    }

    /// Versions that are in the folder and not in the file; nil where that is not known.
    package var lagVersions: UInt64? {
        guard let end, let position, end.leader.origin == position.origin else { return nil }
        return end.version > position.version ? end.version.rawValue - position.version.rawValue : 0
    }

    /// How much later the folder's last commit was than the file's.
    package var lagNanoseconds: Int64? {
        guard let end, let position, let lagVersions else { return nil }
        return lagVersions == 0 ? 0 : max(0, end.wallTimeNanoseconds - position.wallTimeNanoseconds)
    }

    /// Whether all that is to be known of it is known and well.
    package var isHealthy: Bool {
        guard problem == nil else { return false }
        guard let leader, let end else { return true }
        return end.leader.origin == leader.origin && position != nil
    }
}

/// Nanoseconds since 1970.
package func wallTimeNanoseconds() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) &* 1_000_000_000 &+ Int64(now.tv_nsec)
}

/// 0 where there is no such file.
func fileBytes(_ path: String) -> Int {
    var facts = stat()
    return stat(path, &facts) == 0 ? Int(facts.st_size) : 0
}
