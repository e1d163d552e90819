/// Writes of one session that wait for their turn without holding anybody up, in the order they were asked for.
///
///  1. `add` takes a write, from any thread, and signals the session's queue.
///  2. A dispatch begins it where the session belongs, once nobody else is writing. While somebody is, a later dispatch
///     tries again; the queue's timeout says when at the latest. Each attempt has a little more patience than the one
///     before, so that it gets a place among those who wait.
///  3. All that wait when it begins run within that dispatch, each in a write of its own, and share one flush; each
///     `done` comes after it. Work that throws undoes its own write and no other. What work commits itself is durable
///     at its `done`.
///  4. What has not begun when the session closes never runs: it is only released.
import MotteLiveObjects
import MotteValues

package final class QueuedWrites: @unchecked Sendable {  // @unchecked: the queue is only woken
    package struct Write {
        let work: (Session) throws(DatabaseError) -> Bool
        let done: (Result<Version, DatabaseError>) throws(DatabaseError) -> Void

        /// `work` runs in the write, which it may end itself. It answers false, and has done nothing, if there is
        /// nobody left to run for: then `done` is not called. What that throws comes out of the dispatch.
        package init(
            work: @escaping (Session) throws(DatabaseError) -> Bool,
            done: @escaping (Result<Version, DatabaseError>) throws(DatabaseError) -> Void
        ) {
            self.work = work
            self.done = done
        }
    }

    // @unchecked: writes are handed from whoever adds them to the session's owner, one after the other.
    private struct State: @unchecked Sendable {
        var waiting: [(id: UInt64, write: Write)] = []
        var lastID: UInt64 = 0
        /// How often somebody else was writing.
        var refusals = 0
        var isEnded = false
    }

    private let state = Locked(State())
    private let queue: QueueBinding.Unowned
    /// Between two attempts.
    private static let pauseMilliseconds: Int64 = 2
    private static let mostPatience: Int64 = 20
    /// So that nobody else waits for long.
    private static let largestGroup = 64

    init(_ queue: QueueBinding.Unowned) { self.queue = queue }

    /// From any thread. Answers a number for `cancel`.
    @discardableResult
    package func add(_ write: Write) throws(DatabaseError) -> UInt64 {
        let id = try state.withLock { (state) throws(DatabaseError) in
            guard !state.isEnded else { throw Self.closed() }
            state.lastID += 1
            state.waiting.append((state.lastID, write))
            return state.lastID
        }
        queue.signal()
        return id
    }

    /// From any thread: true if it had not begun and now never will.
    package func cancel(_ id: UInt64) throws(DatabaseError) -> Bool {
        // Let go of outside the lock: what it holds may call back in here.
        let taken = try state.withLock { (state) throws(DatabaseError) in
            guard !state.isEnded else { throw Self.closed() }
            return state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0) }
        }
        return taken != nil
    }

    private static func closed() -> DatabaseError {
        DatabaseError(.closed, "this session has been closed; open the file again")
    }

    func end() {
        let left = state.withLock { state in
            state.isEnded = true
            let left = state.waiting
            state.waiting = []
            return left
        }
        withExtendedLifetime(left) {}
    }

    /// Until the next attempt: 0 when none was made yet, -1 when nothing waits.
    var pause: Int64 {
        state.withLock { $0.waiting.isEmpty ? -1 : $0.refusals == 0 ? 0 : Self.pauseMilliseconds }
    }

    /// Answers how many ran. What they add waits for the next dispatch, so that a loop has its turn.
    func run(_ session: Session, atMost limit: Int) throws(DatabaseError) -> Int {
        let limit = min(limit, state.withLock { $0.waiting.count })
        var ran = 0
        while ran < limit, pause >= 0, !session.isClosed, !session.isInWrite, !session.isInGroup {
            do throws(DatabaseError) {
                let patience = state.withLock { min(Int64($0.refusals), Self.mostPatience) }
                try session.beginGroup(timeoutMilliseconds: patience)
            } catch {
                if error.code == .timeout {
                    state.withLock { $0.refusals += 1 }
                    return ran
                }
                // Of the place from which it was dispatched, which is not the writes' fault.
                if error.code == .reentrant { throw error }
                guard let refused = next() else { return ran }
                ran += 1
                try refused.done(.failure(error))
                continue
            }
            ran += try runGroup(session, atMost: min(limit - ran, Self.largestGroup))
        }
        return ran
    }

    /// Those that wait, each in a write of its own, and one flush for all of them. The first error that is nobody's
    /// to be notified of comes last.
    private func runGroup(_ session: Session, atMost limit: Int) throws(DatabaseError) -> Int {
        var ran: [(write: Write, outcome: Result<Version, DatabaseError>)] = []
        var failure: DatabaseError?
        while ran.count < limit, failure == nil, session.isInGroup, !session.isGroupFull {
            do throws(DatabaseError) {
                try session.beginWrite()
            } catch {
                // A callback failed that was notified of the version before: the write itself is fine and stays first.
                // That is the cause; a session that was closed has no write left to cancel.
                if session.isInWrite { try? session.cancel() }
                failure = error
                continue
            }
            guard let write = next() else {
                // Nothing was done in it, so nothing is lost; the group ends as ever.
                try? session.cancel()
                break
            }
            guard let outcome = run(write, session) else { continue }
            ran.append((write, outcome))
        }
        var lost: DatabaseError?
        if session.isInGroup {
            do throws(DatabaseError) { try session.endGroup() } catch { lost = error }
        } else {
            // The session was closed by one of them, which flushed those before it.
            lost = DatabaseError(.inputOutput, "the session was closed and what it had written could not be flushed")
        }
        for (write, outcome) in ran {
            var outcome = outcome
            if case .success(let version) = outcome, let lost, version > session.flushedVersion {
                outcome = .failure(lost)
            }
            do throws(DatabaseError) { try write.done(outcome) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
        return ran.count
    }

    private func next() -> Write? {
        state.withLock { state in
            state.refusals = 0
            return state.waiting.isEmpty ? nil : state.waiting.removeFirst().write
        }
    }

    /// nil if it did not.
    private func run(_ write: Write, _ session: Session) -> Result<Version, DatabaseError>? {
        do throws(DatabaseError) {
            guard try write.work(session) else {
                if session.isInWrite { try session.cancel() }
                return nil
            }
            return .success(session.isInWrite ? try session.commit() : try session.version)
        } catch {
            // What failed before is the cause.
            if session.isInWrite { try? session.cancel() }
            return .failure(error)
        }
    }
}
