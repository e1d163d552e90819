/// One column of an Arrow batch for the store: as it lies in memory where the store takes it so, else as cells.
import MotteColumns
import MotteSchemaModel
import MotteStorage
import MotteValues

final class ArrowColumnSource {
    let property: Property
    let column: ColumnKey
    private let cells: ArrowCells
    /// Class of a link.
    private let target: UInt32
    private let mostRows: Int
    private var ints: UnsafeMutablePointer<Int64>?
    private var views: UnsafeMutablePointer<ValueView>?

    init(_ property: Property, _ column: ColumnKey, target: UInt32, cells: ArrowCells, mostRows: Int) {
        self.property = property
        self.column = column
        self.target = target
        self.cells = cells
        self.mostRows = mostRows
    }

    deinit {
        ints?.deallocate()
        views?.deallocate()
    }

    private func intScratch() -> UnsafeMutablePointer<Int64> {
        if let ints { return ints }
        let made = UnsafeMutablePointer<Int64>.allocate(capacity: mostRows + 1)
        ints = made
        return made
    }

    private func viewScratch() -> UnsafeMutablePointer<ValueView> {
        if let views { return views }
        let made = UnsafeMutablePointer<ValueView>.allocate(capacity: mostRows)
        views = made
        return made
    }

    /// Good until the next call; at least one row.
    func source(_ input: ArrowInput, _ rows: Range<Int>) throws(DatabaseError) -> BatchColumn {
        if input.dictionary == nil, input.isComplete(rows) {
            switch (property.type, input.field.type) {
            case (.int, .int(64, true)):
                let place = input.place(rows.lowerBound, width: 8)
                if UInt(bitPattern: place) & 7 == 0 { return .ints(place.assumingMemoryBound(to: Int64.self)) }
                return .ints(try widened(input, rows))
            case (.int, .int): return .ints(try widened(input, rows))
            case (.double, .float(64)):
                let place = input.place(rows.lowerBound, width: 8)
                if UInt(bitPattern: place) & 7 == 0 { return .doubles(place.assumingMemoryBound(to: Double.self)) }
            case (.string, .text), (.data, .binary):
                if let (heap, offsets) = try input.texts(rows, into: intScratch()) {
                    return .texts(heap, offsets: offsets)
                }
            default: break
            }
        }
        let views = viewScratch()
        try read(input, rows, into: views, stride: 1)
        return .cells(UnsafePointer(views), stride: 1)
    }

    private func widened(_ input: ArrowInput, _ rows: Range<Int>) throws(DatabaseError) -> UnsafePointer<Int64> {
        let scratch = intScratch()
        for (index, row) in rows.enumerated() {
            guard let value = input.int(row) else {
                throw DatabaseError(
                    .overflow, "'\(property.name)': a number does not fit in 64 bits", propertyName: property.name
                ).at(rowIndex: index)
            }
            scratch[index] = value
        }
        return UnsafePointer(scratch)
    }

    /// Cells `stride` apart.
    func read(
        _ input: ArrowInput, _ rows: Range<Int>, into output: UnsafeMutablePointer<ValueView>, stride: Int
    ) throws(DatabaseError) {
        if input.dictionary == nil {
            switch (property.type, input.field.type) {
            case (.timestamp, .timestamp(let units)): return try times(input, rows, units, output, stride)
            case (.bool, .bool): return bools(input, rows, output, stride)
            default: break
            }
        } else if let dictionary = input.dictionary, dictionary.length < rows.count,
            let known = known(dictionary)
        {
            return try readCodes(input, known, rows, output, stride)
        }
        for (index, row) in rows.enumerated() {
            do throws(DatabaseError) {
                var value = try cells.read(input, row)
                if value.kindNumber == ValueKind.link.rawValue, property.type == .link { value.aux = target }
                output[index &* stride] = value
            } catch { throw error.at(rowIndex: index) }
        }
    }

    /// The values of a dictionary; nil where one of them is none of the property's. Perhaps no row has it.
    private func known(_ dictionary: ArrowInput) -> [ValueView]? {
        var known: [ValueView] = []
        known.reserveCapacity(dictionary.length)
        for code in 0 ..< dictionary.length {
            // Read one by one afterwards, the row that has it is named.
            guard var value = try? cells.read(dictionary, code) else { return nil }
            if value.kindNumber == ValueKind.link.rawValue, property.type == .link { value.aux = target }
            known.append(value)
        }
        return known
    }

    /// Each value of a small dictionary is looked at once.
    private func readCodes(
        _ input: ArrowInput, _ known: [ValueView], _ rows: Range<Int>, _ output: UnsafeMutablePointer<ValueView>,
        _ stride: Int
    ) throws(DatabaseError) {
        for (index, row) in rows.enumerated() {
            if input.isNull(row) {
                output[index &* stride] = .null
                continue
            }
            do throws(DatabaseError) { output[index &* stride] = known[try input.code(row)] } catch {
                throw error.at(rowIndex: index)
            }
        }
    }

    private func times(
        _ input: ArrowInput, _ rows: Range<Int>, _ unitsPerSecond: Int64, _ output: UnsafeMutablePointer<ValueView>,
        _ stride: Int
    ) throws(DatabaseError) {
        for (index, row) in rows.enumerated() {
            guard !input.isNull(row) else {
                output[index &* stride] = .null
                continue
            }
            let count = input.load(row, Int64.self)
            let time =
                switch unitsPerSecond {
                case 1: ArrowCells.timestamp(count, 1)
                case 1_000: ArrowCells.timestamp(count, 1_000)
                case 1_000_000: ArrowCells.timestamp(count, 1_000_000)
                default: ArrowCells.timestamp(count, 1_000_000_000)
                }
            do throws(DatabaseError) { try cells.check(time) } catch { throw error.at(rowIndex: index) }
            output[index &* stride] = .timestamp(time)
        }
    }

    private func bools(
        _ input: ArrowInput, _ rows: Range<Int>, _ output: UnsafeMutablePointer<ValueView>, _ stride: Int
    ) {
        for (index, row) in rows.enumerated() {
            output[index &* stride] = input.isNull(row) ? .null : .bool(input.bool(row))
        }
    }
}
