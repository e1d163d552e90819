/// What arithmetic means, case by case; random expressions are among the random queries.
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct ArithmeticTests {
    static let schema = """
        Item { id: int key, n: int?, d: double?, f: float, m: decimal?, at: timestamp? indexed, to: timestamp?,
               any: mixed, name: string?, flag: bool, other: link<Item>, parts: list<Item>, marks: list<int> }
        """

    static func world(rowGroupSize: Int = 3) throws -> QueryWorld {
        let world = try QueryWorld(schema, rowGroupSize: rowGroupSize)
        try world.begin()
        let rows: [[String: Value]] = [
            [:],
            [
                "n": .int(6), "d": .double(1.5), "f": .float(0.1), "m": .decimal(Decimal128(2.5)), "any": .int(3),
                "at": .timestamp(Timestamp(seconds: 100, nanoseconds: 0)),
                "to": .timestamp(Timestamp(seconds: 160, nanoseconds: 500_000_000)),
            ],
            [
                "n": .int(.max), "d": .double(.nan), "any": .string("text"),
                "at": .timestamp(Timestamp(seconds: .max, nanoseconds: 1)),
                "to": .timestamp(Timestamp(seconds: -5, nanoseconds: 0)),
            ],
            ["n": .int(0), "d": .double(0), "m": .decimal(.zero), "any": .double(-2)],
            ["n": .int(-7), "d": .double(-0.5), "any": .timestamp(Timestamp(seconds: 10, nanoseconds: 0))],
        ]
        for (id, row) in rows.enumerated() {
            try world.create("Item", ["id": .value(.int(Int64(id)))])
            for (name, value) in row { try world.set("Item", Int64(id), name, .value(value)) }
        }
        try world.set("Item", 4, "other", .value(try world.link("Item", 1)))
        try world.set("Item", 4, "parts", .list([try world.link("Item", 1), try world.link("Item", 3)]))
        try world.commit()
        return world
    }

    static let finds: [(String, [Int64])] = [
        ("n + 1 > 6", [1]), ("n * 2 == 12", [1]), ("n - 7 == -1", [1]), ("1 + n * 2 == 13", [1]),
        ("(1 + n) * 2 == 14", [1]), ("13 == 1 + n * 2", [1]), ("n == 2 * 3", [1]), ("2 * 3 == n", [1]),
        // Null with anything is null.
        ("n + 1 == null", [0, 2]), ("n + 1 != null", [1, 3, 4]), ("n * 2 != 12", [0, 2, 3, 4]),
        ("n + null == null", [0, 1, 2, 3, 4]), ("n * 0 <= null", [0]), ("n * 0 < null", []),
        // What does not fit into an int has no value, and a division of ints by zero has none.
        ("n - 1 < 9223372036854775807", [1, 2, 3, 4]), ("6 / n == null", [0, 3]), ("n / 4 == -1", [4]),
        ("n / 4 == 1", [1]), ("n / -1 < 0", [1, 2]),
        // Doubles go by IEEE 754.
        ("n / 4.0 == 1.5", [1]), ("d / 0 == inf", [1]), ("d / 0 == nan", [2, 3]), ("d * 2 > 2", [1]),
        ("d - d == 0", [1, 3, 4]), ("d - d == nan", [2]), ("n * 1.0 > 9223372036854775806", [2]),
        ("f * 1 == 0.1", []), ("f * 1 > 0.1", [1]), ("f == 0.1", []), ("f > 0.1", [1]),
        // A decimal makes a decimal.
        ("m * 2 == 5", [1]), ("m + 0.1 == decimal(2.6)", [1]), ("n / m == decimal(2.4)", [1]),
        ("n * 1 == m * 2.4", [0, 1, 3]),
        // Times.
        ("to - at == 60.5", [1]), ("to - at > 1m", [1]), ("at + 60.5 == to", [0, 1, 3, 4]), ("60 + at < to", [1]),
        ("to - 1m > at", [1]), ("at + 1 == null", [0, 2, 3, 4]), ("at == T40:0 + 1m", [1]),
        ("at > 1970-01-01T00:01:00Z + 39s", [1, 2]), ("at - 1970-01-01 == 100", [1]), ("to - at < 0", [2]),
        // Mixed values are as what they hold.
        ("any + 1 == 4", [1]), ("any * 2 == -4", [3]), ("any + 1 == null", [0, 2]), ("any + 5 == T15:0", [4]),
        ("n - any == 3", [1]),
        // Paths.
        ("other.n * 2 == 12", [4]), ("other.n - n == 13", [4]), ("other.to - other.at > 60", [4]),
        ("SUBQUERY(parts, $p, $p.n * 2 == 12).@count == 1", [4]), ("other.n + 1 == null", [0, 1, 2, 3]),
        // Lists and ranges.
        ("n + 1 IN {7, 2 * 3}", [1]), ("n + 1 BETWEEN {0, 7}", [1, 3]), ("n IN {1 + 5}", [1]),
        ("n BETWEEN 3 * 2 AND 4 * 2", [1]), ("NOT n + 1 > 6", [0, 2, 3, 4]),
    ]

    @Test(arguments: [3, 480]) func meansWhatTheDocumentSays(rowGroupSize: Int) throws {
        let world = try Self.world(rowGroupSize: rowGroupSize)
        for (text, expected) in Self.finds { #expect(try world.keys("Item", text) == expected, "\(text)") }
        #expect(try world.keys("Item", "n * $0 == $1 + 2", [.int(2), .int(10)]) == [1])
        #expect(try world.keys("Item", "at + $0 >= to AND at != null", [.double(60.5)]) == [1])
    }

    static let failures: [(String, ErrorCode, Int)] = [
        ("name + 1 == 2", .queryInvalid, 0), ("1 + flag == 2", .queryInvalid, 4), ("n + 'x' == 2", .queryInvalid, 4),
        ("at + to == null", .queryInvalid, 3), ("at * 2 == null", .queryInvalid, 3),
        ("1 - at == null", .queryInvalid, 2),
        ("at - to > at", .queryInvalid, 8), ("n + 1 > at", .queryInvalid, 6), ("n + 1 CONTAINS 'x'", .queryInvalid, 6),
        ("n + 1 ==[c] 2", .queryInvalid, 6), ("parts.n + 1 > 2", .queryInvalid, 0),
        ("ANY parts.n + 1 > 2", .queryInvalid, 0),
        ("marks.@sum + 1 > 2", .queryInvalid, 0), ("parts.@count * 2 > 2", .queryInvalid, 0),
        ("SUBQUERY(parts, $p, $p.n > 1).@count + 1 > 2", .queryInvalid, 0), ("n IN {n + 1}", .queryInvalid, 8),
        ("n + $0 > 1", .queryArgument, 4), ("other + 1 > 2", .queryInvalid, 0), ("n + height > 2", .unknownProperty, 4),
        ("1 + 1 == 2", .queryInvalid, 6), ("n + {1} > 2", .queryInvalid, 4),
    ]

    @Test(arguments: failures) func saysWhatDoesNotFit(text: String, code: ErrorCode, offset: Int) throws {
        let world = try Self.world()
        do throws(DatabaseError) {
            _ = try world.bind("Item", text, text.contains("$0") ? [.value(.string("x"))] : [])
            Issue.record("\(text) was bound")
        } catch {
            #expect(error.code == code, "\(text): \(error)")
            #expect(error.details.queryOffset == offset, "\(text): \(error)")
        }
    }

    /// What has no paths is a constant, for which an index serves.
    @Test func indexesServeComputedConstants() throws {
        let world = try Self.world()
        let query = try world.bind("Item", "at == 1970-01-01 + 100s")
        #expect(try Plan.make(query, world.source).text == "Item: index(at == T100:0, 1 rows)")
        #expect(try Executor(query, world.source).keys() == [1])
    }

    @Test func nowIsOneTimeForTheWholeQuery() throws {
        let world = try Self.world()
        let before = Timestamp.now
        let query = try world.bind("Item", "now() - 1h < at AND at <= now()")
        let now = try #require(query.arguments.now)
        #expect(before <= now && now <= Timestamp.now)
        let (hourAgo, fraction) = (now.seconds - 3_600, now.nanoseconds)
        #expect(query.text == "T\(hourAgo):\(fraction) < at AND at <= T\(now.seconds):\(fraction)")
        #expect(try world.keys("Item", "now() - at > 10d") == [1])
        #expect(try world.keys("Item", "at < now() + 1w") == [1])
    }

    /// Lists of plain values, too.
    @Test func valuesOfListsAreComputedWith() throws {
        let parsed = try ParsedQuery.parse("SELF * 2 > 5 AND SELF - 1 != 3")
        let query = try ValueQuery.bind(parsed, type: .int, name: "marks")
        #expect(try query.positions(in: [.int(1), .int(3), .int(4), .null, .int(9)]) == [1, 4])
    }
}
