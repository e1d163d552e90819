// Writes that become durable together: each has its version, its change sets and its outcome, and nobody is notified of
// any of them before the flush.
import MotteLiveObjects
import MotteNotifications
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

/// What a test's writes leave for it.
private final class Kept {
    var objects: [LiveObject] = []
    var references: [LiveReference] = []
    var calls = 0
}

extension Session {
    /// Each in a write of its own within one group: its version, or why it is not there.
    fileprivate func writeTogether(
        _ writes: [() throws(DatabaseError) -> Void]
    ) throws -> [Result<Version, DatabaseError>] {
        try beginGroup()
        var results: [Result<Version, DatabaseError>] = []
        for body in writes {
            do throws(DatabaseError) {
                try beginWrite()
                try body()
                results.append(.success(isInWrite ? try commit() : try version))
            } catch {
                if isInWrite { try cancel() }
                results.append(.failure(error))
            }
        }
        do throws(DatabaseError) {
            try endGroup()
            return results
        } catch {
            let shown = try version
            return results.map { $0.flatMap { $0 > shown ? .failure(error) : .success($0) } }
        }
    }
}

@Suite struct GroupCommitTests {
    private func add(_ id: Int64, in session: Session, _ kept: Kept, aging old: LiveObject?) throws {
        let object = try session.add("Person", ["id": .int(id)])
        kept.objects.append(object)
        kept.references.append(try LiveReference(object))
        try old?.set("age", to: .int(id))
    }

    private func adding(
        _ id: Int64, in session: Session, _ kept: Kept, aging old: LiveObject? = nil
    ) -> () throws(DatabaseError) -> Void {
        { () throws(DatabaseError) in try typed { try add(id, in: session, kept, aging: old) } }
    }

    private func failing(_ id: Int64, in session: Session, _ kept: Kept) -> () throws(DatabaseError) -> Void {
        { () throws(DatabaseError) in
            try typed {
                try add(id, in: session, kept, aging: nil)
                throw DatabaseError(.callback, "thrown by the test")
            }
        }
    }

    private func cancelling(_ session: Session) -> () throws(DatabaseError) -> Void {
        { () throws(DatabaseError) in try typed { try session.cancel() } }
    }

    func open() throws -> (store: TestStore, session: Session, people: LiveResults) {
        let store = TestStore(schema: kennelSchema)
        let session = try store.open()
        try session.inWrite { for id in 0 ..< 4 { try session.add("Person", ["id": .int(Int64(id))]) } }
        return (store, session, try session.objects("Person"))
    }

    @Test func eachWriteHasItsVersionAndItsChangeSet() throws {
        let (store, session, people) = try open()
        let other = try store.open()
        let elsewhere = try other.objects("Person").observe()
        _ = try elsewhere.next()
        let recorder = Recorder()
        let seen = Locked<[[Int64]]>([])
        let token = try people.observe { changes throws(DatabaseError) in
            recorder.sets.append(changes)
            let keys = try typed { try people.allKeys }
            seen.withLock { $0.append(keys) }
        }
        let moves = Recorder()
        let all = try session.observe { moves.sets.append($0) }
        try session.refresh()
        let before = try session.version.rawValue
        try session.beginGroup()
        for id in 10 ..< 13 {
            try session.beginWrite()
            try session.add("Person", ["id": .int(Int64(id))])
            if id == 12 { try people.object(at: 0)?.delete() }
            #expect(try session.commit().rawValue == before + UInt64(id) - 9)
            // Members see those before them; nobody else sees any.
            #expect(try people.count() == (id == 12 ? 6 : id - 5))
            #expect(try other.latestVersion.rawValue == before)
            #expect(try !other.refresh() && !session.refresh())
        }
        #expect(recorder.texts == ["initial"])
        #expect(errorCode { try other.beginWrite(timeoutMilliseconds: 0) } == .timeout)
        try session.endGroup()
        #expect(recorder.texts == ["initial", "+[4]", "+[5]", "-[0] +[5]"])
        #expect(seen.withLock { $0 } == [[0, 1, 2, 3], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6]])
        #expect(moves.sets.count == 3)
        #expect(try session.version.rawValue == before + 3 && session.latestVersion.rawValue == before + 3)
        #expect(try other.refresh() && other.objects("Person").count() == 6)
        guard case .changes(let changes) = try elsewhere.next() else {
            Issue.record("another session is notified of it once")
            return
        }
        #expect(changes.short == "-[0] +[3, 4, 5]")
        try other.inWrite { try other.add("Person", ["id": .int(20)]) }
        try session.refresh()
        #expect(recorder.texts.last == "+[6]")
        withExtendedLifetime((token, all)) {}
    }

