/// Looking after a write while it goes on: everything it consists of, from time to time in debug builds, and whenever a
/// test asks.
import MotteValues

extension WriteTransaction {
    /// Rows, indexes and the change record of everything that this write has touched; throws what is broken.
    package func checkInvariants(counting: Bool = true) throws(DatabaseError) {
        for writer in writers.all {
            try writer.directory.checkInvariants()
            try writer.checkInvariants(counting: counting)
        }
        for (_, delta) in deltas { try delta.checkInvariants() }
        for (_, pending) in pendingIndexes { try pending.writer.checkInvariants() }
        try recorder.checkInvariants()
    }

    /// Debug builds look at the end of each write, and after the changes of a write whose number is a power of two: as
    /// often as there are bits in it, so that a long write takes hardly longer.
    @inline(__always)
    func lookAfter() {
        #if DEBUG
        if changeCount & (changeCount &- 1) == 0, changeCount > 0 { assertInvariants() }
        #endif
    }

    /// A write that could not be undone to a savepoint is known to be broken, and pages that cannot be read are not
    /// ours.
    func assertInvariants() {
        #if DEBUG
        guard undo.failure == nil, undo.incompleteness == nil, migration == nil else { return }
        do throws(DatabaseError) { try checkInvariants(counting: false) } catch {
            if error.code == .internal { assertionFailure(error.message) }
        }
        #endif
    }
}
