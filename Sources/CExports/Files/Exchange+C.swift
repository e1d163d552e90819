/// JSON, CSV and SQLite in and out: of a file or a text, whole databases, collections, single objects.
import CMotte
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

/// The options of an export, checked.
private struct ExportSettings {
    let target: TextTarget
    let format: ExchangeFormat
    var json = JSONExport.Options()
    var csv = CSVExport.Options()
    let columns: [String]?
    /// Of a whole database: one JSON document instead of lines.
    let isDocument: Bool
    let path: String?

    init(
        _ options: UnsafePointer<motte_export_options>?, _ out: UnsafeMutablePointer<motte_buf>?
    ) throws(DatabaseError) {
        out?.pointee = emptyBuffer
        let given = try readStruct(options, empty: motte_export_options())
        format = try ExchangeFormat(given.format)
        try checkFlags(given.flags, allowed: UInt32(MOTTE_EXPORT_NESTED_LINKS) | UInt32(MOTTE_EXPORT_DOCUMENT))
        isDocument = given.flags & UInt32(MOTTE_EXPORT_DOCUMENT) != 0
        path = try optionalText(given.path, given.path_size)
        target = try TextTarget(given.path, given.path_size, out)
        if given.flags & UInt32(MOTTE_EXPORT_NESTED_LINKS) != 0 { json.links = .nested }
        if given.depth > 0 { json.depthLimit = Int(min(given.depth, 256)) }
        if let null = try optionalText(given.null_text, given.null_text_size) { csv.null = null }
        csv.delimiter = try checkedDelimiter(given.delimiter)
        columns = try optionalTexts(given.columns, given.column_count, "a column")
    }

    /// Of a part of a database.
    func checkIsOfObjects() throws(DatabaseError) {
        guard format != .sqlite, !isDocument else {
            throw DatabaseError(
                .invalidArgument, "SQLite files and documents are made of a whole database; choose another format")
        }
    }

    func paths(_ table: TableKey?, _ session: Session) throws(DatabaseError) -> [ColumnPath]? {
        guard let table, let type = try session.schema[table] else {
            guard columns == nil else {
                throw DatabaseError(.wrongType, "only objects have columns; this holds plain values")
            }
            return nil
        }
        guard let columns else { return format == .csv ? ColumnPath.stored(of: type) : nil }
        var paths: [ColumnPath] = []
        for column in columns { paths.append(try ColumnPath(column, of: type, in: try session.schema)) }
        return paths
    }
}

enum ExchangeFormat {
    case json, lines, csv, sqlite

    init(_ number: motte_format) throws(DatabaseError) {
        switch Int(number) {
        case Int(MOTTE_FORMAT_JSON): self = .json
        case Int(MOTTE_FORMAT_JSON_LINES): self = .lines
        case Int(MOTTE_FORMAT_CSV): self = .csv
        case Int(MOTTE_FORMAT_SQLITE): self = .sqlite
        default: throw DatabaseError(.invalidArgument, "\(number) is no MOTTE_FORMAT_*")
        }
    }
}

private func checkedDelimiter(_ delimiter: UInt32) throws(DatabaseError) -> UInt8 {
    if delimiter == 0 { return UInt8(ascii: ",") }
    guard delimiter < 0x80, CSVDelimiter.isAllowed(UInt8(delimiter)) else {
        throw DatabaseError(.invalidArgument, "a delimiter is one ASCII character and neither a quote nor a line end")
    }
    return UInt8(delimiter)
}

/// Counts what was done for a caller's progress function.
private func counter(
    _ bridge: CallbackBridge, _ progress: motte_progress_fn?, total: Int
) -> ((Int) throws(DatabaseError) -> Void)? {
    guard let handler = bridge.progress(progress) else { return nil }
    return { (done) throws(DatabaseError) in
        try handler(MaintenanceProgress(done: done, total: total == 0 ? 0 : max(done, total)))
    }
}

