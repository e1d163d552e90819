// Deleting all objects of a class at once ends where deleting them one by one does: same rows, links, lists, backlinks
// and indexes, same news for observers; and it costs what the chunks cost, not what the objects do.
import MotteLiveObjects
import MotteQueryEngine
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct DeleteAllTests {
    private let schema = """
        Person { id: int key, name: string indexed, friend: link<Person>, dog: link<Dog>, dogs: list<Dog>,
            tags: list<string> }
        Dog { name: string?, owner: link<Person>, walkers: list<Person>, other: link<Dog> }
        """

    /// The same in both stores, apart from how people are deleted.
    private struct Twins {
        let fast: Session
        let slow: Session
        var both: [Session] { [fast, slow] }

        init(schema: String, rowGroupSize: Int) throws {
            fast = try TestStore(rowGroupSize: rowGroupSize, schema: schema).open()
            slow = try TestStore(rowGroupSize: rowGroupSize, schema: schema).open()
        }

        func inWrite(_ body: (Session) throws -> Void) throws {
            for session in both { try session.beginWrite() }
            for session in both { try body(session) }
        }

        func commit() throws { for session in both { _ = try session.commit() } }

        func deleteAll(_ className: String) throws {
            let count = try fast.objects(className).deleteObjects()
            let keys = try slow.objects(className).allKeys
            #expect(try slow.delete(try slow.tableKey(className), keys) == count)
            try compare()
        }

        func compare() throws {
            let left = try StoreDump.text(fast)
            let right = try StoreDump.text(slow)
            #expect(left == right)
            let ofPeople = ["name == 'long enough to be hashed'", "name == 'n1'", "ANY tags == 't'", "dog != nil"]
            let ofDogs = ["owner != nil", "ANY walkers.name == 'n1'", "other.owner != nil"]
            for (name, queries) in [("Person", ofPeople), ("Dog", ofDogs)] {
                for query in queries {
                    let found = try fast.objects(name).filter(query).allKeys
                    let expected = try slow.objects(name).filter(query).allKeys
                    #expect(found == expected, "\(query)")
                }
            }
        }
    }

    @Test(arguments: [3, 480])
    func itEndsWhereDeletingOneByOneDoes(_ rowGroupSize: Int) throws {
        try PropertyTest.run(rounds: 4) { random, _ in
            let twins = try Twins(schema: schema, rowGroupSize: rowGroupSize)
            var nextID = 0
            for _ in 0 ..< 6 {
                let seed = random.next()
                let first = nextID
                nextID += 1 + random.below(rowGroupSize == 3 ? 30 : 700)
                let last = nextID
                let splits = random.chance(50)
                let deletesFirst = random.chance(30)
                let which = random.below(3)
                try twins.inWrite { session in
                    var random = SeededRandom(seed: seed)
                    try fill(session, first ..< last, &random)
                }
                if splits {
                    try twins.commit()
                    try twins.inWrite { _ in }
                }
                if deletesFirst {
                    // Some of them went before, in the same write.
                    for session in twins.both {
                        let keys = try session.objects("Person").allKeys.prefix(5)
                        _ = try session.delete(try session.tableKey("Person"), Array(keys))
                    }
                }
                if which != 1 { try twins.deleteAll("Person") }
                if which != 0 { try twins.deleteAll("Dog") }
                if random.chance(50) {
                    // The same primary keys may come again, in the same write.
                    let again = random.next()
                    if which != 1 {
                        for session in twins.both {
                            var random = SeededRandom(seed: again)
                            try fill(session, first ..< min(first + 5, last), &random)
                        }
                    } else {
                        for session in twins.both {
                            var random = SeededRandom(seed: again)
                            try fill(session, last ..< last + 5, &random)
                        }
                        nextID += 5
                    }
                    try twins.compare()
                }
                try twins.commit()
                try twins.compare()
                if which == 1 {
                    try twins.inWrite { _ in }
                    try twins.deleteAll("Person")
                    try twins.commit()
                }
                let count = try twins.fast.objects("Person").count()
                #expect(try twins.fast.objects("Person").filter("id >= 0").count() == count)
            }
        }
    }

    private func fill(_ session: Session, _ ids: Range<Int>, _ random: inout SeededRandom) throws {
        var dogs: [LiveObject] = []
        for number in 0 ..< 1 + random.below(8) { dogs.append(try session.add("Dog", ["name": .string("d\(number)")])) }
        var people: [LiveObject] = []
        for id in ids {
            let name = random.chance(20) ? "long enough to be hashed" : "n\(id % 7)"
            let person = try session.add("Person", ["id": .int(Int64(id)), "name": .string(name)])
            if random.chance(30), !people.isEmpty { try person.set("friend", to: .link(random.pick(people))) }
            if random.chance(30) { try person.set("dog", to: .link(random.pick(dogs))) }
            if random.chance(10) { try person.append(random.pick(dogs), to: "dogs") }
            if random.chance(10) { try person.append(.string("t"), to: "tags", times: random.chance(3) ? 700 : 2) }
            people.append(person)
        }
        for dog in dogs {
            if random.chance(60) { try dog.set("owner", to: .link(random.pick(people))) }
            if random.chance(50) { try dog.set("other", to: .link(random.pick(dogs))) }
            for _ in 0 ..< random.below(4) { try dog.append(random.pick(people), to: "walkers") }
        }
    }

    @Test func cancellingBringsThemBack() throws {
        let session = try TestStore(schema: schema).open()
        try session.inWrite {
            var random = SeededRandom(seed: 1)
            try fill(session, 0 ..< 50, &random)
        }
        let before = try StoreDump.text(session)
        try session.beginWrite()
        #expect(try session.deleteAll(try session.tableKey("Person")) == 50)
        #expect(try session.objects("Person").count() == 0)
        try session.cancel()
        #expect(try StoreDump.text(session) == before)
    }

    /// One run in the change log, and no row is looked at.
    @Test func itCostsWhatChunksCost() throws {
        let session = try TestStore(rowGroupSize: 480, schema: "Row { number: int, text: string indexed }").open()
        let table = try session.tableKey("Row")
        let count = 100_000
        try session.inWrite {
            let rows = [ValueView](repeating: .int(7), count: count)
            let column = try #require(try session.schema.type(named: "Row").property(named: "number")?.columnKey)
            _ = try rows.withUnsafeBufferPointer { rows in
                try session.insertBatch(table, columns: [column], rows: rows.baseAddress, rowCount: count)
            }
        }
        let before = session.counters.read().chunksDecoded
        let logged = try session.inWrite { () throws -> UInt64 in
            #expect(try session.deleteAll(table) == count)
            return session.counters.read().chunksDecoded - before
        }
        #expect(logged == 0)
        #expect(try session.objects("Row").count() == 0)
        #expect(try session.objects("Row").filter("text == ''").count() == 0)
    }
}

extension LiveObject {
    fileprivate func append(_ object: LiveObject, to property: String) throws {
        guard let list = try collection(property) as? LiveList else { return }
        try list.append(object)
    }

    fileprivate func append(_ value: Value, to property: String, times: Int) throws {
        guard let list = try collection(property) as? LiveList else { return }
        for _ in 0 ..< times { try list.append(value) }
    }
}
