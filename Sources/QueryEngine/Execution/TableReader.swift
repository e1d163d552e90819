/// One table during one run of a query: its geometry and its chunks, looked up once.
///
/// Lives no longer than the run, in which the source does not move; so chunks may be kept here.
import MotteColumns
import MotteStorage
import MotteValues

struct ClusterRows {
    let index: Int
    let firstKey: Int64
    let rowCount: Int
}

final class TableReader {
    let view: TableView
    let clusterCount: Int
    let nextKey: Int64
    /// No cluster has more.
    let mostRows: Int
    private let rowsPerCluster: Int
    private let lastFirstKey: Int64
    private var columns: [Int: ColumnCursor] = [:]

    init(_ view: TableView) throws(DatabaseError) {
        self.view = view
        clusterCount = view.clusterCount
        nextKey = view.nextKey
        rowsPerCluster = view.rowsPerCluster
        let last = clusterCount > 0 ? try view.cluster(clusterCount - 1) : nil
        lastFirstKey = last?.firstKey ?? 0
        mostRows = max(rowsPerCluster, last?.rowCount ?? 0)
    }

    /// Where the row of a key below `nextKey` is or was.
    @inline(__always)
    func place(_ key: Int64) -> (cluster: Int, slot: Int) {
        if key >= lastFirstKey { return (clusterCount - 1, Int(key - lastFirstKey)) }
        let (cluster, slot) = UInt64(bitPattern: key).quotientAndRemainder(dividingBy: UInt64(rowsPerCluster))
        return (Int(cluster), Int(slot))
    }

    /// The live rows of a cluster as selection words; false where there are none.
    func liveRows(_ cluster: Int, into words: SelectionWords) throws(DatabaseError) -> ClusterRows? {
        let rows = try view.cluster(cluster)
        guard rows.liveCount > 0 else { return nil }
        if let live = rows.liveWords {
            for index in 0 ..< Selection.wordCount(rows.rowCount) { words[index] = live[index] }
        } else {
            Selection.fill(words, rows: rows.rowCount)
        }
        return ClusterRows(index: cluster, firstKey: rows.firstKey, rowCount: rows.rowCount)
    }

    func cursor(_ column: ColumnKey) throws(DatabaseError) -> ColumnCursor {
        let slot = try view.layout.slot(column)
        if let cursor = columns[slot] { return cursor }
        let cursor = ColumnCursor(self, slot)
        columns[slot] = cursor
        return cursor
    }
}

/// Random access to one column of a table.
final class ColumnCursor {
    private unowned let reader: TableReader
    private let slot: Int
    private let chunks: UnsafeMutablePointer<ColumnChunk>
    private let isLoaded: UnsafeMutablePointer<Bool>

    init(_ reader: TableReader, _ slot: Int) {
        self.reader = reader
        self.slot = slot
        chunks = .allocate(capacity: max(1, reader.clusterCount))
        isLoaded = .allocate(capacity: max(1, reader.clusterCount))
        isLoaded.initialize(repeating: false, count: max(1, reader.clusterCount))
    }

    deinit {
        // Chunks are plain bytes: there is nothing to deinitialize.
        chunks.deallocate()
        isLoaded.deallocate()
    }

    @inline(__always)
    func chunk(_ cluster: Int) throws(DatabaseError) -> UnsafePointer<ColumnChunk> {
        if !isLoaded[cluster] { try load(cluster) }
        return UnsafePointer(chunks + cluster)
    }

    /// The value of a live object.
    @inline(__always)
    func view(_ key: Int64) throws(DatabaseError) -> ValueView {
        let place = try place(key)
        return try chunk(place.cluster).pointee.view(place.slot)
    }

    /// Of a link column: the object key, -1 for null.
    @inline(__always)
    func link(_ key: Int64) throws(DatabaseError) -> Int64 {
        let place = try place(key)
        return try chunk(place.cluster).pointee.link(place.slot)
    }

    @inline(__always)
    private func place(_ key: Int64) throws(DatabaseError) -> (cluster: Int, slot: Int) {
        // Keys come from link columns and indexes, and a damaged file may hold any number there.
        guard key >= 0, key < reader.nextKey else {
            throw .corrupted("a link leads to an object of \(reader.view.type.name) that never was")
        }
        return reader.place(key)
    }

    private func load(_ cluster: Int) throws(DatabaseError) {
        (chunks + cluster).initialize(to: try reader.view.chunk(slot: slot, cluster))
        isLoaded[cluster] = true
    }
}

/// Selection words of their own for an operator, as many as its table's clusters have rows.
final class SelectionBuffer {
    let words: SelectionWords

    init(rows: Int) {
        let count = max(1, Selection.wordCount(rows))
        words = .allocate(capacity: count)
        words.initialize(repeating: 0, count: count)
    }

    deinit { words.deallocate() }
}
