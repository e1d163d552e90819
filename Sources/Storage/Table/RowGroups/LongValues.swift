/// Values too long for a chunk, in the file and in a write: one page value each, under
/// 0x08 | table | column | version of the commit that wrote it | number within that commit, and nothing but its bytes.
///
/// Every long value belongs to one cell. It moves with the cell, from chunk to chunk and from short list to long, by
/// its reference alone; another cell that gets the same value gets a copy. Nobody counts: a commit compares what the
/// pages that it rewrites referred to with what they refer to now (`LongValueBalance`), writes what is new and deletes
/// what is gone. Rows that are deleted give theirs up at once, so that dead rows refer to nothing.
import MotteColumns
import MottePages
import MotteSchemaModel
import MotteValues

package enum LongValues {
    /// More bytes than this leave the chunk. A page of the file holds about as much.
    package static let standardLimit = 4_000

    /// The same where row groups have more rows, so that the largest chunk, which changing any of its values rewrites,
    /// does not get larger: it stays below 2 MB.
    static func limit(rowGroupSize: Int) -> Int {
        min(standardLimit, FileHeader.fewRowsPerRowGroup * standardLimit / rowGroupSize)
    }
}

/// A column's long values as a snapshot has them. Advances with its directory.
final class StoredLongValues: LongTextSource {
    let table: TableKey
    let column: ColumnKey
    var pages: PageSnapshot
    private var arena = ChunkArena()
    /// Of what was lent before the latest was.
    private var formerArena: ChunkArena?
    private(set) var forgottenCount: UInt64 = 0
    var bytesUsed: Int { arena.bytesUsed }

    init(_ table: TableKey, _ column: ColumnKey, _ pages: PageSnapshot) {
        self.table = table
        self.column = column
        self.pages = pages
    }

    func find(_ reference: LongTextReference) throws(DatabaseError) -> UnsafeRawBufferPointer? {
        guard let found = try pages.get(PageKeys.longValue(table, column, reference)) else { return nil }
        return found.isStable ? found.bytes : arena.copy(found.bytes)
    }

    /// What was found since the last time stays where it is until the next.
    func forgetPlaces() {
        forgottenCount += 1
        formerArena = nil
        guard arena.bytesUsed > 0 else { return }
        formerArena = arena
        arena = ChunkArena()
    }

    var limit: Int { .max }

    func keep(_ bytes: UnsafeRawBufferPointer) -> (reference: LongTextReference, copy: UnsafeRawBufferPointer)? { nil }

    func exist() throws(DatabaseError) -> Bool {
        let prefix = PageKeys.longValues(table, column)
        let cursor = try pages.makeCursor()
        let found = try prefix.withBytes { key throws(DatabaseError) in try cursor.seek(key) }
        return found && cursor.key.starts(with: prefix)
    }
}

/// The long values that a write has made so far, of all tables. What is overwritten before the commit stays in the
/// spill file.
package final class PendingLongValues {
    /// Which the commit will make.
    let version: UInt64
    /// Tests keep short values apart too.
    package var limit: Int
    private let spill: SpillFile
    private(set) var entries: [SpilledEntry] = []

    /// `areStored`: whether the file has any, where that is known.
    init(version: UInt64, limit: Int, _ spill: SpillFile, areStored: Bool?) {
        self.version = version
        self.limit = limit
        self.spill = spill
        self.areStored = areStored
    }

    /// Once this is committed.
    var areNowhere: Bool { areStored == false && entries.isEmpty }

    fileprivate func keep(
        _ bytes: UnsafeRawBufferPointer, _ table: TableKey, _ column: ColumnKey
    ) -> (LongTextReference, UnsafeRawBufferPointer)? {
        guard entries.count < Int(UInt32.max) else { return nil }
        let reference = LongTextReference(version: version, number: UInt32(entries.count), of: bytes)
        let entry = PageKeys.longValue(table, column, reference).withUnsafeBytes { spill.add($0, bytes) }
        entries.append(entry)
        return (reference, entry.value)
    }

    private var areStored: Bool?

    /// Whether the file has any at all; most have none.
    fileprivate func exist(in pages: PageSnapshot) throws(DatabaseError) -> Bool {
        if let areStored { return areStored }
        let cursor = try pages.makeCursor()
        let found = try cursor.seek([KeySpace.longValues])
        let exist = found && cursor.key.first == KeySpace.longValues
        areStored = exist
        return exist
    }

    func entry(_ reference: LongTextReference) -> SpilledEntry? {
        guard reference.version == version, Int(reference.number) < entries.count else { return nil }
        return entries[Int(reference.number)]
    }
}

/// A column's long values as a write sees them: its own, and those of the snapshot it builds on.
final class WrittenLongValues: LongTextSource {
    private let stored: StoredLongValues
    private let pending: PendingLongValues
    private var areStored: Bool?
    private var areKept = false

    init(over stored: StoredLongValues, _ pending: PendingLongValues) {
        self.stored = stored
        self.pending = pending
    }

    var limit: Int { pending.limit }
    var forgottenCount: UInt64 { stored.forgottenCount }

    func find(_ reference: LongTextReference) throws(DatabaseError) -> UnsafeRawBufferPointer? {
        if let entry = pending.entry(reference) { return entry.value }
        return try stored.find(reference)
    }

    func keep(_ bytes: UnsafeRawBufferPointer) -> (reference: LongTextReference, copy: UnsafeRawBufferPointer)? {
        areKept = true
        return pending.keep(bytes, stored.table, stored.column)
    }

