// Each rule of SchemaValidation is broken once and its sentence checked.
import MotteSchemaModel
import MotteValues
import Testing

@Suite struct SchemaValidationTests {
    @Test(arguments: [
        ("A { x: int } A { x: int }", "class A is declared twice"),
        ("A { x: int, x: string }", "A.x is declared twice"),
        ("`` { x: int }", "class name '' is empty"),
        ("A { ``: int }", "property name '' of A is empty"),
        ("A { `a.b`: int }", "property name 'a.b' of A contains '.'"),
        ("A { `@x`: int }", "property name '@x' of A starts with '@' or '$'"),
        ("A { `x\ty`: int }", "property name 'x\ty' of A contains a control character"),
        ("A { }", "class A has no property; add one"),
        ("A { x: int key, y: int key }", "A.y is a second primary key beside 'x'; a class has at most one"),
        ("A { x: link<B> } Bee { y: int }", "A.x has the target class 'B', which is not in the schema"),
        (
            "A { x: link<Bea> } Bee { y: int }",
            "A.x has the target class 'Bea', which is not in the schema; did you mean 'Bee'?"
        ),
        ("A { y: int, x: inverse<A.z> }", "A.x inverts A.z, which does not exist"),
        ("A { y: int, x: inverse<A.y> }", "A.x inverts A.y, which is not a link or list of links to A"),
        (
            "A { x: inverse<B.y>, z: int } B { y: link<B> }",
            "A.x inverts B.y, which is not a link or list of links to A"
        ),
        ("A { x: link<A>! }", "A.x is a link and must be nullable, because its target can be deleted"),
        ("A { x: list<A?> }", "A.x is a list of links, whose elements cannot be null"),
        ("A { x: list<int> key }", "A.x is a list and cannot be the primary key"),
        ("A { x: bool key }", "A.x has type bool; a primary key is an int, string, objectId or uuid"),
        ("A { x: list<int> indexed }", "A.x is a list and cannot be indexed"),
        (
            "A { x: double indexed }",
            "A.x has type double; bool, int, string, timestamp, objectId, uuid and mixed can be indexed"
        ),
    ])
    func ruleIsReported(text: String, message: String) throws {
        let schema = try SchemaText.parse(text)
        let error = #expect(throws: DatabaseError.self) { try schema.validated() }
        #expect(error?.code == .schemaInvalid)
        #expect(error?.message == message)
        #expect(error?.details.className != nil)
    }

    @Test func lengthsAreInBytes() throws {
        let long = String(repeating: "ä", count: 29)
        let error = #expect(throws: DatabaseError.self) {
            try Schema([ObjectType(name: long, properties: [Property(name: "x", type: .int)])]).validated()
        }
        #expect(error?.message == "class name '\(long)' has 58 bytes; at most 57 are allowed")
        let property = String(repeating: "x", count: 64)
        #expect(throws: DatabaseError.self) {
            try Schema([ObjectType(name: "A", properties: [Property(name: property, type: .int)])]).validated()
        }
    }

    @Test func shapesThatTextCannotSay() {
        let wrong: [(Property, String)] = [
            (Property(name: "x", type: .link, isNullable: true), "A.x is a link and must name its target class"),
            (Property(name: "x", type: .int, target: "A"), "A.x has type int and cannot have the target class 'A'"),
            (
                Property(name: "x", type: .linkingObjects, target: "A"),
                "A.x is an inverse and must name the property that it inverts"
            ),
            (
                Property(name: "x", type: .int).listing(origin: "y"),
                "A.x has an origin property, which only inverses have"
            ),
            (
                Property(name: "x", type: .linkingObjects, collection: .list, target: "A").listing(origin: "a"),
                "A.x is an inverse, which is neither declared as a list nor nullable"
            ),
        ]
        for (property, message) in wrong {
            let link = Property(name: "a", type: .link, isNullable: true, target: "A")
            let schema = Schema([ObjectType(name: "A", properties: [link, property])])
            let error = #expect(throws: DatabaseError.self) { try schema.validated() }
            #expect(error?.message == message)
        }
    }

    @Test func composedAndDecomposedNamesAreTwo() throws {
        let schema = try SchemaText.parse("A { `\u{e9}`: int, `e\u{301}`: string }").validated()
        #expect(schema["A"]?.property(named: "\u{e9}")?.type == .int)
        #expect(schema["A"]?.property(named: "e\u{301}")?.type == .string)
    }

    @Test func unknownNamesGetAHint() throws {
        let schema = try SchemaText.parse("Person { name: string }").validated()
        #expect(
            #expect(throws: DatabaseError.self) { try schema.type(named: "Perzon") }?.message
                == "there is no class 'Perzon'; did you mean 'Person'?")
        #expect(
            #expect(throws: DatabaseError.self) { try schema.type(named: "Person").requiredProperty(named: "nmae") }?
                .message
                == "Person has no property 'nmae'; did you mean 'name'?")
    }
}
