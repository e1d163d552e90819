// Indexes of texts without their case or diacritics: random comparisons of every kind give what they give without an
// index, from snapshots and from within writes, and those that overlook what the index does look at no row.
import MotteColumns
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct FoldedIndexTests {
    private static let shapes: [[String]] = [
        ["indexed(name [c])"], ["indexed(name [cd])"], ["indexed(name [d])"], ["indexed(name [c], age desc)"],
        ["indexed(age, name [cd])", "indexed(name)"], ["indexed(name [c])", "indexed(name [cd], other [c])"],
    ]

    /// Pairs that differ in case or marks, letters whose lower case has another length, long ones that share what an
    /// index keeps.
    private static let names = [
        "", "anna", "Anna", "ANNA", "Ánna", "ÁNNA", "a\u{301}nna", "Ann", "ann\0a", "ANN\0A", "İzmir", "i\u{307}zmir",
        "izmir", "straße", "STRASSE", "STRAẞE", "ΣΟΦΟΣ", "σοφος", "σοφοσ", "\u{212A}elvin", "kelvin", "ǅ", "ǆ",
        "Ǆ", "Ⱥ", "ⱥ", "\u{301}", "日本", "𐐀", "𐐨",
        String(repeating: "Long ", count: 120) + "a", String(repeating: "lonG ", count: 120) + "A",
        String(repeating: "long ", count: 120) + "b",
    ]

    private static func fill(_ world: QueryWorld, _ random: inout SeededRandom, _ count: Int) throws {
        for _ in 0 ..< count {
            try world.create(
                "I",
                [
                    "name": .value(random.chance(10) ? .null : .string(random.pick(names))),
                    "other": .value(.string(random.pick(names))), "age": .value(.int(Int64(random.below(4)))),
                ])
        }
    }

    private static func change(_ world: QueryWorld, _ random: inout SeededRandom) throws {
        for key in (world.rows["I"] ?? [:]).keys.sorted() where random.chance(20) {
            if random.chance(30) {
                try world.delete("I", key)
            } else {
                try world.set("I", key, "name", .value(random.chance(10) ? .null : .string(random.pick(names))))
            }
        }
    }

    private static func part(_ random: inout SeededRandom, _ arguments: inout [Value]) -> String {
        func argument(_ text: String) -> String {
            arguments.append(.string(text))
            return "$\(arguments.count - 1)"
        }
        let options = random.pick(["", "[c]", "[d]", "[cd]"])
        let name = random.pick(names)
        switch random.below(8) {
        case 0, 1, 2: return "name ==\(options) \(argument(name))"
        case 3:
            let list = (0 ..< 1 + random.below(6)).map { _ in argument(random.pick(names)) }
            return "name IN\(options) {\(list.joined(separator: ", "))}"
        case 4, 5:
            let scalars = name.unicodeScalars.prefix(1 + random.below(3))
            return "name BEGINSWITH\(options) \(argument(String(String.UnicodeScalarView(scalars))))"
        case 6: return "other ==\(options) \(argument(name))"
        default: return random.chance(50) ? "age == \(random.below(4))" : "age >= \(random.below(4))"
        }
    }

    @Test(arguments: shapes.indices) func answersAreThoseWithoutAnIndex(shape: Int) throws {
        try PropertyTest.run(rounds: 2) { random, comment in
            let world = try QueryWorld(
                "I { name: string?, other: string, age: int, \(Self.shapes[shape].joined(separator: ", ")) }")
            try world.begin()
            try Self.fill(world, &random, 400)
            try world.commit()
            for isWriting in [false, true] {
                if isWriting {
                    try world.begin()
                    try Self.fill(world, &random, 20)
                    try Self.change(world, &random)
                }
                for _ in 0 ..< 150 {
                    var arguments: [Value] = []
                    let parts = (0 ..< 1 + random.below(3)).map { _ in Self.part(&random, &arguments) }
                    let predicate = parts.joined(separator: " AND ")
                    let query = try world.bind("I", predicate, arguments.map(Argument.value))
                    let scanned = try world.bind("I", "(\(predicate)) OR age + 0 == -1", arguments.map(Argument.value))
                    let keys = try Executor(query, world.source).keys()
                    let note: Comment = "\(predicate) \(arguments) \(comment)"
                    #expect(try keys == Executor(scanned, world.source).keys(), note)
                    #expect(try Executor(query, world.source).count() == keys.count, note)
                }
            }
            try world.commit()
            #expect(try world.snapshot.verify().isSound, "\(comment)")
        }
    }

    @Test func plansSayWhatIsLeftToLookAt() throws {
        let world = try QueryWorld("I { name: string, n: int, indexed(name [c], n) }")
        try world.begin()
        for number in 0 ..< 4_000 {
            let name = number % 2 == 0 ? "Name \(number % 50)" : "NAME \(number % 50)"
            try world.create("I", ["name": .value(.string(name)), "n": .value(.int(Int64(number)))])
        }
        try world.commit()
        for (text, plan) in [
            ("name ==[c] 'name 4'", "I: index(name ==[c] \"name 4\", 80 rows)"),
            ("name ==[c] 'name 4' AND n < 1000", "I: index(name ==[c] \"name 4\" AND n < 1000, 20 rows)"),
            ("name == 'Name 4'", "I: index(name == \"Name 4\", 80 rows) filter(name == \"Name 4\")"),
            ("name ==[cd] 'name 4'", "I: scan(4000 rows) filter(name ==[cd] \"name 4\")"),
            ("name BEGINSWITH[c] 'nAmE 49'", "I: index(name BEGINSWITH[c] \"nAmE 49\", 80 rows)"),
        ] {
            #expect(try Plan.make(try world.bind("I", text), world.source).text == plan)
        }
        let before = world.database.counters.read().rowsEvaluated
        for text in [
            "name ==[c] 'name 4'", "name IN[c] {'NAME 4', 'name 5', 'Name 5'}", "name BEGINSWITH[c] 'name 1'",
            "name ==[c] 'name 7' AND n > 100",
        ] {
            #expect(try Executor(try world.bind("I", text), world.source).count() > 0, "\(text)")
        }
        let first = try world.bind("I", "name ==[c] 'name 7' SORT(n DESC) LIMIT(2)")
        #expect(try Executor(first, world.source).keys() == [3_957, 3_907])
        #expect(world.database.counters.read().rowsEvaluated == before)
        // The order of folded texts is none of the texts.
        let sorted = try world.bind("I", "TRUEPREDICATE SORT(name ASC, n ASC) LIMIT(1)")
        #expect(try Executor(sorted, world.source).keys() == [1])
    }

    /// What the index keeps of a constant is folded once more.
    @Test func foldingTwiceIsFoldingOnce() {
        for value in UInt32(0) ..< 0x20000 {
            guard let scalar = Unicode.Scalar(value) else { continue }
            for options in [TextOptions.ignoresCase, .ignoresDiacritics, [.ignoresCase, .ignoresDiacritics]] {
                let once = String(scalar).withUTF8Bytes { TextFolding.folded($0, options) }
                let twice = once.withUnsafeBytes { TextFolding.folded($0, options) }
                if once != twice { Issue.record("U+\(String(value, radix: 16)) \(options.letters)") }
            }
        }
    }
}
