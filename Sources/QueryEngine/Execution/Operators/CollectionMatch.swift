/// Some element of a list, or some object that links here, passes.
import MotteColumns
import MotteStorage
import MotteValues

/// Lists of values: all elements of a row group's lists are tested at once.
final class ElementOperator: Operator {
    private let reader: TableReader
    private let column: ColumnKey
    private let test: ColumnTest
    private var elementWords: [UInt64] = []

    init(_ reader: TableReader, _ column: ColumnKey, _ test: ColumnTest) {
        self.reader = reader
        self.column = column
        self.test = test
    }

    override func select(
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, into words: SelectionWords
    ) throws(DatabaseError) {
        let lists = try reader.view.listChunk(column, rows.index)
        try evaluate(lists.elements) { (elements: UnsafePointer<UInt64>) throws(DatabaseError) in
            for index in 0 ..< Selection.wordCount(rows.rowCount) {
                var open = candidates[index]
                var found: UInt64 = 0
                while open != 0 {
                    let bit = open.trailingZeroBitCount
                    open &= open &- 1
                    let row = index &* 64 &+ bit
                    let passes =
                        lists.isExternal(row)
                        ? try long(rows.firstKey &+ Int64(row))
                        : BitRange.hasOne(elements, lists.range(row))
                    if passes { found |= 1 << UInt64(bit) }
                }
                words[index] = found
            }
        }
    }

    private func long(_ key: Int64) throws(DatabaseError) -> Bool {
        var passes = false
        try reader.view.listValues(column, ObjectKey(key)) { chunk, range in
            if passes { return }
            var words = [UInt64](repeating: 0, count: Selection.wordCount(chunk.count) + 1)
            words.withUnsafeMutableBufferPointer { buffer in
                guard let base = buffer.baseAddress else { return }
                test.select(chunk, into: base)
                passes = BitRange.hasOne(base, range)
            }
        }
        return passes
    }

    private func evaluate(
        _ chunk: ColumnChunk, _ body: (UnsafePointer<UInt64>) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let count = Selection.wordCount(chunk.count) + 1
        if elementWords.count < count { elementWords = Array(repeating: 0, count: count * 2) }
        var failure: DatabaseError?
        elementWords.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            test.select(chunk, into: base)
            do throws(DatabaseError) { try body(base) } catch { failure = error }
        }
        if let failure { throw failure }
    }
}

enum BitRange {
    static func hasOne(_ words: UnsafePointer<UInt64>, _ range: Range<Int>) -> Bool {
        if range.isEmpty { return false }
        let first = range.lowerBound >> 6, last = (range.upperBound - 1) >> 6
        let head: UInt64 = ~0 << UInt64(range.lowerBound & 63)
        let tail: UInt64 = ~0 >> UInt64(63 - (range.upperBound - 1) & 63)
        if first == last { return words[first] & head & tail != 0 }
        if words[first] & head != 0 || words[last] & tail != 0 { return true }
        for index in first + 1 ..< last where words[index] != 0 { return true }
        return false
    }
}

/// Lists of links.
final class ObjectListOperator: Operator {
    private let reader: TableReader
    private let column: ColumnKey
    private let targets: KeySelection

    init(_ reader: TableReader, _ column: ColumnKey, _ targets: KeySelection) {
        self.reader = reader
        self.column = column
        self.targets = targets
    }

    override func select(
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, into words: SelectionWords
    ) throws(DatabaseError) {
        let lists = try reader.view.listChunk(column, rows.index)
        try targets.prepare()
        for index in 0 ..< Selection.wordCount(rows.rowCount) {
            var open = candidates[index]
            var found: UInt64 = 0
            while open != 0 {
                let bit = open.trailingZeroBitCount
                open &= open &- 1
                let row = index &* 64 &+ bit
                let passes =
                    lists.isExternal(row)
                    ? try long(rows.firstKey &+ Int64(row))
                    : try hasPassing(lists.elements, lists.range(row))
                if passes { found |= 1 << UInt64(bit) }
            }
            words[index] = found
        }
    }

    private func hasPassing(_ chunk: ColumnChunk, _ range: Range<Int>) throws(DatabaseError) -> Bool {
        for position in range where try targets.contains(chunk.link(position)) { return true }
        return false
    }

    private func long(_ key: Int64) throws(DatabaseError) -> Bool {
        var passes = false
        try reader.view.listValues(column, ObjectKey(key)) { chunk, range throws(DatabaseError) in
            if !passes { passes = try hasPassing(chunk, range) }
        }
        return passes
    }
}

