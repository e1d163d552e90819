/// Rows as indexes see them: the values of an index's columns, of a batch that is inserted, of a row group, of one
/// object before and after a change, or of the elements of one object's collection.
///
/// Borrowed: good for the call that it is handed to. Of links the key counts, their class is that of the column.
import MotteColumns
import MotteValues

package struct IndexedRows {
    /// Rows, those that do not exist included, or elements.
    package let count: Int
    private let firstKey: Int64
    /// 0 for elements, which all are of one object.
    private let step: Int64
    /// nil where all of the rows exist.
    private let liveWords: [UInt64]?
    private let source: Source

    private enum Source {
        case batch(RowBatch, slots: [Int])
        case chunks([ColumnChunk])
        /// Of one chunk, which lies apart: a case much larger than the others leaves most of the others unset, and what
        /// looks for use of unset memory cannot tell that only their tags are compared.
        case elements([ColumnChunk], first: Int)
        /// Row after row; the values of the index's columns at these places.
        case cells(UnsafePointer<ValueView>, places: [Int], stride: Int)
    }

    init(_ batch: RowBatch, firstKey: Int64, slots: [Int]) {
        self.init(batch.rowCount, firstKey, step: 1, live: nil, .batch(batch, slots: slots))
    }

    /// `chunks` by the index's columns.
    init(_ rows: RowGroupView, _ chunks: [ColumnChunk]) {
        self.init(rows.rowCount, rows.firstKey, step: 1, live: rows.liveWords, .chunks(chunks))
    }

    init(_ elements: ColumnChunk, _ range: Range<Int>, of key: ObjectKey) {
        self.init(range.count, key.rawValue, step: 0, live: nil, .elements([elements], first: range.lowerBound))
    }

    /// Elements of one object.
    init(elements: UnsafePointer<ValueView>, count: Int, of key: ObjectKey) {
        self.init(count, key.rawValue, step: 0, live: nil, .cells(elements, places: [0], stride: 1))
    }

    /// One row.
    init(_ cells: UnsafePointer<ValueView>, places: [Int], of key: ObjectKey) {
        self.init(1, key.rawValue, step: 1, live: nil, .cells(cells, places: places, stride: 0))
    }

    private init(_ count: Int, _ firstKey: Int64, step: Int64, live: [UInt64]?, _ source: Source) {
        self.count = count
        self.firstKey = firstKey
        self.step = step
        self.source = source
        liveWords = live
    }

    @inline(__always)
    package func key(_ row: Int) -> Int64 { firstKey &+ Int64(row) &* step }

    @inline(__always)
    package func isLive(_ row: Int) -> Bool {
        guard let liveWords else { return true }
        return liveWords[row >> 6] & (1 << UInt64(row & 63)) != 0
    }

    /// Of the index's column, by its place in the index. Null and default where the row has none.
    @inline(__always)
    package func value(_ column: Int, _ row: Int) -> ValueView {
        switch source {
        case .batch(let batch, let slots): batch.value(slots[column], row)
        case .chunks(let chunks): chunks[column].view(row)
        case .elements(let chunks, let first): chunks[0].view(first &+ row)
        case .cells(let cells, let places, let stride):
            // A row that names no value for the column has the default.
            cells[row &* stride &+ places[column]]
        }
    }

    /// Calls `body` with the key and the value of each row that exists.
    @inline(__always)
    package func forEach(_ column: Int = 0, _ body: (ValueView, ObjectKey) -> Void) {
        switch source {
        case .chunks(let chunks):
            let chunk = chunks[column]
            for row in 0 ..< count where isLive(row) { body(chunk.view(row), ObjectKey(key(row))) }
        case .elements(let chunks, let first):
            let chunk = chunks[0]
            let owner = ObjectKey(firstKey)
            for row in 0 ..< count { body(chunk.view(first &+ row), owner) }
        case .batch(let batch, let slots):
            let slot = slots[column]
            for row in 0 ..< count { body(batch.value(slot, row), ObjectKey(firstKey &+ Int64(row))) }
        case .cells(let cells, let places, let stride):
            let place = places[column]
            for row in 0 ..< count { body(cells[row &* stride &+ place], ObjectKey(key(row))) }
        }
    }

    /// The values of a column of ints that came as an array, of consecutive rows that all exist.
    func ints(_ column: Int) -> (ints: UnsafeBufferPointer<Int64>, firstKey: ObjectKey)? {
        guard case .batch(let batch, let slots) = source, let ints = batch.ints(slots[column]) else { return nil }
        return (ints, ObjectKey(firstKey))
    }

    /// Rows of one call that inserts.
    var isBatch: Bool { if case .batch = source { true } else { false } }

    /// Whether a batch names the column; where it does not all rows have the default.
    func isNamed(_ column: Int) -> Bool {
        guard case .batch(let batch, let slots) = source else { return true }
        return batch.names(slots[column])
    }
}

extension TableView {
    /// Calls `body` with all rows of the class, a row group at a time, or with the elements of an object's collection.
    func forEachRows(
        of index: TableIndex, _ rowGroup: Int, _ body: (IndexedRows) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let rows = try self.rowGroup(rowGroup)
        guard rows.liveCount > 0 else { return }
        guard let collection = index.collection else {
            var chunks: [ColumnChunk] = []
            for slot in index.slots { chunks.append(try chunk(slot: slot, rowGroup)) }
            return try body(IndexedRows(rows, chunks))
        }
        for key in rows.liveKeys { try forEachElements(of: collection.key, ObjectKey(key), body) }
    }

    func forEachElements(
        of column: ColumnKey, _ key: ObjectKey, _ body: (IndexedRows) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        try listValues(column, key) { (chunk, range) throws(DatabaseError) in
            try body(IndexedRows(chunk, range, of: key))
        }
    }
}
