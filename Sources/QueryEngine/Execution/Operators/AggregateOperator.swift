/// `collection.@op.path` per row, compared with a constant.
import MotteColumns
import MotteSchemaModel
import MotteStorage
import MotteValues

final class AggregateOperator: Operator {
    private let context: RunContext
    private let reader: TableReader
    private let aggregate: BoundAggregate
    /// From an object of the collection to its value.
    private let path: PathReader?
    private let type: PropertyType
    /// Of a SUBQUERY, the objects that pass.
    private let matching: KeySelection?
    private let looksUp: Bool
    /// Inverse links of many rows: everything by target, gathered in one pass over the linking objects.
    private var counts: [Int32]?
    private var accumulators: [Accumulator]?
    private var totals: InverseTotals?
    private var keys: [Int64] = []

    init(
        _ context: RunContext, _ reader: TableReader, _ aggregate: BoundAggregate, visits: Int
    ) throws(DatabaseError) {
        self.context = context
        self.reader = reader
        self.aggregate = aggregate
        switch aggregate.collection {
        case .elements(_, let type):
            self.type = type
            path = nil
            matching = nil
            looksUp = true
        case .matching(let step, let inner):
            type = .int
            path = nil
            let linking = try context.reader(step.target)
            let looksUp = step.kind == .list || InverseLookup.pays(visits: visits, linking: linking)
            self.looksUp = looksUp
            matching = try KeySelection(
                context, inner, step.target, visits: looksUp ? visits &* 4 : Int(linking.nextKey))
        case .objects(let step, let path):
            type = path?.type ?? .int
            matching = nil
            self.path = try path.map { path throws(DatabaseError) in try PathReader(context, step.target, path) }
            looksUp =
                step.kind == .list
                ? true : InverseLookup.pays(visits: visits, linking: try context.reader(step.target))
        }
    }

