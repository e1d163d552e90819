// Functions of texts in conditions: beside the same computed here scalar by scalar, on every kind of path, and what is
// refused.
import MotteColumns
import MotteQueryEngine
import MotteValues
import TestSupport
import Testing

@Suite struct TextFunctionTests {
    // MARK: Functions themselves

    private static let pieces = [
        "a", "Z", "é", "É", "ß", "İ", "ı", "ΐ", "ﬃ", "ς", "Σ", " ", "\t", "\u{a0}", "\u{2003}", "e\u{301}", "日本",
        "👩‍👩‍👧", "ǅ",
        "\u{0}", "x",
    ]

    private static func naive(_ text: String, _ function: TextFunction) -> String {
        let scalars = Array(text.unicodeScalars)
        func made(_ scalars: some Sequence<Unicode.Scalar>) -> String {
            var text = String.UnicodeScalarView()
            text.append(contentsOf: scalars)
            return String(text)
        }
        switch function {
        case .length: return "\(scalars.count)"
        case .lower: return scalars.map(\.properties.lowercaseMapping).joined()
        case .upper: return scalars.map(\.properties.uppercaseMapping).joined()
        case .trimStart: return made(scalars.drop { $0.properties.isWhitespace })
        case .trimEnd: return made(scalars.reversed().drop { $0.properties.isWhitespace }.reversed())
        case .trim: return naive(naive(text, .trimStart), .trimEnd)
        case .part(let start, let count):
            // As SQLite counts: place by place, some of which may be before the first character.
            let first = start > 0 ? start - 1 : start < 0 ? scalars.count + start : -1
            let end = count.map { $0 > 1_000 ? scalars.count : first + $0 } ?? scalars.count
            guard first < end else { return "" }
            return made((first ..< end).filter { scalars.indices.contains($0) }.map { scalars[$0] })
        }
    }

