// Change records and their folding: random transactions beside a naive model of them, the log in a store, damage.
import MottePages
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct HistoryTests {
    static let tables = [TableKey(1), TableKey(2), TableKey(9)]
    static let columns = [ColumnKey(1), ColumnKey(2), ColumnKey(70)]

    private func decode(_ bytes: [UInt8], _ version: UInt64) throws -> ChangeRecord {
        try bytes.withUnsafeBytes { try ChangeRecord(decoding: $0, version: Version(version)) }
    }

    private func encode(_ recorder: ChangeRecorder, _ version: UInt64 = 1) -> [UInt8] {
        recorder.encode(version: Version(version), previous: 0, wallTimeNanoseconds: 5, origin: .unknown)
    }

    // MARK: One record

    @Test func whatIsRecordedIsWhatIsReadBack() throws {
        try PropertyTest.run(rounds: 60) { random, comment in
            var model = HistoryModel()
            for version in 1 ... UInt64(1 + random.below(5)) {
                let recorder = model.transaction(&random, steps: random.below(60), keepingSchema: random.chance(80))
                let (record, bytes) = recorder.record(
                    version: Version(version), previous: 7, wallTimeNanoseconds: 5,
                    origin: ChangeOrigin(high: 1, low: 2))
                let readBack = try decode(bytes, version)
                #expect(readBack == record, "\(comment)")
                #expect(record.byteCount == bytes.count, "\(comment)")
            }
        }
    }

    @Test func recentChangesCountOnlyWhereTheyAreThoseOfTheFile() throws {
        let recent = RecentChanges()
        var last: UInt32 = 0
        var records: [ChangeRecord] = []
        for version in 1 ... 100 as ClosedRange<UInt64> {
            let recorder = ChangeRecorder()
            recorder.inserted(TableKey(1), ObjectKey(Int64(version)))
            let record = recorder.record(
                version: Version(version), previous: last, wallTimeNanoseconds: 5, origin: .unknown
            ).record
            // 50 is another process's.
            if version != 50 { recent.note(record) }
            records.append(record)
            last = record.checksum
        }
        func keys(_ from: UInt64, _ to: UInt64, checksum: UInt32? = nil) -> [Int64]? {
            recent.summary(
                from: Version(from), to: Version(to), checksum: checksum ?? records[Int(to) - 1].checksum)?
                .table(TableKey(1))?.inserted.keys
        }
        #expect(keys(99, 100) == [100])
        #expect(keys(50, 100) == Array(51 ... 100))
        #expect(keys(49, 100) == nil)
        #expect(keys(48, 49) == [49])
        #expect(keys(49, 50) == nil)
        #expect(keys(98, 99, checksum: 1) == nil)
        #expect(keys(99, 99) == nil)
        #expect(keys(100, 99) == nil)
        // No more than the last ones.
        #expect(keys(10, 11) == nil)
    }

    @Test func largeRecordsAreKeptForTheFirstWhoAsks() throws {
        let recent = RecentChanges()
        func note(_ version: UInt64) -> ChangeRecord {
            let recorder = ChangeRecorder()
            for key in 0 ..< 50_000 {
                recorder.modified(TableKey(1), ColumnKey(1), ObjectKey(Int64(key)), old: .int(1), new: .int(2))
            }
            let record = recorder.record(
                version: Version(version), previous: 0, wallTimeNanoseconds: 5, origin: .unknown
            ).record
            recent.note(record)
            return record
        }
        func isKnown(_ record: ChangeRecord) -> Bool {
            recent.summary(
                from: Version(record.version.rawValue - 1), to: record.version, checksum: record.checksum) != nil
        }
        let unobserved = note(1)
        #expect(!isKnown(unobserved))
        recent.follow()
        let observed = note(2)
        #expect(isKnown(observed))
        #expect(!isKnown(observed))
        recent.unfollow()
        let later = note(3)
        #expect(!isKnown(later))
    }

    @Test func keepsTheNetEffect() throws {
        let recorder = ChangeRecorder()
        let table = TableKey(3), column = ColumnKey(4)
        recorder.modified(table, column, ObjectKey(9), old: .int(1), new: .int(2))
        recorder.modified(table, column, ObjectKey(4), old: .int(10), new: .null)
        recorder.modified(table, column, ObjectKey(9), old: .int(2), new: .int(3))
        recorder.modified(table, column, ObjectKey(5), old: .int(0), new: .int(1))
        recorder.inserted(table, first: ObjectKey(20), count: 1_000_000)
        recorder.modified(table, column, ObjectKey(30), old: .int(0), new: .int(1))
        recorder.listInserted(table, column, ObjectKey(31), at: 0, count: 4)
        recorder.deleted(table, ObjectKey(25))
        recorder.deleted(table, ObjectKey(5))
        for index in 0 ..< 100 { recorder.listInserted(table, ColumnKey(5), ObjectKey(6), at: index, count: 1) }
        recorder.listMoved(table, ColumnKey(5), ObjectKey(6), from: 3, to: 9)
        let bytes = encode(recorder, 7)
        #expect(bytes.count < 200)
        let record = try decode(bytes, 7)
        #expect(record.tables.count == 1 && !record.schemaChanged)
        let change = record.tables[0]
        #expect(change.inserted.runs == [20 ..< 25, 26 ..< 1_000_020])
        #expect(change.deleted.keys == [5])
        #expect(change.columns.count == 1 && change.columns[0].keys == [4, 9])
        let values = try change.columns[0].values(1)
        #expect(values?.before == .whole(.int(1)) && values?.after == .whole(.int(3)))
        #expect(try change.columns[0].values(0)?.after == .whole(.null))
        #expect(change.lists.count == 1)
        #expect(change.lists[0].operations == [.insert(at: 0, count: 100), .move(from: 3, to: 9)])
    }

    @Test func valuesOfAllKindsComeBack() throws {
        let long = String(repeating: "x", count: 65)
        let values: [Value] = [
            .null, .bool(true), .int(.min), .int(.max), .float(-0.5), .double(.pi), .string("Zürich"), .string(""),
            .data([0, 255]), .timestamp(Timestamp(seconds: -9, nanoseconds: 999_999_999)),
            .link(ObjectLink(table: TableKey(4), key: ObjectKey(1 << 40))), .string(long),
        ]
        let recorder = ChangeRecorder()
        for (key, value) in values.enumerated() {
            value.withView { recorder.modified(TableKey(1), ColumnKey(1), ObjectKey(Int64(key)), old: $0, new: $0) }
        }
        let record = try decode(encode(recorder), 1)
        for (key, value) in values.enumerated() {
            let found = try record.tables[0].columns[0].values(key)
            #expect(found?.after == .whole(value))
            guard value == .string(long) else {
                #expect(found?.before == .whole(value))
                continue
            }
            let hash = long.withUTF8Bytes { IndexHash.hash($0) }
            #expect(found?.before == .abbreviated(kind: .string, byteCount: 65, hash: hash))
        }
    }

    @Test func imagesCanBeLeftOut() throws {
        var policy = ChangeLogPolicy()
        policy.keepsImages = false
        let recorder = ChangeRecorder(policy: policy)
        for key in [3, 3, 1] as [Int64] {
            recorder.modified(TableKey(1), ColumnKey(1), ObjectKey(key), old: .null, new: .null)
        }
        let column = try decode(encode(recorder), 1).tables[0].columns[0]
        #expect(column.keys == [1, 3] && !column.hasImages)
        #expect(try column.values(0) == nil)
    }

    @Test func aPropertyOfManyObjectsKeepsNoValues() throws {
        var policy = ChangeLogPolicy()
        policy.mostImages = 3
        let recorder = ChangeRecorder(policy: policy)
        for key in [1, 2, 3, 3, 4, 5, 5] as [Int64] {
            recorder.modified(TableKey(1), ColumnKey(1), ObjectKey(key), old: .int(0), new: .int(key))
            if key < 4 { recorder.modified(TableKey(1), ColumnKey(2), ObjectKey(key), old: .int(0), new: .int(key)) }
            try recorder.checkInvariants()
        }
        let columns = try decode(encode(recorder), 1).tables[0].columns
        #expect(columns.map(\.keys) == [[1, 2, 3, 4, 5], [1, 2, 3]])
        #expect(columns.map(\.hasImages) == [false, true])
        #expect(try columns[0].values(0) == nil)
        #expect(try columns[1].values(2)?.after == .whole(.int(3)))
    }

    @Test func listEditsJoin() {
        func joined(_ first: ListOperation, _ rest: ListOperation...) -> ListOperation? {
            var operation = first
            return rest.allSatisfy { operation.absorb($0) } ? operation : nil
        }
        #expect(joined(.remove(at: 5), .remove(at: 5), .remove(at: 4)) == .remove(at: 4, count: 3))
        #expect(joined(.remove(at: 5), .insert(at: 5)) == nil)
        #expect(joined(.insert(at: 2, count: 2), .insert(at: 3)) == .insert(at: 2, count: 3))
        #expect(joined(.insert(at: 2, count: 2), .insert(at: 5)) == nil)
        #expect(joined(.set(at: 2), .set(at: 3), .set(at: 2)) == .set(at: 2, count: 2))
        #expect(joined(.move(from: 2, to: 3), .move(from: 2, to: 3)) == nil)
    }

    // MARK: Damage

    private func sampleRecord() -> [UInt8] {
        var random = SeededRandom(seed: 11)
        var model = HistoryModel()
        _ = model.transaction(&random, steps: 300, keepingSchema: true)
        return encode(model.transaction(&random, steps: 60, keepingSchema: false))
    }

    @Test func everyFlippedBitIsFound() throws {
        let bytes = sampleRecord()
        _ = try decode(bytes, 1)
        for position in bytes.indices {
            var damaged = bytes
            damaged[position] ^= 1 << UInt8(position % 8)
            #expect(throws: DatabaseError.self) { try decode(damaged, 1) }
        }
        for length in 0 ..< bytes.count {
            #expect(throws: DatabaseError.self) { try decode(Array(bytes[..<length]), 1) }
        }
        #expect(throws: DatabaseError.self) { try decode(bytes, 2) }
    }

    /// With a checksum that fits, decoding must still only ever throw.
    @Test func anyBytesWithAGoodChecksumAreSafe() throws {
        let sample = sampleRecord()
        try PropertyTest.run(rounds: 3_000) { random, comment in
            var bytes = sample
            for _ in 0 ..< 1 + random.below(4) {
                let position = ChangeRecordFormat.headerSize + random.below(bytes.count - ChangeRecordFormat.headerSize)
                switch random.below(3) {
                case 0: bytes[position] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes[position] = random.pick([0, 0xFF, 0x80, 0x7F])
                default: bytes.removeSubrange(position ..< min(bytes.count, position + 1 + random.below(3)))
                }
                if bytes.count <= ChangeRecordFormat.headerSize { return }
            }
            let crc = bytes.withUnsafeBytes { bytes in
                ChangeRecordFormat.pageKey(Version(1)).withUnsafeBytes {
                    ChangeRecordFormat.checksum(of: bytes, pageKey: $0)
                }
            }
            bytes.store(u32: crc, at: ChangeRecordFormat.checksumOffset)
            guard let record = try? decode(bytes, 1) else { return }
            let summary = ChangeSummary([record], from: Version(0), to: Version(1))
            #expect(summary.records.count == 1, "\(comment)")
        }
    }

    @Test func unknownOptionalSectionsArePassedOver() throws {
        for flags in [0, 1] as [UInt8] {
            let recorder = ChangeRecorder()
            recorder.inserted(TableKey(1), ObjectKey(4))
            var bytes = encode(recorder)
            bytes += [200, 0, flags, 0, 3, 0, 0, 0, 1, 2, 3]
            bytes.store(u32: 2, at: 4)
            let crc = bytes.withUnsafeBytes { bytes in
                ChangeRecordFormat.pageKey(Version(1)).withUnsafeBytes {
                    ChangeRecordFormat.checksum(of: bytes, pageKey: $0)
                }
            }
            bytes.store(u32: crc, at: ChangeRecordFormat.checksumOffset)
            if flags == 1 {
                #expect(try decode(bytes, 1).tables[0].inserted.keys == [4])
            } else {
                let error = #expect(throws: DatabaseError.self) { try decode(bytes, 1) }
                #expect(error?.code == .unsupportedFormat)
            }
        }
    }

    // MARK: The log in a store

    @Test func foldsLikeANaiveAccount() throws {
        try PropertyTest.run(rounds: 25) { random, comment in
            let store = try IndexTestStore()
            var model = HistoryModel()
            let commits = 1 + random.below(12)
            var starts = [model.state]
            for _ in 0 ..< commits {
                let recorder = model.transaction(&random, steps: random.below(40), keepingSchema: random.chance(90))
                try store.commit {
                    try HistoryLog.append(recorder, version: store.nextVersion, over: store.pages, into: &$0)
                }
                starts.append(model.state)
            }
            let last = Int(store.pages.version.rawValue), first = last - commits
            for _ in 0 ..< 6 {
                let from = random.below(commits + 1)
                let to = from + random.below(commits + 1 - from)
                let summary = try HistoryLog.changes(
                    from: Version(UInt64(first + from)), to: Version(UInt64(first + to)), snapshot: store.pages)
                guard let summary else {
                    Issue.record("records are missing; \(comment)")
                    continue
                }
                try model.check(summary, starts[from], starts[to], commits: from ..< to, comment)
            }
            #expect(
                try HistoryLog.changes(from: store.pages.version, to: store.nextVersion, snapshot: store.pages) == nil)
        }
    }

    @Test func trimmedRangesAreNil() throws {
        let store = try IndexTestStore()
        func commit(_ key: Int64, observed: Version?, large: Bool = false) throws {
            let recorder = ChangeRecorder()
            recorder.inserted(TableKey(1), ObjectKey(key * 2))
            try store.commit {
                let size = try HistoryLog.append(
                    recorder, version: store.nextVersion, over: store.pages, into: &$0
                ).byteCount
                if HistoryLog.isTrimDue(store.nextVersion, recordBytes: large ? 1 << 20 : size) {
                    try HistoryLog.trim(observed: observed, kept: KeptChanges(), over: store.pages, into: &$0)
                }
            }
        }
        for key in 0 ..< 63 { try commit(Int64(key), observed: Version(40)) }
        #expect(try HistoryLog.oldestVersion(in: store.pages) == Version(1))
        try commit(63, observed: Version(40))
        #expect(try HistoryLog.oldestVersion(in: store.pages) == Version(41))
        #expect(try HistoryLog.changes(from: Version(39), to: Version(64), snapshot: store.pages) == nil)
        let rest = try HistoryLog.changes(from: Version(40), to: Version(64), snapshot: store.pages)
        #expect(rest?.table(TableKey(1))?.inserted.count == 24)
        try commit(64, observed: nil, large: true)
        #expect(try HistoryLog.oldestVersion(in: store.pages) == Version(64))
        #expect(try HistoryLog.changes(from: Version(64), to: Version(65), snapshot: store.pages)?.tables.count == 1)
        #expect(try HistoryLog.changes(from: Version(65), to: Version(65), snapshot: store.pages)?.isEmpty == true)
    }

    @Test func aForeignRecordIsFound() throws {
        let store = try IndexTestStore()
        for version in 1 ... 3 as ClosedRange<UInt64> {
            let recorder = ChangeRecorder()
            recorder.deleted(TableKey(1), ObjectKey(Int64(version)))
            try store.commit { batch in
                if version == 2 {
                    batch.put(ChangeRecordFormat.pageKey(Version(2)), encode(recorder, 2))
                } else {
                    try HistoryLog.append(recorder, version: store.nextVersion, over: store.pages, into: &batch)
                }
            }
        }
        #expect(throws: DatabaseError.self) {
            try HistoryLog.changes(from: Version(0), to: Version(3), snapshot: store.pages)
        }
        #expect(try HistoryLog.changes(from: Version(1), to: Version(3), snapshot: store.pages)?.tables.count == 1)
    }
}
