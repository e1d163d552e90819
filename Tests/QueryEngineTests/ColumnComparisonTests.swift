/// Two columns of one row compared, and times with numbers added to them: columns at a time, as each pair by itself.
import MotteColumns
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct ColumnComparisonTests {
    private static let ints: [Int64] = [
        .min, .max, .max - 1, 0, 1, -1, 1 << 53, 1 << 53 + 1, -(1 << 53) - 1, 1 << 62, 1 << 62 + 1,
    ]
    private static let doubles: [Double] = [
        .nan, .infinity, -.infinity, 0.0, -0.0, 1, 0.5, -1, 0x1p53, 0x1p53 + 2, -0x1p53, 0x1p62, 0x1p63, -0x1p63, 1e300,
    ]
    private static let operators: [(String, ComparisonOperator)] = [
        ("==", .equal), ("!=", .notEqual), ("<", .less), ("<=", .lessOrEqual), (">", .greater), (">=", .greaterOrEqual),
    ]

    private static func time(_ random: inout SeededRandom) -> Timestamp {
        let seconds = random.pick([Int64.min, .max, 0, -1, 1, Int64(random.below(4))])
        return Timestamp(seconds: seconds, nanoseconds: random.pick([0, 1, 999_999_999]))
    }

    private func world(_ random: inout SeededRandom, rowGroupSize: Int) throws -> QueryWorld {
        let world = try QueryWorld(
            "Item { i: int?, j: int, d: double?, e: double, f: float?, t: timestamp?, u: timestamp }",
            rowGroupSize: rowGroupSize)
        try world.begin()
        for _ in 0 ..< 700 {
            var cells: [String: QueryWorld.Cell] = [
                "j": .value(.int(random.pick(Self.ints))), "e": .value(.double(random.pick(Self.doubles))),
                "u": .value(.timestamp(Self.time(&random))),
            ]
            if random.chance(80) { cells["i"] = .value(.int(random.pick(Self.ints))) }
            if random.chance(80) { cells["d"] = .value(.double(random.pick(Self.doubles))) }
            if random.chance(80) { cells["f"] = .value(.float(Float(random.pick(Self.doubles)))) }
            if random.chance(80) { cells["t"] = .value(.timestamp(Self.time(&random))) }
            try world.create("Item", cells)
        }
        for key in (world.rows["Item"] ?? [:]).keys.sorted() where random.chance(20) { try world.delete("Item", key) }
        if random.chance(50) { try world.commit() }
        return world
    }

    private func found(_ world: QueryWorld, _ text: String) throws -> [Int64] {
        let bound = try BoundQuery.bind(
            try ParsedQuery.parse(text), table: try world.table("Item"), schema: world.schema)
        return try Executor(bound, world.source).keys()
    }

    private func value(_ world: QueryWorld, _ key: Int64, _ name: String) -> Value {
        if case .value(let value)? = world.rows["Item"]?[key]?[name] { value } else { .null }
    }

    @Test(arguments: [3, 480]) func columnsCompareAsTheirValuesDo(rowGroupSize: Int) throws {
        try PropertyTest.run(rounds: 2) { random, comment in
            let world = try world(&random, rowGroupSize: rowGroupSize)
            let keys = (world.rows["Item"] ?? [:]).keys.sorted()
            let numbers = ["i", "j", "d", "e", "f"]
            let pairs = numbers.flatMap { left in numbers.map { (left, $0) } } + [("t", "u"), ("u", "t"), ("t", "t")]
            var selected = 0
            for (left, right) in pairs {
                for (sign, test) in Self.operators {
                    let expected = keys.filter { key in
                        value(world, key, left).withView { one in
                            value(world, key, right).withView { ValueComparison.holds(test, one, $0) }
                        }
                    }
                    selected += expected.count
                    #expect(
                        try found(world, "\(left) \(sign) \(right)") == expected, "\(left) \(sign) \(right); \(comment)"
                    )
                }
            }
            #expect(selected > 1_000)
        }
    }

    @Test(arguments: [3, 480]) func numbersMoveTimesAsOneByOne(rowGroupSize: Int) throws {
        try PropertyTest.run(rounds: 2) { random, comment in
            let world = try world(&random, rowGroupSize: rowGroupSize)
            let keys = (world.rows["Item"] ?? [:]).keys.sorted()
            let moves: [(String, String, Predicate.ArithmeticOperator, String)] = [
                ("t + j", "t", .add, "j"), ("t - i", "t", .subtract, "i"), ("j + u", "j", .add, "u"),
                ("u + d", "u", .add, "d"), ("t - e", "t", .subtract, "e"), ("f + t", "f", .add, "t"),
            ]
            for (text, left, sign, right) in moves {
                for (comparison, test) in Self.operators {
                    let expected = keys.filter { key in
                        guard let one = Quantity(value(world, key, left)),
                            let other = Quantity(value(world, key, right))
                        else { return false }
                        return Quantity.compute(one, sign, other).value.withView { moved in
                            value(world, key, "u").withView { ValueComparison.holds(test, moved, $0) }
                        }
                    }
                    let query = "\(text) \(comparison) u"
                    #expect(try found(world, query) == expected, "\(query); \(comment)")
                }
            }
        }
    }
}
