/// The plans of fifty queries over columns of several shapes, and that each gives what a scan gives.
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct PlanListTests {
    static let plans: [(text: String, plan: String)] = [
        // Nothing to choose.
        ("", "Person: scan(70000 rows)"),
        ("age > 50", "Person: scan(70000 rows) filter(age > 50)"),
        ("even == 7", "Person: index(even == 7, 66 rows)"),
        ("skewed == 0", "Person: scan(70000 rows) filter(skewed == 0)"),
        ("sparse == 7", "Person: index(sparse == 7, 700 rows)"),
        ("sparse == nil", "Person: scan(70000 rows) filter(sparse == NULL)"),
        ("id == 7", "Person: index(id == 7, 1 rows)"),
        ("id IN {1, 2, 3, 70001}", "Person: index(id IN {1, 2, 3, 70001}, 3 rows)"),
        ("FALSEPREDICATE", "Person: nothing"),
        ("code == 'C7'", "Person: index(code == \"C7\", 33 rows)"),
        // An index and a test, and a scan where the index names too many.
        ("even == 7 AND age > 50", "Person: index(even == 7, 66 rows) filter(age > 50)"),
        ("skewed == 0 AND age > 50", "Person: scan(70000 rows) filter(skewed == 0 AND age > 50)"),
        ("skewed == 5 AND age > 50", "Person: index(skewed == 5, 287 rows) filter(age > 50)"),
        ("sparse == 7 AND age > 50", "Person: index(sparse == 7, 700 rows) filter(age > 50)"),
        ("sparse != nil AND age > 50", "Person: scan(70000 rows) filter(sparse != NULL AND age > 50)"),
        ("id < 100 AND age > 50", "Person: index(id < 100, 100 rows) filter(age > 50)"),
        ("id < 60000 AND age > 50", "Person: scan(70000 rows) filter(age > 50 AND id < 60000)"),
        ("even < 3 AND age > 50", "Person: index(even < 3, 192 rows) filter(age > 50)"),
        ("even < 300 AND age > 50", "Person: scan(70000 rows) filter(even < 300 AND age > 50)"),
        ("code == 'C7' AND age > 50", "Person: index(code == \"C7\", 33 rows) filter(age > 50)"),
        ("even IN {1, 2, 3} AND half == true", "Person: index(even IN {1, 2, 3}, 250 rows) filter(half == true)"),
        // The index with fewer rows.
        ("skewed == 0 AND even == 7", "Person: index(even == 7, 66 rows) filter(skewed == 0)"),
        ("even == 7 AND id == 3", "Person: index(id == 3, 1 rows) filter(even == 7)"),
        ("sparse == 7 AND skewed == 0", "Person: index(sparse == 7, 700 rows) filter(skewed == 0)"),
        ("id < 50 AND even == 7", "Person: index(id < 50, 50 rows) filter(even == 7)"),
        // Two indexes.
        ("skewed == 5 AND sparse == 7", "Person: index(skewed == 5 AND sparse == 7, 1 rows)"),
        ("skewed == 5 AND even == 7", "Person: index(even == 7 AND skewed == 5, 1 rows)"),
        (
            "skewed == 5 AND even IN {1, 2, 3, 4, 5, 6, 7, 8, 9} AND age > 5",
            "Person: index(skewed == 5 AND even IN {1, 2, 3, 4, 5, 6, 7, 8, 9}, 1 rows) filter(age > 5)"
        ),
        (
            "sparse == 7 AND even == 7 AND id < 3000",
            "Person: index(even == 7 AND sparse == 7, 1 rows) filter(id < 3000)"
        ),
        // The cheapest part first.
        ("half == true AND age == 5", "Person: scan(70000 rows) filter(age == 5 AND half == true)"),
        ("age >= 0 AND twin == 5", "Person: scan(70000 rows) filter(twin == 5 AND age >= 0)"),
        ("name CONTAINS '99' AND age == 5", "Person: scan(70000 rows) filter(age == 5 AND name CONTAINS \"99\")"),
        ("name CONTAINS '99' AND age >= 0", "Person: scan(70000 rows) filter(name CONTAINS \"99\" AND age >= 0)"),
        (
            "age > 1 AND half == true AND twin < 3",
            "Person: scan(70000 rows) filter(half == true AND twin < 3 AND age > 1)"
        ),
        ("twin < 900 AND age < 2", "Person: scan(70000 rows) filter(age < 2 AND twin < 900)"),
        ("boss.level == 3 AND age == 5", "Person: index(boss.level == 3, 77 rows) filter(age == 5)"),
        (
            "skewed == 0 AND twin == 5 AND age > 3",
            "Person: scan(70000 rows) filter(twin == 5 AND skewed == 0 AND age > 3)"
        ),
        // Along links from the selective side.
        ("boss.id == 7", "Person: index(boss.id == 7, 33 rows)"),
        ("boss.id == 0", "Person: index(boss.id == 0, 35000 rows)"),
        ("boss.name == 'Boss 8'", "Person: index(boss.name == \"Boss 8\", 0 rows)"),
        ("boss.city == 'City 7'", "Person: index(boss.city == \"City 7\", 571 rows)"),
        ("boss.city == 'City 7' AND age == 5", "Person: index(boss.city == \"City 7\", 571 rows) filter(age == 5)"),
        ("boss.level == 3", "Person: index(boss.level == 3, 77 rows)"),
        ("boss.level > 3", "Person: scan(70000 rows) filter(boss.level > 3)"),
        (
            "boss.name == 'Boss 8' AND boss.level == 8",
            "Person: index(boss.name == \"Boss 8\", 0 rows) filter(boss.level == 8)"
        ),
        (
            "boss.city == 'City 7' AND boss.level == 7",
            "Person: index(boss.level == 7, 33 rows) filter(boss.city == \"City 7\")"
        ),
        ("deputy.boss.id == 9", "Person: index(deputy.boss.id == 9, 0 rows)"),
        (
            "even == 7 AND boss.city == 'City 7'",
            "Person: index(even == 7, 66 rows) filter(boss.city == \"City 7\")"
        ),
        // Limits and orders.
        ("skewed == 0 LIMIT(5)", "Person: scan(70000 rows) filter(skewed == 0) limit(5)"),
        ("skewed == 0 AND age == 5 LIMIT(5)", "Person: scan(70000 rows) filter(age == 5 AND skewed == 0) limit(5)"),
        ("even == 7 LIMIT(5)", "Person: index(even == 7, 66 rows) limit(5)"),
        ("skewed == 0 SORT(age) LIMIT(5)", "Person: scan(70000 rows) filter(skewed == 0) sort(age ASC) limit(5)"),
        (
            "even == 7 AND age > 50 SORT(name) LIMIT(5)",
            "Person: index(even == 7, 66 rows) filter(age > 50) sort(name ASC) limit(5)"
        ),
        ("sparse == 7 DISTINCT(age)", "Person: index(sparse == 7, 700 rows) distinct(age)"),
    ]

    @Test func plansAndWhatTheyFind() throws {
        let world = try PlanWorld.make()
        #expect(Self.plans.count >= 50)
        for (text, plan) in Self.plans {
            let query = try world.bind("Person", text)
            let chosen = try Plan.make(query, world.source).text
            #expect(chosen == plan, "\(text)")
            try check(world, text, query)
        }
    }

    /// Against the same condition with a part that no index can answer, so that all rows are looked at.
    private func check(_ world: QueryWorld, _ text: String, _ query: BoundQuery) throws {
        let clauses = [" SORT", " LIMIT", " DISTINCT"].compactMap { text.firstRange(of: $0)?.lowerBound }
        let end = clauses.min() ?? text.endIndex
        let condition = text[..<end].isEmpty ? "TRUEPREDICATE" : String(text[..<end])
        let plain = try world.bind("Person", "(\(condition) OR age == 1000000) AND age != 2000000\(text[end...])")
        #expect(!(try Plan.make(plain, world.source).usesIndex), "\(text)")
        #expect(try Executor(query, world.source).keys() == Executor(plain, world.source).keys(), "\(text)")
        #expect(try Executor(query, world.source).count() == Executor(plain, world.source).count(), "\(text)")
        let analyzed = try Executor(query, world.source).analyze()
        #expect(try analyzed.keys == Executor(query, world.source).keys(), "\(text)")
    }

    /// Conditions put together at random: whatever the plan, it finds what a scan finds.
    @Test func randomPlansFindWhatScansFind() throws {
        let world = try PlanWorld.make()
        var indexed = 0, asked = 0
        try PropertyTest.run(rounds: 6) { random, comment in
            let parts = [
                "even == \(random.below(1_000))", "skewed == \(random.below(98))", "sparse == \(random.below(50))",
                "sparse != nil", "id < \(random.below(2_000))", "id > \(70_000 - random.below(90_000))",
                "code == 'C\(random.below(2_000))'",
                "age < \(random.below(100))", "half == true", "name CONTAINS '\(random.below(100))'",
                "boss.id == \(random.below(2_000))", "boss.city == 'City \(random.below(50))'",
                "boss.level == \(random.below(500))",
                "boss.level > \(random.below(500))", "deputy.boss.id == \(random.below(2_000))", "boss == nil",
                "even IN {\(random.below(1_000)), \(random.below(1_000)), 3}", "twin < \(random.below(1_000))",
            ]
            for _ in 0 ..< 20 {
                var condition = random.pick(parts)
                for _ in 0 ..< random.below(3) { condition += " AND " + random.pick(parts) }
                let clauses = random.pick([
                    "", "", " LIMIT(\(1 + random.below(50)))", " SORT(age, id) LIMIT(7)", " DISTINCT(age)",
                ])
                let query = try world.bind("Person", condition + clauses)
                if try Plan.make(query, world.source).usesIndex { indexed += 1 }
                asked += 1
                let plain = try world.bind("Person", "(\(condition) OR age == 1000000) AND age != 2000000\(clauses)")
                let note: Comment = "\(condition + clauses) \(comment)"
                let keys = try Executor(plain, world.source).keys()
                #expect(try Executor(query, world.source).keys() == keys, note)
                #expect(try Executor(query, world.source).count() == keys.count, note)
            }
        }
        #expect(indexed * 4 > asked, "\(indexed) of \(asked)")
    }
}
