// Observers that fail: section keys and callbacks that throw at random, among observers of every kind. What fails for
// one of them is its own: the others are notified of everything, and the one that failed starts over.
import MotteLiveObjects
import MotteNotifications
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

private func refusal() -> DatabaseError { DatabaseError(.callback, "this one fails") }

@Suite struct FailingObserverTests {
    private typealias Random = RandomCollectionTests

    /// Of which the tests say when they fail.
    private final class Failing {
        var percent = 0
        var random = SeededRandom(seed: 1)
        var failures = 0

        func mayFail() throws(DatabaseError) {
            guard random.chance(percent) else { return }
            failures += 1
            throw refusal()
        }
    }

    private func sections(of results: LiveResults, _ failing: Failing) throws -> LiveSections {
        results.sectioned(
            by: SectionKey { collection, index throws(DatabaseError) in
                try failing.mayFail()
                guard case .link(let link) = try collection.value(at: index).owned,
                    let object = try collection.session.object(link.table, at: link.key)
                else { return .null }
                return try object.get("rank")
            })
    }

    /// Anything but the failure that was asked for is one of the test.
    private func tolerating(_ body: () throws -> Void) throws {
        do { try body() } catch let error as DatabaseError where error.code == .callback {}
    }

    private func watch(_ session: Session) throws -> [Random.Watched] {
        let nodes = try session.objects("Node")
        var watched = [try Random.Watched("all", nodes)]
        for query in Random.queries { watched.append(try Random.Watched(query, nodes.filter(query))) }
        for index in 0 ..< (try nodes.count()) where index % 3 == 0 {
            guard let node = try nodes.object(at: index) else { continue }
            for property in Random.properties {
                watched.append(try Random.Watched("\(property) of \(index)", node.collection(property)))
            }
            watched.append(try Random.Watched("large of \(index)", node.collection("ints").filter("SELF > 4")))
            guard let nested = try node.nested(node.column(named: "any")) else { continue }
            watched.append(try Random.Watched("nested of \(index)", nested))
        }
        return watched
    }

    @Test func othersAreNotifiedOfEverything() throws {
        try PropertyTest.run(rounds: 6) { random, comment in
            let helper = RandomCollectionTests()
            let store = TestStore(schema: RandomCollectionTests.schema)
            let session = try store.open()
            let other = try store.open()
            try session.inWrite {
                for _ in 0 ..< 8 { try helper.add(session, &random) }
                for _ in 0 ..< 40 { try helper.mutate(session, &random) }
            }
            try other.refresh()
            let failing = Failing()
            failing.random = SeededRandom(seed: random.next())
            let nodes = try session.objects("Node")
            // Before, among and behind the others.
            var badTokens = [try sections(of: nodes, failing).observe()]
            badTokens.append(try nodes.observe { _ throws(DatabaseError) in try failing.mayFail() })
            let watched = try watch(session)
            badTokens.append(try sections(of: nodes.sorted(by: "rank"), failing).observe())
            badTokens.append(try session.observe { _ throws(DatabaseError) in try failing.mayFail() })
            var received = 0
            let last = try session.observe { _ throws(DatabaseError) in received += 1 }
            for _ in 0 ..< 25 {
                failing.percent = random.pick([0, 5, 40, 100])
                let writer = random.chance(50) ? session : other
                // A begin that fails has no write open; the failure is over when it is tried again.
                do { try writer.beginWrite() } catch let error as DatabaseError where error.code == .callback {
                    #expect(!writer.isInWrite, "\(comment)")
                    failing.percent = 0
                    try writer.beginWrite()
                }
                for _ in 0 ..< random.below(6) { try helper.mutate(writer, &random) }
                if random.chance(10) { try writer.cancel() } else { try tolerating { try writer.commit() } }
                #expect(!writer.isInWrite, "\(comment)")
                let before = received
                let moves = try session.version < session.latestVersion
                try tolerating { try session.refresh() }
                #expect(received == before + (moves ? 1 : 0), "\(comment)")
                for one in watched { try helper.check(one, session, "\(one.name): \(comment)") }
            }
            // They go on as if nothing had happened.
            failing.percent = 0
            try tolerating { try session.refresh() }
            for token in [badTokens[0], badTokens[2]] { while case .changes = try token.next() {} }
            try session.inWrite { try helper.add(session, &random) }
            for token in [badTokens[0], badTokens[2]] {
                #expect(try token.pull()?.sectioned?.changes.insertions.count == 1, "\(comment)")
            }
            #expect(failing.failures > 0, "\(comment)")
            withExtendedLifetime(last) {}
        }
    }

    @Test func whatFailedBeginsAgain() throws {
        let session = try TestStore(schema: kennelSchema).open()
        try session.inWrite { for id in 0 ..< 4 { try session.add("Person", ["id": .int(Int64(id))]) } }
        let people = try session.objects("Person")
        var fails = false
        let sections = people.sectioned(
            by: SectionKey { collection, index throws(DatabaseError) in
                if fails { throw refusal() }
                return .int(Int64(index % 2))
            })
        let token = try sections.observe()
        let list = try people.object(at: 0)?.list(people.object(at: 0)?.column(named: "tags") ?? ColumnKey(0))
        let tags = try list?.observe()
        #expect(try token.pull()?.isInitial == true && tags?.pull()?.isInitial == true)
        fails = true
        for step in 1 ... 3 {
            // A commit that is durable succeeds.
            try session.inWrite {
                try session.add("Person", ["id": .int(Int64(10 + step))])
                try list?.append(.string("x"))
            }
            #expect(try tags?.pull()?.insertions == [step - 1])
            // The one that failed hears of it, once.
            #expect(errorCode { _ = try token.next() } == (step == 1 ? .callback : nil))
            #expect(try token.pull() == nil)
        }
        fails = false
        try session.refresh()
        #expect(try token.pull()?.isInitial == true)
        try session.inWrite { try session.add("Person", ["id": .int(20)]) }
        #expect(try token.pull()?.sectioned?.changes.insertions.count == 1)
    }

