/// Opening and writing without holding up a thread: completion handlers for threads and queues, `async` for actors.
///
/// A queued write waits for the write lock without blocking anybody: it tries again, and again a little later,
/// where the realm belongs. Those that wait together are written together: each is a transaction of its own, and one
/// flush makes all of them durable, after which their completion handlers are called.
import Dispatch
import Foundation
import MotteLiveObjects
import MotteValues

/// Writes of one realm that wait for their turn, in the order they were asked for.
package struct AsyncWrites {
    struct Pending {
        let id: AsyncTransactionId
        let block: () -> Void
        /// nil for a block that commits by itself.
        let onComplete: ((Swift.Error?) -> Void)?
        let commits: Bool
        /// Of a task, which is notified when it is taken back.
        var isAwaited = false
    }

    var pending: [Pending] = []
    /// Taken from there for the group under way, the next one last.
    var turn: [Pending] = []
    /// Completions of writes that the group under way has committed, or that ended without a commit.
    var grouped: [(version: Version, call: (Swift.Error?) -> Void)] = []
    /// The writers that a group takes at most, so that nobody else waits for long.
    static let largestGroup = 64
    var lastID: AsyncTransactionId = 0
    var isScheduled = false
    var isRunning = false
    /// Completions that have not been called yet.
    var completions: [AsyncTransactionId: (Swift.Error?) -> Void] = [:]

    var hasWaiting: Bool { !pending.isEmpty || !turn.isEmpty }

    /// False when it was running or had run.
    @discardableResult
    mutating func forget(_ id: AsyncTransactionId) -> Bool {
        let taken = (pending + turn).filter { $0.id == id }
        pending.removeAll { $0.id == id }
        turn.removeAll { $0.id == id }
        completions[id] = nil
        for write in taken where write.isAwaited { write.onComplete?(CancellationError()) }
        return !taken.isEmpty
    }
}

extension Realm {
    /// Queues a write: runs `block` in a write transaction once nobody else writes, on the owner of the realm, and
    /// commits it. Returns at once; writes that wait together share a flush, after which `onComplete` is called on the
    /// owner, with nil or with what failed. The answer names the write for ``cancelAsyncWrite(_:)``.
    @discardableResult
    public func writeAsync(
        _ block: @escaping () -> Void, onComplete: ((Swift.Error?) -> Void)? = nil
    ) -> AsyncTransactionId {
        core.enqueue(block, commits: true, onComplete)
    }

    /// Queues a write, as ``writeAsync(_:onComplete:)`` does, whose block ends the write transaction itself; one that
    /// it leaves open is rolled back.
    @discardableResult
    public func beginAsyncWrite(_ block: @escaping () -> Void) -> AsyncTransactionId {
        core.enqueue(block, commits: false, nil)
    }

    /// Commits now and reports later. With grouping, a write begun by `beginAsyncWrite` may become durable together
    /// with the ones that wait behind it, before which it is not reported.
    @discardableResult
    public func commitAsyncWrite(
        allowGrouping: Bool = false, _ onComplete: ((Swift.Error?) -> Void)? = nil
    ) -> AsyncTransactionId {
        guard isInWriteTransaction else {
            misuse("Can't commit a non-existing write transaction", .invalidInput)
            return 0
        }
        var failure: Swift.Error?
        do {
            if allowGrouping, core.session.isInGroup {
                try core.committing { core.noteCommit(try core.session.commit()) }
                if let onComplete { core.group(onComplete) }
                core.asyncWrites.lastID += 1
                return core.asyncWrites.lastID
            }
            try commitWrite()
        } catch {
            failure = error
        }
        return core.complete(onComplete, failure)
    }

    /// Takes back a write that has not begun, or the completion handler of one that has ended.
    public func cancelAsyncWrite(_ id: AsyncTransactionId) throws {
        core.asyncWrites.forget(id)
    }

    /// Whether a write waits for its turn, runs, or has a completion handler that was not called yet. False while only
    /// another realm writes.
    public var isPerformingAsynchronousWriteOperations: Bool {
        core.asyncWrites.hasWaiting || core.asyncWrites.isRunning || !core.asyncWrites.completions.isEmpty
    }

    // MARK: Actors

