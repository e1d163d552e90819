// Commits that some tokens are not notified of, and sessions that belong to something else than a thread.
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif
import MotteLiveObjects
import MotteNotifications
import MotteStorage
import MotteValues
import Synchronization
import TestSupport
import Testing

@Suite struct SkippedCommitTests {
    func open() throws -> (store: TestStore, session: Session, people: LiveResults) {
        let store = TestStore(schema: kennelSchema)
        let session = try store.open()
        try session.inWrite { for id in 0 ..< 4 { try session.add("Person", ["id": .int(Int64(id))]) } }
        return (store, session, try session.objects("Person"))
    }

    @Test func aSkippedTokenIsNotifiedOfOthersOnly() throws {
        let (store, session, people) = try open()
        let first = Recorder()
        let second = Recorder()
        let moves = Recorder()
        let one = try people.observe { first.sets.append($0) }
        let two = try people.observe { second.sets.append($0) }
        let three = try session.observe { moves.sets.append($0) }
        try session.refresh()
        try session.beginWrite()
        try session.add("Person", ["id": .int(10)])
        try session.commit(skipping: [one, three])
        #expect(first.texts == ["initial"])
        #expect(second.texts == ["initial", "+[4]"])
        #expect(moves.sets.isEmpty)
        // Not later either; and what comes later knows of it.
        let other = try store.open()
        try other.inWrite { try other.add("Person", ["id": .int(11)]) }
        try session.refresh()
        #expect(first.texts == ["initial", "+[5]"])
        #expect(second.texts == ["initial", "+[4]", "+[5]"])
        #expect(moves.sets.count == 1)
        _ = two
    }

    @Test func tokensOfOtherSessionsAreRefused() throws {
        let (store, session, people) = try open()
        let other = try store.open()
        let token = try other.objects("Person").observe()
        let mine = try people.observe()
        try session.beginWrite()
        #expect(errorCode { try session.commit(skipping: [mine, token]) } == .invalidArgument)
        #expect(session.isInWrite)
        try session.cancel()
    }

    @Test func aCallbackThatWritesIsNotSkipped() throws {
        let (_, session, people) = try open()
        let recorder = Recorder()
        let token = try people.observe { recorder.sets.append($0) }
        try session.refresh()
        var hasWritten = false
        let writer = try people.observe { changes throws(DatabaseError) in
            guard !changes.isInitial, !hasWritten else { return }
            hasWritten = true
            _ = try typed { try session.inWrite { try session.add("Person", ["id": .int(21)]) } }
        }
        try session.refresh()
        try session.beginWrite()
        try session.add("Person", ["id": .int(20)])
        try session.commit(skipping: [token])
        #expect(recorder.texts == ["initial", "+[5]"])
        _ = writer
    }

    /// Old content with the skipped change applied, and then with the change set, is the new content.
    @Test func waitingChangesAreNotifiedAsIfTheSkippedOneHadComeFirst() throws {
        try PropertyTest.run(rounds: 300) { random, comment in
            var next = 100
            func change(_ content: [Int]) -> (ChangeSet, [Int]) {
                var changes = ChangeSet(.collection, from: Version(0), to: Version(0))
                var result: [Int] = []
                for (index, element) in content.enumerated() {
                    if random.chance(30) { changes.deletions.append(index) } else { result.append(element) }
                }
                for _ in 0 ..< random.below(4) {
                    result.insert(next, at: random.below(result.count + 1))
                    next += 1
                }
                changes.insertions = result.indices.filter { !content.contains(result[$0]) }
                return (changes, result)
            }
            let old = Array(0 ..< random.below(8))
            let (waiting, middle) = change(old)
            let (skipped, new) = change(middle)
            let rest = waiting.knowing(skipped)
            // What the owner shows: the old elements without those it took away, and its own between them.
            let gone = Set(skipped.deletions.map { middle[$0] })
            let mine = Set(skipped.insertions.map { new[$0] })
            let shown = rest.deletions.reduce(into: [Int: Int]()) { $0[$1] = 1 }
            #expect(rest.deletions == rest.deletions.sorted() && shown.count == rest.deletions.count, "\(comment)")
            let lost = waiting.deletions.map { old[$0] }
            var owner = new.filter { old.contains($0) || mine.contains($0) }
            for (index, place) in rest.deletions.enumerated() {
                guard place <= owner.count else { Issue.record("\(rest) \(comment)"); return }
                owner.insert(lost[index], at: place)
            }
            // The old elements that it kept are in their old order.
            #expect(owner.filter { old.contains($0) } == old.filter { !gone.contains($0) }, "\(comment)")
            #expect(apply(rest.deletions, rest.insertions, old: owner, new: new) == new, "\(rest) \(comment)")
        }
    }

