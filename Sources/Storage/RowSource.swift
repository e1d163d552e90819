/// A consistent state of all tables: a `Snapshot` (committed) or a `WriteTransaction` (with its own changes).
///
/// Everything above reads through one of these. Asked for once per query or call, never per row. One thread at a time;
/// what is shared between threads is the pages below it.
import CMotteShim
import MotteColumns
import MottePages
import MotteSchemaModel
import MotteValues

package class RowSource {
    // Exclusivity: a source belongs to one thread at a time; each access to a value looks at these.
    @exclusivity(unchecked) package private(set) var catalog: Catalog
    package let counters: Counters
    let rowGroupSize: Int
    @exclusivity(unchecked) var views = TableSlots<TableView>()
    /// Of a query on this. A write stays with one: what it lends is good until its next change.
    package var queryThreads = QueryThreads.one

    init(catalog: Catalog, counters: Counters, rowGroupSize: Int) {
        self.catalog = catalog
        self.counters = counters
        self.rowGroupSize = rowGroupSize
    }

    /// Of a write: the version it builds on.
    package var version: Version { Version(0) }
    package var schema: Schema { catalog.schema }

    package func table(_ key: TableKey) throws(DatabaseError) -> TableView {
        if let view = views[key] { return view }
        let view = try makeView(key)
        views[key] = view
        return view
    }

    func makeView(_ key: TableKey) throws(DatabaseError) -> TableView {
        throw DatabaseError(.internal, "a row source without tables")
    }

    package func indexView(_ key: IndexKey) throws(DatabaseError) -> IndexView {
        throw DatabaseError(.internal, "a row source without indexes")
    }

    /// The lowest key with the value.
    func firstKey(in index: IndexKey, _ value: IndexValue) throws(DatabaseError) -> ObjectKey? {
        try indexView(index).firstKey(value)
    }

    /// What an index answers as of here.
    func answers(of index: TableIndex) throws(DatabaseError) -> any IndexAnswering {
        throw DatabaseError(.internal, "a row source without indexes")
    }

    /// Whether an open write has changed the index.
    func hasPendingChanges(of index: TableIndex) -> Bool { false }

    /// Whether an index is declared but not built yet, so that look-ups have to scan.
    func isDeferred(_ index: IndexKey) -> Bool { false }

    // MARK: Memory

    /// Pages are being given up for want of memory, so that it is worth to look up again what is still needed.
    package var isMemoryWanted: Bool { false }

    /// Moves whenever pages are given up; nil where none are. There as long as this is.
    package var memoryClock: MemoryClock? { nil }

    /// Whether the file has more than may stay in memory at once.
    package var exceedsMemory: Bool { false }

    /// Bytes that the file's pages may take.
    package var memoryBytes: Int { .max }

    /// For what does not fit into memory.
    package func makeScratchFile() throws(DatabaseError) -> ScratchFile {
        throw DatabaseError(.internal, "a row source without a file")
    }

    /// Another source of the same rows for who goes through many of them and lets their memory go on the way, which
    /// what this has lent would keep. In a write good until its next change.
    package func copyForScan() -> RowSource { self }

    /// Forgets where chunks and index blocks are, so that the memory of their pages can be taken. Nothing that this has
    /// lent is used any more; `butLatest`: but what it was asked for since the last time.
    package func releaseMemory(butLatest: Bool = false) {}

    func replaceCatalog(_ catalog: Catalog) { self.catalog = catalog }

    func unknownTable(_ key: TableKey) -> DatabaseError {
        DatabaseError(.unknownClass, "the file has no class with key \(key.rawValue)")
    }
}

/// Of which pages a later version differs from an earlier one, so that pointers into all others are kept.
struct TouchedPages {
    var rowGroups: [TableKey: Set<Int>] = [:]
    var indexes: Set<IndexKey> = []
}

