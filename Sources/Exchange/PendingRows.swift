/// Rows of one class that are inserted or upserted together: plain values in one run of memory, no allocation a row.
///
/// One batch is filled while another is written (`ReadAhead`). Values borrow from the source and from the arena until
/// `forget`. A row that the store refuses is named by its line.
import MotteLiveObjects
import MotteValues

final class PendingRows {
    /// nil before `become`.
    private(set) var plan: ClassPlan?
    private(set) var columns: [ColumnKey] = []
    /// What of the rows waits until they have keys, in the order of the rows.
    var cells: [(row: Int, cell: ObjectScratch.Cell)] = []
    /// By row, where the text has such: what `$key` says, -1 without one.
    var sourceKeys: [Int64] = []
    /// How far the source was read behind the last row.
    var position = 0
    /// Of a text whose rows are noted by their offsets instead of their lines: what lines are counted in.
    var countsLinesIn: (bytes: UnsafeRawBufferPointer, firstLine: Int)?
    let arena = ByteArena()
    private let capacity: Int
    private var values: UnsafeMutablePointer<ValueView>
    private let lines: UnsafeMutablePointer<Int>
    /// Of the rows that were flushed last.
    let keys: UnsafeMutablePointer<Int64>
    private(set) var count = 0

    init(capacity: Int) {
        self.capacity = capacity
        values = .allocate(capacity: 1)
        lines = .allocate(capacity: capacity)
        keys = .allocate(capacity: capacity)
    }

    deinit {
        values.deallocate()
        lines.deallocate()
        keys.deallocate()
    }

    /// Makes a batch without rows one of other columns.
    func become(_ plan: ClassPlan, _ columns: [ColumnKey]) {
        assert(count == 0)
        if columns.count != self.columns.count {
            values.deallocate()
            values = .allocate(capacity: max(capacity * columns.count, 1))
        }
        self.plan = plan
        self.columns = columns
    }

    /// Also when the texts of the rows have become large.
    var isFull: Bool { count == capacity || arena.count > 1 << 22 }

    /// The place of the next row's values, which the caller fills before `append`. There is room unless `isFull`.
    @inline(__always)
    var place: UnsafeMutablePointer<ValueView> { values + count &* columns.count }

    /// `line` is an offset where the batch counts lines by itself.
    @inline(__always)
    func append(line: Int) {
        lines[count] = line
        count &+= 1
    }

    func line(_ row: Int) -> Int {
        guard row < count else { return 0 }
        guard let (bytes, firstLine) = countsLinesIn else { return lines[row] }
        var counter = LineCounter(firstLine: firstLine)
        guard let start = bytes.baseAddress else { return firstLine }
        return counter.advance(to: lines[row], in: start.assumingMemoryBound(to: UInt8.self))
    }

    /// Writes the rows; afterwards `keys` has theirs, and `forget` makes room for others.
    func flush(_ session: Session, _ policy: UpdatePolicy) throws(DatabaseError) -> ImportOutcome {
        guard count > 0, let plan else { return ImportOutcome() }
        do throws(DatabaseError) {
            let isFilled = session.hasFillers(plan.type)
            let first = isFilled ? try session.nextKey(plan.table) : 0
            let outcome = try session.upsertBatch(
                plan.table, columns: columns, rows: values, rowCount: count, policy: policy, keys: keys)
            if isFilled { try session.fill(plan.type) { column in unnamedKeys(plan, column, from: first) } }
            if let start = countsLinesIn?.bytes.baseAddress { InputFile.letGo(before: start + lines[count - 1]) }
            return ImportOutcome(created: outcome.created, updated: outcome.updated)
        } catch {
            let row = count == 1 ? 0 : error.details.rowIndex ?? 0
            throw ExchangeError.at(line: line(row), ExchangeError.withoutRow(error))
        }
    }

    /// Of new objects, which have keys from `first` on, those whose rows do not name a property.
    private func unnamedKeys(_ plan: ClassPlan, _ column: ColumnKey, from first: Int64) -> [Int64] {
        guard !columns.contains(column) else { return [] }
        var named: Set<Int64> = []
        for (row, cell) in cells where plan.fields[cell.field].column == column { named.insert(keys[row]) }
        var found: [Int64] = []
        for row in 0 ..< count where keys[row] >= first && named.insert(keys[row]).inserted { found.append(keys[row]) }
        return found
    }

    func forget() {
        count = 0
        arena.reset()
        cells.removeAll(keepingCapacity: true)
        sourceKeys.removeAll(keepingCapacity: true)
    }
}

/// What an import has done so far.
package struct ImportOutcome: Equatable, Sendable {
    package var created = 0
    package var updated = 0
    package var total: Int { created + updated }

    package init(created: Int = 0, updated: Int = 0) {
        self.created = created
        self.updated = updated
    }
}

/// How mistakes in a source are said: `line 7: ...`, the name of the source before it where there is one.
package enum ExchangeError {
    static func at(line: Int, _ error: DatabaseError) -> DatabaseError {
        DatabaseError(
            error.code, "line \(line): \(error.message)", path: error.details.path, className: error.details.className,
            propertyName: error.details.propertyName)
    }

    /// Rows of a batch have no meaning for whoever sees lines.
    static func withoutRow(_ error: DatabaseError) -> DatabaseError {
        guard let row = error.details.rowIndex else { return error }
        guard let message = error.message.behindBytes(of: "row \(row): ") else { return error }
        return DatabaseError(
            error.code, message, path: error.details.path, className: error.details.className,
            propertyName: error.details.propertyName)
    }

    /// `people.csv:7: ...` instead of `line 7: ...`.
    package static func named(_ source: String, _ error: DatabaseError) -> DatabaseError {
        let message = error.message.behindBytes(of: "line ").map { source + ":" + $0 } ?? source + ": " + error.message
        return DatabaseError(
            error.code, message, path: error.details.path, className: error.details.className,
            propertyName: error.details.propertyName)
    }
}
