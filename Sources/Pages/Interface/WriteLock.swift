/// The right to commit, held by one user of the file at a time, over all threads and processes. Any thread may release
/// it; letting go of the object releases it too, and the death of the process does.
import CMotteShim
import MotteValues

package final class WriteLock: @unchecked Sendable {  // @unchecked: the pages are only touched holding 'lock'
    private let lock = Lock()
    private var pages: (any PageStorage)?
    private let forkGeneration = motte_shim_fork_generation()

    init(_ pages: any PageStorage) {
        self.pages = pages
    }

    deinit {
        release()
    }

    /// Releasing twice is fine.
    package func release() {
        // A forked child has no part in its parent's lock.
        guard motte_shim_fork_generation() == forkGeneration else { return }
        lock.lock()
        let held = pages
        pages = nil
        lock.unlock()
        guard let held else { return }
        held.releaseWriteLock()
        held.endUse()
    }

    package var isHeld: Bool {
        lock.lock()
        defer { lock.unlock() }
        return pages != nil
    }

    func isFor(_ other: any PageStorage) -> Bool {
        lock.lock()
        defer { lock.unlock() }
        return pages === other
    }
}
