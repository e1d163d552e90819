/// The bytes of a change record: the reverse of decoding one.
import MotteValues

extension ChangeRecord {
    func encoded() -> (bytes: [UInt8], checksum: UInt32) {
        var sections = SectionWriter(header)
        if schemaChanged { sections.add(.schema) { if breaksSchema { $0.append(1) } } }
        for table in tables { table.write(to: &sections) }
        if !replicaPages.isEmpty {
            sections.add(.replicas) { bytes in
                bytes.append(varint: replicaPages.count)
                for key in replicaPages {
                    bytes.append(varint: key.count)
                    bytes.append(contentsOf: key)
                }
            }
        }
        var bytes = sections.bytes
        bytes.store(u32: UInt32(sections.count), at: ChangeRecordFormat.sectionCountOffset)
        let checksum = ChangeRecordFormat.pageKey(version).withUnsafeBytes { key in
            bytes.withUnsafeBytes { ChangeRecordFormat.checksum(of: $0, pageKey: key) }
        }
        bytes.store(u32: checksum, at: ChangeRecordFormat.checksumOffset)
        return (bytes, checksum)
    }

    /// With zeros for what is known when the sections are written.
    private var header: [UInt8] {
        var bytes: [UInt8] = []
        // One allocation for the record of a small commit.
        bytes.reserveCapacity(4 * ChangeRecordFormat.headerSize)
        bytes.append(ChangeRecordFormat.kind)
        bytes.append(ChangeRecordFormat.format)
        bytes.append(u16: 0)
        bytes.append(u32: 0)
        bytes.append(u64: version.rawValue)
        bytes.append(u32: previous)
        bytes.append(u32: 0)
        bytes.append(u64: UInt64(bitPattern: wallTimeNanoseconds))
        bytes.append(u64: origin.high)
        bytes.append(u64: origin.low)
        assert(bytes.count == ChangeRecordFormat.headerSize)
        return bytes
    }
}

extension ChangeRecord.Table {
    fileprivate func write(to sections: inout SectionWriter) {
        write(.inserted, inserted, to: &sections)
        write(.deleted, deleted, to: &sections)
        for column in columns { write(column, to: &sections) }
        write(.lists, lists, \.name, to: &sections) { list, bytes in
            bytes.append(varint: list.operations.count)
            for operation in list.operations {
                bytes.append(operation.kind.rawValue)
                bytes.append(varint: operation.index)
                bytes.append(varint: operation.kind == .move ? operation.destination : operation.count)
            }
        }
        write(.maps, maps, \.name, to: &sections) { map, bytes in
            bytes.append(varint: map.changes.count)
            for change in map.changes {
                bytes.append(change.kind.rawValue)
                bytes.append(varint: change.key.count)
                bytes.append(contentsOf: change.key)
            }
        }
        write(.nested, nested, \.name, to: &sections) { nested, bytes in
            bytes.append(varint: nested.operations.count)
            for operation in nested.operations { operation.write(to: &bytes) }
        }
    }

    private func write(_ section: ChangeRecordFormat.Section, _ keys: KeyRuns, to sections: inout SectionWriter) {
        guard !keys.isEmpty else { return }
        sections.add(section) { bytes in
            bytes.append(u32: table.rawValue)
            bytes.append(varint: keys.runs.count)
            var end: Int64 = 0
            for run in keys.runs {
                bytes.append(varint: UInt64(run.lowerBound - end))
                bytes.append(varint: UInt64(run.upperBound - run.lowerBound))
                end = run.upperBound
            }
        }
    }

    private func write(_ changes: ChangeRecord.Column, to sections: inout SectionWriter) {
        sections.add(.modified) { bytes in
            bytes.append(u32: table.rawValue)
            bytes.append(u32: changes.column.rawValue)
            bytes.append(changes.hasImages ? 1 : 0)
            bytes.append(varint: changes.keys.count)
            var next: Int64 = 0
            for key in changes.keys {
                bytes.append(varint: UInt64(key - next))
                next = key + 1
            }
            bytes.append(contentsOf: changes.images)
        }
    }

    /// One section for each column of `changes`, which ascend by column and owner.
    private func write<Changes>(
        _ section: ChangeRecordFormat.Section, _ changes: [Changes],
        _ name: (Changes) -> (column: ColumnKey, owner: Int64), to sections: inout SectionWriter,
        _ body: (Changes, inout [UInt8]) -> Void
    ) {
        var rest = changes[...]
        while let first = rest.first {
            let column = name(first).column
            let part = rest.prefix { name($0).column == column }
            rest = rest[part.endIndex...]
            sections.add(section) { bytes in
                bytes.append(u32: table.rawValue)
                bytes.append(u32: column.rawValue)
                bytes.append(varint: part.count)
                var next: Int64 = 0
                for change in part {
                    let owner = name(change).owner
                    bytes.append(varint: UInt64(owner - next))
                    next = owner + 1
                    body(change, &bytes)
                }
            }
        }
    }
}

extension ChangeRecord.List {
    fileprivate var name: (column: ColumnKey, owner: Int64) { (column, owner) }
}

extension ChangeRecord.Map {
    fileprivate var name: (column: ColumnKey, owner: Int64) { (column, owner) }
}

extension ChangeRecord.Nested {
    fileprivate var name: (column: ColumnKey, owner: Int64) { (column, owner) }
}

/// Appends sections and fills in their lengths.
private struct SectionWriter {
    private(set) var bytes: [UInt8]
    private(set) var count = 0

    init(_ header: [UInt8]) { bytes = header }

    mutating func add(_ section: ChangeRecordFormat.Section, _ body: (inout [UInt8]) -> Void) {
        bytes.append(u16: section.rawValue)
        bytes.append(u16: 0)
        let lengthOffset = bytes.count
        bytes.append(u32: 0)
        body(&bytes)
        bytes.store(u32: UInt32(truncatingIfNeeded: bytes.count - lengthOffset - 4), at: lengthOffset)
        count += 1
    }
}
