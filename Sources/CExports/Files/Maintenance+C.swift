/// Maintenance of the file that a realm has open: deleting everything, copies, compaction, verification, statistics.
import CMotte
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

@_cdecl("motte_realm_delete_all") @implementation
public func motte_realm_delete_all(
    _ realm: OpaquePointer?, _ out_deleted: UnsafeMutablePointer<UInt64>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_deleted?.pointee = 0
        let deleted = try Handles.realm(realm).box.session.deleteAll()
        out_deleted?.pointee = UInt64(clamping: deleted)
        return .ok
    }
}

@_cdecl("motte_realm_copy") @implementation
public func motte_realm_copy(
    _ realm: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ path_size: Int, _ progress: motte_progress_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ free_userdata: motte_free_fn?
) -> motte_status {
    boundary(calling: userdata, free_userdata) { (bridge) throws(DatabaseError) in
        let realm = try Handles.realm(realm)
        try realm.box.session.copy(to: try requiredPath(path, path_size), progress: bridge.progress(progress))
        return .ok
    }
}

@_cdecl("motte_realm_copy_with_key") @implementation
public func motte_realm_copy_with_key(
    _ realm: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ path_size: Int, _ key: UnsafePointer<UInt8>?,
    _ key_size: Int, _ progress: motte_progress_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: motte_free_fn?
) -> motte_status {
    boundary(calling: userdata, free_userdata) { (bridge) throws(DatabaseError) in
        let realm = try Handles.realm(realm)
        let path = try requiredPath(path, path_size)
        let key = key_size == 0 ? nil : try encryptionKey(key, key_size)
        try realm.box.session.copy(
            to: path, encryption: key.map { .key($0) } ?? .plain, progress: bridge.progress(progress))
        return .ok
    }
}

/// A path that must be there, without a NUL in it.
func requiredPath(_ path: UnsafePointer<CChar>?, _ size: Int) throws(DatabaseError) -> String {
    let path = try requiredName(path, size, "the path")
    guard !path.utf8.contains(0) else { throw DatabaseError(.invalidArgument, "the path has a NUL in it", path: path) }
    return path
}

@_cdecl("motte_realm_compact") @implementation
public func motte_realm_compact(
    _ realm: OpaquePointer?, _ progress: motte_progress_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: motte_free_fn?, _ out_before: UnsafeMutablePointer<UInt64>?,
    _ out_after: UnsafeMutablePointer<UInt64>?
) -> motte_status {
    boundary(calling: userdata, free_userdata) { (bridge) throws(DatabaseError) in
        zero(out_before, out_after)
        let realm = try Handles.realm(realm)
        report(try realm.box.session.compact(progress: bridge.progress(progress)), out_before, out_after)
        return .ok
    }
}

@_cdecl("motte_realm_compact_online") @implementation
public func motte_realm_compact_online(
    _ realm: OpaquePointer?, _ max_bytes: UInt64, _ progress: motte_progress_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: motte_free_fn?, _ out_details: UnsafeMutablePointer<motte_compaction_details>?
) -> motte_status {
    boundary(calling: userdata, free_userdata) { (bridge) throws(DatabaseError) in
        let realm = try Handles.realm(realm)
        try fillStruct(out_details) { () throws(DatabaseError) in
            let outcome = try realm.box.session.compactOnline(
                mostBytes: max_bytes == 0 ? nil : Int(clamping: max_bytes), progress: bridge.progress(progress))
            return motte_compaction_details(
                struct_size: 0, reserved: 0, before_bytes: UInt64(clamping: outcome.bytesBefore),
                after_bytes: UInt64(clamping: outcome.bytesAfter), moved_bytes: UInt64(clamping: outcome.movedBytes),
                held_bytes: UInt64(clamping: outcome.heldBytes))
        }
        return .ok
    }
}

func zero(_ before: UnsafeMutablePointer<UInt64>?, _ after: UnsafeMutablePointer<UInt64>?) {
    before?.pointee = 0
    after?.pointee = 0
}

func report(
    _ outcome: CompactionOutcome, _ before: UnsafeMutablePointer<UInt64>?, _ after: UnsafeMutablePointer<UInt64>?
) {
    before?.pointee = UInt64(clamping: outcome.bytesBefore)
    after?.pointee = UInt64(clamping: outcome.bytesAfter)
}

@_cdecl("motte_realm_verify") @implementation
public func motte_realm_verify(
    _ realm: OpaquePointer?, _ progress: motte_progress_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: motte_free_fn?, _ out_report: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary(calling: userdata, free_userdata) { (bridge) throws(DatabaseError) in
        let out = try required(out_report)
        let snapshot = try Handles.realm(realm).box.session.committedSnapshot()
        try Handles.make(ReportBox(try snapshot.verify(progress: bridge.progress(progress))), out)
        return .ok
    }
}

// MARK: Statistics

@_cdecl("motte_realm_space") @implementation
public func motte_realm_space(
    _ realm: OpaquePointer?, _ progress: motte_progress_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: motte_free_fn?, _ out_details: UnsafeMutablePointer<motte_space_details>?,
    _ out_classes: UnsafeMutablePointer<motte_class_space>?, _ capacity: Int, _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary(calling: userdata, free_userdata) { (bridge) throws(DatabaseError) in
        let count = try required(out_count, zero: 0)
        let realm = try Handles.realm(realm)
        var classes: [SpaceStatistics.ClassSpace] = []
        try fillStruct(out_details) { () throws(DatabaseError) in
            let statistics = try realm.box.session.database.spaceStatistics(progress: bridge.progress(progress))
            classes = statistics.classes
            return motte_space_details(
                struct_size: 0, reserved: 0, file_bytes: UInt64(clamping: statistics.fileBytes),
                free_bytes: UInt64(clamping: statistics.freeBytes), log_bytes: UInt64(clamping: statistics.logBytes),
                log_records: UInt64(clamping: statistics.logRecords),
                other_bytes: UInt64(clamping: statistics.otherBytes))
        }
        return try fill(out_classes, capacity, count, from: classes.map(motte_class_space.init))
    }
}

