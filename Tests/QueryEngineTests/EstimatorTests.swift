/// What samples of a class say of it: exactly of small classes, about right of large ones, and never at a cost that
/// grows with the class.
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct EstimatorTests {
    private static func world(_ count: Int, _ row: (Int) -> [String: QueryWorld.Cell]) throws -> QueryWorld {
        let world = try QueryWorld("P { a: int?, b: int, t: string?, d: double, when: timestamp, p: link<P> }")
        try world.begin()
        for number in 0 ..< count { try world.create("P", row(number)) }
        try world.commit()
        return world
    }

    private func fraction(_ world: QueryWorld, _ text: String) throws -> Double {
        let query = try world.bind("P", text)
        return Estimator(world.source).fraction(query.predicate, of: query.table)
    }

    @Test func smallClassesAreCounted() throws {
        try PropertyTest.run(rounds: 4) { random, comment in
            let count = 1 + random.below(900)
            let texts = ["a", "ab", "b", "longer than seven bytes", ""]
            let world = try Self.world(count) { _ in
                [
                    "a": .value(random.chance(20) ? .null : .int(Int64(random.below(9)))),
                    "b": .value(.int(Int64(random.below(50)))),
                    "t": .value(random.chance(10) ? .null : .string(random.pick(texts))),
                    "d": .value(.double(Double(random.below(7)))),
                ]
            }
            for text in [
                "a == 3", "a != 3", "a == nil", "a > 4 AND b < 20", "NOT (a > 4 OR t == 'a')",
                "t BEGINSWITH 'a' AND a != nil",
                "t CONTAINS[c] 'EV' OR b == 7", "a IN {1, 2, 3, 5, 8}", "a + b > 10", "d * 2 == b", "TRUEPREDICATE",
                "FALSEPREDICATE",
            ] {
                let matches = try world.keys("P", text).count
                let estimated = try fraction(world, text) * Double(count)
                #expect(abs(estimated - Double(matches)) < 1e-6, "\(text): \(estimated) for \(matches) \(comment)")
            }
        }
    }

    /// Also by one commit, which changes neither the number of objects nor what has no sample.
    @Test func aClassThatWasChangedWhollyIsSampledAgain() throws {
        let count = 4_000
        let world = try Self.world(count) { number in ["b": .value(.int(Int64(number % 100)))] }
        #expect(try abs(fraction(world, "b == 5") - 0.01) < 0.008)
        try world.begin()
        for key in 0 ..< count { try world.set("P", Int64(key), "b", .value(.int(key % 50 == 0 ? 7 : 5))) }
        try world.commit()
        #expect(try abs(fraction(world, "b == 5") - 0.98) < 0.02)
        // Of a few changes nobody notices anything.
        let sample = try world.source.table(try world.table("P")).sample()
        try world.begin()
        for key in 0 ..< count / 50 { try world.set("P", Int64(key), "b", .value(.int(9))) }
        try world.commit()
        #expect(try world.source.table(try world.table("P")).sample() === sample)
    }

    @Test func largeClassesAreSampled() throws {
        let count = 12_000
        let world = try Self.world(count) { number in
            // A rhythm, a part of the rows, a heavy value, correlated columns and values that are all different.
            let heavy = number % 7 < 3
            return [
                "a": .value(heavy ? .int(1) : .int(Int64(number % 1_000))), "b": .value(.int(Int64(number % 100))),
                "t": .value(heavy ? .string("heavy") : number % 2 == 0 ? .null : .string("t\(number)")),
                "d": .value(.double(heavy ? 1 : 0)),
                "p": .value(
                    number % 4 == 0 ? .null : .link(ObjectLink(table: TableKey(1), key: ObjectKey(Int64(number / 2))))),
            ]
        }
        for (text, low, high) in [
            ("a == 1", 0.38, 0.48), ("b == 5", 0.005, 0.018), ("b < 50", 0.45, 0.55), ("t == nil", 0.24, 0.33),
            ("a == 1 AND d == 1.0", 0.38, 0.48), ("a == 1 AND d == 0.0", 0, 0.01), ("t == 't7'", 0, 0.0003),
            ("t == 'none'", 0, 0.0003),
            ("b == 1000", 0, 0.02), ("p.b < 50", 0.3, 0.45), ("p == nil", 0.2, 0.3), ("b == 5 OR b == 6", 0.01, 0.035),
            ("a + b > 100000", 0, 0.001),
        ] {
            let estimated = try fraction(world, text)
            #expect(estimated >= low && estimated <= high, "\(text): \(estimated)")
        }
        let view = try world.source.table(try world.table("P"))
        let type = try world.type("P")
        func column(_ name: String) throws -> ColumnStatistics {
            try view.sample().column(try #require(type.property(named: name)?.columnKey), view).statistics
        }
        let heavy = try #require(try column("t").heavy.first)
        #expect(heavy.value == .string("heavy") && abs(heavy.fraction - 0.43) < 0.05)
        #expect(
            try column("b").distinctCount == 100 && column("b").lowest == .int(0) && column("b").highest == .int(99))
        #expect(try column("t").distinctCount > 2_000)
        #expect(abs(try column("t").nullFraction - 0.286) < 0.05)
        let before = world.database.counters.read().chunksDecoded
        for text in ["a == 7", "a == 8 AND b > 3"] { _ = try fraction(world, text) }
        #expect(world.database.counters.read().chunksDecoded == before, "a column is read once")
    }

    @Test func samplesAreTakenAgainWhenTheClassHasChanged() throws {
        let world = try Self.world(2_200) { ["b": .value(.int(Int64($0)))] }
        #expect(abs(try fraction(world, "b < 1100") - 0.5) < 0.03)
        try world.begin()
        for _ in 0 ..< 200 { try world.create("P", ["b": .value(.int(-1))]) }
        #expect(abs(try fraction(world, "b == -1") - 0) < 0.01, "a tenth more is no reason")
        for _ in 0 ..< 2_200 { try world.create("P", ["b": .value(.int(-1))]) }
        #expect(abs(try fraction(world, "b == -1") - 0.52) < 0.05, "seen in the write")
        try world.commit()
        for key in 0 ..< 64 {
            try world.begin()
            try world.set("P", Int64(key * 30), "b", .value(.int(-5)))
            try world.commit()
        }
        try world.begin()
        for key in 0 ..< 4_600 { try world.set("P", Int64(key), "b", .value(.int(-5))) }
        try world.commit()
        #expect(try fraction(world, "b == -5") > 0.9, "enough commits")
        for key in 0 ..< 4_600 where key % 3 > 0 {
            if world.write == nil { try world.begin() }
            try world.delete("P", Int64(key))
        }
        #expect(try fraction(world, "b == -5") > 0.9)
        try world.commit()
        #expect(try world.source.table(try world.table("P")).sample().keys.count <= TableSample.mostRows)
    }

    /// Whether values are still right is looked at with each commit, so that few changes need no new sample.
    @Test func commitsThatChangeLittleLeaveTheSample() throws {
        let world = try Self.world(2_200) { ["b": .value(.int(Int64($0)))] }
        _ = try fraction(world, "b < 1100")
        let table = try world.table("P")
        let first = try world.source.table(table).sample()
        func change(_ count: Int) throws -> TableSample {
            for number in 0 ..< count {
                try world.begin()
                try world.set("P", 7, "b", .value(.int(Int64(number))))
                try world.commit()
                _ = try fraction(world, "b < 1100")
            }
            return try world.source.table(table).sample()
        }
        #expect(try change(200) === first)
        #expect(try change(400) !== first)
    }

    @Test func emptyClasses() throws {
        let world = try Self.world(0) { _ in [:] }
        #expect(try fraction(world, "b == 1") == 0)
        let step = try Executor(try world.bind("P", "b == 1 DISTINCT(a)"), world.source).explain()
        #expect(step.estimatedRows == 0)
    }
}
