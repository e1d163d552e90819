// Deleting all objects of a class and filling it again in the same write, as a cache is refreshed: dead rows refer to
// nothing, whatever the class holds, so that every way of reading the new objects works.
import MotteLiveObjects
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct RefillTests {
    private static let schema = """
        Note {
            id: int key, text: string, data: data?, any: mixed, texts: list<string>, sets: set<string>,
            marks: map<string>, anys: list<mixed>, part: link<Part>, parts: list<Part>, next: link<Note>
        }
        embedded Part { text: string, texts: list<string>, any: mixed }
        """

    /// Every kind of value that can be long.
    private static func add(_ session: Session, _ id: Int, _ mark: String, bytes: Int) throws {
        let long = mark + String(repeating: "\(id % 90 + 10) ", count: bytes)
        let note = try session.add(
            "Note",
            [
                "id": .int(Int64(id)), "text": .string(long), "data": .data(Array(long.utf8)),
                "any": .list([.string(long), .int(Int64(id))]),
            ])
        for name in ["texts", "anys"] {
            let list = try note.list(note.column(named: name))
            try list.append(.string(long))
            try list.append(.string("short"))
        }
        try note.set(note.column(named: "sets")).put(.string(long))
        try note.map(note.column(named: "marks")).put("a", .string(long))
        let part = try note.embeddedPut(note.column(named: "part"))
        try part.set("text", to: .string(long))
        try part.set("any", to: .string(long))
        try part.list(part.column(named: "texts")).append(.string(long))
        let other = try note.list(note.column(named: "parts")).embeddedAppend()
        try other.set("text", to: .string(long))
    }

    private static func check(_ session: Session, _ ids: Range<Int>, _ mark: String, _ comment: String) throws {
        try WholeRead.check(session, comment)
        let report = try session.committedSnapshot().verify()
        #expect(report.isSound, "\(report.text); \(comment)")
        #expect(try session.objects("Note").count() == ids.count, "\(comment)")
        #expect(try session.objects("Note").filter("text BEGINSWITH '\(mark)'").count() == ids.count, "\(comment)")
        #expect(try session.objects("Note").filter("ANY texts BEGINSWITH '\(mark)'").count() == ids.count, "\(comment)")
        #expect(try session.objects("Part").filter("text BEGINSWITH '\(mark)'").count() == 2 * ids.count, "\(comment)")
    }

    /// Row groups of 3 rows, of the fewest and of the most rows; as many as fill an open row group, and more.
    @Test(arguments: [3, 480])
    func everyKindOfLongValue(_ rowGroupSize: Int) throws {
        let store = TestStore(.file, rowGroupSize: rowGroupSize, schema: Self.schema)
        let session = try store.open()
        let reader = try store.open()
        for first in [70, 3] {
            for second in [3, 66] {
                let comment = "\(first) replaced by \(second), row groups of \(rowGroupSize)"
                try session.inWrite {
                    _ = try session.deleteAll(try session.tableKey("Note"))
                    for id in 0 ..< first { try Self.add(session, id, "x", bytes: 460) }
                }
                try Self.check(session, 0 ..< first, "x", comment)
                _ = try reader.refresh()
                try Self.check(reader, 0 ..< first, "x", comment)
                try session.inWrite {
                    _ = try session.deleteAll(try session.tableKey("Note"))
                    for id in 0 ..< second { try Self.add(session, id, "y", bytes: 460) }
                    try WholeRead.check(session, comment)
                }
                try Self.check(session, 0 ..< second, "y", comment)
                _ = try reader.refresh()
                try Self.check(reader, 0 ..< second, "y", comment)
                try Self.check(try store.open(), 0 ..< second, "y", comment)
            }
        }
    }

    /// What a savepoint brings back is what was there, also where the row groups were opened for more meanwhile.
    @Test(arguments: [3, 480])
    func aSavepointBringsBackWhatWasDeleted(_ rowGroupSize: Int) throws {
        for count in [3, 66] {
            let store = TestStore(.file, rowGroupSize: rowGroupSize, schema: Self.schema)
            let session = try store.open()
            try session.inWrite { for id in 0 ..< count { try Self.add(session, id, "x", bytes: 460) } }
            let before = try StoreDump.text(session)
            try session.beginWrite()
            try session.add("Note", ["id": .int(10_000)])
            let inside = try StoreDump.text(session)
            for deletesAll in [true, false] {
                let savepoint = try session.savepoint()
                if deletesAll {
                    _ = try session.deleteAll(try session.tableKey("Note"))
                } else {
                    for key in try session.objects("Note").allKeys {
                        _ = try session.delete(try session.tableKey("Note"), [key])
                    }
                }
                for id in 0 ..< 70 { try Self.add(session, id, "y", bytes: 460) }
                try WholeRead.check(session, "deletesAll \(deletesAll)")
                try session.rollBack(to: savepoint)
                #expect(try StoreDump.text(session) == inside)
                try WholeRead.check(session, "deletesAll \(deletesAll)")
            }
            let last = try session.savepoint()
            _ = try session.deleteAll(try session.tableKey("Note"))
            for id in 0 ..< 70 { try Self.add(session, id, "z", bytes: 460) }
            try session.release(last)
            try session.commit()
            try Self.check(session, 0 ..< 70, "z", "\(count)")
            #expect(before != (try StoreDump.text(session)))
        }
    }
}