/// Where a snapshot is, without keeping its version.
package struct SnapshotTrace: Sendable {
    package let version: Version
    package let catalog: Catalog
    private weak var pages: PageSnapshot?
    private let counters: Counters
    private let rowGroupSize: Int

    fileprivate init(_ snapshot: Snapshot) {
        version = snapshot.version
        catalog = snapshot.catalog
        pages = snapshot.pages
        counters = snapshot.counters
        rowGroupSize = snapshot.rowGroupSize
    }

    /// nil when nobody shows the version any more.
    package var snapshot: Snapshot? {
        pages.map { Snapshot(pages: $0.sharing(), catalog: catalog, counters: counters, rowGroupSize: rowGroupSize) }
    }
}

/// For who looks often whether memory is wanted.
package struct MemoryClock {
    package let word: UnsafePointer<UInt64>
    package var now: UInt64 { motte_shim_load64(word) }
}

/// A committed version. Its owner may move it to a newer one, which keeps every chunk pointer that still holds; frozen
/// things hold a snapshot of their own that stays.
package final class Snapshot: RowSource {
    package private(set) var pages: PageSnapshot
    /// What must not change in the schema for this to advance; nil: anything may.
    package var reliance: SchemaReliance?
    /// Set where classes are shown that the file lacks.
    var reading: ReadingCatalog?
    private var directories = TableSlots<TableDirectory>()
    private var readers: [IndexKey: IndexReader] = [:]
    /// One of those: who gets objects by their keys asks for the same each time.
    @exclusivity(unchecked) private var latestReader: (key: IndexKey, reader: IndexReader)?
    /// Of indexes that are declared with a class.
    private var declaredReaders: [IndexKey: any IndexReading] = [:]
    /// Of the last write on this, for the next one.
    private var keptBuilders: KeptBuilders?

    init(pages: PageSnapshot, catalog: Catalog, counters: Counters, rowGroupSize: Int) {
        self.pages = pages
        super.init(catalog: catalog, counters: counters, rowGroupSize: rowGroupSize)
        pages.hold?.mayRest()
    }

    package override var version: Version { pages.version }

    /// Another row source at the same version, for another thread or to stay behind when this one advances.
    package func copy() -> Snapshot {
        let copy = Snapshot(pages: pages.sharing(), catalog: catalog, counters: counters, rowGroupSize: rowGroupSize)
        // It may take this one's place.
        (copy.reliance, copy.reading) = (reliance, reading)
        return copy
    }

    /// For another thread that wants to look at the same version while somebody shows it.
    package var trace: SnapshotTrace { SnapshotTrace(self) }

    package func directory(_ key: TableKey) throws(DatabaseError) -> TableDirectory {
        if let directory = directories[key] { return directory }
        guard let stored = catalog.table(key) else { throw unknownTable(key) }
        let directory = try TableDirectory(
            TableLayout(stored, catalog: catalog), pages: pages, rowGroupSize: rowGroupSize, counters: counters)
        directories[key] = directory
        return directory
    }

    /// Whether `releaseMemory` looks after it.
    func has(_ directory: TableDirectory) -> Bool { directories[directory.layout.key] === directory }

    override func makeView(_ key: TableKey) throws(DatabaseError) -> TableView {
        TableView(directory: try directory(key), writer: nil, source: self)
    }

    func reader(_ key: IndexKey) -> IndexReader {
        if let latestReader, latestReader.key == key { return latestReader.reader }
        let reader = readers[key] ?? IndexReader(key, pages: pages)
        readers[key] = reader
        latestReader = (key, reader)
        return reader
    }

    package override func indexView(_ key: IndexKey) throws(DatabaseError) -> IndexView {
        IndexView(reader(key))
    }

    override func firstKey(in index: IndexKey, _ value: IndexValue) throws(DatabaseError) -> ObjectKey? {
        try IndexView.firstKey(value, in: reader(index))
    }

    func reader(of index: TableIndex) -> any IndexReading {
        if index.kind is EntryIndexKind { return reader(index.key) }
        if let reader = declaredReaders[index.key] { return reader }
        let reader = index.kind.makeReader(of: index, pages: pages)
        declaredReaders[index.key] = reader
        return reader
    }

    override func answers(of index: TableIndex) throws(DatabaseError) -> any IndexAnswering {
        index.kind.answers(of: index, reader(of: index), pending: nil)
    }

    /// To a version in which only the indexes named differ.
    private func advanceReaders(to newer: PageSnapshot, except changed: some Sequence<IndexKey>) {
        latestReader = nil
        for index in changed {
            readers[index] = nil
            declaredReaders[index] = nil
        }
        for reader in readers.values { reader.advance(to: newer) }
        for reader in declaredReaders.values { reader.advance(to: newer) }
    }

    private func forgetReaders() {
        latestReader = nil
        readers.removeAll()
        declaredReaders.removeAll()
    }

    // MARK: Memory

    package override var isMemoryWanted: Bool { pages.hold?.isDue == true }
    package override var memoryClock: MemoryClock? { pages.hold.map { MemoryClock(word: $0.clock) } }
    package override var exceedsMemory: Bool { pages.exceedsMemory }
    package override var memoryBytes: Int { pages.memoryBytes }
    package override func makeScratchFile() throws(DatabaseError) -> ScratchFile { try pages.makeScratchFile() }
    package override func copyForScan() -> RowSource { copy() }

    package override func releaseMemory(butLatest: Bool = false) {
        forgetReaders()
        keptBuilders = nil
        for directory in directories.all { directory.forgetPlaces() }
        if butLatest { pages.hold?.renewButLatest() } else { pages.hold?.renew() }
    }

    /// Before this moves: pointers are kept, and with them what they point to, unless memory is wanted or a compaction
    /// has moved values, of which no change record tells.
    private func hand(over newer: PageSnapshot) {
        newer.hold?.mayRest()
        if isMemoryWanted || newer.hasMovedValues(since: pages.storedVersion) {
            releaseMemory()
        } else if let hold = pages.hold, hold !== newer.hold {
            newer.hold?.keep(hold)
        }
    }

    // MARK: Writes on this

    /// Whoever takes it has it alone.
    func takeKeptBuilders() -> KeptBuilders? {
        defer { keptBuilders = nil }
        return keptBuilders?.version == version ? keptBuilders : nil
    }

    func leave(_ keptBuilders: KeptBuilders) { self.keptBuilders = keptBuilders }

    /// To the version that `write`, which began on this one and left the schema alone, has just made.
    func advance(to newer: PageSnapshot, after write: WriteTransaction) {
        hand(over: newer)
        pages = newer
        advanceReaders(to: newer, except: write.writtenIndexes)
        for directory in directories.all {
            directory.advance(to: newer, after: write.writers[directory.layout.key])
        }
    }

    // MARK: Moving

    /// Moves to `newer`. `touched` says what changed in between, nil if that is not known.
    func advance(to newer: PageSnapshot, catalog newCatalog: Catalog, touched: TouchedPages?) throws(DatabaseError) {
        // All that can fail comes before anything moves: half of it at another version would be written over the rest.
        var states: [TableState] = []
        if newCatalog === catalog {
            for directory in directories.all { states.append(try directory.readState(in: newer)) }
        }
        if newer.version != keptBuilders?.version { keptBuilders = nil }
        hand(over: newer)
        if newCatalog !== catalog {
            forgetReaders()
            replaceCatalog(newCatalog)
            pages = newer
            directories.removeAll()
            views.removeAll()
            return
        }
        pages = newer
        if let touched {
            advanceReaders(to: newer, except: touched.indexes)
        } else {
            forgetReaders()
        }
        for (directory, state) in zip(directories.all, states) {
            let rowGroups = touched.map { $0.rowGroups[directory.layout.key] ?? [] }
            directory.advance(to: newer, state, touched: rowGroups)
        }
    }
}
