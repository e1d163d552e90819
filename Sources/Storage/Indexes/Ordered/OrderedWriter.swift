/// What a write transaction has done to an ordered index and not yet committed. One thread.
import MottePages
import MotteSchemaModel
import MotteValues

final class OrderedWriter: IndexWriting {
    private let index: TableIndex
    private let columns: [OrderedColumn]
    private let isUnique: Bool
    private let context: IndexWriteContext
    private let committed: OrderedReader
    private(set) var changes: OrderedChanges
    private(set) var isCleared = false
    /// What there was before the index was cleared, with the mark from then.
    private var saved: [(mark: Int, firstMark: Int, changes: OrderedChanges, isCleared: Bool)] = []
    /// Marks from before the index was cleared come before those of later changes.
    private var firstMark = 0
    private var scratch: [UInt8] = []
    /// Values that came while checks were postponed.
    private var postponed: [[UInt8]] = []

    init(_ index: TableIndex, _ parameters: OrderedParameters, _ context: IndexWriteContext) {
        self.index = index
        self.context = context
        columns = parameters.columns
        isUnique = parameters.isUnique
        committed = OrderedReader(index.key, pages: context.pages)
        changes = OrderedChanges(context.spill)
    }

    var isEmpty: Bool { !isCleared && changes.isEmpty }

    /// nil once it was cleared.
    private var reader: OrderedReader? { isCleared ? nil : committed }

    // MARK: Changes

    func add(_ rows: IndexedRows) { note(rows, isRemoved: false) }
    func remove(_ rows: IndexedRows) { note(rows, isRemoved: true) }

    private func note(_ rows: IndexedRows, isRemoved: Bool) {
        let mayMove = !context.undo.isActive
        forEachRow(rows) { bytes, key in changes.append(bytes, key, isRemoved: isRemoved, mayMove: mayMove) }
    }

    /// Calls with what the index has of each row.
    @inline(__always)
    private func forEachRow(_ rows: IndexedRows, _ body: (UnsafeRawBufferPointer, UInt64) -> Void) {
        if columns.count == 1 {
            let column = columns[0]
            rows.forEach { view, key in
                scratch.removeAll(keepingCapacity: true)
                OrderedBytes.append(view, column, to: &scratch)
                if scratch.count > OrderedBytes.longest { scratch.removeLast(scratch.count - OrderedBytes.longest) }
                scratch.withUnsafeBytes { body($0, UInt64(bitPattern: key.rawValue)) }
            }
            return
        }
        for row in 0 ..< rows.count where rows.isLive(row) {
            _ = fill(rows, row)
            if scratch.count > OrderedBytes.longest { scratch.removeLast(scratch.count - OrderedBytes.longest) }
            scratch.withUnsafeBytes { body($0, UInt64(bitPattern: rows.key(row))) }
        }
    }

    /// The bytes of a row; whether one of its values is null.
    private func fill(_ rows: IndexedRows, _ row: Int) -> Bool {
        scratch.removeAll(keepingCapacity: true)
        var hasNull = false
        for (place, column) in columns.enumerated() {
            let view = rows.value(place, row)
            hasNull = hasNull || view.isNull
            OrderedBytes.append(view, column, to: &scratch)
        }
        return hasNull
    }

    func clear() {
        if context.undo.isActive {
            saved.append((mark, firstMark, changes, isCleared))
            firstMark = mark + 1
        } else {
            saved = []
        }
        changes = OrderedChanges(context.spill)
        isCleared = true
    }

    var mark: Int { firstMark + changes.end }

    func rollBack(to mark: Int) {
        while let last = saved.last, last.mark >= mark {
            changes = last.changes
            isCleared = last.isCleared
            saved.removeLast()
            firstMark = last.firstMark
        }
        changes.rollBack(to: mark - firstMark)
    }

    // MARK: Reading

    func changes(in span: OrderedSpan) -> [OrderedChanges.Change] { changes.isEmpty ? [] : changes.changes(in: span) }

    // MARK: Uniqueness

    /// Rows that have a null may be there any number of times.
    func check(adding rows: IndexedRows, isPostponed: Bool) throws(DatabaseError) {
        guard isUnique else { return }
        var own: [[UInt8]: Int] = [:]
        let answers = OrderedAnswers(columns, reader, self)
        for row in 0 ..< rows.count where rows.isLive(row) {
            if fill(rows, row) { continue }
            guard scratch.count <= OrderedBytes.longest else { throw error(.valueTooLarge, rows, row, tooLong) }
            if isPostponed {
                postponed.append(scratch)
                continue
            }
            if rows.count > 1, let earlier = own.updateValue(row, forKey: scratch) {
                throw duplicate(rows, row, rows.isBatch ? "row \(earlier) of this call" : "object \(rows.key(earlier))")
            }
            if let other = try answers.firstKey(beginningWith: scratch, except: rows.key(row)) {
                throw duplicate(rows, row, "object \(other)")
            }
        }
    }

    func checkPostponed() throws(DatabaseError) {
        let values = postponed
        postponed = []
        let answers = OrderedAnswers(columns, reader, self)
        for value in values {
            guard let one = try answers.firstKey(beginningWith: value, except: nil),
                let other = try answers.firstKey(beginningWith: value, except: one)
            else { continue }
            throw DatabaseError(
                .duplicateValue,
                "\(index.className).\(names) is unique, and objects \(one) and \(other) would have the same value; "
                    + "give one of them another value",
                className: index.className, propertyName: index.columns.first?.name)
        }
    }

    private var names: String { index.columns.map(\.name).joined(separator: ", ") }

    private var tooLong: String {
        "is longer than a unique value can be (about \(OrderedBytes.longest - 8) bytes); shorten it, or make a hash of "
            + "it unique"
    }

    private func duplicate(_ rows: IndexedRows, _ row: Int, _ other: String) -> DatabaseError {
        error(.duplicateValue, rows, row, "is unique, and \(other) has it; give one of them another value")
    }

    private func error(_ code: ErrorCode, _ rows: IndexedRows, _ row: Int, _ problem: String) -> DatabaseError {
        let values = index.columns.indices.map { rows.value($0, row).owned.text }.joined(separator: ", ")
        let this = rows.isBatch && rows.count > 1 ? "row \(row)" : "object \(rows.key(row))"
        let error = DatabaseError(
            code, "\(index.className).\(names): the value \(values.prefix(100)) of \(this) \(problem)",
            className: index.className, propertyName: index.columns.first?.name)
        return rows.isBatch && rows.count > 1 ? error.at(rowIndex: row) : error
    }

    // MARK: Committing

    func encode(over pages: PageSnapshot, into batch: inout PageBatch) throws(DatabaseError) {
        let merge = try OrderedMerge(OrderedEncoder(prefix: committed.prefix), over: isCleared ? nil : pages)
        try merge.run(&changes, into: &batch)
    }

    func checkInvariants() throws(DatabaseError) { try changes.checkInvariants() }
}
