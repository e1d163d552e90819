/// Opening and writing without holding up a thread: completion handlers for threads and queues, `async` for actors.
///
/// A queued write waits for the writer's place without blocking anybody: it tries again, and again a little later,
/// where the realm belongs.
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
    }

    var pending: [Pending] = []
    var lastID: AsyncTransactionId = 0
    var isScheduled = false
    var isRunning = false
    /// Completions that have not been called yet.
    var completions: [AsyncTransactionId: (Swift.Error?) -> Void] = [:]
}

extension Realm {
    /// Runs `block` in a write transaction as soon as it is this realm's turn, and commits it.
    @discardableResult
    public func writeAsync(
        _ block: @escaping () -> Void, onComplete: ((Swift.Error?) -> Void)? = nil
    ) -> AsyncTransactionId {
        core.enqueue(block, commits: true, onComplete)
    }

    /// Runs `block` in a write transaction, which it ends by itself; one left open is rolled back.
    @discardableResult
    public func beginAsyncWrite(_ block: @escaping () -> Void) -> AsyncTransactionId {
        core.enqueue(block, commits: false, nil)
    }

    /// Commits now and reports later.
    @discardableResult
    public func commitAsyncWrite(
        allowGrouping: Bool = false, _ onComplete: ((Swift.Error?) -> Void)? = nil
    ) -> AsyncTransactionId {
        guard isInWriteTransaction else {
            misuse("Can't commit a non-existing write transaction", .invalidInput)
            return 0
        }
        var failure: Swift.Error?
        do { try commitWrite() } catch { failure = error }
        return core.complete(onComplete, failure)
    }

    /// Takes back a write that has not begun, or the completion handler of one that has ended.
    public func cancelAsyncWrite(_ id: AsyncTransactionId) throws {
        core.asyncWrites.pending.removeAll { $0.id == id }
        core.asyncWrites.completions[id] = nil
    }

    public var isPerformingAsynchronousWriteOperations: Bool {
        !core.asyncWrites.pending.isEmpty || core.asyncWrites.isRunning || !core.asyncWrites.completions.isEmpty
    }

    // MARK: Actors

    /// Waits for the writer's place without blocking the actor, runs `block` there and commits.
    @discardableResult
    public func asyncWrite<Result>(
        _isolation actor: isolated any Actor = #isolation, _ block: () throws -> Result
    ) async throws -> Result {
        guard core.confinement.isActor else {
            misuse("asyncWrite() can only be called on main thread or actor-isolated Realms", .invalidInput)
            return try write(block)
        }
        var pause: UInt64 = 200_000
        while true {
            try Task.checkCancellation()
            if try core.tryBeginWrite() { break }
            try await Task.sleep(nanoseconds: pause)
            pause = min(pause * 2, 10_000_000)
        }
        do {
            let result = try block()
            if isInWriteTransaction { try commitWrite() }
            return result
        } catch {
            if isInWriteTransaction { cancelWrite() }
            throw error
        }
    }

    /// Moves to the newest version; false when it was there already, or the task is cancelled.
    @discardableResult
    public func asyncRefresh(_isolation: isolated any Actor = #isolation) async -> Bool {
        guard core.confinement.isActor else {
            misuse("asyncRefresh() can only be called on main thread or actor-isolated Realms", .invalidInput)
            return false
        }
        guard !Task.isCancelled else { return false }
        return refresh()
    }

    /// A realm of the calling actor; what takes long is done elsewhere.
    public static func open(
        configuration: Configuration = .defaultConfiguration, _isolation actor: isolated any Actor = #isolation,
        downloadBeforeOpen: OpenBehavior = .never
    ) async throws -> Realm {
        let prepared = try await Task.detached { try RealmOpening.prepare(configuration) }.value
        defer { _ = try? prepared.close() }
        return Realm(try RealmOpening.open(configuration, .actor(actor)))
    }

    @MainActor
    public init(
        configuration: Configuration = .defaultConfiguration, downloadBeforeOpen: OpenBehavior = .never
    ) async throws {
        let prepared = try await Task.detached { try RealmOpening.prepare(configuration) }.value
        defer { _ = try? prepared.close() }
        self.init(try RealmOpening.open(configuration, .main))
    }

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
        defer { _ = try? prepared.close() }
        return try RealmOpening.open(configuration, .actor(actor))
    }

    // MARK: Completion handlers

    /// An opening under way.
    public struct AsyncOpenTask: Sendable {
        let isCancelled = Locked(false)
        /// The callback is not called after this.
        public func cancel() { isCancelled.withLock { $0 = true } }
    }

    /// Opens in the background and calls back on a queue with a realm of that queue.
    @discardableResult
    public static func asyncOpen(
        configuration: Configuration = .defaultConfiguration, callbackQueue: DispatchQueue = .main,
        callback: @escaping (Result<Realm, Swift.Error>) -> Void
    ) -> AsyncOpenTask {
        let task = AsyncOpenTask()
        asyncOpen(configuration, task, callbackQueue, callback)
        return task
    }

    /// Opens in the background for whoever subscribes.
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
                        defer { _ = try? prepared.close() }
                        return Result { Realm(try RealmOpening.open(configuration, .queue(callbackQueue))) }
                    })
            }
        }
    }
}

extension RealmSession {
    /// False when somebody else is writing.
    func tryBeginWrite() throws -> Bool {
        do throws(DatabaseError) {
            try session.beginWrite(timeoutMilliseconds: 0)
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
        asyncWrites.lastID += 1
        let id = asyncWrites.lastID
        asyncWrites.pending.append(.init(id: id, block: block, onComplete: onComplete, commits: commits))
        schedule(afterMilliseconds: 0)
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

    /// What has not begun is forgotten; what was committed is told.
    func endAsyncWrites() {
        asyncWrites.pending = []
        let completions = asyncWrites.completions.sorted { $0.key < $1.key }
        asyncWrites.completions = [:]
        for completion in completions { completion.value(nil) }
    }

    private func schedule(afterMilliseconds delay: Int) {
        guard !asyncWrites.isScheduled else { return }
        asyncWrites.isScheduled = true
        let place = place
        let turn: @Sendable () -> Void = { self.runNextWrite() }
        if delay == 0 {
            place.run(turn)
        } else {
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(delay)) { place.run(turn) }
        }
    }

    private func runNextWrite() {
        asyncWrites.isScheduled = false
        guard !asyncWrites.pending.isEmpty, !asyncWrites.isRunning else { return }
        if session.isInWrite { return schedule(afterMilliseconds: 1) }
        do {
            guard try tryBeginWrite() else { return schedule(afterMilliseconds: 2) }
        } catch {
            let failed = asyncWrites.pending.removeFirst()
            asyncWrites.isRunning = true
            if let onComplete = failed.onComplete { onComplete(error) } else { misuse(error) }
            asyncWrites.isRunning = false
            if !asyncWrites.pending.isEmpty { schedule(afterMilliseconds: 0) }
            return
        }
        let next = asyncWrites.pending.removeFirst()
        asyncWrites.isRunning = true
        next.block()
        var failure: Swift.Error?
        if session.isInWrite {
            if next.commits {
                do { try Realm(self).commitWrite() } catch { failure = error }
                if failure != nil, session.isInWrite { _ = try? session.cancel() }
            } else {
                _ = try? session.cancel()
            }
        }
        next.onComplete?(failure)
        asyncWrites.isRunning = false
        if !asyncWrites.pending.isEmpty { schedule(afterMilliseconds: 0) }
    }
}
