// Where an index takes longer than looking at all rows, they are looked at: each pair lies on both sides of what was
// measured (decision 0042).
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct PlanCostTests {
    private static let count = 30_000

    /// `sixth` to `thousandth` have so many values in no order, `time` and `later` ascend with the rows.
    private static func world() throws -> QueryWorld {
        let world = try QueryWorld(
            """
            Event { id: int key, sixth: int indexed, twentieth: int indexed, hundredth: int indexed,
                    thousandth: int indexed, time: int indexed, later: int, wide: int, age: int, indexed(later),
                    indexed(wide) }
            """, rowGroupSize: 480)
        try world.begin()
        let names = ["id", "sixth", "twentieth", "hundredth", "thousandth", "time", "later", "wide", "age"]
        var random = SeededRandom(seed: 7)
        try world.insert("Event", names, count) { number, row in
            row(.int(Int64(number)))
            for bound in [6, 20, 100, 1_000] { row(.int(Int64(random.below(bound)))) }
            row(.int(Int64(1_000 + number * 2)))
            row(.int(Int64(number / 3)))
            row(.int(Int64(random.below(count))))
            row(.int(Int64(random.below(100))))
        }
        try world.commit()
        return world
    }

    @Test func indexesAreUsedWhereTheyPay() throws {
        let world = try Self.world()
        for (text, usesIndex) in [
            // Of one value keys come in order.
            ("hundredth == 3 AND age > 50", true), ("sixth == 3 AND age > 50", false),
            ("twentieth == 3 AND age > 50", false), ("thousandth == 3 AND age > 50", true),
            // Of several they are put in order.
            ("thousandth IN {3, 4, 5} AND age > 50", true), ("twentieth IN {3, 4} AND age > 50", false),
            ("sixth IN {1, 2} AND age > 50", false),
            // Ranges of values that lie anywhere, and of values that lie together.
            ("thousandth < 5 AND age > 50", true), ("thousandth < 25 AND age > 50", false),
            ("time > 59500 AND age > 50", true), ("time BETWEEN {20000, 21500} AND age > 50", true),
            ("wide < 200 AND age > 50", true), ("wide < 800 AND age > 50", false),
            ("later < 250 AND age > 50", true),
            // Without anything left to test keys need not be found in their rows.
            ("twentieth == 3", true), ("sixth == 3", true),
        ] {
            let query = try world.bind("Event", text)
            let plan = try Plan.make(query, world.source)
            #expect(plan.usesIndex == usesIndex, "\(plan.text)")
            let plain = try world.bind("Event", "(\(text) OR age == 1000000) AND age != 2000000")
            #expect(try Executor(query, world.source).keys() == Executor(plain, world.source).keys(), "\(text)")
        }
    }

    /// A second index is read where that takes less than testing what the first one gives.
    @Test func theSecondIndexPays() throws {
        let world = try Self.world()
        for (text, plan) in [
            ("hundredth == 3 AND thousandth == 7", "thousandth == 7"),
            ("hundredth == 3 AND sixth == 3", "hundredth == 3"),
            ("twentieth == 3 AND sixth == 3", "scan"),
        ] {
            let query = try world.bind("Event", text)
            let made = try Plan.make(query, world.source).text
            #expect(made.contains(plan) && !made.contains("AND sixth == 3,"), "\(made)")
            let plain = try world.bind("Event", "(\(text) OR age == 1000000) AND age != 2000000")
            #expect(try Executor(query, world.source).keys() == Executor(plain, world.source).keys(), "\(text)")
        }
    }

    /// A list of values is compared one by one or looked up in a set: the same on both sides of where that changes.
    @Test func listsOfValues() throws {
        let world = try Self.world()
        for size in [1, 3, 4, 15, 16, 17, 18, 40] {
            let list = (0 ..< size).map { "\($0 * 2)" }.joined(separator: ", ")
            let found = try world.executor("Event", "age IN {\(list), 0}").keys()
            let wanted = (0 ..< size).map { "age == \($0 * 2)" }.joined(separator: " OR ")
            #expect(try found == world.executor("Event", wanted).keys() && found.count > 200, "\(size)")
        }
    }
}
