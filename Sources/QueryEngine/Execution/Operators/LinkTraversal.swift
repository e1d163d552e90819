/// Following links: a row passes if the object it points to does.
import MotteColumns
import MotteStorage
import MotteValues

final class LinkOperator: Operator {
    private let cursor: ColumnCursor
    private let targets: KeySelection
    private let nullPasses: Bool
    private let links: UnsafeMutablePointer<Int64>

    init(_ cursor: ColumnCursor, _ reader: TableReader, _ targets: KeySelection, nullPasses: Bool) {
        self.cursor = cursor
        self.targets = targets
        self.nullPasses = nullPasses
        links = .allocate(capacity: max(1, reader.mostRows))
    }

    deinit { links.deallocate() }

    override func select(
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, into words: SelectionWords
    ) throws(DatabaseError) {
        let chunk = try cursor.chunk(rows.index)
        try targets.prepare()
        // Few that are open are looked at one by one.
        if targets.isComplete, Selection.count(candidates, rows: rows.rowCount) * 8 >= rows.rowCount {
            chunk.pointee.decodeLinks(0 ..< rows.rowCount, into: links)
            return targets.select(links, rows.rowCount, nullPasses: nullPasses, into: words)
        }
        for index in 0 ..< Selection.wordCount(rows.rowCount) {
            var open = candidates[index]
            var found: UInt64 = 0
            while open != 0 {
                let bit = open.trailingZeroBitCount
                open &= open &- 1
                let key = chunk.pointee.link(index &* 64 &+ bit)
                if key >= 0 ? try targets.contains(key) : nullPasses { found |= 1 << UInt64(bit) }
            }
            words[index] = found
        }
    }
}

/// Two paths of one table, read for the open rows of a row group and compared value by value.
final class PathsOperator: Operator {
    fileprivate let left: PathReader
    fileprivate let right: PathReader
    fileprivate let test: PairTest

    init(
        _ context: RunContext, _ table: TableKey, _ left: BoundPath, _ test: PairTest, _ right: BoundPath
    ) throws(DatabaseError) {
        self.left = try PathReader(context, table, left)
        self.right = try PathReader(context, table, right)
        self.test = test
    }

    override func select(
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, into words: SelectionWords
    ) throws(DatabaseError) {
        if !left.hasSteps, !right.hasSteps, let leftRows = left.rowsOfEnd, let rightRows = right.rowsOfEnd {
            let leftChunk = try leftRows.column.chunk(rows.index), rightChunk = try rightRows.column.chunk(rows.index)
            return select(leftChunk, rightChunk, candidates, into: words)
        }
        for index in 0 ..< Selection.wordCount(rows.rowCount) {
            var open = candidates[index]
            var found: UInt64 = 0
            while open != 0 {
                let bit = open.trailingZeroBitCount
                open &= open &- 1
                let key = rows.firstKey &+ Int64(index &* 64 &+ bit)
                if test.holds(try left.view(key), try right.view(key)) { found |= 1 << UInt64(bit) }
            }
            words[index] = found
        }
    }
}

extension PathsOperator {
    /// Two columns of the same rows.
    private func select(
        _ left: UnsafePointer<ColumnChunk>, _ right: UnsafePointer<ColumnChunk>, _ candidates: UnsafePointer<UInt64>,
        into words: SelectionWords
    ) {
        var intOperator: ComparisonOperator?
        if left.pointee.kind == .int, right.pointee.kind == .int, case .compare(let op) = test { intOperator = op }
        for index in 0 ..< Selection.wordCount(left.pointee.count) {
            var open = candidates[index]
            var found: UInt64 = 0
            while open != 0 {
                let bit = open.trailingZeroBitCount
                open &= open &- 1
                let row = index &* 64 &+ bit
                let passes: Bool
                if let op = intOperator, !left.pointee.isNull(row), !right.pointee.isNull(row) {
                    let one = left.pointee.int(row), other = right.pointee.int(row)
                    passes = op.holds(one < other ? -1 : one == other ? 0 : 1)
                } else {
                    passes = test.holds(left.pointee.view(row), right.pointee.view(row))
                }
                if passes { found |= 1 << UInt64(bit) }
            }
            words[index] = found
        }
    }
}

/// Reads the value at the end of a path without collections, for one object after another.
final class PathReader {
    let path: BoundPath
    private let links: [ColumnCursor]
    /// nil where the path ends in the object itself.
    private let end: ColumnCursor?
    /// Where it ends inside a property.
    private let access: AccessReader?
    private let table: TableReader

    init(_ context: RunContext, _ table: TableKey, _ path: BoundPath) throws(DatabaseError) {
        self.path = path
        var links: [ColumnCursor] = []
        for step in path.steps { links.append(try context.reader(step.origin).cursor(step.column)) }
        self.links = links
        self.table = try context.reader(path.table)
        switch path.end {
        case .column(let column, _, _):
            end = try context.reader(path.table).cursor(column)
            access = nil
        case .access(let inside):
            end = nil
            access = try AccessReader(try context.reader(path.table), inside)
        case .elements, .keys, .object:
            end = nil
            access = nil
        }
    }

    /// The column at the end and its table, for reading many objects in a row.
    var rowsOfEnd: (table: TableReader, column: ColumnCursor)? { end.map { (table, $0) } }

    var hasSteps: Bool { !links.isEmpty }

    /// The last object of the path; -1 behind a null link.
    @inline(__always)
    func lastObject(_ key: Int64) throws(DatabaseError) -> Int64 {
        var key = key
        for link in links {
            key = try link.link(key)
            if key < 0 { return -1 }
        }
        return key
    }

    func view(_ key: Int64) throws(DatabaseError) -> ValueView {
        let last = try lastObject(key)
        return last < 0 ? .null : try viewOfLast(last)
    }

    /// The value of an object that `lastObject` returned.
    @inline(__always)
    func viewOfLast(_ last: Int64) throws(DatabaseError) -> ValueView {
        if let end { return try end.view(last) }
        if let access { return try access.first(last) }
        return .link(ObjectLink(table: TableKey(0), key: ObjectKey(last)))
    }
}
