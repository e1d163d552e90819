/// Reading ahead of writing: a thread of its own turns text into batches of rows while the caller's thread, which has
/// the session, writes the ones before.
///
/// What is read is the same either way, in the same order, and a mistake in the text is thrown when everything before
/// its batch has been written, as without the thread. A few batches go round, so that memory is bounded; the thread has
/// ended when `run` returns or throws.
import MotteValues

/// Turns text into rows. Knows nothing of the store where it reads ahead.
protocol RowReader: AnyObject {
    /// Appends the rows that follow to a batch without rows; false when there are no more.
    func fill(_ rows: PendingRows) throws(DatabaseError) -> Bool
}

enum ReadAhead {
    /// Bytes of text below which a thread costs more than it saves.
    static let worthwhile = 1 << 18
    /// One is filled, one is written, and one waits so that neither has to.
    static let batches = 3
    /// Batches of fewer rows would be passed on too often.
    private static let smallestBatch = 64

    /// Whether a text of that size is read by a thread of its own; `threshold` is `worthwhile`, but for tests.
    static func pays(bytes: Int, from threshold: Int, batchRows: Int) -> Bool {
        guard bytes >= threshold else { return false }
        return threshold < worthwhile || (batchRows >= smallestBatch && WorkThread.processors > 1)
    }

    /// Reads everything; `write` gets each batch on this thread. With one batch there is no other thread.
    static func run(
        _ reader: any RowReader, _ batches: [PendingRows], write: (PendingRows) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let rowHandoff = RowHandoff(reader, batches)
        guard batches.count > 1, let thread = rowHandoff.start() else {
            guard let rows = batches.first else { return }
            while try reader.fill(rows) {
                try write(rows)
                rows.forget()
            }
            try write(rows)
            return rows.forget()
        }
        defer {
            rowHandoff.abandon()
            thread.join()
        }
        while let (rows, failure, isLast) = rowHandoff.takeFilled() {
            if let failure { throw failure }
            try write(rows)
            rows.forget()
            if isLast { return }
            rowHandoff.giveBack(rows)
        }
    }

    /// @unchecked: a batch belongs to the thread that took it out of a list, the reader to the thread that was started.
    private final class RowHandoff: @unchecked Sendable {
        private typealias Filled = (rows: PendingRows, failure: DatabaseError?, isLast: Bool)

        private struct Batches {
            var empty: [PendingRows]
            var filled: [Filled] = []
            var isAbandoned = false
        }

        private let reader: any RowReader
        /// There is one thread on each side, and never do both find nothing.
        private let batches: LockedSignal<Batches>

        init(_ reader: any RowReader, _ batches: [PendingRows]) {
            self.reader = reader
            self.batches = LockedSignal(Batches(empty: batches))
        }

        /// nil where the system has no thread to give.
        func start() -> WorkThread? { WorkThread { self.readAll() } }

        private func readAll() {
            while let rows = takeEmpty() {
                var failure: DatabaseError?
                var goesOn = false
                do throws(DatabaseError) { goesOn = try reader.fill(rows) } catch { failure = error }
                batches.change { $0.filled.append((rows, failure, !goesOn)) }
                if !goesOn { return }
            }
        }

        private func takeEmpty() -> PendingRows? {
            batches.wait(until: { $0.isAbandoned || !$0.empty.isEmpty }) { batches in
                batches.isAbandoned ? nil : batches.empty.removeLast()
            }
        }

        func takeFilled() -> (rows: PendingRows, failure: DatabaseError?, isLast: Bool)? {
            batches.wait(until: { !$0.filled.isEmpty }) { $0.filled.removeFirst() }
        }

        func giveBack(_ rows: PendingRows) { batches.change { $0.empty.append(rows) } }

        /// The thread ends when it has filled what it is filling.
        func abandon() { batches.change { $0.isAbandoned = true } }
    }
}