@_cdecl("motte_export_realm") @implementation
public func motte_export_realm(
    _ realm: OpaquePointer?, _ options: UnsafePointer<motte_export_options>?, _ progress: motte_progress_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ free_userdata: motte_free_fn?, _ out_text: UnsafeMutablePointer<motte_buf>?
) -> motte_status {
    boundary(calling: userdata, free_userdata) { (bridge) throws(DatabaseError) in
        out_text?.pointee = emptyBuffer
        let session = try Handles.realm(realm).box.session
        let settings = try ExportSettings(options, out_text)
        let counter = counter(bridge, progress, total: try session.storedObjectCount())
        if settings.format == .sqlite {
            guard let path = settings.path else {
                throw DatabaseError(.nullArgument, "a SQLite file needs the path at which it is made")
            }
            try SQLiteExport.write(session, to: path, progress: counter)
            return .ok
        }
        try settings.target.write { (sink) throws(DatabaseError) in
            var export = try JSONExport(session)
            try export.store(as: settings.isDocument ? .array : .lines, to: &sink, progress: counter)
        }
        return .ok
    }
}

@_cdecl("motte_export_coll") @implementation
public func motte_export_coll(
    _ coll: OpaquePointer?, _ options: UnsafePointer<motte_export_options>?, _ progress: motte_progress_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ free_userdata: motte_free_fn?, _ out_text: UnsafeMutablePointer<motte_buf>?
) -> motte_status {
    boundary(calling: userdata, free_userdata) { (bridge) throws(DatabaseError) in
        out_text?.pointee = emptyBuffer
        let coll = try Handles.collection(coll)
        let collection = coll.box.collection
        let session = coll.box.session
        let settings = try ExportSettings(options, out_text)
        try settings.checkIsOfObjects()
        let paths = try settings.paths(collection.target, session)
        let counter = counter(bridge, progress, total: try collection.count())
        try settings.target.write { (sink) throws(DatabaseError) in
            if settings.format == .csv {
                guard let paths else {
                    throw DatabaseError(.wrongType, "only collections of objects are exported as CSV")
                }
                var export = try CSVExport(session, paths, settings.csv)
                return try export.collection(collection, to: &sink, progress: counter)
            }
            var export = try JSONExport(session, settings.json)
            let form = settings.format == .json ? JSONExport.Form.array : .lines
            try export.collection(collection, form: form, columns: paths, to: &sink, progress: counter)
        }
        return .ok
    }
}

@_cdecl("motte_export_object") @implementation
public func motte_export_object(
    _ object: OpaquePointer?, _ options: UnsafePointer<motte_export_options>?,
    _ out_text: UnsafeMutablePointer<motte_buf>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_text?.pointee = emptyBuffer
        let object = try Handles.object(object)
        let settings = try ExportSettings(options, out_text)
        try settings.checkIsOfObjects()
        guard settings.format != .csv else {
            throw DatabaseError(.invalidArgument, "one object is exported as JSON; export a collection as CSV")
        }
        try object.box.check()
        let paths = try settings.paths(object.box.object.table, object.box.session)
        try settings.target.write { (sink) throws(DatabaseError) in
            var export = try JSONExport(object.box.session, settings.json)
            if let paths { return try export.columns(paths, of: object.box.object.link, to: &sink) }
            try export.object(object.box.object, to: &sink)
        }
        return .ok
    }
}

// MARK: Import

/// The options of an import, checked, and the text.
private struct ImportSettings {
    let source: ImportSource
    let format: ExchangeFormat
    let policy: UpdatePolicy
    let delimiter: UInt8
    let null: String
    let ignoresUnknown: Bool
    let batchRows: Int
    let commitEvery: Int

