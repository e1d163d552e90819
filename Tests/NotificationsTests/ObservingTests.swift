// Observation end to end: what is delivered when, to whom, with which positions.
import MotteLiveObjects
import MotteNotifications
import MotteQueryEngine
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

let kennelSchema = """
    Person { id: int key, name: string, age: int?, friend: link<Person>, friends: list<Person>, tags: list<string>,
             dogs: inverse<Dog.owner> }
    Dog { name: string, owner: link<Person> }
    Cat { name: string }
    """

func errorCode(_ body: () throws -> Void) -> ErrorCode? {
    do {
        try body()
        return nil
    } catch {
        return (error as? DatabaseError)?.code
    }
}

extension Observation {
    /// The change set that waits, nil for none.
    func pull() throws -> ChangeSet? {
        if case .changes(let changes) = try next() { return changes }
        return nil
    }

    var hasEnded: Bool {
        if case .end? = try? next() { return true }
        return false
    }
}

final class Recorder {
    var sets: [ChangeSet] = []
    var texts: [String] { sets.map(\.short) }
}

extension ChangeSet {
    /// Without versions.
    var short: String { String(description.drop { $0 != " " }.dropFirst()) }
}

@Suite struct ObservingTests {
    func open() throws -> (store: TestStore, session: Session, people: [LiveObject]) {
        let store = TestStore(schema: kennelSchema)
        let session = try store.open()
        let people = try session.inWrite {
            try (0 ..< 10).map { try session.add("Person", ["id": .int(Int64($0)), "age": .int(Int64($0 * 10))]) }
        }
        return (store, session, people)
    }

    @Test func theFirstSetIsInitialAndComesAtADeliveryPoint() throws {
        let (_, session, people) = try open()
        let recorder = Recorder()
        let token = try session.objects("Person").filter("age > 45").observe { recorder.sets.append($0) }
        #expect(recorder.sets.isEmpty)
        try session.refresh()
        #expect(recorder.texts == ["initial"])
        try session.refresh()
        #expect(recorder.sets.count == 1)
        try session.inWrite { try people[0].set("age", to: .int(50)) }
        #expect(recorder.texts.last == "+[0]")
        #expect(recorder.sets.last?.toVersion == (try session.version))
        token.stop()
        try session.inWrite { try people[0].set("age", to: .int(0)) }
        #expect(recorder.sets.count == 2)
    }

    @Test func beginningToWriteDoesNotDeliverTheInitialState() throws {
        let (_, session, people) = try open()
        let recorder = Recorder()
        let token = try session.objects("Person").filter("age > 85").observe { recorder.sets.append($0) }
        try session.beginWrite()
        #expect(recorder.sets.isEmpty)
        try people[0].set("age", to: .int(100))
        try session.commit()
        #expect(recorder.texts == ["initial"])
        try session.inWrite {}
        #expect(recorder.sets.count == 1)
        withExtendedLifetime(token) {}
    }

    @Test func insertionsDeletionsAndModifications() throws {
        let (_, session, people) = try open()
        let token = try session.objects("Person").filter("age >= 30").observe()
        #expect(try token.pull()?.isInitial == true)
        #expect(try token.pull() == nil)
        try session.inWrite {
            try people[3].set("age", to: .int(0))
            try people[5].set("age", to: .int(51))
            try people[1].set("age", to: .int(31))
            try people[8].delete()
            let fresh = try session.add("Person", ["id": .int(20), "age": .int(99)])
            try fresh.set("age", to: .int(98))
        }
        // Before: 3 4 5 6 7 8 9; after: 1 4 5 6 7 9 10.
        #expect(try token.pull()?.short == "-[0, 5] +[0, 6] ~[2]~[2]")
        try session.inWrite { try people[0].set("name", to: .string("nobody")) }
        #expect(try token.pull() == nil)
        try session.inWrite {
            try people[4].set("age", to: .int(40))
            let gone = try session.add("Person", ["id": .int(21), "age": .int(99)])
            try gone.delete()
        }
        #expect(try token.pull()?.short == "~[1]~[1]")
        try session.inWrite { try session.add("Cat", ["name": .string("Tom")]) }
        #expect(try token.pull() == nil)
    }

