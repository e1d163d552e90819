/// Which plans are chosen, and what running them costs by the engine's own counters.
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct PlanTests {
    /// 2,000 people of 20 cities, the first thousand friends of number 0.
    static func world() throws -> QueryWorld {
        let world = try QueryWorld(
            """
            Person { id: int key, city: string indexed, age: int, name: string, friend: link<Person>,
                     admirers: inverse<Person.friend> }
            """)
        try world.begin()
        let table = try world.table("Person")
        // The first one is there before others link to it.
        for (first, count) in [(0, 1), (1, 1_999)] {
            try world.insert("Person", ["id", "city", "age", "name", "friend"], count) { number, row in
                let id = first + number
                row(.int(Int64(id)))
                row(.string("City \(id % 20)"))
                row(.int(Int64(id % 100)))
                row(.string("Person \(id)"))
                row(id < 1_000 && id > 0 ? .link(ObjectLink(table: table, key: ObjectKey(0))) : .null)
            }
        }
        try world.commit()
        return world
    }

    @Test func plansAreOneLine() throws {
        let world = try Self.world()
        let expected = [
            ("", "Person: scan(2000 rows)"),
            ("age > 50", "Person: scan(2000 rows) filter(age > 50)"),
            ("name CONTAINS '7' AND age > 50", "Person: scan(2000 rows) filter(age > 50 AND name CONTAINS \"7\")"),
            (
                "age > 50 AND city == 'City 3' SORT(name DESC) LIMIT(3)",
                "Person: index(city == \"City 3\", 100 rows) filter(age > 50) sort(name DESC) limit(3)"
            ),
            ("city IN {'City 3', 'City 4'}", "Person: index(city IN {\"City 3\", \"City 4\"}, 200 rows)"),
            ("id == 7 AND city == 'City 7'", "Person: index(id == 7, 1 rows) filter(city == \"City 7\")"),
            ("id == 7 OR age == 7", "Person: scan(2000 rows) filter(id == 7 OR age == 7)"),
            ("friend.id == 7", "Person: index(friend.id == 7, 0 rows)"),
            ("friend.id == 0 AND age == 1", "Person: scan(2000 rows) filter(age == 1 AND friend.id == 0)"),
            ("age == 1 AND FALSEPREDICATE", "Person: nothing"),
            ("NOT (NOT age == 1)", "Person: scan(2000 rows) filter(age == 1)"),
        ]
        for (text, plan) in expected {
            #expect(try Plan.make(try world.bind("Person", text), world.source).text == plan)
        }
    }

    @Test func rangesOfAnIndex() throws {
        let world = try Self.world()
        let expected = [
            ("id < 20", "Person: index(id < 20, 20 rows)"), ("id >= 1990", "Person: index(id >= 1990, 10 rows)"),
            (
                "id > 1990 AND age < 95 AND id <= 1995",
                "Person: index(id > 1990 AND id <= 1995, 5 rows) filter(age < 95)"
            ),
            ("id BETWEEN {5, 7}", "Person: index(id BETWEEN {5, 7}, 3 rows)"),
            ("id > 5 AND id < 5", "Person: index(id > 5 AND id < 5, 0 rows)"),
            ("id > 100", "Person: scan(2000 rows) filter(id > 100)"),
            (
                "city BEGINSWITH 'City 3' AND id < 40",
                "Person: index(id < 40, 40 rows) filter(city BEGINSWITH \"City 3\")"
            ),
            ("city BEGINSWITH 'X'", "Person: index(city BEGINSWITH \"X\", 0 rows) filter(city BEGINSWITH \"X\")"),
            (
                "city > 'City 9' AND city < 'Citya'",
                "Person: index(city > \"City 9\" AND city < \"Citya\", 0 rows) "
                    + "filter(city > \"City 9\" AND city < \"Citya\")"
            ),
            (
                "city == 'City 3' AND id < 20",
                "Person: index(id < 20, 20 rows) filter(city == \"City 3\")"
            ),
        ]
        for (text, plan) in expected {
            #expect(try Plan.make(try world.bind("Person", text), world.source).text == plan)
        }
        let found = try cost(world) { () throws in
            #expect(try world.executor("Person", "id >= 1990").keys() == Array(1_990 ..< 2_000))
            #expect(try world.executor("Person", "id > 100 AND id < 900").count() == 799)
        }
        #expect(found.rowsEvaluated == 0 && found.indexLookups == 3)
        let filtered = try cost(world) { () throws in
            #expect(try world.executor("Person", "id < 20 AND age >= 10").keys() == Array(10 ..< 20))
        }
        #expect(filtered.rowsEvaluated == 20)
        let scanned = try cost(world) { () throws in
            #expect(try world.executor("Person", "id > 100").keys().count == 1_899)
        }
        #expect(scanned.rowsEvaluated == 2_000)
    }

    private struct Cost: Equatable {
        var chunksDecoded: UInt64 = 0
        var rowsEvaluated: UInt64 = 0
        var indexLookups: UInt64 = 0
    }

    private func cost(_ world: QueryWorld, _ body: () throws -> Void) throws -> Cost {
        let before = world.database.counters.read()
        try body()
        let after = world.database.counters.read()
        return Cost(
            chunksDecoded: after.chunksDecoded - before.chunksDecoded,
            rowsEvaluated: after.rowsEvaluated - before.rowsEvaluated,
            indexLookups: after.indexLookups - before.indexLookups)
    }

    @Test func nothingIsReadBeforeTheFirstQuestion() throws {
        let world = try Self.world()
        let idle = try cost(world) {
            let query = try world.bind("Person", "city == 'City 3' AND name CONTAINS '1' SORT(age)")
            _ = Executor(query, world.source)
            _ = query.dependencies
        }
        #expect(idle == Cost())
    }

    @Test func anIndexReplacesTheScan() throws {
        let world = try Self.world()
        let counted = try cost(world) { () throws in
            #expect(try world.executor("Person", "city == 'City 3'").count() == 100)
        }
        #expect(counted.rowsEvaluated == 0)
        #expect(counted.indexLookups > 0)
        let filtered = try cost(world) { () throws in
            #expect(try world.executor("Person", "city == 'City 3' AND age > 50").count() == 40)
        }
        #expect(filtered.rowsEvaluated == 100)
        let scanned = try cost(world) { () throws in #expect(try world.executor("Person", "age > 50").count() == 980) }
        #expect(scanned.rowsEvaluated == 2_000)
        #expect(scanned.indexLookups == 0)
        let all = try cost(world) { () throws in #expect(try world.executor("Person", "").count() == 2_000) }
        #expect(all.rowsEvaluated == 0)
    }

    @Test func limitsStopEarlyAndPatchingLooksAtItsRowsOnly() throws {
        let world = try Self.world()
        let first = try cost(world) { () throws in #expect(try world.executor("Person", "age >= 0").first() == 0) }
        #expect(first.rowsEvaluated <= 480)
        let patched = try cost(world) { () throws in
            let executor = try world.executor("Person", "age > 50 AND name ENDSWITH '7'")
            #expect(try executor.matches([57, 58, 1_999]) == [true, false, false])
        }
        #expect(patched.rowsEvaluated == 3)
        // Through a link only the row group it leads to is evaluated.
        let linked = try cost(world) { () throws in
            #expect(try world.executor("Person", "friend.age == 0").matches([5]) == [true])
        }
        #expect(linked.rowsEvaluated <= 481)
        let inverse = try cost(world) { () throws in
            #expect(try world.executor("Person", "admirers.@count > 5").matches([0, 1]) == [true, false])
        }
        #expect(inverse.rowsEvaluated == 2)
    }
}
