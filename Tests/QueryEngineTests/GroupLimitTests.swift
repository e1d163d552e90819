/// The first groups of many, which are chosen without sorting all, are those that sorting all puts first.
import MotteQueryEngine
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct GroupLimitTests {
    private static let orders = [
        "", "SORT(COUNT DESC)", "SORT(COUNT)", "SORT(MAX(age) DESC, name)", "SORT(MIN(age))", "SORT(SUM(score) DESC)",
        "SORT(AVG(score), COUNT DESC)", "SORT(name DESC)", "SORT(MAX(name) DESC, COUNT)",
        "SORT(MEDIAN(age), name DESC)", "SORT(MAX(any))", "SORT(COUNT) SORT(MAX(age) DESC)", "SORT(MAX(at) DESC)",
    ]
    private static let keys = ["name", "name, on", "age", "score", "any", "at", "age, name"]

    @Test func theFirstAreThoseOfAll() throws {
        try PropertyTest.run(rounds: 6) { random, comment in
            let world = try QueryWorld(
                "P { name: string?, age: int?, score: double?, on: bool, at: timestamp?, any: mixed }",
                rowGroupSize: 50)
            try world.begin()
            // Values whose first bytes agree, and those at the ends of what codes can say.
            let names = (0 ..< 60).map { "the same eight \($0 % 30)\($0 < 30 ? "" : " and more")" }
            let ages: [Int64] = [.min, .min + 1, -1, 0, 1, .max - 1, .max] + (10 ..< 60)
            let scores: [Double] = [.nan, -.infinity, -0.0, 0, 1e-300, .infinity] + (1 ..< 50).map(Double.init)
            for _ in 0 ..< 300 {
                var cells: [String: QueryWorld.Cell] = ["on": .value(.bool(random.chance(50)))]
                if random.chance(90) { cells["name"] = .value(.string(random.pick(names))) }
                if random.chance(90) { cells["age"] = .value(.int(random.pick(ages))) }
                if random.chance(90) { cells["score"] = .value(.double(random.pick(scores))) }
                let time = Timestamp(seconds: Int64(random.below(40)), nanoseconds: UInt32(random.below(2)))
                if random.chance(90) { cells["at"] = .value(.timestamp(time)) }
                cells["any"] = .value(random.chance(50) ? .int(random.pick(ages)) : .string(random.pick(names)))
                try world.create("P", cells)
            }
            try world.commit()
            for key in Self.keys {
                for order in Self.orders where !order.contains("name") || key.contains("name") {
                    let text = "GROUP(\(key)) COUNT\(random.chance(30) ? " HAVING COUNT < 30" : "")"
                    // A sum is NaN, or differs in its last bits, but is the same in both.
                    let all = try Self.rows(world, "\(text) \(order)")
                    for limit in [0, 1, 1 + random.below(12)] {
                        let first = try Self.rows(world, "\(text) \(order) LIMIT(\(limit))")
                        #expect(first == Array(all.prefix(limit)), "\(text) \(order) LIMIT(\(limit)), \(comment)")
                        let offset = random.below(12)
                        let page = try Self.rows(world, "\(text) \(order) OFFSET(\(offset)) LIMIT(\(limit))")
                        #expect(
                            page == Array(all.dropFirst(offset).prefix(limit)),
                            "\(text) \(order) OFFSET(\(offset)) LIMIT(\(limit)), \(comment)")
                    }
                }
            }
        }
    }

    private static func rows(_ world: QueryWorld, _ text: String) throws -> [String] {
        let table = try world.groups("P", text, [])
        return (0 ..< table.count).map { row in
            table.columns.indices.map { table.view($0, row).owned.text }.joined(separator: " ")
        }
    }
}
