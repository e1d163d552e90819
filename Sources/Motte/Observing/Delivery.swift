/// How a realm hears of commits by others: the engine wakes it, and soon after, where the realm belongs, it refreshes
/// and runs the callbacks that wait. A thread's run loop, a serial queue or an actor has to turn for that.
import Dispatch
import Foundation
import MotteLiveObjects
import MotteNotifications
import MotteValues

package final class RealmDelivery: @unchecked Sendable {
    // @unchecked: `core` and `queue` are only used where the realm belongs.
    private weak var core: RealmSession?
    private var queue: DeliveryQueue?

    init(_ core: RealmSession) throws(DatabaseError) {
        self.core = core
        let place = core.place
        let delivery = WeakDelivery()
        let queue = try DeliveryQueue(confinement: core.confinement.engine) {
            place.run { delivery.value?.dispatch() }
        }
        delivery.value = self
        try queue.bind(core.session)
        self.queue = queue
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
package final class DeliveryPlace: @unchecked Sendable {
    // @unchecked: adding a timer to a run loop is what other threads may do to it.
    private let confinement: Confinement
    private let runLoop: RunLoop?

    init(_ confinement: Confinement) {
        self.confinement = confinement
        if case .thread = confinement { runLoop = RunLoop.current } else { runLoop = nil }
    }

    func run(_ body: @escaping @Sendable () -> Void) {
        if let runLoop {
            // A timer wakes the loop; a block alone would wait for its next turn.
            runLoop.add(Timer(timeInterval: 0, repeats: false) { _ in body() }, forMode: .default)
        } else {
            confinement.run(body)
        }
    }
}

extension RealmSession {
    /// From now on this realm's run loop, queue or actor delivers.
    func startDelivery() throws(DatabaseError) {
        guard delivery == nil, !session.isFrozen else { return }
        delivery = try RealmDelivery(self)
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
