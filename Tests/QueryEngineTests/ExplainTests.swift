/// Plans as trees: their steps, what they expect and what a run saw, as text and as JSON.
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct ExplainTests {
    /// A step and what is below it, without times: `limit 3 [3|3] < sort age ASC ...`.
    static func words(_ step: PlanStep) -> String {
        var text = step.kind.rawValue + (step.detail.isEmpty ? "" : " " + step.detail)
        text += " [" + (step.isCounted ? "=" : "") + (step.estimatedRows.map { "\($0)" } ?? "?")
        text += "|" + (step.rows.map { "\($0)" } ?? "-") + "]"
        for lookup in step.lookups { text += " {" + words(lookup) + "}" }
        if let input = step.input { text += " < " + words(input) }
        return text
    }

    @Test func stepsAndTheirRows() throws {
        let world = try PlanTests.world()
        let expected = [
            ("", "scan Person [=2000|2000]"),
            ("age == 1 AND FALSEPREDICATE", "nothing [=0|-]"),
            ("age > 50", "filter age > 50 [980|980] < scan Person [=2000|2000]"),
            ("city == 'City 3'", "index city == \"City 3\" [=100|100]"),
            ("id < 20", "index id < 20 [=20|20]"),
            (
                "friend.id == 0",
                "backlinks friend.id == 0 [=999|999] {targets friend: Person [=1|-] < index id == 0 [=1|-]}"
            ),
            (
                "friend.age == 0",
                "filter friend.age == 0 [10|999] {targets friend: Person [20|20] < filter age == 0 [20|20] "
                    + "< scan Person [=2000|2000]} < scan Person [=2000|2000]"
            ),
            ("age >= 0 LIMIT(10)", "limit 10 [10|10] < filter age >= 0 [2000|480] < scan Person [=2000|480]"),
            (
                "age > 90 SORT(name DESC) OFFSET(5) LIMIT(3)",
                "limit 3 [3|3] < offset 5 [3|3] < sort name DESC, the first 8 [8|8] "
                    + "< filter age > 90 [180|180] < scan Person [=2000|2000]"
            ),
            ("DISTINCT(city)", "distinct city [20|20] < scan Person [=2000|2000]"),
            ("SORT(age) SORT(city)", "sort city ASC, age ASC [2000|2000] < scan Person [=2000|2000]"),
        ]
        for (text, steps) in expected {
            let executor = Executor(try world.bind("Person", text), world.source)
            let plain = try executor.explain()
            #expect(plain.rows == nil, "\(text)")
            let analyzed = try executor.analyze()
            #expect(Self.words(analyzed.top) == steps, "\(text)")
            #expect(try analyzed.keys == world.keys("Person", text), "\(text)")
            #expect(try executor.keys() == analyzed.keys, "it runs as before afterwards: \(text)")
        }
    }

    /// What runs is what the tree shows: no scan, and nothing to sort.
    @Test func rowsInTheOrderOfAnIndex() throws {
        let world = try QueryWorld("P { age: int, name: string, indexed(age desc) }")
        try world.begin()
        for age in 0 ..< 1_000 { try world.create("P", ["age": .value(.int(Int64(age % 700)))]) }
        try world.commit()
        for (text, steps) in [
            ("SORT(age DESC) LIMIT(3)", "limit 3 [3|3] < sort age DESC, as the index has it [3|3] < index age [3|3]"),
            (
                "SORT(age) OFFSET(2) LIMIT(2)",
                "limit 2 [2|2] < offset 2 [2|2] < sort age ASC, as the index has it [4|4] < index age [4|4]"
            ),
            ("SORT(age)", "sort age ASC [1000|1000] < scan P [=1000|1000]"),
        ] {
            let executor = Executor(try world.bind("P", text), world.source)
            #expect(Self.words(try executor.analyze().top) == steps, "\(text)")
        }
    }

    @Test func eachPartOfAnAndIsAStep() throws {
        let world = try PlanTests.world()
        let executor = Executor(
            try world.bind("Person", "age > 50 AND name CONTAINS '7' AND friend.age == 0"), world.source)
        var step: PlanStep? = try executor.analyze().top
        var rows: [Int] = []
        while let here = step {
            rows.append(here.rows ?? -1)
            #expect(here.nanoseconds <= here.treeNanoseconds)
            step = here.input
        }
        #expect(rows.count == 4 && rows.last == 2_000 && rows == rows.sorted(), "\(rows)")
        #expect(try rows.first == executor.keys().count)
    }

    @Test func groups() throws {
        let world = try PlanTests.world()
        for (text, steps) in [
            (
                "age > 50 GROUP(city) COUNT",
                "group GROUP(city) COUNT [20|20] < filter age > 50 [980|980] < scan Person [=2000|2000]"
            ),
            ("GROUP(friend.city) COUNT SORT(COUNT) LIMIT(1)", nil),
            ("city == 'City 3' LIMIT(7) GROUP(age) COUNT", nil),
        ] as [(String, String?)] {
            let type = try world.type("Person")
            let parsed = try ParsedQuery.parse(text)
            let table = try #require(type.tableKey)
            let grouping = try BoundGrouping.bind(parsed, table: table, schema: world.schema)
            let query = try BoundQuery.bind(parsed.withoutGroups, table: table, schema: world.schema)
            let executor = Executor(query, world.source)
            let top = try executor.explain(grouping, isRun: true)
            #expect(try top.rows == executor.groups(grouping).count, "\(text)")
            #expect(top.kind == .group && top.input?.rows != nil)
            if let steps { #expect(Self.words(top) == steps) }
            #expect(try executor.explain(grouping, isRun: false).rows == nil)
        }
    }

    @Test func textAndJSON() throws {
        let world = try PlanTests.world()
        let executor = Executor(
            try world.bind("Person", "friend.age == 0 AND name != \"a\\\"b\" LIMIT(2)"), world.source)
        let plain = Explanation(top: try executor.explain(), nanoseconds: nil)
        #expect(
            plain.text("Person: title")
                == """
                Person: title
                step                          estimated
                limit 2                               2
                  filter friend.age == 0             10
                    | targets friend: Person         20
                    |   filter age == 0              20
                    |     scan Person            = 2000
                    filter name != "a\\"b"          2000
                      scan Person                = 2000
                """, "\(plain.text("Person: title"))")
        let analyzed = Explanation(top: try executor.analyze().top, nanoseconds: 1_234_567)
        #expect(analyzed.text("x").contains("in all") && analyzed.text("x").hasSuffix("1.235"))
        let json = analyzed.json("a \"b\"\n\u{1}")
        #expect(
            json.hasPrefix(
                #"{"query": "a \"b\"\n\u0001", "analyzed": true, "nanoseconds": 1234567, "table": "a \"b\"\n\u0001\nst"#
            ))
        #expect(json.contains(#""lookups": [{"step": "targets", "detail": "friend: Person", "estimated_rows": 20"#))
        #expect(!plain.json("x").contains("nanoseconds"))
    }

    @Test func queriesOverGivenObjects() throws {
        let world = try PlanTests.world()
        let executor = Executor(try world.bind("Person", "age > 50 SORT(age)"), world.source)
        let elements = PlanStep(.elements, "a list", rows: 100, isCounted: true)
        let found = try executor.analyze(among: Array(0 ..< 100), elements)
        #expect(try found.keys == executor.keys(among: Array(0 ..< 100)))
        #expect(found.top.rows == 49 && found.top.input?.rows == 49 && found.top.input?.input === elements)
    }
}
