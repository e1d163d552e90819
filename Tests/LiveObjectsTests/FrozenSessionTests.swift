// Frozen sessions that threads share: what ends when one is closed, and with the threads that have read from it.
import MotteLiveObjects
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct FrozenSessionTests {
    private static let text = String(repeating: "long enough to be read from a page ", count: 4)

    private func filled(_ store: TestStore) throws -> Session {
        let session = try store.open()
        try session.inWrite {
            for id in 0 ..< 100 {
                try session.add(
                    "Person", ["id": .int(Int64(id)), "name": .string(Self.text), "age": .int(Int64(id % 7))])
            }
        }
        return session
    }

    /// Until it is refused.
    private static func read(_ people: LiveCollection) -> (refusal: ErrorCode?, wrong: Int) {
        var wrong = 0
        while true {
            do {
                for index in 0 ..< (try people.count()) {
                    let person = try people.object(at: index)
                    if try person?.get("name") != .string(text) { wrong += 1 }
                }
                if try people.filter("age == 3 AND name CONTAINS 'page'").count() != 14 { wrong += 1 }
            } catch { return (error.code, wrong) }
        }
    }

    @Test(arguments: TestStore.Kind.allCases)
    func closingWhileThreadsRead(kind: TestStore.Kind) throws {
        let session = try filled(TestStore(kind, schema: peopleSchema))
        for _ in 0 ..< 20 {
            let frozen = try session.freeze()
            let people = FrozenBox(try frozen.objects("Person"))
            let began = Locked(0)
            let threads = (0 ..< 3).map { _ in
                ThreadRun {
                    _ = try people.collection.count()
                    began.withLock { $0 += 1 }
                    let (refusal, wrong) = Self.read(people.collection)
                    return refusal == .closed && wrong == 0
                }
            }
            while began.withLock({ $0 < 3 }) {}
            #expect(try frozen.close())
            #expect(try !frozen.close())
            for thread in threads { #expect(try thread.join()) }
        }
        #expect(try session.database.pages.liveVersionCount() == 1)
    }

    /// Whether the owner of a list is there is asked several times within a call.
    @Test func aListIsNotEmptyBecauseItsSessionIsClosed() throws {
        let session = try filled(TestStore(schema: peopleSchema))
        let person = try #require(try session.objects("Person").object(at: 0))
        try session.inWrite {
            let tags = try #require(try person.collection("tags") as? LiveList)
            for index in 0 ..< 20 { try tags.append(.string("tag \(index)")) }
        }
        for _ in 0 ..< 100 {
            let frozen = try session.freeze()
            let tags = FrozenBox(try person.frozen(in: frozen).collection("tags"))
            let began = Locked(false)
            let reader = ThreadRun {
                began.withLock { $0 = true }
                var counts: Set<Int> = []
                do {
                    while true { counts.insert(try tags.collection.filter("SELF BEGINSWITH 'tag'").count()) }
                } catch { return (error as? DatabaseError)?.code == .closed && counts.isSubset(of: [20]) }
            }
            while began.withLock({ !$0 }) {}
            try frozen.close()
            #expect(try reader.join())
        }
    }

    /// Each session is closed by several threads at once: one of them has closed it.
    @Test func closingOnSeveralThreads() throws {
        let session = try filled(TestStore(schema: peopleSchema))
        for _ in 0 ..< 50 {
            let frozen = try session.freeze()
            let closers = (0 ..< 4).map { _ in ThreadRun { try frozen.close() ? 1 : 0 } }
            #expect(try closers.reduce(0) { try $0 + $1.join() } == 1)
        }
    }

    /// Where views live as long as the session, so does the source: others may use what the thread was lent.
    @Test(arguments: [true, false])
    func aThreadsSourceGoesWithTheThread(viewsAreShort: Bool) throws {
        let store = TestStore(.file, schema: peopleSchema)
        _ = try filled(store)
        var options = try store.options
        options.viewsAreShort = viewsAreShort
        let frozen = try Session.open(options).freeze()
        final class Weak: @unchecked Sendable {  // @unchecked: written before the thread is joined
            weak var source: RowSource?
            var wasThere = false
        }
        let seen = Weak()
        try onAnotherThread {
            _ = try frozen.objects("Person").count()
            seen.source = try frozen.source()
            seen.wasThere = seen.source != nil
        }
        #expect(seen.wasThere && (seen.source == nil) == viewsAreShort)
        #expect(try frozen.objects("Person").count() == 100)
        try frozen.close()
        #expect(seen.source == nil)
    }

    @Test func aClosedVersionGoesWithTheThreadsThatHaveReadIt() throws {
        let session = try filled(TestStore(.file, schema: peopleSchema))
        let frozen = try session.freeze()
        let step = Locked(0)
        let reader = ThreadRun {
            _ = try frozen.objects("Person").count()
            step.withLock { $0 = 1 }
            while step.withLock({ $0 == 1 }) {}
        }
        while step.withLock({ $0 == 0 }) {}
        try session.inWrite { try session.add("Person", ["id": .int(1000)]) }
        try frozen.close()
        #expect(try session.database.pages.liveVersionCount() == 2)
        step.withLock { $0 = 2 }
        try reader.join()
        #expect(try session.database.pages.liveVersionCount() == 1)
    }

    @Test func eachIsClosedByItself() throws {
        let session = try filled(TestStore(schema: peopleSchema))
        let one = try session.freeze()
        let two = try one.freeze()
        let person = try #require(try one.objects("Person").object(at: 0))
        let alone = try person.freeze()
        #expect(one !== two && alone.session !== one)
        #expect(try alone.freeze().session === alone.session)
        #expect(try one.objects("Person").freeze().session === alone.session)
        #expect(try one.close() && !alone.session.close())
        #expect(try two.objects("Person").count() == 100 && alone.get("age") == .int(0))
        #expect(throws: DatabaseError.self) { try one.freeze() }
        #expect(throws: DatabaseError.self) { try person.freeze() }
        #expect(one.databaseNumber == 0 && two.databaseNumber == session.databaseNumber)
    }

    /// Frozen sections have the keys that they had, also from something frozen.
    @Test func sectionsOfSomethingFrozenKeepTheirKeys() throws {
        let session = try filled(TestStore(schema: peopleSchema))
        let frozen = try session.freeze()
        let modulus = Locked(Int64(3))
        let key = SectionKey(function: { collection, index throws(DatabaseError) in
            .int(try collection.key(at: index).rawValue % modulus.withLock { $0 })
        })
        let sections = try frozen.objects("Person").sectioned(by: key).freeze()
        modulus.withLock { $0 = 5 }
        #expect(try sections.count() == 3)
        try frozen.close()
        #expect(try sections.count() == 3 && sections.session !== frozen)
    }

    @Test func aFunctionThatReadsCannotCloseItsSession() throws {
        let session = try filled(TestStore(schema: peopleSchema))
        let frozen = try session.freeze()
        let other = try session.freeze()
        let refusal = Locked<ErrorCode?>(nil)
        let key = SectionKey(function: { collection, index throws(DatabaseError) in
            do throws(DatabaseError) { try collection.session.close() } catch { refusal.withLock { $0 = error.code } }
            try other.close()
            return .int(1)
        })
        #expect(try frozen.objects("Person").sectioned(by: key).count() == 1)
        #expect(refusal.withLock { $0 } == .reentrant && !frozen.isClosed && other.isClosed)
    }
}
