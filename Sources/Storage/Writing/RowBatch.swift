/// Rows to be inserted, by column: where each column's values are, and what the others get.
///
/// Cells of 24 bytes, row after row, are what single objects and most callers have; typed arrays are appended as they
/// lie in memory. Everything is checked before anything is appended, and no loop over rows counts a reference.
import MotteColumns
import MotteSchemaModel
import MotteValues

/// The values of one column of a batch. What it points to outlives the call it is given to.
package enum BatchColumn {
    /// Of any kind, this many cells apart.
    case cells(UnsafePointer<ValueView>, stride: Int)
    /// Without nulls, for columns of ints.
    case ints(UnsafePointer<Int64>)
    /// Without nulls, for columns of doubles.
    case doubles(UnsafePointer<Double>)
    /// Without nulls, for columns of strings and of data: the i-th is `heap[offsets[i] ..< offsets[i + 1]]`.
    case texts(UnsafeRawPointer, offsets: UnsafePointer<Int64>)

    @inline(__always)
    func view(_ row: Int, _ column: PropertyType) -> ValueView {
        switch self {
        case .cells(let cells, let stride): return cells[row &* stride]
        case .ints(let ints): return .int(ints[row])
        case .doubles(let doubles): return .double(doubles[row])
        case .texts(let heap, let offsets):
            let start = offsets[row]
            let kind = column == .data ? ValueKind.data : .string
            return ValueView(
                kindNumber: kind.rawValue, low: UInt64(UInt(bitPattern: heap + Int(start))),
                high: UInt64(bitPattern: offsets[row &+ 1] &- start))
        }
    }
}

struct RowBatch {
    let layout: TableLayout
    let rowCount: Int
    /// By slot; nil where the batch does not name the column.
    private let sources: [BatchColumn?]

    init(
        _ layout: TableLayout, columns: [ColumnKey], sources: [BatchColumn], rowCount: Int
    ) throws(DatabaseError) {
        guard columns.count == sources.count else {
            throw DatabaseError(
                .invalidArgument, "\(columns.count) properties and \(sources.count) columns do not pair up")
        }
        var bySlot = [BatchColumn?](repeating: nil, count: layout.columns.count)
        for (index, column) in columns.enumerated() {
            let slot = try layout.slot(column)
            guard bySlot[slot] == nil, !layout.columns[slot].isList else {
                throw DatabaseError(
                    .invalidArgument,
                    "\(layout.stored.name).\(layout.columns[slot].name) is a list or is named twice in a batch",
                    className: layout.stored.name, propertyName: layout.columns[slot].name)
            }
            bySlot[slot] = sources[index]
        }
        self.layout = layout
        self.rowCount = rowCount
        self.sources = bySlot
    }

    func names(_ slot: Int) -> Bool { sources[slot] != nil }

    /// The ints of a column that came as an array.
    func ints(_ slot: Int) -> UnsafeBufferPointer<Int64>? {
        guard case .ints(let ints) = sources[slot] else { return nil }
        return UnsafeBufferPointer(start: ints, count: rowCount)
    }

    /// A default where the batch does not name the column.
    @inline(__always)
    func value(_ slot: Int, _ row: Int) -> ValueView {
        guard let source = sources[slot] else {
            return layout.columns[slot].type.defaultValue(isNullable: layout.columns[slot].isNullable)
        }
        return source.view(row, layout.columns[slot].type)
    }

    // MARK: Checking

    /// Every value against its column, before anything is appended.
    func check(_ transaction: WriteTransaction) throws(DatabaseError) {
        for (slot, column) in layout.columns.enumerated() {
            guard let source = sources[slot] else { continue }
            let row = firstToLookAt(source, column, from: 0)
            if row < rowCount { try checkEach(source, column, from: row, transaction) }
        }
    }

    /// The first row from `start` on that a quick look does not clear; `rowCount` where all are fine.
    private func firstToLookAt(_ source: BatchColumn, _ column: StoredColumn, from start: Int) -> Int {
        switch (source, column.type) {
        case (.ints(let ints), .int):
            guard column.width != .bits64 else { return rowCount }
            let range = column.width.range
            for row in start ..< rowCount where !range.contains(ints[row]) { return row }
            return rowCount
        case (.doubles, .double): return rowCount
        case (.texts(let heap, let offsets), .string): return firstOddText(heap, offsets)
        case (.cells(let cells, let stride), .string):
            let wanted = column.type.rawValue
            let limit = UInt64(ValueCheck.stringLimit)
            for row in start ..< rowCount {
                let view = cells[row &* stride]
                guard view.kindNumber == wanted, view.high <= limit, Self.isShortASCII(view.bytes) else { return row }
            }
            return rowCount
        case (.cells(let cells, let stride), .int) where column.width != .bits64:
            let range = column.width.range
            for row in start ..< rowCount {
                let view = cells[row &* stride]
                guard view.kindNumber == ValueKind.int.rawValue, range.contains(view.intValue) else { return row }
            }
            return rowCount
        case (.cells(let cells, let stride), .int), (.cells(let cells, let stride), .double),
            (.cells(let cells, let stride), .float), (.cells(let cells, let stride), .bool):
            let wanted = column.type.rawValue
            for row in start ..< rowCount where cells[row &* stride].kindNumber != wanted { return row }
            return rowCount
        default: return start
        }
    }

