// Many of everything: a thousand classes, ten thousand frozen objects, a million rows upserted.
import MotteLiveObjects
import MottePages
import MotteQueryEngine
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct BoundsTests {
    @Test func aThousandClassesAreReadWhenTheyAreUsed() throws {
        let classes = (0 ..< 1_000).map { number in
            "Class\(number) { id: int key, name: string indexed, next: link<Class\((number + 1) % 1_000)> }"
        }
        let store = TestStore(.file, schema: classes.joined(separator: "\n"))
        let first = try store.open()
        try first.inWrite {
            for number in stride(from: 0, to: 1_000, by: 100) {
                try first.add("Class\(number)", ["id": .int(Int64(number)), "name": .string("n")])
            }
        }
        try first.close()

        let session = try store.open()
        #expect(session.counters.read().chunksDecoded == 0)
        #expect(try session.objects("Class500").filter("name == 'n'").count() == 1)
        #expect(session.counters.read().chunksDecoded <= 3)
        #expect(try session.objects("Class501").count() == 0)
        let found = try session.find(try session.tableKey("Class900"), primaryKey: .int(900))
        #expect(try found?.get("name") == .string("n"))
        #expect(try session.schema.objectTypes.count == 1_000)
    }

    @Test func frozenObjectsOfAVersionShareOneSnapshot() throws {
        let store = TestStore(.file, rowGroupSize: 480, schema: "Row { number: int }")
        let session = try store.open()
        try session.inWrite { for number in 0 ..< 100 { try session.add("Row", ["number": .int(Int64(number))]) } }
        let table = try session.tableKey("Row")
        let before = try session.database.pages.readers().count
        var frozen: [LiveObject] = []
        for number in 0 ..< 10_000 {
            let object = try #require(try session.object(table, at: ObjectKey(Int64(number % 100))))
            frozen.append(try object.freeze())
        }
        try session.inWrite { for key in 0 ..< 100 { try session.delete(table, ObjectKey(Int64(key))) } }

        // One version more is held than before: the old one, by all of them together.
        #expect(try session.database.pages.readers().count <= before + 1)
        for (number, object) in frozen.enumerated() {
            #expect(try object.get("number") == .int(Int64(number % 100)))
        }
        #expect(try session.objects("Row").count() == 0)
    }

    @Test func manyExistingObjectsAreUpserted() throws {
        let count = max(2_000, TestScale.times(20_000))
        let session = try TestStore(rowGroupSize: 480, schema: "Row { id: int key, number: int }").open()
        let type = try session.schema.type(named: "Row")
        let table = try session.tableKey("Row")
        let columns = try ["id", "number"].map { try #require(type.property(named: $0)?.columnKey) }
        func upsert(_ ids: Range<Int>, number: Int64) throws {
            var rows: [ValueView] = []
            for id in ids { rows += [.int(Int64(id)), .int(number)] }
            try rows.withUnsafeBufferPointer { rows in
                _ = try session.upsertBatch(
                    table, columns: columns, rows: rows.baseAddress, rowCount: ids.count, policy: .modified)
            }
        }
        try session.inWrite { try upsert(0 ..< count, number: 1) }
        // Half of them are there, half are new.
        try session.inWrite { try upsert(count / 2 ..< count + count / 2, number: 2) }
        #expect(try session.objects("Row").count() == count + count / 2)
        #expect(try session.objects("Row").filter("number == 2").count() == count)
        #expect(try session.find(table, primaryKey: .int(0))?.get("number") == .int(1))
    }
}