    @Test func aWriteThatFailsTakesOnlyItsOwnChanges() throws {
        let (_, session, people) = try open()
        let recorder = Recorder()
        let token = try people.observe { recorder.sets.append($0) }
        try session.refresh()
        let kept = Kept()
        let result = try session.writeTogether([
            adding(10, in: session, kept), failing(11, in: session, kept), adding(10, in: session, kept),
            adding(12, in: session, kept), cancelling(session),
        ])
        let versions = result.map { try? $0.get() }
        let first = try #require(versions[0]).rawValue
        #expect(versions[1] == nil && versions[2] == nil && versions[3]?.rawValue == first + 1)
        guard case .failure(let error) = result[2] else { return }
        #expect(error.code == .duplicatePrimaryKey)
        #expect(try people.count() == 6)
        #expect(recorder.texts == ["initial", "+[4]", "+[5]"])
        #expect(kept.objects.map(\.isValid) == [true, false, true])
        withExtendedLifetime(token) {}
    }

    /// A store whose next commit can be made to fail.
    private func failing() throws -> (database: Database, faults: FaultInjection, session: Session) {
        let name = "group-\(UInt64.random(in: 0 ..< .max))"
        var options = DatabaseOptions(location: .memory(identifier: name))
        let faults = FaultInjection()
        options.faults = faults
        let database = try Database.open(options)
        let session = try Session.open(SessionOptions(.memory(name), schema: try SchemaText.parse(kennelSchema)))
        return (database, faults, session)
    }

