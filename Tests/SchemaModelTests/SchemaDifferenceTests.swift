// What may be added at open, what is left alone, what is refused.
import MotteSchemaModel
import MotteValues
import Testing

@Suite struct SchemaDifferenceTests {
    let stored = "A { id: int key, name: string, note: string?, other: link<A>, from: inverse<A.other> }"

    func difference(_ declared: String) throws -> SchemaDifference {
        SchemaDifference(
            stored: try SchemaText.parse(stored).validated(), declared: try SchemaText.parse(declared).validated())
    }

    @Test func additions() throws {
        let difference = try difference(
            "A { id: int key, name: string indexed, age: int, other: link<A>, from: inverse<A.other> } B { x: int }")
        try difference.checkNeedsNoMigration()
        #expect(difference.changesSchema)
        #expect(difference.addedTypes.map(\.name) == ["B"])
        #expect(difference.addedProperties.map(\.property.name) == ["age"])
        #expect(difference.addedIndexes.map(\.propertyName) == ["name"])
        #expect(difference.undeclaredProperties.map(\.propertyName) == ["note"])
    }

    @Test func leavingOutChangesNothing() throws {
        let difference = try difference("A { id: int key }")
        try difference.checkNeedsNoMigration()
        #expect(!difference.changesSchema)
    }

    @Test func anInverseMayBeReplaced() throws {
        let difference = try difference("A { id: int key, more: list<A>, from: inverse<A.more> }")
        try difference.checkNeedsNoMigration()
        #expect(difference.replacedInverses.map(\.property.name) == ["from"])
    }

    @Test(arguments: [
        ("A { id: int key, name: int }", "A.name is string in the file and declared int"),
        ("A { id: int key, name: string? }", "A.name is string in the file and declared string?"),
        ("A { id: int key, name: list<string> }", "A.name is string in the file and declared list<string>"),
        ("A { id: int key, other: link<B> } B { x: int }", "A.other is link<A> in the file and declared link<B>"),
        ("A { id: int, name: string }", "A.id is the primary key in the file and is not declared as such"),
        ("A { name: string }", "A.id is the primary key in the file and is not declared"),
        ("A { id: int key, from: int }", "A.from is inverse<A.other> in the file and declared int"),
    ])
    func conflicts(declared: String, line: String) throws {
        let difference = try difference(declared)
        #expect(difference.conflicts == [line])
        let error = #expect(throws: DatabaseError.self) { try difference.checkNeedsNoMigration() }
        #expect(error?.code == .schemaMismatch)
    }

    @Test func severalConflictsAreListedByLine() throws {
        let error = #expect(throws: DatabaseError.self) {
            try difference("A { id: int, name: int, key: string key }").checkNeedsNoMigration()
        }
        #expect(
            error?.message == """
                the file's schema differs from the declared one in a way that needs a migration: \

                  A.id is the primary key in the file and is not declared as such
                  A.name is string in the file and declared int
                  A.key is a new primary key of an existing class
                """)
    }
}
