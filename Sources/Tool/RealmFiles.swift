/// Realm files (`.realm`) as commands meet them: what they are read by, and their import.
import MotteExchange
import MotteLiveObjects
import MotteRealmFile
import MotteSchemaModel
import MotteStorage
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// nil for every other file, also for one that is not there.
func realmFile(_ path: String, _ key: [UInt8]?) throws(DatabaseError) -> RealmFile? {
    guard fileExists(path) else { return nil }
    if let file = try RealmFileOpening.realmFile(path, key) { return file }
    guard key == nil, path.endsWithBytes(of: ".realm"), try !Session.isDatabase(path) else { return nil }
    throw DatabaseError(
        .notAMotteFile, "'\(path)' is no Realm file, or it is encrypted; then name its key with --key-file", path: path)
}

/// Opens a file that is only read, a Realm file too.
func openReadable(_ path: String, _ reading: ReadOptions) throws -> Session {
    let key = try reading.opening.key.bytes()
    guard let file = try realmFile(path, key) else { return try openFile(path, reading) }
    return try openTemporarily(file, key)
}

/// The objects of a Realm file in a database that nobody else sees and that is gone when the command ends. What cannot
/// be shown as it is in the file is said on standard error.
private func openTemporarily(_ file: RealmFile, _ key: [UInt8]?) throws(DatabaseError) -> Session {
    Console.catchEnd(true)
    defer { Console.catchEnd(false) }
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let schema = try RealmSchema(file)
    var options = SessionOptions(path: folder.file, schema: schema.schema)
    options.schemaVersion = schema.version
    // What was encrypted is not written in the clear anywhere.
    options.encryptionKey = file.isEncrypted ? key : nil
    options.durability = .none
    let session = try Session.open(options)
    let progress = ProgressReport("objects", isSilent: isatty(2) == 0)
    defer { progress.finish() }
    var importing = RealmImport.Options()
    importing.commitEvery = 1_000_000
    importing.progress = { (done, total) throws(DatabaseError) in try progress.show(done, fraction(done, total)) }
    try session.beginWrite()
    let summary = try RealmImport(file, schema, into: session, importing).run()
    try session.commit()
    progress.finish()
    printNotes(summary)
    return session
}

func fraction(_ done: Int, _ total: Int) -> Double? { total > 0 ? Double(done) / Double(total) : nil }

/// On standard error, so that rows on standard output stay rows.
private func printNotes(_ summary: RealmSummary) {
    for note in summary.notes { printError("note: \(note.text)") }
}

/// A file stays open when its name is gone.
private struct TemporaryFolder {
    private let path: String
    var file: String { path + "/converted.motte" }

    init() throws(DatabaseError) {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? ""
        var template = Array(((parent.isEmpty ? "/tmp" : parent) + "/motte-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            let reason = String(cString: strerror(errno))
            throw DatabaseError(
                .inputOutput,
                "cannot make a temporary folder: \(reason); name one that can be written with TMPDIR",
                systemError: errno)
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func remove() {
        for name in [file, file + "-shared"] { unlink(name) }
        rmdir(path)
    }
}

// MARK: Import

/// `motte import FILE SOURCE.realm`: a new file is made whole and compared with its source before it gets its name; one
/// that is there takes the objects in one transaction, or in parts.
struct RealmFileImport {
    let file: String
    let source: String
    let opening: OpenOptions
    let sourceKey: [UInt8]?
    let schema: Schema?
    let policy: UpdatePolicy
    let commitEvery: Int
    let resumes: Bool
    let isStrict: Bool
    let progress: ProgressReport

    func run() throws {
        let summary = fileExists(file) || commitEvery > 0 || resumes ? try add() : try convert()
        progress.finish()
        for type in summary.classes {
            let updated = type.updated > 0 ? ", \(type.updated) of them updated" : ""
            printLine("\(type.name): \(type.created + type.updated) of \(type.objects) objects\(updated)")
        }
        printNotes(summary)
        printLine("imported \(summary.created + summary.updated) objects")
    }

    private func convert() throws -> RealmSummary {
        var options = RealmConversion.Options()
        options.sourceKey = sourceKey
        options.key = try opening.key.bytes()
        options.schema = schema
        options.isStrict = isStrict
        options.progress = { (done, total) throws(DatabaseError) in try progress.show(done, fraction(done, total)) }
        return try RealmConversion.convert(source, to: file, options)
    }

    private func add() throws -> RealmSummary {
        let realm = try RealmFile(source, key: sourceKey)
        let wanted = try RealmSchema(realm, adding: schema)
        var options = try opening.options(file)
        options.schema = wanted.schema
        if !fileExists(file) { options.schemaVersion = wanted.version }
        let session = try Session.open(options)
        // What is committed is there; an open write is to be undone.
        defer { _ = try? session.close() }
        var importing = RealmImport.Options()
        importing.policy = policy
        importing.commitEvery = commitEvery
        importing.resumes = resumes
        importing.isStrict = isStrict
        importing.progress = { (done, total) throws(DatabaseError) in try progress.show(done, fraction(done, total)) }
        try session.beginWrite()
        do {
            let summary = try RealmImport(realm, wanted, into: session, importing).run()
            try session.commit()
            return summary
        } catch {
            if session.isInWrite { try session.cancel() }
            throw error
        }
    }
}

// MARK: Looking at one

/// What `motte info` says.
func printRealmFile(_ file: RealmFile) {
    let encrypted = file.isEncrypted ? ", encrypted" : ""
    printLine("file      \(file.path)")
    printLine("format    Realm \(file.format)\(encrypted); 'motte import' makes a Motte file of it")
    printLine("size      \(file.size) bytes")
    let version = file.schemaVersion == .max ? "none" : "\(file.schemaVersion)"
    printLine("version   \(file.version), schema version \(version)")
    for table in file.tables.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }) {
        let indexed = table.columns.filter(\.isIndexed).map(\.name)
        let indexes = indexed.isEmpty ? "" : "  indexed: \(indexed.joined(separator: ", "))"
        let kind =
            switch table.kind {
            case .object: "class      "
            case .embedded: "embedded   "
            case .asymmetric: "asymmetric "
            }
        printLine(
            "\(kind)\(table.name): \(table.objectCount) objects, \(table.columns.count) properties\(indexes)")
    }
}
