/// Realm files: their schema, their import, their conversion into files of their own.
import CMotte
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

/// The options, checked.
private struct RealmFileSettings {
    let path: String
    let key: [UInt8]?
    let schema: Schema?
    let policy: UpdatePolicy
    let resumes: Bool
    let isStrict: Bool
    let commitEvery: Int

    init(_ options: UnsafePointer<motte_realm_file_options>?) throws(DatabaseError) {
        let given = try readStruct(options, empty: motte_realm_file_options())
        let flags = (resume: UInt32(MOTTE_REALM_FILE_RESUME), strict: UInt32(MOTTE_REALM_FILE_STRICT))
        try checkFlags(given.flags, allowed: flags.resume | flags.strict)
        resumes = given.flags & flags.resume != 0
        isStrict = given.flags & flags.strict != 0
        policy = try UpdatePolicy(createFlags: given.policy)
        path = try requiredPath(given.path, given.path_size)
        key = given.key == nil && given.key_size == 0 ? nil : try encryptionKey(given.key, given.key_size)
        schema =
            given.schema == nil ? nil : try Handles.any(given.schema, .schema, as: SchemaBox.self).box.schema
        commitEvery = Int(clamping: given.commit_every)
    }
}

@_cdecl("motte_realm_file_schema") @implementation
public func motte_realm_file_schema(
    _ options: UnsafePointer<motte_realm_file_options>?, _ out_schema: UnsafeMutablePointer<OpaquePointer?>?,
    _ out_version: UnsafeMutablePointer<UInt64>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_version?.pointee = 0
        let out = try required(out_schema)
        let settings = try RealmFileSettings(options)
        let schema = try RealmSchema(path: settings.path, key: settings.key, adding: settings.schema)
        try Handles.make(SchemaBox(schema.schema), out)
        out_version?.pointee = schema.version
        return .ok
    }
}

@_cdecl("motte_import_realm_file") @implementation
public func motte_import_realm_file(
    _ realm: OpaquePointer?, _ options: UnsafePointer<motte_realm_file_options>?, _ progress: motte_progress_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ free_userdata: motte_free_fn?,
    _ out_counts: UnsafeMutablePointer<motte_import_counts>?, _ out_report: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary(calling: userdata, free_userdata) { (bridge) throws(DatabaseError) in
        try clear(out_counts, out_report)
        let session = try Handles.realm(realm).box.session
        let settings = try RealmFileSettings(options)
        _ = try session.requireWrite()
        try checkMayCommit(session, settings.commitEvery)
        var importing = RealmImport.Options()
        importing.policy = settings.policy
        importing.resumes = settings.resumes
        importing.isStrict = settings.isStrict
        importing.commitEvery = settings.commitEvery
        importing.progress = guarding(session, counter(bridge, progress))
        try reporting(out_counts, out_report) { () throws(DatabaseError) in
            try RealmImport.run(settings.path, key: settings.key, adding: settings.schema, into: session, importing)
        }
        return .ok
    }
}

@_cdecl("motte_convert_realm_file") @implementation
public func motte_convert_realm_file(
    _ options: UnsafePointer<motte_realm_file_options>?, _ destination: UnsafePointer<CChar>?,
    _ destination_size: Int, _ key: UnsafePointer<UInt8>?, _ key_size: Int, _ progress: motte_progress_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ free_userdata: motte_free_fn?,
    _ out_counts: UnsafeMutablePointer<motte_import_counts>?, _ out_report: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary(calling: userdata, free_userdata) { (bridge) throws(DatabaseError) in
        try clear(out_counts, out_report)
        let settings = try RealmFileSettings(options)
        guard !settings.resumes, settings.policy == .error else {
            throw DatabaseError(
                .invalidArgument,
                "a conversion makes a new file: it neither resumes nor updates; leave flags and policy out")
        }
        let destination = try requiredPath(destination, destination_size)
        var conversion = RealmConversion.Options()
        conversion.sourceKey = settings.key
        conversion.key = key_size == 0 ? nil : try encryptionKey(key, key_size)
        conversion.schema = settings.schema
        conversion.isStrict = settings.isStrict
        if settings.commitEvery > 0 { conversion.commitEvery = settings.commitEvery }
        conversion.progress = counter(bridge, progress)
        try reporting(out_counts, out_report) { () throws(DatabaseError) in
            try RealmConversion.convert(settings.path, to: destination, conversion)
        }
        return .ok
    }
}

