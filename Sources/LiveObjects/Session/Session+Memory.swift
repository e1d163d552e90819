/// When a session lets go of the memory of pages that it has read.
import CMotteShim
import MotteStorage

extension Session {
    /// Where memory is wanted for other pages, forgets where values are and lets their memory go, but for what was lent
    /// since the call before: that may be an argument of this one. To be called at the beginning of a call or between
    /// two objects; does nothing in a group of writes, in callbacks, and where views live until the epoch moves.
    @inline(__always)
    package func releaseMemory() {
        if let frozenSources {
            guard viewsAreShort, let source = frozenSources.snapshotToRelease() else { return }
            return source.releaseMemory(butLatest: true)
        }
        guard let memoryClock, motte_shim_load64(memoryClock) != seenMemoryClock else { return }
        releaseWantedMemory()
    }

    @inline(never)
    private func releaseWantedMemory() {
        guard viewsAreShort, group == nil, isAsking == nil, hook?.isDelivering != true else { return }
        guard let memoryClock, let source: RowSource = write ?? snapshot else { return }
        seenMemoryClock = motte_shim_load64(memoryClock)
        guard source.isMemoryWanted else { return }
        forgetTables()
        source.releaseMemory(butLatest: true)
    }
}
