/// The values of one part of an expression for the rows of a row group: an array, and a bit for each that is there.
///
/// Lanes are made once per run and filled for one row group after another. Only the words of rows that are still open
/// are computed; what stands in others means nothing.
import MotteColumns
import MotteValues

final class ExpressionLane {
    /// What the array holds.
    enum Form {
        case ints, doubles, times
        /// Quantities, for what is not known before the row is.
        case quantities

        init(_ kind: QuantityKind) {
            switch kind {
            case .int: self = .ints
            case .double: self = .doubles
            case .time: self = .times
            case .null, .decimal, .mixed: self = .quantities
            }
        }

        var stride: Int {
            switch self {
            case .ints: MemoryLayout<Int64>.stride
            case .doubles: MemoryLayout<Double>.stride
            case .times: MemoryLayout<Timestamp>.stride
            case .quantities: MemoryLayout<Quantity>.stride
            }
        }
    }

    private enum Source {
        case constant
        case column(ColumnCursor)
        case path(PathReader)
        case length(PathReader, TextFunctions)
        case widened(ExpressionLane)
        case computed(ExpressionLane, Predicate.ArithmeticOperator, ExpressionLane)
    }

    let form: Form
    private let source: Source
    private let presence: SelectionBuffer
    private let storage: UnsafeMutableRawPointer
    private let capacity: Int

    private init(_ form: Form, _ source: Source, rows: Int) {
        self.form = form
        self.source = source
        capacity = max(1, rows)
        presence = SelectionBuffer(rows: capacity)
        storage = .allocate(byteCount: capacity * form.stride, alignment: 16)
        // Numbers and times are plain bytes; zeros are values of each.
        storage.initializeMemory(as: UInt8.self, repeating: 0, count: capacity * form.stride)
    }

    deinit { storage.deallocate() }

    static func make(
        _ expression: BoundExpression, _ context: RunContext, _ table: TableKey
    ) throws(DatabaseError) -> ExpressionLane {
        let rows = try context.reader(table).mostRows
        let form = Form(expression.kind)
        switch expression {
        case .constant(let value):
            let lane = ExpressionLane(form, .constant, rows: rows)
            lane.fill(value)
            return lane
        case .path(let path, _):
            let reader = try PathReader(context, table, path)
            if !reader.hasSteps, let end = reader.rowsOfEnd {
                return ExpressionLane(form, .column(end.column), rows: rows)
            }
            return ExpressionLane(form, .path(reader), rows: rows)
        case .length(let path, let functions):
            return ExpressionLane(form, .length(try PathReader(context, table, path), functions), rows: rows)
        case .arithmetic(let left, let sign, let right, _):
            var one = try make(left, context, table)
            var other = try make(right, context, table)
            if form == .doubles {
                if one.form == .ints { one = ExpressionLane(.doubles, .widened(one), rows: rows) }
                if other.form == .ints { other = ExpressionLane(.doubles, .widened(other), rows: rows) }
            }
            return ExpressionLane(form, .computed(one, sign, other), rows: rows)
        }
    }

    var present: SelectionWords { presence.words }
    var ints: UnsafeMutablePointer<Int64> { storage.assumingMemoryBound(to: Int64.self) }
    var doubles: UnsafeMutablePointer<Double> { storage.assumingMemoryBound(to: Double.self) }
    var times: UnsafeMutablePointer<Timestamp> { storage.assumingMemoryBound(to: Timestamp.self) }
    private var quantities: UnsafeMutablePointer<Quantity> { storage.assumingMemoryBound(to: Quantity.self) }

    private func isPresent(_ row: Int) -> Bool { present[row >> 6] & (1 << UInt64(row & 63)) != 0 }

    @inline(__always)
    func quantity(_ row: Int) -> Quantity {
        guard isPresent(row) else { return .null }
        switch form {
        case .ints: return .int(ints[row])
        case .doubles: return .double(doubles[row])
        case .times: return .time(times[row])
        case .quantities: return quantities[row]
        }
    }

    /// false where there is no value.
    @inline(__always)
    private func store(_ value: Quantity, _ row: Int) -> Bool {
        switch (form, value) {
        case (_, .null): return false
        case (.ints, .int(let value)): ints[row] = value
        case (.doubles, .double(let value)): doubles[row] = value
        case (.times, .time(let value)): times[row] = value
        case (.quantities, _): quantities[row] = value
        default: return false
        }
        return true
    }

    // MARK: Filling

    /// Of a constant, once for all.
    private func fill(_ value: Quantity) {
        for row in 0 ..< capacity where store(value, row) { present[row >> 6] |= 1 << UInt64(row & 63) }
    }

    func fill(_ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>) throws(DatabaseError) {
        switch source {
        case .constant: return
        case .column(let cursor): read(try cursor.chunk(rows.index).pointee, rows, candidates)
        case .path(let reader):
            try eachOpen(rows, candidates) { row throws(DatabaseError) in
                let view = try reader.view(rows.firstKey &+ Int64(row))
                return Quantity(view: view)
            }
        case .length(let reader, let functions):
            try eachOpen(rows, candidates) { row throws(DatabaseError) in
                let view = try reader.view(rows.firstKey &+ Int64(row))
                return functions.apply(view) { Quantity(view: $0) }
            }
        case .widened(let lane):
            try lane.fill(rows, candidates)
            let (input, output) = (lane.ints, doubles)
            eachWord(rows, candidates) { index, range in
                for row in range { output[row] = Double(input[row]) }
                present[index] = lane.present[index]
            }
        case .computed(let left, let sign, let right):
            try left.fill(rows, candidates)
            try right.fill(rows, candidates)
            compute(left, sign, right, rows, candidates)
        }
    }

