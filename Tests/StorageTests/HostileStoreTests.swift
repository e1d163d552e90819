// Values that somebody put into a store, with checksums that fit: numbers that the rest of the file does not bear out.
// Reading, verifying, salvaging and writing is done or is an error, in little memory and time. Stores changed field by
// field at random are the business of the fuzz targets `storeContent` and `storeFields`.
import CMotteShim
import MotteColumns
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct HostileStoreTests {
    private let database: Database
    private let table: TableKey
    private let column: ColumnKey

    /// Eleven objects in row groups of three, the last two in the open row group; one of the second row group is
    /// deleted.
    init() throws {
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.rowGroupSize = 3
        database = try Database.open(options)
        let snapshot = try database.snapshot()
        _ = try database.reconcile(
            try SchemaText.parse("Row { number: int, list: list<int>, other: link<Row> }"), on: snapshot)
        let type = try snapshot.schema.type(named: "Row")
        table = try #require(type.tableKey)
        column = try #require(type.property(named: "number")?.columnKey)
        for count in [9, 2] {
            let write = try database.beginWrite(on: snapshot)
            for _ in 0 ..< count { _ = try write.create(table, primaryKey: nil) }
            if count == 9 { try write.delete(table, ObjectKey(4)) }
            _ = try write.commit()
        }
    }

    private func crc(_ parts: [[UInt8]]) -> UInt32 {
        parts.reduce(0) { crc, part in part.withUnsafeBytes { motte_shim_crc32c(crc, $0.baseAddress, $0.count) } }
    }

    private func bytes(_ number: UInt64, _ count: Int = 8) -> [UInt8] {
        (0 ..< count).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * $0)) }
    }

    private func value(_ key: [UInt8]) throws -> [UInt8] {
        [UInt8](try #require(try database.pages.snapshot().get(key)).bytes)
    }

    private func put(_ key: [UInt8], _ value: [UInt8]) throws {
        var batch = PageBatch()
        batch.put(key, value)
        let lock = try database.pages.lockForWriting(timeoutMilliseconds: 0)
        defer { lock.release() }
        try database.pages.commit(batch, lock: lock, version: Version(try database.latestVersion().rawValue + 1))
    }

    /// Values of all objects that a reader sees.
    private func read() throws -> [Int64] {
        let snapshot = try database.snapshot().copy()
        let view = try snapshot.table(table)
        var keys: [Int64] = []
        for rowGroup in 0 ..< view.rowGroupCount {
            let rows = try view.rowGroup(rowGroup)
            guard rows.liveCount > 0 else { continue }
            let chunk = try view.chunk(column, rowGroup)
            for key in rows.liveKeys {
                _ = chunk.view(Int(key - rows.firstKey)).owned
                keys.append(key)
            }
        }
        for key in 0 ..< min(view.nextKey, 100) { _ = try view.locate(ObjectKey(key)) }
        return keys
    }

    private func salvaged() throws -> (keys: [Int64], losses: [String]) {
        var keys: [Int64] = []
        let report = try DamagedFile(database).salvage { keys.append($0.key) }
        return (keys, report.losses)
    }

    /// `salvage`: the objects that are saved, with a note.
    private func requireDamage(_ what: String, _ salvage: [Int64]? = nil) throws {
        let error = try #require(throws: DatabaseError.self) { try read() }
        #expect(error.code == .corrupted && error.message.contains(what), "\(error)")
        let problems = try database.snapshot().verify().problems
        #expect(problems.contains { $0.contains(what) }, "\(problems)")
        guard let salvage else { return }
        let (keys, losses) = try salvaged()
        #expect(keys == salvage && losses.contains { $0.contains(what) }, "\(keys) \(losses)")
    }

    private let living: [Int64] = [0, 1, 2, 3, 5, 6, 7, 8, 9, 10]

    @Test func theStoreIsSound() throws {
        #expect(try read() == living)
        #expect(try database.snapshot().verify().problems == [])
        #expect(try salvaged().keys == living && salvaged().losses.isEmpty)
    }

    /// Found by the fuzz target `storeContent`: a query over such a link ended in an error of the library's own.
    @Test func aLinkToNoClassIsFoundInTheStoredSchema() throws {
        let stored = try value(PageKeys.catalog).withUnsafeBytes { try Catalog.decode($0) }
        var tables = stored.tables
        let slot = try #require(tables[0].columns.firstIndex { $0.isLink })
        tables[0].columns[slot].target = TableKey(tables[0].key.rawValue + 1)
        let changed = Catalog(
            schemaVersion: stored.schemaVersion, changedIn: stored.changedIn, nextTableKey: stored.nextTableKey + 1,
            nextIndexKey: stored.nextIndexKey, tables: tables)
        let error = #expect(throws: DatabaseError.self) {
            try changed.encoded().withUnsafeBytes { try Catalog.decode($0) }
        }
        #expect(error?.code == .corrupted && error?.message.contains("Row.other") == true)
    }

    // MARK: Live bitmaps

    @Test(
        arguments: [
            // Rows, live rows, words.
            ([0, 0], [0b111]), ([0, 0], []), ([1, 1], [1]), ([2, 0], []), ([4, 2], [0b101]), ([3, 2], [0b11_000]),
            ([3, 3], [1 << 63 | 0b11]), ([0xFFFF_FFFF, 2], [0b101]), ([3, 0xFFFF_FFFF], [0b101]), ([3, 2], []),
        ] as [([UInt64], [UInt64])])
    func aLiveBitmapIsOfAllRowsOfItsRowGroup(numbers: [UInt64], words: [UInt64]) throws {
        let key = PageKeys.liveBitmap(table, 1)
        let head = bytes(numbers[0], 4) + bytes(numbers[1], 4)
        let rest = bytes(0, 4) + words.flatMap { bytes($0) }
        try put(key, head + bytes(UInt64(crc([head, bytes(0, 4), rest, key])), 4) + rest)
        // One of fewer rows may be from before the others came, if it comes from an older page.
        guard numbers[0] < 3 else { return try requireDamage("live bitmap", Array(0 ... 10)) }
        try requireDamage("live bitmap")
        let dead: [Int64] = numbers[0] == 2 ? [3, 4] : []
        #expect(try salvaged().keys == (0 ... 10).filter { !dead.contains($0) })
    }

    // MARK: States

    /// With the numbers that are not given as they were.
    private func putState(live: Int64? = nil, next: Int64? = nil, openGroup: Int64? = nil, rows: UInt32? = nil) throws {
        let key = PageKeys.tableState(table)
        let old = try value(key)
        func number(_ place: Int) -> Int64 {
            old.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: place, as: Int64.self) }
        }
        let numbers = [live ?? number(0), next ?? number(8), openGroup ?? number(16), number(24)]
        let head = numbers.flatMap { bytes(UInt64(bitPattern: $0)) }
        let own = bytes(UInt64(rows ?? 0), 4)
        try put(key, head + bytes(UInt64(crc([head, own, key])), 4) + own)
    }

    @Test(arguments: [1 << 20, 1 << 32, 1 << 46, 1 << 48] as [Int64])
    func aTableHasNoMoreObjectsThanTheFileCanHold(next: Int64) throws {
        try putState(next: next, openGroup: next)
        try requireDamage("than the file can hold (table-3)", living)
        try putState(next: next)
        try requireDamage("state of table", living)
    }

    /// Objects without bytes of their own may be many: of a class whose properties are all younger.
    @Test func objectsWithoutValuesAreNotTooMany() {
        #expect(TableState.mostKeys(rowGroupSize: 1_904, entries: 10) > 60_000_000)
        #expect(TableState.mostKeys(rowGroupSize: 480, entries: 4_000_000) > 1_900_000_000)
        #expect(TableState.mostKeys(rowGroupSize: 65_536, entries: .max) == TableState.keyLimit)
        #expect(TableState.mostKeys(rowGroupSize: 1, entries: 0) == 65_536)
    }

    @Test func aStateThatCountsTooFewObjectsIsAnErrorOfTheDeletion() throws {
        try putState(live: 1)
        let snapshot = try database.snapshot()
        let write = try database.beginWrite(on: snapshot)
        try write.delete(table, ObjectKey(0))
        let error = try #require(throws: DatabaseError.self) { try write.delete(table, ObjectKey(1)) }
        #expect(error.code == .corrupted && error.message.contains("(table-1)"))
    }

    @Test(arguments: [1, 9, 11] as [Int64]) func statesThatMiscountAreAProblem(live: Int64) throws {
        try putState(live: live)
        let problems = try database.snapshot().verify().problems
        #expect(problems.contains { $0.contains("10") && $0.contains("\(live)") }, "\(problems)")
    }

    @Test func everyFlippedBitOfAOpenGroupsHeadIsFound() throws {
        let key = PageKeys.openGroup(table)
        let sound = try value(key)
        let columnCount = Int(sound[4])
        #expect(columnCount == 3)
        // The four bytes before the directory are zero and mean nothing.
        for place in Array(0 ..< 28) + Array(32 ..< 32 + 16 * columnCount) {
            var flipped = sound
            flipped[place] ^= 1 << (place % 8)
            try put(key, flipped)
            let error = #expect(throws: DatabaseError.self, "byte \(place)") { try read() }
            #expect(error?.code == .corrupted)
        }
        try put(key, sound)
        #expect(try read() == living)
    }

    @Test func aOpenGroupIsNoLongerThanARowGroup() throws {
        try putState(openGroup: 6)
        try requireDamage("an open row group larger than a row group", living)
    }

    // MARK: Numbers of tables, lists, index blocks and commits

    /// Nothing is reserved for the tables below it.
    @Test func tablesMayHaveAnyNumber() {
        var slots = TableSlots<Int>()
        let numbers: [UInt32] = [1, 4_095, 4_096, 1 << 30 - 1, .max]
        for number in numbers { slots[TableKey(number)] = Int(number) }
        for number in numbers { #expect(slots[TableKey(number)] == Int(number)) }
        #expect(slots.all == numbers.map(Int.init) && slots[TableKey(2)] == nil && slots[TableKey(5_000)] == nil)
        slots[TableKey(4_096)] = nil
        #expect(slots.all.count == 4)
        slots.removeAll()
        #expect(slots.all.isEmpty)
    }

    /// One of the first release, as a row of blocks, and one in a tree, with as many elements as can be written down.
    @Test(arguments: [0x8000_FFFF, 0xFFFF_FFFF] as [UInt64])
    func aListHasNoMoreElementsThanTheFileCanHold(length: UInt64) throws {
        let snapshot = try database.snapshot()
        let listColumn = try #require(try snapshot.schema.type(named: "Row").property(named: "list")?.columnKey)
        let key = PageKeys.chunk(table, listColumn, 0)
        let inner = ListChunkBuilder(elementKind: .int, nullable: false, capacity: 0)
        // The elements of no list.
        let none = Array(key.withUnsafeBytes { inner.encode(key: $0) }.dropFirst(16))
        let payload = bytes(length, 4) + bytes(0, 4) + bytes(0, 8) + none
        let head: [UInt8] = [0x42, 0, 0, 0] + bytes(3, 4) + bytes(UInt64(payload.count), 4)
        try put(key, head + bytes(UInt64(crc([head, payload, key])), 4) + payload)
        // A leaf where the root of its tree belongs.
        let leaf = ChunkBuilder(kind: .int, nullable: false, capacity: 512)
        for _ in 0 ..< 512 { leaf.append(.int(1)) }
        let place = PageKeys.longList(table, listColumn, ObjectKey(0), 0)
        try put(place, place.withUnsafeBytes { leaf.encode(key: $0) })

        let view = try database.snapshot().copy().table(table)
        for read in [
            { _ = try view.listCount(listColumn, ObjectKey(0)) },
            { _ = try view.listElement(listColumn, ObjectKey(0), 0) },
            { try view.listValues(listColumn, ObjectKey(0)) { _, _ in } },
        ] {
            let error = try #require(throws: DatabaseError.self) { try read() }
            #expect(error.code == .corrupted && error.message.contains("more elements than the file can hold"))
        }
        #expect(try database.snapshot().verify().problems.contains { $0.contains("more elements than") })
        #expect(try !salvaged().losses.isEmpty)
    }

    /// Elements may take no bytes at all.
    @Test func aShortListIsShort() throws {
        let key = Array("key".utf8)
        let elements = ChunkBuilder(kind: .int, nullable: false, capacity: 2_000)
        for _ in 0 ..< 2_000 { elements.append(.int(1)) }
        let none = key.withUnsafeBytes { elements.encode(key: $0) }
        for (length, isSound) in [(UInt64(2_000), false), (1_024, false)] {
            let payload = bytes(length, 4) + bytes(0, 4) + none
            let head: [UInt8] = [0x42, 0, 0, 0] + bytes(1, 4) + bytes(UInt64(payload.count), 4)
            let chunk = head + bytes(UInt64(crc([head, payload, key])), 4) + payload
            let error = #expect(throws: DatabaseError.self) {
                try chunk.withUnsafeBytes { chunk in
                    _ = try key.withUnsafeBytes { try ListChunk(validating: chunk, elementKind: .int, key: $0) }
                }
            }
            #expect(error?.message.contains(length == 2_000 ? "too long for it" : "miscounts") == !isSound)
        }
    }

    @Test func anIndexBlockRepeatsNoEntryMoreOftenThanTheFileCanHold() throws {
        let index = try #require(
            try database.snapshot().catalog.tables.first?.columns.first { $0.isLink }?.index)
        let space = IndexSpace.values(index)
        let key = space.pageKey(.lowest)
        var block: [UInt8] = [0x49, 1, 0, 0] + bytes(0xFFFF_FFFF, 4)
        block += bytes(0) + bytes(7) + bytes(1) + bytes(0)
        block.withUnsafeMutableBytes { IndexBlock.seal($0, key) }
        try put(key, block)
        let snapshot = try database.snapshot().copy()
        let view = try snapshot.indexView(index)
        #expect(throws: DatabaseError.self) { _ = try view.count() }
        #expect(throws: DatabaseError.self) { _ = try view.makeWalk().next() }
        #expect(try snapshot.verify().problems.contains { $0.contains("more often than the file can hold") })
        let write = try database.beginWrite(on: snapshot)
        let key1 = try write.create(table, primaryKey: nil)
        let other = try #require(try snapshot.schema.type(named: "Row").property(named: "other")?.columnKey)
        try Value.link(ObjectLink(table: table, key: key1)).withView { view throws(DatabaseError) in
            try write.set(table, other, key1, to: view)
        }
        #expect(throws: DatabaseError.self) { _ = try write.commit() }
    }

    @Test func theChangeLogTellsOfNoObjectsThatNeverWere() throws {
        let snapshot = try database.snapshot()
        let (from, to) = (snapshot.version, Version(snapshot.version.rawValue + 1))
        let changes = ChangeRecorder()
        changes.inserted(table, first: ObjectKey(11), count: 1 << 60)
        var batch = PageBatch()
        try HistoryLog.append(changes, version: to, over: snapshot.pages, into: &batch)
        let lock = try database.pages.lockForWriting(timeoutMilliseconds: 0)
        try database.pages.commit(batch, lock: lock, version: to)
        lock.release()
        let newest = try database.snapshot().copy()
        let error = try #require(throws: DatabaseError.self) { _ = try database.changes(from: from, to: newest) }
        #expect(error.code == .corrupted && error.message.contains("that never were"))
        #expect(throws: DatabaseError.self) { _ = try database.advance(snapshot) }
    }

    @Test func aRecordOfTheEmptyFileIsAProblem() throws {
        try put(ChangeRecordFormat.pageKey(Version(0)), [1, 2, 3])
        #expect(try database.snapshot().verify().problems.contains { $0.contains("a record of version 0") })
    }

    @Test func aLongListOfTheHighestKeyEndsTheWalk() throws {
        let listColumn = try #require(
            try database.snapshot().schema.type(named: "Row").property(named: "list")?.columnKey)
        try put(PageKeys.longList(table, listColumn, ObjectKey(-1), 0), [1, 2, 3])
        #expect(try database.snapshot().verify().problems.contains { $0.contains("long list of object -1") })
    }
}