    @Test func pullingTokensKnowTheirOwnCommits() throws {
        let (store, session, people) = try open()
        let token = try people.observe()
        _ = try token.pull()
        let other = try store.open()
        try other.inWrite {
            try other.objects("Person").object(at: 0)?.delete()
            try other.add("Person", ["id": .int(30)])
        }
        try session.beginWrite()
        try people.object(at: 1)?.delete()
        try session.add("Person", ["id": .int(31)])
        try session.commit(skipping: [token])
        // It shows 0, 1, 3 and its own 31, of which 0 goes; 30 came before 31.
        #expect(try token.pull()?.short == "-[0] +[2]")
        #expect(try token.pull() == nil)
    }
}

@Suite struct ConfinementTests {
    /// An owner that any thread may be said to be.
    final class Place: Sendable {
        let holder = Atomic<UInt64>(0)
        var confinement: SessionConfinement {
            .custom(name: "a test's place") { [self] in holder.load(ordering: .acquiring) == Place.thread }
        }
        static var thread: UInt64 { UInt64(pthread_self()) }
        func enter() { holder.store(Place.thread, ordering: .releasing) }
        func leave() { holder.store(0, ordering: .releasing) }
    }

    @Test func theClosureDecides() throws {
        let store = TestStore(schema: kennelSchema)
        let place = Place()
        let session = try Session.open(try store.options, confinement: place.confinement)
        #expect(errorCode { _ = try session.objects("Cat").count() } == .wrongThread)
        place.enter()
        try session.inWrite { try session.add("Cat", ["name": .string("Tom")]) }
        #expect(try session.objects("Cat").count() == 1)
        let count = try onAnotherThread { () throws -> Int in
            #expect(errorCode { _ = try session.version } == .wrongThread)
            place.enter()
            try session.inWrite { try session.add("Cat") }
            return try session.objects("Cat").count()
        }
        #expect(count == 2)
        #expect(errorCode { _ = try session.version } == .wrongThread)
        place.enter()
        #expect(try session.objects("Cat").count() == 2)
        try session.close()
    }

    @Test func queuesWakeTheirPlace() throws {
        let store = TestStore(schema: kennelSchema)
        let place = Place()
        place.enter()
        let session = try Session.open(try store.options, confinement: place.confinement)
        let wakes = Atomic<Int>(0)
        let queue = try DeliveryQueue(confinement: place.confinement) { wakes.add(1, ordering: .relaxed) }
        #expect(queue.descriptor == -1)
        try queue.bind(session)
        let recorder = Recorder()
        let token = try session.objects("Cat").observe { recorder.sets.append($0) }
        #expect(wakes.load(ordering: .relaxed) == 1)
        #expect(try queue.dispatch() == 1)
        try onAnotherThread {
            let other = try store.open()
            try other.inWrite { try other.add("Cat") }
        }
        var waited = 0
        while wakes.load(ordering: .relaxed) < 2, waited < 5_000 {
            usleep(1_000)
            waited += 1
        }
        #expect(wakes.load(ordering: .relaxed) == 2)
        place.leave()
        #expect(errorCode { try queue.dispatch() } == .wrongThread)
        place.enter()
        #expect(try queue.dispatch() == 1)
        #expect(recorder.texts == ["initial", "+[0]"])
        #expect(errorCode { _ = try queue.wait(timeoutMilliseconds: 0) } == .unsupported)
        try session.close()
        withExtendedLifetime(token) {}
    }
}
