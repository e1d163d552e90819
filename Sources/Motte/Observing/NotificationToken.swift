/// Keeps an observation alive: release or invalidate it, and it notifies no longer. Invalidation may come from any
/// thread.
import Foundation
import MotteLiveObjects
import MotteNotifications
import MotteValues

/// An observation; it ends when this is let go or invalidated, from any thread.
public class NotificationToken: @unchecked Sendable {
    // @unchecked: everything is set before anybody else sees it, but for `parts`, which is behind its lock.
    private struct Parts {
        var observations: [Observation] = []
        var keepsAlive: [AnyObject] = []
        weak var core: RealmSession?
        var whenInvalidated: (@Sendable () -> Void)?
        var isInvalidated = false
    }

    private struct Box: @unchecked Sendable { var parts = Parts() }  // @unchecked: only touched holding the lock
    private let parts = Locked(Box())

    /// A token that observes nothing: what `observe` returns after misuse.
    public init() {}

    package convenience init(_ observation: Observation, _ core: RealmSession) {
        self.init()
        parts.withLock {
            $0.parts.observations = [observation]
            $0.parts.core = core
            // What is observed stays open for as long as somebody listens.
            $0.parts.keepsAlive = [core]
        }
    }

    /// For observations that are not the engine's, or are begun elsewhere.
    package convenience init(keeping objects: [AnyObject], _ end: @escaping @Sendable () -> Void) {
        self.init()
        parts.withLock {
            $0.parts.keepsAlive = objects
            $0.parts.whenInvalidated = end
        }
    }

    /// Several observations as one.
    package convenience init(_ tokens: [NotificationToken]) {
        self.init()
        let observations = tokens.flatMap(\.observations)
        let core = tokens.lazy.compactMap { $0.parts.withLock { $0.parts.core } }.first
        parts.withLock {
            $0.parts.observations = observations
            $0.parts.core = core
            $0.parts.keepsAlive = tokens
        }
    }

    deinit { _ = end() }

    /// Ends the observation, from any thread: no call of its callback begins after this. One that is running on another
    /// thread is not waited for. False when it had ended before.
    @discardableResult
    public func invalidate() -> Bool { end() }

    /// The older name of ``invalidate()``.
    @available(*, deprecated, renamed: "invalidate()")
    public func stop() { _ = end() }

    private func end() -> Bool {
        let last = parts.withLock { box -> Parts in
            let last = box.parts
            box.parts.observations = []
            box.parts.keepsAlive = []
            box.parts.whenInvalidated = nil
            box.parts.isInvalidated = true
            return last
        }
        for observation in last.observations { observation.stop() }
        last.whenInvalidated?()
        return !last.isInvalidated
    }

    // MARK: For the realm

    var observations: [Observation] { parts.withLock { $0.parts.observations } }
    func belongs(to core: RealmSession) -> Bool { parts.withLock { $0.parts.core === core } }

    /// An observation that was begun after the token was handed out; false when the token has ended meanwhile.
    package func adopt(_ other: NotificationToken) -> Bool {
        let isTaken = parts.withLock { box -> Bool in
            guard !box.parts.isInvalidated else { return false }
            box.parts.keepsAlive.append(other)
            return true
        }
        return isTaken
    }
}
