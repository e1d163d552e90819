/// The realms of other actors and queues that show the same file: whoever awaited a write may end their observations
/// next, and expects that they were notified of it.
import Dispatch
import Foundation
import MotteValues

enum OtherDeliveries {
    private struct Weak { weak var delivery: RealmDelivery? }
    private static let all = Locked<[ObjectIdentifier: Weak]>(ofProcess: [:])
    /// Whoever is busy for longer is notified when it comes to it.
    private static let patience = DispatchTimeInterval.milliseconds(50)

    static func note(_ delivery: RealmDelivery) {
        all.withLock { $0[ObjectIdentifier(delivery)] = Weak(delivery: delivery) }
    }
    static func forget(_ delivery: RealmDelivery) {
        all.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(delivery)) }
    }

    /// Returns when all of them have notified their observers, or after a moment.
    static func tell(of path: String, but own: RealmDelivery?) async {
        let others = all.withLock { $0.values.compactMap(\.delivery) }
            .filter { $0 !== own && $0.path.hasSameBytes(as: path) && $0.place.turns }
        guard !others.isEmpty else { return }
        await withCheckedContinuation { continuation in
            let rest = Rest(continuation)
            for other in others {
                rest.add()
                if !other.tell({ rest.arrive() }) { rest.arrive() }
            }
            if rest.arrive() { return }
            DispatchQueue.global().asyncAfter(deadline: .now() + patience) { rest.end() }
        }
    }

    /// Resumes a continuation once: when all have arrived or nobody waits for them any longer.
    private final class Rest: Sendable {
        private struct State: Sendable {
            var count = 1
            var continuation: CheckedContinuation<Void, Never>?
        }
        private let state: Locked<State>

        init(_ continuation: CheckedContinuation<Void, Never>) {
            state = Locked(State(continuation: continuation))
        }

        func add() { state.withLock { $0.count += 1 } }

        /// Whether it was the last one.
        @discardableResult
        func arrive() -> Bool {
            let isLast = state.withLock { state in
                state.count -= 1
                return state.count == 0
            }
            if isLast { end() }
            return isLast
        }

        func end() {
            let continuation = state.withLock { state in
                defer { state.continuation = nil }
                return state.continuation
            }
            continuation?.resume()
        }
    }
}

extension RealmSession {
    /// After a write that was awaited.
    func tellOthers() async { await OtherDeliveries.tell(of: session.path, but: delivery) }
}
