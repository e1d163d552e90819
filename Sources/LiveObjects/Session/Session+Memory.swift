/// When a session lets go of the memory of pages that it has read.
import CMotteShim
import MotteStorage

extension Session {
    /// Where memory is wanted for other pages, forgets where values are and lets their memory go. To be called where
    /// the caller uses nothing that the session has lent, at the beginning of a call or between two objects; does
    /// nothing in a write, in callbacks, in what is frozen, and where views live until the epoch moves.
    @inline(__always)
    package func releaseMemory() {
        guard let memoryClock, motte_shim_load64(memoryClock) != seenMemoryClock else { return }
        releaseWantedMemory()
    }

    @inline(never)
    private func releaseWantedMemory() {
        guard let snapshot, let memoryClock,
            viewsAreShort, write == nil, group == nil, !isFrozen, isAsking == nil, hook?.isDelivering != true
        else { return }
        seenMemoryClock = motte_shim_load64(memoryClock)
        guard snapshot.isMemoryWanted else { return }
        forgetTables()
        snapshot.releaseMemory()
    }
}
