/// Where the committed chunks of one table are: pointers into the pages of a snapshot, filled on first touch.
///
/// Belongs to one `Snapshot` and so to one thread at a time. A snapshot that moves to a newer version keeps the
/// pointers
/// of every cluster that no commit in between has touched: stable ones point to pages that live on, unstable ones were
/// copied into the arena when they were first met.
///
/// Invariants:
///   C1  a chunk has as many rows as its cluster
///   C2  rows of cluster c have the keys c * rowsPerCluster ... ; the tail follows the last cluster
///   C3  a cluster without live rows has no chunks
import MotteColumns
import MottePages
import MotteValues

final class TableDirectory {
    let layout: TableLayout
    private(set) var rowsPerCluster: Int
    /// Of tables that have no number of their own.
    let rowsPerClusterOfFile: Int
    private let counters: Counters
    private var pages: PageSnapshot
    private(set) var state: TableState {
        didSet { rowsPerCluster = state.rowsPerCluster(ofFile: rowsPerClusterOfFile) }
    }
    private var arena = ChunkArena()

    private var columns: [ContiguousArray<ColumnChunk?>]
    private var lists: [ContiguousArray<ListChunk?>]
    private var longSources: [StoredLongValues?]
    /// Of chunks that have long values, by slot and cluster.
    private var longTexts: [[Int: LongTexts]]
    private var tail: (directory: Tail.Directory, bytes: UnsafeRawBufferPointer)?
    private var live = KnownLiveRows()
    private var lastList: LongListReader?

    convenience init(
        _ layout: TableLayout, pages: PageSnapshot, rowsPerCluster: Int, counters: Counters
    ) throws(DatabaseError) {
        self.init(
            layout, pages: pages, rowsPerCluster: rowsPerCluster, counters: counters,
            state: try Self.readState(layout.key, pages, rowsPerCluster))
    }

    /// For a table whose state cannot be read.
    init(
        _ layout: TableLayout, pages: PageSnapshot, rowsPerCluster: Int, counters: Counters, state: TableState
    ) {
        self.layout = layout
        self.pages = pages
        rowsPerClusterOfFile = rowsPerCluster
        self.rowsPerCluster = state.rowsPerCluster(ofFile: rowsPerCluster)
        self.counters = counters
        self.state = state
        columns = Array(repeating: [], count: layout.columns.count)
        lists = Array(repeating: [], count: layout.columns.count)
        longSources = Array(repeating: nil, count: layout.columns.count)
        longTexts = Array(repeating: [:], count: layout.columns.count)
    }

    static func readState(
        _ table: TableKey, _ pages: PageSnapshot, _ rowsPerClusterOfFile: Int
    ) throws(DatabaseError) -> TableState {
        let found = try PageKeys.tableState(table).withBytes { key throws(DatabaseError) in try pages.get(key) }
        guard let found else { return TableState() }
        let state = try TableState(decoding: found.bytes, of: table)
        try state.requireRoom(in: pages, rowsPerClusterOfFile: rowsPerClusterOfFile, of: table)
        return state
    }

    private static var noKey: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

    // MARK: Geometry

    /// Clusters that hold columns of their own; the tail is not one of them.
    var regularCount: Int { Int((state.tailFirstKey + Int64(rowsPerCluster) - 1) / Int64(rowsPerCluster)) }
    var tailRowCount: Int { Int(state.nextKey - state.tailFirstKey) }
    var clusterCount: Int { regularCount + (tailRowCount > 0 ? 1 : 0) }

    func firstKey(_ cluster: Int) -> Int64 {
        cluster < regularCount ? Int64(cluster) * Int64(rowsPerCluster) : state.tailFirstKey
    }

    func rowCount(_ cluster: Int) -> Int {
        guard cluster < regularCount else { return tailRowCount }
        return Int(min(Int64(rowsPerCluster), state.tailFirstKey - Int64(cluster) * Int64(rowsPerCluster)))
    }

    /// How many rows the chunks have that have been read, of a column's clusters.
    func forEachKnownChunk(
        _ slot: Int, _ body: (_ cluster: Int, _ rows: Int) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        for (cluster, chunk) in columns[slot].enumerated() { if let chunk { try body(cluster, chunk.count) } }
        for (cluster, chunk) in lists[slot].enumerated() { if let chunk { try body(cluster, chunk.count) } }
    }

    // MARK: Live rows

    /// Nothing has ever been deleted.
    @inline(__always)
    private var isWhole: Bool { state.liveCount == state.nextKey }

    /// nil where every row is live.
    func liveBitmap(_ cluster: Int) throws(DatabaseError) -> LiveBitmap? {
        if isWhole { return nil }
        if let known = live[cluster] { return known }
        return try findLiveBitmap(cluster)
    }

    /// Whether a row of a cluster exists, without copying a bitmap.
    @inline(__always)
    func isLive(_ cluster: Int, _ slot: Int) throws(DatabaseError) -> Bool {
        if isWhole { return true }
        if let known = live.isLive(cluster, slot) { return known }
        return try findLiveBitmap(cluster)?.isLive(slot) ?? true
    }