    @Test func severalCommitsComeAsOne() throws {
        let (store, session, people) = try open()
        let other = try store.open()
        let token = try session.objects("Person").observe()
        #expect(try token.pull()?.isInitial == true)
        for id in 30 ..< 33 { try other.inWrite { try other.add("Person", ["id": .int(Int64(id))]) } }
        try session.inWrite { try people[0].delete() }
        try session.inWrite { try people[1].set("name", to: .string("x")) }
        #expect(try token.pull()?.short == "-[0] +[9, 10, 11] ~[1]~[0]")
        #expect(try token.pull() == nil)
    }

    @Test func sortedRowsMoveAsDeletionAndInsertion() throws {
        let (_, session, people) = try open()
        let token = try session.objects("Person").filter("age > 20").sorted(by: "age", ascending: false).observe()
        #expect(try token.pull()?.isInitial == true)
        try session.inWrite { try people[3].set("age", to: .int(75)) }
        // 9 8 7 6 5 4 3 -> 9 8 3 7 6 5 4
        #expect(try token.pull()?.short == "-[6] +[2]")
        try session.inWrite { try people[3].set("age", to: .int(76)) }
        #expect(try token.pull()?.short == "~[2]~[2]")
    }

    @Test func limitedResultsSeeTheirWindow() throws {
        let (_, session, people) = try open()
        let top = try session.objects("Person").filter("age > 10 SORT(age DESC) LIMIT(3)")
        let token = try top.observe()
        #expect(try token.pull()?.isInitial == true)
        #expect(try top.allKeys == [9, 8, 7])
        try session.inWrite { try people[9].delete() }
        #expect(try token.pull()?.short == "-[0] +[2]")
        #expect(try top.allKeys == [8, 7, 6])
        try session.inWrite { try people[2].set("age", to: .int(1000)) }
        #expect(try token.pull()?.short == "-[2] +[0]")
        try session.inWrite { try people[3].set("age", to: .int(31)) }
        #expect(try token.pull() == nil)
    }

