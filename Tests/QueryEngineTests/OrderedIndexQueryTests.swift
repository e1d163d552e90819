// Queries that an ordered index answers: equality, IN, ranges, beginnings and counts give what a scan gives, and counts
// look at no row.
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct OrderedIndexQueryTests {
    private static let texts = ["", "a", "ab", "abc", "b", "name 12", "name 5", "name 500", "na", "zz", "N", "é"]

    private static func world() throws -> QueryWorld {
        let world = try QueryWorld("I { name: string?, age: int?, score: double?, at: timestamp? }")
        var type = try world.type("I")
        type = ObjectType(
            name: type.name, properties: type.properties,
            indexes: ["name", "age", "score", "at"].map { IndexDeclaration(kind: "ordered", properties: [$0]) })
        _ = try world.database.reconcile(Schema([type]), on: world.snapshot)
        try world.begin()
        for number in 0 ..< 600 {
            let name: Value = number % 9 == 0 ? .null : .string(number % 4 == 0 ? texts[number % 12] : "name \(number)")
            let age: Value = number % 7 == 0 ? .null : .int(Int64(number) - 300)
            let score: Value = number % 8 == 0 ? .null : .double(number % 50 == 1 ? .nan : Double(number) / 4 - 60)
            let at: Value = .timestamp(Timestamp(seconds: Int64(number), nanoseconds: UInt32(number)))
            try world.create(
                "I", ["name": .value(name), "age": .value(age), "score": .value(score), "at": .value(at)])
        }
        try world.commit()
        return world
    }

    private static let queries = [
        "name == 'name 5'", "name == nil", "name IN {'a', 'name 7', 'none'}", "name BEGINSWITH 'name 5'",
        "name BEGINSWITH 'na' AND age > 280", "name > 'name 598'", "name >= 'name 598' AND name < 'name 6'",
        "name <= 'a'", "age == 17", "age > 290", "age >= 290 AND age < 295 AND age != 292", "age BETWEEN {3, 9}",
        "age < -295", "age > 5 AND age < 5", "score < -58", "score > 88.5 AND name != nil", "score <= -58.25",
        "name BEGINSWITH[c] 'NAME 59'", "name > 'name 590' AND name BEGINSWITH 'name'", "NOT age > -290",
    ]

    @Test func answersAreThoseOfAScan() throws {
        let world = try Self.world()
        for isWriting in [false, true] {
            if isWriting {
                try world.begin()
                for name in ["name 5", "name 5990"] { try world.create("I", ["name": .value(.string(name))]) }
            }
            for text in Self.queries {
                let query = try world.bind("I", text)
                let plain = try world.bind("I", "(\(text)) OR FALSEPREDICATE OR age == -100000")
                let keys = try Executor(query, world.source).keys()
                #expect(try keys == Executor(plain, world.source).keys(), "\(text)")
                #expect(try Executor(query, world.source).count() == keys.count, "\(text)")
            }
        }
    }

    @Test func countsLookAtNoRow() throws {
        let world = try Self.world()
        let before = world.database.counters.read().rowsEvaluated
        for text in ["name == 'name 5'", "name BEGINSWITH 'name'", "name > 'name 2'", "age > -250 AND age <= 100"] {
            let count = try Executor(try world.bind("I", text), world.source).count()
            #expect(count > 0, "\(text)")
        }
        #expect(world.database.counters.read().rowsEvaluated == before)
        let text = try Plan.make(try world.bind("I", "name BEGINSWITH 'name 59' AND age > 0"), world.source).text
        #expect(text == "I: index(name BEGINSWITH \"name 59\", 8 rows) filter(age > 0)", "\(text)")
    }
}
