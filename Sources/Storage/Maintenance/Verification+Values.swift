/// The values of one column of one row group: each by itself, in its collection, and as entries for the column's
/// indexes.
import MotteColumns
import MotteSchemaModel
import MotteValues

/// What the rows of a column say that the indexes must hold which it has by itself.
struct RowEntries {
    private let values: EntryCheck?
    private let links: EntryCheck?
    /// Those that are not settled.
    private var indexes: [(index: IndexKey, rows: EntryCheck, what: String)]
    /// The long values that rows refer to.
    private(set) var longValues: Set<LongTextReference> = []

    init(_ column: StoredColumn) {
        values = column.index.map { _ in EntryCheck(column.entryForm) }
        links = column.linkIndex.map { _ in EntryCheck(StoredColumn.linkForm) }
        var indexes: [(IndexKey, EntryCheck, String)] = []
        if let index = column.index, let values { indexes.append((index, values, "index")) }
        if let index = column.linkIndex, let links { indexes.append((index, links, "index of links")) }
        self.indexes = indexes
    }

    func add(_ value: ValueView, _ key: Int64) {
        values?.add(value, key)
        links?.add(value, key)
    }

    /// False where another row refers to it too.
    mutating func add(_ reference: LongTextReference) -> Bool { longValues.insert(reference).inserted }

    /// Of those for which that answers true the rows are to come again.
    mutating func settle(_ isUnclear: (IndexKey, EntryCheck, String) -> Bool) -> Bool {
        indexes = indexes.filter { isUnclear($0.index, $0.rows, $0.what) }
        return indexes.isEmpty
    }
}

extension VerificationWalk {
    mutating func check(
        _ view: TableView, _ slot: Int, _ rowGroup: Int, _ entries: inout RowEntries
    ) throws(DatabaseError) {
        let rows = try view.rowGroup(rowGroup)
        let column = view.layout.columns[slot]
        guard rows.liveCount > 0 else {
            if rowGroup < view.directory.regularCount, try source.hasChunk(view.key, column.key, rowGroup) {
                note("a row group of \(view.type.name) without objects still has values of \(column.name) (C3)")
            }
            return
        }
        report.chunks += 1
        try checkDeadRows(view, slot, rowGroup, rows)
        guard column.collection == .none else {
            for key in rows.liveKeys {
                letGo()
                try checkCollection(view, slot, key, &entries)
            }
            return
        }
        let chunk = try view.directory.chunk(slot, rowGroup)
        if !chunk.hasSoundFrame {
            note(
                "values of \(view.type.name).\(column.name) from object \(rows.firstKey) on lie below what scans take "
                    + "for the lowest, and are not found")
        }
        for key in rows.liveKeys {
            let row = Int(key - rows.firstKey)
            if let reference = chunk.longReference(row) {
                if !entries.add(reference) { note("\(place(view, slot, key)) shares its long value with another") }
                do throws(DatabaseError) { try chunk.checkLongText(row) } catch {
                    note("\(place(view, slot, key)): \(error.damage)")
                    continue
                }
            }
            let value = chunk.view(row)
            if value.isNull, !column.isNullable { note("\(place(view, slot, key)) is null and must not be") }
            try check(value, view, slot, key)
            entries.add(value, key)
        }
    }

    /// Scans read chunks whole: rows that are dead refer to nothing.
    private mutating func checkDeadRows(
        _ view: TableView, _ slot: Int, _ rowGroup: Int, _ rows: RowGroupView
    ) throws(DatabaseError) {
        let column = view.layout.columns[slot]
        guard column.kind.mayBeLong, let live = rows.liveWords else { return }
        var count = 0
        if column.collection == .none {
            let chunk = try view.directory.chunk(slot, rowGroup)
            for row in 0 ..< rows.rowCount where live[row >> 6] & (1 << UInt64(row & 63)) == 0 {
                if chunk.longReference(row) != nil { count += 1 }
            }
        } else {
            let chunk = try view.directory.listChunk(slot, rowGroup)
            for row in 0 ..< rows.rowCount where live[row >> 6] & (1 << UInt64(row & 63)) == 0 {
                count += chunk.range(row).count { chunk.elements.longReference($0) != nil }
            }
        }
        guard count > 0 else { return }
        note(
            "\(count) values of \(view.type.name).\(column.name) of deleted objects from \(rows.firstKey) on refer to "
                + "long values, so that no scan can read the values beside them")
    }