    @Test func aCallbackGetsWhatKeptItsChangesFromBeingFound() throws {
        let session = try TestStore(schema: kennelSchema).open()
        try session.inWrite { try session.add("Person", ["id": .int(1), "age": .int(1)]) }
        var seen: [String] = []
        let groups = try session.objects("Person").groups("GROUP() SUM(age)")
        let token = try groups.observe { changes throws(DatabaseError) in
            seen.append(changes.failure.map { "\($0.code)" } ?? changes.short)
        }
        try session.refresh()
        try session.inWrite { try session.add("Person", ["id": .int(2), "age": .int(.max)]) }
        try session.inWrite { try session.add("Person", ["id": .int(3), "age": .int(5)]) }
        try session.refresh()
        let people = try session.objects("Person")
        try session.inWrite { for index in 1 ... 2 { try people.object(at: index)?.set("age", to: .int(1)) } }
        #expect(seen == ["initial", "overflow", "initial"])
        try session.inWrite { try people.object(at: 2)?.set("age", to: .int(2)) }
        #expect(seen.last == "~[0]~[0]")
        withExtendedLifetime(token) {}
    }

    @Test func aCallbackThatFailsKeepsNoWriteFromBeginning() throws {
        let store = TestStore(.file, schema: kennelSchema)
        let session = try store.open()
        let other = try store.open()
        var failures: [ErrorCode] = []
        session.onObserverFailure = { failures.append($0.code) }
        let token = try session.objects("Person").observe { changes throws(DatabaseError) in
            if !changes.isInitial { throw refusal() }
        }
        try session.refresh()
        try other.inWrite { try other.add("Person", ["id": .int(1)]) }
        try session.inWrite { try session.add("Person", ["id": .int(2)]) }
        #expect(failures == [.callback, .callback])
        #expect(try session.objects("Person").count() == 2)
        try other.refresh()
        try other.inWrite { try other.add("Person", ["id": .int(3)]) }
        // A call that is there to notify has nothing else to say.
        #expect(errorCode { try session.refresh() } == .callback)
        withExtendedLifetime(token) {}
    }

    @Test func callbacksThatAlwaysWriteEnd() throws {
        let session = try TestStore(schema: kennelSchema).open()
        var failures: [String] = []
        session.onObserverFailure = { failures.append($0.message) }
        var calls: Int64 = 0
        let token = try session.objects("Person").observe { changes throws(DatabaseError) in
            guard !changes.isInitial else { return }
            calls += 1
            try session.beginWrite()
            do { try session.add("Person", ["id": .int(100 + calls)]) } catch { throw refusal() }
            try session.commit()
        }
        try session.refresh()
        try session.inWrite { try session.add("Person", ["id": .int(1)]) }
        #expect(calls == SessionObservers.mostRounds)
        #expect(failures.count == 1 && failures[0].contains("still write after 100 rounds"))
        #expect(errorCode { try session.refresh() } == .callback)
        token.stop()
        try session.inWrite { try session.add("Person", ["id": .int(2)]) }
        #expect(failures.count == 1)
    }

    @Test func aWriteThatACallbackHasRefusedIsNotOpen() throws {
        let store = TestStore(.file, schema: kennelSchema)
        let session = try store.open()
        let other = try store.open()
        var fails = true
        let token = try session.objects("Person").observe { _ throws(DatabaseError) in
            // What it changes goes with the write.
            if session.isInWrite {
                do { try session.add("Cat", ["name": .string("lost")]) } catch {
                    throw error as? DatabaseError ?? refusal()
                }
            }
            if fails { throw refusal() }
        }
        _ = try? session.refresh()
        try other.inWrite { try other.add("Person", ["id": .int(1)]) }
        #expect(errorCode { try session.beginWrite() } == .callback)
        #expect(!session.isInWrite)
        // The file is not locked.
        try other.beginWrite(timeoutMilliseconds: 0)
        try other.cancel()
        fails = false
        try session.inWrite {}
        #expect(try session.objects("Cat").count() == 0)
        withExtendedLifetime(token) {}
    }

    @Test func aCallbackCannotEndTheWriteThatBegins() throws {
        let store = TestStore(schema: kennelSchema)
        let session = try store.open()
        let other = try store.open()
        var codes: [ErrorCode?] = []
        let token = try session.objects("Person").observe { _ throws(DatabaseError) in
            guard session.isInWrite else { return }
            codes.append(errorCode { try session.commit() })
            codes.append(errorCode { try session.cancel() })
            codes.append(errorCode { try session.close() })
        }
        try session.refresh()
        try other.inWrite { try other.add("Person", ["id": .int(1)]) }
        try session.beginWrite()
        #expect(codes == [.reentrant, .reentrant, .reentrant])
        try session.add("Person", ["id": .int(2)])
        try session.commit()
        #expect(try session.objects("Person").count() == 2)
        withExtendedLifetime(token) {}
    }
}