    @Test func nothingIsEvaluatedAgainForASmallCommit() throws {
        let (_, session, people) = try open()
        let results = try session.objects("Person").filter("age > 45 AND friend.name != 'x'")
        let sorted = try results.sorted(by: "age")
        let tokens = try [results.observe(), sorted.observe(), people[0].collection("friends").observe()]
        for token in tokens { #expect(try token.pull()?.isInitial == true) }
        let before = session.counters.read()
        try session.inWrite { try people[5].set("friend", to: .link(people[0])) }
        try session.inWrite { try people[0].set("name", to: .string("x")) }
        for token in tokens { _ = try token.pull() }
        #expect(try results.allKeys == [6, 7, 8, 9])
        #expect(try sorted.allKeys == [6, 7, 8, 9])
        let after = session.counters.read()
        #expect(after.fullReruns == before.fullReruns)
        #expect(after.rowsEvaluated - before.rowsEvaluated <= 20)
    }

    @Test func changesOfLinkedObjectsAreModifications() throws {
        let (_, session, people) = try open()
        try session.inWrite { for index in 1 ..< 10 { try people[index].set("friend", to: .link(people[index - 1])) } }
        let token = try session.objects("Person").filter("age >= 60").observe()
        let byFriend = try session.objects("Person").filter("friend.name == 'king'").observe()
        #expect(try token.pull()?.isInitial == true && byFriend.pull()?.isInitial == true)
        try session.inWrite { try people[3].set("name", to: .string("king")) }
        // Up to four links away: 4, 5, 6 and 7.
        #expect(try token.pull()?.short == "~[0, 1]~[0, 1]")
        #expect(try byFriend.pull()?.short == "+[0]")
        try session.inWrite { try people[3].delete() }
        #expect(try byFriend.pull()?.short == "-[0]")
    }

    @Test func listsTellTheirEdits() throws {
        let (_, session, people) = try open()
        let list = try people[0].collection("friends") as! LiveList
        let tags = try people[0].collection("tags") as! LiveList
        try session.inWrite { for index in 1 ..< 6 { try list.append(people[index]) } }
        let token = try list.observe()
        let tagToken = try tags.observe()
        #expect(try token.pull()?.isInitial == true && tagToken.pull()?.isInitial == true)
        try session.inWrite {
            try list.remove(at: 0)
            try list.insert(.link(people[9].link), at: 2)
            try list.set(0, to: .link(people[2].link))
            try tags.append(.string("a"))
        }
        // 1 2 3 4 5 -> 2 3 9 4 5; the slot that got the same object again is modified.
        #expect(try token.pull()?.short == "-[0] +[2] ~[1]~[0]")
        #expect(try tagToken.pull()?.short == "+[0]")
        try session.inWrite { try list.move(from: 4, to: 0) }
        #expect(try token.pull()?.short == "-[4] +[0]")
        try session.inWrite { try people[3].set("name", to: .string("x")) }
        #expect(try token.pull()?.short == "~[2]~[2]")
        try session.inWrite { try people[3].delete() }
        #expect(try token.pull()?.short == "-[2]")
        try session.inWrite { try people[0].delete() }
        #expect(try token.pull()?.short == "deleted -[0, 1, 2, 3]")
        #expect(token.hasEnded)
        #expect(errorCode { _ = try list.observe() } == .objectDeleted)
    }

    @Test func backlinksTellWhoCameAndWent() throws {
        let (_, session, people) = try open()
        let dogs = try session.inWrite {
            try ["Rex", "Max", "Ben"].map { try session.add("Dog", ["name": .string($0)]) }
        }
        let token = try people[0].collection("dogs").observe()
        let owners = try session.objects("Person").filter("dogs.@count > 0").observe()
        #expect(try token.pull()?.isInitial == true && owners.pull()?.isInitial == true)
        try session.inWrite { for dog in dogs { try dog.set("owner", to: .link(people[0])) } }
        #expect(try token.pull()?.short == "+[0, 1, 2]")
        #expect(try owners.pull()?.short == "+[0]")
        try session.inWrite {
            try dogs[0].delete()
            try dogs[2].set("name", to: .string("Big"))
        }
        #expect(try token.pull()?.short == "-[0] ~[2]~[1]")
        try session.inWrite { for dog in dogs[1...] { try dog.set("owner", to: .link(people[4])) } }
        #expect(try token.pull()?.short == "-[0, 1]")
        #expect(try owners.pull()?.short == "-[0] +[0]")
        try session.inWrite { try people[0].delete() }
        #expect(try token.pull()?.short == "deleted")
        #expect(token.hasEnded)
    }

    /// A commit that changes a property of very many objects does not keep what it was.
    @Test(arguments: [65_536, 65_537]) func oldValuesAreKeptOfSoManyObjects(count: Int) throws {
        let session = try TestStore(rowGroupSize: 1_904, schema: "Row { n: int, other: int }").open()
        let table = try session.tableKey("Row")
        let columns = try session.schema.type(named: "Row").properties.compactMap(\.columnKey)
        try session.inWrite {
            let rows = [ValueView](repeating: .int(1), count: count * columns.count)
            try rows.withUnsafeBufferPointer {
                _ = try session.insertBatch(table, columns: columns, rows: $0.baseAddress, rowCount: count)
            }
        }
        let token = try #require(try session.object(table, at: ObjectKey(5))).observe()
        #expect(try token.pull() == nil)
        try session.inWrite {
            for row in 0 ..< count { try session.set(table, columns[0], ObjectKey(Int64(row)), to: .int(2)) }
            try session.set(table, columns[1], ObjectKey(5), to: .int(3))
        }
        let changed = try #require(try token.pull()).properties
        let isKept = count == 65_536
        #expect(changed.map(\.new) == [.int(2), .int(3)])
        #expect(
            changed.map(\.isOldKnown) == [isKept, true] && changed.map(\.old) == [isKept ? .int(1) : .null, .int(1)])
    }

    @Test func objectsTellTheirProperties() throws {
        let (store, session, people) = try open()
        let other = try store.open()
        let token = try people[1].observe()
        #expect(try token.pull() == nil)
        try session.inWrite {
            try people[1].set("name", to: .string("b"))
            try people[1].set("name", to: .string("c"))
            try people[1].set("age", to: .null)
            try (people[1].collection("tags") as! LiveList).append(.string("t"))
            try people[2].set("age", to: .null)
        }
        let changes = try #require(try token.pull())
        let names = changes.properties.map(\.name)
        #expect(names == ["name", "age", "tags"])
        #expect(changes.properties.map(\.old) == [.string(""), .int(10), .null])
        #expect(changes.properties.map(\.new) == [.string("c"), .null, .null])
        let long = String(repeating: "x", count: 100)
        try session.inWrite { try people[1].set("name", to: .string(long)) }
        _ = try token.pull()
        try session.inWrite { try people[1].set("name", to: .string("short")) }
        #expect(try token.pull()?.properties.first?.isOldKnown == false)
        try other.inWrite { try other.find(other.tableKey("Person"), primaryKey: .int(1))?.delete() }
        try session.refresh()
        #expect(try token.pull()?.short == "deleted")
        #expect(token.hasEnded)
    }

