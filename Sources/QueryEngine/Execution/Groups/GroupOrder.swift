/// Codes and ranks of groups' values, conditions on groups, and groups as an executor makes them.
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

    /// Of values of one type, null first: equal ones have equal codes, and later ones no smaller codes.
    static func code(_ view: ValueView, _ type: PropertyType, isAscending: Bool) -> UInt64 {
        let code = view.isNull || type == .mixed ? 0 : max(1, Self.code(view))
        return isAscending ? code : ~code
    }

    /// Equal values have equal codes, and larger ones no smaller codes. Only among values of one type.
    private static func code(_ view: ValueView) -> UInt64 {
        switch view.form {
        case .int: UInt64(bitPattern: view.intValue) ^ (1 << 63)
        case .timestamp: UInt64(bitPattern: view.intValue) ^ (1 << 63)
        case .double: doubleCode(view.doubleValue)
        case .string, .data: textCode(view.bytes)
        default: 0
        }
    }

    /// The first eight bytes.
    private static func textCode(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        guard let base = bytes.baseAddress else { return 0 }
        if bytes.count >= 8 { return UInt64(bigEndian: base.loadUnaligned(as: UInt64.self)) }
        var code: UInt64 = 0
        for index in 0 ..< bytes.count {
            code |= UInt64(base.load(fromByteOffset: index, as: UInt8.self)) << UInt64(56 &- index &* 8)
        }
        return code
    }

    private static func doubleCode(_ value: Double) -> UInt64 {
        if value.isNaN { return 0 }
        // Adding zero turns -0.0 into 0.0.
        let bits = (value + 0.0).bitPattern
        return bits >> 63 == 0 ? bits | (1 << 63) : ~bits
    }
}

extension BoundExpression {
    /// Of columns.
    fileprivate func value(_ run: GroupRun, _ group: UInt32) throws(DatabaseError) -> Quantity {
        switch self {
        case .constant(let value): return value
        case .path(let path, _):
            guard case .column(let column, _, _) = path.end else { return .null }
            return Quantity(view: try run.view(Int(column.rawValue), group))
        // Columns have no functions.
        case .length: return .null
        case .arithmetic(let left, let sign, let right, _):
            return Quantity.compute(try left.value(run, group), sign, try right.value(run, group))
        }
    }
}

extension BoundGrouping.Condition {
    func holds(_ run: GroupRun, _ group: UInt32) throws(DatabaseError) -> Bool {
        switch self {
        case .constant(let value): return value
        case .test(let column, let test): return test.holds(try run.view(column, group))
        case .columns(let left, let test, let right):
            return test.holds(try run.view(left, group), try run.view(right, group))
        case .arithmetic(let left, let test, let right):
            let (one, other) = (try left.value(run, group), try right.value(run, group))
            return ValueComparison.holds(test, one.view, other.view)
        case .not(let inner): return try !inner.holds(run, group)
        case .and(let parts):
            for part in parts where try !part.holds(run, group) { return false }
            return true
        case .or(let parts):
            for part in parts where try part.holds(run, group) { return true }
            return false
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
        if measured == nil, try plan().access == nil {
            // Of texts and other values groups have copies.
            try context.keepingNothing { () throws(DatabaseError) in try addPieces(to: run, maker) }
            return try run.finish()
        }
        var groupNanoseconds: Int64 = 0
        let isMeasured = measured != nil
        let start = isMeasured ? MonotonicClock.nanoseconds : 0
        let selection = try self.run(try plan())
        // Of texts and other values groups have copies.
        try context.keepingNothing { () throws(DatabaseError) in
            try selection.forEachRowGroup { rows, words throws(DatabaseError) in
                let before = isMeasured ? MonotonicClock.nanoseconds : 0
                defer { if isMeasured { groupNanoseconds += MonotonicClock.nanoseconds &- before } }
                if let batch = maker.batch(rows, words) { try run.add(batch) }
                return true
            }
        }
        measured?.noteSelection(since: start &+ groupNanoseconds)
        return try run.finish()
    }

    /// A scan, piece by piece: the first by this thread, and where it has not found many groups, the others by several.
    private func addPieces(to run: GroupRun, _ maker: GroupBatchMaker) throws(DatabaseError) {
        let selection = try self.run(try plan())
        let rowGroupCount = try source.table(query.table).rowGroupCount
        var isByPieces = true
        for piece in 0 ..< ScanPieces.count(rowGroupCount) {
            if piece == 1 {
                isByPieces = !run.hasManyGroups
                if isByPieces, try addOnThreads(run, from: piece) { return }
            }
            try selection.forEachRowGroup(in: ScanPieces.range(piece, of: rowGroupCount)) {
                rows, words throws(DatabaseError) in
                if let batch = maker.batch(rows, words) { try run.add(batch) }
                return true
            }
            if isByPieces { run.endPiece() }
        }
    }

    /// False where one thread does as well.
    private func addOnThreads(_ run: GroupRun, from piece: Int) throws(DatabaseError) -> Bool {
        let grouping = run.grouping
        let perRow = 4 * Double(1 + grouping.keys.count + grouping.aggregates.count)
        guard grouping.canBeParts, let scan = try scanOnThreads(try plan(), perRow: perRow, from: piece) else {
            return false
        }
        let total = GroupTotal(run, next: piece)
        let table = query.table
        _ = try scan.run { context throws(DatabaseError) -> GroupPart in
            let maker = GroupBatchMaker(try context.reader(table))
            return GroupPart(maker, total) { () throws(DatabaseError) in
                try GroupRun(context, grouping, capacity: maker.capacity)
            }
        }
        return true
    }

    /// Of given objects, which exist; one that is there twice counts twice.
    package func groups(_ grouping: BoundGrouping, of keys: [Int64]) throws(DatabaseError) -> GroupTable {
        let maker = GroupBatchMaker(try context.reader(query.table))
        let run = try GroupRun(context, grouping, capacity: maker.capacity)
        try context.keepingNothing { () throws(DatabaseError) in
            try maker.forEachBatch(keys.sorted()) { batch throws(DatabaseError) in
                try run.add(batch)
                try context.releaseMemory()
            }
        }
        return try run.finish()
    }
}
