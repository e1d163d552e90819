/// Comparing two columns of the same rows. Two nulls are equal; null and a value are unequal and not ordered.
import MotteValues

package enum ColumnPairKernels {
    /// Both chunks have the same number of rows. Columns of different families (see `ValueOrdering`) are never equal.
    package static func select(
        _ left: ColumnChunk, _ op: ComparisonOperator, _ right: ColumnChunk, into words: SelectionWords
    ) {
        let rows = min(left.count, right.count)
        Selection.clear(words, rows: rows)
        let isPacked = (left.kind == .int && right.kind == .int) || (left.kind == .link && right.kind == .link)
        for row in 0 ..< rows {
            let leftIsNull = left.isNull(row), rightIsNull = right.isNull(row)
            let holds: Bool =
                if leftIsNull || rightIsNull {
                    leftIsNull == rightIsNull ? op.holds(0) : op == .notEqual
                } else if isPacked {
                    op.holds(Self.order(left.int(row), right.int(row)))
                } else {
                    Self.holds(left.view(row), op, right.view(row))
                }
            if holds { Selection.insert(words, row) }
        }
    }

    @inline(__always)
    private static func order(_ left: Int64, _ right: Int64) -> Int { left < right ? -1 : left == right ? 0 : 1 }

    private static func holds(_ left: ValueView, _ op: ComparisonOperator, _ right: ValueView) -> Bool {
        // NaN equals itself and orders with nothing, unlike in sorting.
        if isNaN(left) || isNaN(right) {
            let isSame = isNaN(left) && isNaN(right)
            return op == .equal ? isSame : op == .notEqual && !isSame
        }
        return op.holds(ValueOrdering.compare(left, right))
    }

    private static func isNaN(_ view: ValueView) -> Bool {
        switch view.kind {
        case .float: view.floatValue.isNaN
        case .double: view.doubleValue.isNaN
        default: false
        }
    }
}
