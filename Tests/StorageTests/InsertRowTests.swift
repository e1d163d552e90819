// Rows that are inserted one at a time: what is no new key or does not fit is refused as in batches, at the row that
// causes it. That what is inserted is what is read is in StoreModelTests and EverythingTests.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct InsertRowTests {
    private struct Store {
        let (database, snapshot): (Database, Snapshot)
        let (table, columns): (TableKey, [ColumnKey])

        /// Of the one class A.
        init(_ schema: String) throws {
            let opened = try Database.open(PageStoreOptions(location: .memory(identifier: nil)))
            (database, snapshot) = (opened, try opened.snapshot())
            _ = try opened.reconcile(try SchemaText.parse(schema), on: snapshot)
            let stored = try snapshot.schema.type(named: "A")
            (table, columns) = (try #require(stored.tableKey), stored.properties.compactMap(\.columnKey))
        }

        func insert(_ write: WriteTransaction, _ values: [Value]) throws(DatabaseError) {
            try Self.withViews(values[...], []) { views throws(DatabaseError) in
                _ = try views.withUnsafeBufferPointer { views throws(DatabaseError) in
                    try write.insertBatch(table, columns: columns, rows: views.baseAddress, rowCount: 1)
                }
            }
        }

        private static func withViews(
            _ values: ArraySlice<Value>, _ views: [ValueView], _ body: ([ValueView]) throws(DatabaseError) -> Void
        ) throws(DatabaseError) {
            guard let first = values.first else { return try body(views) }
            try first.withView { view throws(DatabaseError) in
                try withViews(values.dropFirst(), views + [view], body)
            }
        }
    }

    /// Ascending and not, at both ends of the range, beside keys committed before and removed in the same write.
    @Test func keysAreDistinctInAnyOrder() throws {
        try PropertyTest.run(rounds: 20) { random, _ in
            let store = try Store("A { id: int key }")
            var model: [Int64: Bool] = [:]
            let ends: [Int64] = [.min, .min + 1, -1, 0, 1, .max - 1, .max]
            var next: Int64 = 0
            for _ in 0 ..< 4 {
                let write = try store.database.beginWrite(on: store.snapshot)
                for _ in 0 ..< 60 {
                    next += 1
                    let id = random.chance(20) ? random.pick(ends) : random.chance(60) ? next : Int64(random.below(90))
                    if random.chance(15), let key = try write.table(store.table).find(primaryKey: .int(id)) {
                        try write.delete(store.table, key)
                        model[id] = nil
                        continue
                    }
                    do throws(DatabaseError) {
                        try store.insert(write, [.int(id)])
                        #expect(model.updateValue(true, forKey: id) == nil, "\(id) was inserted twice")
                    } catch {
                        #expect(error.code == .duplicatePrimaryKey && model[id] == true, "\(id) was refused: \(error)")
                    }
                }
                try write.commit()
                #expect(try store.snapshot.table(store.table).liveCount == model.count)
            }
            #expect(try store.snapshot.verify().problems == [])
        }
    }

    @Test func whatDoesNotFitIsRefusedAndTheNextRowIsNot() throws {
        let store = try Store("A { id: string key, small: int8, text: string, on: timestamp, maybe: double? }")
        let write = try store.database.beginWrite(on: store.snapshot)
        let time = Value.timestamp(Timestamp(seconds: 1, nanoseconds: 2))
        func refusal(_ values: [Value]) -> ErrorCode? {
            do throws(DatabaseError) {
                try store.insert(write, values)
                return nil
            } catch { return error.code }
        }
        #expect(refusal([.string("a"), .int(1), .string("t"), time, .null]) == nil)
        #expect(refusal([.string("a"), .int(1), .string("t"), time, .null]) == .duplicatePrimaryKey)
        #expect(refusal([.string("b"), .int(200), .string("t"), time, .null]) == .overflow)
        #expect(refusal([.string("b"), .int(1), .int(5), time, .null]) == .wrongType)
        #expect(refusal([.string("b"), .int(1), .null, time, .null]) == .nullNotAllowed)
        #expect(refusal([.string("b"), .int(1), .string("tä"), time, .int(7)]) == nil, "widened")
        try write.commit()
        let view = try store.snapshot.table(store.table)
        #expect(view.liveCount == 2)
        let found = try Value.string("b").withView { wanted throws(DatabaseError) in try view.find(primaryKey: wanted) }
        let key = try #require(found)
        #expect(try view.value(store.columns[2], key).owned == .string("tä"))
        #expect(try view.value(store.columns[4], key).owned == .double(7))
    }
}