    @Test func functionsAgreeWithNaiveOnes() throws {
        try PropertyTest.run(rounds: 2_000) { random, comment in
            let text = (0 ..< random.below(12)).map { _ in random.pick(Self.pieces) }.joined()
            var functions: [TextFunction] = []
            var expected = text
            for _ in 0 ..< 1 + random.below(3) {
                let part = TextFunction.part(
                    start: random.below(25) - 12, count: random.chance(60) ? random.below(9) : nil)
                let function = random.pick([TextFunction.lower, .upper, .trim, .trimStart, .trimEnd, part, part])
                functions.append(function)
                expected = Self.naive(expected, function)
            }
            if random.chance(30) {
                functions.append(.length)
                expected = Self.naive(expected, .length)
            }
            let found = text.withUTF8Bytes { bytes in
                TextFunctions(functions).apply(.string(bytes)) { view in
                    view.kind == .int ? "\(view.intValue)" : String(decoding: view.bytes, as: UTF8.self)
                }
            }
            #expect(
                found.utf8.elementsEqual(expected.utf8), "\(functions) of \(text.debugDescription), \(comment)")
        }
    }

    @Test func numbersAtTheirLimits() {
        let text = "abc"
        func part(_ start: Int, _ count: Int?) -> String {
            text.withUTF8Bytes { bytes in
                TextFunctions([.part(start: start, count: count)]).apply(.string(bytes)) {
                    String(decoding: $0.bytes, as: UTF8.self)
                }
            }
        }
        #expect(
            part(1, .max) == "abc" && part(.max, .max) == "" && part(.min, .max) == "ab" && part(.min, nil) == "abc")
        #expect(part(.min, 3) == "" && part(2, 0) == "" && part(-2, 1) == "b" && part(0, 2) == "a")
        let long = String(repeating: "ΐ", count: 100_000)
        long.withUTF8Bytes { bytes in
            #expect(TextFunctions([.upper, .length]).apply(.string(bytes)) { $0.intValue } == 300_000)
        }
    }

    /// Bytes that are no text do no harm.
    @Test func bytesThatAreNoText() throws {
        try PropertyTest.run(rounds: 500) { random, _ in
            let bytes = (0 ..< random.below(9)).map { _ in
                UInt8(random.pick([0xF0, 0xC3, 0xE2, 0x80, 0x20, 0xFF, 0x41]))
            }
            bytes.withUnsafeBytes { bytes in
                for function in [TextFunction.lower, .upper, .trim, .part(start: -2, count: 1), .length] {
                    TextFunctions([function]).apply(.string(bytes)) { view in
                        #expect(view.kind == .int || view.bytes.count <= bytes.count * 3)
                    }
                }
            }
        }
    }

    // MARK: In queries

    private static func world() throws -> QueryWorld {
        let world = try QueryWorld(
            "P { name: string?, nick: string, age: int, tags: list<string>, any: mixed, body: data, boss: link<P> }",
            rowGroupSize: 4)
        try world.begin()
        let rows: [(String?, String, Int64, [String], Value, Int)] = [
            ("Ada", "ADA", 3, ["One", "two"], .string("Mixed"), 2), ("  Bo ", "bo", 2, [], .int(5), 0),
            (nil, "", 0, ["ONE"], .null, 1), ("Élan", "ÉLAN", 9, ["x"], .string("elan"), 3),
            ("ada", "x", 3, ["ONE", "one"], .double(1.5), 4),
        ]
        var boss: Int64?
        for (name, nick, age, tags, any, size) in rows {
            var cells: [String: QueryWorld.Cell] = [
                "nick": .value(.string(nick)), "age": .value(.int(age)), "any": .value(any),
                "tags": .list(tags.map(Value.string)),
                "body": .value(.data([UInt8](repeating: 0x80, count: size))),
            ]
            if let name { cells["name"] = .value(.string(name)) }
            if let boss { cells["boss"] = .value(try world.link("P", boss)) }
            boss = try world.create("P", cells)
        }
        try world.commit()
        return world
    }

    @Test(arguments: [
        ("lower(name) == 'ada'", [0, 4]), ("upper(name) == nick", [0, 3]), ("lower(name) == lower(nick)", [0, 3]),
        ("trim(name) == 'Bo'", [1]), ("length(name) > 3", [1, 3]), ("length(trim(name)) == length(nick)", [0, 1, 3]),
        ("length(name) == age", [0, 4]), ("length(name) * 2 - 1 > age + 1", [0, 1, 4]), ("length(name) == NULL", [2]),
        ("lower(name) != 'ada'", [1, 2, 3]), ("substr(name, 1, 2) == 'Ad'", [0]),
        ("substr(name, -2) IN {'da', 'an'}", [0, 3, 4]), ("lower(name) BEGINSWITH 'é'", [3]),
        ("upper(trim(name)) MATCHES 'B.'", [1]), ("lower(name) LIKE '?da'", [0, 4]),
        ("NOT lower(name) CONTAINS 'a'", [1, 2]),
        ("ANY lower(tags) == 'one'", [0, 2, 4]), ("ALL upper(tags) == 'ONE'", [1, 2, 4]),
        ("NONE length(tags) > 1", [1, 3]), ("lower(any) == 'mixed'", [0]), ("length(any) == 4", [3]),
        ("length(any) == NULL", [1, 2, 4]), ("length(body) == 3", [3]), ("lower(boss.name) == 'ada'", [1]),
        ("length(boss.name) == NULL", [0, 3]), ("length(tags[0]) == 3", [0, 2, 4]),
        ("length(name) BETWEEN {3, 4}", [0, 3, 4]), ("SUBQUERY(boss, $b, lower($b.name) == 'ada').@count == 1", []),
        ("'one' IN lower(tags)", [0, 2, 4]), ("lower(name) ==[d] 'elan'", [3]), ("length(SELF.name) == 3", [0, 4]),
    ])
    func conditions(text: String, expected: [Int]) throws {
        let world = try Self.world()
        // A link is no collection.
        guard !expected.isEmpty else {
            #expect(throws: DatabaseError.self) { try world.bind("P", text) }
            return
        }
        #expect(try world.executor("P", text).keys() == expected.map(Int64.init), "\(text)")
    }

    @Test func textOfFunctions() throws {
        for text in [
            "length(trim(name)) > 3", "lower(substr(name, -2, 1)) == \"x\"", "ANY ltrim(rtrim(tags)) == \"a\"",
            "substr(upper(name), 2) == lower(nick) AND length == 3", "lower(`any`[\"a\"]) == \"b\"",
        ] {
            #expect(try PredicateText.describe(ParsedQuery.parse(text)) == text)
        }
        // Names of functions are names of properties elsewhere.
        #expect(
            try PredicateText.describe(ParsedQuery.parse("lower == 1 AND trim.length > 2"))
                == "lower == 1 AND trim.length > 2")
    }

    @Test(arguments: [
        ("length(age) == 1", ErrorCode.queryInvalid), ("lower(body) == 'a'", .queryInvalid),
        ("lower(length(name)) == 'a'", .queryInvalid), ("lower(name) + 1 == 2", .queryInvalid),
        ("lower(name) == 3", .queryInvalid), ("length(name) == 'a'", .queryInvalid),
        ("lower(tags) == 'a'", .queryInvalid),
        ("length(tags.@count) == 1", .queryInvalid), ("substr(name) == 'a'", .querySyntax),
        ("substr(name, 1, -1) == 'a'", .querySyntax), ("lower('A') == name", .querySyntax),
        ("TRUEPREDICATE SORT(lower(name))", .querySyntax), ("GROUP(lower(name)) COUNT", .querySyntax),
        ("lower(name", .querySyntax), ("lower(boss) == 'a'", .queryInvalid),
    ])
    func mistakes(text: String, code: ErrorCode) throws {
        let world = try Self.world()
        let error = #expect(throws: DatabaseError.self) { try world.bind("P", text) }
        #expect(error?.code == code, "\(text): \(String(describing: error))")
    }

    @Test func deeplyNestedFunctions() throws {
        let world = try Self.world()
        func text(_ depth: Int) -> String {
            String(repeating: "trim(", count: depth) + "name" + String(repeating: ")", count: depth) + " == 'Bo'"
        }
        #expect(try world.executor("P", text(150)).keys() == [1])
        let error = #expect(throws: DatabaseError.self) { try world.bind("P", text(5_000)) }
        #expect(error?.code == .querySyntax)
    }
}