extension motte_class_space {
    fileprivate init(_ space: SpaceStatistics.ClassSpace) {
        self.init(
            cls: space.table.rawValue, reserved: 0, object_count: UInt64(clamping: space.objects),
            chunk_bytes: UInt64(clamping: space.chunkBytes), long_list_bytes: UInt64(clamping: space.longListBytes),
            index_bytes: UInt64(clamping: space.indexBytes), large_value_bytes: UInt64(clamping: space.largeValueBytes))
    }
}

@_cdecl("motte_realm_readers") @implementation
public func motte_realm_readers(
    _ realm: OpaquePointer?, _ out_readers: UnsafeMutablePointer<motte_reader>?, _ capacity: Int,
    _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let count = try required(out_count, zero: 0)
        let readers = try Handles.realm(realm).box.session.database.readerStatistics()
        return try fill(out_readers, capacity, count, from: readers.map(motte_reader.init))
    }
}

extension motte_reader {
    fileprivate init(_ reader: ReaderStatistics) {
        self.init(
            process: reader.processID, flags: reader.isThisProcess ? UInt32(MOTTE_READER_THIS_PROCESS) : 0,
            version: reader.version.rawValue, versions_behind: UInt64(clamping: reader.versionsBehind),
            behind_ns: reader.behindForNanoseconds ?? -1)
    }
}

// MARK: Reports

/// What a verification, a salvage or the import of a Realm file found. Any thread.
final class ReportBox: Box {
    fileprivate private(set) var details: motte_report_details
    fileprivate private(set) var problems: [String]
    /// Terminated copies for C.
    fileprivate let texts = NameCache()
    /// Of the import of a Realm file.
    private(set) var summary: RealmSummary?

    private init(_ details: motte_report_details, _ problems: [String], _ summary: RealmSummary? = nil) {
        self.details = details
        self.problems = problems
        self.summary = summary
        super.init(kind: .report)
    }

    convenience init(_ report: VerificationReport) {
        var details = motte_report_details()
        details.flags = report.isSound ? UInt32(MOTTE_REPORT_SOUND) : 0
        details.class_count = UInt64(clamping: report.classes)
        details.object_count = UInt64(clamping: report.objects)
        details.chunk_count = UInt64(clamping: report.chunks)
        details.index_entry_count = UInt64(clamping: report.indexEntries)
        details.log_record_count = UInt64(clamping: report.logRecords)
        details.problem_count = UInt64(clamping: report.problems.count + report.moreProblems)
        self.init(details, report.problems)
    }

    /// Of an import: what it does not keep.
    convenience init(notes: [String]) {
        var details = motte_report_details()
        details.flags = notes.isEmpty ? UInt32(MOTTE_REPORT_SOUND) : 0
        details.problem_count = UInt64(clamping: notes.count)
        self.init(details, notes)
    }

    convenience init(_ report: SalvageReport) {
        var details = motte_report_details()
        details.flags = report.losses.isEmpty ? UInt32(MOTTE_REPORT_SOUND) : 0
        details.object_count = UInt64(clamping: report.objects)
        details.problem_count = UInt64(clamping: report.losses.count)
        self.init(details, report.losses)
    }

    convenience init(_ summary: RealmSummary) {
        self.init(motte_report_details(), [])
        fill(summary)
    }

    /// Before anybody else has its handle.
    func fill(_ summary: RealmSummary) {
        details = motte_report_details()
        details.flags = summary.notes.isEmpty ? UInt32(MOTTE_REPORT_SOUND) : 0
        details.class_count = UInt64(clamping: summary.classes.count)
        details.object_count = UInt64(clamping: summary.created + summary.updated)
        details.problem_count = UInt64(clamping: summary.notes.count)
        problems = summary.notes.map(\.text)
        self.summary = summary
    }

    override func clone() throws(DatabaseError) -> Box { ReportBox(details, problems, summary) }

    /// Lives as long as the report.
    func text(_ text: String) throws(DatabaseError) -> motte_str {
        motte_str(data: try texts.pointer(to: text), size: text.utf8.count)
    }
}

@_cdecl("motte_report_info") @implementation
public func motte_report_info(
    _ report: OpaquePointer?, _ out_details: UnsafeMutablePointer<motte_report_details>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let report = try Handles.any(report, .report, as: ReportBox.self)
        try fillStruct(out_details) { () throws(DatabaseError) in report.box.details }
        return .ok
    }
}

@_cdecl("motte_report_problems") @implementation
public func motte_report_problems(
    _ report: OpaquePointer?, _ out_texts: UnsafeMutablePointer<motte_str>?, _ capacity: Int,
    _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let count = try required(out_count, zero: 0)
        let report = try Handles.any(report, .report, as: ReportBox.self)
        var texts: [motte_str] = []
        for problem in report.box.problems {
            texts.append(try report.box.text(problem))
        }
        return try fill(out_texts, capacity, count, from: texts)
    }
}
