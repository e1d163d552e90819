/// Rows of one class that are inserted or upserted together: plain values in one run of memory, no allocation a row.
///
/// Values borrow from the source and from the arena until `flush`. A row that the store refuses is named by its line.
import MotteLiveObjects
import MotteValues

final class PendingRows {
    let table: TableKey
    let columns: [ColumnKey]
    let arena: ByteArena
    private let capacity: Int
    private let values: UnsafeMutablePointer<ValueView>
    private let lines: UnsafeMutablePointer<Int>
    /// Of the rows that were flushed last.
    let keys: UnsafeMutablePointer<Int64>
    private(set) var count = 0

    init(_ table: TableKey, _ columns: [ColumnKey], capacity: Int, arena: ByteArena = ByteArena()) {
        self.arena = arena
        self.table = table
        self.columns = columns
        self.capacity = capacity
        values = .allocate(capacity: max(capacity * columns.count, 1))
        lines = .allocate(capacity: capacity)
        keys = .allocate(capacity: capacity)
    }

    deinit {
        values.deallocate()
        lines.deallocate()
        keys.deallocate()
    }

    /// Also when the texts of the rows have become large.
    var isFull: Bool { count == capacity || arena.count > 1 << 22 }

    /// The place of a new row's values, which the caller fills. There is room unless `isFull`.
    @inline(__always)
    func begin(line: Int) -> UnsafeMutablePointer<ValueView> {
        lines[count] = line
        count += 1
        return values + (count - 1) * columns.count
    }

    func line(_ row: Int) -> Int { row < count ? lines[row] : 0 }

    /// Writes the rows; afterwards `keys` has theirs, and `forget` makes room for others.
    func flush(_ session: Session, _ policy: UpdatePolicy) throws(DatabaseError) -> ImportOutcome {
        guard count > 0 else { return ImportOutcome() }
        do throws(DatabaseError) {
            let outcome = try session.upsertBatch(
                table, columns: columns, rows: values, rowCount: count, policy: policy, keys: keys)
            return ImportOutcome(created: outcome.created, updated: outcome.updated)
        } catch {
            let row = count == 1 ? 0 : error.details.rowIndex ?? 0
            throw ExchangeError.at(line: line(row), ExchangeError.withoutRow(error))
        }
    }

    func forget(keepingTexts: Bool = false) {
        count = 0
        if !keepingTexts { arena.reset() }
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
        let prefix = "row \(row): "
        guard error.message.hasPrefix(prefix) else { return error }
        return DatabaseError(
            error.code, String(error.message.dropFirst(prefix.count)), path: error.details.path,
            className: error.details.className, propertyName: error.details.propertyName)
    }

    /// `people.csv:7: ...` instead of `line 7: ...`.
    package static func named(_ source: String, _ error: DatabaseError) -> DatabaseError {
        var message = error.message
        if message.hasPrefix("line ") {
            message.removeFirst(5)
            message = source + ":" + message
        } else {
            message = source + ": " + message
        }
        return DatabaseError(
            error.code, message, path: error.details.path, className: error.details.className,
            propertyName: error.details.propertyName)
    }
}