    private mutating func checkCollection(
        _ view: TableView, _ slot: Int, _ key: Int64, _ entries: inout RowEntries
    ) throws(DatabaseError) {
        let column = view.layout.columns[slot]
        // Sets and the keys of maps ascend.
        let isOrdered = column.collection == .set || column.isMapKeys
        var count = 0
        var last: Value?
        var isInOrder = true
        do throws(DatabaseError) {
            try view.listValues(column.key, ObjectKey(key)) { (chunk, range) throws(DatabaseError) in
                for element in range {
                    count += 1
                    if let reference = chunk.longReference(element), !entries.add(reference) {
                        self.note("\(self.place(view, slot, key)) shares a long value with another")
                    }
                    let value = chunk.view(element)
                    try self.check(value, view, slot, key)
                    if isOrdered {
                        let owned = value.owned
                        if let last, Value.compare(last, owned) >= 0 { isInOrder = false }
                        last = owned
                    }
                    entries.add(value, key)
                }
            }
            if count != (try view.listCount(column.key, ObjectKey(key))) {
                note("\(place(view, slot, key)) has \(count) elements, which is not what it says")
            }
            if let keys = column.keyColumn, try view.listCount(keys, ObjectKey(key)) != count {
                note("\(place(view, slot, key)) has \(count) values and another number of keys")
            }
        } catch { note("\(place(view, slot, key)): \(error.damage)") }
        if !isInOrder { note("\(place(view, slot, key)) is not in order, or has something twice") }
    }

    /// Every long value of the column belongs to a row.
    mutating func checkLongValues(
        _ view: TableView, _ column: StoredColumn, _ entries: RowEntries
    ) throws(DatabaseError) {
        guard column.kind.mayBeLong else { return }
        var known: Set<[UInt8]> = []
        for reference in entries.longValues { known.insert(PageKeys.longValue(view.key, column.key, reference)) }
        let prefix = PageKeys.longValues(view.key, column.key)
        // The values themselves were read with their rows, and their pages are looked at with all others.
        let source = source
        var cursor = try source.pages.makeCursor()
        cursor.skipsValues = true
        var stray = 0
        var found = try prefix.withBytes { key throws(DatabaseError) in try cursor.seek(key) }
        while found, cursor.key.starts(with: prefix) {
            if !known.contains([UInt8](cursor.key)) { stray += 1 }
            if source.isMemoryWanted {
                cursor = try source.pages.makeCursor(at: cursor, after: { source.releaseMemory() })
            }
            found = try cursor.next()
        }
        if stray > 0 { note("\(view.type.name).\(column.name) has \(stray) long values that belong to no object") }
    }

    /// A value by itself: text is text, links lead somewhere.
    private mutating func check(
        _ value: ValueView, _ view: TableView, _ slot: Int, _ key: Int64
    ) throws(DatabaseError) {
        switch value.kind {
        case .string:
            if !UTF8Validation.isValid(value.bytes) { note("\(place(view, slot, key)) has text that is not UTF-8") }
        case .timestamp:
            if value.aux >= 1_000_000_000 { note("\(place(view, slot, key)) has a second of too many nanoseconds") }
        case .link:
            // A column of links says once where they lead; mixed values say it each.
            let target = view.layout.columns[slot].target ?? value.linkValue.table
            try checkLink(ObjectLink(table: target, key: value.linkValue.key), view, slot, key)
        case .list, .map:
            var links: [ObjectLink] = []
            MixedLinks.forEach(value) { links.append($0) }
            for link in links { try checkLink(link, view, slot, key) }
        default: break
        }
    }

    private mutating func checkLink(
        _ link: ObjectLink, _ view: TableView, _ slot: Int, _ key: Int64
    ) throws(DatabaseError) {
        guard source.catalog.table(link.table) != nil else {
            return note("\(place(view, slot, key)) links to a class that does not exist")
        }
        if try source.table(link.table).locate(link.key) == nil {
            note("\(place(view, slot, key)) links to object \(link.key.rawValue), which does not exist")
        }
    }

    /// Embedded objects belong to one parent each.
    mutating func checkOwners(_ view: TableView) throws(DatabaseError) {
        for rowGroup in 0 ..< view.rowGroupCount {
            letGo()
            for key in try view.rowGroup(rowGroup).liveKeys {
                var owners = 0
                for (origin, column) in view.layout.incoming {
                    owners += try view.backlinkCount(origin: origin, column.key, ObjectKey(key))
                }
                if owners != 1 {
                    note("object \(key) of the embedded class \(view.type.name) has \(owners) parents instead of one")
                }
            }
        }
    }

    private func place(_ view: TableView, _ slot: Int, _ key: Int64) -> String {
        "\(view.type.name).\(view.layout.columns[slot].name) of object \(key)"
    }
}