    @Test func aFlushThatFailsTakesAllOfThem() throws {
        let (database, faults, session) = try failing()
        let old = try session.inWrite { try session.add("Person", ["id": .int(1)]) }
        let people = try session.objects("Person")
        let recorder = Recorder()
        let token = try people.observe { recorder.sets.append($0) }
        try session.refresh()
        let version = try session.version
        let kept = Kept()
        let writes = (10 ..< 13).map { adding($0, in: session, kept, aging: old) }
        faults.failCommit(1)
        let result = try session.writeTogether(writes)
        for write in result {
            guard case .failure(let error) = write else {
                Issue.record("a write was acknowledged that is not there")
                continue
            }
            #expect(error.code == .inputOutput)
        }
        #expect(try session.version == version && session.latestVersion == version)
        #expect(try people.allKeys == [old.key.rawValue] && old.get("age") == .null)
        #expect(kept.objects.allSatisfy { !$0.isValid })
        #expect(recorder.texts == ["initial"])
        #expect(!session.isInGroup && !session.isInWrite)
        for reference in kept.references { #expect(try reference.object(in: session) == nil) }
        // The same versions come to be after all, with something else in them.
        let again = try session.writeTogether(writes)
        #expect(again.allSatisfy { (try? $0.get()) != nil })
        #expect(try people.count() == 4 && old.get("age") == .int(12))
        #expect(recorder.texts == ["initial", "+[1] ~[0]~[0]", "+[2] ~[0]~[0]", "+[3] ~[0]~[0]"])
        let made = kept.objects
        #expect(made.prefix(3).allSatisfy { !$0.isSame(as: made[3]) })
        #expect(try database.latestVersion().rawValue == version.rawValue + 3)
        withExtendedLifetime(token) {}
    }

    /// What is frozen goes to others, so it must be durable.
    @Test func freezingFlushesTheWritesBefore() throws {
        let (store, session, people) = try open()
        let other = try store.open()
        let recorder = Recorder()
        let token = try people.observe { recorder.sets.append($0) }
        try session.refresh()
        let before = try session.version.rawValue
        try session.beginGroup()
        try session.inWrite { try session.add("Person", ["id": .int(10)]) }
        try session.beginWrite()
        let new = try session.add("Person", ["id": .int(11)])
        #expect(try other.latestVersion.rawValue == before)
        let frozen = try session.freeze()
        #expect(try frozen.version.rawValue == before + 1 && frozen.objects("Person").count() == 5)
        #expect(try people.freeze().count() == 5 && people.count() == 6)
        #expect(errorCode { _ = try new.freeze() } == .invalidArgument)
        #expect(try other.latestVersion.rawValue == before + 1)
        try session.commit()
        #expect(try new.freeze().get("id") == .int(11) && other.latestVersion.rawValue == before + 2)
        try session.beginWrite()
        try session.add("Person", ["id": .int(12)])
        try session.cancel()
        try session.inWrite { try session.add("Person", ["id": .int(13)]) }
        #expect(recorder.texts == ["initial"])
        try session.endGroup()
        #expect(recorder.texts == ["initial", "+[4]", "+[5]", "+[6]"])
        #expect(try frozen.objects("Person").count() == 5 && people.freeze().count() == 7)
        #expect(try other.refresh() && other.objects("Person").count() == 7)
        withExtendedLifetime(token) {}
    }

    @Test func aFreezeThatCannotFlushEndsTheGroupWithIt() throws {
        let (database, faults, session) = try failing()
        try session.inWrite { try session.add("Person", ["id": .int(1)]) }
        let people = try session.objects("Person")
        let version = try session.version
        try session.beginGroup()
        try session.inWrite { try session.add("Person", ["id": .int(2)]) }
        let kept = try people.freeze()
        try session.inWrite { try session.add("Person", ["id": .int(3)]) }
        faults.failCommit(1)
        try session.beginWrite()
        #expect(errorCode { _ = try people.freeze() } == .inputOutput && session.isInWrite)
        try session.cancel()
        #expect(errorCode { try session.endGroup() } == .inputOutput)
        // What was frozen before stays, and what was not is not there.
        #expect(try session.version.rawValue == version.rawValue + 1 && people.count() == 2 && kept.count() == 2)
        #expect(try people.freeze().count() == 2 && database.latestVersion().rawValue == version.rawValue + 1)
    }

    @Test func referencesOfAGroupWaitForItsFlush() throws {
        let (store, session, _) = try open()
        let other = try store.open()
        try session.beginGroup()
        try session.beginWrite()
        try session.add("Person", ["id": .int(10)])
        try session.commit()
        try session.beginWrite()
        let reference = try LiveReference(try session.add("Person", ["id": .int(11)]))
        try session.commit()
        #expect(try reference.object(in: other) == nil)
        // Nor is a session made for it that would show what is not durable.
        #expect(try reference.openSession().objects("Person").count() == 4)
        try session.endGroup()
        #expect(try reference.object(in: other)?.get("id") == .int(11))
        #expect(try reference.openSession().objects("Person").count() == 6)
    }

    @Test func skippedTokensAreSkippedForTheirCommitOnly() throws {
        let (_, session, people) = try open()
        let first = Recorder()
        let second = Recorder()
        let one = try people.observe { first.sets.append($0) }
        let two = try people.observe { second.sets.append($0) }
        try session.refresh()
        try session.beginGroup()
        for id in 10 ..< 13 {
            try session.beginWrite()
            try session.add("Person", ["id": .int(Int64(id))])
            try session.commit(skipping: id == 11 ? [one] : [])
        }
        try session.endGroup()
        #expect(first.texts == ["initial", "+[4]", "+[6]"])
        #expect(second.texts == ["initial", "+[4]", "+[5]", "+[6]"])
        withExtendedLifetime((one, two)) {}
    }

    @Test func callbacksMayWriteAndFail() throws {
        let (_, session, people) = try open()
        let recorder = Recorder()
        let kept = Kept()
        var failures: [ErrorCode] = []
        session.onObserverFailure = { failures.append($0.code) }
        let writer = try people.observe { changes throws(DatabaseError) in
            guard !changes.isInitial else { return }
            kept.calls += 1
            if kept.calls == 1 { _ = try typed { try session.inWrite { try session.add("Person", ["id": .int(99)]) } } }
            if kept.calls == 3 { throw DatabaseError(.callback, "thrown by the test") }
        }
        let token = try people.observe { recorder.sets.append($0) }
        try session.refresh()
        // The write moves the session past the rest of the group, which is notified together with it.
        _ = try session.writeTogether((10 ..< 13).map { adding($0, in: session, kept) })
        #expect(try people.count() == 8 && session.version == session.latestVersion)
        #expect(recorder.texts.joined(separator: " ").filter { $0 == "+" }.count >= 1)
        let failed = try session.writeTogether((13 ..< 16).map { adding($0, in: session, kept) })
        #expect(failures == [.callback])
        #expect(failed.allSatisfy { (try? $0.get()) != nil })
        #expect(try people.count() == 11 && session.version == session.latestVersion)
        try session.refresh()
        var count = 0
        for changes in recorder.sets { count += changes.insertions.count - changes.deletions.count }
        #expect(count == 7)
        withExtendedLifetime((writer, token)) {}
    }

    /// Whoever is told of a failure between two versions of a group may move the session; the others come first.
    @Test(arguments: [true, false]) func aFailureBetweenVersionsMayMoveTheSession(writes: Bool) throws {
        let (_, session, people) = try open()
        let recorder = Recorder()
        let kept = Kept()
        var moves = 0
        session.onObserverFailure = { [unowned session] _ in
            moves += 1
            guard moves == 1 else { return }
            if writes {
                _ = try? session.inWrite { try session.add("Person", ["id": .int(99)]) }
            } else {
                _ = try? session.refresh()
            }
        }
        let failing = try people.observe { changes throws(DatabaseError) in
            if !changes.isInitial { throw DatabaseError(.callback, "thrown by the test") }
        }
        let token = try people.observe { recorder.sets.append($0) }
        try session.refresh()
        let before = try people.count()
        _ = try session.writeTogether((10 ..< 14).map { adding($0, in: session, kept) })
        let added = writes ? 5 : 4
        #expect(try people.count() == before + added && session.version == session.latestVersion)
        #expect(recorder.sets.dropFirst().map(\.insertions) == (0 ..< added).map { [before + $0] })
        #expect(zip(recorder.sets, recorder.sets.dropFirst()).allSatisfy { $0.toVersion == $1.fromVersion })
        withExtendedLifetime((failing, token)) {}
    }

    /// What callbacks get of random writes in runs of these sizes.
    private func received(_ seed: UInt64, _ sizes: [Int], grouped: Bool) throws -> [String] {
        var random = SeededRandom(seed: seed)
        let session = try TestStore(schema: RandomNotificationTests.schema).open()
        let helper = RandomNotificationTests()
        try session.beginWrite()
        for _ in 0 ..< 15 { try helper.mutate(session, &random) }
        try session.commit()
        let received = Locked<[String]>([])
        let nodes = try session.objects("Node")
        var tokens: [Observation] = []
        for (number, query) in RandomNotificationTests.queries.enumerated() {
            let results = try nodes.filter(query)
            tokens.append(try results.observe { changes in received.withLock { $0.append("\(number): \(changes)") } })
        }
        try session.refresh()
        for size in sizes {
            if grouped { try session.beginGroup() }
            for _ in 0 ..< size {
                try session.beginWrite()
                for _ in 0 ..< random.below(4) { try helper.mutate(session, &random) }
                if random.chance(15) { try session.cancel() } else { try session.commit() }
            }
            if grouped { try session.endGroup() }
        }
        withExtendedLifetime(tokens) {}
        return received.withLock { $0 }
    }

    /// Groups are an optimisation of flushes: callbacks get the same as if each write had been flushed by itself.
    @Test func observersReceiveTheSameAsWithoutGroups() throws {
        try PropertyTest.run(rounds: 8) { random, comment in
            let seed = random.next()
            let sizes = (0 ..< 8).map { _ in 1 + random.below(6) }
            let one = try received(seed, sizes, grouped: false)
            let together = try received(seed, sizes, grouped: true)
            #expect(one == together, "\(comment)")
            #expect(one.count > 20)
        }
    }
}
