/// Minimum, maximum, sum, average and count of one property of the rows that are selected, chunk by chunk.
import MotteColumns
import MotteSchemaModel
import MotteStorage
import MotteValues

final class Aggregation {
    private let reader: TableReader
    private let cursor: ColumnCursor
    private let context: RunContext
    private let function: Predicate.CollectionOperator
    private let type: PropertyType
    private let name: String
    private var ints = AggregateKernels.IntSummary()
    private var doubles = AggregateKernels.DoubleSummary()
    private var times: (lowest: Timestamp?, highest: Timestamp?) = (nil, nil)
    private var count = 0
    /// Of a part of the rows: what each row group adds to `doubles`, as sums of floating numbers depend on the order.
    private var apart: [(rowGroup: Int, summary: AggregateKernels.DoubleSummary)]?
    /// Of types that are added up value by value.
    private var singles: Accumulator

    init(
        _ context: RunContext, _ table: TableKey, _ function: Predicate.CollectionOperator, _ column: ColumnKey
    ) throws(DatabaseError) {
        self.context = context
        reader = try context.reader(table)
        self.function = function
        let layout = reader.view.layout
        let stored = layout.columns[try layout.slot(column)]
        type = stored.type
        name = layout.stored.name + "." + stored.name
        guard !stored.isList else {
            throw DatabaseError(
                .wrongType, "\(name) is a list; aggregates are of single values", className: layout.stored.name,
                propertyName: stored.name)
        }
        let fits =
            switch function {
            case .count: true
            case .min, .max: type.isNumeric || type == .timestamp || type == .mixed
            case .sum, .avg: type.isNumeric || type == .mixed
            }
        guard fits else {
            throw DatabaseError(
                .wrongType, "\(name) is \(type.name), which has no \(function.rawValue)", className: layout.stored.name,
                propertyName: stored.name)
        }
        singles = Accumulator(type)
        cursor = try reader.cursor(column)
    }

    /// Whether totals of parts of the rows are those of all rows, put together.
    var canBeParts: Bool { function == .count || type != .mixed && type != .decimal }

    func becomePart() { apart = [] }

    /// Takes over what parts have found. Row group after row group, as if one had added them all.
    func add(_ parts: [Aggregation]) {
        for part in parts {
            count += part.count
            ints.add(part.ints)
            if let lowest = part.times.lowest { times.lowest = min(times.lowest ?? lowest, lowest) }
            if let highest = part.times.highest { times.highest = max(times.highest ?? highest, highest) }
        }
        for (_, summary) in parts.flatMap({ $0.apart ?? [] }).sorted(by: { $0.rowGroup < $1.rowGroup }) {
            doubles.add(summary)
        }
    }

    func add(_ rows: RowGroupRows, _ words: UnsafePointer<UInt64>) throws(DatabaseError) {
        let chunk = try cursor.chunk(rows.index).pointee
        let selected = Selection.count(words, rows: rows.rowCount)
        if selected == 0 { return }
        // All rows: the kernels have a shorter way.
        let selection = selected == rows.rowCount ? nil : words
        guard function != .count else {
            count += AggregateKernels.countPresent(chunk, selection)
            return
        }
        switch type.form {
        case .int: AggregateKernels.addInts(chunk, selection, to: &ints)
        case .float, .double:
            let bounds = function == .min || function == .max
            guard apart != nil else {
                AggregateKernels.addDoubles(chunk, selection, bounds: bounds, to: &doubles)
                return
            }
            var summary = AggregateKernels.DoubleSummary()
            AggregateKernels.addDoubles(chunk, selection, bounds: bounds, to: &summary)
            apart?.append((rows.index, summary))
        case .timestamp:
            // Two parts of a class's property cannot be lent at once.
            var bounds = times
            AggregateKernels.addTimestamps(chunk, selection, lowest: &bounds.lowest, highest: &bounds.highest)
            times = bounds
        case .decimal: addOneByOne(chunk, rows.rowCount, selection)
        // Mixed values; inverses have none.
        case nil: if type == .mixed { addOneByOne(chunk, rows.rowCount, selection) }
        case .bool, .string, .data, .link, .identifier, .null, .list, .map: break
        }
    }

    /// Of values without a loop of their own.
    private func addOneByOne(_ chunk: ColumnChunk, _ rows: Int, _ selection: UnsafePointer<UInt64>?) {
        for row in 0 ..< rows {
            if let selection, selection[row >> 6] & (1 << UInt64(row & 63)) == 0 { continue }
            singles.add(chunk.view(row))
        }
    }

    /// Of a list of objects, in which one may be twice.
    func overKeys(_ keys: [Int64]) throws(DatabaseError) -> Value {
        var accumulator = Accumulator(type)
        // Numbers and times are kept as they are, not where they lie.
        try context.keepingNothing { () throws(DatabaseError) in
            for (index, key) in keys.enumerated() where key >= 0 && key < reader.nextKey {
                if index % QueryWatch.keysPerCheck == 0 { try context.watch?.check() }
                if index % RunContext.keysPerRelease == 0 { try context.releaseMemory() }
                let view = try cursor.view(key)
                if function != .count {
                    accumulator.add(view)
                } else if !view.isNull {
                    accumulator.count += 1
                }
            }
        }
        return try accumulator.result(function, name)
    }

    func result() throws(DatabaseError) -> Value {
        if type == .decimal || type == .mixed, function != .count { return try singles.result(function, name) }
        var accumulator = Accumulator(type)
        accumulator.count = count + ints.count + doubles.count
        accumulator.intSum = ints.sum
        accumulator.doubleSum = doubles.sum
        if ints.count > 0 { (accumulator.lowest, accumulator.highest) = (.int(ints.lowest), .int(ints.highest)) }
        if doubles.count > 0, function == .min || function == .max {
            // Nothing but NaN leaves both bounds where they began.
            let onlyNaN = doubles.lowest > doubles.highest
            accumulator.lowest = .double(doubles.sawNaN ? .nan : doubles.lowest)
            accumulator.highest = .double(onlyNaN ? .nan : doubles.highest)
        }
        if let lowest = times.lowest, let highest = times.highest {
            (accumulator.lowest, accumulator.highest) = (.timestamp(lowest), .timestamp(highest))
        }
        return try accumulator.result(function, name)
    }
}
