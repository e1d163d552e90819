/// One object of a document while it is read: its plain values in place, everything else as the text it stands in.
///
/// Single values of plain types become values at once. Collections, embedded objects and links to what is not there yet
/// wait until the object has its key.
import MotteValues

final class ObjectScratch {
    /// A property that is assigned once the object has a key.
    struct Cell {
        let field: Int
        let text: UnsafeRawBufferPointer
        let line: Int
    }

    let plan: ClassPlan
    let arena: ByteArena
    let values: UnsafeMutablePointer<ValueView>
    private let defaults: UnsafeMutablePointer<ValueView>
    /// By field: whether the document names it.
    let isNamed: UnsafeMutablePointer<Bool>
    /// By field: whether its value is in `values`, not in a cell.
    let hasValue: UnsafeMutablePointer<Bool>
    var cells: [Cell] = []
    /// Its `$key`, -1 without one.
    var sourceKey: Int64 = -1
    /// Where it begins.
    var line = 0
    var offset = 0

    init(_ plan: ClassPlan, _ arena: ByteArena) {
        self.plan = plan
        self.arena = arena
        let count = max(plan.columns.count, 1)
        values = .allocate(capacity: count)
        defaults = .allocate(capacity: count)
        values.initialize(repeating: .null, count: count)
        defaults.initialize(repeating: .null, count: count)
        isNamed = .allocate(capacity: max(plan.fields.count, 1))
        hasValue = .allocate(capacity: max(plan.fields.count, 1))
        for field in plan.fields where field.position >= 0 { defaults[field.position] = plan.defaultValue(field) }
        reset()
    }

    deinit {
        values.deallocate()
        defaults.deallocate()
        isNamed.deallocate()
        hasValue.deallocate()
    }

    /// For the next object.
    func reset() {
        values.update(from: defaults, count: plan.columns.count)
        isNamed.initialize(repeating: false, count: plan.fields.count)
        hasValue.initialize(repeating: false, count: plan.fields.count)
        cells.removeAll(keepingCapacity: true)
        sourceKey = -1
    }

    /// A value of the row.
    func put(_ index: Int, _ value: ValueView) {
        values[plan.fields[index].position] = value
        hasValue[index] = true
    }

    /// Columns and values that the document names.
    var namedValues: (columns: [ColumnKey], values: [ValueView]) {
        var columns: [ColumnKey] = []
        var named: [ValueView] = []
        for (index, field) in plan.fields.enumerated() where hasValue[index] {
            columns.append(field.column)
            named.append(values[field.position])
        }
        return (columns, named)
    }
}
