/// Keeps an observation alive: it ends with `invalidate()` or when the token goes.
import MotteNotifications

public final class NotificationToken {
    private let observation: Observation
    private let session: RealmSession

    init(_ observation: Observation, keeping session: RealmSession) {
        self.observation = observation
        self.session = session
    }

    /// From any thread.
    public func invalidate() { _ = observation.stop() }

    deinit { _ = observation.stop() }
}
