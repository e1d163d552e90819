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
    private let longSource: (any LongTextSource)?
    private var cells: [Cell] = []

    package init(elementKind: ColumnKind, nullable: Bool, capacity: Int, long source: (any LongTextSource)? = nil) {
        longSource = source
        self.elementKind = elementKind
        isNullable = nullable
        cells.reserveCapacity(capacity)
    }

    package var count: Int { cells.count }

    package func appendRow() { cells.append(.empty) }
    package func appendRows(_ number: Int) { cells.append(contentsOf: repeatElement(.empty, count: number)) }

    /// Takes over rows of another builder of the same column, which gives them up.
    package func appendRows(_ source: ListChunkBuilder, _ rows: Range<Int>) {
        cells.append(contentsOf: source.cells[rows])
    }

    package func load(_ chunk: ListChunk) {
        cells.removeAll(keepingCapacity: true)
        for row in 0 ..< chunk.count {
            if chunk.isExternal(row) {
                cells.append(.external(chunk.elementCount(row)))
            } else if chunk.elementCount(row) == 0 {
                cells.append(.empty)
            } else {
                let range = chunk.range(row)
                let builder = makeBuilder(capacity: range.count)
                builder.append(chunk.elements, range)
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
        let builder = makeBuilder(capacity: 4)
        if case .empty = cells[row] { cells[row] = .elements(builder) }
        return builder
    }

    private func makeBuilder(capacity: Int) -> ChunkBuilder {
        ChunkBuilder(kind: elementKind, nullable: isNullable, capacity: capacity, long: longSource)
    }

    /// Of a row whose object is gone.
    package func clear(_ row: Int) { cells[row] = .empty }

    package func hasLongElements(_ row: Int) -> Bool {
        guard case .elements(let builder) = cells[row] else { return false }
        return (0 ..< builder.count).contains { builder.isLong($0) }
    }

    package var longReferences: [LongTextReference] {
        cells.flatMap { cell in
            if case .elements(let builder) = cell { return builder.longReferences }
            return []
        }
    }

    /// The row's elements are stored elsewhere; only their number is kept here.
    package func setExternal(_ row: Int, count: Int) { cells[row] = .external(count) }

    /// Elements that were stored elsewhere until now; the builder becomes this row's own.
    package func setInline(_ row: Int, _ elements: ChunkBuilder) { cells[row] = .elements(elements) }

    /// `isPacked`: lengths in as few bytes as the longest list takes, which readers have to know of; see `FileHeader`.
    package func encode(key: UnsafeRawBufferPointer, isPacked: Bool = true) -> [UInt8] {
        var inline = 0
        var longest = isPacked ? 0 : Int.max
        for row in cells.indices {
            if isExternal(row) {
                longest = .max
            } else {
                inline += elementCount(row)
                longest = max(longest, elementCount(row))
            }
        }
        let elements = makeBuilder(capacity: inline)
        let width = longest <= 0xFF ? 1 : longest <= 0xFFFF ? 2 : 4
        let lengthBytes = (cells.count * width + 7) & ~7
        var bytes = [UInt8](repeating: 0, count: ChunkHeader.size + lengthBytes)
        bytes.withUnsafeMutableBytes { output in
            for (row, cell) in cells.enumerated() {
                let length: UInt32
                switch cell {
                case .empty: length = 0
                case .external(let count): length = UInt32(truncatingIfNeeded: count) | ListChunk.externalBit
                case .elements(let builder):
                    length = UInt32(truncatingIfNeeded: builder.count)
                    elements.append(builder, 0 ..< builder.count)
                }
                let place = ChunkHeader.size + row * width
                switch width {
                case 1: output.storeBytes(of: UInt8(truncatingIfNeeded: length), toByteOffset: place, as: UInt8.self)
                case 2: output.storeBytes(of: UInt16(truncatingIfNeeded: length), toByteOffset: place, as: UInt16.self)
                default: output.storeBytes(of: length, toByteOffset: place, as: UInt32.self)
                }
            }
        }
        elements.encode(key: key, appendingTo: &bytes)
        var header = ChunkHeader(
            kind: elementKind.rawValue | ChunkHeader.listFlag, encoding: 0, width: width == 4 ? 0 : UInt8(width),
            flags: 0, count: cells.count)
        header.payloadSize = bytes.count - ChunkHeader.size
        bytes.withUnsafeMutableBytes { if let base = $0.baseAddress { header.write(to: base, key: key) } }
        return bytes
    }
}
