/// How a realm is notified of commits by others: the engine wakes it, and soon after, where the realm belongs, it
/// refreshes and runs the callbacks that wait. A thread's run loop, a serial queue or an actor has to turn for that.
import Dispatch
import Foundation
import MotteLiveObjects
import MotteNotifications
import MotteValues

package final class RealmDelivery: @unchecked Sendable {
    // @unchecked: `core` and `queue` are only used where the realm belongs; the rest is constant or behind a lock.
    private weak var core: RealmSession?
    private var queue: DeliveryQueue?
    let path: String
    let place: DeliveryOwner
    /// Somebody observes something of the realm, or did.
    private let isObserved = Locked(false)
    /// It was asked to tell its observers, and has not come to it.
    private let isAsked = Locked(false)

    init(_ core: RealmSession) throws(DatabaseError) {
        self.core = core
        path = core.session.path
        let place = core.place
        self.place = place
        let delivery = WeakDelivery()
        let queue = try DeliveryQueue(confinement: core.confinement.engine) {
            place.run { delivery.value?.dispatch() }
        }
        delivery.value = self
        try queue.bind(core.session)
        self.queue = queue
        OtherDeliveries.note(self)
    }

    deinit { OtherDeliveries.forget(self) }

    func noteObserver() { isObserved.withLock { $0 = true } }

    /// Tells its observers of the newest version, where the realm belongs. False where nobody observes, or it has not
    /// come to do so the last time.
    func tell(_ done: @escaping @Sendable () -> Void) -> Bool {
        guard isObserved.withLock({ $0 }),
            isAsked.withLock({ asked in
                defer { asked = true }
                return !asked
            })
        else { return false }
        place.run { [weak self] in
            self?.isAsked.withLock { $0 = false }
            self?.dispatch()
            done()
        }
        return true
    }

    fileprivate func dispatch() {
        guard let core, let queue, !core.session.isClosed else { return }
        attempt { () throws(DatabaseError) in
            if !core.autorefresh, try core.session.latestVersion > core.session.version {
                return core.tellRefreshRequired()
            }
            _ = try queue.dispatch()
        }
    }

    func end() { queue = nil }
}

/// For the engine's wake function, which must not keep the delivery alive.
private final class WeakDelivery: @unchecked Sendable {
    // @unchecked: set before the queue is bound to anything that wakes it.
    weak var value: RealmDelivery?
}

/// Where callbacks run.
package final class DeliveryOwner: @unchecked Sendable {
    // @unchecked: adding a timer to a run loop is what other threads may do to it.
    private let confinement: Confinement
    private let runLoop: RunLoop?

    /// Whether what is to be run there is run by itself, unless something else holds it up.
    var turns: Bool {
        switch confinement {
        case .thread: false
        case .main, .queue, .actor: true
        }
    }

    init(_ confinement: Confinement) {
        self.confinement = confinement
        switch confinement {
        case .thread: runLoop = RunLoop.current
        case .main: runLoop = Confinement.isMain ? RunLoop.current : RunLoop.main
        case .queue, .actor: runLoop = nil
        }
    }

    /// Answers what takes it back, where that would not run by itself.
    func runWhenItTurns(_ body: @escaping @Sendable () -> Void) -> (() -> Void)? {
        guard let runLoop else {
            confinement.run(body)
            return nil
        }
        if case .main = confinement { return MainTurn.run(body, runLoop) }
        let timer = Timer(timeInterval: 0, repeats: false) { _ in body() }
        runLoop.add(timer, forMode: .default)
        return { timer.invalidate() }
    }

    func run(_ body: @escaping @Sendable () -> Void) {
        if case .main = confinement, let runLoop {
            MainTurn.runOnce(body, runLoop)
        } else if let runLoop {
            // A timer wakes the loop; a block alone would wait for its next turn.
            runLoop.add(Timer(timeInterval: 0, repeats: false) { _ in body() }, forMode: .default)
        } else {
            confinement.run(body)
        }
    }
}

