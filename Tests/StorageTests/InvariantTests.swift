// That a broken structure of a write is found, and by which name. Writes as they are meant to be are looked after in
// the model tests, and by debug builds of every other test.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import Testing

@Suite struct InvariantTests {
    private func broken(_ change: (TableWriter) throws -> Void) throws -> String {
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.rowGroupSize = 3
        let database = try Database.open(options)
        let snapshot = try database.snapshot()
        let schema = try SchemaText.parse("Item { rank: int indexed, texts: list<string> }")
        _ = try database.reconcile(schema, on: snapshot)
        let table = try #require(try snapshot.schema.type(named: "Item").tableKey)
        let write = try database.beginWrite(on: snapshot)
        for _ in 0 ..< 5 { _ = try write.create(table, primaryKey: nil) }
        try write.delete(table, ObjectKey(1))
        try write.checkInvariants()
        try change(try write.writer(table))
        let error = #expect(throws: DatabaseError.self) { try write.checkInvariants() }
        write.cancel()
        return error?.message ?? ""
    }

    @Test func brokenRowsAreNamed() throws {
        let tooMany = try broken { try $0.dirtyRowGroup(1).rowCount += 1 }
        #expect(tooMany.contains("rows-6: row group 1 of Item"), "\(tooMany)")
        let tooFew = try broken { try $0.dirtyRowGroup(0).rowCount -= 1 }
        #expect(tooFew.contains("rows-6: row group 0 of Item"), "\(tooFew)")
        let fewerLive = try broken { try $0.dirtyRowGroup(0).live = LiveBitmap(allLive: 2) }
        #expect(fewerLive.contains("rows-7: the live bitmap of row group 0 of Item"), "\(fewerLive)")
        let longer = try broken {
            for column in try $0.dirtyRowGroup(1).columns {
                if case .values(let builder)? = column?.storage { builder.appendDefaults(1) }
            }
        }
        #expect(longer.contains("rows-8: the values of Item."), "\(longer)")
        let uncounted = try broken { try $0.dirtyRowGroup(0).live?.kill(2) }
        #expect(uncounted.contains("rows-9: Item counts the rows that are live"), "\(uncounted)")
    }

    @Test func aBrokenRecordIsNamed() throws {
        let table = RecordedTable(TableKey(1))
        table.inserted = KeyRuns([1, 2, 7])
        let column = table.column(ColumnKey(1))
        column.append(0, .int(1), .int(2), ChangeLogPolicy())
        try table.checkInvariants()
        // A record has all values or none.
        var without = ChangeLogPolicy()
        without.keepsImages = false
        column.append(3, .int(1), .int(2), without)
        let error = #expect(throws: DatabaseError.self) { try table.checkInvariants() }
        #expect(error?.message.contains("record-4: each modification of column 1") == true)
    }
}
