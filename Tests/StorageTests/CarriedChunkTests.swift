// A snapshot that advances carries the addresses of chunks that no change record speaks of, so a commit may not write
// such a chunk again.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct CarriedChunkTests {
    @Test func editsThatChangeNothingWriteNoChunk() throws {
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.rowGroupSize = 3
        let database = try Database.open(options)
        let snapshot = try database.snapshot()
        let schema = try SchemaText.parse("Row { number: int, tags: list<string> }")
        _ = try database.reconcile(schema, on: snapshot)
        let type = try snapshot.schema.type(named: "Row")
        let table = try #require(type.tableKey), tags = try #require(type.property(named: "tags")?.columnKey)
        let number = try #require(type.property(named: "number")?.columnKey)
        let first = ObjectKey(0), last = ObjectKey(499)

        let filling = try database.beginWrite(on: snapshot)
        for _ in 0 ..< 500 { _ = try filling.create(table, primaryKey: nil) }
        try Value.string("a").withView { view throws(DatabaseError) in
            try filling.listInsert(table, tags, first, at: 0, [view, view])
        }
        try filling.commit()
        let follower = try database.snapshot()
        let before = try follower.table(table).listChunk(tags, 0).elements.bytes(0).baseAddress

        let write = try database.beginWrite(on: snapshot)
        try write.listMove(table, tags, first, from: 1, to: 1)
        #expect(throws: DatabaseError.self) { try write.listInsert(table, tags, first, at: 0, [.int(1)]) }
        #expect(throws: DatabaseError.self) { try write.listRemove(table, tags, first, at: 2) }
        try write.set(table, number, last, to: .int(7))
        try write.commit()

        #expect(try database.snapshot().table(table).listChunk(tags, 0).elements.bytes(0).baseAddress == before)
        #expect(try database.advance(follower))
        #expect(try follower.table(table).listElement(tags, first, 1).owned == .string("a"))
        #expect(try follower.table(table).value(number, last).owned == .int(7))
    }
}
