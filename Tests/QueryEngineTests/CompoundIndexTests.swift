// Indexes of several properties, some descending: random conjunctions, orders and limits give what they give without an
// index, from snapshots and from within writes; and which questions are answered by the index alone.
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct CompoundIndexTests {
    private static let properties = "city: string?, age: int?, score: double?, at: timestamp?, flag: bool"
    private static let shapes: [[String]] = [
        ["indexed(city, age desc)"], ["indexed(age, city)", "indexed(score desc)"],
        ["indexed(flag, city desc, score)", "indexed(at)"], ["indexed(city desc)", "indexed(age desc, score desc)"],
        ["indexed(city, age, score)", "indexed(city)"],
    ]

    private static func fill(_ world: QueryWorld, _ random: inout SeededRandom, _ count: Int) throws {
        let cities = ["", "Oslo", "Rome", "Rome 2", "Roma", "Zürich", String(repeating: "long ", count: 120) + "a"]
        let scores = [0, -0.0, -3.5, 2, 7.25, .infinity, .nan]
        for number in 0 ..< count {
            let city: Value = random.chance(10) ? .null : .string(random.pick(cities))
            let age: Value = random.chance(10) ? .null : .int(Int64(random.below(12)) - 3)
            let score: Value = random.chance(10) ? .null : .double(random.pick(scores))
            let at = Value.timestamp(Timestamp(seconds: Int64(random.below(6)), nanoseconds: UInt32(number % 3)))
            try world.create(
                "I",
                [
                    "city": .value(city), "age": .value(age), "score": .value(score), "at": .value(at),
                    "flag": .value(.bool(random.chance(50))),
                ])
        }
    }

    private static func part(_ random: inout SeededRandom) -> String {
        let texts = ["'Rome'", "'Oslo'", "''", "'Roma'", "nil", "'\(String(repeating: "long ", count: 120))a'"]
        let operators = ["==", "<", "<=", ">", ">="]
        switch random.below(9) {
        case 0, 1: return "city == \(random.pick(texts))"
        case 2: return "city IN {'Rome', 'Roma', 'none'}"
        case 3: return "city BEGINSWITH '\(random.pick(["R", "Rom", "Rome", "long"]))'"
        case 4: return "age \(random.pick(operators)) \(random.below(12) - 3)"
        case 5: return "age IN {1, 2, 2, 40}"
        case 6: return "score \(random.pick(operators)) \(random.pick(["0", "2", "-3.5"]))"
        case 7: return "flag == \(random.pick(["true", "false"]))"
        default: return "city \(random.pick(["<", ">="])) 'Rome'"
        }
    }

    private static func order(_ random: inout SeededRandom) -> String {
        let keys = ["city", "age", "score", "at"].filter { _ in random.chance(40) }
        guard !keys.isEmpty else { return "" }
        return " SORT(\(keys.map { "\($0) \(random.chance(50) ? "ASC" : "DESC")" }.joined(separator: ", ")))"
            + " LIMIT(\(1 + random.below(30)))"
    }

    @Test(arguments: shapes.indices) func answersAreThoseWithoutAnIndex(shape: Int) throws {
        try PropertyTest.run(rounds: 2) { random, comment in
            let world = try QueryWorld("I { \(Self.properties), \(Self.shapes[shape].joined(separator: ", ")) }")
            try world.begin()
            try Self.fill(world, &random, 300)
            try world.commit()
            for isWriting in [false, true] {
                if isWriting {
                    try world.begin()
                    try Self.fill(world, &random, 20)
                }
                for _ in 0 ..< 80 {
                    let parts = (0 ..< random.below(4)).map { _ in Self.part(&random) }
                    let predicate = parts.isEmpty ? "TRUEPREDICATE" : parts.joined(separator: " AND ")
                    let order = Self.order(&random)
                    let query = try world.bind("I", predicate + order)
                    // An arithmetic part is answered by no index.
                    let plain = try world.bind("I", "(\(predicate)) AND (flag == true OR flag == false)" + order)
                    let scanned = try world.bind("I", "(\(predicate) OR age + 0 == -100000)" + order)
                    let keys = try Executor(query, world.source).keys()
                    let note: Comment = "\(predicate)\(order) \(comment)"
                    #expect(try keys == Executor(scanned, world.source).keys(), note)
                    #expect(try keys == Executor(plain, world.source).keys(), note)
                    #expect(try Executor(query, world.source).count() == keys.count, note)
                    guard order.isEmpty else { continue }
                    let table = try world.type("I")
                    for name in ["age", "at"] {
                        let column = try #require(table.property(named: name)?.columnKey)
                        for function in [Predicate.CollectionOperator.min, .max] {
                            let wanted = try Executor(scanned, world.source).aggregate(function, column)
                            #expect(try Executor(query, world.source).aggregate(function, column) == wanted, note)
                        }
                    }
                }
            }
        }
    }

    @Test func plansNameTheIndex() throws {
        let world = try QueryWorld("I { city: string, age: int, n: int, indexed(city, age desc) }")
        try world.begin()
        for number in 0 ..< 4_000 {
            try world.create(
                "I",
                [
                    "city": .value(.string("city \(number % 20)")), "age": .value(.int(Int64(number % 100))),
                    "n": .value(.int(Int64(number))),
                ])
        }
        try world.commit()
        let plans = [
            ("city == 'city 3' AND age > 80", "I: index(city == \"city 3\" AND age > 80, 40 rows)"),
            (
                "age == 3 AND city IN {'city 3', 'city 4'}",
                "I: index(city IN {\"city 3\", \"city 4\"} AND age == 3, 40 rows)"
            ),
            (
                "city == 'city 3' AND age == 83 AND n > 5",
                "I: index(city == \"city 3\" AND age == 83, 40 rows) filter(n > 5)"
            ),
            ("age == 3", "I: scan(4000 rows) filter(age == 3)"),
        ]
        for (text, plan) in plans {
            #expect(try Plan.make(try world.bind("I", text), world.source).text == plan)
        }
        let before = world.database.counters.read().rowsEvaluated
        for text in [
            "city == 'city 3'", "city == 'city 3' AND age >= 20", "city IN {'city 3', 'city 4'} AND age == 3",
            "city BEGINSWITH 'city 1'",
        ] {
            #expect(try Executor(try world.bind("I", text), world.source).count() > 0, "\(text)")
        }
        for text in [
            "TRUEPREDICATE SORT(city ASC, age DESC) LIMIT(10)", "TRUEPREDICATE SORT(city DESC, age ASC) LIMIT(10)",
            "city == 'city 7' SORT(age DESC) LIMIT(5)", "city == 'city 7' AND age < 50 SORT(age ASC) LIMIT(5)",
        ] {
            #expect(try !Executor(try world.bind("I", text), world.source).keys().isEmpty, "\(text)")
        }
        #expect(world.database.counters.read().rowsEvaluated == before)
    }
}
