/// A value behind a lock, for a few instructions at a time. Not recursive.
///
/// Over pthread and not `Synchronization.Mutex`: that is a bare futex on Linux, which the thread sanitizer does not
/// know to be a lock, so that it takes what happens under one for a race.
import CMotteShim

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

package final class Locked<Value>: @unchecked Sendable {  // @unchecked: the value is only touched holding the lock
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var value: Value

    package init(_ value: Value) {
        self.value = value
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    /// One that lives as long as the process, as those of types do. A fork waits until it is free, so that the child
    /// can use it: the thread that held it would not be there to give it back.
    package convenience init(ofProcess value: Value) {
        self.init(value)
        motte_shim_keep_through_fork(mutex)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
