// Sets and maps against Swift's own; numbers are those of the behaviours they show.
import MotteLiveObjects
import MotteQueryEngine
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

let boxSchema = """
    Box { id: int key, ints: set<int>, anything: set<mixed>, things: set<Thing>, names: map<string>, slots: map<mixed>,
          best: map<Thing>, optional: map<int?>, list: list<int> }
    Thing { id: int key, rank: int, boxes: inverse<Box.things> }
    """

@Suite struct SetAndMapTests {
    func box(_ session: Session) throws -> LiveObject {
        try session.inWrite { try session.add("Box", ["id": .int(Int64(try session.objects("Box").count()))]) }
    }

    func things(_ session: Session, _ count: Int) throws -> [LiveObject] {
        try session.inWrite {
            try (0 ..< count).map { try session.add("Thing", ["id": .int(Int64($0)), "rank": .int(Int64($0 % 3))]) }
        }
    }

    func set(_ object: LiveObject, _ name: String) throws -> LiveSet { try object.set(object.column(named: name)) }
    func map(_ object: LiveObject, _ name: String) throws -> LiveMap { try object.map(object.column(named: name)) }

    @Test func sets190IgnoreEqualElements() throws {
        let session = try TestStore(schema: boxSchema).open()
        let ints = try set(box(session), "ints")
        try session.beginWrite()
        #expect(try ints.put(.int(3)) && ints.put(.int(1)))
        #expect(try !ints.put(.int(3)))
        #expect(try ints.allValues == [.int(1), .int(3)])
        #expect(try ints.contains(.int(3)))
        #expect(try !ints.contains(.bool(true)))
        #expect(try ints.drop(.int(1)) && !ints.drop(.int(1)))
        #expect(code { try ints.put(.string("x")) } == .wrongType)
        #expect(code { try ints.put(.null) } == .nullNotAllowed)
        try session.commit()
        #expect(code { try ints.put(.int(1)) } == .notInWrite)
        #expect(code { try (ints.freeze() as? LiveSet)?.insert(.int(1)) } == .frozen)
        #expect(ints.kind == .set)
    }

    @Test func sets191TakeEqualNumbersOfDifferentKindsForOne() throws {
        let session = try TestStore(schema: boxSchema).open()
        let anything = try set(box(session), "anything")
        try session.inWrite { () throws in
            #expect(try anything.put(.int(1)))
            #expect(try !anything.put(.double(1)) && !anything.put(.float(1)))
            #expect(try anything.put(.bool(true)) && anything.put(.string("a")))
            #expect(try anything.put(.data([97])) && anything.put(.null))
        }
        #expect(try anything.allValues == [.null, .bool(true), .int(1), .string("a"), .data([97])])
        #expect(try anything.aggregate(.sum) == .decimal(Decimal128(Int64(1))))
        #expect(try anything.aggregate(.max) == .int(1), "of numbers alone")
    }

