// Migrations at open that give, change or drop primary keys and indexes.

import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

extension MigrationTests {
    @Test func aPrimaryKeyWithDuplicatesUndoesEverything() throws {
        let store = try people()
        let before = try store.dump()
        let error = #expect(throws: DatabaseError.self) {
            try store.open(first.replacing("id: int", "id: int key"), version: 1) {
                $0.migration.step = step { migration in
                    try migration.pairs("Person") { _, new in try new?.set("id", to: .int(7)) }
                }
            }
        }
        #expect(error?.code == .duplicatePrimaryKey)
        #expect(error?.message.contains("Person.id") == true)
        #expect(try store.dump() == before)
        #expect(try store.open().schemaVersion == 0)
    }

    @Test func aPrimaryKeyCanComeChangeAndGo() throws {
        let store = try people()
        let keyed = first.replacing("name: string", "name: string key")
        let session = try store.open(keyed, version: 1) {
            $0.migration.step = step { migration in
                try migration.pairs("Person") { old, new in
                    guard let old, let new, case .int(let id) = try old.get("id") else { return }
                    try new.set("name", to: .string(id == 0 ? "" : "a name that is longer than seven bytes \(id)"))
                }
                // Found by a scan while the index is not there.
                let table = try migration.new.tableKey("Person")
                #expect(try migration.new.find(table, primaryKey: .string(""))?.key == ObjectKey(0))
                _ = try migration.new.create(table, primaryKey: .string("made in the step"))
            }
        }
        let table = try session.tableKey("Person")
        #expect(try session.find(table, primaryKey: .string("made in the step"))?.key == ObjectKey(10))
        #expect(
            try session.find(table, primaryKey: .string("a name that is longer than seven bytes 4"))?.key
                == ObjectKey(4))
        #expect(throws: DatabaseError.self) {
            try session.inWrite { try session.create(table, primaryKey: .string("made in the step")) }
        }
        // Another key, and the values of the one that stays a key may be set.
        let next = try store.open(
            first.replacing("id: int", "id: int key").replacing("age: int", "age: int indexed"), version: 2
        ) {
            $0.migration.step = step { migration in
                try migration.pairs("Person") { _, new in
                    guard let new else { return }
                    try new.set("id", to: .int(100 + new.key.rawValue))
                }
            }
        }
        #expect(try next.find(table, primaryKey: .int(104))?.key == ObjectKey(4))
        let last = try store.open(first.replacing("id: int", "id: int key"), version: 3) {
            $0.migration.step = step { migration in
                try migration.pairs("Person") { _, new in
                    guard let new else { return }
                    try new.set("id", to: .int(200 - new.key.rawValue))
                }
            }
        }
        #expect(try last.find(table, primaryKey: .int(196))?.key == ObjectKey(4))
        #expect(try last.find(table, primaryKey: .int(104)) == nil)
        #expect(try last.database.strayPages().isEmpty)
    }

    @Test func indexesComeAndGoInOneCommit() throws {
        let store = try people(.file)
        let before = try store.open().version.rawValue
        let indexed = try store.open(first.replacing("age: int", "age: int indexed"), version: 1)
        #expect(try indexed.version.rawValue == before + 1)
        let table = try indexed.tableKey("Person")
        let column = try #require(try indexed.schema["Person"]?.property(named: "age")?.columnKey)
        #expect(try indexed.table(table).indexCount(column, equal: .int(25)) == 1)
        let dropped = try store.open(first, version: 2)
        #expect(try dropped.version.rawValue == before + 2)
        #expect(try dropped.table(table).indexCount(column, equal: .int(25)) == nil)
        #expect(try dropped.objects("Person").filter("age == 25").count() == 1)
        #expect(try dropped.database.strayPages().isEmpty)
    }
}
