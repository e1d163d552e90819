/// Two expressions of one table, computed for the open rows of a row group and compared.
import MotteColumns
import MotteStorage
import MotteValues

final class ExpressionOperator: Operator {
    private let left: ExpressionLane
    private let right: ExpressionLane
    private let test: ComparisonOperator

    init(
        _ context: RunContext, _ table: TableKey, _ left: BoundExpression, _ test: ComparisonOperator,
        _ right: BoundExpression
    ) throws(DatabaseError) {
        self.left = try ExpressionLane.make(left.matched(to: right), context, table)
        self.right = try ExpressionLane.make(right.matched(to: left), context, table)
        self.test = test
    }

    /// Two columns of numbers, or of times; nil where they are something else, or behind links.
    convenience init?(
        columns context: RunContext, _ table: TableKey, _ left: BoundPath, _ test: PairTest, _ right: BoundPath
    ) throws(DatabaseError) {
        guard case .compare(let test) = test, let one = Self.kind(left), let other = Self.kind(right),
            (one == .time) == (other == .time)
        else { return nil }
        try self.init(context, table, .path(left, one), test, .path(right, other))
    }

    private static func kind(_ path: BoundPath) -> QuantityKind? {
        guard path.steps.isEmpty, case .column(_, let type, _) = path.end, let kind = QuantityKind(type) else {
            return nil
        }
        return kind == .int || kind == .double || kind == .time ? kind : nil
    }

    override func select(
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, into words: SelectionWords
    ) throws(DatabaseError) {
        try left.fill(rows, candidates)
        try right.fill(rows, candidates)
        switch (left.form, right.form) {
        case (.ints, .ints): compareInts(rows, candidates, words)
        case (.doubles, .doubles): compareDoubles(rows, candidates, words)
        case (.ints, .doubles): compareMixed(left.ints, test, right.doubles, rows, candidates, words)
        case (.doubles, .ints): compareMixed(right.ints, test.mirrored, left.doubles, rows, candidates, words)
        case (.times, .times): compareTimes(rows, candidates, words)
        default:
            let test = test
            each(rows, candidates, words) {
                ValueComparison.holds(test, left.quantity($0).view, right.quantity($0).view)
            }
        }
    }

    private func compareInts(_ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, _ words: SelectionWords) {
        let (one, other) = (left.ints, right.ints)
        switch test {
        case .equal: each(rows, candidates, words) { one[$0] == other[$0] }
        case .notEqual: each(rows, candidates, words) { one[$0] != other[$0] }
        case .less: each(rows, candidates, words) { one[$0] < other[$0] }
        case .lessOrEqual: each(rows, candidates, words) { one[$0] <= other[$0] }
        case .greater: each(rows, candidates, words) { one[$0] > other[$0] }
        case .greaterOrEqual: each(rows, candidates, words) { one[$0] >= other[$0] }
        }
    }

    /// Queries find that NaN equals NaN.
    private func compareDoubles(_ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, _ words: SelectionWords) {
        let (one, other) = (left.doubles, right.doubles)
        switch test {
        case .equal:
            each(rows, candidates, words) { one[$0] == other[$0] || (one[$0].isNaN && other[$0].isNaN) }
        case .notEqual:
            each(rows, candidates, words) { one[$0] != other[$0] && !(one[$0].isNaN && other[$0].isNaN) }
        case .less: each(rows, candidates, words) { one[$0] < other[$0] }
        case .lessOrEqual: each(rows, candidates, words) { one[$0] <= other[$0] }
        case .greater: each(rows, candidates, words) { one[$0] > other[$0] }
        case .greaterOrEqual: each(rows, candidates, words) { one[$0] >= other[$0] }
        }
    }

    /// Exactly: an int beyond 2^53 is not rounded to the double beside it.
    private func compareMixed(
        _ ints: UnsafePointer<Int64>, _ test: ComparisonOperator, _ doubles: UnsafePointer<Double>,
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, _ words: SelectionWords
    ) {
        switch test {
        case .equal: each(rows, candidates, words) { Self.isLevel(ints[$0], doubles[$0]) { $0 == 0 } }
        case .notEqual: each(rows, candidates, words) { !Self.isLevel(ints[$0], doubles[$0]) { $0 == 0 } }
        case .less:
            each(rows, candidates, words) {
                Double(ints[$0]) < doubles[$0] || Self.isLevel(ints[$0], doubles[$0]) { $0 < 0 }
            }
        case .lessOrEqual:
            each(rows, candidates, words) {
                Double(ints[$0]) < doubles[$0] || Self.isLevel(ints[$0], doubles[$0]) { $0 <= 0 }
            }
        case .greater:
            each(rows, candidates, words) {
                Double(ints[$0]) > doubles[$0] || Self.isLevel(ints[$0], doubles[$0]) { $0 > 0 }
            }
        case .greaterOrEqual:
            each(rows, candidates, words) {
                Double(ints[$0]) > doubles[$0] || Self.isLevel(ints[$0], doubles[$0]) { $0 >= 0 }
            }
        }
    }

    /// Whether the int is the double next to it, and then what `holds` says of their exact order.
    @inline(__always)
    private static func isLevel(_ int: Int64, _ double: Double, _ holds: (Int) -> Bool) -> Bool {
        guard Double(int) == double else { return false }
        // 2^63 is no int, and above all of them.
        guard double < 0x1p63 else { return holds(-1) }
        let exact = Int64(double)
        return holds(int < exact ? -1 : int == exact ? 0 : 1)
    }

    private func compareTimes(_ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, _ words: SelectionWords) {
        let (one, other) = (left.times, right.times)
        switch test {
        case .equal: each(rows, candidates, words) { one[$0] == other[$0] }
        case .notEqual: each(rows, candidates, words) { one[$0] != other[$0] }
        case .less: each(rows, candidates, words) { one[$0] < other[$0] }
        case .lessOrEqual: each(rows, candidates, words) { !(other[$0] < one[$0]) }
        case .greater: each(rows, candidates, words) { other[$0] < one[$0] }
        case .greaterOrEqual: each(rows, candidates, words) { !(one[$0] < other[$0]) }
        }
    }

    /// Nulls as `ValueComparison` has them.
    @inline(__always)
    private func each(
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, _ words: SelectionWords, _ holds: (Int) -> Bool
    ) {
        let levelNulls = test == .equal || test == .lessOrEqual || test == .greaterOrEqual
        for index in 0 ..< Selection.wordCount(rows.rowCount) {
            guard candidates[index] != 0 else {
                words[index] = 0
                continue
            }
            var found: UInt64 = 0
            for row in index &* 64 ..< min(index &* 64 &+ 64, rows.rowCount) {
                found |= (holds(row) ? 1 : 0) << UInt64(row & 63)
            }
            let (one, other) = (left.present[index], right.present[index])
            found &= one & other
            if levelNulls { found |= ~one & ~other }
            if test == .notEqual { found |= one ^ other }
            words[index] = found
        }
    }
}
