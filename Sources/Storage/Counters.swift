/// What the engine has done, counted in batches: how tests and users see that a query was lazy, used an index, or that
/// a notification was patched rather than run again.
///
/// One per open file and process, shared by its sessions; any thread.
import Synchronization

package final class Counters: Sendable {
    package let chunksDecoded = Atomic<UInt64>(0)
    package let rowsEvaluated = Atomic<UInt64>(0)
    package let fullReruns = Atomic<UInt64>(0)
    /// Moves of observed queries that were there already, worked out by the notifier or for another observer.
    package let movesTaken = Atomic<UInt64>(0)
    package let logRecordsRead = Atomic<UInt64>(0)
    package let indexLookups = Atomic<UInt64>(0)

    package init() {}

    package struct Reading: Equatable, Sendable {
        package var chunksDecoded: UInt64
        package var rowsEvaluated: UInt64
        package var fullReruns: UInt64
        package var movesTaken: UInt64
        package var logRecordsRead: UInt64
        package var indexLookups: UInt64
    }

    package func read() -> Reading {
        Reading(
            chunksDecoded: chunksDecoded.load(ordering: .relaxed),
            rowsEvaluated: rowsEvaluated.load(ordering: .relaxed),
            fullReruns: fullReruns.load(ordering: .relaxed), movesTaken: movesTaken.load(ordering: .relaxed),
            logRecordsRead: logRecordsRead.load(ordering: .relaxed),
            indexLookups: indexLookups.load(ordering: .relaxed))
    }

    package func add(chunksDecoded count: Int) { chunksDecoded.wrappingAdd(UInt64(count), ordering: .relaxed) }
    package func add(rowsEvaluated count: Int) { rowsEvaluated.wrappingAdd(UInt64(count), ordering: .relaxed) }
    package func add(fullReruns count: Int) { fullReruns.wrappingAdd(UInt64(count), ordering: .relaxed) }
    package func add(movesTaken count: Int) { movesTaken.wrappingAdd(UInt64(count), ordering: .relaxed) }
    package func add(logRecordsRead count: Int) { logRecordsRead.wrappingAdd(UInt64(count), ordering: .relaxed) }
    package func add(indexLookups count: Int) { indexLookups.wrappingAdd(UInt64(count), ordering: .relaxed) }
}
