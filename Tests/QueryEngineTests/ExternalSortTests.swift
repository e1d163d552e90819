/// Sorts of files that are larger than the memory they may take: the same order as in memory, with runs in a temporary
/// file, plain and encrypted; what an order of few and the rest of a query make of it.
import MottePages
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct ExternalSortTests {
    private static let budget = 64 << 10
    private let folder = TemporaryDirectory()

    /// Objects with nulls, texts that are equal for long, and links; the file has many times the budget.
    private func world(_ random: inout SeededRandom, count: Int, sealed: Bool) throws -> QueryWorld {
        // Each round has a file of its own, and draws nothing for its name.
        var name = random
        var options = PageStoreOptions(path: folder.file("sort-\(name.next()).motte"))
        options.memoryBytes = Self.budget
        options.durability = .none
        if sealed { options.encryptionKey = [UInt8](repeating: 7, count: 64) }
        return try world(&random, count: count, options)
    }

    private func world(_ random: inout SeededRandom, count: Int, _ options: PageStoreOptions) throws -> QueryWorld {
        let world = try QueryWorld(
            """
            Item { s: string?, i: int?, d: double?, t: timestamp?, x: data?, p: decimal?, any: mixed, next: link<Item> }
            """,
            options)
        let long = String(repeating: "the same for a long time, ", count: 200)
        for first in stride(from: 0, to: count, by: 500) {
            try world.begin()
            for index in first ..< min(first + 500, count) {
                var cells: [String: QueryWorld.Cell] = [:]
                func put(_ name: String, _ value: Value) {
                    if !random.chance(8) { cells[name] = .value(value) }
                }
                let name = "name \(random.below(count / 3)) of something that takes some room in the file"
                let texts = ["", "a", "a\0", "abcdefgh", "abcdefgh\0", "straße"]
                put("s", .string(random.chance(75) ? name : random.pick(texts)))
                if random.chance(2) { cells["s"] = .value(.string(long + random.pick(["", "a", "b", "bb"]))) }
                put("i", .int(random.pick([.min, .max, 0, Int64(random.below(40))])))
                put("d", .double(random.pick([.nan, -0.0, 0.0, 1.5, -.infinity, Double(random.below(90))])))
                put("t", .timestamp(Timestamp(seconds: Int64(random.below(20)), nanoseconds: UInt32(random.below(3)))))
                // Keys of these are cut just before, at and behind where they are cut.
                put("x", .data([UInt8](repeating: 1, count: random.chance(3) ? 3_630 + random.below(30) : 9)))
                put("p", .decimal(Decimal128(Int64(random.below(50)) - 25)))
                put("any", random.pick([.int(3), .double(2.5), .string(name), .bool(true), .data([1, 2])]))
                if index > 0 { put("next", try world.link("Item", Int64(random.below(index)))) }
                try world.create("Item", cells)
            }
            try world.commit()
        }
        return world
    }

    private func keys(_ random: inout SeededRandom) -> [Ordering.SortKey] {
        (0 ..< 1 + random.below(3)).map { _ in
            let end = random.pick(["s", "s", "i", "d", "t", "x", "p", "any"])
            let path = (random.chance(25) ? ["next"] : []) + [end]
            return .init(Predicate.Path(path), isAscending: random.chance(50))
        }
    }

    @Test(arguments: [false, true]) func runsInAFileOrderAsMemoryDoes(sealed: Bool) throws {
        try PropertyTest.run(rounds: 1) { random, comment in
            let world = try world(&random, count: 1_200, sealed: sealed)
            #expect(world.snapshot.exceedsMemory)
            let naive = NaiveEvaluator(world)
            let all = naive.keys("Item", .constant(true))
            for round in 0 ..< 6 {
                let keys = keys(&random)
                let expected = naive.sorted(all, "Item", keys)
                let parsed = ParsedQuery(.constant(true), ordering: Ordering([.sort(keys)]))
                let bound = try BoundQuery.bind(parsed, table: try world.table("Item"), schema: world.schema)
                #expect(try Executor(bound, world.snapshot).keys() == expected, "\(bound.text); \(comment)")
                // And by itself, with few and many runs, of objects in any order.
                let context = RunContext(world.snapshot)
                let order = try SortOrder(context, try world.table("Item"), bound.sort)
                var shuffled = all
                for index in shuffled.indices { shuffled.swapAt(index, random.below(all.count)) }
                var sort = ExternalSort(order, context, shuffled, memoryBytes: 0, mostRuns: [2, 3, 512][round % 3])
                let wanted = try order.sorted(shuffled, limit: nil, inMemory: true)
                let limit = random.pick([1, 700, all.count])
                let found = try sort.sorted(limit, on: world.snapshot)
                #expect(found == Array(wanted.prefix(limit)), "\(bound.text); \(comment)")
            }
        }
    }

    @Test func queriesGiveTheSameWhateverTheBudget() throws {
        try PropertyTest.run(rounds: 1) { random, comment in
            var again = random
            let world = try world(&random, count: 1_200, sealed: false)
            let inMemory = try self.world(&again, count: 1_200, PageStoreOptions(location: .memory(identifier: nil)))
            for text in [
                "i >= 0 SORT(s DESC, i ASC) LIMIT(30)", "s BEGINSWITH 'name' SORT(s ASC) DISTINCT(i) LIMIT(900)",
                "TRUEPREDICATE DISTINCT(s) SORT(s ASC)", "TRUEPREDICATE SORT(any ASC) OFFSET(20) LIMIT(500)",
                "next.s CONTAINS '7' SORT(next.s ASC, d DESC)",
            ] {
                let expected = try inMemory.keys("Item", text)
                #expect(try world.keys("Item", text) == expected, "\(text); \(comment)")
            }
        }
    }
}