    private func read(_ chunk: ColumnChunk, _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>) {
        switch form {
        case .ints: chunk.decodeInts(0 ..< rows.rowCount, into: ints)
        case .doubles: chunk.decodeDoubles(0 ..< rows.rowCount, into: doubles)
        case .times: chunk.decodeTimestamps(0 ..< rows.rowCount, into: times)
        case .quantities:
            eachOpen(rows, candidates) { row in Quantity(view: chunk.view(row)) }
            return
        }
        chunk.copyValidity(into: present)
    }

    /// Words with open rows, and their rows.
    @inline(__always)
    private func eachWord(
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, _ body: (Int, Range<Int>) -> Void
    ) {
        for index in 0 ..< Selection.wordCount(rows.rowCount) where candidates[index] != 0 {
            body(index, index &* 64 ..< min(index &* 64 &+ 64, rows.rowCount))
        }
    }

    /// One open row after another.
    @inline(__always)
    private func eachOpen<Failure: Error>(
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, _ value: (Int) throws(Failure) -> Quantity
    ) throws(Failure) {
        for index in 0 ..< Selection.wordCount(rows.rowCount) {
            var open = candidates[index]
            var found: UInt64 = 0
            while open != 0 {
                let bit = open.trailingZeroBitCount
                open &= open &- 1
                let row = index &* 64 &+ bit
                if store(try value(row), row) { found |= 1 << UInt64(bit) }
            }
            present[index] = found
        }
    }

    // MARK: Operators

    private func compute(
        _ left: ExpressionLane, _ sign: Predicate.ArithmeticOperator, _ right: ExpressionLane, _ rows: RowGroupRows,
        _ candidates: UnsafePointer<UInt64>
    ) {
        switch (left.form, right.form, form) {
        case (.ints, .ints, .ints):
            switch sign {
            case .add: computeInts(left, right, rows, candidates) { $0.addingReportingOverflow($1) }
            case .subtract: computeInts(left, right, rows, candidates) { $0.subtractingReportingOverflow($1) }
            case .multiply: computeInts(left, right, rows, candidates) { $0.multipliedReportingOverflow(by: $1) }
            case .divide: computeInts(left, right, rows, candidates) { $0.dividedReportingOverflow(by: $1) }
            }
        case (.doubles, .doubles, .doubles):
            let (one, other) = (left.doubles, right.doubles)
            switch sign {
            case .add: computeDoubles(left, right, rows, candidates) { one[$0] + other[$0] }
            case .subtract: computeDoubles(left, right, rows, candidates) { one[$0] - other[$0] }
            case .multiply: computeDoubles(left, right, rows, candidates) { one[$0] * other[$0] }
            case .divide: computeDoubles(left, right, rows, candidates) { one[$0] / other[$0] }
            }
        case (.times, .times, .doubles):
            let (one, other) = (left.times, right.times)
            computeDoubles(left, right, rows, candidates) { Quantity.seconds(one[$0], other[$0]) }
        case (.times, .ints, .times):
            let seconds = right.ints
            moveTimes(left, right, rows, candidates) { Quantity.moved($0, sign, by: seconds[$1]) }
        case (.times, .doubles, .times):
            let seconds = right.doubles
            moveTimes(left, right, rows, candidates) { Quantity.moved($0, sign, by: seconds[$1]) }
        case (.ints, .times, .times):
            let seconds = left.ints
            moveTimes(right, left, rows, candidates) { Quantity.moved($0, sign, by: seconds[$1]) }
        case (.doubles, .times, .times):
            let seconds = left.doubles
            moveTimes(right, left, rows, candidates) { Quantity.moved($0, sign, by: seconds[$1]) }
        default:
            eachOpen(rows, candidates) { Quantity.compute(left.quantity($0), sign, right.quantity($0)) }
        }
    }

    /// What overflows has no value.
    @inline(__always)
    private func computeInts(
        _ left: ExpressionLane, _ right: ExpressionLane, _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>,
        _ apply: (Int64, Int64) -> (partialValue: Int64, overflow: Bool)
    ) {
        let (one, other, output) = (left.ints, right.ints, ints)
        eachWord(rows, candidates) { index, range in
            var missing: UInt64 = 0
            for row in range {
                let (value, overflow) = apply(one[row], other[row])
                output[row] = value
                missing |= (overflow ? 1 : 0) << UInt64(row & 63)
            }
            present[index] = left.present[index] & right.present[index] & ~missing
        }
    }

    /// What is beyond all times has no value.
    @inline(__always)
    private func moveTimes(
        _ times: ExpressionLane, _ numbers: ExpressionLane, _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>,
        _ moved: (Timestamp, Int) -> Timestamp?
    ) {
        let (input, output) = (times.times, self.times)
        eachWord(rows, candidates) { index, range in
            var missing: UInt64 = 0
            for row in range {
                if let time = moved(input[row], row) { output[row] = time } else { missing |= 1 << UInt64(row & 63) }
            }
            present[index] = times.present[index] & numbers.present[index] & ~missing
        }
    }

    @inline(__always)
    private func computeDoubles(
        _ left: ExpressionLane, _ right: ExpressionLane, _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>,
        _ value: (Int) -> Double
    ) {
        let output = doubles
        eachWord(rows, candidates) { index, range in
            for row in range { output[row] = value(row) }
            present[index] = left.present[index] & right.present[index]
        }
    }
}
