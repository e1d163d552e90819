/// And, or, not and constants over selections. Each part is asked only about the rows that are still open.
import MotteColumns
import MotteValues

final class ConstantOperator: Operator {
    private let value: Bool

    init(_ value: Bool) { self.value = value }

    override func select(
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, into words: SelectionWords
    ) throws(DatabaseError) {
        if value { Selection.fill(words, rows: rows.rowCount) } else { Selection.clear(words, rows: rows.rowCount) }
    }
}

final class NotOperator: Operator {
    private let inner: Operator

    init(_ inner: Operator) { self.inner = inner }

    override func select(
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, into words: SelectionWords
    ) throws(DatabaseError) {
        try inner.select(rows, candidates, into: words)
        Selection.invert(words, rows: rows.rowCount)
    }
}

final class AndOperator: Operator {
    private let parts: [Operator]
    private let open: SelectionBuffer
    private let watch: QueryWatch?

    init(_ parts: [Operator], _ reader: TableReader) {
        self.parts = parts
        watch = reader.watch
        open = SelectionBuffer(rows: reader.mostRows)
    }

    override func select(
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, into words: SelectionWords
    ) throws(DatabaseError) {
        let open = open.words
        let count = Selection.wordCount(rows.rowCount)
        for index in 0 ..< count { open[index] = candidates[index] }
        for part in parts {
            try watch?.checkInterruption()
            try part.select(rows, open, into: words)
            Selection.formAnd(open, words, rows: rows.rowCount)
            if Selection.isEmpty(open, rows: rows.rowCount) { break }
        }
        for index in 0 ..< count { words[index] = open[index] }
    }
}

final class OrOperator: Operator {
    private let parts: [Operator]
    private let open: SelectionBuffer
    private let watch: QueryWatch?

    init(_ parts: [Operator], _ reader: TableReader) {
        self.parts = parts
        watch = reader.watch
        open = SelectionBuffer(rows: reader.mostRows)
    }

    override func select(
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, into words: SelectionWords
    ) throws(DatabaseError) {
        let open = open.words
        let count = Selection.wordCount(rows.rowCount)
        for index in 0 ..< count { open[index] = candidates[index] }
        for part in parts {
            try watch?.checkInterruption()
            try part.select(rows, open, into: words)
            for index in 0 ..< count { open[index] &= ~words[index] }
            if Selection.isEmpty(open, rows: rows.rowCount) { break }
        }
        for index in 0 ..< count { words[index] = candidates[index] & ~open[index] }
    }
}
