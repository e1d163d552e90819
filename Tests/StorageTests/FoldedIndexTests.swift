// Indexes of folded texts as they are declared and stored: what is refused, and what becomes of one that another
// version of Unicode has made.
import MotteColumns
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct FoldedIndexTests {
    private static func open(_ schema: String) throws -> (Database, Snapshot) {
        let database = try Database.open(PageStoreOptions(location: .memory(identifier: nil)))
        let snapshot = try database.snapshot()
        _ = try database.reconcile(try SchemaText.parse(schema).validated(), on: snapshot)
        return (database, snapshot)
    }

    @Test(arguments: [
        ("unique(name [c])", "cannot be unique without case"), ("indexed(age [c])", "of age, which is int"),
        ("indexed(name [c] desc)", "leave 'desc' out"), ("indexed(body [d])", "of body, which is data"),
    ])
    func whatHasNoMeaningIsRefused(index: String, message: String) {
        let error = #expect(throws: DatabaseError.self) {
            try Self.open("P { name: string?, age: int, body: data, \(index) }")
        }
        #expect(error?.code == .schemaInvalid)
        #expect(error?.message.contains(message) ?? false, "\(error?.message ?? "")")
    }

    @Test func theTextOfASchemaHasThem() throws {
        let text = """
            P {
                name: string?,
                age: int,
                indexed(name [c], age desc),
                indexed(name [cd]),
                indexed(name [d]),
            }

            """
        let (_, snapshot) = try Self.open(text)
        #expect(SchemaText.print(snapshot.schema) == text)
        for wrong in ["indexed(name [x])", "indexed(name [)", "indexed(name [c)", "indexed(name desc [c])"] {
            #expect(throws: DatabaseError.self) { try SchemaText.parse("P { name: string, \(wrong) }") }
        }
    }

    // MARK: Another version of Unicode

    private static let names = ["Anna", "ANNA", "anna", "Bob", "\u{212A}elvin"]

    private static func add(_ write: WriteTransaction, _ names: [String]) throws {
        let type = try write.schema.type(named: "P")
        let (table, column) = (try #require(type.tableKey), try #require(type.properties[0].columnKey))
        for name in names {
            let key = try write.create(table, primaryKey: nil)
            try Value.string(name).withView { view throws(DatabaseError) in
                try write.set(table, column, key, to: view)
            }
        }
    }

    private static func index(_ source: RowSource) throws -> TableIndex {
        let table = try #require(try source.schema.type(named: "P").tableKey)
        return try #require(source.catalog.indexes(of: table).first { $0.kind.name == "folded" })
    }

    private static func find(_ source: RowSource, _ name: String) throws -> [Int64] {
        let index = try index(source)
        let view = try source.table(index.table)
        var keys: [Int64] = []
        try view.keys(index, .equal([.string(name)]), into: &keys)
        return keys
    }

    /// As if other tables had made it: entries as they are, under another number.
    private static func makeOutdated(_ database: Database, _ snapshot: Snapshot) throws {
        let write = try database.beginWrite(on: snapshot)
        var tables = write.catalog.tables
        let old = tables[0].indexes[0]
        var parameters = old.parameters
        parameters[parameters.count - 1] ^= 1
        tables[0].indexes[0] = StoredIndex(key: old.key, kind: old.kind, columns: old.columns, parameters: parameters)
        let catalog = write.catalog
        write.amend(
            Catalog(
                schemaVersion: catalog.schemaVersion, changedIn: catalog.changedIn, nextTableKey: catalog.nextTableKey,
                nextIndexKey: catalog.nextIndexKey, tables: tables))
        try write.commit()
    }

    @Test func oneOfAnotherVersionAnswersNothingAndTheNextCommitMakesItAgain() throws {
        let (database, snapshot) = try Self.open("P { name: string, n: int, indexed(name [c]) }")
        let first = try database.beginWrite(on: snapshot)
        try Self.add(first, Self.names)
        try first.commit()
        #expect(try Self.find(snapshot, "annA") == [0, 1, 2])
        #expect(try Self.find(snapshot, "kelvin") == [4])
        let declared = SchemaText.print(snapshot.schema)

        try Self.makeOutdated(database, snapshot)

        let table = try snapshot.table(try Self.index(snapshot).table)
        #expect(table.usableDeclaredIndexes.isEmpty)
        #expect(SchemaText.print(snapshot.schema) == declared)
        let report = try snapshot.verify()
        #expect(report.isSound && report.notes.contains { $0.contains("another version of Unicode") })
        let other = try database.snapshot()

        let second = try database.beginWrite(on: snapshot)
        try Self.add(second, ["aNNa"])
        #expect(try second.table(table.key).usableDeclaredIndexes.isEmpty)
        try second.commit()

        #expect(try snapshot.table(table.key).usableDeclaredIndexes.count == 1)
        #expect(try Self.find(snapshot, "ANNA") == [0, 1, 2, 5])
        #expect(try snapshot.verify().text.contains("sound"))
        #expect(try snapshot.verify().notes.isEmpty)
        // Who shows the version before goes on without it.
        #expect(try other.table(table.key).usableDeclaredIndexes.isEmpty)
        let third = try database.beginWrite(on: snapshot)
        try Self.add(third, ["Bob"])
        #expect(try Self.find(third, "bob") == [3, 6])
        try third.commit()
        #expect(try snapshot.verify().isSound)
    }

    @Test func aCancelledWriteLeavesItAsItWas() throws {
        let (database, snapshot) = try Self.open("P { name: string, indexed(name [c]) }")
        let first = try database.beginWrite(on: snapshot)
        try Self.add(first, Self.names)
        try first.commit()
        try Self.makeOutdated(database, snapshot)
        let write = try database.beginWrite(on: snapshot)
        try Self.add(write, ["x"])
        write.cancel()
        #expect(try snapshot.table(try Self.index(snapshot).table).usableDeclaredIndexes.isEmpty)
        // Nothing was changed, so nothing is committed.
        try database.beginWrite(on: snapshot).commit()
        #expect(try snapshot.table(try Self.index(snapshot).table).usableDeclaredIndexes.isEmpty)
    }
}