    /// Waits for the write lock without blocking the actor, runs `block` there and commits.
    @discardableResult
    public func asyncWrite<Result>(
        _isolation actor: isolated any Actor = #isolation, _ block: () throws -> Result
    ) async throws -> Result {
        guard core.confinement.isActor else {
            misuse("asyncWrite() can only be called on main thread or actor-isolated Realms", .invalidInput)
            return try write(block)
        }
        try Task.checkCancellation()
        let written = ActorWrite<Result>()
        try await withoutActuallyEscaping(block) { block in
            _ = actor
            let id = core.enqueue(schedules: false) {
                written.outcome = Swift.Result { try block() }
                if case .failure = written.outcome, isInWriteTransaction { cancelWrite() }
            } onComplete: { failure in
                written.failure = failure
                written.isDone = true
            }
            // Other tasks of this actor that are about to write come first, and are written together with this one.
            await Task.yield()
            var pause: UInt64 = 200_000
            while !written.isDone {
                core.runWrites()
                if written.isDone { break }
                do {
                    try await Task.sleep(nanoseconds: pause)
                } catch {
                    if core.asyncWrites.forget(id) { throw error }
                    // It has begun, and is waited for by others' time: a cancelled task does not sleep.
                    let rest = pause
                    // Nobody cancels that one.
                    await Task.detached { try? await Task.sleep(nanoseconds: rest) }.value
                }
                pause = min(pause * 2, 10_000_000)
            }
        }
        await core.tellOthers()
        if case .failure(let error) = written.outcome { throw error }
        if let failure = written.failure { throw failure }
        guard let outcome = written.outcome else { throw CancellationError() }
        return try outcome.get()
    }

    /// Advances to the newest version and delivers notifications; false when the realm showed that already, or the task
    /// is cancelled. A realm that is confined to no actor is misuse.
    @discardableResult
    public func asyncRefresh(_isolation: isolated any Actor = #isolation) async -> Bool {
        guard core.confinement.isActor else {
            misuse("asyncRefresh() can only be called on main thread or actor-isolated Realms", .invalidInput)
            return false
        }
        guard !Task.isCancelled else { return false }
        return refresh()
    }

    /// A realm of the calling actor. What takes long, such as a migration, is done on another thread before. Throws
    /// what opening throws.
    public static func open(
        configuration: Configuration = .defaultConfiguration, _isolation actor: isolated any Actor = #isolation,
        downloadBeforeOpen: OpenBehavior = .never
    ) async throws -> Realm {
        let prepared = try await Task.detached { try RealmOpening.prepare(configuration) }.value
        // It has no write open that closing could lose.
        defer { _ = try? prepared.close() }
        return Realm(try RealmOpening.open(configuration, .actor(actor)))
    }

    /// A realm of the main actor. What takes long, such as a migration, is done on another thread before. Throws what
    /// opening throws.
    @MainActor
    public init(
        configuration: Configuration = .defaultConfiguration, downloadBeforeOpen: OpenBehavior = .never
    ) async throws {
        let prepared = try await Task.detached { try RealmOpening.prepare(configuration) }.value
        // It has no write open that closing could lose.
        defer { _ = try? prepared.close() }
        self.init(try RealmOpening.open(configuration, .main))
    }

    /// A realm of an actor, which need not be the caller's. What takes long, such as a migration, is done on another
    /// thread before. Throws what opening throws.
    public init<A: Actor>(
        configuration: Configuration = .defaultConfiguration, actor: A, downloadBeforeOpen: OpenBehavior = .never
    ) async throws {
        let opened = try await Realm.open(configuration, on: actor)
        self.init(opened)
    }

    private static func open<A: Actor>(_ configuration: Configuration, on actor: isolated A) async throws
        -> RealmSession
    {
        let prepared = try await Task.detached { try RealmOpening.prepare(configuration) }.value
        // It has no write open that closing could lose.
        defer { _ = try? prepared.close() }
        return try RealmOpening.open(configuration, .actor(actor))
    }

    // MARK: Completion handlers

    /// An opening that `asyncOpen` began.
    public struct AsyncOpenTask: Sendable {
        let isCancelled = Locked(false)
        /// Keeps the callback from being called. What was begun goes on.
        public func cancel() { isCancelled.withLock { $0 = true } }
    }

