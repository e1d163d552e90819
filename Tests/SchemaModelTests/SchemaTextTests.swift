// The text form of schemas: canonical print, lenient parse, and one back from the other.
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

@Suite struct SchemaTextTests {
    static let canonical = """
        Person {
            id: int key,
            name: string?,
            age: int indexed,
            marks: list<double?>,
            friend: link<Person>,
            friends: list<Person>,
            dogs: inverse<Dog.owner>,
        }
        Dog {
            `the name`: string key,
            owner: link<Person>,
            seen: timestamp unique,
            photo: data?,
            ok: bool,
            weight: float,
            kin: list<`string`>,
        }
        string {
            value: int,
        }

        """

    @Test func canonicalTextSurvives() throws {
        let schema = try SchemaText.parse(Self.canonical).validated()
        #expect(SchemaText.print(schema) == Self.canonical)
    }

    @Test func lenientForms() throws {
        let schema = try SchemaText.parse(
            "Dog{name:string? key owner:link<Dog> # the owner\n, key: int indexed key : int}")
        let dog = try schema.type(named: "Dog")
        #expect(dog.properties.map(\.name) == ["name", "owner", "key", "key"])
        #expect(dog.properties[0].isNullable && dog.properties[0].isPrimaryKey)
        #expect(dog.properties[2].isIndexed && !dog.properties[2].isPrimaryKey)
    }

    @Test(arguments: [
        ("Dog { name string }", "schema text, line 1, column 12: expected ':', found 'string'"),
        (
            "Dog {\n  name: text }",
            "schema text, line 2, column 9: expected a type: bool, int, int8, int16, int32, float, double, string, "
                + "data, timestamp, decimal, objectId, uuid, mixed, "
                + "list<...>, set<...>, map<...>, link<...> or inverse<...>, found 'text'"
        ),
        ("Dog { a: int, b", "schema text, line 1, column 16: expected ':', found the end"),
        (
            "Dog { a: int often }",
            "schema text, line 1, column 14: expected 'key', 'indexed', 'unique' or the next property, found 'often'"
        ),
        ("`Dog", "schema text, line 1, column 1: this backquote is not closed"),
    ])
    func errorsSayWhere(text: String, message: String) {
        let error = #expect(throws: DatabaseError.self) { try SchemaText.parse(text) }
        #expect(error?.code == .schemaInvalid)
        #expect(error?.message == message)
    }

    @Test func randomSchemasSurvive() throws {
        try PropertyTest.run(rounds: 200) { random, comment in
            let schema = RandomSchema.make(&random)
            let parsed = try SchemaText.parse(SchemaText.print(schema))
            #expect(parsed.objectTypes.map(\.name) == schema.objectTypes.map(\.name), "\(comment)")
            for (left, right) in zip(parsed.objectTypes, schema.objectTypes) {
                #expect(left.properties.count == right.properties.count, "\(comment)")
                for (a, b) in zip(left.properties, right.properties) {
                    #expect(a.declaresSame(as: b), "\(a) \(b) \(comment)")
                }
            }
            _ = try schema.validated()
            #expect(!SchemaDifference(stored: schema, declared: parsed).changesSchema, "\(comment)")
        }
    }

    @Test func randomBytesNeverTrap() throws {
        let pieces = [
            "Dog", "{", "}", ":", "int", "list", "<", ">", "?", "`", "\\", ".", "key", ",", " ", "\n", "#", "é",
            "inverse", "link",
        ]
        try PropertyTest.run(rounds: 500) { random, _ in
            var text = ""
            for _ in 0 ..< random.below(20) { text += random.pick(pieces) }
            _ = try? SchemaText.parse(text).validated()
        }
    }
}

enum RandomSchema {
    static func make(_ random: inout SeededRandom) -> Schema {
        let names = (0 ..< 1 + random.below(4)).map { ["Person", "a dog", "string", "Überall"][$0] }
        return Schema(
            names.map { name in
                var properties = [
                    Property(name: "id", type: random.chance(50) ? .int : .string, isPrimaryKey: random.chance(50))
                ]
                for index in 0 ..< random.below(6) {
                    let type = random.pick(types)
                    let isList = random.chance(30)
                    let isLink = type == .link
                    properties.append(
                        Property(
                            name: ["p\(index)", "key \(index)", "`\\\(index)"][random.below(3)], type: type,
                            width: type == .int ? random.pick(IntWidth.allCases) : .bits64,
                            collection: isList ? .list : .none, isNullable: isLink ? !isList : random.chance(50),
                            isIndexed: !isList && type.canBeIndexed && random.chance(30),
                            target: isLink ? random.pick(names) : nil))
                }
                return ObjectType(name: name, properties: properties)
            })
    }

    private static let types: [PropertyType] =
        [.bool, .int, .float, .double, .string, .data, .timestamp, .link]
}