    init(_ options: UnsafePointer<motte_import_options>?) throws(DatabaseError) {
        let given = try readStruct(options, empty: motte_import_options())
        format = try ExchangeFormat(given.format)
        try checkFlags(given.flags, allowed: UInt32(MOTTE_IMPORT_IGNORE_UNKNOWN))
        ignoresUnknown = given.flags & UInt32(MOTTE_IMPORT_IGNORE_UNKNOWN) != 0
        policy = try UpdatePolicy(createFlags: given.policy)
        delimiter = try checkedDelimiter(given.delimiter)
        null = try optionalText(given.null_text, given.null_text_size) ?? "NA"
        batchRows = given.batch_rows == 0 ? 1_000 : Int(min(given.batch_rows, 1_000_000))
        commitEvery = Int(clamping: given.commit_every)
        if format == .sqlite {
            guard let path = try optionalText(given.path, given.path_size) else {
                throw DatabaseError(.nullArgument, "a SQLite file is read from its path, which was not given")
            }
            source = .sqlite(path)
        } else if try textBytes(given.path, given.path_size) != nil {
            source = .file(try InputFile(try requiredPath(given.path, given.path_size)), given.path, given.path_size)
        } else {
            guard let text = try textBytes(given.text, given.text_size) else {
                throw DatabaseError(.nullArgument, "neither a path nor a text was given")
            }
            source = .text(text)
        }
    }

    var csv: CSVImport.Options {
        var options = CSVImport.Options()
        options.delimiter = delimiter
        options.null = null
        options.policy = policy
        options.batchRows = batchRows
        options.commitEvery = commitEvery
        return options
    }

    var json: JSONImport.Options {
        var options = JSONImport.Options()
        options.policy = policy
        options.batchRows = batchRows
        options.commitEvery = commitEvery
        options.ignoresUnknownProperties = ignoresUnknown
        return options
    }

    /// Mistakes in a file carry its name.
    func read<Result>(
        _ body: (UnsafeRawBufferPointer) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        switch source {
        case .text(let bytes): return try body(bytes)
        case .sqlite:
            throw DatabaseError(.internal, "a SQLite file has no text")
        case .file(let file, let path, let size):
            defer { withExtendedLifetime(file) {} }
            do throws(DatabaseError) { return try body(file.bytes) } catch {
                // The mistake itself is the cause, with or without the name.
                guard error.code != .callback, let name = try? optionalText(path, size) else { throw error }
                throw ExchangeError.named(name, error)
            }
        }
    }
}

private enum ImportSource {
    case file(InputFile, UnsafePointer<CChar>?, Int)
    case text(UnsafeRawBufferPointer)
    case sqlite(String)
}

/// A commit on the way would end the savepoints of whoever called.
func checkMayCommit(_ session: Session, _ commitEvery: Int) throws(DatabaseError) {
    guard commitEvery > 0, session.hasSavepoints else { return }
    throw DatabaseError(
        .invalidArgument,
        "'commit_every' commits, which a savepoint or a block within the write rules out; import without it, or "
            + "outside of the block")
}

@_cdecl("motte_import") @implementation
public func motte_import(
    _ realm: OpaquePointer?, _ cls: motte_class, _ options: UnsafePointer<motte_import_options>?,
    _ progress: motte_progress_fn?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: motte_free_fn?,
    _ out_counts: UnsafeMutablePointer<motte_import_counts>?
) -> motte_status {
    boundary(calling: userdata, free_userdata) { (bridge) throws(DatabaseError) in
        var outcome = ImportOutcome()
        if out_counts != nil { try fillStruct(out_counts) { motte_import_counts() } }
        let session = try Handles.realm(realm).box.session
        let settings = try ImportSettings(options)
        _ = try session.requireWrite()
        try checkMayCommit(session, settings.commitEvery)
        let table = cls == UInt32(MOTTE_CLASS_ANY) ? nil : TableKey(cls)
        if table != nil { _ = try session.schema.type(cls) }
        let counter = guarding(session, counter(bridge, progress, total: 0))
        outcome = try session.atomically { () throws(DatabaseError) in
            if case .sqlite(let path) = settings.source {
                return try importSQLite(path, session, table, settings.json, counter)
            }
            return try settings.read { (bytes) throws(DatabaseError) in
                guard settings.format == .csv else {
                    return try importJSON(bytes, session, table, settings.json, counter)
                }
                guard let table else {
                    throw DatabaseError(.invalidArgument, "CSV names no class; say which one the rows are of")
                }
                return try importCSV(bytes, session, table, settings.csv, counter)
            }
        }
        guard out_counts != nil else { return .ok }
        try fillStruct(out_counts) { () throws(DatabaseError) in
            motte_import_counts(
                struct_size: 0, reserved: 0, created: UInt64(clamping: outcome.created),
                updated: UInt64(clamping: outcome.updated))
        }
        return .ok
    }
}