    @Test func sessionsTellVersions() throws {
        let (store, session, _) = try open()
        let other = try store.open()
        let recorder = Recorder()
        let token = try session.observe { recorder.sets.append($0) }
        try session.inWrite { try session.add("Cat") }
        #expect(recorder.sets.count == 1)
        try session.inWrite {}
        #expect(recorder.sets.count == 2 && recorder.sets[1].fromVersion == recorder.sets[1].toVersion)
        for _ in 0 ..< 3 { try other.inWrite { try other.add("Cat") } }
        try session.refresh()
        #expect(recorder.sets.count == 3)
        #expect(recorder.sets[2].toVersion.rawValue == recorder.sets[2].fromVersion.rawValue + 3)
        try session.refresh()
        #expect(recorder.sets.count == 3)
        withExtendedLifetime(token) {}
    }

    @Test func misuse() throws {
        let (_, session, people) = try open()
        let frozen = try session.freeze()
        #expect(errorCode { _ = try frozen.objects("Person").observe() } == .frozen)
        try session.beginWrite()
        #expect(errorCode { _ = try session.objects("Person").observe() } == .alreadyInWrite)
        #expect(errorCode { _ = try people[0].observe() } == .alreadyInWrite)
        #expect(errorCode { _ = try session.observe() } == .alreadyInWrite)
        try people[0].delete()
        try session.commit()
        #expect(errorCode { _ = try people[0].observe() } == .objectDeleted)
        let callback = try session.objects("Person").observe { _ in }
        #expect(errorCode { _ = try callback.next() } == .invalidArgument)
        let pull = try session.objects("Person").observe()
        try session.close()
        #expect(pull.hasEnded)
    }

    @Test func callbacksMayWriteStopAndObserve() throws {
        let (_, session, people) = try open()
        let texts = Recorder()
        var order: [String] = []
        var second: Observation?
        var late: Observation?
        let first = try session.objects("Person").observe { changes throws(DatabaseError) in
            order.append("first \(changes.short)")
            if changes.insertions.count == 1, order.count < 6 {
                try session.beginWrite()
                try people[0].set("name", to: .string("from a callback"))
                try session.commit()
                second?.stop()
                late = try session.objects("Cat").observe { texts.sets.append($0) }
            }
            #expect(errorCode { try session.refresh() } == .reentrant)
            #expect(errorCode { try session.close() } == .reentrant)
        }
        second = try session.objects("Person").observe { order.append("second \($0.short)") }
        try session.refresh()
        #expect(order == ["first initial", "second initial"])
        try session.inWrite { try session.add("Person", ["id": .int(77)]) }
        #expect(order == ["first initial", "second initial", "first +[10]", "first ~[0]~[0]"])
        try session.refresh()
        #expect(texts.texts == ["initial"])
        withExtendedLifetime((first, late)) {}
    }

    @Test func aFailingCallbackFailsNoCommit() throws {
        let (_, session, _) = try open()
        let recorder = Recorder()
        var fails = false
        let first = try session.objects("Person").observe { _ throws(DatabaseError) in
            if fails { throw DatabaseError(.callback, "no") }
        }
        let second = try session.objects("Person").observe { recorder.sets.append($0) }
        try session.refresh()
        fails = true
        var failures: [ErrorCode] = []
        session.onObserverFailure = { failures.append($0.code) }
        let before = try session.version
        try session.beginWrite()
        try session.add("Person", ["id": .int(50)])
        try session.commit()
        #expect(failures == [.callback] && !session.isInWrite)
        #expect(try session.version > before)
        // The others are notified all the same.
        #expect(recorder.texts == ["initial", "+[10]"])
        fails = false
        try session.refresh()
        #expect(recorder.texts == ["initial", "+[10]"])
        withExtendedLifetime((first, second)) {}
    }

    @Test func lettingGoOfATokenEndsIt() throws {
        let (_, session, _) = try open()
        let recorder = Recorder()
        var token: Observation? = try session.objects("Person").observe { recorder.sets.append($0) }
        try session.refresh()
        withExtendedLifetime(token) {}
        token = nil
        try session.inWrite { try session.add("Person", ["id": .int(50)]) }
        #expect(recorder.texts == ["initial"])
    }
}
