/// How a write ended, and which parts of it were undone before, for references that were made in it. Any thread.
import MotteStorage
import MotteValues
import Synchronization

final class WriteOutcome: Sendable {
    /// An object that came to be in a write of the session, this one or one before.
    struct Made: Sendable {
        let table: TableKey
        let key: ObjectKey
        let birth: UInt32

        init?(_ object: LiveObject) {
            guard object.birth != 0 else { return nil }
            (table, key, birth) = (object.table, object.key, object.birth)
        }
    }

    private let state = Atomic<UInt64>(0)
    /// Those of the session after the last time that the write went back to a savepoint.
    private let births = Locked<Births?>(nil)

    private static let cancelled = UInt64.max

    func commit(_ version: Version) { state.store(version.rawValue, ordering: .releasing) }
    func cancel() { state.store(Self.cancelled, ordering: .releasing) }
    func rollBack(_ births: Births) { self.births.withLock { $0 = births } }

    /// nil while it is open, and for good when it was cancelled.
    var committed: Version? {
        let value = state.load(ordering: .acquiring)
        return value == 0 || value == Self.cancelled ? nil : Version(value)
    }

    func isUndone(_ made: Made) -> Bool {
        births.withLock { $0?.areUndone(made.birth, made.table, made.key) ?? false }
    }
}
