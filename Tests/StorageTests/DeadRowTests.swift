// Rows that are dead refer to nothing: scans read chunks whole. Verification says so where they do.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct DeadRowTests {
    private let database: Database
    private let snapshot: Snapshot
    private let table: TableKey
    private let type: ObjectType

    init() throws {
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.rowGroupSize = 3
        database = try Database.open(options)
        snapshot = try database.snapshot()
        _ = try database.reconcile(
            try SchemaText.parse("Note { text: string, texts: list<string>, marks: map<string> }"), on: snapshot)
        type = try snapshot.schema.type(named: "Note")
        table = try #require(type.tableKey)
    }

    private func column(_ name: String) throws -> ColumnKey { try #require(type.property(named: name)?.columnKey) }

    private func fill(_ write: WriteTransaction, _ count: Int) throws {
        let long = Value.string(String(repeating: "x", count: 4_100))
        let textColumn = try column("text"), markColumn = try column("marks")
        for _ in 0 ..< count {
            let key = try write.create(table, primaryKey: nil)
            try long.withView { view throws(DatabaseError) in
                try write.set(table, textColumn, key, to: view)
            }
            try LongListTests.withViews([long]) { try write.listInsert(table, try column("texts"), key, at: 0, $0) }
            try long.withView { view throws(DatabaseError) in
                _ = try [UInt8]("a".utf8).withBytes { name throws(DatabaseError) in
                    try write.mapPut(table, markColumn, key, name, view)
                }
            }
        }
    }

    @Test func verificationFindsWhatDeadRowsReferTo() throws {
        let write = try database.beginWrite(on: snapshot)
        try fill(write, 70)
        try write.commit()
        #expect(try snapshot.verify().isSound)
        // As if the first row had died without letting go.
        var bitmap = LiveBitmap(allLive: 3)
        bitmap.kill(0)
        let key = PageKeys.liveBitmap(table, 0)
        var state = try TableDirectory.readState(table, snapshot.pages, 3)
        state.liveCount -= 1
        let version = Version(snapshot.version.rawValue + 1)
        state.modifiedIn = version.rawValue
        var batch = PageBatch()
        try HistoryLog.append(ChangeRecorder(), version: version, over: snapshot.pages, into: &batch)
        batch.put(key, bitmap.encoded(key: key))
        batch.put(PageKeys.tableState(table), valueCount: TableState.encodedSize) { state.write(to: $0, for: table) }
        let lock = try database.pages.lockForWriting(timeoutMilliseconds: 1_000)
        try database.pages.commit(batch, lock: lock, version: version)
        lock.release()
        let report = try database.snapshot().verify()
        for name in ["text", "texts", "marks"] {
            let found = report.problems.contains { $0.contains("Note.\(name) of deleted objects") }
            #expect(found, "\(report.text)")
        }
    }

    /// All at once, one by one, and both, in the write that refills the class.
    @Test func whatIsRefilledRefersToNothingThatIsGone() throws {
        for (first, second) in [(3, 3), (5, 70), (70, 5), (70, 66)] {
            for way in 0 ..< 4 {
                var write = try database.beginWrite(on: snapshot)
                _ = try write.deleteAll(table)
                try fill(write, first)
                try write.commit()
                write = try database.beginWrite(on: snapshot)
                if way == 1 { try fill(write, 2) }
                if way >= 2 {
                    let view = try write.table(table)
                    let keys = try (0 ..< view.rowGroupCount).flatMap { try view.rowGroup($0).liveKeys }
                    _ = try write.delete(table, way == 2 ? keys : Array(keys.prefix(4)))
                }
                _ = try write.deleteAll(table)
                try fill(write, second)
                try write.checkInvariants()
                try WholeRead.check(write, "\(first) \(second) \(way)")
                try write.commit()
                try WholeRead.check(snapshot, "\(first) \(second) \(way)")
                try WholeRead.check(try database.snapshot(), "\(first) \(second) \(way)")
                let report = try snapshot.verify()
                #expect(report.isSound && report.objects == second, "\(report.text)")
            }
        }
    }
}
