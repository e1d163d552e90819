/// A mutual exclusion lock for a few instructions at a time. Not recursive. What it guards stands next to it.
///
/// A lock and not a closure: bodies that throw typed errors and touch C pointers read better between `lock()` and a
/// deferred `unlock()`.
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

final class Lock: @unchecked Sendable {  // @unchecked: the mutex is made for being shared
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init() {
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    @inline(__always) func lock() { pthread_mutex_lock(mutex) }
    @inline(__always) func unlock() { pthread_mutex_unlock(mutex) }
}
