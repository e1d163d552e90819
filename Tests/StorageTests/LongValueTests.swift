// Values too long for a chunk: what they cost their neighbours, that every place that has values takes them, in the
// write that makes them, in later ones and in old snapshots, that nothing is left of them, and that damage hits them
// alone. Random operations on them are in EverythingTests.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct LongValueTests {
    struct Store {
        let folder = TemporaryDirectory()
        let faults = FaultInjection()
        let database: Database
        let snapshot: Snapshot
        let type: ObjectType
        let table: TableKey

        static let text = """
            Row {
                id: int key, text: string indexed, data: data?, any: mixed,
                texts: list<string?>, anys: list<mixed>, blobs: set<data>, notes: map<string>,
            }
            """

        init(rowGroupSize: Int = 480, memory: Bool = false) throws {
            var options =
                memory
                ? PageStoreOptions(location: .memory(identifier: nil)) : PageStoreOptions(path: folder.file("a.motte"))
            options.rowGroupSize = rowGroupSize
            options.faults = faults
            database = try Database.open(options)
            snapshot = try database.snapshot()
            _ = try database.reconcile(try SchemaText.parse(Self.text), on: snapshot)
            type = try snapshot.schema.type(named: "Row")
            table = try #require(type.tableKey)
        }

        func column(_ name: String) throws -> ColumnKey { try #require(type.property(named: name)?.columnKey) }

        func write(limit: Int = LongValues.standardLimit) throws -> WriteTransaction {
            let write = try database.beginWrite(on: snapshot)
            write.longValues.limit = limit
            return write
        }

        func set(_ write: WriteTransaction, _ name: String, _ key: Int64, _ value: Value) throws {
            let column = try column(name)
            try value.withView { view throws(DatabaseError) in
                try write.set(table, column, ObjectKey(key), to: view)
            }
        }

        func value(_ source: RowSource, _ name: String, _ key: Int64) throws -> Value {
            try source.table(table).value(try column(name), ObjectKey(key)).owned
        }

        /// The keys and sizes of all long values.
        func pages() throws -> [(key: [UInt8], size: Int)] {
            let cursor = try database.pages.snapshot().makeCursor()
            var found: [([UInt8], Int)] = []
            var isThere = try [KeySpace.longValues].withUnsafeBytes { try cursor.seek($0) }
            while isThere, cursor.key.first == KeySpace.longValues {
                found.append(([UInt8](cursor.key), cursor.value.bytes.count))
                isThere = try cursor.next()
            }
            return found
        }

        /// Rows 0 ..< count without values.
        func fill(_ count: Int) throws {
            let write = try write()
            for id in 0 ..< Int64(count) {
                try Value.int(id).withView { view throws(DatabaseError) in
                    _ = try write.create(table, primaryKey: view)
                }
            }
            try write.commit()
        }

        /// Commits changes of pages behind the engine's back.
        func damage(_ change: (PageSnapshot, inout PageBatch) throws -> Void) throws {
            let pages = database.pages
            let lock = try pages.lockForWriting(timeoutMilliseconds: 1_000)
            defer { lock.release() }
            let snapshot = try pages.snapshot()
            var batch = PageBatch()
            let version = Version(snapshot.version.rawValue + 1)
            try HistoryLog.append(ChangeRecorder(), version: version, over: snapshot, into: &batch)
            try change(snapshot, &batch)
            try pages.commit(batch, lock: lock, version: version)
        }
    }

    static func text(_ count: Int, _ letter: Character = "x") -> Value {
        .string(String(repeating: letter, count: count))
    }

    static func data(_ count: Int, _ salt: Int = 0) -> Value {
        .data((0 ..< count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ salt &+ $0 >> 8) })
    }

    // MARK: What they cost

    @Test func neighboursOfSixteenMegabytesAreCheapToChange() throws {
        let store = try Store()
        try store.fill(480)
        let big = Self.data(16_777_200)
        let filling = try store.write()
        for key in 0 ..< Int64(480) { try store.set(filling, "data", key, Self.data(20, Int(key))) }
        try store.set(filling, "data", 7, big)
        try filling.commit()
        #expect(try store.pages().map(\.size) == [16_777_200])

        let write = try store.write()
        try store.set(write, "data", 8, Self.data(21))
        let batch = try write.makeBatch(for: Version(write.version.rawValue + 1))
        #expect(batch.byteCount < 64_000)
        #expect(try store.value(write, "data", 7) == big)
        try write.commit()
        #expect(try store.value(store.snapshot, "data", 7) == big)
        #expect(try store.value(store.snapshot, "data", 8) == Self.data(21))
        #expect(try store.pages().count == 1)
        #expect(try store.snapshot.verify().problems == [])
    }

    @Test func theLongestShortValueAndTheShortestLongOne() throws {
        let store = try Store()
        try store.fill(2)
        let write = try store.write()
        try store.set(write, "text", 0, Self.text(LongValues.standardLimit))
        try write.commit()
        #expect(try store.pages().isEmpty)
        let longer = try store.write()
        try store.set(longer, "text", 0, Self.text(LongValues.standardLimit + 1))
        try longer.commit()
        #expect(try store.pages().map(\.size) == [LongValues.standardLimit + 1])
    }

    // MARK: Everywhere

    @Test(arguments: [3, 480], [true, false])
    func everyPlaceTakesThem(rowGroupSize: Int, memory: Bool) throws {
        let store = try Store(rowGroupSize: rowGroupSize, memory: memory)
        try store.fill(5)
        let key = ObjectKey(1)
        let texts = try store.column("texts"), anys = try store.column("anys")
        let blobs = try store.column("blobs"), notes = try store.column("notes")
        let longest = Value.string(String(repeating: "é", count: 8_388_599) + "x")
        let nested = Value.list([.map([MapEntry(key: "k", value: Self.text(9_000))]), Self.data(5_000)])
        let write = try store.write()
        try store.set(write, "text", 1, longest)
        try store.set(write, "any", 1, nested)
        try store.set(write, "any", 2, Self.text(70_000, "m"))
        try LongListTests.withViews([Self.text(6_000), .null, Self.text(4_001, "y")]) {
            try write.listInsert(store.table, texts, key, at: 0, $0)
        }
        try LongListTests.withViews([.int(1), nested]) { try write.listInsert(store.table, anys, key, at: 0, $0) }
        for salt in 0 ..< 3 {
            try Self.data(5_000, salt).withView { view throws(DatabaseError) in
                _ = try write.setInsert(store.table, blobs, key, view)
            }
        }
        try Array("k".utf8).withBytes { name throws(DatabaseError) in
            try Self.text(12_000).withView { view throws(DatabaseError) in
                _ = try write.mapPut(store.table, notes, key, name, view)
            }
        }
        let textColumn = try store.column("text")
        func check(_ source: RowSource, _ text: Value = longest) throws {
            let view = try source.table(store.table)
            #expect(try store.value(source, "text", 1) == text)
            #expect(try store.value(source, "any", 1) == nested)
            #expect(try store.value(source, "any", 2) == Self.text(70_000, "m"))
            #expect(try view.listElement(texts, key, 0).owned == Self.text(6_000))
            #expect(try view.listElement(texts, key, 1).owned == .null)
            #expect(try view.listElement(texts, key, 2).owned == Self.text(4_001, "y"))
            #expect(try view.listElement(anys, key, 1).owned == nested)
            for salt in 0 ..< 3 {
                try Self.data(5_000, salt).withView { data throws(DatabaseError) in
                    #expect(try view.setFind(blobs, key, data) != nil)
                }
            }
            #expect(try view.listElement(notes, key, 0).owned == Self.text(12_000))
            try text.withView { wanted throws(DatabaseError) in
                #expect(try view.indexCount(textColumn, equal: wanted) == 1)
            }
        }
        try check(write)
        try write.commit()
        try check(store.snapshot)
        #expect(try store.pages().count == 10)
        #expect(try store.snapshot.verify().problems == [])

        // Later writes read them, move them and replace one of them; who looks at the old version sees the old one.
        let old = try store.database.snapshot()
        let later = try store.write()
        try check(later)
        try store.set(later, "text", 1, .string("short"))
        try later.listMove(store.table, texts, key, from: 2, to: 0)
        try later.listMove(store.table, texts, key, from: 0, to: 2)
        try later.listSwap(store.table, texts, key, 0, 2)
        try later.listSwap(store.table, texts, key, 0, 2)
        try check(later, .string("short"))
        try later.commit()
        try check(store.snapshot, .string("short"))
        try check(old)
        #expect(try store.pages().count == 9)

        let last = try store.write()
        try last.delete(store.table, key)
        try store.set(last, "any", 2, .null)
        try last.commit()
        #expect(try store.pages().isEmpty)
        #expect(try store.snapshot.verify().problems == [])
        try check(old)
    }

    @Test func valuesAboveTheLimitAreRefused() throws {
        let store = try Store()
        try store.fill(1)
        let write = try store.write()
        for (name, value) in [
            ("data", Self.data(16_777_201)), ("text", Self.text(16_777_200)), ("any", Self.text(16_777_200)),
        ] {
            do {
                try store.set(write, name, 0, value)
                Issue.record("\(name) took a value that is too long")
            } catch let error as DatabaseError { #expect(error.code == .valueTooLarge) }
        }
        #expect(!write.hasChanges)
        write.cancel()
    }

    // MARK: Bulk

    @Test(arguments: [3, 480])
    func bulkLoadsAndTheirRowGroupsKeepThem(rowGroupSize: Int) throws {
        let store = try Store(rowGroupSize: rowGroupSize)
        let id = try store.column("id"), text = try store.column("text")
        let count = 2_000
        func value(_ row: Int) -> String { String(repeating: "\(row) ", count: row % 7 == 0 ? 200 : 2) }
        let write = try store.write(limit: 100)
        var heap: [UInt8] = []
        var offsets: [Int64] = [0]
        for row in 0 ..< count {
            heap += value(row).utf8
            offsets.append(Int64(heap.count))
        }
        let ids = (0 ..< count).map(Int64.init)
        _ = try heap.withUnsafeBytes { heap in
            try offsets.withUnsafeBufferPointer { offsets in
                try ids.withUnsafeBufferPointer { ids in
                    try write.insertColumns(
                        store.table, columns: [id, text],
                        sources: [
                            .ints(try #require(ids.baseAddress)),
                            .texts(try #require(heap.baseAddress), offsets: try #require(offsets.baseAddress)),
                        ], rowCount: count)
                }
            }
        }
        // Row groups that are encoded already are read and changed; a commit that fails loses nothing.
        #expect(try store.value(write, "text", 7) == .string(value(7)))
        try store.set(write, "text", 7, .string("seven"))
        try write.delete(store.table, ObjectKey(14))
        store.faults.failCommit(1)
        #expect(throws: DatabaseError.self) { try write.commit() }
        try store.set(write, "text", 21, Self.text(300))
        try write.commit()
        for row in 0 ..< count where row != 14 {
            let wanted: Value = row == 7 ? .string("seven") : row == 21 ? Self.text(300) : .string(value(row))
            #expect(try store.value(store.snapshot, "text", Int64(row)) == wanted)
        }
        #expect(try store.pages().count == (count + 6) / 7 - 2)
        #expect(try store.snapshot.verify().problems == [])

        let clearing = try store.write(limit: 100)
        try clearing.deleteAll(store.table)
        try Value.int(5_000).withView { view throws(DatabaseError) in
            _ = try clearing.create(store.table, primaryKey: view)
        }
        try store.set(clearing, "text", Int64(count), Self.text(400))
        try clearing.commit()
        #expect(try store.pages().map(\.size) == [400])
        #expect(try store.snapshot.verify().problems == [])
    }

    // MARK: Damage

    @Test func damageHitsOneValueAndIsNamed() throws {
        for kind in 0 ..< 3 {
            let store = try Store(rowGroupSize: 3)
            try store.fill(7)
            let write = try store.write()
            for key in 0 ..< Int64(7) {
                try store.set(write, "data", key, Self.data(5_000, Int(key)))
                try store.set(write, "any", key, Self.text(5_000))
            }
            try write.commit()
            let column = try store.column("data")
            try store.damage { snapshot, batch in
                let victim = try #require(
                    try store.pages().filter { $0.key[8] == UInt8(column.rawValue) }.dropFirst(4).first
                ).key
                switch kind {
                case 0:
                    var bytes = [UInt8](try #require(try snapshot.get(victim)).bytes)
                    bytes[4_321] ^= 0x10
                    batch.put(victim, bytes)
                case 1: batch.delete(victim)
                default:
                    var other = victim
                    other[other.count - 1] ^= 0x40
                    batch.put(other, Array(repeating: 1, count: 5_000))
                }
            }
            let after = try store.database.snapshot()
            let problems = try after.verify().problems
            if kind == 2 {
                #expect(problems == ["Row.data has 1 long values that belong to no object"])
                continue
            }
            let what = kind == 0 ? "a long value fails its checksum" : "a long value is missing"
            #expect(problems == ["Row.data of object 4: \(what)"])
            for key in 0 ..< Int64(7) where key != 4 {
                #expect(try store.value(after, "data", key) == Self.data(5_000, Int(key)))
            }
            #expect(throws: DatabaseError.self) { try store.value(after, "data", 4) }
            #expect(throws: DatabaseError.self) { try after.table(store.table).chunk(column, 1) }
            var salvaged: [Int64: Set<String>] = [:]
            let report = try DamagedFile(store.database).salvage { salvaged[$0.key] = Set($0.properties.map(\.name)) }
            #expect(report.losses == ["Row.data of object 4: \(what)"])
            #expect(salvaged.count == 7)
            #expect(salvaged[4]?.contains("data") == false && salvaged[4]?.contains("any") == true)
            // A write to a neighbour goes on, and replacing the value repairs the file.
            _ = try store.database.advance(store.snapshot)
            let repair = try store.write()
            try store.set(repair, "data", 3, Self.data(10))
            #expect(throws: DatabaseError.self) { try store.value(repair, "data", 4) }
            try repair.commit()
            #expect(try store.snapshot.verify().problems == ["Row.data of object 4: \(what)"])
        }
    }

    /// Whoever carries a chunk to a later version carries its long values too.
    @Test func aFollowerReadsThemInLaterVersions() throws {
        let store = try Store(rowGroupSize: 3)
        try store.fill(300)
        let write = try store.write(limit: 20)
        for key in 0 ..< Int64(300) { try store.set(write, "data", key, Self.data(60, Int(key))) }
        try write.commit()
        let follower = try store.database.snapshot()
        #expect(try store.value(follower, "data", 10) == Self.data(60, 10))
        for round in 0 ..< 20 {
            let write = try store.write(limit: 20)
            try store.set(write, "data", Int64(100 + round), Self.data(70, round))
            try write.commit()
            #expect(try store.database.advance(follower))
            // 9 and 11 lie in the chunk of 10, and nobody has looked at them yet.
            for key in [9, 10, 11, Int64(round)] {
                #expect(try store.value(follower, "data", key) == Self.data(60, Int(key)))
            }
            #expect(try store.value(follower, "data", Int64(100 + round)) == Self.data(70, round))
        }
    }
}
