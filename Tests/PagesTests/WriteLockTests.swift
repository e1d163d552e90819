// The write lock and the signal among threads of one process.
import MottePages
import MotteValues
import TestSupport
import Testing
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct WriteLockTests {
    @Test(arguments: StoreForm.allCases)
    func aHeldLockTimesOut(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let lock = try test.store.lockForWriting(timeoutMilliseconds: -1)

        #expect(try failure { try test.store.lockForWriting(timeoutMilliseconds: 0) }.code == .timeout)
        #expect(try failure { try test.store.lockForWriting(timeoutMilliseconds: 20) }.code == .timeout)
        lock.release()
        try test.store.lockForWriting(timeoutMilliseconds: 0).release()
    }

    @Test(arguments: StoreForm.allCases)
    func lettingGoReleases(_ form: StoreForm) throws {
        let test = try TestStore(form)

        do { _ = try test.store.lockForWriting(timeoutMilliseconds: 0) }

        try test.store.lockForWriting(timeoutMilliseconds: 0).release()
    }

    @Test(arguments: StoreForm.allCases)
    func theFirstToWaitWritesFirst(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let order = Locked<[Int]>([])
        let lock = try test.store.lockForWriting(timeoutMilliseconds: 0)
        let store = test.store

        var threads: [Thread] = []
        for number in 0 ..< 4 {
            threads.append(
                Thread {
                    guard let mine = try? store.lockForWriting(timeoutMilliseconds: 10_000) else { return }
                    order.withLock { $0.append(number) }
                    mine.release()
                })
            while try store.statistics().waitingWriterCount <= number { usleep(1000) }
        }
        lock.release()
        for thread in threads { thread.join() }

        #expect(order.withLock { $0 } == [0, 1, 2, 3])
    }

    @Test(arguments: StoreForm.allCases)
    func aWaitCanBeCancelled(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let lock = try test.store.lockForWriting(timeoutMilliseconds: 0)
        defer { lock.release() }
        let cancellation = WaitCancellation()
        let store = test.store
        let code = Locked<ErrorCode?>(nil)

        let thread = Thread {
            do throws(DatabaseError) {
                _ = try store.lockForWriting(timeoutMilliseconds: -1, cancellation: cancellation)
            } catch {
                let found = error.code
                code.withLock { $0 = found }
            }
        }
        cancellation.cancel()
        thread.join()

        #expect(code.withLock { $0 } == .timeout)
    }

    @Test(arguments: StoreForm.allCases)
    func theLockMayBeReleasedByAnotherThread(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let lock = try test.store.lockForWriting(timeoutMilliseconds: 0)
        var batch = PageBatch()
        batch.put([9], [1])
        try test.store.commit(batch, lock: lock, version: Version(1))

        Thread { lock.release() }.join()

        try test.store.lockForWriting(timeoutMilliseconds: 0).release()
    }

    @Test(arguments: StoreForm.allCases)
    func waitersWakeWithTheVersion(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let store = test.store
        let seen = Locked<Version?>(nil)
        #expect(try store.signal.wait(after: Version(0), timeoutMilliseconds: 10) == nil)

        let thread = Thread {
            let version = try? store.signal.wait(after: Version(0), timeoutMilliseconds: 10_000)
            seen.withLock { $0 = version }
        }
        try test.commit([("a", [1])])
        thread.join()

        #expect(seen.withLock { $0 } == Version(1))
        #expect(try store.signal.wait(after: Version(0), timeoutMilliseconds: 0) == Version(1))
    }

    @Test(arguments: StoreForm.allCases)
    func snapshotsAreSharedAndReleasedOnAnyThread(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let store = test.store
        let wrong = Locked(0)
        try test.commit((0 ..< 100).map { ("k\($0)", [UInt8](repeating: 0, count: 8)) })

        let readers = (0 ..< 3).map { _ in
            Thread {
                for _ in 0 ..< 300 {
                    guard let snapshot = try? store.snapshot() else { continue }
                    guard let cursor = try? snapshot.makeCursor() else { continue }
                    let version = UInt8(truncatingIfNeeded: snapshot.version.rawValue - 1)
                    let byKey = (try? snapshot.get(Array("k42".utf8)))??.bytes.first
                    let byCursor = (try? cursor.seek(Array("k7".utf8))) == true ? cursor.value.bytes.first : nil
                    if byKey != version || byCursor != version { wrong.withLock { $0 += 1 } }
                }
            }
        }
        for round in 1 ... 100 {
            try test.commit((0 ..< 100).map { ("k\($0)", [UInt8](repeating: UInt8(round), count: 8 + round % 3)) })
        }
        for reader in readers { reader.join() }

        #expect(wrong.withLock { $0 } == 0)
    }
}

/// A thread of the system, because what is tested must not depend on Swift's own pool.
final class Thread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
    private var thread = pthread_t()

    init(_ run: @escaping @Sendable () -> Void) {
        let body = Unmanaged.passRetained(Body(run)).toOpaque()
        pthread_create(
            &thread, nil,
            { argument in
                if let argument { Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
                return nil
            }, body)
    }

    func join() { pthread_join(thread, nil) }
}