    override func select(
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, into words: SelectionWords
    ) throws(DatabaseError) {
        let lists: ListChunk? =
            switch aggregate.collection {
            case .elements(let column, _): try reader.view.listChunk(column, rows.index)
            case .objects(let step, _), .matching(let step, _):
                step.kind == .list ? try reader.view.listChunk(step.column, rows.index) : nil
            }
        if looksUp { try matching?.prepare() }
        if aggregate.function == .count, case .int(let constant) = aggregate.constant {
            return try selectCounts(rows, candidates, lists, constant, into: words)
        }
        let constant = aggregate.constant
        let failure = constant.withView { constant -> DatabaseError? in
            do throws(DatabaseError) {
                for index in 0 ..< Selection.wordCount(rows.rowCount) {
                    var open = candidates[index]
                    var found: UInt64 = 0
                    while open != 0 {
                        let bit = open.trailingZeroBitCount
                        open &= open &- 1
                        let row = index &* 64 &+ bit
                        let value = try value(lists, row, rows.firstKey &+ Int64(row))
                        if ValueComparison.holds(aggregate.operator, value, constant) { found |= 1 << UInt64(bit) }
                    }
                    words[index] = found
                }
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }

    /// The commonest aggregate and constant, without views of values.
    private func selectCounts(
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, _ lists: ListChunk?, _ constant: Int64,
        into words: SelectionWords
    ) throws(DatabaseError) {
        for index in 0 ..< Selection.wordCount(rows.rowCount) {
            var open = candidates[index]
            var found: UInt64 = 0
            while open != 0 {
                let bit = open.trailingZeroBitCount
                open &= open &- 1
                let row = index &* 64 &+ bit
                let count = try count(lists, row, rows.firstKey &+ Int64(row))
                let order = count < constant ? -1 : count == constant ? 0 : 1
                if aggregate.operator.holds(order) { found |= 1 << UInt64(bit) }
            }
            words[index] = found
        }
    }

    private func count(_ lists: ListChunk?, _ row: Int, _ key: Int64) throws(DatabaseError) -> Int64 {
        if let lists {
            guard let matching else { return Int64(lists.elementCount(row)) }
            return try countMatching(matching, lists, row, key)
        }
        guard let step = step else { return 0 }
        if looksUp {
            if let matching { return try countMatching(matching, step, key) }
            return Int64(try reader.view.backlinkCount(origin: step.target, step.column, ObjectKey(key)))
        }
        if counts == nil { try countAll(step) }
        return Int64(counts?[Int(key)] ?? 0)
    }

    private var step: PathStep? {
        switch aggregate.collection {
        case .elements: nil
        case .objects(let step, _), .matching(let step, _): step
        }
    }

    // MARK: Those that pass

    private func countMatching(
        _ matching: KeySelection, _ lists: ListChunk, _ row: Int, _ key: Int64
    ) throws(DatabaseError) -> Int64 {
        var count: Int64 = 0
        func add(_ chunk: ColumnChunk, _ range: Range<Int>) throws(DatabaseError) {
            for position in range where try matching.contains(chunk.link(position)) { count += 1 }
        }
        if lists.isExternal(row) {
            try reader.view.listValues(listColumn, ObjectKey(key)) { chunk, range throws(DatabaseError) in
                try add(chunk, range)
            }
        } else {
            try add(lists.elements, lists.range(row))
        }
        return count
    }

    private func countMatching(
        _ matching: KeySelection, _ step: PathStep, _ key: Int64
    ) throws(DatabaseError) -> Int64 {
        keys.removeAll(keepingCapacity: true)
        try reader.view.backlinks(origin: step.target, step.column, ObjectKey(key), into: &keys)
        var count: Int64 = 0
        for key in keys where try matching.contains(key) { count += 1 }
        return count
    }

    // MARK: Values

    private func value(_ lists: ListChunk?, _ row: Int, _ key: Int64) throws(DatabaseError) -> ValueView {
        let function = aggregate.function
        if function == .count { return .int(try count(lists, row, key)) }
        if let lists {
            var accumulator = Accumulator(type)
            if lists.isExternal(row) {
                try reader.view.listValues(listColumn, ObjectKey(key)) { chunk, range throws(DatabaseError) in
                    try add(chunk, range, to: &accumulator)
                }
            } else {
                try add(lists.elements, lists.range(row), to: &accumulator)
            }
            return accumulator.view(function)
        }
        guard case .objects(let step, _) = aggregate.collection else { return .null }
        return try inverseValue(step, key)
    }

    private var listColumn: ColumnKey {
        switch aggregate.collection {
        case .elements(let column, _): column
        case .objects(let step, _), .matching(let step, _): step.column
        }
    }

    private func add(
        _ chunk: ColumnChunk, _ range: Range<Int>, to accumulator: inout Accumulator
    ) throws(DatabaseError) {
        guard let path else {
            accumulator.add(chunk, range)
            return
        }
        for position in range {
            let target = chunk.link(position)
            if target >= 0 { accumulator.add(try path.view(target)) }
        }
    }

    // MARK: Inverse links

    private func inverseValue(_ step: PathStep, _ key: Int64) throws(DatabaseError) -> ValueView {
        let function = aggregate.function
        if looksUp {
            keys.removeAll(keepingCapacity: true)
            try reader.view.backlinks(origin: step.target, step.column, ObjectKey(key), into: &keys)
            var accumulator = Accumulator(type)
            if let path { for key in keys { accumulator.add(try path.view(key)) } }
            return accumulator.view(function)
        }
        if let path, InverseTotals.fits(function, path, isList: Self.isList(step)) {
            if totals == nil { totals = try InverseTotals(context, step, path, targets: Int(reader.nextKey)) }
            return totals?.view(function, Int(key)) ?? .null
        }
        if accumulators == nil { try accumulateAll(step) }
        return accumulators?[Int(key)].view(function) ?? .null
    }

    private static func isList(_ step: PathStep) -> Bool {
        if case .inverse(let isList) = step.kind { return isList }
        return false
    }

    private func countAll(_ step: PathStep) throws(DatabaseError) {
        var counts = [Int32](repeating: 0, count: Int(reader.nextKey))
        if Self.isList(step) || matching != nil {
            let end = reader.nextKey
            try InverseLookup.forEachLink(context, step, isList: Self.isList(step), among: matching) { target, _ in
                if target < end { counts[Int(target)] &+= 1 }
            }
        } else {
            try countLinks(step, &counts)
        }
        self.counts = counts
    }

    private func countLinks(_ step: PathStep, _ counts: inout [Int32]) throws(DatabaseError) {
        let linking = try context.reader(step.target)
        let cursor = try linking.cursor(step.column)
        let live = SelectionBuffer(rows: linking.mostRows)
        for rowGroup in 0 ..< linking.rowGroupCount {
            guard let rows = try linking.liveRows(rowGroup, into: live.words) else { continue }
            context.noteEvaluated(rows.rowCount)
            let chunk = try cursor.chunk(rowGroup)
            counts.withUnsafeMutableBufferPointer { counts in
                for row in 0 ..< rows.rowCount where Selection.contains(live.words, row) {
                    let target = Int(chunk.pointee.link(row))
                    if target >= 0, target < counts.count { counts[target] &+= 1 }
                }
            }
        }
    }

    private func accumulateAll(_ step: PathStep) throws(DatabaseError) {
        var all = [Accumulator](repeating: Accumulator(type), count: Int(reader.nextKey))
        let end = reader.nextKey
        if let path {
            try InverseLookup.forEachLink(
                context, step, isList: Self.isList(step), among: nil
            ) { target, owner throws(DatabaseError) in
                if target < end { all[Int(target)].add(try path.view(owner)) }
            }
        }
        accumulators = all
    }
}
