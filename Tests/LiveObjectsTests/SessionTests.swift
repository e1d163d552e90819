// Sessions: what they show when, and the error of every misuse.
import MotteLiveObjects
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

let peopleSchema = """
    Person { id: int key, name: string, age: int?, score: double, friend: link<Person>, friends: list<Person>,
             tags: list<string>, dogs: inverse<Dog.owner> }
    Dog { name: string, owner: link<Person> }
    """

func code(_ body: () throws -> Void) -> ErrorCode? {
    do {
        try body()
        return nil
    } catch {
        return (error as? DatabaseError)?.code
    }
}

@Suite struct SessionTests {
    @Test(arguments: TestStore.Kind.allCases)
    func aSessionShowsOneVersionUntilItMoves(kind: TestStore.Kind) throws {
        let store = TestStore(kind, schema: peopleSchema)
        let writer = try store.open()
        let reader = try store.open()
        let ada = try writer.inWrite {
            try writer.add("Person", ["id": .int(1), "name": .string("Ada"), "age": .int(36)])
        }
        #expect(try ada.get("name") == .string("Ada"))
        let people = try reader.objects("Person")
        #expect(try people.count() == 0)
        #expect(try reader.refresh())
        #expect(try people.count() == 1)
        #expect(try !reader.refresh())
        let same = try #require(try reader.find(reader.tableKey("Person"), primaryKey: .int(1)))
        #expect(try same.get("age") == .int(36))
        try writer.inWrite { try ada.set("age", to: .null) }
        #expect(try same.get("age") == .int(36))
        #expect(try reader.latestVersion > reader.version)
        #expect(try reader.waitForChange(timeoutMilliseconds: 0))
        try reader.refresh()
        #expect(try same.get("age") == .null)
        #expect(try !reader.waitForChange(timeoutMilliseconds: 1))
    }

    @Test func anObjectIsTheSameAfterItsCommitAndNotAfterACancel() throws {
        let store = TestStore(schema: peopleSchema)
        let session = try store.open()
        let table = try session.tableKey("Person")
        try session.beginWrite()
        let lost = try session.add("Person", ["id": .int(1)])
        try session.cancel()
        try session.beginWrite()
        let made = try session.add("Person", ["id": .int(1)])
        #expect(made.isSame(as: made))
        try session.commit()
        let found = try #require(try session.find(table, primaryKey: .int(1)))
        #expect(lost.key != found.key)
        #expect(found.isSame(as: made) && made.isSame(as: found))
        #expect(!lost.isSame(as: found) && !found.isSame(as: lost) && lost.isSame(as: lost))
        let other = try store.open()
        let elsewhere = try #require(try other.find(table, primaryKey: .int(1)))
        #expect(!found.isSame(as: elsewhere))
        try session.inWrite { try found.delete() }
        #expect(!found.isSame(as: made) && found.isSame(as: found))
    }

    @Test func aCommitLandsOnItsOwnVersion() throws {
        let store = TestStore(schema: peopleSchema)
        let session = try store.open()
        let before = try session.version
        try session.beginWrite()
        try session.add("Person", ["id": .int(1)])
        let version = try session.commit()
        #expect(version.rawValue == before.rawValue + 1)
        #expect(try session.version == version)
        #expect(try session.latestVersion == version)
    }

    @Test func beginWriteAdvancesFirst() throws {
        let store = TestStore(schema: peopleSchema)
        let first = try store.open()
        let second = try store.open()
        try first.inWrite { try first.add("Person", ["id": .int(1)]) }
        try second.beginWrite()
        #expect(try second.objects("Person").count() == 1)
        try second.cancel()
        #expect(try second.objects("Person").count() == 1)
    }

