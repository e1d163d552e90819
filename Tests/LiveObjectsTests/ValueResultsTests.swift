// Filters, orders and limits over lists of plain values, live, frozen and fixed, against arrays.
import MotteLiveObjects
import MotteQueryEngine
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

@Suite struct ValueResultsTests {
    func list(_ session: Session, _ values: [Value], _ name: String = "ints") throws -> LiveList {
        try session.inWrite {
            let object = try session.add("Bag")
            let list = try #require(try object.collection(name) as? LiveList)
            for value in values { try list.append(value) }
            return list
        }
    }

    static let schema = "Bag { ints: list<int?>, texts: list<string>, times: list<timestamp>, owner: link<Bag> }"

    @Test func valuesAreFilteredSortedAndMadeDistinct() throws {
        let session = try TestStore(schema: Self.schema).open()
        let ints = try list(session, [.int(3), .null, .int(1), .int(3), .int(2)])
        #expect(try ints.filter("SELF > 1").allValues == [.int(3), .int(3), .int(2)])
        #expect(try ints.filter("SELF > $0", Arguments([Value.int(2)])).count() == 2)
        #expect(try ints.filter("SELF == NULL").allValues == [.null])
        #expect(try ints.filter("SELF > 1 SORT(SELF DESC) LIMIT(2)").allValues == [.int(3), .int(3)])
        #expect(try ints.filter("SELF > 1").filter("SELF < 3").allValues == [.int(2)])
        #expect(try ints.distinct().allValues == [.int(3), .null, .int(1), .int(2)])
        #expect(try ints.sorted(by: "SELF").distinct().allValues == [.null, .int(1), .int(2), .int(3)])
        #expect(try ints.limited(to: 4).filter("SELF == 3").count() == 2)
        #expect(try ints.filter("SELF > 1").distinct().aggregate(.sum) == .int(5))
        #expect(try ints.filter("SELF > 1").find(.int(2)) == 2)
        #expect(code { _ = try ints.filter("SELF >") } == .querySyntax)
        #expect(code { _ = try ints.filter("SELF == 'x'") } == .queryInvalid)
        #expect(code { _ = try ints.sorted(by: "age") } == .queryInvalid)
        let texts = try list(session, [.string("b"), .string("ab"), .string("B")], "texts")
        #expect(try texts.filter("SELF CONTAINS[c] 'b'").sorted(by: "self").allValues.count == 3)
        #expect(try texts.filter("SELF BEGINSWITH 'a'").allValues == [.string("ab")])
    }

    @Test func valueResultsFollowAndFreeze() throws {
        let session = try TestStore(schema: Self.schema).open()
        let ints = try list(session, [.int(3), .int(1)])
        let large = try ints.filter("SELF > 2")
        let frozen = try large.freeze()
        let fixed = try large.snapshot()
        try session.beginWrite()
        try ints.append(.int(9))
        #expect(try large.allValues == [.int(3), .int(9)])
        try session.commit()
        #expect(try large.allValues == [.int(3), .int(9)])
        #expect(try frozen.allValues == [.int(3)])
        #expect(try frozen.filter("SELF < 3").count() == 0)
        #expect(try fixed.allValues == [.int(3)])
        #expect(try fixed.filter("SELF == 3").count() == 1)
        // 78: results of a deleted object's list are empty.
        try session.inWrite { try ints.owner.delete() }
        #expect(!large.isValid)
        #expect(try large.count() == 0)
        #expect(try frozen.count() == 1)
    }

    @Test func valueResultsEqualArrays() throws {
        try PropertyTest.run(rounds: 20) { random, comment in
            let session = try TestStore(schema: Self.schema).open()
            var values: [Value] = (0 ..< random.below(30)).map { _ in
                random.chance(20) ? .null : .int(Int64(random.below(8)))
            }
            let ints = try list(session, values)
            let bound = Int64(random.below(8))
            let results = try ints.filter("SELF >= $0 SORT(SELF DESC)", Arguments([Value.int(bound)])).distinct()
            for _ in 0 ..< 3 {
                let matching = values.filter { value in
                    if case .int(let int) = value { int >= bound } else { false }
                }
                #expect(try results.allValues == Array(Set(matching)).sorted(by: >), "\(comment)")
                try session.inWrite {
                    let value = Value.int(Int64(random.below(8)))
                    try ints.append(value)
                    values.append(value)
                }
            }
        }
    }
}