    /// Opens in the background, then calls back on a serial queue, with a realm of that queue or with what failed.
    @discardableResult
    public static func asyncOpen(
        configuration: Configuration = .defaultConfiguration, callbackQueue: DispatchQueue = .main,
        callback: @escaping (Result<Realm, Swift.Error>) -> Void
    ) -> AsyncOpenTask {
        let task = AsyncOpenTask()
        asyncOpen(configuration, task, callbackQueue, callback)
        return task
    }

    /// Opens in the background once somebody subscribes, and publishes a realm of the main queue, or of the one that
    /// `receive(on:)` names.
    public static func asyncOpen(
        configuration: Configuration = .defaultConfiguration
    ) -> RealmPublishers.AsyncOpenPublisher { RealmPublishers.AsyncOpenPublisher(configuration, .main) }

    static func asyncOpen(
        _ configuration: Configuration, _ task: AsyncOpenTask, _ callbackQueue: DispatchQueue,
        _ callback: @escaping (Result<Realm, Swift.Error>) -> Void
    ) {
        // Called once, on its queue.
        nonisolated(unsafe) let callback = callback
        DispatchQueue.global().async {
            let prepared = Result { try RealmOpening.prepare(configuration) }
            callbackQueue.async {
                if task.isCancelled.withLock({ $0 }) { return }
                callback(
                    prepared.flatMap { prepared in
                        // It has no write open that closing could lose.
                        defer { _ = try? prepared.close() }
                        return Result { Realm(try RealmOpening.open(configuration, .queue(callbackQueue))) }
                    })
            }
        }
    }
}

/// A write that a task waits for.
private final class ActorWrite<Output> {
    var outcome: Swift.Result<Output, Swift.Error>?
    var failure: Swift.Error?
    var isDone = false
}

extension RealmSession {
    /// False when somebody else is writing.
    private func tryBeginGroup() throws -> Bool {
        do throws(DatabaseError) {
            try session.beginGroup(timeoutMilliseconds: 0)
            return true
        } catch {
            if error.code == .timeout || error.code == .busy { return false }
            throw Realm.Error(error, path: session.path)
        }
    }

    func enqueue(
        _ block: @escaping () -> Void, commits: Bool, _ onComplete: ((Swift.Error?) -> Void)?
    ) -> AsyncTransactionId {
        guard !session.isFrozen, !configuration.readOnly else {
            misuse("Can't perform transactions on a frozen or read-only Realm", .invalidInput)
            return 0
        }
        let id = enqueue(schedules: true, commits: commits, block, onComplete: onComplete)
        return id
    }

    func enqueue(
        schedules: Bool, commits: Bool = true, _ block: @escaping () -> Void, onComplete: ((Swift.Error?) -> Void)?
    ) -> AsyncTransactionId {
        asyncWrites.lastID += 1
        let id = asyncWrites.lastID
        asyncWrites.pending.append(
            .init(id: id, block: block, onComplete: onComplete, commits: commits, isAwaited: !schedules))
        if schedules { schedule(afterMilliseconds: 0) }
        return id
    }

    /// The completion handler is called from the realm's loop, never from within the commit.
    func complete(_ onComplete: ((Swift.Error?) -> Void)?, _ failure: Swift.Error?) -> AsyncTransactionId {
        asyncWrites.lastID += 1
        let id = asyncWrites.lastID
        guard let onComplete else { return id }
        asyncWrites.completions[id] = onComplete
        place.run {
            self.asyncWrites.completions[id]?(failure)
            self.asyncWrites.completions[id] = nil
        }
        return id
    }

    /// What has not begun is dropped, which those who wait for it are notified; observers are notified of what was
    /// committed.
    func endAsyncWrites() {
        let dropped = asyncWrites.pending + asyncWrites.turn.reversed()
        asyncWrites.pending = []
        asyncWrites.turn = []
        let completions = asyncWrites.completions.sorted { $0.key < $1.key }
        asyncWrites.completions = [:]
        for completion in completions { completion.value(nil) }
        let failure = Realm.Error(.fail, "The Realm was invalidated before the write could begin", path: session.path)
        for write in dropped { write.onComplete?(failure) }
    }