    @Test func misuseIsAnError() throws {
        let store = TestStore(schema: peopleSchema)
        let session = try store.open()
        let person = try session.tableKey("Person")
        #expect(code { _ = try session.create(person, primaryKey: .int(1)) } == .notInWrite)
        #expect(code { try session.commit() } == .notInWrite)
        #expect(code { try session.cancel() } == .notInWrite)
        try session.beginWrite()
        #expect(code { try session.beginWrite() } == .alreadyInWrite)
        #expect(code { try session.refresh() } == .alreadyInWrite)
        #expect(code { _ = try session.waitForChange(timeoutMilliseconds: 0) } == .alreadyInWrite)
        let ada = try session.create(person, primaryKey: .int(1)).object
        #expect(code { _ = try session.create(person, primaryKey: .int(1)) } == .duplicatePrimaryKey)
        #expect(try session.create(person, primaryKey: .int(1), returnExisting: true).isNew == false)
        #expect(code { try ada.set("id", to: .int(2)) } == .primaryKeyIsFixed)
        #expect(code { try ada.set("name", to: .int(2)) } == .wrongType)
        #expect(code { try ada.set("name", to: .null) } == .nullNotAllowed)
        #expect(code { try ada.set("nmae", to: .null) } == .unknownProperty)
        #expect(code { _ = try ada.get("friends") } == .wrongType)
        #expect(code { _ = try ada.get("dogs") } == .wrongType)
        #expect(code { _ = try ada.collection("name") } == .wrongType)
        #expect(code { _ = try session.tableKey("Persn") } == .unknownClass)
        try session.commit()
        let frozen = try session.freeze()
        #expect(code { try frozen.beginWrite() } == .frozen)
        #expect(code { try frozen.refresh() } == .frozen)
        #expect(code { try frozen.object(person, at: ada.key)?.set("name", to: .string("x")) } == .frozen)
        var readOnly = try store.options
        readOnly.isReadOnly = true
        let reader = try Session.open(readOnly)
        #expect(code { try reader.beginWrite() } == .readOnly)
        try session.inWrite { try ada.delete() }
        #expect(!ada.isValid)
        #expect(code { _ = try ada.get("name") } == .objectDeleted)
        #expect(code { _ = try ada.collection("friends") } == .objectDeleted)
        #expect(try session.close())
        #expect(try !session.close())
        #expect(code { _ = try ada.get("name") } == .closed)
        #expect(code { try session.refresh() } == .closed)
        #expect(!ada.isValid)
        #expect(try frozen.objects("Person").count() == 1)
    }

    @Test func otherThreadsAreRefusedButMayAdopt() throws {
        let store = TestStore(schema: peopleSchema)
        let session = try store.open()
        let seen = try onAnotherThread { code { _ = try session.version } }
        #expect(seen == .wrongThread)
        let adopted = try onAnotherThread {
            try session.adoptCurrentThread()
            return try session.version
        }
        #expect(code { _ = try session.version } == .wrongThread)
        try session.adoptCurrentThread()
        #expect(try session.version == adopted)
    }

    @Test func writersTakeTurns() throws {
        let store = TestStore(schema: peopleSchema)
        let first = try store.open()
        let second = try store.open()
        try first.beginWrite()
        #expect(code { try second.beginWrite(timeoutMilliseconds: 1) } == .timeout)
        try first.cancel()
        try second.beginWrite(timeoutMilliseconds: 1_000)
        try second.cancel()
    }

    @Test func closingRollsBack() throws {
        let store = TestStore(schema: peopleSchema)
        let first = try store.open()
        let second = try store.open()
        try first.beginWrite()
        try first.add("Person", ["id": .int(1)])
        try first.close()
        try second.refresh()
        #expect(try second.objects("Person").count() == 0)
        try second.beginWrite(timeoutMilliseconds: 0)
        try second.cancel()
    }

    @Test func objectsOfACancelledWriteDoNotComeBack() throws {
        let store = TestStore(schema: peopleSchema)
        let session = try store.open()
        let kept = try session.inWrite { try session.add("Person", ["id": .int(1), "name": .string("old")]) }
        try session.beginWrite()
        try kept.set("name", to: .string("new"))
        let lost = try session.add("Person", ["id": .int(2)])
        let tags = try lost.collection("tags") as! LiveList
        #expect(lost.isValid)
        try session.cancel()
        #expect(try kept.get("name") == .string("old"))
        #expect(!lost.isValid)
        try session.inWrite { try session.add("Person", ["id": .int(3)]) }
        #expect(!lost.isValid)
        #expect(code { _ = try lost.get("name") } == .objectDeleted)
        #expect(code { _ = try tags.count() } == .objectDeleted)
        try session.inWrite {
            #expect(code { try lost.set("name", to: .string("x")) } == .objectDeleted)
            #expect(code { try lost.delete() } == .objectDeleted)
        }
    }

