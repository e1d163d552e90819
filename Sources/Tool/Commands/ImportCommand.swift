/// `motte import`: CSV, JSON or JSON Lines as objects of one class, or a dump or a SQLite file as a whole database; all
/// of it or nothing.
import ArgumentParser
import MotteExchange
import MotteLiveObjects
import MotteRealmFile
import MotteSchemaModel
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

enum ImportFormat: String, ExpressibleByArgument, CaseIterable {
    case csv, json, jsonl, realm, sqlite
}

enum ImportPolicy: String, ExpressibleByArgument, CaseIterable {
    case error, modified, all

    var policy: UpdatePolicy {
        switch self {
        case .error: .error
        case .modified: .modified
        case .all: .all
        }
    }
}

struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import CSV, JSON or JSON Lines as objects of a class, or a whole dump or SQLite file.",
        discussion: """
            From CSV, a class that the file lacks is made, with types inferred from the rows. Everything is one
            transaction, unless --commit-every cuts it: a row that does not fit leaves the file as it was.
              motte import people.motte Person people.csv --key id
              motte import people.motte Person more.jsonl --update modified
              motte import copy.motte dump.jsonl
              motte import copy.motte dump.sqlite
              motte import app.motte app.realm
            """)

    @Argument(help: "The Motte file; made if it is not there.") var file: String
    @OptionGroup var opening: OpenOptions
    @Argument(
        help: "The class, then the file to read ('-': standard input). Of a dump or a SQLite file, only the file.")
    var classAndSource: [String]
    @Option(help: "csv, json, jsonl or sqlite; otherwise as the name ends, or the file begins.") var format:
        ImportFormat?
    @Option(help: "What happens to a primary key that is taken: error, modified or all.") var update = ImportPolicy
        .error
    @Option(help: "The class as schema text, or a file with it, instead of inferring it.") var schema: String?
    @Option(help: "CSV: the column that becomes the primary key of a new class.") var key: String?
    @Option(help: "CSV: infer types from that many rows; 0: from all.") var inferRows = 0
    @Option(help: "CSV: text that is read as null, like the empty field.") var null = "NA"
    @Option(help: "CSV: what separates fields, one character; otherwise , ; | or a tab, as the header has it.")
    var delimiter: String?
    // Zones west of Greenwich begin like an option.
    @Option(
        parsing: .unconditional,
        help: "CSV: in which zone times are that name none, as UTC, +02:00 or Europe/Berlin.") var zone: String?
    @Option(
        help: "What the text is in: utf-8, utf-16, utf-16le, utf-16be or latin1; otherwise by its first bytes.",
        transform: ImportCommand.encoding)
    var encoding: SourceText.Encoding?
    @Option(help: "Rows that are inserted together.") var batch = 1_000
    @Option(help: "Commit after that many rows; 0: once, at the end.") var commitEvery = 0
    @Flag(help: "JSON: pass over names that the class does not have.") var ignoreUnknown = false
    @Option(
        name: .customLong("source-key-file"),
        help: "A file with the key of an encrypted Realm file: 64 bytes or 128 hex digits.")
    var sourceKeyFile: String?
    @Flag(help: "Realm file: go on with an import of which --commit-every has committed a part.") var resume = false
    @Flag(help: "Realm file: fail where something cannot be kept as it is, instead of saying so.") var strict = false
    @Flag(help: "No progress on stderr.") var quiet = false

    private var className: String? { classAndSource.count == 2 ? classAndSource[0] : nil }
    private var source: String { classAndSource.last ?? "" }

    func validate() throws {
        guard (1 ... 2).contains(classAndSource.count) else {
            throw ValidationError("give a class and the file to read, or only the file of a dump")
        }
        if let delimiter { try checkDelimiter(delimiter) }
        if zone != nil, sourceFormat != .csv { throw ValidationError("--zone is for CSV; times in JSON name theirs") }
        guard batch > 0, batch <= 1_000_000, commitEvery >= 0, inferRows >= 0 else {
            throw ValidationError("--batch is 1 to 1000000, --commit-every and --infer-rows are not negative")
        }
        if key != nil, sourceFormat != .csv { throw ValidationError("--key is for CSV; declare JSON with --schema") }
        if className != nil, format == .realm || sourceKeyFile != nil || resume || strict {
            throw ValidationError("a Realm file names its classes itself; leave out the class")
        }
        if className != nil, format == .sqlite {
            throw ValidationError("a SQLite file names its classes itself; leave out the class")
        }
        if schema != nil, format == .sqlite {
            throw ValidationError("a SQLite file has its schema; leave out --schema")
        }
        if className == nil, sourceFormat == .csv { throw ValidationError("say which class the rows are of") }
    }

    private static func encoding(_ text: String) throws -> SourceText.Encoding {
        guard let encoding = SourceText.Encoding(rawValue: text.lowercased()) else {
            let names = SourceText.Encoding.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("there is no encoding '\(text)'; there are \(names)")
        }
        return encoding
    }

    /// Without the ending of what packed it.
    private static func unpackedName(_ name: String) -> String {
        for ending in [".gz", ".zst", ".zstd"] { if let rest = name.beforeBytes(of: ending) { return rest } }
        return name
    }

    private var sourceFormat: ImportFormat {
        if let format { return format }
        let source = Self.unpackedName(source)
        if source.endsWithBytes(of: ".realm") { return .realm }
        if source.endsWithBytes(of: ".csv") || source.endsWithBytes(of: ".tsv") { return .csv }
        return source.endsWithBytes(of: ".json")
            ? .json : source.endsWithBytes(of: ".jsonl") ? .jsonl : className == nil ? .jsonl : .csv
    }

    func run() throws {
        try reportingErrors(file) {
            if try isRealmFile() { return try importRealmFile() }
            let isNew = !fileExists(file)
            do {
                if try isSQLite() { return try insertSQLite(try SQLiteSource(source)) }
                let input = try SourceText.open(try openInput(source), named: source, encoding: encoding)
                defer { withExtendedLifetime(input) {} }
                try checkIsText(input.bytes)
                let (schema, version) = try wantedSchema(input.bytes)
                report(
                    try insert(schema, version) { (session, progress) throws(DatabaseError) in
                        try insertRows(input.bytes, session, progress)
                    })
            } catch {
                // A file that this command made and that holds nothing is no use to anybody.
                if isNew, !hasObjects { removeFile() }
                throw error
            }
        }
    }

    /// A database that is packed is no text, whatever its name is.
    private func checkIsText(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
        guard bytes.starts(with: "SQLite format 3\0".utf8) else { return }
        throw DatabaseError(
            .unsupportedFormat, "'\(source)' is a SQLite file that is packed or comes through a pipe; unpack it first",
            path: source)
    }

    /// Named so, asked for with what only these have, or one by its first bytes.
    private func isRealmFile() throws(DatabaseError) -> Bool {
        guard className == nil, source != "-", format == nil || format == .realm else { return false }
        if sourceFormat == .realm || sourceKeyFile != nil || resume || strict { return true }
        return fileExists(source) ? try RealmFile.format(at: source) != nil : false
    }

    private func importRealmFile() throws {
        let progress = ProgressReport("objects", isSilent: quiet)
        defer { progress.finish() }
        try RealmFileImport(
            file: file, source: source, opening: opening, sourceKey: try sourceKeyFile.map { try KeyOption.read($0) },
            schema: try schema.map { try SchemaText.parse(try schemaText($0)) }, policy: update.policy,
            commitEvery: commitEvery, resumes: resume, isStrict: strict, progress: progress
        ).run()
    }

    /// Asked for, or a whole file that begins so, whatever it is called.
    private func isSQLite() throws(DatabaseError) -> Bool {
        if format == .sqlite { return true }
        guard format == nil, className == nil, schema == nil, source != "-" else { return false }
        return try SQLiteSource.isOne(source)
    }

    private func insertSQLite(_ source: SQLiteSource) throws {
        for note in source.notes { printError("note: \(note)") }
        report(
            try insert(source.schema, source.schemaVersion) { (session, progress) throws(DatabaseError) in
                try SQLiteImport.run(source, session, jsonOptions(progress))
            })
    }

    /// This command may have committed some, and so may others who opened the file when it had been made.
    private var hasObjects: Bool {
        do {
            let session = try openFile(file, opening)
            // Only read from.
            defer { _ = try? session.close() }
            for type in try session.schema.objectTypes {
                if let table = type.tableKey, try session.objects(table).count() > 0 { return true }
            }
            return false
        } catch {
            // What cannot be looked at is kept: the file may hold what others have put in.
            return true
        }
    }

    private func removeFile() {
        // Not while somebody has it open; what failed before is what is reported.
        _ = try? Session.deleteFile(opening.options(file))
    }

    private func report(_ outcome: ImportOutcome) {
        let what = className.map { "objects of \($0)" } ?? "objects"
        let updated = outcome.updated > 0 ? ", \(outcome.updated) of them updated" : ""
        printLine("imported \(outcome.total) \(what)\(updated)")
    }

    // MARK: The class

    /// nil when the file has what is needed; with the number of a dump's schema.
    private func wantedSchema(_ bytes: UnsafeRawBufferPointer) throws -> (Schema?, version: UInt64?) {
        if let schema {
            let declared = try SchemaText.parse(try schemaText(schema))
            try checkKey(declared)
            return (declared, nil)
        }
        guard let className else {
            guard let header = try named({ () throws(DatabaseError) in try StoreDumpHeader(bytes) }) else {
                throw DatabaseError(
                    .invalidArgument, "\(source) does not begin with the header of a dump; name a class")
            }
            return (header.schema, header.schemaVersion)
        }
        if fileExists(file) {
            let session = try openFile(file, opening)
            // Only read from.
            defer { _ = try? session.close() }
            if try session.schema[className] != nil {
                try checkKey(try session.schema)
                return (nil, nil)
            }
        }
        guard sourceFormat == .csv else {
            throw DatabaseError(
                .unknownClass, "the file has no class '\(className)'; declare it with --schema", className: className)
        }
        let inferred = try named { () throws(DatabaseError) in
            Schema([
                try CSVInference.objectType(
                    named: className, bytes, try csvOptions(bytes, nil), key: key, rows: inferRows)
            ])
        }
        return (inferred, nil)
    }

    /// `--key` makes a primary key of a new class only; of others it may say what they have.
    private func checkKey(_ schema: Schema) throws {
        guard let key, let className, let type = schema[className],
            !(type.primaryKey?.name).hasSameBytes(as: key)
        else { return }
        throw DatabaseError(
            .invalidArgument,
            "--key names '\(key)', but the primary key of \(className) is \(type.primaryKey?.name ?? "none"); "
                + "leave out --key, or migrate the class first", className: className)
    }

    private func schemaText(_ argument: String) throws -> String {
        if argument.utf8.contains(UInt8(ascii: "{")) { return argument }
        return try openInput(argument).text
    }

    // MARK: The rows

    private typealias Insertion = (Session, ProgressReport) throws(DatabaseError) -> ImportOutcome

    private func insert(
        _ schema: Schema?, _ version: UInt64?, _ rows: @escaping Insertion
    ) throws -> ImportOutcome {
        let progress = ProgressReport("rows", isSilent: quiet)
        defer { progress.finish() }
        let work = OpeningWork(rows, progress)
        var options = SessionOptions(path: file, schema: schema)
        options.noCreate = schema == nil
        // The number of the schema of a file that is there already is its own.
        if let version, version > 0, !fileExists(file) { options.schemaVersion = version }
        try opening.apply(to: &options)
        if schema != nil, commitEvery == 0 {
            // A class that the file lacks comes with its rows or not at all.
            options.fillsAdditions = true
            options.firstOpen = { (session) throws(DatabaseError) in
                work.outcome = try work.rows(session, work.progress)
            }
        }
        let session = try Session.open(options)
        // What is committed is there; an open write is to be undone.
        defer { _ = try? session.close() }
        if let outcome = work.outcome { return outcome }
        try session.beginWrite()
        do {
            let outcome = try rows(session, progress)
            try session.commit()
            return outcome
        } catch {
            if session.isInWrite { try session.cancel() }
            throw error
        }
    }

    /// What an import needs while the file is being opened, on this thread.
    private final class OpeningWork: @unchecked Sendable {  // @unchecked: opening calls back before it returns
        let rows: Insertion
        let progress: ProgressReport
        var outcome: ImportOutcome?

        init(_ rows: @escaping Insertion, _ progress: ProgressReport) {
            self.rows = rows
            self.progress = progress
        }
    }

    private func insertRows(
        _ bytes: UnsafeRawBufferPointer, _ session: Session, _ progress: ProgressReport
    ) throws(DatabaseError) -> ImportOutcome {
        var table: TableKey?
        if let className { table = try objectType(className, in: session).tableKey }
        return try named { () throws(DatabaseError) in
            guard sourceFormat == .csv, let table else { return try insertJSON(bytes, session, table, progress) }
            let importer = try CSVImport(session, into: table, try csvOptions(bytes, progress))
            try importer.run(bytes)
            return importer.outcome
        }
    }

    private func insertJSON(
        _ bytes: UnsafeRawBufferPointer, _ session: Session, _ table: TableKey?, _ progress: ProgressReport
    ) throws(DatabaseError) -> ImportOutcome {
        let importer = try JSONImport(session, into: table, jsonOptions(progress))
        try importer.run(bytes)
        return importer.outcome
    }

    private func jsonOptions(_ progress: ProgressReport) -> JSONImport.Options {
        var options = JSONImport.Options()
        options.policy = update.policy
        options.batchRows = batch
        options.commitEvery = commitEvery
        options.ignoresUnknownProperties = ignoreUnknown
        options.progress = { count throws(DatabaseError) in try progress.show(count, nil) }
        return options
    }

    private func csvOptions(
        _ bytes: UnsafeRawBufferPointer, _ progress: ProgressReport?
    ) throws(DatabaseError) -> CSVImport.Options {
        var options = CSVImport.Options()
        switch delimiter {
        case let delimiter?: options.delimiter = CSVDelimiter.byte(delimiter) ?? 0x2C
        case nil where Self.unpackedName(source).endsWithBytes(of: ".tsv"): options.delimiter = 0x09
        case nil: options.delimiter = CSVDelimiter.guess(bytes)
        }
        if let zone { options.zone = try TimeZoneOption.reader(zone) }
        options.null = null
        options.policy = update.policy
        options.batchRows = batch
        options.commitEvery = commitEvery
        if let progress {
            let size = bytes.count
            options.progress = { count, position throws(DatabaseError) in
                try progress.show(count, size > 0 ? Double(position) / Double(size) : nil)
            }
        }
        return options
    }

    /// Mistakes in the source carry its name: `people.csv:7: ...`.
    private func named<T>(_ body: () throws(DatabaseError) -> T) throws(DatabaseError) -> T {
        do throws(DatabaseError) { return try body() } catch { throw ExchangeError.named(source, error) }
    }
}