/// What of the outputs can be wrong is found before anything is done.
private func clear(
    _ counts: UnsafeMutablePointer<motte_import_counts>?, _ report: UnsafeMutablePointer<OpaquePointer?>?
) throws(DatabaseError) {
    report?.pointee = nil
    if counts != nil { try fillStruct(counts) { motte_import_counts() } }
}

/// The handle of the report is made before the work that it reports, which nothing can fail after.
private func reporting(
    _ counts: UnsafeMutablePointer<motte_import_counts>?, _ report: UnsafeMutablePointer<OpaquePointer?>?,
    _ body: () throws(DatabaseError) -> RealmSummary
) throws(DatabaseError) {
    let box = ReportBox(RealmSummary())
    if let report { try Handles.make(box, report) }
    let summary: RealmSummary
    do throws(DatabaseError) { summary = try body() } catch {
        if let made = report?.pointee {
            motte_release(UnsafeRawPointer(made))
            report?.pointee = nil
        }
        throw error
    }
    box.fill(summary)
    if counts != nil {
        try fillStruct(counts) { () throws(DatabaseError) in
            motte_import_counts(
                struct_size: 0, reserved: 0, created: UInt64(clamping: summary.created),
                updated: UInt64(clamping: summary.updated))
        }
    }
}

private func counter(
    _ bridge: CallbackBridge, _ progress: motte_progress_fn?
) -> ((Int, Int) throws(DatabaseError) -> Void)? {
    guard let handler = bridge.progress(progress) else { return nil }
    return { (done, total) throws(DatabaseError) in
        try handler(MaintenanceProgress(done: done, total: total))
    }
}

/// A progress callback that ends the write, or closes the realm, takes with it what was imported so far.
private func guarding(
    _ session: Session, _ asked: ((Int, Int) throws(DatabaseError) -> Void)?
) -> ((Int, Int) throws(DatabaseError) -> Void)? {
    guard let asked else { return nil }
    return { (done, total) throws(DatabaseError) in
        // An import that commits now and then begins other writes itself.
        let write = session.write
        try asked(done, total)
        guard let write, session.write === write, write.isOpen else {
            throw DatabaseError(
                .reentrant,
                "a progress callback has ended the write of the import: what it committed stays, and else nothing is "
                    + "left of it")
        }
    }
}

// MARK: Reports

@_cdecl("motte_report_classes") @implementation
public func motte_report_classes(
    _ report: OpaquePointer?, _ out_classes: UnsafeMutablePointer<motte_realm_file_class>?, _ capacity: Int,
    _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let count = try required(out_count, zero: 0)
        let report = try Handles.any(report, .report, as: ReportBox.self)
        var classes: [motte_realm_file_class] = []
        for type in report.box.summary?.classes ?? [] {
            classes.append(
                motte_realm_file_class(
                    name: try report.box.text(type.name), object_count: UInt64(clamping: type.objects),
                    created: UInt64(clamping: type.created), updated: UInt64(clamping: type.updated),
                    property_count: UInt32(clamping: type.properties), reserved: 0))
        }
        return try fill(out_classes, capacity, count, from: classes)
    }
}

@_cdecl("motte_report_notes") @implementation
public func motte_report_notes(
    _ report: OpaquePointer?, _ out_notes: UnsafeMutablePointer<motte_realm_file_note>?, _ capacity: Int,
    _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let count = try required(out_count, zero: 0)
        let report = try Handles.any(report, .report, as: ReportBox.self)
        var notes: [motte_realm_file_note] = []
        for note in report.box.summary?.notes ?? [] {
            notes.append(
                motte_realm_file_note(
                    class_name: try report.box.text(note.className),
                    property_name: try report.box.text(note.propertyName ?? ""), count: UInt64(clamping: note.count),
                    first_key: note.firstKey ?? -1, reason: try report.box.text(note.reason)))
        }
        return try fill(out_notes, capacity, count, from: notes)
    }
}
