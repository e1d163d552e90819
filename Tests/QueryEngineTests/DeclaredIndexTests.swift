// Queries that an index answers which is declared with the class and of a kind that the planner knows nothing of but
// what it says it can do.
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct DeclaredIndexTests {
    private static func world() throws -> QueryWorld {
        IndexKinds.register(ReversedIndexKind())
        let world = try QueryWorld("Person { name: string, age: int }")
        var type = try world.type("Person")
        type = ObjectType(
            name: type.name, properties: type.properties,
            indexes: [IndexDeclaration(kind: "reversed", properties: ["name", "age"])])
        _ = try world.database.reconcile(Schema([type]), on: world.snapshot)
        try world.begin()
        for number in 0 ..< 400 {
            let name = number % 50 == 7 ? String(repeating: "x", count: 80) + "\(number % 2)" : "name \(number % 40)"
            try world.create("Person", ["name": .value(.string(name)), "age": .value(.int(Int64(number % 10)))])
        }
        try world.commit()
        return world
    }

    @Test func equalityIsAnsweredByTheIndex() throws {
        let world = try Self.world()
        // More than the index keeps of a text: rows are looked at.
        let long = String(repeating: "x", count: 80) + "1"
        let expected = [
            ("name == 'name 3'", "Person: index(name == \"name 3\", 10 rows)"),
            ("name IN {'name 3', 'name 4'}", "Person: index(name IN {\"name 3\", \"name 4\"}, 20 rows)"),
            ("name == 'name 3' AND age == 3", "Person: index(name == \"name 3\", 10 rows) filter(age == 3)"),
            ("name == '\(long)'", "Person: index(name == \"\(long)\", 8 rows) filter(name == \"\(long)\")"),
            ("age == 3", "Person: scan(400 rows) filter(age == 3)"),
        ]
        for (text, plan) in expected {
            #expect(try Plan.make(try world.bind("Person", text), world.source).text == plan)
        }
    }

    @Test func answersAreThoseOfAScan() throws {
        let world = try Self.world()
        let long = String(repeating: "x", count: 80)
        for isWriting in [false, true] {
            if isWriting {
                try world.begin()
                for name in ["name 3", long + "1"] { try world.create("Person", ["name": .value(.string(name))]) }
            }
            for text in [
                "name == 'name 3'", "name == '\(long)1'", "name == '\(long)0'",
                "name IN {'name 3', '\(long)1', 'none'}",
                "name == 'name 3' AND age == 3",
            ] {
                let query = try world.bind("Person", text)
                let scanned = try world.bind("Person", "(\(text)) OR FALSEPREDICATE OR age == -1")
                let keys = try Executor(query, world.source).keys()
                #expect(try keys == Executor(scanned, world.source).keys() && !keys.isEmpty || text.contains("0'"))
                #expect(try Executor(query, world.source).count() == keys.count)
            }
        }
    }
}
