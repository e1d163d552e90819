// The queue: readable while there is work, not before and not after; no thread is left behind.
import MotteLiveObjects
import MotteNotifications
import MotteStorage
import MotteValues
import Synchronization
import TestSupport
import Testing

@Suite struct DeliveryQueueTests {
    @Test(arguments: TestStore.Kind.allCases)
    func commitsByOthersMakeItReadable(kind: TestStore.Kind) throws {
        let store = TestStore(kind, schema: kennelSchema)
        let session = try store.open()
        let queue = try DeliveryQueue()
        try queue.bind(session)
        #expect(try !queue.wait(timeoutMilliseconds: 0))
        let recorder = Recorder()
        let token = try session.objects("Cat").observe { recorder.sets.append($0) }
        // The initial state is work, too.
        #expect(try queue.wait(timeoutMilliseconds: 0))
        #expect(try queue.timeoutMilliseconds() == 0)
        #expect(try queue.dispatch() == 1)
        #expect(try !queue.wait(timeoutMilliseconds: 0))
        #expect(try queue.timeoutMilliseconds() == -1)
        let made = try onAnotherThread { () throws -> UInt64 in
            let other = try store.open()
            try other.inWrite { try other.add("Cat") }
            return try other.version.rawValue
        }
        #expect(try queue.wait(timeoutMilliseconds: 5_000))
        #expect(recorder.texts == ["initial"])
        #expect(try queue.dispatch() == 1)
        #expect(recorder.texts == ["initial", "+[0]"])
        #expect(try session.version.rawValue == made)
        #expect(try queue.dispatch() == 0)
        try session.close()
        withExtendedLifetime(token) {}
    }

    /// Whoever still holds a closed session, or something of it, does not keep the file open.
    @Test func closingLetsGoOfTheFile() throws {
        let session = try TestStore(.file, schema: kennelSchema).open()
        let queue = try DeliveryQueue()
        try queue.bind(session)
        let cats = try session.objects("Cat")
        let token = try cats.observe()
        try session.inWrite { try session.add("Cat") }
        #expect(try cats.count() == 1)
        weak let database = try session.database

        try session.close()

        #expect(database == nil)
        withExtendedLifetime((session, queue, cats, token)) {}
    }

    @Test func aLimitedDispatchLeavesItReadable() throws {
        let store = TestStore(schema: kennelSchema)
        let session = try store.open()
        let queue = try DeliveryQueue()
        try queue.bind(session)
        let recorder = Recorder()
        let tokens = try (0 ..< 3).map { _ in try session.objects("Cat").observe { recorder.sets.append($0) } }
        #expect(try queue.dispatch(atMost: 2) == 2)
        #expect(try queue.wait(timeoutMilliseconds: 0))
        #expect(try queue.dispatch(atMost: 2) == 1)
        #expect(recorder.sets.count == 3)
        #expect(try !queue.wait(timeoutMilliseconds: 0))
        try session.close()
        withExtendedLifetime(tokens) {}
    }

    @Test func misuse() throws {
        let store = TestStore(schema: kennelSchema)
        let session = try store.open()
        let queue = try DeliveryQueue()
        try queue.bind(session)
        #expect(errorCode { try queue.bind(session) } == .invalidArgument)
        #expect(try onAnotherThread { errorCode { try queue.dispatch() } } == .wrongThread)
        #expect(errorCode { try queue.bind(session.freeze()) } == .frozen)
        var seen: [ErrorCode?] = []
        let token = try session.objects("Cat").observe { _ in
            seen.append(errorCode { try queue.dispatch() })
            seen.append(errorCode { _ = try queue.wait(timeoutMilliseconds: 0) })
        }
        try queue.dispatch()
        #expect(seen == [.reentrant, .reentrant])
        try session.close()
        #expect(try queue.dispatch() == 0)
        withExtendedLifetime(token) {}
    }

    @Test func nothingIsLostUnderManyCommits() throws {
        let store = TestStore(.file, schema: kennelSchema)
        let session = try store.open()
        let queue = try DeliveryQueue()
        try queue.bind(session)
        var count = 0
        let token = try session.objects("Cat").observe { count += $0.insertions.count }
        try queue.dispatch()
        let writers = (0 ..< 2).map { _ in
            ThreadRun {
                let other = try store.open()
                for _ in 0 ..< 50 { try other.inWrite { try other.add("Cat") } }
            }
        }
        while count < 100, try queue.wait(timeoutMilliseconds: 5_000) { try queue.dispatch() }
        for writer in writers { try writer.join() }
        #expect(count == 100)
        #expect(try session.objects("Cat").count() == 100)
        try session.close()
        withExtendedLifetime(token) {}
    }

    private final class Sent: Sendable {
        let count = Atomic<Int>(0)
    }

    /// However signals fall between the steps of a dispatch, what was sent before the last one is seen.
    @Test func noSignalIsLostBesideADispatch() throws {
        let queue = try DeliveryQueue()
        let sent = Sent()
        let last = 50_000
        let sender = ThreadRun {
            for number in 1 ... last {
                sent.count.store(number, ordering: .releasing)
                queue.signal()
                // Back and forth over the steps of the other side.
                for _ in 0 ..< number % 97 { _ = sent.count.load(ordering: .relaxed) }
            }
        }
        var seen = 0
        while seen < last {
            guard try queue.wait(timeoutMilliseconds: 5_000) else { break }
            try queue.dispatch()
            seen = sent.count.load(ordering: .acquiring)
        }
        #expect(seen == last)
        try sender.join()
    }

    @Test func queuesAndSessionsGoInAnyOrder() throws {
        let store = TestStore(schema: kennelSchema)
        for round in 0 ..< 4 {
            var session: Session? = try store.open()
            var queue: DeliveryQueue? = try DeliveryQueue()
            try queue!.bind(session!)
            if round & 1 == 0 { session = nil } else { queue = nil }
            if let session { try session.inWrite { try session.add("Cat") } }
            if let queue { #expect(try queue.dispatch() == 0) }
            if round & 2 == 0 { try session?.close() }
        }
    }

    /// A host that opens and closes realms and never has anything to dispatch keeps none of them.
    @Test func closedSessionsAreLetGoOf() throws {
        let store = TestStore(schema: kennelSchema)
        let queue = try DeliveryQueue()
        for _ in 0 ..< 50 {
            let session = try store.open()
            try queue.bind(session)
            try session.close()
        }
        #expect(queue.bindingCount <= 1)
        #expect(try queue.dispatch() == 0)
        #expect(queue.bindingCount == 0)
    }
}
