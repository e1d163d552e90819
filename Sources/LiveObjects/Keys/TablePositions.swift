/// Positions of all rows of a table without a list of their keys.
///
/// While no row was ever deleted, position and key are the same. Otherwise the number of rows before each row group is
/// kept, and a position is found in it and then in the row group's bitmap.
import MotteStorage
import MotteValues

package struct TablePositions {
    let count: Int
    private let nextKey: Int64
    /// Rows before each row group; empty while all keys are live.
    private var rowsBefore: [Int] = []

    package init(_ view: TableView) throws(DatabaseError) {
        count = view.liveCount
        nextKey = view.nextKey
        guard Int64(count) != nextKey else { return }
        var total = 0
        rowsBefore.reserveCapacity(view.rowGroupCount)
        for rowGroup in 0 ..< view.rowGroupCount {
            rowsBefore.append(total)
            total += try view.rowGroup(rowGroup).liveCount
        }
    }

    var isDense: Bool { Int64(count) == nextKey }

    /// `index` is in 0 ..< count.
    func key(at index: Int, _ view: TableView) throws(DatabaseError) -> Int64 {
        if isDense { return Int64(index) }
        let rowGroup = self.rowGroup(at: index)
        let rows = try view.rowGroup(rowGroup)
        return rows.firstKey + Int64(Self.select(index - rowsBefore[rowGroup], rows.liveWords))
    }

    /// nil when the key is not live.
    package func index(of key: ObjectKey, _ view: TableView) throws(DatabaseError) -> Int? {
        guard let place = try view.locate(key) else { return nil }
        if isDense { return Int(key.rawValue) }
        guard let live = try view.rowGroup(place.rowGroup).liveWords else {
            return rowsBefore[place.rowGroup] + place.slot
        }
        var rank = 0
        for word in 0 ..< place.slot >> 6 { rank += live[word].nonzeroBitCount }
        rank += (live[place.slot >> 6] & ((1 << UInt64(place.slot & 63)) - 1)).nonzeroBitCount
        return rowsBefore[place.rowGroup] + rank
    }

    /// Appends the keys at `range`.
    func appendKeys(_ range: Range<Int>, _ view: TableView, to keys: inout [Int64]) throws(DatabaseError) {
        if isDense { return keys.append(contentsOf: Int64(range.lowerBound) ..< Int64(range.upperBound)) }
        guard !range.isEmpty else { return }
        var rowGroup = self.rowGroup(at: range.lowerBound)
        var skip = range.lowerBound - rowsBefore[rowGroup]
        var wanted = range.count
        while wanted > 0, rowGroup < rowsBefore.count {
            let rows = try view.rowGroup(rowGroup)
            for slot in 0 ..< rows.rowCount {
                if let live = rows.liveWords, live[slot >> 6] & (1 << UInt64(slot & 63)) == 0 { continue }
                if skip > 0 {
                    skip -= 1
                    continue
                }
                keys.append(rows.firstKey + Int64(slot))
                wanted -= 1
                if wanted == 0 { return }
            }
            rowGroup += 1
        }
    }

    /// The last row group that begins at or before `index` and has rows.
    private func rowGroup(at index: Int) -> Int {
        var low = 0
        var high = rowsBefore.count
        while low < high {
            let middle = (low + high) / 2
            if rowsBefore[middle] <= index { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    /// Position of the bit with `rank` set bits below it.
    private static func select(_ rank: Int, _ words: [UInt64]?) -> Int {
        guard let words else { return rank }
        var left = rank
        for (index, word) in words.enumerated() {
            let bits = word.nonzeroBitCount
            if left >= bits {
                left -= bits
                continue
            }
            var rest = word
            for _ in 0 ..< left { rest &= rest - 1 }
            return index * 64 + rest.trailingZeroBitCount
        }
        return 0
    }
}

extension TableView {
    /// Of all rows, ascending.
    package func liveKeys() throws(DatabaseError) -> [Int64] {
        let positions = try TablePositions(self)
        var keys: [Int64] = []
        keys.reserveCapacity(positions.count)
        try positions.appendKeys(0 ..< positions.count, self, to: &keys)
        return keys
    }
}
