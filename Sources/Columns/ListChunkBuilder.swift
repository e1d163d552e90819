/// The lists of one column of one cluster while they are being written: each row's elements as a builder of their own
/// once it has any.
import MotteValues

package final class ListChunkBuilder {
    private enum Cell {
        case empty
        case elements(ChunkBuilder)
        case external(Int)
    }

    private let elementKind: ColumnKind
    private let isNullable: Bool
    private var cells: [Cell] = []

    package init(elementKind: ColumnKind, nullable: Bool, capacity: Int) {
        self.elementKind = elementKind
        isNullable = nullable
        cells.reserveCapacity(capacity)
    }

    package var count: Int { cells.count }

    package func appendRow() { cells.append(.empty) }
    package func appendRows(_ number: Int) { cells.append(contentsOf: repeatElement(.empty, count: number)) }

    /// Takes over rows of another builder of the same column, which gives them up.
    package func appendRows(_ source: ListChunkBuilder, _ rows: Range<Int>) { cells.append(contentsOf: source.cells[rows]) }

    package func load(_ chunk: ListChunk) {
        cells.removeAll(keepingCapacity: true)
        for row in 0 ..< chunk.count {
            if chunk.isExternal(row) {
                cells.append(.external(chunk.elementCount(row)))
            } else if chunk.elementCount(row) == 0 {
                cells.append(.empty)
            } else {
                let range = chunk.range(row)
                let builder = ChunkBuilder(kind: elementKind, nullable: isNullable, capacity: range.count)
                for element in range { builder.append(chunk.elements.view(element)) }
                cells.append(.elements(builder))
            }
        }
    }

    package func elementCount(_ row: Int) -> Int {
        switch cells[row] {
        case .empty: 0
        case .elements(let builder): builder.count
        case .external(let count): count
        }
    }

    package func isExternal(_ row: Int) -> Bool {
        if case .external = cells[row] { return true }
        return false
    }

    /// The row's elements, to read and to change. An external row has none here.
    package func cell(_ row: Int) -> ChunkBuilder {
        if case .elements(let builder) = cells[row] { return builder }
        let builder = ChunkBuilder(kind: elementKind, nullable: isNullable, capacity: 4)
        if case .empty = cells[row] { cells[row] = .elements(builder) }
        return builder
    }

    /// The row's elements are stored elsewhere; only their number is kept here.
    package func setExternal(_ row: Int, count: Int) { cells[row] = .external(count) }

    package func encode(key: UnsafeRawBufferPointer) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: ChunkHeader.size)
        var inline = 0
        for row in cells.indices where !isExternal(row) { inline += elementCount(row) }
        let elements = ChunkBuilder(kind: elementKind, nullable: isNullable, capacity: inline)
        for cell in cells {
            switch cell {
            case .empty: ChunkBuilder.append(UInt32(0), to: &bytes)
            case .external(let count): ChunkBuilder.append(UInt32(count) | ListChunk.externalBit, to: &bytes)
            case .elements(let builder):
                ChunkBuilder.append(UInt32(builder.count), to: &bytes)
                for index in 0 ..< builder.count { elements.append(builder.view(index)) }
            }
        }
        while bytes.count & 7 != 0 { bytes.append(0) }
        bytes.append(contentsOf: elements.encode(key: key))
        let header = ChunkHeader(
            kind: elementKind.rawValue | ChunkHeader.listFlag, encoding: 0, width: 0, flags: 0, count: cells.count)
        header.finish(&bytes, key: key)
        return bytes
    }
}
