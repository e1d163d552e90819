// Files of each format number (Tests/Compatibility) are read as they were meant, can be written, and are then files
// like any other. That other format numbers are refused in words is in PagesTests.
import MotteLiveObjects
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct CompatibilityTests {
    let directory = TemporaryDirectory()

    static let folder: String = {
        var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        parts.removeLast(2)
        return parts.joined(separator: "/") + "/Compatibility/"
    }()

    /// A copy that may be written.
    func copy(_ kind: String) -> String {
        let path = directory.file(kind + ".motte")
        let bytes = TemporaryDirectory.read(Self.folder + "0.1/\(kind).motte")
        #expect(!bytes.isEmpty && TemporaryDirectory.write(bytes, path))
        return path
    }

    func expected(_ kind: String) -> [String] {
        String(decoding: TemporaryDirectory.read(Self.folder + "0.1/\(kind).txt"), as: UTF8.self)
            .split(separator: "\n").map(String.init)
    }

    private func compare(_ session: Session, _ kind: String) throws {
        let found = try CompatibilityText.lines(session)
        let expected = expected(kind)
        #expect(found.count == expected.count)
        for (line, wanted) in zip(found, expected) where line != wanted {
            Issue.record("found \(line)\nwanted \(wanted)")
            break
        }
    }

    /// All types that can be long, and long values.
    @Test func filesWithLongValuesAreReadAndWritten() throws {
        var options = SessionOptions(path: copy("long"))
        options.isDurable = false
        let session = try Session.open(options)
        try compare(session, "long")
        #expect(try session.database.snapshot().verify().isSound)
        let table = try session.tableKey("Doc")
        let doc = try #require(try session.object(table, at: ObjectKey(9)))
        let long = String(repeating: "changed ", count: 900)
        try session.inWrite {
            try doc.set("s", to: .string(long))
            let list = try #require(try doc.collection("ls") as? LiveList)
            try list.remove(at: 0, count: 690)
            try session.object(table, at: ObjectKey(13))?.delete()
        }
        try session.close()
        let again = try Session.open(options)
        #expect(try again.object(table, at: ObjectKey(9))?.get("s") == .string(long))
        #expect(try again.database.snapshot().verify().isSound)
    }

    /// Ordered indexes of every kind. Folded ones may have been made by another version of Unicode.
    @Test func filesWithOrderedIndexesAreReadAndWritten() throws {
        var options = SessionOptions(path: copy("indexes"))
        options.isDurable = false
        let session = try Session.open(options)
        try compare(session, "indexes")
        #expect(try session.database.snapshot().verify().isSound)
        func check(_ session: Session, _ ada: Int) throws {
            for (text, found) in [
                ("name ==[c] 'ADA'", ada), ("(name ==[c] 'ADA') OR age + 0 == -5", ada), ("mail == 'last'", 1),
                ("TRUEPREDICATE DISTINCT(age)", 90), ("name == 'late 1' AND age >= 0", 68),
            ] {
                #expect(try session.objects("Person").filter(text).count() == found, "\(text)")
            }
        }
        try check(session, 907)
        let table = try session.tableKey("Person")
        try session.inWrite {
            try session.object(table, at: ObjectKey(1))?.set("name", to: .string("gone"))
            let error = #expect(throws: DatabaseError.self) {
                try session.add("Person", ["id": .int(-2), "mail": .string("last")])
            }
            #expect(error?.code == .duplicateValue)
        }
        try check(session, 906)
        try session.close()
        let again = try Session.open(options)
        try check(again, 906)
        let report = try again.database.snapshot().verify()
        #expect(report.isSound && report.notes.isEmpty)
    }

    /// Lists with lengths of one and two bytes, and declared widths.
    @Test func filesWithNarrowLengthsAreReadAndWritten() throws {
        var options = SessionOptions(path: copy("packed"))
        options.isDurable = false
        let session = try Session.open(options)
        try compare(session, "packed")
        #expect(try session.database.pages.header.rowGroupSize == 1_904)
        #expect(try session.schema.type(named: "Item").property(named: "half")?.width == .bits16)
        #expect(try session.database.snapshot().verify().isSound)
        let table = try session.tableKey("Item")
        func list(_ session: Session, _ key: Int64, _ name: String) throws -> LiveList {
            let item = try #require(try session.object(table, at: ObjectKey(key)))
            return try #require(try item.collection(name) as? LiveList)
        }
        // One that leaves its tree, one that gets one, one beside them, and rows behind them.
        try session.inWrite {
            try list(session, 9, "li").remove(at: 0, count: 650)
            let texts = try list(session, 11, "ls")
            for _ in 0 ..< 100 { try texts.append(.string("more")) }
            try list(session, 12, "lt").append(.timestamp(Timestamp(seconds: 1, nanoseconds: 2)))
            try session.object(table, at: ObjectKey(13))?.delete()
            for _ in 0 ..< 500 { try session.add("Many") }
        }
        try session.close()
        let again = try Session.open(options)
        #expect(try list(again, 9, "li").allValues.last == .int(699 << 20))
        #expect(try list(again, 11, "ls").allValues.suffix(100).allSatisfy { $0 == .string("more") })
        #expect(try again.objects("Many").count() == 2_500)
        #expect(try again.database.snapshot().verify().isSound)
    }

    /// A class whose row groups are smaller than the file's.
    @Test func filesWithRowsOfTablesAreReadAndWritten() throws {
        var options = SessionOptions(path: copy("tables"))
        options.isDurable = false
        let session = try Session.open(options)
        try compare(session, "tables")
        let wide = try session.tableKey("Wide"), narrow = try session.tableKey("Narrow")
        #expect(try session.committedSnapshot().table(wide).rowGroupSize == 480)
        #expect(try session.committedSnapshot().table(narrow).rowGroupSize == 1_904)
        #expect(try session.database.snapshot().verify().isSound)
        try session.inWrite {
            for id in 5_000 ..< 5_600 { try session.add("Wide", ["id": .int(Int64(id))]) }
            try session.object(wide, at: ObjectKey(700))?.set("text", to: .string("changed"))
        }
        try session.close()
        let again = try Session.open(options)
        #expect(try again.object(wide, at: ObjectKey(700))?.get("text") == .string("changed"))
        #expect(try again.objects("Wide").count() == 1_596)
        #expect(try again.find(wide, primaryKey: .int(5_599))?.key == ObjectKey(1_600))
        #expect(try again.database.snapshot().verify().isSound)
    }

    /// The newest versions are records of a WAL; of the second file encrypted.
    @Test(arguments: [("wal", nil), ("encrypted", (0 ..< 64).map { UInt8($0) })])
    func filesWithAWALAreReadAndWritten(kind: String, key: [UInt8]?) throws {
        var options = SessionOptions(path: copy(kind))
        options.encryptionKey = key
        options.isDurable = false
        let session = try Session.open(options)
        try compare(session, kind)
        #expect(try session.objects("Dog").filter("name == 'renamed again'").count() == 1)
        #expect(try session.objects("Dog").filter("name == 'renamed in the WAL'").count() == 0)
        let dog = try session.tableKey("Dog")
        #expect(try session.find(dog, primaryKey: .int(2)) == nil)
        #expect(try session.database.snapshot().verify().isSound)
        #expect(try session.database.pages.check() == [])
        for id in 2_000 ..< 2_040 {
            try session.inWrite { _ = try session.add("Dog", ["id": .int(Int64(id)), "name": .string("new")]) }
        }
        try session.close()
        let again = try Session.open(options)
        #expect(try again.objects("Dog").count() == 440)
        #expect(try again.objects("Dog").filter("friend.id == 5").count() == 1)
        #expect(try again.database.snapshot().verify().isSound)
        #expect(try again.database.pages.check() == [])
    }

    @Test func filesWithAllTypesAreRead() throws {
        var options = SessionOptions(path: copy("all"))
        options.isReadOnly = true
        let session = try Session.open(options)
        try compare(session, "all")
        #expect(try session.schemaVersion == 3)
        let all = try session.tableKey("All")
        #expect(try session.find(all, primaryKey: .int(-29))?.key == ObjectKey(3))
        #expect(try session.objects("All").filter("s == 'more than seven bytes' AND li.@count > 0").count() > 0)
        #expect(try session.objects("Many").filter("n >= 1000").count() == 99)
        #expect(try session.database.strayPages() == [])
    }

    @Test func filesWithAllTypesAreWritten() throws {
        let path = copy("all")
        var options = SessionOptions(path: path)
        options.isDurable = false
        let session = try Session.open(options)
        let all = try session.tableKey("All")
        func list(_ key: Int64, _ name: String) throws -> LiveList {
            let object = try #require(try session.object(all, at: ObjectKey(key)))
            return try #require(try object.collection(name) as? LiveList)
        }
        var wanted: [String: [Value]] = [:]
        let places: [(Int64, String)] = [(3, "li"), (4, "lin"), (5, "ls"), (6, "ll"), (7, "li")]
        try session.inWrite {
            for (key, name) in places {
                let list = try list(key, name)
                var values = try list.allValues
                let first = values[0]
                try list.insert(first.withView { $0 }, at: 1)
                values.insert(first, at: 1)
                try list.remove(at: values.count - 5, count: 3)
                values.removeSubrange(values.count - 5 ..< values.count - 2)
                try list.append(first)
                values.append(first)
                try list.move(from: 0, to: values.count / 2)
                let moved = values.remove(at: 0)
                values.insert(moved, at: (values.count + 1) / 2)
                wanted["\(name)\(key)"] = values
                #expect(try list.allValues == values, "\(name)")
            }
            for number in 0 ..< 500 { try session.add("Many", ["n": .int(Int64(number))]) }
            try session.object(all, at: ObjectKey(12))?.delete()
        }
        try session.close()
        let again = try Session.open(options)
        for (key, name) in places {
            let object = try #require(try again.object(all, at: ObjectKey(key)))
            var values = try #require(wanted["\(name)\(key)"])
            if name == "ll" { values.removeAll { $0 == .link(ObjectLink(table: all, key: ObjectKey(12))) } }
            #expect(try object.collection(name).allValues == values, "\(name)")
        }
        #expect(try again.objects("Many").count() == 1100 - 484 + 1 + 500)
        #expect(try again.database.strayPages() == [])
    }

    @Test func filesAreMigrated() throws {
        var options = SessionOptions(
            path: copy("all"),
            schema: try SchemaText.parse(
                "All { id: int key, n: int?, s: string?, li: list<int>, other: list<All> } Many { n: int indexed }"))
        options.schemaVersion = 4
        options.migration.renames.renameProperty(of: "All", from: "in", to: "n")
        options.migration.renames.renameProperty(of: "All", from: "ll", to: "other")
        options.migration.deletedTypes = ["Named", "Empty"]
        let session = try Session.open(options)
        #expect(try session.objects("Many").filter("n == 1000").count() == 1)
        let object = try #require(try session.object(session.tableKey("All"), at: ObjectKey(6)))
        #expect(try object.collection("other").count() > 580)
        #expect(try session.database.strayPages() == [])
    }
}
