/// One table during one run of a query: its geometry and its chunks, looked up once.
///
/// Lives no longer than the run, in which the source does not move; so chunks may be kept here.
import MotteColumns
import MotteStorage
import MotteValues

struct RowGroupRows {
    let index: Int
    let firstKey: Int64
    let rowCount: Int
}

final class TableReader {
    private(set) var view: TableView
    let rowGroupCount: Int
    let nextKey: Int64
    /// No row group has more.
    let mostRows: Int
    /// nil where nothing ends the run.
    let watch: QueryWatch?
    /// Where other threads read from the same source: held while something is looked up in it.
    private var lock: SourceLock?
    private let rowGroupSize: Int
    private let lastFirstKey: Int64
    private var columns: [Int: ColumnCursor] = [:]
    /// Looked up ahead, from `firstPrepared` on.
    private var prepared: [RowGroupView] = []
    private var firstPrepared = 0

    init(
        _ view: TableView, _ watch: QueryWatch? = nil, sharing lock: SourceLock? = nil
    ) throws(DatabaseError) {
        self.view = view
        self.watch = watch
        self.lock = lock
        rowGroupCount = view.rowGroupCount
        nextKey = view.nextKey
        rowGroupSize = view.rowGroupSize
        let last = rowGroupCount > 0 ? try view.rowGroup(rowGroupCount - 1) : nil
        lastFirstKey = last?.firstKey ?? 0
        mostRows = max(rowGroupSize, last?.rowCount ?? 0)
    }

    /// Where the row of a key below `nextKey` is or was.
    @inline(__always)
    func place(_ key: Int64) -> (rowGroup: Int, slot: Int) {
        if key >= lastFirstKey { return (rowGroupCount - 1, Int(key - lastFirstKey)) }
        let (rowGroup, slot) = UInt64(bitPattern: key).quotientAndRemainder(dividingBy: UInt64(rowGroupSize))
        return (Int(rowGroup), Int(slot))
    }

    /// The live rows of a row group as selection words; false where there are none.
    func liveRows(_ rowGroup: Int, into words: SelectionWords) throws(DatabaseError) -> RowGroupRows? {
        let isPrepared = rowGroup >= firstPrepared && rowGroup - firstPrepared < prepared.count
        let rows =
            isPrepared
            ? prepared[rowGroup - firstPrepared]
            : try lookUp { () throws(DatabaseError) in try view.rowGroup(rowGroup) }
        guard rows.liveCount > 0 else { return nil }
        if let live = rows.liveWords {
            for index in 0 ..< Selection.wordCount(rows.rowCount) { words[index] = live[index] }
        } else {
            Selection.fill(words, rows: rows.rowCount)
        }
        return RowGroupRows(index: rowGroup, firstKey: rows.firstKey, rowCount: rows.rowCount)
    }

    /// They are looked up again when they are asked for.
    func forgetChunks() {
        prepared.removeAll(keepingCapacity: true)
        for cursor in columns.values { cursor.forgetChunks() }
    }

    /// Goes on in a source that no other thread reads, at the same version; behind `forgetChunks`.
    func read(from view: TableView) {
        self.view = view
        lock = nil
    }
    /// Looks up at once what is known of some row groups: which rows they have, and of each column that is read their
    /// chunks.
    func prepare(_ range: Range<Int>) throws(DatabaseError) {
        prepared.removeAll(keepingCapacity: true)
        firstPrepared = range.lowerBound
        try lookUp { () throws(DatabaseError) in
            for rowGroup in range { prepared.append(try view.rowGroup(rowGroup)) }
            for cursor in columns.values { try cursor.takeKnown(range) }
        }
    }

    /// One thread at a time.
    fileprivate func lookUp<Result>(_ body: () throws(DatabaseError) -> Result) throws(DatabaseError) -> Result {
        guard let lock else { return try body() }
        return try lock.withLock { lookUps throws(DatabaseError) in
            lookUps &+= 1
            return try body()
        }
    }

    /// Whether no other thread reads the same source.
    var isAlone: Bool { lock == nil }

