// Lists, results and backlinks against plain arrays; bulk reads against single ones.
import MotteLiveObjects
import MotteQueryEngine
import MotteValues
import TestSupport
import Testing

@Suite struct CollectionTests {
    /// `count` people: id, name "n<id>", age id % 10 or null, score id / 4, friend = the one before.
    func people(_ session: Session, _ count: Int) throws -> [LiveObject] {
        try session.inWrite {
            var made: [LiveObject] = []
            for id in 0 ..< count {
                var values: [String: Value] = [
                    "id": .int(Int64(id)), "name": .string("n\(id)"), "age": id % 4 == 3 ? .null : .int(Int64(id % 10)),
                    "score": .double(Double(id) / 4),
                ]
                if let last = made.last { values["friend"] = .link(last) }
                made.append(try session.add("Person", values))
            }
            return made
        }
    }

    @Test func resultsNarrowSortAndLimit() throws {
        let session = try TestStore(schema: peopleSchema).open()
        _ = try people(session, 20)
        let all = try session.objects("Person")
        #expect(try all.allKeys == Array(0 ..< 20))
        let adults = try all.filter("age > 4")
        #expect(try adults.allKeys == [5, 6, 8, 9, 16, 17, 18])
        let fewer = try adults.filter("score < $0", Arguments([Value.double(4)]))
        #expect(try fewer.allKeys == [5, 6, 8, 9])
        let sorted = try fewer.sorted(by: "score", ascending: false)
        #expect(try sorted.allKeys == [9, 8, 6, 5])
        #expect(try sorted.limited(to: 2).allKeys == [9, 8])
        #expect(try sorted.limited(to: 2).filter("age < 9").allKeys == [8])
        #expect(try all.filter("age >= 8 SORT(age DESC, score DESC) LIMIT(3)").allKeys == [9, 18, 8])
        #expect(try all.sorted(by: [("age", true)]).sorted(by: [("name", true)]).limited(to: 3).allKeys == [0, 1, 10])
        #expect(try all.filter("friend.age == 9").allKeys == [10])
        #expect(try adults.find(.link(ObjectLink(table: session.tableKey("Person"), key: ObjectKey(8)))) == 2)
        #expect(try adults.find(.int(8)) == nil)
        #expect(try adults.object(at: 1)?.get("id") == .int(6))
        #expect(code { _ = try adults.key(at: 7) } == .outOfBounds)
        #expect(code { _ = try adults.key(at: -1) } == .outOfBounds)
        #expect(code { _ = try all.limited(to: -1) } == .invalidArgument)
        #expect(
            code { _ = try all.filter("agge > 3") } == .queryInvalid
                || code { _ = try all.filter("agge > 3") } == .unknownProperty)
        #expect(code { _ = try all.filter("age >") } == .querySyntax)
    }

    @Test func resultsFollowTheWrite() throws {
        let session = try TestStore(schema: peopleSchema).open()
        let made = try people(session, 10)
        let old = try session.objects("Person").filter("age >= 5")
        #expect(try old.allKeys == [5, 6, 8, 9])
        try session.beginWrite()
        try made[0].set("age", to: .int(50))
        try made[8].delete()
        #expect(try old.allKeys == [0, 5, 6, 9])
        let fresh = try session.add("Person", ["id": .int(99), "age": .int(7)])
        #expect(try old.allKeys == [0, 5, 6, 9, 10])
        #expect(try session.objects("Person").allKeys == [0, 1, 2, 3, 4, 5, 6, 7, 9, 10])
        #expect(try session.objects("Person").index(of: fresh.key) == 9)
        try session.cancel()
        #expect(try old.allKeys == [5, 6, 8, 9])
    }

    @Test func preparedQueriesRunAgain() throws {
        let session = try TestStore(schema: peopleSchema).open()
        _ = try people(session, 10)
        let query = try session.query(session.tableKey("Person"), "age >= $0 SORT(age DESC)", Arguments([Value.int(6)]))
        #expect(try query.count() == 3)
        #expect(try query.first()?.key == ObjectKey(9))
        let results = try query.results()
        try query.bind(0, to: .int(9))
        #expect(try query.count() == 1 && results.count() == 3)
        #expect(code { try query.bind(1, to: .int(9)) } == .outOfBounds)
        #expect(query.argumentCount == 1)
    }

    @Test func snapshotsStay() throws {
        let session = try TestStore(schema: peopleSchema).open()
        let made = try people(session, 8)
        let fixed = try session.objects("Person").filter("age < 3").snapshot()
        #expect(fixed.isSnapshot)
        try session.inWrite {
            for index in 0 ..< (try fixed.count()) { try fixed.object(at: index)?.set("age", to: .int(100)) }
            try made[1].delete()
        }
        #expect(try fixed.allKeys == [0, 1, 2])
        #expect(try fixed.object(at: 1) == nil)
        #expect(try fixed.value(at: 1).isNull)
        #expect(try fixed.object(at: 2)?.get("age") == .int(100))
        #expect(try fixed.filter("age == 100").allKeys == [0, 2])
        #expect(try fixed.deleteInWrite(session) == 2)
    }

    @Test func backlinksFollow() throws {
        let session = try TestStore(schema: peopleSchema).open()
        let made = try people(session, 3)
        let dogs = try made[0].collection("dogs")
        #expect(dogs.kind == .backlinks)
        #expect(try dogs.count() == 0)
        let rex = try session.inWrite { try session.add("Dog", ["name": .string("Rex"), "owner": .link(made[0])]) }
        #expect(try dogs.allKeys == [0])
        #expect(try dogs.filter("name == 'Rex'").count() == 1)
        #expect(try dogs.filter("name == 'Max'").count() == 0)
        try session.inWrite { try rex.set("owner", to: .link(made[1])) }
        #expect(try dogs.count() == 0)
        let person = try session.tableKey("Person")
        let friend = try made[0].column(named: "friend")
        #expect(try made[0].backlinks(origin: person, friend).allKeys == [1])
        try session.inWrite { try made[0].delete() }
        #expect(try dogs.count() == 0 && dogs.keys() == [])
        #expect(!dogs.isValid)
        #expect(try made[1].get("friend") == .null)
        #expect(code { _ = try made[1].backlinks(origin: person, made[1].column(named: "name")) } == .wrongType)
    }

    @Test(arguments: TestStore.Kind.allCases)
    func listsBehaveLikeArrays(kind: TestStore.Kind) throws {
        try PropertyTest.run(rounds: kind == .file ? 3 : 12) { random, comment in
            let session = try TestStore(kind, schema: peopleSchema).open()
            let made = try people(session, 6)
            let friends = try made[0].collection("friends") as! LiveList
            let tags = try made[5].collection("tags") as! LiveList
            var keys: [Int64] = []
            var texts: [String] = []
            for _ in 0 ..< 12 {
                let startKeys = keys
                let startTexts = texts
                try session.beginWrite()
                for _ in 0 ..< random.below(6) { try edit(&random, friends, &keys, tags, &texts) }
                #expect(try friends.allKeys == keys && friends.keys() == keys, "\(comment)")
                #expect(try tags.allValues == texts.map(Value.string), "\(comment)")
                if random.chance(20) {
                    try session.cancel()
                    (keys, texts) = (startKeys, startTexts)
                } else {
                    try session.commit()
                }
                #expect(try friends.allKeys == keys && friends.count() == keys.count, "\(comment)")
                #expect(try tags.allValues == texts.map(Value.string), "\(comment)")
            }
        }
    }

    func edit(
        _ random: inout SeededRandom, _ friends: LiveList, _ keys: inout [Int64], _ tags: LiveList,
        _ texts: inout [String]
    ) throws {
        let key = Int64(random.below(6))
        let text = "t\(random.below(100))"
        let table = friends.owner.table
        let view = ValueView.link(ObjectLink(table: table, key: ObjectKey(key)))
        switch random.below(8) {
        case 0:
            let index = random.below(keys.count + 1)
            try friends.insert(view, at: index)
            keys.insert(key, at: index)
        case 1 where !keys.isEmpty:
            let index = random.below(keys.count)
            try friends.set(index, to: view)
            keys[index] = key
        case 2 where !keys.isEmpty:
            let index = random.below(keys.count)
            try friends.remove(at: index)
            keys.remove(at: index)
        case 3 where !keys.isEmpty:
            let from = random.below(keys.count)
            let to = random.below(keys.count)
            try friends.move(from: from, to: to)
            keys.insert(keys.remove(at: from), at: to)
        case 4 where !keys.isEmpty:
            let left = random.below(keys.count)
            let right = random.below(keys.count)
            try friends.swap(left, right)
            keys.swapAt(left, right)
        case 5:
            let index = random.below(keys.count + 1)
            let gone = random.below(keys.count - index + 1)
            try friends.splice(at: index, removing: gone, inserting: [view, view])
            keys.replaceSubrange(index ..< index + gone, with: [key, key])
        case 6:
            try tags.append(.string(text))
            texts.append(text)
            #expect(code { try tags.append(.int(1)) } == .wrongType)
            #expect(code { try tags.insert(.null, at: 0) } == .nullNotAllowed)
            #expect(code { try tags.remove(at: texts.count) } == .outOfBounds)
            #expect(code { try friends.insert(view, at: keys.count + 1) } == .outOfBounds)
        default:
            if random.chance(20) {
                try tags.clear()
                texts = []
            }
        }
    }

    @Test func resultsOverListsKeepTheirOrder() throws {
        let session = try TestStore(schema: peopleSchema).open()
        let made = try people(session, 6)
        let list = try made[0].collection("friends") as! LiveList
        try session.inWrite { for index in [4, 2, 4, 1, 0] { try list.append(made[index]) } }
        #expect(try list.results().allKeys == [4, 2, 4, 1, 0])
        #expect(try list.filter("age > 0").allKeys == [4, 2, 4, 1])
        #expect(try list.sorted(by: "age").allKeys == [0, 1, 2, 4, 4])
        #expect(try list.limited(to: 2).allKeys == [4, 2])
        let tags = try made[1].collection("tags") as! LiveList
        try session.inWrite { for text in ["b", "c", "a"] { try tags.append(.string(text)) } }
        #expect(try tags.sorted(by: "self").allValues == [.string("a"), .string("b"), .string("c")])
        #expect(try tags.sorted(by: "self", ascending: false).limited(to: 1).allValues == [.string("c")])
        #expect(try tags.snapshot().allValues == [.string("b"), .string("c"), .string("a")])
        #expect(try Value.string("c").withView { view throws(DatabaseError) in try tags.find(view) } == 1)
        try session.inWrite { try made[0].delete() }
        #expect(code { _ = try list.count() } == .objectDeleted)
        #expect(!list.isValid)
    }

    @Test func totals() throws {
        let session = try TestStore(schema: peopleSchema).open()
        let made = try people(session, 12)
        let age = try made[0].column(named: "age")
        let score = try made[0].column(named: "score")
        let name = try made[0].column(named: "name")
        let all = try session.objects("Person")
        // Ages 0 1 2 - 4 5 6 - 8 9 0 -.
        #expect(try all.aggregate(.sum, age) == .int(35))
        #expect(try all.aggregate(.count, age) == .int(9))
        #expect(try all.aggregate(.count) == .int(12))
        #expect(try all.aggregate(.max, age) == .int(9))
        #expect(try all.aggregate(.average, age) == .double(35.0 / 9))
        #expect(try all.aggregate(.min, score) == .double(0))
        #expect(try all.filter("age > 7").aggregate(.sum, score) == .double(17.0 / 4))
        #expect(try all.filter("age > 70").aggregate(.sum, score) == .double(0))
        #expect(try all.filter("age > 70").aggregate(.average, score) == .null)
        #expect(try all.filter("age > 70").aggregate(.min, age) == .null)
        #expect(code { _ = try all.aggregate(.sum, name) } == .wrongType)
        #expect(code { _ = try all.aggregate(.max, name) } == .wrongType)
        try session.inWrite {
            try made[0].set("age", to: .int(.max))
            try made[1].set("age", to: .int(.max))
        }
        #expect(code { _ = try all.aggregate(.sum, age) } == .overflow)
        #expect(try all.aggregate(.max, age) == .int(.max))
    }

    @Test func bulkReadsEqualSingleReads() throws {
        try PropertyTest.run(rounds: 8) { random, comment in
            let session = try TestStore(schema: peopleSchema).open()
            let made = try people(session, 5 + random.below(20))
            try session.inWrite { for object in made where random.chance(20) { try object.delete() } }
            if random.chance(30) { try session.beginWrite() }
            if session.isInWrite { try made.first(where: \.isValid)?.set("name", to: .string("changed")) }
            let all = try session.objects("Person")
            for collection in [all, try all.filter("age > 2"), try all.sorted(by: "name"), try all.snapshot()]
                as [LiveCollection]
            {
                let total = try collection.count()
                let first = random.below(total + 2)
                let count = random.below(total + 3)
                let expected = max(0, min(count, total - first))
                let objects = try (0 ..< expected).map { try collection.object(at: first + $0)! }
                try check(collection, objects, first, count, comment)
            }
        }
    }

    func check(_ collection: LiveCollection, _ objects: [LiveObject], _ first: Int, _ count: Int, _ comment: String)
        throws
    {
        guard let table = collection.target, let type = try collection.session.schema[table] else { return }
        func column(_ name: String) -> ColumnKey? { type.property(named: name)?.columnKey }
        var ints = [Int64](repeating: -7, count: count + 1)
        var validity = [UInt8](repeating: 0xAA, count: count / 8 + 2)
        #expect(
            try collection.readInts(column("age"), first: first, count: count, into: &ints, validity: &validity)
                == objects.count, "\(comment)")
        for (index, object) in objects.enumerated() {
            let value = try object.get("age")
            #expect(
                value == ((validity[index >> 3] >> UInt8(index & 7)) & 1 == 1 ? .int(ints[index]) : .null), "\(comment)"
            )
        }
        #expect(ints[objects.count] == -7, "\(comment)")
        var doubles = [Double](repeating: -7, count: count + 1)
        #expect(
            try collection.readDoubles(column("score"), first: first, count: count, into: &doubles, validity: nil)
                == objects.count)
        #expect(
            try objects.map { try $0.get("score") } == doubles.prefix(objects.count).map(Value.double), "\(comment)")
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        var texts = [UnsafeRawBufferPointer](repeating: none, count: count + 1)
        #expect(try collection.readBytes(column("name"), first: first, count: count, into: &texts) == objects.count)
        #expect(
            try objects.map { try $0.get("name") }
                == texts.prefix(objects.count).map { .string(String(decoding: $0, as: UTF8.self)) }, "\(comment)")
        var links = [Int64](repeating: -7, count: count + 1)
        #expect(
            try collection.readLinks(column("friend"), first: first, count: count, into: &links, validity: nil)
                == objects.count)
        for (index, object) in objects.enumerated() {
            let friend = try object.object(object.column(named: "friend"))
            #expect(links[index] == friend?.key.rawValue ?? -1, "\(comment)")
        }
        var keys = [Int64](repeating: -7, count: count + 1)
        #expect(try collection.readKeys(first: first, count: count, into: &keys) == objects.count)
        #expect(Array(keys.prefix(objects.count)) == objects.map(\.key.rawValue), "\(comment)")
        var values = [ValueView](repeating: .null, count: 2 * count + 2)
        let columns = [column("friend"), column("name")]
        #expect(
            try collection.readValues(columns, first: first, count: count, into: &values, rowStride: 2, columnStride: 1)
                == objects.count)
        for (index, object) in objects.enumerated() {
            #expect(
                try values[2 * index].owned == object.get("friend")
                    && values[2 * index + 1].owned == object.get("name"), "\(comment)")
        }
        #expect(
            code { _ = try collection.readInts(column("name"), first: 0, count: 1, into: &ints, validity: nil) }
                == .wrongType)
        #expect(
            code { _ = try collection.readInts(column("friends"), first: 0, count: 1, into: &ints, validity: nil) }
                == .wrongType)
    }

    @Test func timestampsInUnits() throws {
        let session = try TestStore(schema: "Event { at: timestamp? }").open()
        try session.inWrite {
            try session.add("Event", ["at": .timestamp(Timestamp(seconds: -1, nanoseconds: 500_000_000))])
            try session.add("Event", ["at": .null])
            try session.add("Event", ["at": .timestamp(Timestamp(seconds: .max, nanoseconds: 0))])
        }
        let events = try session.objects("Event")
        let at = try events.object(at: 0)?.column(named: "at")
        var units = [Int64](repeating: -7, count: 3)
        #expect(
            try events.readTimestamps(at, unitsPerSecond: 1_000, first: 0, count: 2, into: &units, validity: nil) == 2)
        #expect(units == [-500, 0, -7])
        #expect(try events.readTimestamps(at, unitsPerSecond: 1, first: 0, count: 3, into: &units, validity: nil) == 3)
        #expect(units == [-1, 0, .max])
        #expect(
            code {
                _ = try events.readTimestamps(
                    at, unitsPerSecond: 1_000, first: 2, count: 1, into: &units, validity: nil)
            } == .overflow)
    }

    @Test func laziness() throws {
        let store = TestStore(.file, schema: peopleSchema)
        let writer = try store.open()
        _ = try people(writer, 50)
        let session = try store.open()
        let before = session.counters.read()
        let results = try session.objects("Person").filter("age > 3").sorted(by: "name").limited(to: 5)
        #expect(session.counters.read() == before)
        #expect(try results.count() == 5)
        #expect(session.counters.read() != before)
    }
}

extension LiveCollection {
    func deleteInWrite(_ session: Session) throws -> Int { try session.inWrite { try deleteObjects() } }
}
