/// A cluster that a write transaction has touched: the columns it changed as builders, the others still as stored.
///
/// Queries inside the write read builders through `chunk(_:)`, which encodes a changed column once and keeps the bytes
/// until the next change to it, so that there is one reading path for stored and for changed rows.
import MotteColumns
import MotteValues

final class DirtyColumn {
    enum Storage {
        case values(ChunkBuilder)
        case lists(ListChunkBuilder)
        /// A full cluster's final bytes, ready for the commit; the builder has gone on to the next cluster.
        case sealed
    }

    private(set) var storage: Storage
    /// Whether the commit has to write it. A column can be loaded for an edit that then fails or turns out to change
    /// nothing; writing that would move a chunk that no change record speaks of, under readers who carry its address.
    private(set) var isChanged = false
    private var encoded: UnsafeMutableRawBufferPointer?
    /// What the checksum of `encoded` covers: the page key once sealed, before that nothing.
    private var encodedKey: [UInt8] = []
    private var chunk: ColumnChunk?
    private var listChunk: ListChunk?

    init(_ storage: Storage) { self.storage = storage }

    deinit { encoded?.deallocate() }

    /// Called after every change: what was encoded no longer holds, and views into it end.
    @inline(__always)
    func markChanged() {
        isChanged = true
        if encoded != nil { dropEncoded() }
    }

    private func dropEncoded() {
        encoded?.deallocate()
        encoded = nil
        encodedKey = []
        chunk = nil
        listChunk = nil
    }

    // MARK: Sealing

    /// Encodes for good and gives the builder back. `scratch` is working memory that keeps its size.
    func seal(key: [UInt8], scratch: inout [UInt8]) -> ChunkBuilder? {
        dropEncoded()
        scratch.removeAll(keepingCapacity: true)
        var builder: ChunkBuilder?
        key.withUnsafeBytes { key in
            switch storage {
            case .values(let values):
                values.encode(key: key, appendingTo: &scratch)
                builder = values
            case .lists(let lists): scratch = lists.encode(key: key)
            case .sealed: break
            }
        }
        keep(scratch, key: key)
        storage = .sealed
        return builder
    }

    /// A sealed column that is changed after all.
    func reopen(_ storage: Storage) {
        self.storage = storage
        dropEncoded()
    }

    /// The final bytes of a sealed column.
    var sealedBytes: UnsafeRawBufferPointer? {
        guard case .sealed = storage, let encoded else { return nil }
        return UnsafeRawBufferPointer(encoded)
    }

    // MARK: Reading

    func currentChunk(_ kind: ColumnKind) throws(DatabaseError) -> ColumnChunk {
        if let chunk { return chunk }
        let bytes = encodedForReading()
        let made = try encodedKey.withBytes { key throws(DatabaseError) in
            try ColumnChunk(validating: bytes, kind: kind, key: key)
        }
        chunk = made
        return made
    }

    func currentListChunk(_ kind: ColumnKind) throws(DatabaseError) -> ListChunk {
        if let listChunk { return listChunk }
        let bytes = encodedForReading()
        let made = try encodedKey.withBytes { key throws(DatabaseError) in
            try ListChunk(validating: bytes, elementKind: kind, key: key)
        }
        listChunk = made
        return made
    }

    func encode(key: [UInt8]) -> [UInt8] {
        key.withUnsafeBytes { key in
            switch storage {
            case .values(let builder): builder.encode(key: key)
            case .lists(let builder): builder.encode(key: key)
            case .sealed: encoded.map { [UInt8]($0) } ?? []
            }
        }
    }

    private func encodedForReading() -> UnsafeRawBufferPointer {
        if encoded == nil { keep(encode(key: []), key: []) }
        return UnsafeRawBufferPointer(encoded ?? UnsafeMutableRawBufferPointer(start: nil, count: 0))
    }

    private func keep(_ bytes: [UInt8], key: [UInt8]) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
        copy.copyBytes(from: bytes)
        encoded = copy
        encodedKey = key
    }
}

final class DirtyCluster {
    let firstKey: Int64
    var rowCount: Int
    /// nil where every row is live.
    var live: LiveBitmap?
    var liveChanged = false
    /// By slot; nil where the column is as stored.
    var columns: [DirtyColumn?]

    init(firstKey: Int64, rowCount: Int, live: LiveBitmap?, columnCount: Int) {
        self.firstKey = firstKey
        self.rowCount = rowCount
        self.live = live
        columns = Array(repeating: nil, count: columnCount)
    }

    var liveCount: Int { live?.liveCount ?? rowCount }
}