/// What waits for the main queue to turn, which a program may never let it: one block there, however many realms are
/// opened and closed meanwhile.
private enum MainTurn {
    private struct Waiting {
        var last = 0
        var bodies: [Int: @Sendable () -> Void] = [:]
        var isAsked = false
    }
    private static let waiting = Locked(ofProcess: Waiting())

    /// Answers what takes it back.
    static func run(_ body: @escaping @Sendable () -> Void, _ runLoop: RunLoop) -> () -> Void {
        let (id, isAsked) = waiting.withLock { waiting in
            defer { waiting.isAsked = true }
            waiting.last += 1
            waiting.bodies[waiting.last] = body
            return (waiting.last, waiting.isAsked)
        }
        if !isAsked { runOnce(turn, runLoop) }
        return { waiting.withLock { $0.bodies[id] = nil } }
    }

    /// By the main queue or the run loop of the main place, whichever turns first: a block on the main queue that turns
    /// its run loop holds up that queue, and others may never turn a loop.
    static func runOnce(_ body: @escaping @Sendable () -> Void, _ runLoop: RunLoop) {
        let once = Once(body)
        // A thread that ran the main queue for a while may turn its loop for somebody else.
        let timer = Timer(timeInterval: 0, repeats: false) { _ in if Confinement.isMain { once.run() } }
        once.timer = timer
        runLoop.add(timer, forMode: .default)
        DispatchQueue.main.async { once.run() }
    }

    /// Used by the main thread alone, or by the main queue where that is another one.
    private final class Once: @unchecked Sendable {  // @unchecked: set before it is shared; the rest is behind the lock
        private let body: @Sendable () -> Void
        private let isDone = Locked(false)
        var timer: Timer?

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }

        func run() {
            let isFirst = isDone.withLock { done in
                defer { done = true }
                return !done
            }
            guard isFirst else { return }
            timer?.invalidate()
            timer = nil
            body()
        }
    }

    @Sendable private static func turn() {
        let bodies = waiting.withLock { waiting in
            defer { (waiting.bodies, waiting.isAsked) = ([:], false) }
            return waiting.bodies
        }
        for body in bodies.values { body() }
    }
}

extension RealmSession {
    /// From now on this realm's run loop, queue or actor delivers.
    func startDelivery() throws(DatabaseError) {
        guard delivery == nil, !session.isFrozen else { return }
        delivery = try RealmDelivery(self)
    }

    /// Realms move to newer versions by themselves, observed or not, where something turns. A thread whose run loop
    /// does not is not notified of commits, and costs those who write nothing.
    func startDeliveryWhenItsPlaceTurns() {
        guard delivery == nil, !session.isFrozen else { return }
        deliveryStart?()
        deliveryStart = place.runWhenItTurns { [weak self] in
            guard let self else { return }
            deliveryStart = nil
            isDeliveryDue = true
            startDueDelivery()
            // What was committed before it listened.
            delivery?.dispatch()
        }
    }

    /// Not within a write, after which this is called.
    func startDueDelivery() {
        guard isDeliveryDue, !session.isClosed, !session.isInWrite, !session.isInGroup else { return }
        isDeliveryDue = false
        // Without it the realm is refreshed by hand; observers get the error.
        try? startDelivery()
    }

    /// There is a newer version that a realm without autorefresh does not move to by itself.
    func tellRefreshRequired() {
        refreshObservers.removeAll { $0.token == nil }
        for observer in refreshObservers { observer.block(.refreshRequired, Realm(self)) }
    }

    func tellWhenRefreshIsRequired(_ token: NotificationToken, _ block: @escaping NotificationBlock) {
        refreshObservers.append(RefreshObserver(token: token, block: block))
    }
}

package struct RefreshObserver {
    weak var token: NotificationToken?
    let block: NotificationBlock
}