    private func schedule(afterMilliseconds delay: Int) {
        guard !asyncWrites.isScheduled else { return }
        asyncWrites.isScheduled = true
        let place = place
        let turn: @Sendable () -> Void = {
            self.asyncWrites.isScheduled = false
            self.runWrites()
        }
        if delay == 0 {
            place.run(turn)
        } else {
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(delay)) { place.run(turn) }
        }
    }

    /// Writes what waits, as one group, when the write lock is free.
    func runWrites() {
        guard asyncWrites.hasWaiting, !asyncWrites.isRunning else { return }
        if session.isInWrite || session.isInGroup { return schedule(afterMilliseconds: 1) }
        var ended: [() -> Void] = []
        do {
            guard try tryBeginGroup() else { return schedule(afterMilliseconds: 2) }
            asyncWrites.isRunning = true
            asyncWrites.turn = asyncWrites.pending.prefix(AsyncWrites.largestGroup).reversed()
            asyncWrites.pending.removeFirst(asyncWrites.turn.count)
            // A block that commits for good ends the group; what is left then is the beginning of the next.
            while session.isInGroup, !session.isGroupFull, let next = asyncWrites.turn.popLast() {
                if let call = run(next) { ended.append(call) }
            }
            asyncWrites.pending.insert(contentsOf: asyncWrites.turn.reversed(), at: 0)
            asyncWrites.turn = []
            let failure = session.isInGroup ? finishGroup() : nil
            ended += takeGrouped(failure).map { completion in { completion.call(completion.failure) } }
        } catch {
            // The engine cannot be written to: as if it were this one's turn alone.
            guard let failed = asyncWrites.pending.first else { return }
            asyncWrites.pending.removeFirst()
            asyncWrites.isRunning = true
            ended.append { if let onComplete = failed.onComplete { onComplete(error) } else { misuse(error) } }
        }
        for call in ended { call() }
        asyncWrites.isRunning = false
        startDueDelivery()
        if asyncWrites.hasWaiting { schedule(afterMilliseconds: 0) }
    }

    /// Answers the completion of one that failed by itself.
    private func run(_ write: AsyncWrites.Pending) -> (() -> Void)? {
        var failure: Swift.Error?
        do {
            try translating(session.path) { try session.beginWrite() }
            write.block()
            if session.isInWrite, write.commits {
                try translating(session.path) { noteCommit(try session.commit()) }
            }
        } catch {
            failure = error
        }
        // What the block failed with is the cause; a session that it closed has no write left.
        if session.isInWrite { _ = try? session.cancel() }
        guard let onComplete = write.onComplete else { return nil }
        if let failure { return { onComplete(failure) } }
        // Ended for good by the block itself, or to be known with the group.
        guard session.isInGroup else { return { onComplete(nil) } }
        group(onComplete)
        return nil
    }

    fileprivate func group(_ onComplete: @escaping (Swift.Error?) -> Void) {
        // The session is open and here: it is in a group.
        asyncWrites.grouped.append(((try? session.version) ?? Version(0), onComplete))
    }

    /// Completions of the group that has ended, with the outcome of each.
    private func takeGrouped(_ failure: Swift.Error?) -> [(call: (Swift.Error?) -> Void, failure: Swift.Error?)] {
        // Of a session that was closed nothing is shown: each completion gets the failure.
        let shown = (try? session.version) ?? Version(0)
        defer { asyncWrites.grouped = [] }
        // Large writes may have been flushed before the others.
        return asyncWrites.grouped.map { ($0.call, $0.version > shown ? failure : nil) }
    }

    /// After a commit that reports nothing later: ends the group that it was made in.
    func makeDurable() throws {
        guard session.isInGroup else { return }
        let failure = finishGroup()
        for completion in takeGrouped(failure) { _ = complete(completion.call, completion.failure) }
        if let failure { throw failure }
    }

    /// Flushes; answers why nothing of the group is there.
    func finishGroup() -> Swift.Error? {
        isCommitting = true
        defer { isCommitting = false }
        do throws(DatabaseError) {
            try session.endGroup()
            return nil
        } catch {
            return Realm.Error(error, path: session.path)
        }
    }
}
