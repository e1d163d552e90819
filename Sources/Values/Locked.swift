/// A value behind a lock, for a few instructions at a time, and one that threads can wait on. Not recursive. The only
/// ways to lock in this process (tidy holds that), so that all of them are known to the thread sanitizer and to forks.
///
/// Over pthread and not `Synchronization.Mutex`: that is a bare futex on Linux, which the thread sanitizer does not
/// know to be a lock, so that it takes what happens under one for a race.
import CMotteShim

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Public, and nothing else here is: what is only `package` is not inlined into other modules, and a call of a generic
/// function costs more than taking a free lock.
public final class Locked<Value>: @unchecked Sendable {  // @unchecked: the value is only touched holding the lock
    @usableFromInline let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    /// Unchecked: the lock is what makes access exclusive; who takes it twice waits for ever.
    @exclusivity(unchecked) @usableFromInline var value: Value

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

    @inlinable public func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}

/// A value behind a lock whose changes threads wait for. One thread waits at a time, so that a signal reaches it.
// @unchecked: the value is only touched holding the lock.
package final class LockedSignal<Value>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value

    package init(_ value: Value) {
        self.value = value
        mutex.initialize(to: pthread_mutex_t())
        changed.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(changed, nil)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// Changes the value and wakes who waits for that.
    package func change(_ body: (inout Value) -> Void) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        body(&value)
        pthread_cond_signal(changed)
    }

    /// Sleeps until the value is so, and takes something out of it before anybody else can touch it.
    package func wait<Result>(until isSo: (Value) -> Bool, _ body: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !isSo(value) { pthread_cond_wait(changed, mutex) }
        return body(&value)
    }
}
