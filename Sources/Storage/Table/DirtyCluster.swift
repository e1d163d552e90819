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
    }

    let storage: Storage
    private var encoded: UnsafeMutableRawBufferPointer?
    private var chunk: ColumnChunk?
    private var listChunk: ListChunk?

    init(_ storage: Storage) { self.storage = storage }

    deinit { encoded?.deallocate() }

    /// Called after every change: what was encoded no longer holds, and views into it end.
    @inline(__always)
    func markChanged() {
        if encoded != nil { dropEncoded() }
    }

    private func dropEncoded() {
        encoded?.deallocate()
        encoded = nil
        chunk = nil
        listChunk = nil
    }

    func currentChunk(_ kind: ColumnKind) throws(DatabaseError) -> ColumnChunk {
        if let chunk { return chunk }
        let made = try ColumnChunk(validating: encodeForReading(), kind: kind, key: UnsafeRawBufferPointer(start: nil, count: 0))
        chunk = made
        return made
    }

    func currentListChunk(_ kind: ColumnKind) throws(DatabaseError) -> ListChunk {
        if let listChunk { return listChunk }
        let made = try ListChunk(
            validating: encodeForReading(), elementKind: kind, key: UnsafeRawBufferPointer(start: nil, count: 0))
        listChunk = made
        return made
    }

    func encode(key: [UInt8]) -> [UInt8] {
        key.withUnsafeBytes { key in
            switch storage {
            case .values(let builder): builder.encode(key: key)
            case .lists(let builder): builder.encode(key: key)
            }
        }
    }

    private func encodeForReading() -> UnsafeRawBufferPointer {
        let bytes = encode(key: [])
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
        copy.copyBytes(from: bytes)
        encoded = copy
        return UnsafeRawBufferPointer(copy)
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