    func cursor(_ column: ColumnKey) throws(DatabaseError) -> ColumnCursor {
        let slot = try view.layout.slot(column)
        if let cursor = columns[slot] { return cursor }
        let cursor = ColumnCursor(self, slot)
        columns[slot] = cursor
        return cursor
    }
}

/// Held by one of the threads that share a source while it looks something up there; how often they did. Not of `Void`:
/// a value without a size lies where the lock's own address is kept, which the thread sanitizer takes for a race.
typealias SourceLock = Locked<Int>

/// Random access to one column of a table.
final class ColumnCursor {
    private unowned let reader: TableReader
    private let slot: Int
    private let chunks: UnsafeMutablePointer<ColumnChunk>
    private let isLoaded: UnsafeMutablePointer<Bool>
    /// Behind the row group that was loaded last: where a scan will go on.
    private var next = 0
    /// How many row groups are looked up at once then. Each by itself takes as long as comparing its numbers.
    private static let ahead = 64

    init(_ reader: TableReader, _ slot: Int) {
        self.reader = reader
        self.slot = slot
        chunks = .allocate(capacity: max(1, reader.rowGroupCount))
        isLoaded = .allocate(capacity: max(1, reader.rowGroupCount))
        isLoaded.initialize(repeating: false, count: max(1, reader.rowGroupCount))
    }

    deinit {
        // Chunks are plain bytes: there is nothing to deinitialize.
        chunks.deallocate()
        isLoaded.deallocate()
    }

    @inline(__always)
    func chunk(_ rowGroup: Int) throws(DatabaseError) -> UnsafePointer<ColumnChunk> {
        if !isLoaded[rowGroup] { try load(rowGroup) }
        return UnsafePointer(chunks + rowGroup)
    }

    /// The value of a live object.
    @inline(__always)
    func view(_ key: Int64) throws(DatabaseError) -> ValueView {
        let place = try place(key)
        return try chunk(place.rowGroup).pointee.view(place.slot)
    }

    /// Of a link column: the object key, -1 for null.
    @inline(__always)
    func link(_ key: Int64) throws(DatabaseError) -> Int64 {
        let place = try place(key)
        return try chunk(place.rowGroup).pointee.link(place.slot)
    }

    @inline(__always)
    private func place(_ key: Int64) throws(DatabaseError) -> (rowGroup: Int, slot: Int) {
        // Keys come from link columns and indexes, and a damaged file may hold any number there.
        guard key >= 0, key < reader.nextKey else {
            throw .corrupted("a link leads to an object of \(reader.view.type.name) that never was")
        }
        return reader.place(key)
    }

    func forgetChunks() { isLoaded.update(repeating: false, count: max(1, reader.rowGroupCount)) }

    private func load(_ rowGroup: Int) throws(DatabaseError) {
        try reader.watch?.check()
        let chunk = try reader.lookUp { () throws(DatabaseError) in try reader.view.chunk(slot: slot, rowGroup) }
        (chunks + rowGroup).initialize(to: chunk)
        isLoaded[rowGroup] = true
        if rowGroup == next, rowGroup > 0, reader.isAlone { loadKnown(from: rowGroup + 1) } else { next = rowGroup + 1 }
    }

    private func loadKnown(from first: Int) {
        let end = min(first + Self.ahead, reader.rowGroupCount)
        let count = reader.view.copyKnownChunks(slot: slot, first ..< max(first, end), into: chunks + first)
        (isLoaded + first).update(repeating: true, count: count)
        next = first + count
    }

    fileprivate func takeKnown(_ range: Range<Int>) throws(DatabaseError) {
        for rowGroup in range {
            guard let chunk = try reader.view.knownChunk(slot: slot, rowGroup) else { continue }
            (chunks + rowGroup).initialize(to: chunk)
            isLoaded[rowGroup] = true
        }
    }
}

/// Selection words of their own for an operator, as many as its table's row groups have rows.
final class SelectionBuffer {
    let words: SelectionWords

    init(rows: Int) {
        let count = max(1, Selection.wordCount(rows))
        words = .allocate(capacity: count)
        words.initialize(repeating: 0, count: count)
    }

    deinit { words.deallocate() }
}
