/// Which versions the observers of this process have seen, as a count per version, and the oldest of them.
///
/// An observer needs the change log from its position on, whether or not it pins that version; so the oldest position
/// over all processes is where trimming the log has to stop. Each process publishes its own oldest one in the sidecar.
import MotteValues

final class ObserverPositions: @unchecked Sendable {  // @unchecked: the state is only touched holding 'lock'
    private let lock = Lock()
    private var counts: [Version: Int] = [:]
    private var oldest: Version?
    private let publish: @Sendable (Version?) -> Void

    /// `publish` is called, one call at a time, when the oldest position changes.
    init(publish: @escaping @Sendable (Version?) -> Void) {
        self.publish = publish
    }

    func move(from old: Version?, to new: Version?) {
        guard old != new else { return }
        lock.lock()
        defer { lock.unlock() }
        if let new { counts[new, default: 0] += 1 }
        if let old, let count = counts[old] { counts[old] = count == 1 ? nil : count - 1 }
        let next: Version?
        if let oldest, counts[oldest] != nil {
            next = new.map { min($0, oldest) } ?? oldest
        } else {
            next = counts.keys.min()
        }
        guard next != oldest else { return }
        oldest = next
        publish(next)
    }

    var oldestPosition: Version? {
        lock.lock()
        defer { lock.unlock() }
        return oldest
    }
}

/// An observer's place: history from this version on is kept for it, until it advances or is released.
package final class ObserverSlot: @unchecked Sendable {  // @unchecked: the position is only touched holding 'lock'
    private let pages: any PageStorage
    private let lock = Lock()
    private var position: Version?

    init(_ pages: any PageStorage, at version: Version) {
        self.pages = pages
        position = version
        pages.beginUse()
        pages.observers.move(from: nil, to: version)
    }

    deinit {
        release()
    }

    package func move(to version: Version) {
        guard pages.isOfThisProcess else { return }
        lock.lock()
        defer { lock.unlock() }
        guard let position else { return }
        pages.observers.move(from: position, to: version)
        self.position = version
    }

    package func release() {
        guard pages.isOfThisProcess else { return }
        lock.lock()
        let last = position
        position = nil
        lock.unlock()
        guard let last else { return }
        pages.observers.move(from: last, to: nil)
        pages.endUse()
    }
}
