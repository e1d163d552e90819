/// A Realm database file (`.realm`, formats 20 to 24), open for reading.
///
/// One thread at a time uses it and all that comes from it. Nothing is ever written: a file that another process
/// commits to meanwhile is noticed by `checkUnchanged`. What is read from a file is compared with itself wherever
/// something hangs on it, so that any bytes are data or an error, and take memory and time by the size of the file.
import MotteValues

package final class RealmFile {
    private static let classPrefix = "class_"
    /// Tables of the library itself, which hold nothing of the program's.
    private static let ownTables: Set<String> = [  // names: ASCII
        "metadata", "pk", "client_reset_metadata", "sync_internal_schemas", "flx_metadata", "flx_subscription_sets",
        "flx_subscription_queries",
    ]
    private static let keptHeaderBytes = 64

    package let path: String
    /// 20 to 24.
    package let format: Int
    /// Of the state that is read: counts commits.
    package let version: UInt64
    /// UInt64.max: the program that made the file has given none.
    package let schemaVersion: UInt64
    package let isEncrypted: Bool
    /// Logical bytes.
    package let size: Int
    /// Classes that a user declared, in the order of the file.
    package let tables: [RealmTable]
    /// Names of tables without the mark of a class, as programs on realm-core itself make them. They are not read.
    package let otherTables: [String]

    let context: FileContext
    /// The first bytes on disk as they were: the header, or of an encrypted file what says which header it is.
    private let firstBytes: [UInt8]

    /// The format by what the first bytes of a file say; nil when they are not those of a Realm file. Of an encrypted
    /// one they say nothing without its key.
    package static func format(at path: String) throws(DatabaseError) -> Int? {
        let file = try FileBytes(path)
        guard file.count >= RealmHeader.count else { return nil }
        return try first(RealmHeader.count, of: file).withBytes { bytes in RealmHeader.format(bytes) }
    }

    /// `key`: the 64 bytes of an encrypted file.
    package convenience init(_ path: String, key: [UInt8]? = nil) throws(DatabaseError) {
        try self.init(FileBytes(path), key)
    }

    /// A file that is in memory, for tests.
    package convenience init(bytes: [UInt8], key: [UInt8]? = nil) throws(DatabaseError) {
        try self.init(FileBytes("memory", holding: bytes), key)
    }

    private init(_ file: FileBytes, _ key: [UInt8]?) throws(DatabaseError) {
        path = file.path
        isEncrypted = key != nil
        let opened = try Place(path: file.path).adding { () throws(DatabaseError) in try Self.open(file, key) }
        context = opened.context
        firstBytes = opened.firstBytes
        format = opened.context.format
        size = opened.context.nodes.limit
        version = opened.version
        schemaVersion = opened.schemaVersion
        otherTables = opened.otherTables
        tables = opened.layouts.enumerated().map {
            RealmTable($0.element.layout, index: $0.offset, count: $0.element.count, opened.context)
        }
    }

    /// Throws `.busy` when the header changed since the file was opened: somebody committed meanwhile.
    package func checkUnchanged() throws(DatabaseError) {
        let now = try Place(path: path).adding { () throws(DatabaseError) in
            try Self.first(Self.keptHeaderBytes, of: context.nodes.pages.file)
        }
        guard now == firstBytes else {
            throw DatabaseError(
                .busy, "'\(path)' was changed while it was read; close the programs that use it, or read a copy",
                path: path)
        }
    }

    /// How many dates of those read so far were before the first that can be expressed, and given as that: seconds of
    /// Int64.min with nanoseconds, which count backwards in these files.
    package var clampedTimestamps: Int { context.clampedTimestamps }

    // MARK: Opening

    private struct Opened {
        let context: FileContext
        let firstBytes: [UInt8]
        var version: UInt64 = 0
        var schemaVersion: UInt64 = .max
        var layouts: [(layout: TableLayout, count: Int)] = []
        var otherTables: [String] = []
    }

    private static func first(_ count: Int, of file: FileBytes) throws(DatabaseError) -> [UInt8] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 8)
        defer { buffer.deallocate() }
        buffer.initializeMemory(as: UInt8.self, repeating: 0)
        if let base = buffer.baseAddress { try file.read(0, min(count, file.count), to: base) }
        return [UInt8](buffer)
    }

    private static func open(_ file: FileBytes, _ key: [UInt8]?) throws(DatabaseError) -> Opened {
        let firstBytes = try first(keptHeaderBytes, of: file)
        var decryption: PageDecryption?
        if let key {
            decryption = try PageDecryption(key: key)
            guard file.count >= 2 * PageDecryption.pageBytes else {
                throw Damage.found("the file is truncated: an encrypted one has 8,192 bytes at least")
            }
        }
        let pages = PageSource(file, decryption)
        guard pages.count >= RealmHeader.count else {
            throw Damage.found("the file is truncated: it has \(pages.count) bytes")
        }
        let header = try header(pages, firstBytes, isEncrypted: key != nil)
        let context = FileContext(path: file.path, format: header.format, nodes: NodeSource(pages))
        var opened = Opened(context: context, firstBytes: firstBytes)
        if header.top != 0 { try readTop(header.top, &opened) }
        return opened
    }

    private static func header(
        _ pages: PageSource, _ firstBytes: [UInt8], isEncrypted: Bool
    ) throws(DatabaseError) -> RealmHeader {
        let isPlain = firstBytes.withUnsafeBytes { RealmHeader.format($0) } != nil
        if isEncrypted, isPlain { throw DatabaseError(.wrongKey, "it is not encrypted; open it without a key") }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: RealmHeader.count, alignment: 8)
        defer { buffer.deallocate() }
        if let base = buffer.baseAddress { try pages.read(0, RealmHeader.count, to: base) }
        let bytes = UnsafeRawBufferPointer(buffer)
        guard RealmHeader.format(bytes) != nil else {
            throw DatabaseError(.unsupportedFormat, "it is no Realm file, or it is encrypted and needs its key")
        }
        return try RealmHeader(bytes, of: pages)
    }

    private static func readTop(_ top: Int, _ opened: inout Opened) throws(DatabaseError) {
        let file = opened.context
        let visited = VisitedNodes(limit: file.nodes.limit)
        let scope = ReadingScope(file, visited: visited)
        let node = try scope.node(top)
        let slots = try node.refs("the description of the file")
        guard [3, 5, 7, 9, 10, 11, 12].contains(slots.count), case .tagged(let size) = slots.slot(2),
            let version = slots.slot(6).number
        else { throw node.unlike("the description of the file") }
        guard size <= Int64(file.nodes.limit) else {
            throw Damage.found("the file is truncated: it should have \(size) bytes and has \(file.nodes.limit)")
        }
        guard size % 8 == 0, size >= Int64(top + Node.headerBytes + node.payloadBytes) else {
            throw node.damage("the size of the file is said to be \(size) bytes")
        }
        file.nodes.end(at: Int(size))
        opened.version = UInt64(bitPattern: version)
        try readTables(slots, node.ref, scope, &opened)
    }

    private static func readTables(
        _ top: Integers, _ ref: Int, _ scope: ReadingScope, _ opened: inout Opened
    ) throws(DatabaseError) {
        let file = scope.file
        let names = try TableNames(try scope.node(top, 0, "the list of classes", ref), scope)
        let tables = try scope.node(top, 1, "the list of tables", ref)
        let refs = try tables.refs("the list of tables")
        guard refs.count == names.count, refs.count <= 0x10000 else {
            throw tables.damage("tables and their names differ in number")
        }
        file.tableKeys = [Int64](repeating: TableLayout.noTable, count: refs.count)
        file.tableIndexes = [Int](repeating: -1, count: refs.count)
        var known: Set<[UInt8]> = []
        var metadata: TableLayout?
        var layouts: [TableLayout] = []
        for slot in 0 ..< refs.count {
            guard case .ref(let place) = refs.slot(slot) else { continue }
            let full = try names.text(slot, scope)
            guard known.insert(Array(full.utf8)).inserted else {
                throw tables.damage("two classes are named '\(full)'")
            }
            guard full.beginsWithBytes(of: classPrefix) else {
                if full == "metadata" { metadata = try TableLayout(place, name: full, slot: slot, scope) }
                if !ownTables.contains(full) { opened.otherTables.append(full) }
                continue
            }
            let name = String(Substring(full.utf8.dropFirst(classPrefix.utf8.count)))
            let layout = try TableLayout(place, name: name, slot: slot, scope)
            file.tableKeys[slot] = layout.key
            file.tableIndexes[slot] = layouts.count
            layouts.append(layout)
        }
        file.layouts = layouts
        for layout in layouts {
            try layout.resolveLinks(layouts, file)
            opened.layouts.append((layout, try ClusterTree.count(layout.clusters, ReadingScope(file, visited: nil))))
        }
        if let metadata { opened.schemaVersion = try schemaVersion(metadata, file) ?? .max }
    }

    private static func schemaVersion(
        _ layout: TableLayout, _ file: FileContext
    ) throws(DatabaseError) -> UInt64? {
        guard let column = layout.columns.firstIndex(where: { $0.name == "version" }),
            layout.columns[column].element.stored == .int
        else { return nil }
        let table = RealmTable(layout, index: 0, count: 0, file)
        guard let found = try table.find(0) else { return nil }
        return UInt64(bitPattern: try found.cluster.value(column, found.row).intValue)
    }
}