    @Test func sets193Combine() throws {
        try PropertyTest.run(rounds: 20) { random, comment in
            let session = try TestStore(schema: boxSchema).open()
            let ints = try set(box(session), "ints")
            let others = try set(box(session), "ints")
            let list = try #require(try box(session).collection("list") as? LiveList)
            var model: Set<Int64> = []
            var otherModel: Set<Int64> = []
            try session.inWrite {
                for _ in 0 ..< random.below(12) {
                    let value = Int64(random.below(10))
                    try others.put(.int(value))
                    try list.append(.int(value))
                    otherModel.insert(value)
                }
            }
            for _ in 0 ..< 6 {
                try session.inWrite {
                    let other: LiveCollection = random.chance(50) ? others : list
                    for _ in 0 ..< random.below(6) {
                        let value = Int64(random.below(10))
                        #expect(try ints.put(.int(value)) == model.insert(value).inserted, "\(comment)")
                    }
                    switch random.below(5) {
                    case 0:
                        try ints.formUnion(other)
                        model.formUnion(otherModel)
                    case 1:
                        try ints.formIntersection(other)
                        model.formIntersection(otherModel)
                    case 2:
                        try ints.subtract(other)
                        model.subtract(otherModel)
                    case 3:
                        try ints.formSymmetricDifference(other)
                        model.formSymmetricDifference(otherModel)
                    default:
                        try ints.assign(from: other)
                        model = otherModel
                    }
                    let relation = try ints.relation(to: other)
                    #expect(relation.contains(.isSubset) == model.isSubset(of: otherModel), "\(comment)")
                    #expect(relation.contains(.isStrictSubset) == model.isStrictSubset(of: otherModel), "\(comment)")
                    #expect(relation.contains(.isSuperset) == model.isSuperset(of: otherModel), "\(comment)")
                    #expect(
                        relation.contains(.isStrictSuperset) == model.isStrictSuperset(of: otherModel), "\(comment)")
                    #expect(relation.contains(.intersects) == !model.isDisjoint(with: otherModel), "\(comment)")
                    #expect(relation.contains(.isEqual) == (model == otherModel), "\(comment)")
                }
                #expect(try ints.allValues == model.sorted().map(Value.int), "\(comment)")
                let large = try ints.filter("SELF > 4").allValues
                #expect(large == model.filter { $0 > 4 }.sorted().map(Value.int), "\(comment)")
            }
        }
    }

    @Test func setsOfObjectsFilterAndFreeze() throws {
        let session = try TestStore(schema: boxSchema).open()
        let all = try things(session, 6)
        let owner = try box(session)
        let mine = try set(owner, "things")
        try session.inWrite { for index in [4, 2, 5, 0] { try mine.put(.link(all[index])) } }
        #expect(try mine.allKeys == [0, 2, 4, 5])
        #expect(try mine.filter("rank == 2").allKeys == [2, 5])
        #expect(try mine.index(of: ObjectKey(4)) == 2 && mine.index(of: ObjectKey(1)) == nil)
        #expect(try mine.sorted(by: "rank").allKeys == [0, 4, 2, 5])
        #expect(try mine.aggregate(.sum, all[0].column(named: "rank")) == .int(5))
        #expect(try all[4].collection("boxes").count() == 1)
        let frozen = try mine.freeze()
        let fixed = try mine.snapshot()
        // 73: a deleted object leaves the sets it is in.
        try session.inWrite { try all[4].delete() }
        #expect(try mine.allKeys == [0, 2, 5])
        #expect(try frozen.allKeys == [0, 2, 4, 5])
        #expect(try fixed.object(at: 2) == nil)
        // 78: collections of a deleted object are invalid, results over them empty.
        let few = try mine.filter("rank == 2")
        try session.inWrite { try owner.delete() }
        #expect(!mine.isValid && !few.isValid)
        #expect(try few.count() == 0)
        #expect(code { _ = try mine.count() } == .objectDeleted)
    }

    @Test func mapsOfObjectsAreReadInBulkWithTheirNulls() throws {
        let session = try TestStore(
            schema: """
                Box { id: int key, best: map<Thing> }
                Thing { rank: int, name: string, code: uuid, other: link<Thing>, any: mixed }
                """
        ).open()
        let best = try map(box(session), "best")
        let type = try session.schema.type(named: "Thing")
        func column(_ name: String) -> ColumnKey? { type.property(named: name)?.columnKey }
        // Nulls first, last, beside each other, and between rows that lie beside each other.
        let ranks: [Int64?] = [nil, 1, 2, nil, nil, 3, 4, nil]
        try session.inWrite {
            for (index, rank) in ranks.enumerated() {
                let thing = try rank.map { try session.add("Thing", ["rank": .int($0), "name": .string("n\($0)")]) }
                if let thing { try thing.set("other", to: .link(thing)) }
                _ = try best.put("k\(index)", thing.map { .link($0) } ?? .null)
            }
        }
        // Results leave nulls out.
        for (collection, ranks) in [(best, ranks), (try best.results(), ranks.filter { $0 != nil })]
            as [(LiveCollection, [Int64?])]
        {
            for first in 0 ... ranks.count {
                let expected = Array(ranks[first...].prefix(6))
                var ints = [Int64](repeating: -7, count: 8)
                var validity: [UInt8] = [0xAA, 0xAA]
                func present(_ index: Int) -> Bool { (validity[index >> 3] >> UInt8(index & 7)) & 1 == 1 }
                let got = try collection.readInts(
                    column("rank"), first: first, count: 6, into: &ints, validity: &validity)
                #expect(got == expected.count)
                #expect((0 ..< got).map { present($0) ? ints[$0] : nil } == expected)
                var values = [ValueView](repeating: .null, count: 12)
                let columns = [column("name"), column("any")]
                #expect(
                    try collection.readValues(
                        columns, first: first, count: 6, into: &values, rowStride: 2, columnStride: 1) == got)
                #expect(
                    (0 ..< got).map { values[2 * $0].owned } == expected.map { $0.map { .string("n\($0)") } ?? .null })
                var texts = [UnsafeRawBufferPointer](repeating: .init(start: nil, count: 0), count: 6)
                #expect(try collection.readBytes(column("name"), first: first, count: 6, into: &texts) == got)
                #expect((0 ..< got).map { texts[$0].baseAddress == nil } == expected.map { $0 == nil })
                for linked in [column("other"), nil] {
                    validity = [0xAA, 0xAA]
                    #expect(
                        try collection.readLinks(linked, first: first, count: 6, into: &ints, validity: &validity)
                            == got)
                    #expect((0 ..< got).map { present($0) } == expected.map { $0 != nil })
                    #expect((0 ..< got).map { ints[$0] < 0 } == expected.map { $0 == nil })
                }
                var bytes = [UInt8](repeating: 7, count: 96)
                #expect(
                    try collection.readFixed(
                        column("code"), width: 16, first: first, count: 6, into: &bytes, validity: &validity) == got)
                #expect((0 ..< got).map { present($0) } == expected.map { $0 != nil })
            }
            #expect(try collection.aggregate(.sum, column("rank")) == .int(10))
            #expect(try collection.aggregate(.count, column("rank")) == .int(4))
            #expect(try collection.aggregate(.average, column("rank")) == .double(2.5))
        }
    }

    @Test(arguments: TestStore.Kind.allCases)
    func maps195BehaveLikeDictionaries(kind: TestStore.Kind) throws {
        try PropertyTest.run(rounds: kind == .file ? 3 : 12) { random, comment in
            let session = try TestStore(kind, schema: boxSchema).open()
            let names = try map(box(session), "names")
            var model: [String: String] = [:]
            for _ in 0 ..< 10 {
                let before = model
                try session.beginWrite()
                for _ in 0 ..< random.below(8) {
                    let key = random.pick(["", "a", "b", "ä", "key", "k1", "k2", "zz", "%2E"])
                    let value = "v\(random.below(100))"
                    switch random.below(6) {
                    case 0: #expect(try names.remove(key) == (model.removeValue(forKey: key) != nil), "\(comment)")
                    case 1 where random.chance(10):
                        try names.clear()
                        model = [:]
                    default:
                        #expect(try names.put(key, .string(value)) == (model[key] == nil), "\(comment)")
                        model[key] = value
                    }
                }
                if random.chance(20) {
                    try session.cancel()
                    model = before
                } else {
                    try session.commit()
                }
                let sorted = model.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
                #expect(try names.count() == model.count, "\(comment)")
                // 197: keys and values in step.
                let keys = try (0 ..< names.count()).map { try names.keyText(at: $0) }
                #expect(keys == sorted, "\(comment)")
                #expect(try names.mapKeys().allValues == sorted.map(Value.string), "\(comment)")
                #expect(try names.allValues == sorted.map { .string(model[$0] ?? "") }, "\(comment)")
                for key in ["a", "b", "none"] {
                    #expect(try names.get(key) == model[key].map(Value.string), "\(comment)")
                }
                #expect(try names.mapKeys().filter("SELF BEGINSWITH 'k'").count() == sorted.count { $0.hasPrefix("k") })
            }
        }
    }

    @Test func maps196RefuseSomeKeys() throws {
        let session = try TestStore(schema: boxSchema).open()
        let names = try map(box(session), "names")
        try session.beginWrite()
        for key in ["a.b", "$a", "."] {
            #expect(code { try names.put(key, .string("x")) } == .invalidArgument)
        }
        #expect(try names.put("", .string("empty")) && names.put("a$", .string("x")))
        let pairs: [(String, Value)] = [("one", .string("1")), ("bad.key", .string("2"))]
        let error = #expect(throws: DatabaseError.self) {
            try pairs[0].0.withUTF8Bytes { (one: UnsafeRawBufferPointer) throws in
                try pairs[1].0.withUTF8Bytes { (two: UnsafeRawBufferPointer) throws in
                    try names.putMany([(one, .string(one)), (two, .string(two))])
                }
            }
        }
        #expect(error?.code == .invalidArgument && error?.details.rowIndex == 1)
        #expect(try names.get("one") == nil)
        #expect(code { try names.put("x", .null) } == .nullNotAllowed)
        let optional = try map(names.owner, "optional")
        // 195: null is a value of an optional map, not the absence of one.
        try optional.put("x", .null)
        #expect(try optional.get("x") == .null && optional.get("y") == nil)
    }

    @Test func maps74KeepKeysOfDeletedObjects() throws {
        let session = try TestStore(schema: boxSchema).open()
        let all = try things(session, 4)
        let best = try map(box(session), "best")
        try session.inWrite {
            for (index, key) in ["a", "b", "c"].enumerated() { try best.put(key, .link(all[index])) }
        }
        #expect(try best.object(at: 1)?.key == all[1].key)
        #expect(try best.filter("rank == 1").allKeys == [1])
        try session.inWrite { try all[1].delete() }
        #expect(try best.count() == 3 && best.get("b") == .null)
        #expect(try best.object(at: 1) == nil)
        #expect(try best.filter("rank >= 0").allKeys == [0, 2])
        #expect(try best.results().allKeys == [0, 2])
        // 70: deleting the values keeps the keys.
        try session.inWrite { try best.deleteObjects() }
        #expect(try best.allValues == [.null, .null, .null])
        #expect(try session.objects("Thing").count() == 1)
    }

    @Test func mapsAreAssignedByPolicy() throws {
        let session = try TestStore(schema: boxSchema).open()
        let first = try map(box(session), "names")
        let second = try map(box(session), "names")
        try session.inWrite {
            for key in ["a", "b", "c"] { try first.put(key, .string("1")) }
            for key in ["b", "c", "d"] { try second.put(key, .string(key == "b" ? "2" : "1")) }
            try first.assign(from: second, policy: .modified)
        }
        #expect(try first.allValues == [.string("2"), .string("1"), .string("1")])
        #expect(try first.mapKeys().allValues == [.string("b"), .string("c"), .string("d")])
        try session.inWrite { try first.assign(from: first) }
        #expect(try first.count() == 3)
    }
}
