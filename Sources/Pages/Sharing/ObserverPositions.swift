/// Which versions the observers of this process have seen, as a count per version, and the oldest of them.
///
/// An observer needs the change log from its position on, whether or not it pins that version; so the oldest position
/// over all processes is where trimming the log has to stop. Each process publishes its own oldest one in the sidecar.
import MotteValues

final class ObserverPositions: Sendable {
    private struct State {
        var counts: [Version: Int] = [:]
        var oldest: Version?
    }

    private let state = Locked(State())
    private let publish: @Sendable (Version?) -> Void

    /// `publish` is called, one call at a time, when the oldest position changes.
    init(publish: @escaping @Sendable (Version?) -> Void) {
        self.publish = publish
    }

    func move(from old: Version?, to new: Version?) {
        guard old != new else { return }
        state.withLock { state in
            if let new { state.counts[new, default: 0] += 1 }
            if let old, let count = state.counts[old] { state.counts[old] = count == 1 ? nil : count - 1 }
            let next: Version?
            if let oldest = state.oldest, state.counts[oldest] != nil {
                next = new.map { min($0, oldest) } ?? oldest
            } else {
                next = state.counts.keys.min()
            }
            guard next != state.oldest else { return }
            state.oldest = next
            publish(next)
        }
    }

    var oldestPosition: Version? { state.withLock { $0.oldest } }
}

/// An observer's place: history from this version on is kept for it, until it advances or is released.
package final class ObserverSlot: Sendable {
    private let pages: any PageStorage
    /// nil once it is released.
    private let position: Locked<Version?>

    init(_ pages: any PageStorage, at version: Version) {
        self.pages = pages
        position = Locked(version)
        pages.beginUse()
        pages.observers.move(from: nil, to: version)
    }

    deinit {
        release()
    }

    package func move(to version: Version) {
        guard pages.isOfThisProcess else { return }
        position.withLock { position in
            guard let old = position else { return }
            pages.observers.move(from: old, to: version)
            position = version
        }
    }

    package func release() {
        guard pages.isOfThisProcess else { return }
        let last = position.withLock { position in
            defer { position = nil }
            return position
        }
        guard let last else { return }
        pages.observers.move(from: last, to: nil)
        pages.endUse()
    }
}