/// Inverse links. For many rows the linking objects that pass are found first and their targets marked; for few, each
/// row's backlinks are looked at.
final class InverseOperator: Operator {
    private let context: RunContext
    private let step: PathStep
    private let isList: Bool
    private let linking: KeySelection
    private let looksUp: Bool
    private let targetCount: Int64
    private var marked: [UInt64]?
    private var keys: [Int64] = []

    init(
        _ context: RunContext, _ step: PathStep, isList: Bool, _ inner: BoundPredicate, visits: Int,
        measured: PlanStep? = nil
    ) throws(DatabaseError) {
        self.context = context
        self.step = step
        self.isList = isList
        let origin = try context.reader(step.target)
        looksUp = InverseLookup.pays(visits: visits, linking: origin)
        linking = try KeySelection(
            context, inner, step.target, visits: looksUp ? visits &* 4 : Int(origin.nextKey), measured: measured)
        targetCount = try context.reader(step.origin).nextKey
    }

    override func select(
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, into words: SelectionWords
    ) throws(DatabaseError) {
        let marks = looksUp ? nil : try markedTargets()
        let view = try context.reader(step.origin).view
        for index in 0 ..< Selection.wordCount(rows.rowCount) {
            var open = candidates[index]
            var found: UInt64 = 0
            while open != 0 {
                let bit = open.trailingZeroBitCount
                open &= open &- 1
                let key = rows.firstKey &+ Int64(index &* 64 &+ bit)
                let passes =
                    if let marks {
                        marks[Int(key >> 6)] & (1 << UInt64(key & 63)) != 0
                    } else {
                        try lookUp(key, view)
                    }
                if passes { found |= 1 << UInt64(bit) }
            }
            words[index] = found
        }
    }

    private func lookUp(_ key: Int64, _ view: TableView) throws(DatabaseError) -> Bool {
        keys.removeAll(keepingCapacity: true)
        try view.backlinks(origin: step.target, step.column, ObjectKey(key), into: &keys)
        try linking.prepare()
        for key in keys where try linking.contains(key) { return true }
        return false
    }

    private func markedTargets() throws(DatabaseError) -> [UInt64] {
        if let marked { return marked }
        var marks = [UInt64](repeating: 0, count: Int(targetCount >> 6) + 1)
        try InverseLookup.forEachLink(context, step, isList: isList, among: linking) { target, _ in
            if target >= 0, target < targetCount { marks[Int(target >> 6)] |= 1 << UInt64(target & 63) }
        }
        marked = marks
        return marks
    }
}

enum InverseLookup {
    /// A look-up in the index costs about as much as reading this many links in a row.
    private static let rowsPerLookup = 100

    static func pays(visits: Int, linking: TableReader) -> Bool {
        pays(visits: visits, nextKey: linking.nextKey)
    }

    static func pays(visits: Int, nextKey: Int64) -> Bool { visits < Int(nextKey) / rowsPerLookup }

    /// Every link of the step's column: its target, and the object it belongs to. `among` nil takes all live objects.
    static func forEachLink(
        _ context: RunContext, _ step: PathStep, isList: Bool, among: KeySelection?,
        _ body: (_ target: Int64, _ owner: Int64) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let reader = try context.reader(step.target)
        if let among {
            let cursor = isList ? nil : try reader.cursor(step.column)
            try among.forEachKey { key throws(DatabaseError) in
                if let cursor {
                    let place = reader.place(key)
                    let target = try cursor.chunk(place.rowGroup).pointee.link(place.slot)
                    if target >= 0 { try body(target, key) }
                } else {
                    try forEachElement(reader, step.column, key, body)
                }
            }
            return
        }
        let live = SelectionBuffer(rows: reader.mostRows)
        for rowGroup in 0 ..< reader.rowGroupCount {
            guard let rows = try reader.liveRows(rowGroup, into: live.words) else { continue }
            context.noteEvaluated(rows.rowCount)
            let chunk = isList ? nil : try reader.view.chunk(step.column, rowGroup)
            for row in 0 ..< rows.rowCount where Selection.contains(live.words, row) {
                let key = rows.firstKey &+ Int64(row)
                if let chunk {
                    let target = chunk.link(row)
                    if target >= 0 { try body(target, key) }
                } else {
                    try forEachElement(reader, step.column, key, body)
                }
            }
        }
    }

    private static func forEachElement(
        _ reader: TableReader, _ column: ColumnKey, _ key: Int64,
        _ body: (_ target: Int64, _ owner: Int64) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        try reader.view.listValues(column, ObjectKey(key)) { chunk, range throws(DatabaseError) in
            for position in range {
                let target = chunk.link(position)
                if target >= 0 { try body(target, key) }
            }
        }
    }
}
