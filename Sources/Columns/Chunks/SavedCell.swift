/// Values of builders that can be put back: what a savepoint needs to undo changes of single rows.
import MotteValues

/// One row's value as it was.
package struct SavedCell {
    fileprivate let word: UInt64
    fileprivate let size: UInt32
    fileprivate let isPresent: Bool
    /// Of a text that lies in the builder's heap, which may be packed again meanwhile.
    fileprivate let bytes: [UInt8]?
    fileprivate let long: LongText?
}

extension ChunkBuilder {
    package func saved(_ row: Int) -> SavedCell { buffers.pointee.saved(row) }

    package func restore(_ row: Int, _ cell: SavedCell) { buffers.pointee.restore(row, cell) }

    /// Drops the rows from that one on.
    package func truncate(to count: Int) { buffers.pointee.truncate(to: count) }

    /// Another builder with the same rows.
    package func copy() -> ChunkBuilder {
        let copy = ChunkBuilder(
            kind: kind, nullable: isNullable, capacity: count, long: buffers.pointee.longSource)
        copy.append(self, 0 ..< count)
        return copy
    }
}

extension ChunkBuffers {
    fileprivate func saved(_ row: Int) -> SavedCell {
        let long = longText(row)
        return SavedCell(
            word: words[row], size: isText || kind == .timestamp ? sizes[row] : 0, isPresent: isPresent(row),
            bytes: isText && long == nil ? [UInt8](text(row)) : nil, long: long)
    }

    fileprivate mutating func restore(_ row: Int, _ cell: SavedCell) {
        if !isPresent(row) { nullCount &-= 1 }
        forgetText(row)
        if isNullable { present[row] = cell.isPresent ? 1 : 0 }
        if !cell.isPresent { nullCount &+= 1 }
        guard isText else {
            words[row] = cell.word
            if kind == .timestamp { sizes[row] = cell.size }
            return
        }
        if let long = cell.long, longSource != nil {
            setLong(row, long)
        } else if cell.isPresent {
            (cell.bytes ?? []).withUnsafeBytes { setStored(row, cell.long?.bytes ?? $0) }
        } else {
            words[row] = 0
            sizes[row] = 0
        }
        compactHeapIfWasteful()
    }

    fileprivate mutating func truncate(to number: Int) {
        guard number < count else { return }
        if number == 0 { return removeAll() }
        for row in number ..< count {
            if !isPresent(row) { nullCount &-= 1 }
            forgetText(row)
        }
        count = number
        if isText { compactHeapIfWasteful() }
    }
}
