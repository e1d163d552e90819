/// Object keys that writes of this process have given to objects which are not in the file: the write was cancelled,
/// refused or lost, or went back to a savepoint. A link, a number or an object of a program may still name them, so
/// the next objects get later keys.
///
/// Of one open file, for as long as this process has it open. Another process does not know these keys: it gives them
/// to its own objects. Any thread.
import MotteValues

final class GivenKeys: Sendable {
    private let leastKeys = Locked<[TableKey: Int64]>([:])

    /// No new object of the table gets a key below this one.
    func leastKey(_ table: TableKey) -> Int64 { leastKeys.withLock { $0[table] ?? 0 } }

    func note(_ table: TableKey, leastKey: Int64) {
        leastKeys.withLock { keys in keys[table] = max(keys[table] ?? 0, leastKey) }
    }
}

extension WriteTransaction {
    /// Before rows are forgotten. Of rows that are in the file by now there is nothing to note, unless a group of
    /// commits may take them back.
    func noteGivenKeys() {
        guard !hidesKeys else { return }
        for writer in writers.all where writer.nextNewKey > writer.directory.state.nextKey || isInGroup {
            guard writer.nextNewKey > 0 else { continue }
            database.givenKeys.note(writer.layout.key, leastKey: writer.nextNewKey)
        }
    }
}
