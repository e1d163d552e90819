/// Reads a long list as a snapshot has it, node by node: only those on the way to what is asked for.
///
/// Keeps the leaf it looked at last, so that going through a list element by element checks each leaf once. One thread;
/// dropped when its snapshot advances.
import MotteColumns
import MottePages
import MotteValues

package final class LongListReader {
    let table: TableKey
    let column: StoredColumn
    let owner: ObjectKey
    private let pages: PageSnapshot
    private let counters: Counters
    private var lastLeaf: (id: UInt32, chunk: ColumnChunk)?
    /// Position of the first element of `lastLeaf` in the list, where a read from the root has met it.
    private var lastStart = -1
    private let longSource: (any LongTextSource)?
    /// Leaves with long values, which stay once they were looked at.
    private var longLeaves: [UInt32: (chunk: ColumnChunk, texts: LongTexts)] = [:]

    init(
        _ table: TableKey, _ column: StoredColumn, _ owner: ObjectKey, _ pages: PageSnapshot, _ counters: Counters,
        long source: (any LongTextSource)?
    ) {
        longSource = source
        self.table = table
        self.column = column
        self.owner = owner
        self.pages = pages
        self.counters = counters
    }

    func forgetPlaces() {
        lastLeaf = nil
        lastStart = -1
        if !longLeaves.isEmpty { longLeaves.removeAll() }
    }

    package func key(_ node: UInt32) -> [UInt8] { PageKeys.longList(table, column.key, owner, node) }

    package func inner(_ id: UInt32, level: Int?) throws(DatabaseError) -> LongListInner {
        let key = key(id)
        let node = try key.withBytes { key throws(DatabaseError) in
            guard let found = try pages.get(key) else { throw self.missing() }
            return try LongListInner(validating: found.bytes, key: key)
        }
        counters.add(chunksDecoded: 1)
        if let level, node.level != level { throw .corrupted("a node of a long list has a wrong level") }
        return node
    }

    func leaf(_ id: UInt32, count: Int) throws(DatabaseError) -> ColumnChunk {
        if let lastLeaf, lastLeaf.id == id { return lastLeaf.chunk }
        if let known = longLeaves[id] {
            lastLeaf = (id, known.chunk)
            lastStart = -1
            return known.chunk
        }
        let key = key(id)
        var texts: LongTexts?
        let chunk = try key.withBytes { key throws(DatabaseError) in
            guard let found = try pages.get(key) else { throw self.missing() }
            return try ColumnChunk(
                validating: found.bytes, kind: column.kind, key: key, long: longSource, keeping: &texts)
        }
        counters.add(chunksDecoded: 1)
        guard chunk.count == count else { throw .corrupted("a block of the list \(column.name) has a wrong size") }
        lastLeaf = (id, chunk)
        lastStart = -1
        if let texts { longLeaves[id] = (chunk, texts) }
        return chunk
    }

    /// What a node in the file refers to; nothing where there is none, or where it is not a leaf.
    func longReferences(_ node: UInt32) throws(DatabaseError) -> [LongTextReference] {
        try longReferences(key: key(node))
    }

    func longReferences(key: [UInt8]) throws(DatabaseError) -> [LongTextReference] {
        guard let found = try pages.get(key), found.bytes.first != LongListInner.kind else { return [] }
        var texts: LongTexts?
        let chunk = try key.withBytes { key throws(DatabaseError) in
            try ColumnChunk(validating: found.bytes, kind: column.kind, key: key, long: longSource, keeping: &texts)
        }
        return withExtendedLifetime(texts) { chunk.longReferences }
    }

    private func missing() -> DatabaseError { .corrupted("a block of the list \(column.name) is missing") }

    /// Calls `body` with runs of the elements in `range`, of a list with `count` elements.
    func forEach(
        _ range: Range<Int>, of count: Int, _ body: (ColumnChunk, Range<Int>) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        if let lastLeaf, lastStart >= 0, range.lowerBound >= lastStart,
            range.upperBound <= lastStart + lastLeaf.chunk.count
        {
            return try lend(lastLeaf.chunk, range.lowerBound - lastStart ..< range.upperBound - lastStart, body)
        }
        let root = try inner(0, level: nil)
        guard root.total == count else { throw .corrupted("the list \(column.name) has a wrong number of elements") }
        try forEach(in: root, from: 0, range, body)
    }

    /// The elements in `range` below a child that lies at `start`, both counted from the beginning of the list.
    func forEach(
        child id: UInt32, count: Int, level: Int, from start: Int, _ range: Range<Int>,
        _ body: (ColumnChunk, Range<Int>) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let wanted = range.clamped(to: start ..< start + count)
        guard !wanted.isEmpty else { return }
        if level == 0 {
            let chunk = try leaf(id, count: count)
            lastStart = start
            return try lend(chunk, wanted.lowerBound - start ..< wanted.upperBound - start, body)
        }
        let node = try inner(id, level: level)
        guard node.total == count else { throw .corrupted("a node of the list \(column.name) has a wrong count") }
        try forEach(in: node, from: start, wanted, body)
    }

    private func forEach(
        in node: LongListInner, from start: Int, _ range: Range<Int>,
        _ body: (ColumnChunk, Range<Int>) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        var position = start
        for child in 0 ..< node.childCount {
            guard position < range.upperBound else { return }
            let count = node.elements(of: child)
            if position + count > range.lowerBound {
                try forEach(child: node.id(of: child), count: count, level: node.level - 1, from: position, range, body)
            }
            position += count
        }
    }

    private func lend(
        _ chunk: ColumnChunk, _ range: Range<Int>,
        _ body: (ColumnChunk, Range<Int>) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        try chunk.checkLongTexts(range)
        try body(chunk, range)
    }

    /// The keys of all nodes that the list has in the file.
    package func storedKeys() throws(DatabaseError) -> [[UInt8]] {
        let prefix = PageKeys.longList(table, column.key, owner)
        let cursor = try pages.makeCursor()
        var keys: [[UInt8]] = []
        var found = try cursor.seek(prefix)
        while found, cursor.key.starts(with: prefix) {
            keys.append([UInt8](cursor.key))
            found = try cursor.next()
        }
        return keys
    }
}