    /// Text that is ASCII throughout is checked in one go.
    private func firstOddText(_ heap: UnsafeRawPointer, _ offsets: UnsafePointer<Int64>) -> Int {
        for row in 0 ..< rowCount {
            let size = offsets[row &+ 1] &- offsets[row]
            if size < 0 || size > Int64(ValueCheck.stringLimit) { return row }
        }
        let bytes = UnsafeRawBufferPointer(start: heap + Int(offsets[0]), count: Int(offsets[rowCount] - offsets[0]))
        return Self.isASCII(bytes) ? rowCount : 0
    }

    private static func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress else { return true }
        var seen: UInt64 = 0
        var index = 0
        while index &+ 8 <= bytes.count {
            seen |= base.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            index &+= 8
        }
        while index < bytes.count {
            seen |= UInt64(base.load(fromByteOffset: index, as: UInt8.self))
            index &+= 1
        }
        return seen & 0x8080_8080_8080_8080 == 0
    }

    /// Up to 64 bytes, whose last eight may be looked at twice.
    @inline(__always)
    private static func isShortASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let count = bytes.count
        guard let base = bytes.baseAddress, count <= 64 else { return bytes.baseAddress == nil && count == 0 }
        var seen: UInt64 = 0
        if count >= 8 {
            var index = 0
            while index &+ 8 < count {
                seen |= base.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                index &+= 8
            }
            seen |= base.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
        } else {
            for index in 0 ..< count { seen |= UInt64(base.load(fromByteOffset: index, as: UInt8.self)) }
        }
        return seen & 0x8080_8080_8080_8080 == 0
    }

    private func checkEach(
        _ source: BatchColumn, _ column: StoredColumn, from first: Int, _ transaction: WriteTransaction
    ) throws(DatabaseError) {
        var row = first
        while row < rowCount {
            let view = source.view(row, column.type)
            do throws(DatabaseError) {
                if case .texts(_, let offsets) = source, offsets[row + 1] < offsets[row] {
                    throw DatabaseError(.invalidArgument, "the offsets of a column descend")
                }
                _ = try transaction.checked(view, column, layout.stored)
            } catch { throw rowCount > 1 ? error.at(rowIndex: row) : error }
            row += 1
            if case .cells = source { row = firstToLookAt(source, column, from: row) }
        }
    }

    // MARK: Keys

    /// Whether the column's ints ascend strictly.
    func ascends(_ slot: Int) -> Bool {
        guard let source = sources[slot], rowCount > 0 else { return false }
        switch source {
        case .ints(let ints):
            for row in 1 ..< max(rowCount, 1) where ints[row] <= ints[row &- 1] { return false }
            return true
        case .cells(let cells, let stride):
            let wanted = ValueKind.int.rawValue
            guard cells[0].kindNumber == wanted else { return false }
            for row in 1 ..< max(rowCount, 1) {
                let view = cells[row &* stride]
                guard view.kindNumber == wanted, view.intValue > cells[(row &- 1) &* stride].intValue else {
                    return false
                }
            }
            return true
        default: return false
        }
    }

    /// The indexed values that ascending ints could meet.
    func indexRange(_ slot: Int) -> ClosedRange<UInt64> {
        IndexValue.int(value(slot, 0).intValue).raw ... IndexValue.int(value(slot, rowCount - 1).intValue).raw
    }

    // MARK: Appending

    /// Typed loops: no boxing, no reference counting per row.
    func append(_ slot: Int, _ range: Range<Int>, to builder: ChunkBuilder) {
        let column = layout.columns[slot]
        guard let source = sources[slot] else { return builder.appendDefaults(range.count) }
        switch (source, column.type) {
        case (.ints(let ints), .int): builder.append(ints: ints + range.lowerBound, count: range.count)
        case (.doubles(let doubles), .double): builder.append(doubles: doubles + range.lowerBound, count: range.count)
        case (.texts(let heap, let offsets), .string), (.texts(let heap, let offsets), .data):
            builder.append(texts: heap, offsets: offsets + range.lowerBound, count: range.count)
        case (.cells(let cells, let stride), let type) where type != .double && type != .float && type != .decimal:
            builder.append(cells + range.lowerBound &* stride, stride: stride, count: range.count)
        default:
            // Ints and floats may stand for doubles.
            for row in range { builder.append(widened(source.view(row, column.type), column)) }
        }
    }

    @inline(__always)
    private func widened(_ view: ValueView, _ column: StoredColumn) -> ValueView {
        guard column.type == .double || column.type == .float || column.type == .decimal,
            view.kindNumber != column.type.rawValue, !view.isNull
        else { return view }
        if column.type == .decimal, view.kindNumber == ValueKind.int.rawValue {
            return .decimal(Decimal128(view.intValue))
        }
        let number: Double =
            switch view.kindNumber {
            case ValueKind.int.rawValue: Double(view.intValue)
            case ValueKind.float.rawValue: Double(view.floatValue)
            default: view.doubleValue
            }
        if column.type == .decimal { return .decimal(Decimal128(number)) }
        return column.type == .double ? .double(number) : .float(Float(number))
    }
}