    /// Whether the column has or had any; most have none, and nobody looks for them.
    func exist() throws(DatabaseError) -> Bool {
        if areKept { return true }
        if let areStored { return areStored }
        var found = try pending.exist(in: stored.pages)
        if found { found = try stored.exist() }
        areStored = found
        return found
    }
}

/// What the pages that a commit rewrites referred to before and refer to now, of one table.
struct LongValueBalance {
    private var before: [LongTextReference: ColumnKey] = [:]
    private var after: [LongTextReference: ColumnKey] = [:]

    /// What a chunk referred to and refers to: most of it is the same.
    mutating func replace(_ old: [LongTextReference], _ new: [LongTextReference], _ column: ColumnKey) {
        var start = 0, oldEnd = old.count, newEnd = new.count
        while start < min(oldEnd, newEnd), old[start] == new[start] { start += 1 }
        while oldEnd > start, newEnd > start, old[oldEnd - 1] == new[newEnd - 1] {
            oldEnd -= 1
            newEnd -= 1
        }
        for reference in old[start ..< oldEnd] { before[reference] = column }
        for reference in new[start ..< newEnd] { after[reference] = column }
    }

    mutating func remove(_ references: [LongTextReference], _ column: ColumnKey) {
        for reference in references { before[reference] = column }
    }

    mutating func add(_ references: [LongTextReference], _ column: ColumnKey) {
        for reference in references { after[reference] = column }
    }

    func apply(_ table: TableKey, _ pending: PendingLongValues, to batch: inout PageBatch) {
        for (reference, column) in before where after[reference] == nil {
            batch.delete(PageKeys.longValue(table, column, reference))
        }
        for (reference, column) in after {
            if let entry = pending.entry(reference) { batch.put(PageKeys.longValue(table, column, reference), entry) }
        }
    }
}

extension TableWriter {
    /// Before a row dies: whatever long values it has go, so that no dead row refers to any.
    func dropLongValues(_ rowGroup: Int, _ row: Int) throws(DatabaseError) {
        for (slot, column) in layout.columns.enumerated() where column.kind.mayBeLong {
            guard let source = longValues(slot), try source.exist() else { continue }
            if column.isList {
                guard try hasLongElements(slot, rowGroup, row) else { continue }
                let (changed, builder) = try lists(slot, rowGroup)
                noteListRow(slot, rowGroup, row, changed, builder)
                builder.clear(row)
                changed.markChanged()
            } else {
                guard try isLong(slot, rowGroup, row) else { continue }
                let (changed, builder) = try values(slot, rowGroup)
                noteCell(slot, rowGroup, row, changed, builder)
                builder.set(row, .null)
                changed.markChanged()
            }
        }
    }

    private func isLong(_ slot: Int, _ rowGroup: Int, _ row: Int) throws(DatabaseError) -> Bool {
        if let column = overlay(rowGroup)?.columns[slot] {
            if case .values(let builder) = column.storage { return builder.isLong(row) }
            return try column.currentChunk(layout.columns[slot].kind, longValues(slot)).longReference(row) != nil
        }
        return try directory.chunk(slot, rowGroup).longReference(row) != nil
    }

    private func hasLongElements(_ slot: Int, _ rowGroup: Int, _ row: Int) throws(DatabaseError) -> Bool {
        let chunk: ListChunk
        if let column = overlay(rowGroup)?.columns[slot] {
            if case .lists(let builder) = column.storage { return builder.hasLongElements(row) }
            chunk = try column.currentListChunk(layout.columns[slot].kind, longValues(slot))
        } else {
            chunk = try directory.listChunk(slot, rowGroup)
        }
        return chunk.range(row).contains { chunk.elements.longReference($0) != nil }
    }

    /// Adds up what the commit's row groups and open row group do, once the open row group is where it will be.
    func balanceLongValues(writesOpenGroup: Bool) throws(DatabaseError) -> LongValueBalance {
        var balance = LongValueBalance()
        let openGroupIndex = openGroupRowCount > 0 ? regularCount : -1
        let storedOpenGroup = directory.openGroupRowCount > 0 ? directory.regularCount : -1
        let losesOpenGroup =
            storedOpenGroup >= 0
            && (writesOpenGroup
                || state.openGroupFirstKey != directory.state.openGroupFirstKey)
        for (slot, column) in layout.columns.enumerated() where column.kind.mayBeLong {
            guard let source = longValues(slot), try source.exist() else { continue }
            if losesOpenGroup { balance.remove(try directory.longReferences(slot, storedOpenGroup), column.key) }
            for (rowGroup, overlay) in dirty.enumerated() {
                guard let overlay else { continue }
                let isGone = overlay.liveCount == 0 && rowGroup != openGroupIndex
                let changed = overlay.columns[slot].flatMap { $0.isChanged || rowGroup == openGroupIndex ? $0 : nil }
                guard isGone || changed != nil else { continue }
                let isStored = rowGroup < directory.regularCount
                balance.replace(
                    isStored ? try directory.longReferences(slot, rowGroup) : [],
                    isGone ? [] : changed?.longReferences ?? [], column.key)
            }
        }
        for (key, list) in longLists {
            guard let source = longValues(key.slot), try source.exist() else { continue }
            try list.balanceLongValues(&balance)
        }
        return balance
    }
}

extension TableDirectory {
    /// Of a stored row group or the stored open row group.
    func longReferences(_ slot: Int, _ rowGroup: Int) throws(DatabaseError) -> [LongTextReference] {
        // Row groups without live rows have no chunks (C3).
        if let live = try liveBitmap(rowGroup), live.liveCount == 0 { return [] }
        return layout.columns[slot].isList
            ? try listChunk(slot, rowGroup).elements.longReferences : try chunk(slot, rowGroup).longReferences
    }
}