/// A progress callback that ends the write, or closes the realm, takes with it what was imported so far.
private func guarding(
    _ session: Session, _ asked: ((Int) throws(DatabaseError) -> Void)?
) -> ((Int) throws(DatabaseError) -> Void)? {
    guard let asked else { return nil }
    return { (count) throws(DatabaseError) in
        // An import that commits now and then begins other writes itself.
        let write = session.write
        try asked(count)
        guard let write, session.write === write, write.isOpen else {
            throw DatabaseError(
                .reentrant,
                "a progress callback has ended the write of the import: what it committed stays, and else nothing is "
                    + "left of it")
        }
    }
}

private func importJSON(
    _ bytes: UnsafeRawBufferPointer, _ session: Session, _ table: TableKey?, _ options: JSONImport.Options,
    _ counter: ((Int) throws(DatabaseError) -> Void)?
) throws(DatabaseError) -> ImportOutcome {
    var options = options
    options.progress = counter
    let importer = try JSONImport(session, into: table, options)
    try importer.run(bytes)
    return importer.outcome
}

private func importSQLite(
    _ path: String, _ session: Session, _ table: TableKey?, _ options: JSONImport.Options,
    _ counter: ((Int) throws(DatabaseError) -> Void)?
) throws(DatabaseError) -> ImportOutcome {
    guard table == nil else {
        throw DatabaseError(.invalidArgument, "a SQLite file names its classes itself; pass MOTTE_CLASS_ANY")
    }
    var options = options
    options.progress = counter
    return try SQLiteImport.run(try SQLiteSource(path), session, options)
}

private func importCSV(
    _ bytes: UnsafeRawBufferPointer, _ session: Session, _ table: TableKey, _ options: CSVImport.Options,
    _ counter: ((Int) throws(DatabaseError) -> Void)?
) throws(DatabaseError) -> ImportOutcome {
    var options = options
    if let counter { options.progress = { (rows, _) throws(DatabaseError) in try counter(rows) } }
    let importer = try CSVImport(session, into: table, options)
    try importer.run(bytes)
    return importer.outcome
}

@_cdecl("motte_import_schema") @implementation
public func motte_import_schema(
    _ options: UnsafePointer<motte_import_options>?, _ class_name: UnsafePointer<CChar>?, _ class_name_size: Int,
    _ key: UnsafePointer<CChar>?, _ key_size: Int, _ out_schema: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_schema)
        let name = try optionalText(class_name, class_name_size)
        let key = try optionalText(key, key_size)
        let settings = try ImportSettings(options)
        if case .sqlite(let path) = settings.source {
            try Handles.make(SchemaBox(try SQLiteSource(path).schema), out)
            return .ok
        }
        let schema = try settings.read { (bytes) throws(DatabaseError) in
            guard settings.format == .csv else {
                guard let header = try StoreDumpHeader(bytes) else {
                    throw DatabaseError(.invalidArgument, "the text is no dump: its first line has no schema")
                }
                return header.schema
            }
            guard let name, !name.isEmpty else {
                throw DatabaseError(.nullArgument, "a class made from CSV needs a name")
            }
            return Schema([try CSVInference.objectType(named: name, bytes, settings.csv, key: key)])
        }
        try Handles.make(SchemaBox(schema), out)
        return .ok
    }
}

@_cdecl("motte_import_notes") @implementation
public func motte_import_notes(
    _ options: UnsafePointer<motte_import_options>?, _ out_report: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_report)
        let settings = try ImportSettings(options)
        var notes: [String] = []
        if case .sqlite(let path) = settings.source { notes = try SQLiteSource(path).notes }
        try Handles.make(ReportBox(notes: notes), out)
        return .ok
    }
}
