/// The right to commit, held by one user of the file at a time, over all threads and processes. Any thread may release
/// it; letting go of the object releases it too, and the death of the process does.
import CMotteShim
import MotteValues

package final class WriteLock: Sendable {
    /// nil once it is released.
    private let pages: Locked<(any PageStorage)?>
    private let forkGeneration = motte_shim_fork_generation()

    init(_ pages: any PageStorage) {
        self.pages = Locked(pages)
    }

    deinit {
        release()
    }

    /// Releasing twice is fine.
    package func release() {
        // A forked child has no part in its parent's lock.
        guard motte_shim_fork_generation() == forkGeneration else { return }
        let held = pages.withLock { pages in
            defer { pages = nil }
            return pages
        }
        guard let held else { return }
        held.releaseWriteLock()
        held.endUse()
    }

    package var isHeld: Bool { pages.withLock { $0 != nil } }

    func isFor(_ other: any PageStorage) -> Bool { pages.withLock { $0 === other } }
}
