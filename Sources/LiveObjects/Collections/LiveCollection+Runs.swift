/// How columns are read over a collection of objects: as runs of neighbouring rows of one chunk, so that whatever
/// copies or sums them works on whole runs and each chunk is looked up once.
import MotteColumns
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues

/// Groups object keys into runs of one column.
struct RunReader {
    private let view: TableView
    private let column: ColumnKey
    private let watch: QueryWatch?
    private var rowGroup = -1
    private var firstKey: Int64 = 0
    private var rowCount: Int64 = 0
    private var live: [UInt64]?
    private var chunk: ColumnChunk?

    init(_ view: TableView, _ column: ColumnKey, _ watch: QueryWatch?) {
        self.view = view
        self.column = column
        self.watch = watch
    }

    /// Rows `first ..< end` by key, all of them live.
    mutating func read(
        dense first: Int64, _ end: Int64, _ body: (ColumnChunk, Range<Int>, Int) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        var key = first
        while key < end {
            let slot = try seek(key)
            guard let chunk else { return }
            let stop = min(end, firstKey + rowCount)
            try body(chunk, slot ..< slot + Int(stop - key), Int(key - first))
            key = stop
        }
    }

    /// Any keys; one that is not live is `.objectDeleted`, a negative one an element that is null.
    mutating func read(
        _ keys: [Int64], from first: Int, to end: Int,
        _ body: (ColumnChunk, Range<Int>, Int) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        var position = first
        while position < end {
            guard keys[position] >= 0 else {
                var length = 1
                while position + length < end, keys[position + length] < 0 { length += 1 }
                try readNulls(length, position, body)
                position += length
                continue
            }
            let slot = try seek(keys[position])
            guard let chunk else { return }
            // As long as the next element is the next row of the same row group.
            var length = 1
            while position + length < end, keys[position + length] == keys[position] + Int64(length),
                slot + length < Int(rowCount), isLive(slot + length)
            {
                length += 1
            }
            try body(chunk, slot ..< slot + length, position)
            position += length
        }
    }

    /// Of elements that are no rows, which maps have: a chunk of the column's kind with nothing but nulls.
    private func readNulls(
        _ count: Int, _ position: Int, _ body: (ColumnChunk, Range<Int>, Int) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let kind = view.layout.columns[try view.layout.slot(column)].kind
        let nulls = ChunkBuilder(kind: kind, nullable: true, capacity: count)
        for _ in 0 ..< count { nulls.append(.null) }
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        try nulls.encode(key: none).withBytes { bytes throws(DatabaseError) in
            try body(try ColumnChunk(validating: bytes, kind: kind, key: none), 0 ..< count, position)
        }
    }

    private mutating func seek(_ key: Int64) throws(DatabaseError) -> Int {
        let offset = key - firstKey
        if rowGroup >= 0, offset >= 0, offset < rowCount {
            if isLive(Int(offset)) { return Int(offset) }
            throw deleted()
        }
        try watch?.check()
        guard let place = try view.locate(ObjectKey(key)) else { throw deleted() }
        let rows = try view.rowGroup(place.rowGroup)
        rowGroup = place.rowGroup
        firstKey = rows.firstKey
        rowCount = Int64(rows.rowCount)
        live = rows.liveWords
        chunk = try view.chunk(column, place.rowGroup)
        return place.slot
    }

    @inline(__always)
    private func isLive(_ slot: Int) -> Bool {
        guard let live else { return true }
        return live[slot >> 6] & (1 << UInt64(slot & 63)) != 0
    }

    private func deleted() -> DatabaseError {
        DatabaseError(
            .objectDeleted, "an element of this snapshot has been deleted; take a new one, or read elements one by one",
            className: view.type.name)
    }
}

extension LiveCollection {
    func forEachRun(
        ofObjects column: ColumnKey?, from first: Int, limit: Int,
        _ body: (ColumnChunk, Range<Int>, Int) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        guard let target else { throw notObjects() }
        guard let column else {
            throw DatabaseError(.wrongType, "this is a collection of objects; name the property to read")
        }
        var reader = RunReader(try session.table(target), column, session.queryWatch())
        let keys = try keys()
        guard first >= 0, first < keys.count, limit > 0 else { return }
        try reader.read(keys, from: first, to: limit < keys.count - first ? first + limit : keys.count, body)
    }
}
