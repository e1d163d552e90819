/// The values of one path for a batch of rows, without nulls, each beside the number of its group. Ints and floating
/// numbers come as they are in memory, all others as views.
import MotteColumns
import MotteSchemaModel
import MotteStorage
import MotteValues

final class GroupFeed {
    enum Form { case ints, doubles, views }

    let form: Form
    let path: BoundPath
    private let column: ColumnCursor?
    private let reader: PathReader?
    private let capacity: Int
    private let target: TableKey?
    private let ownGroups: UnsafeMutablePointer<UInt32>
    private let room: UnsafeMutableRawPointer

    /// Of each group, how many of its rows have no value here: most columns have no nulls, and nothing to count.
    let absent = PerGroup<Int64>(0)
    /// How many values the batch has.
    private(set) var count = 0
    private(set) var groups: UnsafePointer<UInt32>

    init(_ context: RunContext, _ table: TableKey, _ path: BoundPath, capacity: Int) throws(DatabaseError) {
        self.path = path
        self.capacity = capacity
        switch path.type {
        case .int: form = .ints
        case .float, .double: form = .doubles
        default: form = .views
        }
        if path.steps.isEmpty, case .column(let column, _, _) = path.end {
            self.column = try context.reader(table).cursor(column)
            reader = nil
        } else {
            column = nil
            reader = try PathReader(context, table, path)
        }
        target = path.type == .link ? path.targetTable : nil
        ownGroups = .allocate(capacity: capacity)
        groups = UnsafePointer(ownGroups)
        room = .allocate(byteCount: capacity * MemoryLayout<ValueView>.stride, alignment: 8)
    }

    deinit {
        ownGroups.deallocate()
        room.deallocate()
    }

    var ints: UnsafeMutablePointer<Int64> { room.assumingMemoryBound(to: Int64.self) }
    var doubles: UnsafeMutablePointer<Double> { room.assumingMemoryBound(to: Double.self) }
    var views: UnsafeMutablePointer<ValueView> { room.assumingMemoryBound(to: ValueView.self) }

    func load(_ batch: GroupBatch, _ groups: UnsafePointer<UInt32>) throws(DatabaseError) {
        let rows = batch.rows
        count = rows.count
        self.groups = groups
        guard let column else { return try loadPath(batch, groups) }
        let chunk = try column.chunk(batch.rowGroup).pointee
        switch form {
        case .ints: batch.decodeInts(chunk, into: ints)
        case .doubles: batch.decodeDoubles(chunk, into: doubles)
        case .views:
            if chunk.hasLongTexts { for row in rows { try chunk.checkLongText(Int(row)) } }
            for index in 0 ..< rows.count { views[index] = chunk.view(Int(rows[index])) }
        }
        guard chunk.hasNulls else { return }
        var kept = 0
        for index in 0 ..< rows.count {
            if chunk.isNull(Int(rows[index])) {
                absent.values[Int(groups[index])] &+= 1
                continue
            }
            ownGroups[kept] = groups[index]
            switch form {
            case .ints: ints[kept] = ints[index]
            case .doubles: doubles[kept] = doubles[index]
            case .views: views[kept] = views[index]
            }
            kept &+= 1
        }
        count = kept
        self.groups = UnsafePointer(ownGroups)
    }

    private func loadPath(_ batch: GroupBatch, _ groups: UnsafePointer<UInt32>) throws(DatabaseError) {
        guard let reader else { return }
        var kept = 0
        for index in 0 ..< batch.rows.count {
            let view = try reader.view(batch.firstKey &+ Int64(batch.rows[index]))
            if view.isNull {
                absent.values[Int(groups[index])] &+= 1
                continue
            }
            ownGroups[kept] = groups[index]
            switch form {
            case .ints: ints[kept] = view.intValue
            case .doubles: doubles[kept] = view.kind == .float ? Double(view.floatValue) : view.doubleValue
            case .views: views[kept] = view
            }
            kept &+= 1
        }
        count = kept
        self.groups = UnsafePointer(ownGroups)
    }

    /// Calls `body` with each number as a double, and the number of its group; mixed values that are none do not count.
    @inline(__always)
    func forEachNumber(_ body: (Int, Double) -> Void) {
        switch form {
        case .ints: for index in 0 ..< count { body(Int(groups[index]), Double(ints[index])) }
        case .doubles: for index in 0 ..< count { body(Int(groups[index]), doubles[index]) }
        case .views:
            for index in 0 ..< count {
                let view = views[index]
                switch view.kind {
                case .int: body(Int(groups[index]), Double(view.intValue))
                case .float: body(Int(groups[index]), Double(view.floatValue))
                case .double: body(Int(groups[index]), view.doubleValue)
                case .decimal: body(Int(groups[index]), view.decimalValue.doubleValue)
                default: break
                }
            }
        }
    }
}
