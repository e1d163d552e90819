/// Counts, keys, totals and the first in an order, as each thread of a scan has them.
import MotteColumns
import MotteStorage
import MotteValues

final class CountPart: ScanPart {
    private(set) var count = 0

    override func add(_ rows: RowGroupRows, _ words: UnsafePointer<UInt64>) {
        count += Selection.count(words, rows: rows.rowCount)
    }
}

final class KeysPart: ScanPart {
    private(set) var pieces: [(piece: Int, keys: [Int64])] = []

    override func begin(_ piece: Int) { pieces.append((piece, [])) }

    override func add(_ rows: RowGroupRows, _ words: UnsafePointer<UInt64>) {
        Selection.appendKeys(
            words, rows: rows.rowCount, first: rows.firstKey, to: &pieces[pieces.count - 1].keys)
    }

    /// Ascending.
    static func keys(_ parts: [KeysPart]) -> [Int64] {
        let pieces = parts.flatMap(\.pieces).sorted { $0.piece < $1.piece }
        var keys: [Int64] = []
        keys.reserveCapacity(pieces.reduce(0) { $0 + $1.keys.count })
        for piece in pieces { keys += piece.keys }
        return keys
    }
}

final class AggregationPart: ScanPart {
    let totals: Aggregation

    init(_ totals: Aggregation) { self.totals = totals }

    override func add(_ rows: RowGroupRows, _ words: UnsafePointer<UInt64>) throws(DatabaseError) {
        try totals.add(rows, words)
    }
}

final class TopPart: ScanPart {
    private var top: TopRows

    init(_ top: TopRows) { self.top = top }

    override func add(_ rows: RowGroupRows, _ words: UnsafePointer<UInt64>) throws(DatabaseError) {
        try top.add(rows, words)
    }

    /// What may be among the first.
    var candidates: [Int64] { top.candidates }
}
