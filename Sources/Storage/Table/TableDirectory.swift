/// Where the committed chunks of one table are: pointers into the pages of a snapshot, filled on first touch.
///
/// Belongs to one `Snapshot` and so to one thread at a time. A snapshot that moves to a newer version keeps the
/// pointers
/// of every row group that no commit in between has touched: stable ones point to pages that live on, unstable ones
/// were copied into the arena when they were first met. Where a compaction has moved values the snapshot has it forget
/// all places before it moves.
///
/// Invariants:
///   C1  a chunk has as many rows as its row group
///   C2  rows of row group c have the keys c * rowGroupSize ... ; the open row group follows the last row group
///   C3  a row group without live rows has no chunks
import MotteColumns
import MottePages
import MotteValues

package final class TableDirectory {
    let layout: TableLayout
    // Exclusivity: one thread at a time, like the snapshot; each access to a value looks at these.
    @exclusivity(unchecked) private(set) var rowGroupSize: Int
    /// Of tables that have no number of their own.
    let rowGroupSizeOfFile: Int
    private let counters: Counters
    @exclusivity(unchecked) private var pages: PageSnapshot
    @exclusivity(unchecked) private(set) var state: TableState {
        didSet { rowGroupSize = state.rowGroupSize(ofFile: rowGroupSizeOfFile) }
    }
    private var arena = ChunkArena()
    /// Of chunks that were forgotten last.
    private var formerArena: ChunkArena?
    /// Bytes of copies by what they are of, and of those that nothing points to any more.
    private var copies: [ChunkName: Int] = [:]
    private var wastedBytes = 0
    /// The open row group is another one with nearly every commit: its copies do not pile up. The one before may have
    /// been lent.
    private var openGroupArena = ChunkArena(slabSize: OpenGroup.sizeLimit)
    private var formerOpenGroupArena: ChunkArena?

    @exclusivity(unchecked) private var columns: [ContiguousArray<ColumnChunk?>]
    @exclusivity(unchecked) private var lists: [ContiguousArray<ListChunk?>]
    @exclusivity(unchecked) private var longSources: [StoredLongValues?]
    /// Of chunks that have long values, by slot and row group.
    @exclusivity(unchecked) private var longTexts: [[Int: LongTexts]]
    @exclusivity(unchecked) private var openGroup: (directory: OpenGroup.Directory, bytes: UnsafeRawBufferPointer)?
    @exclusivity(unchecked) private var live = KnownLiveRows()
    private var lastList: LongListReader?

    private struct ChunkName: Hashable {
        let slot: Int
        let rowGroup: Int
    }

    private static let leastWaste = 256 << 10
    private static let mostBytes = 64 << 20

    convenience init(
        _ layout: TableLayout, pages: PageSnapshot, rowGroupSize: Int, counters: Counters
    ) throws(DatabaseError) {
        self.init(
            layout, pages: pages, rowGroupSize: rowGroupSize, counters: counters,
            state: try Self.readState(layout.key, pages, rowGroupSize))
    }

    /// For a table whose state cannot be read.
    init(
        _ layout: TableLayout, pages: PageSnapshot, rowGroupSize: Int, counters: Counters, state: TableState
    ) {
        self.layout = layout
        self.pages = pages
        rowGroupSizeOfFile = rowGroupSize
        self.rowGroupSize = state.rowGroupSize(ofFile: rowGroupSize)
        self.counters = counters
        self.state = state
        columns = Array(repeating: [], count: layout.columns.count)
        lists = Array(repeating: [], count: layout.columns.count)
        longSources = Array(repeating: nil, count: layout.columns.count)
        longTexts = Array(repeating: [:], count: layout.columns.count)
    }

    package static func readState(
        _ table: TableKey, _ pages: PageSnapshot, _ rowGroupSizeOfFile: Int
    ) throws(DatabaseError) -> TableState {
        let found = try PageKeys.tableState(table).withBytes { key throws(DatabaseError) in try pages.get(key) }
        guard let found else { return TableState() }
        let state = try TableState(decoding: found.bytes, of: table)
        try state.requireRoom(in: pages, rowGroupSizeOfFile: rowGroupSizeOfFile, of: table)
        return state
    }

    private static var noKey: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

    // MARK: Geometry

    /// Row groups that hold columns of their own; the open row group is not one of them.
    var regularCount: Int { Int((state.openGroupFirstKey + Int64(rowGroupSize) - 1) / Int64(rowGroupSize)) }
    var openGroupRowCount: Int { Int(state.nextKey - state.openGroupFirstKey) }
    var rowGroupCount: Int { regularCount + (openGroupRowCount > 0 ? 1 : 0) }

    func firstKey(_ rowGroup: Int) -> Int64 {
        rowGroup < regularCount ? Int64(rowGroup) * Int64(rowGroupSize) : state.openGroupFirstKey
    }

    func rowCount(_ rowGroup: Int) -> Int {
        guard rowGroup < regularCount else { return openGroupRowCount }
        return Int(min(Int64(rowGroupSize), state.openGroupFirstKey - Int64(rowGroup) * Int64(rowGroupSize)))
    }

    /// How many rows the chunks have that have been read, of a column's row groups.
    func forEachKnownChunk(
        _ slot: Int, _ body: (_ rowGroup: Int, _ rows: Int) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        for (rowGroup, chunk) in columns[slot].enumerated() { if let chunk { try body(rowGroup, chunk.count) } }
        for (rowGroup, chunk) in lists[slot].enumerated() { if let chunk { try body(rowGroup, chunk.count) } }
    }

    // MARK: Live rows

    /// Nothing has ever been deleted.
    @inline(__always)
    private var isWhole: Bool { state.liveCount == state.nextKey }

    /// nil where every row is live.
    func liveBitmap(_ rowGroup: Int) throws(DatabaseError) -> LiveBitmap? {
        if isWhole { return nil }
        if let known = live[rowGroup] { return known }
        return try findLiveBitmap(rowGroup)
    }

    /// Whether a row of a row group exists, without copying a bitmap.
    @inline(__always)
    func isLive(_ rowGroup: Int, _ slot: Int) throws(DatabaseError) -> Bool {
        if isWhole { return true }
        if let known = live.isLive(rowGroup, slot) { return known }
        return try findLiveBitmap(rowGroup)?.isLive(slot) ?? true
    }

    @inline(never)
    private func findLiveBitmap(_ rowGroup: Int) throws(DatabaseError) -> LiveBitmap? {
        guard rowGroup < rowGroupCount else { return nil }
        if live.prefersSingle(of: rowGroupCount) {
            let found = try readLiveBitmap(rowGroup)
            live.add(found, rowGroup)
            return found
        }
        try readRowGroupBitmaps()
        return live[rowGroup] ?? nil
    }

    private func readOpenGroupBitmap() throws(DatabaseError) -> LiveBitmap? {
        let openGroup = try loadOpenGroup()
        guard !openGroup.directory.live.isEmpty else { return nil }
        let bytes = UnsafeRawBufferPointer(rebasing: openGroup.bytes[openGroup.directory.live])
        return try LiveBitmap.decode(bytes, key: PageKeys.openGroup(layout.key), rowCount: openGroupRowCount)
    }

    /// What the file itself says, also where the state says that all rows live and readers ask no bitmap.
    func storedLiveCount(_ rowGroup: Int) throws(DatabaseError) -> Int {
        try readLiveBitmap(rowGroup)?.liveCount ?? rowCount(rowGroup)
    }

    private func readLiveBitmap(_ rowGroup: Int) throws(DatabaseError) -> LiveBitmap? {
        guard rowGroup < regularCount else { return try readOpenGroupBitmap() }
        let key = PageKeys.liveBitmap(layout.key, rowGroup)
        guard let found = try pages.get(key) else { return nil }
        return try LiveBitmap.decode(found.bytes, key: key, rowCount: rowCount(rowGroup))
    }

    /// All that are not known yet, in one pass.
    private func readRowGroupBitmaps() throws(DatabaseError) {
        let prefix = PageKeys.liveBitmaps(layout.key)
        let cursor = try pages.makeCursor()
        var found = try prefix.withBytes { key throws(DatabaseError) in try cursor.seek(key) }
        while found, cursor.key.starts(with: prefix) {
            let key = [UInt8](cursor.key)
            guard key.count == prefix.count + 4 else { throw .corrupted("a live bitmap has a malformed key") }
            let rowGroup = key.suffix(4).reduce(0) { $0 << 8 | Int($1) }
            guard rowGroup < regularCount else { throw .corrupted("a live bitmap belongs to no row group") }
            if live[rowGroup] == nil {
                live.add(try LiveBitmap.decode(cursor.value.bytes, key: key, rowCount: rowCount(rowGroup)), rowGroup)
            }
            found = try cursor.next()
        }
        if openGroupRowCount > 0, live[regularCount] == nil { live.add(try readOpenGroupBitmap(), regularCount) }
        live.restIsWhole()
    }

    // MARK: Chunks

    @inline(__always)
    func chunk(_ slot: Int, _ rowGroup: Int) throws(DatabaseError) -> ColumnChunk {
        if rowGroup < columns[slot].count, let chunk = columns[slot][rowGroup] { return chunk }
        return try loadChunk(slot, rowGroup)
    }

    func knownChunk(_ slot: Int, _ rowGroup: Int) -> ColumnChunk? {
        rowGroup < columns[slot].count ? columns[slot][rowGroup] : nil
    }

    /// Copies the chunks of a range that are known, up to the first that is not or has texts elsewhere; how many.
    func copyKnownChunks(_ slot: Int, _ range: Range<Int>, into chunks: UnsafeMutablePointer<ColumnChunk>) -> Int {
        let known = columns[slot]
        var count = 0
        for rowGroup in range.lowerBound ..< min(range.upperBound, known.count) {
            guard let chunk = known[rowGroup], !chunk.hasLongTexts else { break }
            (chunks + count).initialize(to: chunk)
            count += 1
        }
        return count
    }

    func listChunk(_ slot: Int, _ rowGroup: Int) throws(DatabaseError) -> ListChunk {
        if rowGroup < lists[slot].count, let chunk = lists[slot][rowGroup] { return chunk }
        let column = layout.columns[slot]
        let chunk: ListChunk
        var long: LongTexts?
        if let (bytes, key) = try chunkBytes(slot, rowGroup) {
            chunk = try key.withBytes { key throws(DatabaseError) in
                try ListChunk(
                    validating: bytes, elementKind: column.kind, key: key, long: longSource(slot), keeping: &long)
            }
        } else {
            let builder = ListChunkBuilder(
                elementKind: column.kind, nullable: column.isNullable, capacity: rowCount(rowGroup))
            for _ in 0 ..< rowCount(rowGroup) { builder.appendRow() }
            let bytes = builder.encode(key: Self.noKey)
            copies[ChunkName(slot: slot, rowGroup: rowGroup)] = bytes.count
            chunk = try arena.keep(bytes).asListChunk(column.kind)
        }
        guard chunk.count == rowCount(rowGroup) else { throw wrongRowCount(slot, rowGroup, chunk.count) }
        counters.add(chunksDecoded: 1)
        while lists[slot].count <= rowGroup { lists[slot].append(nil) }
        lists[slot][rowGroup] = chunk
        if let long { longTexts[slot][rowGroup] = long }
        return chunk
    }

    @inline(never)
    private func loadChunk(_ slot: Int, _ rowGroup: Int) throws(DatabaseError) -> ColumnChunk {
        let column = layout.columns[slot]
        let chunk: ColumnChunk
        var long: LongTexts?
        if let (bytes, key) = try chunkBytes(slot, rowGroup) {
            chunk = try key.withBytes { key throws(DatabaseError) in
                try ColumnChunk(validating: bytes, kind: column.kind, key: key, long: longSource(slot), keeping: &long)
            }
        } else {
            // The column is younger than the rows.
            let builder = ChunkBuilder(kind: column.kind, nullable: column.isNullable, capacity: rowCount(rowGroup))
            builder.appendDefaults(rowCount(rowGroup))
            let bytes = builder.encode(key: Self.noKey)
            copies[ChunkName(slot: slot, rowGroup: rowGroup)] = bytes.count
            chunk = try arena.keep(bytes).asColumnChunk(column.kind)
        }
        guard chunk.count == rowCount(rowGroup) else { throw wrongRowCount(slot, rowGroup, chunk.count) }
        counters.add(chunksDecoded: 1)
        if columns[slot].count <= rowGroup {
            columns[slot].append(
                contentsOf: repeatElement(nil, count: max(rowGroupCount, rowGroup + 1) - columns[slot].count))
        }
        columns[slot][rowGroup] = chunk
        if let long { longTexts[slot][rowGroup] = long }
        return chunk
    }

    /// nil for columns whose values are never long.
    func longSource(_ slot: Int) -> StoredLongValues? {
        if let source = longSources[slot] { return source }
        guard layout.columns[slot].kind.mayBeLong else { return nil }
        let source = StoredLongValues(layout.key, layout.columns[slot].key, pages)
        longSources[slot] = source
        return source
    }

    private func wrongRowCount(_ slot: Int, _ rowGroup: Int, _ count: Int) -> DatabaseError {
        .corrupted(
            "row group \(rowGroup) of \(layout.stored.name).\(layout.columns[slot].name) has \(count) rows, "
                + "not \(rowCount(rowGroup)) (C1)")
    }

    /// The stored bytes at an address that stays, and the key their checksum covers; nil if the column is younger.
    private func chunkBytes(_ slot: Int, _ rowGroup: Int) throws(DatabaseError) -> (UnsafeRawBufferPointer, [UInt8])? {
        let column = layout.columns[slot].key
        if rowGroup == regularCount {
            let openGroup = try loadOpenGroup()
            guard let range = openGroup.directory.columns.first(where: { $0.key == column })?.bytes else { return nil }
            return (UnsafeRawBufferPointer(rebasing: openGroup.bytes[range]), PageKeys.openGroup(layout.key))
        }
        let key = PageKeys.chunk(layout.key, column, rowGroup)
        let found = try key.withBytes { key throws(DatabaseError) in try pages.get(key) }
        guard let found else { return nil }
        guard !found.isStable else { return (found.bytes, key) }
        copies[ChunkName(slot: slot, rowGroup: rowGroup)] = found.bytes.count
        return (arena.copy(found.bytes), key)
    }

    private func loadOpenGroup() throws(DatabaseError) -> (
        directory: OpenGroup.Directory,
        bytes: UnsafeRawBufferPointer
    ) {
        if let openGroup { return openGroup }
        let key = PageKeys.openGroup(layout.key)
        let found = try key.withBytes { key throws(DatabaseError) in try pages.get(key) }
        guard let found else { throw .corrupted("the open row group of \(layout.stored.name) is missing") }
        let bytes = found.isStable ? found.bytes : openGroupArena.copy(found.bytes)
        let directory = try OpenGroup.decode(bytes, pageKey: key)
        guard directory.rowCount == openGroupRowCount, directory.firstKey == state.openGroupFirstKey else {
            throw .corrupted("the open row group of \(layout.stored.name) disagrees with the table's state")
        }
        openGroup = (directory, bytes)
        return (directory, bytes)
    }

    // MARK: Long lists

    var mostListElements: Int { pages.mostListElements }

    /// The list that was read last is kept: most are read more than once, few of them by turns.
    func longList(_ slot: Int, _ owner: ObjectKey) -> LongListReader {
        if let lastList, lastList.column.key == layout.columns[slot].key, lastList.owner == owner { return lastList }
        let reader = makeLongListReader(slot, owner)
        lastList = reader
        return reader
    }

    /// One of its own, for a write.
    package func makeLongListReader(_ slot: Int, _ owner: ObjectKey) -> LongListReader {
        LongListReader(layout.key, layout.columns[slot], owner, pages, counters, long: longSource(slot))
    }

    // MARK: Moving to another version

    func readState(in pages: PageSnapshot) throws(DatabaseError) -> TableState {
        try Self.readState(layout.key, pages, rowGroupSizeOfFile)
    }

    /// Takes over what is still right. `new` is the state there; `touched` are the row groups that changed in between,
    /// nil if that is not known.
    func advance(to pages: PageSnapshot, _ new: TableState, touched: Set<Int>?) {
        move(to: pages)
        if new.modifiedIn != state.modifiedIn { show(new, touched: touched.map { Array($0) }) }
    }

    /// To the version that a write on this one has made, which knows what it wrote; nil where it left this table alone.
    func advance(to pages: PageSnapshot, after writer: TableWriter?) {
        move(to: pages)
        guard let writer, writer.isWritten else { return }
        show(writer.stamp(pages.version.rawValue), touched: writer.touchedRowGroups)
    }

    private func move(to pages: PageSnapshot) {
        self.pages = pages
        lastList = nil
        for source in longSources { source?.pages = pages }
    }

    private func show(_ new: TableState, touched: [Int]?) {
        let old = state
        let oldRowGroups = regularCount
        let wasWhole = isWhole
        state = new
        forgetOpenGroup()
        guard let touched, touched.count * 4 <= rowGroupCount else {
            live = KnownLiveRows()
            return forgetChunks()
        }
        // The open row group's rows may have become row groups, and a partial last row group may have grown.
        var stale = touched
        let firstMoved = Int(old.openGroupFirstKey / Int64(rowGroupSize))
        stale.append(contentsOf: min(firstMoved, oldRowGroups) ... max(rowGroupCount, oldRowGroups))
        if !isWhole { live.move(to: rowGroupCount, stale, wasWhole: wasWhole) }
        let bytesUsed = longSources.reduce(arena.bytesUsed) { $0 + ($1?.bytesUsed ?? 0) }
        guard bytesUsed < Self.mostBytes, wastedBytes < max(Self.leastWaste, bytesUsed / 2) else {
            return forgetChunks()
        }
        for slot in columns.indices {
            for rowGroup in stale where rowGroup < columns[slot].count { columns[slot][rowGroup] = nil }
            for rowGroup in stale where rowGroup < lists[slot].count { lists[slot][rowGroup] = nil }
            if !longTexts[slot].isEmpty { for rowGroup in stale { longTexts[slot][rowGroup] = nil } }
            guard !copies.isEmpty else { continue }
            for rowGroup in stale {
                wastedBytes += copies.removeValue(forKey: ChunkName(slot: slot, rowGroup: rowGroup)) ?? 0
            }
        }
    }

    private func forgetOpenGroup() {
        openGroup = nil
        guard openGroupArena.bytesUsed > 0 else { return }
        formerOpenGroupArena = openGroupArena
        openGroupArena = ChunkArena(slabSize: OpenGroup.sizeLimit)
    }

    /// Nothing is used any more of what was found before the last time; what was found since has no copy here that
    /// could go before the next.
    func forgetPlaces() {
        forgetOpenGroup()
        lastList = nil
        let latest = arena
        forgetChunks(butSources: true)
        formerArena = latest.bytesUsed > 0 ? latest : nil
        for source in longSources { source?.forgetPlaces() }
    }

    private func forgetChunks(butSources: Bool = false) {
        for slot in columns.indices {
            if !columns[slot].isEmpty { columns[slot].removeAll() }
            if !lists[slot].isEmpty { lists[slot].removeAll() }
            if !longTexts[slot].isEmpty { longTexts[slot].removeAll() }
            if !butSources { longSources[slot] = nil }
        }
        arena = ChunkArena()
        formerArena = nil
        copies.removeAll()
        wastedBytes = 0
    }
}

extension ChunkArena {
    /// Encoded bytes that belong to no page.
    struct Kept {
        let bytes: UnsafeRawBufferPointer

        func asColumnChunk(_ kind: ColumnKind) throws(DatabaseError) -> ColumnChunk {
            try ColumnChunk(validating: bytes, kind: kind, key: UnsafeRawBufferPointer(start: nil, count: 0))
        }

        func asListChunk(_ kind: ColumnKind) throws(DatabaseError) -> ListChunk {
            try ListChunk(validating: bytes, elementKind: kind, key: UnsafeRawBufferPointer(start: nil, count: 0))
        }
    }

    func keep(_ bytes: [UInt8]) -> Kept { Kept(bytes: bytes.withUnsafeBytes { copy($0) }) }
}
