/// What leads back from a batch's last version to its first: for undo and redo, for an audit that shows what was there
/// before, for a copy that is to go back. A batch that was read between two versions which both can still be read
/// carries it along, in its last section; so turning it round needs no file.
///
/// What was turned round is a patch: its origin itself applies it, as a new write, at any time; a copy applies it when
/// it stands where the patch begins, and goes to where it ends.
import MotteValues

extension Database {
    /// What changed from one version to the other, with what leads back.
    package func changeBatch(from before: Snapshot, to snapshot: Snapshot) throws(DatabaseError) -> ChangeBatch {
        guard before.version <= snapshot.version else {
            throw DatabaseError(
                .invalidArgument,
                "version \(before.version.rawValue) is newer than \(snapshot.version.rawValue); read the batch the "
                    + "other way, and take its inverse")
        }
        guard before.catalog.changedIn == snapshot.catalog.changedIn else {
            throw DatabaseError(
                .schemaMismatch,
                "the schema was changed between versions \(before.version.rawValue) and \(snapshot.version.rawValue): "
                    + "that has no inverse; read the changes by the number of the version")
        }
        var reading = try ChangeBatchReading(snapshot, origin: try origin())
        return try reading.changes(try loggedChanges(from: before.version, to: snapshot), since: before)
    }
}

extension ChangeBatch {
    /// Whether it carries what leads back.
    package var isReversible: Bool {
        get throws(DatabaseError) {
            if isEmpty { return !isWhole }
            let parts = try parts()
            return parts.inverse != nil && !parts.changesSchema
        }
    }

    /// The batch that leads back, which in turn carries this one's changes.
    package func inverse() throws(DatabaseError) -> ChangeBatch {
        var header = Header(
            origin: origin, from: to, to: from, fromChecksum: toChecksum, toChecksum: fromChecksum, wallTime: 0,
            schemaChangedIn: schemaChangedIn)
        header.isPatch = !isDifference
        header.isDifference = isDifference
        if isEmpty, !isWhole { return try ChangeBatch(header.bytes(before: [], count: 0)) }
        let parts = try parts()
        guard let inverse = parts.inverse else {
            throw DatabaseError(
                .invalidArgument,
                "this batch does not say what was there before, so it has no inverse; read it from something frozen of "
                    + "the version before")
        }
        guard !parts.changesSchema else {
            throw DatabaseError(.schemaMismatch, "this batch changes the schema: that has no inverse")
        }
        let (wallTime, count, sections) = try Self.split(inverse: inverse)
        header.wallTime = wallTime
        var bytes = sections
        Self.append(
            inverse: parts.forward, count: Int(sectionCount) - 1, wallTime: wallTimeNanoseconds, to: &bytes)
        return try ChangeBatch(header.bytes(before: bytes, count: count + 1))
    }

    /// The last section, if it is what leads back, and the bytes of all before it.
    private func parts() throws(DatabaseError) -> (forward: [UInt8], inverse: [UInt8]?, changesSchema: Bool) {
        try bytes.withBytes { all throws(DatabaseError) in
            let sections = UnsafeRawBufferPointer(rebasing: all[ChangeBatchFormat.headerSize...])
            var reader = ChangeBatchReader(sections)
            var changesSchema = false
            while reader.remaining > 0 {
                let start = sections.count - reader.remaining
                let kind = try reader.byte()
                _ = try reader.byte()
                let body = try reader.content()
                if kind == ChangeBatchFormat.Section.schema.rawValue { changesSchema = true }
                guard kind == ChangeBatchFormat.Section.inverse.rawValue else { continue }
                guard reader.remaining == 0 else { throw ChangeBatch.damaged() }
                return ([UInt8](sections[..<start]), [UInt8](body), changesSchema)
            }
            return ([UInt8](sections), nil, changesSchema)
        }
    }

    private static func split(
        inverse: [UInt8]
    ) throws(DatabaseError) -> (wallTime: Int64, count: Int, sections: [UInt8]) {
        guard inverse.count >= 12 else { throw damaged() }
        return inverse.withUnsafeBytes { bytes in
            (
                Int64(littleEndian: bytes.loadUnaligned(as: Int64.self)),
                Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))),
                [UInt8](bytes[12...])
            )
        }
    }

    static func append(inverse sections: [UInt8], count: Int, wallTime: Int64, to bytes: inout [UInt8]) {
        var body: [UInt8] = []
        body.reserveCapacity(12 + sections.count)
        body.append(u64: UInt64(bitPattern: wallTime))
        body.append(u32: UInt32(truncatingIfNeeded: count))
        body.append(contentsOf: sections)
        ChangeBatchWriter.append(.inverse, body, to: &bytes)
    }
}

extension ChangeSummary {
    /// The changes that lead back. `before` shows the version that these begin at.
    func reversed(_ before: Snapshot) throws(DatabaseError) -> ChangeSummary {
        var reversed: [Table] = []
        for table in tables {
            guard before.catalog.table(table.table) != nil else { continue }
            let view = try before.table(table.table)
            var returning = KeyRuns()
            // Runs that delete everything of a class may be far longer than the class.
            for run in table.deleted.runs {
                for key in run.clamped(to: 0 ..< max(0, view.nextKey)) {
                    if try view.locate(ObjectKey(key)) != nil { returning.append(key ..< key + 1) }
                }
            }
            reversed.append(
                Table(
                    table: table.table, inserted: returning, deleted: table.inserted, columns: table.columns,
                    modifiedKeys: table.modifiedKeys,
                    lists: table.lists.map { list in
                        List(
                            column: list.column, owner: list.owner,
                            operations: list.operations.reversed().map(\.reversed))
                    },
                    maps: table.maps, nested: []))
        }
        return ChangeSummary(reversed, from: to, to: from)
    }
}

extension ChangeSummary {
    /// What it deletes are the objects that come again in what leads back.
    func deleting(only reversed: ChangeSummary) -> ChangeSummary {
        var returning: [TableKey: KeyRuns] = [:]
        for table in reversed.tables { returning[table.table] = table.inserted }
        let exact = tables.map { table in
            Table(
                table: table.table, inserted: table.inserted, deleted: returning[table.table] ?? KeyRuns(),
                columns: table.columns, modifiedKeys: table.modifiedKeys, lists: table.lists, maps: table.maps,
                nested: table.nested)
        }
        return ChangeSummary(exact, from: from, to: to)
    }
}

extension ListOperation {
    /// What it takes back.
    var reversed: ListOperation {
        switch kind {
        case .insert: .remove(at: index, count: count)
        case .remove: .insert(at: index, count: count)
        case .set: self
        case .move: .move(from: destination, to: index)
        case .clear: .insert(at: 0, count: count)
        }
    }
}
