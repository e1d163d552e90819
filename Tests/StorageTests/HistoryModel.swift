// A naive model of transactions: the objects that exist, the value and the edits of each property. What a summary
// says must lead from one state to the other.
import MotteStorage
import MotteValues
import TestSupport
import Testing

struct HistoryModel {
    struct Cell: Hashable {
        let table: TableKey
        let column: ColumnKey
        let key: Int64
    }

    struct State {
        var live: [TableKey: Set<Int64>] = [:]
        var next: [TableKey: Int64] = [:]
        var values: [Cell: Int64] = [:]
    }

    private(set) var state = State()
    /// Per commit: properties set on objects that were there before it, edits of lists, and whether the schema changed.
    private var set: [Set<Cell>] = []
    private var edits: [[Cell: [ListOperation]]] = []
    private var schemaChanges: [Bool] = []

    mutating func transaction(_ random: inout SeededRandom, steps: Int, keepingSchema: Bool) -> ChangeRecorder {
        let recorder = ChangeRecorder()
        var touched: Set<Cell> = [], listEdits: [Cell: [ListOperation]] = [:]
        let before = state
        if !keepingSchema { recorder.schemaChanged() }
        for _ in 0 ..< steps {
            let table = random.pick(HistoryTests.tables)
            let live = state.live[table, default: []]
            if live.isEmpty || random.chance(25) {
                insert(table, 1 + random.below(3), recorder)
                continue
            }
            let key = random.pick(live.sorted())
            let cell = Cell(table: table, column: random.pick(HistoryTests.columns), key: key)
            switch random.below(10) {
            case 0:
                recorder.deleted(table, ObjectKey(key))
                state.live[table, default: []].remove(key)
            case 1 where random.chance(10):
                recorder.deleted(table, 0 ..< state.next[table, default: 0])
                state.live[table] = []
            case 2, 3:
                let operation = edit(cell, recorder, &random)
                if key < before.next[table, default: 0] { listEdits[cell, default: []].append(operation) }
            default:
                let new = Int64(random.below(1_000))
                recorder.modified(
                    table, cell.column, ObjectKey(key), old: .int(state.values[cell, default: 0]), new: .int(new))
                state.values[cell] = new
                if key < before.next[table, default: 0] { touched.insert(cell) }
            }
        }
        set.append(touched)
        edits.append(listEdits)
        schemaChanges.append(!keepingSchema)
        return recorder
    }

    private mutating func insert(_ table: TableKey, _ count: Int, _ recorder: ChangeRecorder) {
        let first = state.next[table, default: 0]
        recorder.inserted(table, first: ObjectKey(first), count: count)
        for key in first ..< first + Int64(count) { state.live[table, default: []].insert(key) }
        state.next[table] = first + Int64(count)
    }

    private func edit(_ cell: Cell, _ recorder: ChangeRecorder, _ random: inout SeededRandom) -> ListOperation {
        let owner = ObjectKey(cell.key), index = random.below(5) * 1_000
        switch random.below(5) {
        case 0:
            recorder.listInserted(cell.table, cell.column, owner, at: index, count: 2)
            return .insert(at: index, count: 2)
        case 1:
            recorder.listRemoved(cell.table, cell.column, owner, at: index, count: 3)
            return .remove(at: index, count: 3)
        case 2:
            recorder.listSet(cell.table, cell.column, owner, at: index)
            return .set(at: index)
        case 3:
            recorder.listMoved(cell.table, cell.column, owner, from: index, to: 4)
            return .move(from: index, to: 4)
        default:
            recorder.listCleared(cell.table, cell.column, owner, count: 8)
            return .clear(count: 8)
        }
    }

    /// `commits` are those between the states `old` and `new`.
    func check(
        _ summary: ChangeSummary, _ old: State, _ new: State, commits: Range<Int>, _ comment: String
    ) throws {
        #expect(summary.schemaChanged == schemaChanges[commits].contains(true), "\(comment)")
        #expect(summary.tables.map(\.table) == summary.tables.map(\.table).sorted(), "\(comment)")
        for table in HistoryTests.tables {
            let before = old.live[table, default: []], after = new.live[table, default: []]
            let change = summary.table(table)
            #expect(change?.inserted.keys ?? [] == after.subtracting(before).sorted(), "\(comment)")
            // Clearing a table names keys that were gone already.
            let deleted = Set(change?.deleted.keys ?? [])
            #expect(deleted.intersection(before) == before.subtracting(after), "\(comment)")
            #expect(deleted.isDisjoint(with: after), "\(comment)")
            let stayed = before.intersection(after)
            var modified: Set<Int64> = []
            for column in HistoryTests.columns {
                let cells = set[commits].joined().filter {
                    $0.table == table && $0.column == column && stayed.contains($0.key)
                }
                let lists = edits[commits].flatMap(\.keys).filter {
                    $0.table == table && $0.column == column && stayed.contains($0.key)
                }
                let keys = Set(cells.map(\.key)).union(lists.map(\.key))
                modified.formUnion(keys)
                #expect(change?.column(column)?.keys ?? [] == keys.sorted(), "\(comment)")
                for cell in Set(cells) {
                    let was = try summary.oldValue(table, column, cell.key)
                    #expect(was == .whole(.int(old.values[cell, default: 0])), "\(comment)")
                    let became = try summary.newValue(table, column, cell.key)
                    #expect(became == .whole(.int(new.values[cell, default: 0])), "\(comment)")
                }
                for cell in Set(lists) {
                    let operations = commits.flatMap { joined(edits[$0][cell, default: []]) }
                    #expect(change?.list(column, cell.key)?.operations == operations, "\(comment)")
                }
            }
            #expect(change?.modifiedKeys ?? [] == modified.sorted(), "\(comment)")
            for key in modified {
                let columns = HistoryTests.columns.filter { change?.column($0)?.contains(key) == true }
                #expect(change?.columns(modifying: key) == columns, "\(comment)")
            }
            var keys: [Int64] = []
            change?.forEachTouchedKey { keys.append($0) }
            #expect(change?.touchedBlocks(of: 3, below: .max) ?? [] == Set(keys.map { Int($0) / 3 }), "\(comment)")
            #expect(Set(keys).count == keys.count, "\(comment)")
        }
    }

    private func joined(_ operations: [ListOperation]) -> [ListOperation] {
        var joined: [ListOperation] = []
        for operation in operations {
            if let last = joined.indices.last, joined[last].absorb(operation) { continue }
            joined.append(operation)
        }
        return joined
    }
}
