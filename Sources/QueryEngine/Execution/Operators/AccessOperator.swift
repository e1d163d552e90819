/// Values inside maps, lists and mixed values, row by row.
import MotteColumns
import MotteStorage
import MotteValues

final class AccessOperator: Operator {
    private let access: AccessReader
    private let test: ColumnTest

    init(_ reader: TableReader, _ access: ValueAccess, _ test: ColumnTest) throws(DatabaseError) {
        self.access = try AccessReader(reader, access)
        self.test = test
    }

    override func select(
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, into words: SelectionWords
    ) throws(DatabaseError) {
        for index in 0 ..< Selection.wordCount(rows.rowCount) {
            var open = candidates[index]
            var found: UInt64 = 0
            while open != 0 {
                let bit = open.trailingZeroBitCount
                open &= open &- 1
                let key = rows.firstKey &+ Int64(index &* 64 &+ bit)
                var passes = false
                try access.forEach(key) { value in
                    passes = test.holds(value)
                    return !passes
                }
                if passes { found |= 1 << UInt64(bit) }
            }
            words[index] = found
        }
    }
}

/// Reads what a `ValueAccess` describes, for one object after another.
final class AccessReader {
    private let table: TableReader
    private let access: ValueAccess
    /// Of a property with a single value.
    private let single: ColumnCursor?

    init(_ table: TableReader, _ access: ValueAccess) throws(DatabaseError) {
        self.table = table
        self.access = access
        if case .single = access.start { single = try table.cursor(access.column) } else { single = nil }
    }

    /// The values of a live object, until `body` says that it is enough. Views are borrowed from the source.
    func forEach(_ key: Int64, _ body: (ValueView) -> Bool) throws(DatabaseError) {
        let owner = ObjectKey(key)
        switch access.start {
        case .single:
            guard let single else { return }
            access.forEach(below: try single.view(key), body)
        case .element(let index):
            let count = try table.view.listCount(access.column, owner)
            let place = index < 0 ? count + index : index
            let isThere = place >= 0 && place < count
            access.forEach(below: isThere ? try table.view.listElement(access.column, owner, place) : .null, body)
        case .entry(let name):
            let place = try name.withBytes { name throws(DatabaseError) in
                try table.view.mapFind(access.column, owner, name)
            }
            access.forEach(
                below: try place.map { place throws(DatabaseError) in
                    try table.view.listElement(access.column, owner, place)
                } ?? .null, body)
        case .everything:
            var goesOn = true
            try table.view.listValues(access.column, owner) { chunk, range in
                for position in range where goesOn {
                    access.forEach(below: chunk.view(position)) {
                        goesOn = body($0)
                        return goesOn
                    }
                }
            }
        }
    }

    /// The first value, null without any.
    func first(_ key: Int64) throws(DatabaseError) -> ValueView {
        var first = ValueView.null
        try forEach(key) {
            first = $0
            return false
        }
        return first
    }
}