    @inline(never)
    private func findLiveBitmap(_ cluster: Int) throws(DatabaseError) -> LiveBitmap? {
        guard cluster < clusterCount else { return nil }
        if live.prefersSingle(of: clusterCount) {
            let found = try readLiveBitmap(cluster)
            live.add(found, cluster)
            return found
        }
        try readClusterBitmaps()
        return live[cluster] ?? nil
    }

    private func readTailBitmap() throws(DatabaseError) -> LiveBitmap? {
        let tail = try loadTail()
        guard !tail.directory.live.isEmpty else { return nil }
        let bytes = UnsafeRawBufferPointer(rebasing: tail.bytes[tail.directory.live])
        return try LiveBitmap.decode(bytes, key: PageKeys.tail(layout.key), rowCount: tailRowCount)
    }

    /// What the file itself says, also where the state says that all rows live and readers ask no bitmap.
    func storedLiveCount(_ cluster: Int) throws(DatabaseError) -> Int {
        try readLiveBitmap(cluster)?.liveCount ?? rowCount(cluster)
    }

    private func readLiveBitmap(_ cluster: Int) throws(DatabaseError) -> LiveBitmap? {
        guard cluster < regularCount else { return try readTailBitmap() }
        let key = PageKeys.liveBitmap(layout.key, cluster)
        guard let found = try pages.get(key) else { return nil }
        return try LiveBitmap.decode(found.bytes, key: key, rowCount: rowCount(cluster))
    }

    /// All that are not known yet, in one pass.
    private func readClusterBitmaps() throws(DatabaseError) {
        let prefix = PageKeys.liveBitmaps(layout.key)
        let cursor = try pages.makeCursor()
        var found = try prefix.withBytes { key throws(DatabaseError) in try cursor.seek(key) }
        while found, cursor.key.starts(with: prefix) {
            let key = [UInt8](cursor.key)
            guard key.count == prefix.count + 4 else { throw .corrupted("a live bitmap has a malformed key") }
            let cluster = key.suffix(4).reduce(0) { $0 << 8 | Int($1) }
            guard cluster < regularCount else { throw .corrupted("a live bitmap belongs to no cluster") }
            if live[cluster] == nil {
                live.add(try LiveBitmap.decode(cursor.value.bytes, key: key, rowCount: rowCount(cluster)), cluster)
            }
            found = try cursor.next()
        }
        if tailRowCount > 0, live[regularCount] == nil { live.add(try readTailBitmap(), regularCount) }
        live.restIsWhole()
    }

    // MARK: Chunks

    @inline(__always)
    func chunk(_ slot: Int, _ cluster: Int) throws(DatabaseError) -> ColumnChunk {
        if cluster < columns[slot].count, let chunk = columns[slot][cluster] { return chunk }
        return try loadChunk(slot, cluster)
    }

    func listChunk(_ slot: Int, _ cluster: Int) throws(DatabaseError) -> ListChunk {
        if cluster < lists[slot].count, let chunk = lists[slot][cluster] { return chunk }
        let column = layout.columns[slot]
        let chunk: ListChunk
        var long: LongTexts?
        if let (bytes, key) = try chunkBytes(slot, cluster) {
            chunk = try key.withBytes { key throws(DatabaseError) in
                try ListChunk(
                    validating: bytes, elementKind: column.kind, key: key, long: longSource(slot), keeping: &long)
            }
        } else {
            let builder = ListChunkBuilder(
                elementKind: column.kind, nullable: column.isNullable, capacity: rowCount(cluster))
            for _ in 0 ..< rowCount(cluster) { builder.appendRow() }
            chunk = try arena.keep(builder.encode(key: Self.noKey)).asListChunk(column.kind)
        }
        guard chunk.count == rowCount(cluster) else { throw wrongRowCount(slot, cluster, chunk.count) }
        counters.add(chunksDecoded: 1)
        while lists[slot].count <= cluster { lists[slot].append(nil) }
        lists[slot][cluster] = chunk
        if let long { longTexts[slot][cluster] = long }
        return chunk
    }

