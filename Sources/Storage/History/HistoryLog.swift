/// The change log in the file: one record per commit, appended with it, read as ranges of versions, trimmed in batches.
///
/// Invariants:
///   log-1  a commit of version v writes the record of v
///   log-2  each record names the checksum of the one before it, as long as that one is there
///   log-3  records are missing only at the old end, so a range is there if its first record is
///
/// The writing half belongs to whoever holds the file's write lock; the reading half is functions of a snapshot.
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import MottePages
import MotteValues

package enum HistoryLog {
    /// Trimming waits for this many commits, because deletions cost a page or two of their own,
    private static let commitsBetweenTrims: UInt64 = 64
    /// or for a record so large that 64 of them would be a megabyte.
    private static let largeRecordBytes = 16 << 10
    /// So that one unlucky commit does not pay for a long absence.
    private static let longestTrim = 10_000

    // MARK: Writing

    /// Puts the record of the commit that follows `pages`. Returns it, for those in this process.
    @discardableResult
    package static func append(
        _ changes: ChangeRecorder, version: Version, over pages: PageSnapshot, into batch: inout PageBatch,
        origin: ChangeOrigin = .unknown
    ) throws(DatabaseError) -> ChangeRecord {
        let (record, bytes) = changes.record(
            version: version, previous: try checksum(of: pages.version, in: pages), wallTimeNanoseconds: wallTime(),
            origin: origin)
        batch.put(ChangeRecordFormat.pageKey(version), bytes)
        return record
    }

    /// Whether it is time to delete records with the commit that makes `version`, whose own has so many bytes.
    package static func isTrimDue(_ version: Version, recordBytes: Int) -> Bool {
        version.rawValue % commitsBetweenTrims == 0 || recordBytes >= largeRecordBytes
    }

    /// Deletes the records of versions that nobody will ask for changes since. Without observers only the newest one
    /// stays. `kept`: as it is after the commit. Returns how many records it deleted.
    @discardableResult
    package static func trim(
        observed oldestObserved: Version?, kept: KeptChanges, over pages: PageSnapshot, into batch: inout PageBatch
    ) throws(DatabaseError) -> Int {
        var last = oldestObserved ?? pages.version
        if let kept = kept.oldest, kept < last { last = kept }
        return try trim(through: last, over: pages, into: &batch)
    }

    @discardableResult
    package static func trim(
        through oldestObserved: Version, over pages: PageSnapshot, into batch: inout PageBatch
    ) throws(DatabaseError) -> Int {
        let cursor = try pages.makeCursor()
        var found = try cursor.seek(ChangeRecordFormat.pageKey(Version(0)))
        var count = 0
        while found, count < longestTrim, let version = ChangeRecordFormat.version(of: cursor.key),
            version < pages.version, !(oldestObserved < version)
        {
            batch.delete(cursor.key)
            count += 1
            found = try cursor.next()
        }
        return count
    }

    // MARK: Reading

    /// The records of the versions after `from` through `to`, oldest first; nil if some are no longer there.
    package static func records(
        from: Version, to: Version, snapshot pages: PageSnapshot
    ) throws(DatabaseError) -> [ChangeRecord]? {
        guard from < to else { return from == to ? [] : nil }
        guard !(pages.version < to) else { return nil }
        var records: [ChangeRecord] = []
        let cursor = try pages.makeCursor()
        var wanted = Version(from.rawValue + 1)
        var found = try cursor.seek(ChangeRecordFormat.pageKey(wanted))
        while found, ChangeRecordFormat.version(of: cursor.key) == wanted {
            let record = try ChangeRecord(decoding: cursor.value.bytes, version: wanted)
            if let last = records.last, last.checksum != record.previous {
                throw .corrupted(
                    "the change record of version \(wanted.rawValue) does not follow the one before (log-2)")
            }
            records.append(record)
            if wanted == to { return records }
            wanted = Version(wanted.rawValue + 1)
            found = try cursor.next()
        }
        return nil
    }

    /// What changed after `from` through `to`; nil if the log no longer reaches back that far.
    package static func changes(
        from: Version, to: Version, snapshot pages: PageSnapshot
    ) throws(DatabaseError) -> ChangeSummary? {
        guard let records = try records(from: from, to: to, snapshot: pages) else { return nil }
        let summary = ChangeSummary(records, from: from, to: to)
        for table in summary.tables { try requireKeys(of: table, pages) }
        return summary
    }

    /// Runs of keys take a few bytes, whatever is in them, and observers look at each key: so they are of objects that
    /// there have been.
    private static func requireKeys(
        of table: ChangeSummary.Table, _ pages: PageSnapshot
    ) throws(DatabaseError) {
        let end = max(table.inserted.runs.last?.upperBound ?? 0, table.deleted.runs.last?.upperBound ?? 0)
        guard end > 0, let found = try pages.get(PageKeys.tableState(table.table)) else {
            // A class that has been dropped since, whose objects nobody follows.
            return
        }
        guard end <= (try TableState(decoding: found.bytes, of: table.table)).nextKey else {
            throw .corrupted("the change log names objects of table \(table.table.rawValue) that never were")
        }
    }

    /// The version of the oldest record that is there.
    package static func oldestVersion(in pages: PageSnapshot) throws(DatabaseError) -> Version? {
        let cursor = try pages.makeCursor()
        guard try cursor.seek(ChangeRecordFormat.pageKey(Version(0))) else { return nil }
        return ChangeRecordFormat.version(of: cursor.key)
    }

    /// 0 where there is no record.
    static func checksum(of version: Version, in pages: PageSnapshot) throws(DatabaseError) -> UInt32 {
        guard let found = try pages.get(ChangeRecordFormat.pageKey(version)) else { return 0 }
        guard found.bytes.count >= ChangeRecordFormat.headerSize else {
            throw .corrupted("the change record of version \(version.rawValue) is too short")
        }
        return UInt32(
            littleEndian: found.bytes.loadUnaligned(fromByteOffset: ChangeRecordFormat.checksumOffset, as: UInt32.self))
    }

    private static func wallTime() -> Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) &* 1_000_000_000 &+ Int64(now.tv_nsec)
    }
}
