/// Comparisons of columns without a loop of their own (decimals, identifiers, mixed values) with a constant: value by
/// value, but each entry of a dictionary only once.
///
/// Values of another family than the constant (a text beside a number) differ from it and are neither above nor below;
/// so is NaN beside a number.
import MotteValues

extension ComparisonKernels {
    /// Of any kind of column. Null rows are selected by `notEqual` alone.
    package static func selectValues(
        _ chunk: ColumnChunk, _ op: ComparisonOperator, _ constant: ValueView, into words: SelectionWords
    ) {
        for index in 0 ..< Selection.wordCount(chunk.count) { words[index] = 0 }
        if chunk.isDictionary {
            let holds = (0 ..< chunk.distinctCount).map { code in
                let text = chunk.text(code)
                // Of null rows alone.
                return !text.isEmpty && self.holds(chunk.kind.view(text), op, constant)
            }
            holds.withUnsafeBufferPointer { holds in
                for row in 0 ..< chunk.count where holds[chunk.code(row)] {
                    words[row >> 6] |= 1 << UInt64(row & 63)
                }
            }
        } else {
            for row in 0 ..< chunk.count where !chunk.isNull(row) && holds(chunk.view(row), op, constant) {
                words[row >> 6] |= 1 << UInt64(row & 63)
            }
        }
        guard op == .notEqual, chunk.hasNulls else { return }
        for row in 0 ..< chunk.count where chunk.isNull(row) { words[row >> 6] |= 1 << UInt64(row & 63) }
    }

    /// One comparison of values that are not null.
    package static func holds(_ value: ValueView, _ op: ComparisonOperator, _ constant: ValueView) -> Bool {
        guard ValueOrdering.areComparable(value, constant) else { return op == .notEqual }
        if ValueOrdering.isNaN(value) { return op == .equal }
        return op.holds(ValueOrdering.compare(value, constant))
    }
}
