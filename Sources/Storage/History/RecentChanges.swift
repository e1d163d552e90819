/// What the last commits of this process changed, kept from when they were recorded, so that its own observers and
/// sessions do not read it back from the change log.
///
/// A kept record counts only where it is the one in the file: its checksum tells, which goes over that of the record
/// before. A commit of another process, or a group that was taken back, leaves a gap, and the log is read.
///
/// Any thread.
import MotteValues
import Synchronization

package final class RecentChanges: Sendable {
    private struct Kept {
        /// Oldest first.
        var records: [ChangeRecord] = []
        /// All of `records`.
        var byteCount = 0
        /// What was asked for last: every session asks for the same, to advance and to notify of it.
        var summary: (checksum: UInt32, summary: ChangeSummary)?
    }

    private let kept = Locked(Kept())
    private let followerCount = Atomic<Int>(0)

    /// Sessions that advance over more versions read their rows again.
    private static let mostRecords = 64
    private static let mostBytes = 64 << 10
    /// How many things a summary names that is kept.
    private static let mostKept = 40_000

    package init() {}

    /// Somebody in this process observes, or no longer does: while somebody does, the newest record is kept whatever
    /// its size.
    package func follow() { followerCount.wrappingAdd(1, ordering: .relaxed) }
    package func unfollow() { followerCount.wrappingSubtract(1, ordering: .relaxed) }

    /// After a commit.
    package func note(_ record: ChangeRecord) {
        let isFollowed = followerCount.load(ordering: .relaxed) > 0
        // What is let go is freed outside the lock.
        let dropped = kept.withLock { kept -> [ChangeRecord] in
            var dropped: [ChangeRecord] = []
            while let first = kept.records.first,
                kept.records.count == Self.mostRecords || kept.byteCount + record.byteCount > Self.mostBytes
            {
                kept.byteCount -= first.byteCount
                dropped.append(first)
                kept.records.removeFirst()
            }
            if isFollowed || record.byteCount <= Self.mostBytes {
                kept.records.append(record)
                kept.byteCount += record.byteCount
            }
            return dropped
        }
        _ = dropped
    }

    /// What changed after `from` through `to`, whose record has that checksum; nil where it is not known.
    package func summary(from: Version, to: Version, checksum: UInt32) -> ChangeSummary? {
        guard from < to else { return nil }
        let (known, records) = kept.withLock { kept -> (ChangeSummary?, [ChangeRecord]) in
            if let known = kept.summary, known.checksum == checksum, known.summary.from == from,
                known.summary.to == to
            {
                return (known.summary, [])
            }
            return (nil, Self.records(kept.records, from: from, to: to, checksum: checksum))
        }
        if let known { return known }
        guard !records.isEmpty else { return nil }
        let summary = ChangeSummary(records, from: from, to: to)
        keep(summary, checksum: checksum)
        return summary
    }

    /// `checksum` is that of the record of the summary's newest version.
    func keep(_ summary: ChangeSummary, checksum: UInt32) {
        let isKept = summary.size <= Self.mostKept
        kept.withLock { kept in
            if isKept {
                kept.summary = (checksum, summary)
            } else {
                // A large one is in memory for the first who asks.
                kept.records.removeAll { $0.checksum == checksum && $0.byteCount > Self.mostBytes }
                kept.byteCount = kept.records.reduce(0) { $0 + $1.byteCount }
            }
        }
    }

    private static func records(
        _ records: [ChangeRecord], from: Version, to: Version, checksum: UInt32
    ) -> [ChangeRecord] {
        guard let last = records.lastIndex(where: { $0.version == to && $0.checksum == checksum }) else { return [] }
        var first = last
        while records[first].version.rawValue > from.rawValue + 1 {
            guard first > 0, records[first - 1].checksum == records[first].previous,
                records[first - 1].version.rawValue + 1 == records[first].version.rawValue
            else { return [] }
            first -= 1
        }
        return Array(records[first ... last])
    }
}
