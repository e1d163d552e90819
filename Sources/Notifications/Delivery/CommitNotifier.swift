/// A thread per open file that waits for new versions, prepares what they changed for the observers
/// (`MovePreparation`), and tells the queues whose sessions are behind.
///
/// It runs from the first followed session (`FollowedSession`) to the last: `remove` of the last one ends it and waits
/// until it is gone: what it computes is ended like an interrupted query. It holds no lock while it sleeps or computes,
/// and of the sessions it touches only what these hand out.
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif
import CMotteShim
import MotteQueryEngine
import MotteStorage
import MotteValues
import Synchronization

final class CommitNotifier: @unchecked Sendable {  // @unchecked: the state is only touched holding 'state'
    // @unchecked: only touched holding the lock around it.
    private struct State: @unchecked Sendable {
        var sessions: [FollowedSession] = []
        var thread: pthread_t?
        /// Set for the thread that must end; a later one gets its own.
        var run: Run?
    }

    /// One life of the thread.
    private final class Run: Sendable {
        let database: Database
        let ending = Cancellation()
        /// Of what is computed.
        let control = QueryControl()
        let hasEnded = Atomic<Bool>(false)
        let forkGeneration = motte_shim_fork_generation()
        let sessions: @Sendable () -> [FollowedSession]

        init(_ database: Database, sessions: @escaping @Sendable () -> [FollowedSession]) {
            self.database = database
            self.sessions = sessions
        }
    }

    private let database: Database
    private let state = Locked(State())
    private static let known = WeakRegistry<ObjectIdentifier, CommitNotifier>()

    private init(_ database: Database) { self.database = database }

    deinit { Self.known.remove(ObjectIdentifier(database), self) }

    static func of(_ database: Database) -> CommitNotifier {
        known.object(ObjectIdentifier(database)) { CommitNotifier(database) }
    }

    func add(_ session: FollowedSession) throws(DatabaseError) {
        let failure = state.withLock { state -> Int32 in
            state.sessions.append(session)
            guard state.thread == nil else { return 0 }
            let run = Run(database) { [weak self] in self?.state.withLock { $0.sessions } ?? [] }
            var thread = pthread_t()
            // The host's signals are for its own threads; the new one begins with the mask of this one.
            var kept = sigset_t()
            motte_shim_block_signals(&kept)
            defer { motte_shim_restore_signals(&kept) }
            let failure = pthread_create(
                &thread, nil,
                { argument in
                    CommitNotifier.loop(argument)
                    return nil
                }, Unmanaged.passRetained(run).toOpaque())
            if failure == 0 {
                state.thread = thread
                state.run = run
            } else {
                Unmanaged.passUnretained(run).release()
                state.sessions.removeLast()
            }
            return failure
        }
        if failure != 0 {
            throw DatabaseError(.outOfMemory, "no thread for change notifications", systemError: failure)
        }
    }

    func remove(_ session: FollowedSession) {
        let ended = state.withLock { state -> (thread: pthread_t, run: Run)? in
            state.sessions.removeAll { $0 === session }
            guard state.sessions.isEmpty, let thread = state.thread, let run = state.run else { return nil }
            state.thread = nil
            state.run = nil
            return (thread, run)
        }
        guard let ended else { return }
        ended.run.ending.cancel()
        ended.run.control.end()
        ended.run.control.interrupt()
        // In a forked child there is no such thread.
        guard ended.run.forkGeneration == motte_shim_fork_generation() else { return }
        // One wake can come just before the thread goes to sleep, hence several. The signal is there for as long as the
        // file is open, which this keeps it.
        while let signal = try? database.signal(), !ended.run.hasEnded.load(ordering: .acquiring) {
            signal.wake()
            usleep(200)
        }
        pthread_join(ended.thread, nil)
    }

    private static func loop(_ argument: UnsafeMutableRawPointer?) {
        guard let argument else { return }
        let run = Unmanaged<Run>.fromOpaque(argument).takeRetainedValue()
        defer { run.hasEnded.store(true, ordering: .releasing) }
        let preparation = MovePreparation(run.database, ending: run.ending, run.control)
        // nil until the file could be read.
        var seen: Version?
        var isBehind = false
        while !run.ending.isCancelled {
            do throws(DatabaseError) {
                guard let last = seen else {
                    let first = try run.database.latestVersion()
                    seen = first
                    isBehind = preparation.tell(run.sessions(), first, isCalm: true)
                    continue
                }
                let newest = try run.database.signal().wait(
                    after: last, timeoutMilliseconds: isBehind ? MovePreparation.calmMilliseconds : -1,
                    cancellation: run.ending, cancellerWakes: true)
                guard newest != nil || isBehind, !run.ending.isCancelled else { continue }
                let version = newest ?? last
                seen = version
                isBehind = preparation.tell(run.sessions(), version, isCalm: newest == nil)
            } catch {
                // The file cannot be read just now; whoever refreshes gets the reason.
                usleep(100_000)
            }
        }
    }
}
