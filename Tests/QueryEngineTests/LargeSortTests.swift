/// Orders of thousands of objects: several levels in one code, and the first few found while row groups go by, from
/// data that makes the bound of no use, or moves it with every row.
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct LargeSortTests {
    /// Objects with nulls, NaN and both zeros, every thirteenth of them deleted again, some in an open write.
    private func world(
        _ random: inout SeededRandom, rowGroupSize: Int, count: Int = 1_300
    ) throws -> QueryWorld {
        let world = try QueryWorld(
            "Item { n: int?, m: int, b: bool, w: int?, s: string?, c: string, d: double?, t: timestamp? }",
            rowGroupSize: rowGroupSize)
        try world.begin()
        for index in 0 ..< count {
            if index == count - 40 {
                try world.commit()
                try world.begin()
            }
            var cells: [String: QueryWorld.Cell] = [
                "m": .value(.int(Int64(random.below(4)) - 2)), "b": .value(.bool(random.chance(50))),
                // Falls all the way, but for a few.
                "c": .value(.string(String(100_000 - index + random.below(3)))),
            ]
            if index % 7 != 0 { cells["n"] = .value(.int(Int64(random.below(200)) - 100)) }
            if index % 9 != 0 { cells["w"] = .value(.int(random.pick([.min, .max, 0, Int64(random.below(9))]))) }
            if index % 5 != 0 {
                let texts = ["", "a", "a\0", "abcdefg", "abcdefgh", "abcdefgh\0", "abcdefghi", "zoë", "straße"]
                cells["s"] = .value(.string(random.chance(60) ? random.pick(texts) : "name \(random.below(900))"))
            }
            if index % 6 != 0 {
                cells["d"] = .value(.double(random.pick([.nan, -0.0, 0.0, 1.5, -.infinity, Double(index)])))
            }
            if index % 8 != 0 {
                let seconds = Int64(random.below(5)) - 2
                cells["t"] = .value(.timestamp(Timestamp(seconds: seconds, nanoseconds: UInt32(random.below(3)))))
            }
            try world.create("Item", cells)
        }
        for key in (world.rows["Item"] ?? [:]).keys.sorted() where key % 13 == 5 { try world.delete("Item", key) }
        return world
    }

    private func check(
        _ world: QueryWorld, _ keys: [Ordering.SortKey], limits: [Int?], _ comment: String
    ) throws {
        let naive = NaiveEvaluator(world)
        let expected = naive.sorted(naive.keys("Item", .constant(true)), "Item", keys)
        for limit in limits {
            for offset in limit == nil ? [0] : [0, 3] {
                var clauses: [Ordering.Clause] = [.sort(keys)]
                if offset > 0 { clauses.append(.offset(.count(offset))) }
                if let limit { clauses.append(.limit(.count(limit))) }
                let parsed = ParsedQuery(.constant(true), ordering: Ordering(clauses))
                let bound = try BoundQuery.bind(parsed, table: try world.table("Item"), schema: world.schema)
                let found = try Executor(bound, world.source).keys()
                let wanted = Array(expected.dropFirst(offset).prefix(limit ?? .max))
                #expect(found == wanted, "\(bound.text); \(comment)")
            }
        }
    }

    @Test func severalLevelsInOneCodeOrderAsEachByItself() throws {
        try PropertyTest.run(rounds: 1) { random, comment in
            // Fewer than 4,096 are not packed.
            let world = try world(&random, rowGroupSize: 480, count: 4_600)
            for _ in 0 ..< 6 {
                // Narrow levels first, so that there is something to pack; a wide one now and then.
                var names = ["n", "m", "b", "m", "n"]
                var keys = [Ordering.SortKey(Predicate.Path([random.pick(names)]), isAscending: random.chance(50))]
                names += ["s", "s", "c", "d", "t", "w"]
                for _ in 0 ..< 1 + random.below(3) {
                    keys.append(.init(Predicate.Path([random.pick(names)]), isAscending: random.chance(50)))
                }
                try check(world, keys, limits: [nil, 2_000], comment)
            }
        }
    }

    @Test(arguments: [3, 480]) func theFirstFewAreThoseOfAWholeSort(rowGroupSize: Int) throws {
        try PropertyTest.run(rounds: 1) { random, comment in
            let world = try world(&random, rowGroupSize: rowGroupSize)
            for name in ["n", "m", "b", "w", "s", "c", "d", "t"] {
                for isAscending in [true, false] {
                    var keys = [Ordering.SortKey(Predicate.Path([name]), isAscending: isAscending)]
                    // Without a second key what is level stays in the order of keys.
                    if random.chance(50) { keys.append(.init(Predicate.Path(["c"]), isAscending: random.chance(50))) }
                    try check(world, keys, limits: [1, 40, 400], comment)
                }
            }
        }
    }

    @Test func aFilterAndAnIndexGiveTheFirstFewToo() throws {
        try PropertyTest.run(rounds: 1) { random, comment in
            let world = try world(&random, rowGroupSize: 480)
            let naive = NaiveEvaluator(world)
            for text in ["n > 0", "s != null AND b == true", "m == 1 OR d > 100"] {
                let parsed = try ParsedQuery.parse(text + " SORT(s DESC, d ASC) LIMIT(25)")
                let bound = try BoundQuery.bind(parsed, table: try world.table("Item"), schema: world.schema)
                let all = naive.keys("Item", parsed.predicate)
                let keys: [Ordering.SortKey] = [
                    .init(Predicate.Path(["s"]), isAscending: false), .init(Predicate.Path(["d"]), isAscending: true),
                ]
                let expected = Array(naive.sorted(all, "Item", keys).prefix(25))
                #expect(try Executor(bound, world.source).keys() == expected, "\(text); \(comment)")
                #expect(try Executor(bound, world.source).first() == expected.first, "\(text); \(comment)")
            }
        }
    }
}
