// DISTINCT along an index gives what it gives from rows, with orders, limits and conditions, and looks at no row.
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct DistinctIndexTests {
    private static let shapes: [[String]] = [
        ["indexed(city)", "indexed(score)"], ["indexed(city, age desc)", "indexed(at desc)"],
        ["indexed(flag, city desc, score)", "indexed(price)"], ["indexed(age, city)", "indexed(price desc, age)"],
        ["indexed(city [c], age)", "indexed(age, score desc, flag)", "indexed(mark, age)"],
    ]
    private static let schema =
        "city: string?, age: int?, score: double?, at: timestamp?, flag: bool, price: decimal?, mark: uuid"

    private static func fill(_ world: QueryWorld, _ random: inout SeededRandom, _ count: Int) throws {
        let long = String(repeating: "long ", count: 120)
        let cities = ["", "\0", "\0\0", "Rome", "Rome\0", "rome", "Oslo", random.chance(20) ? long : "Lima"]
        let scores = [0, -0.0, 2, 7.25, .infinity, .nan]
        for n in 0 ..< count {
            try world.create(
                "I",
                [
                    "city": .value(random.chance(10) ? .null : .string(random.pick(cities))),
                    "age": .value(random.chance(10) ? .null : .int(Int64(random.below(6)) - 3)),
                    "score": .value(random.chance(10) ? .null : .double(random.pick(scores))),
                    "at": .value(.timestamp(Timestamp(seconds: Int64(random.below(3)), nanoseconds: UInt32(n % 2)))),
                    "flag": .value(.bool(random.chance(50))),
                    "price": .value(random.chance(10) ? .null : .decimal(Decimal128(Int64(random.below(5))))),
                    "mark": .value(.uuid(UUIDBytes(low: 0, high: UInt64(random.below(3))))),
                ])
        }
    }

    private static func change(_ world: QueryWorld, _ random: inout SeededRandom) throws {
        for key in (world.rows["I"] ?? [:]).keys.sorted() where random.chance(20) {
            if random.chance(40) {
                try world.delete("I", key)
            } else {
                try world.set("I", key, "age", .value(.int(Int64(random.below(6)))))
            }
        }
    }

    private static func clauses(_ random: inout SeededRandom) -> String {
        let columns = ["city", "age", "score", "at", "flag", "price", "mark"]
        let own = columns.filter { _ in random.chance(25) }
        let distinct = own.isEmpty ? [random.pick(columns)] : own
        let direction = random.pick(["ASC", "DESC"])
        let keys = distinct.map { "\($0) \(random.chance(70) ? direction : "ASC")" }.joined(separator: ", ")
        let sort = random.chance(40) ? " SORT(\(keys))" : ""
        let rest = random.pick(["", "", " LIMIT(3)", " SORT(age DESC)", " OFFSET(1) LIMIT(2)"])
        return "\(sort) DISTINCT(\(distinct.joined(separator: ", ")))\(rest)"
    }

    private static let conditions = [
        "TRUEPREDICATE", "TRUEPREDICATE", "city == 'Rome'", "city ==[c] 'rome'", "age == 1", "age > 0",
        "city BEGINSWITH 'R'", "flag == true", "flag == true AND city == 'Oslo'", "age == 2 AND score == 0",
    ]

    @Test(arguments: shapes.indices) func answersAreThoseOfRows(shape: Int) throws {
        try PropertyTest.run(rounds: 2) { random, comment in
            let world = try QueryWorld(
                "I { \(Self.schema), \(Self.shapes[shape].joined(separator: ", ")) }", rowGroupSize: 50)
            let plain = try QueryWorld("I { \(Self.schema) }", rowGroupSize: 50)
            func inBoth(_ body: (QueryWorld, inout SeededRandom) throws -> Void) throws {
                var twin = random
                try body(plain, &twin)
                try body(world, &random)
            }
            try inBoth { one, random in
                try one.begin()
                try Self.fill(one, &random, 400)
                try one.commit()
            }
            for isWriting in [false, true] {
                if isWriting {
                    try inBoth { one, random in
                        try one.begin()
                        try Self.fill(one, &random, 20)
                        try Self.change(one, &random)
                    }
                }
                for _ in 0 ..< 100 {
                    let text = random.pick(Self.conditions) + Self.clauses(&random)
                    let keys = try Executor(try world.bind("I", text), world.source).keys()
                    let wanted = try Executor(try plain.bind("I", text), plain.source).keys()
                    #expect(keys == wanted, "\(text) \(comment)")
                    #expect(try Executor(try world.bind("I", text), world.source).count() == keys.count)
                }
            }
        }
    }

    @Test func noRowIsLookedAt() throws {
        let world = try QueryWorld("I { city: string, age: int, n: int? unique, indexed(city, age desc) }")
        try world.begin()
        for number in 0 ..< 20_000 {
            try world.create(
                "I",
                [
                    "city": .value(.string("city \(number % 20)")), "age": .value(.int(Int64(number % 300))),
                    "n": .value(.int(Int64(number))),
                ])
        }
        try world.commit()
        let before = world.database.counters.read()
        for (text, count) in [
            ("TRUEPREDICATE DISTINCT(city)", 20), ("TRUEPREDICATE DISTINCT(age, city)", 300),
            ("TRUEPREDICATE SORT(city DESC) DISTINCT(city) LIMIT(3)", 3), ("city == 'city 3' DISTINCT(age)", 15),
            ("city == 'city 3' DISTINCT(city)", 1), ("TRUEPREDICATE DISTINCT(n)", 20_000),
            ("city BEGINSWITH 'city 1' DISTINCT(city)", 11), ("city == 'none' DISTINCT(age)", 0),
        ] {
            #expect(try Executor(try world.bind("I", text), world.source).count() == count, "\(text)")
        }
        let after = world.database.counters.read()
        #expect(after.rowsEvaluated == before.rowsEvaluated)
        #expect(after.chunksDecoded == before.chunksDecoded)
        let query = try world.bind("I", "TRUEPREDICATE SORT(city DESC) DISTINCT(city) LIMIT(3)")
        let steps = try Executor(query, world.source).explain()
        let text = Explanation(top: steps, nanoseconds: nil).text("I")
        #expect(text.contains("distinct city, as the index has it"), "\(text)")
        #expect(text.contains("sort city DESC, as the index has it"), "\(text)")
    }
}
