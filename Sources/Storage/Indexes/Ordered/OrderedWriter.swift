/// What a write transaction has done to an ordered index and not yet committed. One thread.
import MottePages
import MotteSchemaModel
import MotteValues

final class OrderedWriter: IndexWriting {
    let index: TableIndex
    let columns: [OrderedColumn]
    private let isUnique: Bool
    private let context: IndexWriteContext
    private var committed: OrderedReader
    private(set) var changes: OrderedChanges
    private(set) var isCleared = false
    /// What there was before the index was cleared, with the mark from then.
    private var saved: [(mark: Int, firstMark: Int, changes: OrderedChanges, isCleared: Bool)] = []
    /// Marks from before the index was cleared come before those of later changes.
    private var firstMark = 0
    /// What the index has of one row.
    private(set) var scratch: [UInt8] = []
    /// Of a unique one.
    private var checks: OrderedUniqueness?

    init(_ index: TableIndex, _ parameters: OrderedParameters, _ context: IndexWriteContext) {
        self.index = index
        self.context = context
        columns = parameters.columns
        isUnique = parameters.isUnique
        committed = OrderedWriter.reader(index, context)
        changes = OrderedChanges(context.spill)
    }

    private static func reader(_ index: TableIndex, _ context: IndexWriteContext) -> OrderedReader {
        OrderedReader(index.key, pages: context.pages, cursorLookups: 128)
    }

    func forgetPlaces() { committed = OrderedWriter.reader(index, context) }

    var isEmpty: Bool { !isCleared && changes.isEmpty }

    /// nil once it was cleared.
    var reader: OrderedReader? { isCleared ? nil : committed }

    // MARK: Changes

    func add(_ rows: IndexedRows) { note(rows, isRemoved: false) }
    func remove(_ rows: IndexedRows) { note(rows, isRemoved: true) }

    private func note(_ rows: IndexedRows, isRemoved: Bool) {
        Self.note(rows, columns, isRemoved: isRemoved, &changes, &scratch)
    }

    private static func note(
        _ rows: IndexedRows, _ columns: [OrderedColumn], isRemoved: Bool, _ changes: inout OrderedChanges,
        _ bytes: inout [UInt8]
    ) {
        func append(_ key: Int64, hasNull: Bool) {
            bytes.withUnsafeBytes { bytes in
                let kept = UnsafeRawBufferPointer(rebasing: bytes.prefix(OrderedBytes.longest))
                changes.append(kept, UInt64(bitPattern: key), isRemoved: isRemoved, hasNull: hasNull)
            }
        }
        if columns.count == 1 {
            let column = columns[0]
            rows.forEach { view, key in
                bytes.removeAll(keepingCapacity: true)
                OrderedBytes.append(view, column, to: &bytes)
                append(key.rawValue, hasNull: view.isNull)
            }
            return
        }
        for row in 0 ..< rows.count where rows.isLive(row) {
            let hasNull = fill(&bytes, rows, row, columns)
            append(rows.key(row), hasNull: hasNull)
        }
    }

    /// The bytes of a row; whether one of its values is null.
    func fill(_ rows: IndexedRows, _ row: Int) -> Bool { Self.fill(&scratch, rows, row, columns) }

    private static func fill(
        _ bytes: inout [UInt8], _ rows: IndexedRows, _ row: Int, _ columns: [OrderedColumn]
    ) -> Bool {
        bytes.removeAll(keepingCapacity: true)
        var hasNull = false
        for (place, column) in columns.enumerated() {
            let view = rows.value(place, row)
            hasNull = hasNull || view.isNull
            OrderedBytes.append(view, column, to: &bytes)
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

    // MARK: Uniqueness

    func check(adding rows: IndexedRows, isPostponed: Bool) throws(DatabaseError) {
        guard isUnique else { return }
        if !isPostponed { return try OrderedUniqueness.check(rows, self) }
        if checks == nil { checks = OrderedUniqueness() }
        try checks?.postpone(rows, self)
    }

    func checkPostponed() throws(DatabaseError) {
        guard let postponed = checks else { return }
        checks = nil
        try postponed.check(self)
    }

    func forgetPostponed() { checks = nil }

    // MARK: Reading

    func withChanges(
        _ body: (OrderedChanges.Change) throws(DatabaseError) -> Void
    ) throws(DatabaseError) { try changes.forEach(body) }

    func mayHavePending(_ hash: UInt64) -> Bool { changes.mayHave(hash: hash) }

    func changes(in span: OrderedSpan) -> [OrderedChanges.Change] { changes.isEmpty ? [] : changes.changes(in: span) }

    // MARK: Committing

    func encode(over pages: PageSnapshot, into batch: inout PageBatch) throws(DatabaseError) {
        let merge = try OrderedMerge(OrderedEncoder(prefix: committed.prefix), over: isCleared ? nil : pages)
        try merge.run(&changes, into: &batch)
    }

    func checkInvariants() throws(DatabaseError) { try changes.checkInvariants() }
}
