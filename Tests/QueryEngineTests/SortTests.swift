/// Orders of many objects, where entries are distributed byte by byte, and of the first few of many.
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct SortTests {
    private static func text(_ random: inout SeededRandom) -> String {
        switch random.below(5) {
        case 0: return ["", "a", "a\0", "ab", "abcdefgh", "abcdefgh\0", "abcdefghi"][random.below(7)]
        case 1: return String(repeating: "shared start ", count: random.below(6)) + "\(random.below(30))"
        case 2: return "zoë \(random.below(9))"
        default: return "name \(random.below(5_000))"
        }
    }

    @Test(arguments: [3, 480]) func manyObjectsSortAsTheirValuesDo(rowGroupSize: Int) throws {
        try PropertyTest.run(rounds: 2) { random, comment in
            let world = try QueryWorld(
                """
                Item { s: string?, i: int?, d: double?, t: timestamp?, b: bool, x: data?, next: link<Item> }
                """, rowGroupSize: rowGroupSize)
            try world.begin()
            let count = 400 + random.below(600)
            for index in 0 ..< count {
                var cells: [String: QueryWorld.Cell] = ["b": .value(.bool(random.chance(50)))]
                // Every eleventh object has nulls only, another a null link.
                func put(_ name: String, _ value: Value) {
                    if index % 11 != name.utf8.count { cells[name] = .value(value) }
                }
                put("s", .string(Self.text(&random)))
                put("i", .int(random.chance(70) ? Int64(random.below(40)) : random.pick(RandomQueries.ints)))
                let small = Double(random.below(900)) / 7 - 60
                put("d", .double(random.chance(50) ? small : random.pick(RandomQueries.doubles)))
                let nanoseconds = UInt32(random.below(3))
                put("t", .timestamp(Timestamp(seconds: Int64(random.below(20)) - 10, nanoseconds: nanoseconds)))
                put("x", .data(Array(Self.text(&random).utf8)))
                if index > 0 { put("next", try world.link("Item", Int64(random.below(index)))) }
                try world.create("Item", cells)
            }
            try world.commit()
            let naive = NaiveEvaluator(world)
            let all = naive.keys("Item", .constant(true))
            for _ in 0 ..< 12 {
                var keys: [Ordering.SortKey] = []
                for _ in 0 ..< 1 + random.below(3) {
                    let path = (random.chance(30) ? ["next"] : []) + [random.pick(["s", "s", "i", "d", "t", "b", "x"])]
                    keys.append(.init(Predicate.Path(path), isAscending: random.chance(50)))
                }
                let expected = naive.sorted(all, "Item", keys)
                for limit in [nil, 1, 7, 49, 300] as [Int?] {
                    let ordering = Ordering(sort: keys, limit: limit.map(Ordering.Limit.count))
                    let parsed = ParsedQuery(.constant(true), ordering: ordering)
                    let bound = try BoundQuery.bind(parsed, table: try world.table("Item"), schema: world.schema)
                    let found = try Executor(bound, world.source).keys()
                    #expect(found == Array(expected.prefix(limit ?? .max)), "\(bound.text); \(comment)")
                }
            }
        }
    }
}
