/// Any bytes as a change record: an error, or a record all of which can be read and that folds into a summary. A sound
/// record is found out after any change of a byte, and under any other version.
///
/// Input: a byte (0x80: the checksum is left as it is), then the record.
import MotteStorage
import MotteValues

extension FuzzTarget {
    package static let changeRecord = FuzzTarget(
        name: "changeRecord", seeds: ChangeRecordFuzz.seeds, run: ChangeRecordFuzz.run)
}

enum ChangeRecordFuzz {
    private static let version = Version(77)

    @Sendable static func run(_ bytes: UnsafeRawBufferPointer) throws {
        var input = FuzzInput(bytes)
        let choice = input.byte()
        var record = Array(input.rest)
        if choice & 0x80 == 0 { seal(&record, version) }
        let decoded = try record.asBytes { bytes in
            try politely { try ChangeRecord(decoding: bytes, version: version) }
        }
        guard let decoded else { return }
        try read(decoded)
        for turn in 0 ..< 4 {
            let place = Int(truncatingIfNeeded: (bytes.hash >> (8 * UInt64(turn))) % UInt64(record.count))
            record[place] ^= 1 << UInt8(turn)
            try Finding.require(!opens(record, version), "a record with byte \(place) changed is not found out")
            record[place] ^= 1 << UInt8(turn)
        }
        try Finding.require(!opens(record, Version(78)), "a record of another version is not found out")
    }

    static func seal(_ record: inout [UInt8], _ version: Version) {
        while record.count < ChangeRecordFormat.headerSize { record.append(0) }
        record[0] = ChangeRecordFormat.kind
        record[1] = ChangeRecordFormat.format
        record.store(UInt32(truncatingIfNeeded: version.rawValue), at: 8)
        record.store(UInt32(truncatingIfNeeded: version.rawValue >> 32), at: 12)
        let crc = ChangeRecordFormat.pageKey(version).asBytes { key in
            record.asBytes { ChangeRecordFormat.checksum(of: $0, pageKey: key) }
        }
        record.store(crc, at: ChangeRecordFormat.checksumOffset)
    }

    private static func opens(_ record: [UInt8], _ version: Version) -> Bool {
        record.asBytes { bytes in
            do throws(DatabaseError) {
                _ = try ChangeRecord(decoding: bytes, version: version)
                return true
            } catch {
                return false
            }
        }
    }

    private static func read(_ record: ChangeRecord) throws {
        for table in record.tables {
            for column in table.columns { for index in column.keys.indices { _ = try column.values(index) } }
        }
        // Of itself and of itself twice, as if two commits had done the same.
        for records in [[record], [record, record]] {
            let summary = ChangeSummary(records, from: Version(75), to: version)
            for table in summary.tables {
                try Finding.require(
                    zip(table.modifiedKeys, table.modifiedKeys.dropFirst()).allSatisfy { $0 < $1 },
                    "modified keys do not ascend")
                for column in table.columns {
                    for key in column.keys.prefix(50) {
                        _ = try summary.oldValue(table.table, column.column, key)
                        _ = try summary.newValue(table.table, column.column, key)
                        _ = table.columns(modifying: key)
                    }
                }
                for list in table.lists { _ = table.list(list.column, list.owner) }
                for map in table.maps { _ = table.map(map.column, map.owner) }
                for nested in table.nested { _ = table.nested(nested.column, nested.owner) }
            }
        }
    }

    @Sendable static func seeds() throws -> [[UInt8]] {
        let (table, column) = (TableKey(1), ColumnKey(2))
        let recorder = ChangeRecorder()
        recorder.schemaChanged()
        recorder.inserted(table, first: ObjectKey(5), count: 3)
        recorder.inserted(TableKey(2), ObjectKey(1))
        recorder.deleted(table, ObjectKey(2))
        for value in [Value.int(4), .string("text"), .null, .list([.int(1)]), .data([1, 2])] {
            value.withView { recorder.modified(table, column, ObjectKey(1), old: .null, new: $0) }
        }
        recorder.listInserted(table, ColumnKey(3), ObjectKey(0), at: 0, count: 4)
        recorder.listRemoved(table, ColumnKey(3), ObjectKey(0), at: 1, count: 2)
        recorder.listSet(table, ColumnKey(3), ObjectKey(1), at: 1)
        recorder.listMoved(table, ColumnKey(3), ObjectKey(1), from: 1, to: 0)
        recorder.listCleared(table, ColumnKey(3), ObjectKey(4), count: 9)
        let whole = recorder.encode(version: version, previous: 5, wallTimeNanoseconds: 6, origin: .unknown)
        let empty = ChangeRecorder().encode(version: version, previous: 0, wallTimeNanoseconds: 0, origin: .unknown)
        return [[0] + whole, [0x80] + whole, [0] + empty] + stored()
    }

    /// Records that a store wrote, of maps and nested values too.
    private static func stored() -> [[UInt8]] {
        StoreContentFuzz.entries.filter { $0.key.first == ChangeRecordFormat.keySpace }.map { [0] + $0.value }
    }
}