    @inline(never)
    private func loadChunk(_ slot: Int, _ cluster: Int) throws(DatabaseError) -> ColumnChunk {
        let column = layout.columns[slot]
        let chunk: ColumnChunk
        var long: LongTexts?
        if let (bytes, key) = try chunkBytes(slot, cluster) {
            chunk = try key.withBytes { key throws(DatabaseError) in
                try ColumnChunk(validating: bytes, kind: column.kind, key: key, long: longSource(slot), keeping: &long)
            }
        } else {
            // The column is younger than the rows.
            let builder = ChunkBuilder(kind: column.kind, nullable: column.isNullable, capacity: rowCount(cluster))
            builder.appendDefaults(rowCount(cluster))
            chunk = try arena.keep(builder.encode(key: Self.noKey)).asColumnChunk(column.kind)
        }
        guard chunk.count == rowCount(cluster) else { throw wrongRowCount(slot, cluster, chunk.count) }
        counters.add(chunksDecoded: 1)
        if columns[slot].count <= cluster {
            columns[slot].append(
                contentsOf: repeatElement(nil, count: max(clusterCount, cluster + 1) - columns[slot].count))
        }
        columns[slot][cluster] = chunk
        if let long { longTexts[slot][cluster] = long }
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

    private func wrongRowCount(_ slot: Int, _ cluster: Int, _ count: Int) -> DatabaseError {
        .corrupted(
            "cluster \(cluster) of \(layout.stored.name).\(layout.columns[slot].name) has \(count) rows, "
                + "not \(rowCount(cluster)) (C1)")
    }

    /// The stored bytes at an address that stays, and the key their checksum covers; nil if the column is younger.
    private func chunkBytes(_ slot: Int, _ cluster: Int) throws(DatabaseError) -> (UnsafeRawBufferPointer, [UInt8])? {
        let column = layout.columns[slot].key
        if cluster == regularCount {
            let tail = try loadTail()
            guard let range = tail.directory.columns.first(where: { $0.key == column })?.bytes else { return nil }
            return (UnsafeRawBufferPointer(rebasing: tail.bytes[range]), PageKeys.tail(layout.key))
        }
        let key = PageKeys.chunk(layout.key, column, cluster)
        let found = try key.withBytes { key throws(DatabaseError) in try pages.get(key) }
        guard let found else { return nil }
        return (found.isStable ? found.bytes : arena.copy(found.bytes), key)
    }

    private func loadTail() throws(DatabaseError) -> (directory: Tail.Directory, bytes: UnsafeRawBufferPointer) {
        if let tail { return tail }
        let key = PageKeys.tail(layout.key)
        let found = try key.withBytes { key throws(DatabaseError) in try pages.get(key) }
        guard let found else { throw .corrupted("the tail of \(layout.stored.name) is missing") }
        let bytes = found.isStable ? found.bytes : arena.copy(found.bytes)
        let directory = try Tail.decode(bytes, pageKey: key)
        guard directory.rowCount == tailRowCount, directory.firstKey == state.tailFirstKey else {
            throw .corrupted("the tail of \(layout.stored.name) disagrees with the table's state")
        }
        tail = (directory, bytes)
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
    func makeLongListReader(_ slot: Int, _ owner: ObjectKey) -> LongListReader {
        LongListReader(layout.key, layout.columns[slot], owner, pages, counters, long: longSource(slot))
    }

    // MARK: Moving to another version

    /// Takes over what is still right. `touched` are the clusters that changed in between, nil if that is not known.
    func advance(to pages: PageSnapshot, touched: Set<Int>?) throws(DatabaseError) {
        let new = try Self.readState(layout.key, pages, rowsPerClusterOfFile)
        move(to: pages)
        if new.modifiedIn != state.modifiedIn { show(new, touched: touched.map { Array($0) }) }
    }

    /// To the version that a write on this one has made, which knows what it wrote; nil where it left this table alone.
    func advance(to pages: PageSnapshot, after writer: TableWriter?) {
        move(to: pages)
        guard let writer, writer.isWritten else { return }
        show(writer.stamp(pages.version.rawValue), touched: writer.touchedClusters)
    }

    private func move(to pages: PageSnapshot) {
        self.pages = pages
        lastList = nil
        for source in longSources { source?.pages = pages }
    }

    private func show(_ new: TableState, touched: [Int]?) {
        let old = state
        let oldClusters = regularCount
        let wasWhole = isWhole
        state = new
        tail = nil
        guard let touched, touched.count * 4 <= clusterCount else {
            live = KnownLiveRows()
            return forgetChunks()
        }
        // The tail's rows may have become clusters, and a partial last cluster may have grown.
        var stale = touched
        let firstMoved = Int(old.tailFirstKey / Int64(rowsPerCluster))
        stale.append(contentsOf: min(firstMoved, oldClusters) ... max(clusterCount, oldClusters))
        if !isWhole { live.move(to: clusterCount, stale, wasWhole: wasWhole) }
        let bytesUsed = longSources.reduce(arena.bytesUsed) { $0 + ($1?.bytesUsed ?? 0) }
        guard bytesUsed < 64 << 20 else { return forgetChunks() }
        for slot in columns.indices {
            for cluster in stale where cluster < columns[slot].count { columns[slot][cluster] = nil }
            for cluster in stale where cluster < lists[slot].count { lists[slot][cluster] = nil }
            if !longTexts[slot].isEmpty { for cluster in stale { longTexts[slot][cluster] = nil } }
        }
    }

    private func forgetChunks() {
        for slot in columns.indices {
            columns[slot].removeAll()
            lists[slot].removeAll()
            longTexts[slot].removeAll()
            longSources[slot] = nil
        }
        arena = ChunkArena()
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
