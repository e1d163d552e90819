// A write, a migration and what is frozen read a file of twenty budgets of memory within a few: between two calls they
// let go of what they were lent, but not of what the call before was, which may be an argument of the next.
import MotteLiveObjects
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct MemoryOfWritesTests {
    private static let budget = 256 << 10
    private static let count = 1_200
    private static let schema = "Row { id: int key, text: string, note: string?, other: double, tags: list<string> }"

    /// Row groups of 12 KB and more, some long texts, and a list in each twentieth row.
    private func filled() throws -> (store: TestStore, options: SessionOptions) {
        let store = TestStore(.file, rowGroupSize: 3, schema: Self.schema)
        var options = try store.options
        options.memoryBytes = Self.budget
        let session = try Session.open(options)
        try session.inWrite {
            for id in 0 ..< Self.count {
                let row = try session.add(
                    "Row",
                    [
                        "id": .int(Int64(id)), "text": .string(Self.text(id)), "other": .double(Double(id)),
                        "note": id % 50 == 0 ? .string(Self.text(id) + Self.text(id) + Self.text(id)) : .null,
                    ])
                if id % 20 == 0 { try (row.collection("tags") as? LiveList)?.append(.string("tag \(id)")) }
            }
        }
        try session.close()
        return (store, options)
    }

    private static func text(_ id: Int) -> String { String(repeating: "text \(id) ", count: 400) }

    private func find(_ session: Session, _ id: Int) throws -> LiveObject? {
        try session.find(try session.tableKey("Row"), primaryKey: .int(Int64(id)))
    }

    private func expectLittle(_ session: Session, _ what: String) throws {
        let most = try session.database.pages.statistics().mostMemoryBytes
        #expect(most < 4 * Self.budget, "\(what): \(most)")
    }

    /// Every value as it was made, but for those changed.
    private func check(_ session: Session, changed: Set<Int> = [], objects: LiveResults? = nil) throws {
        let rows = try objects ?? session.objects("Row")
        #expect(try rows.count() == Self.count)
        for index in 0 ..< Self.count {
            session.releaseMemory()
            let row = try #require(try rows.object(at: index))
            session.releaseMemory()
            let expected = changed.contains(index) ? "changed \(index)" : Self.text(index)
            #expect(try row.get("text") == .string(expected), "\(index)")
            session.releaseMemory()
            if index % 50 == 0 {
                #expect(try row.get("note") == .string(Self.text(index) + Self.text(index) + Self.text(index)))
            }
        }
    }

    @Test func whatAWriteReads() throws {
        let (store, options) = try filled()
        defer { withExtendedLifetime(store) {} }
        let session = try Session.open(options)
        try session.beginWrite()
        try check(session)
        #expect(try session.objects("Row").filter("text CONTAINS 'text 77 '").count() == 1)
        #expect(try session.objects("Row").sorted(by: "text").object(at: 0)?.get("id") == .int(0))
        #expect(try session.objects("Row").filter("note != nil").count() == Self.count / 50)
        try expectLittle(session, "reading")
        // A value here and there: columns are patched where they lie, which then go.
        var changed: Set<Int> = []
        for id in stride(from: 0, to: Self.count, by: 7) {
            session.releaseMemory()
            let row = try #require(try find(session, id))
            try row.set("text", to: .string("changed \(id)"))
            changed.insert(id)
        }
        try check(session, changed: changed)
        #expect(try session.objects("Row").filter("text BEGINSWITH 'changed'").count() == changed.count)
        try expectLittle(session, "changing")
        try session.commit()
        try check(session, changed: changed)
        #expect(try session.committedSnapshot().verify().problems == [])
        try session.close()
        try check(try Session.open(options), changed: changed)
    }

    @Test func whatIsFrozen() throws {
        let (store, options) = try filled()
        defer { withExtendedLifetime(store) {} }
        let session = try Session.open(options)
        let frozen = try session.freeze()
        try session.inWrite { try session.objects("Row").object(at: 3)?.set("text", to: .string("changed 3")) }
        for _ in 0 ..< 2 {
            try check(frozen)
            try check(session, changed: [3])
        }
        try expectLittle(session, "what is frozen beside what is not")
    }

    @Test func whatAMigrationReads() throws {
        let (store, options) = try filled()
        defer { withExtendedLifetime(store) {} }
        var newer = options
        newer.schema = try SchemaText.parse(
            "Row { id: int key, text: string, note: string?, other: double, tags: list<string>, length: int }")
        newer.schemaVersion = 2
        newer.migration.step = step { migration in
            try migration.enumerate("Row") { (old, new) throws(DatabaseError) in
                guard let old, let new, case .string(let text) = try old.get("text") else { return }
                try new.set("length", to: .int(Int64(text.utf8.count)))
            }
        }
        let session = try Session.open(newer)
        try expectLittle(session, "migrating")
        #expect(try session.objects("Row").object(at: 9)?.get("length") == .int(Int64(Self.text(9).utf8.count)))
        try check(session)
    }

    /// What the call before has lent is an argument of this one.
    @Test(arguments: [false, true]) func argumentsMayBeBorrowed(inWrite: Bool) throws {
        let (store, options) = try filled()
        defer { withExtendedLifetime(store) {} }
        let session = try Session.open(options)
        let text = try #require(try session.objects("Row").object(at: 0)).column(named: "text")
        if inWrite { try session.beginWrite() }
        for id in 0 ..< Self.count {
            let row = try #require(try find(session, id))
            session.releaseMemory()
            let view = try row.get(text)
            // One call may lend many, for whose sake pages of the first are given up.
            for more in 1 ... (id % 60 == 0 ? 40 : 1) {
                _ = try #require(try find(session, (id + more * 29) % Self.count)).get(text)
            }
            // The next call begins, reads others' pages, some calls all of them, and uses what it was given.
            session.releaseMemory()
            if id % 60 == 0 {
                #expect(try session.objects("Row").filter("text CONTAINS 'none'").count() == 0)
                #expect(view.owned == .string(Self.text(id)), "\(id)")
            }
            let other = try #require(try find(session, (id * 7 + 600) % Self.count))
            _ = try other.get(text)
            if inWrite, id % 10 == 0 {
                try other.set(text, to: view)
                #expect(try other.get("text") == .string(Self.text(id)), "\(id)")
                try other.set("text", to: .string(Self.text((id * 7 + 600) % Self.count)))
            } else {
                #expect(view.owned == .string(Self.text(id)), "\(id)")
            }
        }
        try expectLittle(session, "borrowing")
        if inWrite { try session.commit() }
        try check(session)
    }
}
