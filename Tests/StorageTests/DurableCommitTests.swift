// A commit that is in the file is never reported as failed: whatever cannot be done afterwards, such as pinning the
// version just made, the write has ended, its version is there once, and the snapshot shows it.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct DurableCommitTests {
    private static let schema = "Person { id: int key, name: string? }"
    private let folder = TemporaryDirectory()
    private let faults = FaultInjection()

    private func open(_ name: String) throws -> Database {
        var options = PageStoreOptions(path: folder.file(name))
        options.durability = .none
        options.faults = faults
        return try Database.open(options)
    }

    private func count(_ source: RowSource) throws -> Int {
        try source.table(try #require(source.schema["Person"]?.tableKey)).liveCount
    }

    private func add(_ id: Int64, _ write: WriteTransaction) throws {
        let type = try #require(write.schema["Person"])
        _ = try write.create(try #require(type.tableKey), primaryKey: .int(id))
    }

    /// `pins` are how many versions cannot be pinned: that of the commit, then also what is tried next.
    @Test(arguments: [1, 2])
    func aVersionThatCannotBePinnedIsCommittedAllTheSame(pins: Int) throws {
        let database = try open("\(pins).motte")
        let snapshot = try database.snapshot()
        let text = try SchemaText.parse(Self.schema)
        // With a schema, too, which is read back from the version.
        faults.failPins(afterNextCommit: pins)
        _ = try? database.reconcile(text, on: snapshot)
        while (try? database.pages.snapshot()) == nil {}
        let base = try database.snapshot().version.rawValue
        #expect(base == 1)

        let second = try database.snapshot()
        for number in 1 ... 3 {
            let write = try database.beginWrite(on: second, timeoutMilliseconds: 0)
            try add(Int64(number), write)
            if number < 3 { faults.failPins(afterNextCommit: pins) }
            #expect(try write.commit().rawValue == base + UInt64(number))
            #expect(!write.isOpen)
            #expect(try second.version.rawValue == base + UInt64(number) && count(second) == number)
            while (try? database.pages.snapshot()) == nil {}
        }
        #expect(try count(try database.snapshot()) == 3)
        #expect(try database.snapshot().verify().problems.isEmpty)
    }

    /// Every 64th commit deletes the change records of those before; it is a record of the log like any other.
    @Test func aCommitThatTrimsTheChangeLogIsOneWrite() throws {
        var options = PageStoreOptions(path: folder.file("trimming.motte"))
        options.durability = .none
        options.walPages = 2_000
        let database = try Database.open(options)
        let snapshot = try database.snapshot()
        _ = try database.reconcile(try SchemaText.parse(Self.schema), on: snapshot)
        var trimmed = 0
        for number in 0 ..< 200 as Range<Int64> {
            let before = try database.pages.statistics().writeCallCount
            let write = try database.beginWrite(on: snapshot, timeoutMilliseconds: 0)
            try add(number, write)
            let version = try write.commit()
            let oldest = try #require(try HistoryLog.oldestVersion(in: snapshot.pages))
            guard version.rawValue % 64 == 0, version.rawValue > 64 else { continue }
            #expect(version.rawValue - oldest.rawValue < 2)
            #expect(try database.pages.statistics().writeCallCount == before + 1)
            trimmed += 1
        }
        #expect(trimmed == 2)
        #expect(try count(try database.snapshot()) == 200)
        #expect(try database.snapshot().verify().problems.isEmpty)
    }

    /// Alone or in a group: a commit that has no room takes records that nobody needs out of the change log.
    @Test(arguments: [false, true]) func aFullFileGivesWhatNobodyNeeds(inGroup: Bool) throws {
        var options = PageStoreOptions(path: folder.file("full\(inGroup).motte"))
        options.durability = .none
        options.mostFileBytes = 1 << 20
        let database = try Database.open(options)
        let snapshot = try database.snapshot()
        _ = try database.reconcile(try SchemaText.parse(Self.schema), on: snapshot)
        let type = try #require(snapshot.schema["Person"])
        let table = try #require(type.tableKey), name = try #require(type.property(named: "name")?.columnKey)
        func rename(_ key: ObjectKey, _ size: Int, _ write: WriteTransaction) throws {
            let text = String(repeating: "\(key.rawValue)-\(snapshot.version.rawValue) ", count: size)
            try Value.string(text).withView { try write.set(table, name, key, to: $0) }
        }
        func add(_ id: Int64, _ write: WriteTransaction) throws {
            try rename(try write.create(table, primaryKey: .int(id)), 1_000, write)
        }
        func commit(_ body: (WriteTransaction) throws -> Void) throws {
            let write = try database.beginWrite(on: snapshot, timeoutMilliseconds: 0)
            defer { write.cancel() }
            try body(write)
            try write.commit()
        }
        try commit { write in
            try write.keepChanges(since: snapshot.version)
            for id in 0 ..< 50 as Range<Int64> { _ = try write.create(table, primaryKey: .int(id)) }
        }
        var commits = 0
        // Each record has the names before.
        let full = #expect(throws: DatabaseError.self) {
            while commits < 1_000 {
                try commit { write in for key in 0 ..< 50 as Range<Int64> { try rename(ObjectKey(key), 60, write) } }
                commits += 1
            }
        }
        #expect(full?.code == .mapFull && commits > 10)
        try commit { try $0.keepChanges(since: nil) }

        if inGroup {
            let group = try database.beginGroup(on: snapshot, timeoutMilliseconds: 0)
            defer { group.release() }
            for id in 0 ..< 10 as Range<Int64> {
                let write = database.beginWrite(on: snapshot, in: group)
                try add(1_000 + id, write)
                try write.commit()
            }
            try group.flush()
        } else {
            for id in 0 ..< 10 as Range<Int64> { try commit { try add(1_000 + id, $0) } }
        }
        #expect(try count(try database.snapshot()) == 60)
        #expect(try database.snapshot().verify().problems.isEmpty)
    }

    @Test func aMemberOfAGroupIsCommittedAllTheSame() throws {
        let database = try open("group.motte")
        let snapshot = try database.snapshot()
        _ = try database.reconcile(try SchemaText.parse(Self.schema), on: snapshot)
        let lock = try database.pages.lockForWriting(timeoutMilliseconds: 0)
        let group = try PageGroup(database.pages, lock: lock)
        var version = group.newest.version.rawValue
        for number in 0 ..< 3 {
            var batch = PageBatch()
            batch.put([0x7F, UInt8(number)], [UInt8(number)])
            version += 1
            // By itself, and durable when this returns.
            faults.failPins(afterNextCommit: number < 2 ? 1 : 0)
            let newest = try group.add(&batch, version: Version(version), alone: true)
            #expect(newest.version.rawValue == version && group.flushed.rawValue == version)
            #expect(try newest.get([0x7F, UInt8(number)])?.bytes.first == UInt8(number))
            #expect(try newest.get([0x7F, 0])?.bytes.first == 0)
        }
        try group.flush()
        group.release()
        #expect(try database.pages.snapshot().version.rawValue == version)
    }
}
