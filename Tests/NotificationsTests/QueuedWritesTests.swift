// Writes queued from any thread: in order, each for itself, without waiting for others, and let go of at the end.
import MotteLiveObjects
import MotteNotifications
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct QueuedWritesTests {
    /// What was received writes, on the session's thread.
    private final class Received: @unchecked Sendable {  // @unchecked: only the session's thread looks at it
        var outcomes: [Result<Version, DatabaseError>] = []
        var codes: [ErrorCode?] {
            outcomes.map { if case .failure(let error) = $0 { error.code } else { nil } }
        }
    }

    private func adding(_ name: String, _ received: Received, then code: ErrorCode? = nil) -> QueuedWrites.Write {
        QueuedWrites.Write { (session) throws(DatabaseError) in
            _ = try typed { try session.add("Cat", ["name": .string(name)]) }
            if let code { throw DatabaseError(code, "refused") }
            return true
        } done: { (outcome) throws(DatabaseError) in
            received.outcomes.append(outcome)
        }
    }

    private func names(_ session: Session) throws -> [String] {
        try session.objects("Cat").allKeys.map { key in
            let cat = try #require(try session.object(try session.tableKey("Cat"), at: ObjectKey(key)))
            guard case .string(let name) = try cat.get("name") else { return "" }
            return name
        }
    }

    @Test(arguments: TestStore.Kind.allCases)
    func writesOfManyThreadsKeepTheirOrder(kind: TestStore.Kind) throws {
        let session = try TestStore(kind, schema: kennelSchema).open()
        let queue = try DeliveryQueue()
        let writes = try queue.bind(session)
        let received = Received()
        let threads = (0 ..< 4).map { thread in
            ThreadRun {
                for number in 0 ..< 25 { try writes.add(self.adding("\(thread) \(number + 100)", received)) }
            }
        }
        while received.outcomes.count < 100 {
            #expect(try queue.wait(timeoutMilliseconds: 10_000))
            try queue.dispatch(atMost: 7)
        }
        for thread in threads { try thread.join() }

        let all = try names(session)
        #expect(all.count == 100)
        for thread in 0 ..< 4 {
            let own = all.filter { $0.hasPrefix("\(thread) ") }
            #expect(own.count == 25 && own == own.sorted())
        }
        let versions = try received.outcomes.map { try $0.get() }
        #expect(versions == versions.sorted() && Set(versions).count == 100)
        try session.close()
    }

    @Test func whatFailsIsUndoneAlone() throws {
        let session = try TestStore(schema: kennelSchema).open()
        let queue = try DeliveryQueue()
        let writes = try queue.bind(session)
        let received = Received()
        try writes.add(adding("first", received))
        try writes.add(adding("never", received, then: .invalidArgument))
        try writes.add(adding("second", received))
        #expect(try queue.timeoutMilliseconds() == 0)
        #expect(try queue.dispatch() == 3)
        #expect(received.codes == [nil, .invalidArgument, nil])
        #expect(try names(session) == ["first", "second"])

        // An observer's refusal comes after the commit, and is nobody else's.
        var failures: [ErrorCode] = []
        session.onObserverFailure = { failures.append($0.code) }
        let token = try session.objects("Cat").observe { (changes) throws(DatabaseError) in
            if !changes.isInitial { throw DatabaseError(.callback, "no") }
        }
        try queue.dispatch()
        try writes.add(adding("third", received))
        try queue.dispatch()
        #expect(failures == [.callback])
        #expect(received.codes == [nil, .invalidArgument, nil, nil] && !session.isInWrite)
        #expect(try names(session).count == 3)
        withExtendedLifetime(token) {}
        try session.close()
    }

    @Test func whatWaitsTogetherIsFlushedTogether() throws {
        let name = "queued-\(UInt64.random(in: 0 ..< .max))"
        var options = DatabaseOptions(location: .memory(identifier: name))
        let faults = FaultInjection()
        options.faults = faults
        let database = try Database.open(options)
        let session = try Session.open(SessionOptions(.memory(name), schema: try SchemaText.parse(kennelSchema)))
        let queue = try DeliveryQueue()
        let writes = try queue.bind(session)
        let received = Received()
        let before = faults.commitCount
        for number in 0 ..< 5 { try writes.add(adding("\(number)", received)) }
        #expect(try queue.dispatch() == 5)
        #expect(faults.commitCount == before + 1 && received.codes == [nil, nil, nil, nil, nil])
        // None is acknowledged when the flush fails, and none is there.
        faults.failCommit(1)
        for number in 5 ..< 8 { try writes.add(adding("\(number)", received)) }
        #expect(try queue.dispatch() == 3)
        #expect(received.codes.suffix(3) == [.inputOutput, .inputOutput, .inputOutput])
        #expect(try names(session).count == 5)
        try writes.add(adding("8", received))
        #expect(try queue.dispatch() == 1 && received.codes.last == .some(nil))
        #expect(try names(session) == ["0", "1", "2", "3", "4", "8"])
        #expect(try database.latestVersion() == session.version)
        try session.close()
    }

    @Test func nobodyIsHeldUpByAWriterElsewhere() throws {
        let store = TestStore(schema: kennelSchema)
        let session = try store.open(), other = try store.open()
        let queue = try DeliveryQueue()
        let writes = try queue.bind(session)
        let received = Received()
        try other.beginWrite()
        try writes.add(adding("one", received))
        #expect(try queue.dispatch() == 0)
        #expect(try queue.timeoutMilliseconds() > 0)
        // Worth another attempt, which is refused too.
        #expect(try queue.wait(timeoutMilliseconds: -1))
        #expect(try queue.dispatch() == 0 && received.outcomes.isEmpty)
        try other.cancel()
        #expect(try queue.wait(timeoutMilliseconds: -1))
        #expect(try queue.dispatch() == 1 && received.codes == [nil])
        #expect(try queue.timeoutMilliseconds() <= 0)
        try session.close()
        try other.close()
    }

    /// A loop that asks for its timeout would look again and again, and nothing could run.
    @Test func inAWriteNothingIsWorthAnAttempt() throws {
        let session = try TestStore(schema: kennelSchema).open()
        let queue = try DeliveryQueue()
        let writes = try queue.bind(session)
        let received = Received()
        try session.beginWrite()
        try writes.add(adding("Tom", received))
        #expect(try queue.dispatch() == 0)
        #expect(try queue.timeoutMilliseconds() == -1)
        #expect(try !queue.wait(timeoutMilliseconds: 1))
        try session.commit()
        #expect(try queue.timeoutMilliseconds() == 0)
        #expect(try queue.wait(timeoutMilliseconds: -1))
        #expect(try queue.dispatch() == 1)
        #expect(try names(session) == ["Tom"] && received.codes == [nil])
    }

    @Test func theEndOfASessionLetsGoOfWhatWaits() throws {
        final class Held {}
        let session = try TestStore(schema: kennelSchema).open()
        let queue = try DeliveryQueue()
        let writes = try queue.bind(session)
        var held: Held? = Held()
        weak let seen = held
        let first = try writes.add(
            .init { [held] (_) in
                withExtendedLifetime(held) { true }
            } done: { _ in
            })
        held = nil
        #expect(seen != nil)
        #expect(try writes.cancel(first) && seen == nil)
        #expect(try !writes.cancel(first))
        held = Held()
        weak let again = held
        try writes.add(
            .init { [held] (_) in
                withExtendedLifetime(held) { true }
            } done: { _ in
            })
        held = nil
        #expect(again != nil)
        try session.close()
        #expect(again == nil)
        #expect(
            errorCode {
                try writes.add(
                    .init { _ in
                        true
                    } done: { _ in
                    })
            } == .closed)
        #expect(errorCode { _ = try writes.cancel(first) } == .closed)
    }
}
