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
    /// What its texts lie in that are not the source's.
    var arena: ByteArena
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
    private(set) var offset = 0
    /// Counted when somebody asks, -1 before that.
    private var line = -1
    /// Of objects that follow each other in a text.
    var lines = LineCounter()
    /// By field and one: which came after it the last time, at first the next one.
    private let order: UnsafeMutablePointer<Int>

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
        order = .allocate(capacity: plan.fields.count + 1)
        for index in 0 ... plan.fields.count { (order + index).initialize(to: index) }
        for field in plan.fields where field.position >= 0 { defaults[field.position] = plan.defaultValue(field) }
        reset()
    }

    deinit {
        values.deallocate()
        defaults.deallocate()
        isNamed.deallocate()
        hasValue.deallocate()
        order.deallocate()
    }

    /// The object that the reader stands before; without a line it is counted when it is asked for.
    func begin(_ reader: JSONReader, line: Int = -1) {
        offset = reader.position
        self.line = line
    }

    func line(_ reader: JSONReader) -> Int {
        if line < 0 { line = lines.advance(to: offset, in: reader.start) }
        return line
    }

    /// The field that is likely behind another one, or the first behind -1.
    @inline(__always)
    func following(_ field: Int) -> Int { order[field &+ 1] }
    func follow(_ field: Int, _ next: Int) { order[field + 1] = next }

    /// For the next object.
    func reset() {
        values.update(from: defaults, count: plan.columns.count)
        isNamed.initialize(repeating: false, count: plan.fields.count)
        hasValue.initialize(repeating: false, count: plan.fields.count)
        cells.removeAll(keepingCapacity: true)
        sourceKey = -1
    }

    /// A value of the row.
    @inline(__always)
    func put(_ index: Int, _ value: ValueView) {
        values[plan.quick[index].position] = value
        hasValue[index] = true
    }

    /// Whether the document names these columns and no others.
    func names(_ columns: [ColumnKey]) -> Bool {
        var count = 0
        for index in plan.fields.indices where hasValue[index] {
            guard count < columns.count, columns[count] == plan.fields[index].column else { return false }
            count += 1
        }
        return count == columns.count
    }

    /// The values that the document names, behind each other.
    func copyNamed(to place: UnsafeMutablePointer<ValueView>) {
        var count = 0
        for index in plan.fields.indices where hasValue[index] {
            place[count] = values[plan.quick[index].position]
            count += 1
        }
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
