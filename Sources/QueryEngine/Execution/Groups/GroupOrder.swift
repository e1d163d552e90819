/// The order of groups, and which of them stay.
import MotteColumns
import MotteSchemaModel
import MotteValues

enum GroupOrder {
    /// By code: the place of its value among all. Null is first.
    static func ranks(_ coder: GroupCoder, _ type: PropertyType) -> [UInt32] {
        var entries: [(code: UInt64, index: UInt32)] = []
        entries.reserveCapacity(coder.count)
        for index in 1 ..< coder.count + 1 {
            entries.append((type == .mixed ? 0 : code(coder.view(UInt32(index))), UInt32(index)))
        }
        entries.sort { left, right in
            if left.code != right.code { return left.code < right.code }
            return ValueOrdering.compare(coder.view(left.index), coder.view(right.index)) < 0
        }
        var ranks = [UInt32](repeating: 0, count: coder.count + 1)
        for (place, entry) in entries.enumerated() { ranks[Int(entry.index)] = UInt32(place + 1) }
        return ranks
    }

    /// That numbers up to `count` take.
    static func bits(_ count: Int) -> Int { Int.bitWidth - count.leadingZeroBitCount }

    /// Equal values have equal codes, and larger ones no smaller codes. Only among values of one type.
    private static func code(_ view: ValueView) -> UInt64 {
        switch view.form {
        case .int: UInt64(bitPattern: view.intValue) ^ (1 << 63)
        case .timestamp: UInt64(bitPattern: view.intValue) ^ (1 << 63)
        case .double: doubleCode(view.doubleValue)
        case .string, .data:
            view.bytes.prefix(8).enumerated().reduce(UInt64(0)) { code, byte in
                code | UInt64(byte.element) << UInt64(56 - 8 * byte.offset)
            }
        default: 0
        }
    }

    private static func doubleCode(_ value: Double) -> UInt64 {
        if value.isNaN { return 0 }
        // Adding zero turns -0.0 into 0.0.
        let bits = (value + 0.0).bitPattern
        return bits >> 63 == 0 ? bits | (1 << 63) : ~bits
    }

    /// Stable: what is level keeps its order.
    static func sort(_ rows: inout [Int], _ keys: [Grouping.SortKey], _ table: GroupTable) {
        guard let first = keys.first else { return }
        let usesCodes = table.columns[first.column].type != .mixed
        var entries: [(code: UInt64, place: Int, row: Int)] = []
        entries.reserveCapacity(rows.count)
        for (place, row) in rows.enumerated() {
            var code: UInt64 = 0
            let view = table.view(first.column, row)
            // Null is first.
            if usesCodes, !view.isNull { code = max(1, Self.code(view)) }
            entries.append((first.isAscending ? code : ~code, place, row))
        }
        entries.sort { left, right in
            if left.code != right.code { return left.code < right.code }
            for key in keys {
                let order = ValueOrdering.compare(table.view(key.column, left.row), table.view(key.column, right.row))
                if order != 0 { return (order < 0) == key.isAscending }
            }
            return left.place < right.place
        }
        rows = entries.map(\.row)
    }
}

extension BoundGrouping.Condition {
    func holds(_ table: GroupTable, _ row: Int) -> Bool {
        switch self {
        case .constant(let value): value
        case .test(let column, let test): test.holds(table.view(column, row))
        case .columns(let left, let test, let right): test.holds(table.view(left, row), table.view(right, row))
        case .not(let inner): !inner.holds(table, row)
        case .and(let parts): parts.allSatisfy { $0.holds(table, row) }
        case .or(let parts): parts.contains { $0.holds(table, row) }
        }
    }
}

extension Executor {
    /// The groups of the matches.
    package func groups(_ grouping: BoundGrouping) throws(DatabaseError) -> GroupTable {
        defer { context.flushCounters() }
        // Orders change nothing about groups.
        let onlySorts = query.steps.allSatisfy { if case .sort = $0 { true } else { false } }
        if !onlySorts { return try groups(grouping, of: try keys()) }
        let maker = GroupBatchMaker(try context.reader(query.table))
        let run = try GroupRun(context, grouping, capacity: maker.capacity)
        try self.run(try plan()).forEachRowGroup { rows, words throws(DatabaseError) in
            if let batch = maker.batch(rows, words) { try run.add(batch) }
            return true
        }
        return try run.finish()
    }

    /// Of given objects, which exist; one that is there twice counts twice.
    package func groups(_ grouping: BoundGrouping, of keys: [Int64]) throws(DatabaseError) -> GroupTable {
        let maker = GroupBatchMaker(try context.reader(query.table))
        let run = try GroupRun(context, grouping, capacity: maker.capacity)
        try maker.forEachBatch(keys.sorted()) { batch throws(DatabaseError) in try run.add(batch) }
        return try run.finish()
    }
}