    @Test func theEpochMovesWithEveryChange() throws {
        let store = TestStore(schema: peopleSchema)
        let session = try store.open()
        let other = try store.open()
        var last = session.viewEpoch
        func moved() -> Bool {
            defer { last = session.viewEpoch }
            return session.viewEpoch != last
        }
        try session.beginWrite()
        #expect(!moved())
        let ada = try session.add("Person", ["id": .int(1)])
        #expect(moved())
        try ada.set("name", to: .string("x"))
        #expect(moved())
        try session.commit()
        #expect(moved())
        try session.beginWrite()
        try session.cancel()
        #expect(moved())
        try session.refresh()
        #expect(!moved())
        try other.inWrite { try other.add("Person", ["id": .int(2)]) }
        #expect(!moved())
        try session.refresh()
        #expect(moved())
        let frozen = try session.freeze()
        let epoch = frozen.viewEpoch
        try other.inWrite { try other.add("Person", ["id": .int(3)]) }
        #expect(frozen.viewEpoch == epoch)
    }

    @Test(arguments: TestStore.Kind.allCases)
    func openingAddsWhatIsMissingAndRefusesTheRest(kind: TestStore.Kind) throws {
        let store = TestStore(kind, schema: "Person { id: int key, name: string }")
        let session = try store.open()
        let ada = try session.inWrite { try session.add("Person", ["id": .int(1), "name": .string("Ada")]) }
        var options = try store.options
        options.schema = try SchemaText.parse(
            "Person { id: int key, age: int, name: string indexed } Dog { name: string }")
        let newer = try Session.open(options)
        #expect(try newer.objects("Dog").count() == 0)
        let seen = try #require(try newer.find(newer.tableKey("Person"), primaryKey: .int(1)))
        #expect(try seen.get("age") == .int(0))
        #expect(code { _ = try ada.get("age") } == .unknownProperty)
        try session.refresh()
        #expect(try ada.get("age") == .int(0))
        #expect(try ada.get("name") == .string("Ada"))
        options.schema = try SchemaText.parse("Person { id: int key, name: int }")
        #expect(code { _ = try Session.open(options) } == .schemaMismatch)
        options.schema = try SchemaText.parse("Cat { id: int }")
        options.isReadOnly = true
        #expect(try Session.open(options).objects("Cat").count() == 0)
        options.schema = try SchemaText.parse("Person { id: int key, more: int }")
        #expect(code { _ = try Session.open(options) } == .schemaMismatch)
        options.schema = nil
        #expect(try Session.open(options).schema.objectTypes.map(\.name) == ["Person", "Dog"])
    }

    @Test func setManyIsAllOrNothing() throws {
        let store = TestStore(schema: peopleSchema)
        let session = try store.open()
        let ada = try session.inWrite { try session.add("Person", ["id": .int(1), "age": .int(5)]) }
        let columns = try ["age", "score"].map { try ada.column(named: $0) }
        try session.beginWrite()
        let wrong = [ValueView.int(6), .bool(true)]
        let error = #expect(throws: DatabaseError.self) {
            try wrong.withUnsafeBufferPointer { try ada.setMany(columns, values: $0) }
        }
        #expect(error?.code == .wrongType && error?.details.rowIndex == 1)
        #expect(error?.message.hasPrefix("row") == false)
        #expect(try ada.get("age") == .int(5))
        let right = [ValueView.int(6), .double(1.5)]
        try right.withUnsafeBufferPointer { try ada.setMany(columns, values: $0) }
        try session.commit()
        #expect(try ada.get("age") == .int(6) && ada.get("score") == .double(1.5))
    }

    @Test func frozenSessionsServeEveryThread() throws {
        let store = TestStore(.file, schema: peopleSchema)
        let session = try store.open()
        try session.inWrite {
            for id in 0 ..< 100 {
                try session.add(
                    "Person", ["id": .int(Int64(id)), "name": .string("n\(id)"), "age": .int(Int64(id % 7))])
            }
        }
        let frozen = try session.freeze()
        let few = FrozenBox(try session.objects("Person").filter("age == 3").freeze())
        try session.inWrite { _ = try session.objects("Person").deleteObjects() }
        let threads = (0 ..< 4).map { _ in
            ThreadRun {
                let people = try frozen.objects("Person")
                var total = 0
                for index in 0 ..< (try people.count()) {
                    guard case .string(let name)? = try people.object(at: index)?.get("name"), name == "n\(index)"
                    else { return -1 }
                    total += 1
                }
                return try few.collection.count() * 1_000 + total
            }
        }
        for thread in threads { #expect(try thread.join() == 14_100) }
        #expect(try session.objects("Person").count() == 0)
    }
}

/// Frozen collections may be used from every thread.
struct FrozenBox: @unchecked Sendable {
    let collection: LiveCollection
    init(_ collection: LiveCollection) { self.collection = collection }
}
