/// A compaction beside others, a commit at a time: each is a version in which no object has changed.
import MottePages
import MotteValues

package typealias OnlineCompaction = MottePages.OnlineCompaction

extension Database {
    /// The next step, on top of the newest version, which `snapshot` is moved to before. Waits for the write lock, for
    /// ever if the time is negative.
    package func compact(
        _ compaction: OnlineCompaction, on snapshot: Snapshot, timeoutMilliseconds: Int64 = -1,
        as holder: WriteHolder? = nil
    ) throws(DatabaseError) {
        let lock = try pages.lockForWriting(timeoutMilliseconds: timeoutMilliseconds, as: holder)
        defer { lock.release() }
        _ = try advance(snapshot)
        let version = Version(snapshot.version.rawValue + 1)
        var batch = PageBatch(pages.spillPlan)
        let record = try HistoryLog.append(ChangeRecorder(), version: version, over: snapshot.pages, into: &batch)
        if HistoryLog.isTrimDue(version, recordBytes: record.byteCount) {
            let kept = try HistoryLog.kept(in: snapshot.pages), observed = try pages.oldestObservedVersion()
            try HistoryLog.trim(observed: observed, kept: kept, over: snapshot.pages, into: &batch)
        }
        try pages.commit(batch, lock: lock, version: version, compaction: compaction)
        recentChanges.note(record)
    }
}
