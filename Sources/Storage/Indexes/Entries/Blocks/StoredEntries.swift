/// The committed entries of one index space as of one snapshot: a sorted multiset in blocks.
///
/// The first lookups go through a page cursor, which suits a transaction that asks once. After a few the bounds of all
/// blocks are read into two arrays; from then on a lookup is a search in memory and a search in one block. Blocks are
/// checked when they are first used.
///
/// Pointers into pages live here and nowhere else, and the snapshot is kept alive as long. In a later version with the
/// same entries those of the directory still hold: blocks whose place is not stable were copied. One thread at a time.
import MottePages
import MotteValues

final class StoredEntries {
    let space: IndexSpace
    private(set) var pages: PageSnapshot

    /// How many lookups through the cursor pay for reading all bounds.
    private static let cursorLookups = 16

    // Exclusivity: entries belong to one thread at a time; each lookup looks at these.
    @exclusivity(unchecked) private var lookups = 0
    private var cursor: PageCursor?
    @exclusivity(unchecked) private var directory: Directory?
    /// Ordinal of the block in use, when there is a directory.
    @exclusivity(unchecked) private var position = 0

    final class Directory {
        @exclusivity(unchecked) var values: ContiguousArray<UInt64> = []
        @exclusivity(unchecked) var keys: ContiguousArray<UInt64> = []
        var bytes: ContiguousArray<UnsafeRawBufferPointer> = []
        /// nil until checked.
        @exclusivity(unchecked) var blocks: ContiguousArray<IndexBlock?> = []
        let arena = ChunkArena()

        /// The last block whose bound is not above `entry`, -1 if there is none.
        func ordinal(of entry: IndexEntry) -> Int {
            var low = 0, high = values.count
            while low < high {
                let middle = (low &+ high) &>> 1
                let value = values[middle]
                if entry.value < value || (entry.value == value && entry.key < keys[middle]) {
                    high = middle
                } else {
                    low = middle &+ 1
                }
            }
            return low - 1
        }
    }

    init(_ space: IndexSpace, pages: PageSnapshot) {
        self.space = space
        self.pages = pages
    }

    func advance(to pages: PageSnapshot) {
        self.pages = pages
        cursor = nil
    }

    // MARK: Blocks

    /// The block that holds `entry` if any does; nil for an empty space.
    private func seek(_ entry: IndexEntry) throws(DatabaseError) -> IndexBlock? {
        lookups &+= 1
        if directory != nil || lookups > Self.cursorLookups {
            let directory = try readDirectory()
            let ordinal = directory.ordinal(of: entry)
            guard ordinal >= 0 else { return nil }
            position = ordinal
            if let block = directory.blocks[ordinal] { return block }
            return try checkedBlock(ordinal)
        }
        let cursor = try openCursor()
        let found = try space.pageKey(entry).withBytes { key throws(DatabaseError) in try cursor.seekLast(atMost: key) }
        return found ? try block(at: cursor) : nil
    }

    /// The block after the one last returned.
    private func advance() throws(DatabaseError) -> IndexBlock? {
        if directory != nil {
            position += 1
            return position < blockCount ? try block(position) : nil
        }
        guard let cursor, try cursor.next() else { return nil }
        return try block(at: cursor)
    }

    private func openCursor() throws(DatabaseError) -> PageCursor {
        if let cursor { return cursor }
        let opened = try pages.makeCursor()
        cursor = opened
        return opened
    }

    private func block(at cursor: PageCursor) throws(DatabaseError) -> IndexBlock? {
        let key = cursor.key
        guard space.bound(in: key) != nil else { return nil }
        return try IndexBlock(
            validating: cursor.value.bytes, pageKey: key, mostRepeats: pages.mostListElements)
    }

    // MARK: Directory

    private var blockCount: Int { directory?.values.count ?? 0 }

    @inline(__always)
    private func readDirectory() throws(DatabaseError) -> Directory {
        if let directory { return directory }
        return try makeDirectory()
    }

    @inline(never)
    private func makeDirectory() throws(DatabaseError) -> Directory {
        let made = Directory()
        let cursor = try openCursor()
        var found = try space.pageKey(.lowest).withBytes { key throws(DatabaseError) in try cursor.seek(key) }
        while found, let bound = space.bound(in: cursor.key) {
            made.values.append(bound.value)
            made.keys.append(bound.key)
            let value = cursor.value
            made.bytes.append(value.isStable ? value.bytes : made.arena.copy(value.bytes))
            found = try cursor.next()
        }
        made.blocks = ContiguousArray(repeating: nil, count: made.values.count)
        directory = made
        self.cursor = nil
        return made
    }

    @inline(__always)
    private func block(_ ordinal: Int) throws(DatabaseError) -> IndexBlock? {
        if let block = directory?.blocks[ordinal] { return block }
        return try checkedBlock(ordinal)
    }

    @inline(never)
    private func checkedBlock(_ ordinal: Int) throws(DatabaseError) -> IndexBlock? {
        guard let directory else { return nil }
        let bound = IndexEntry(value: directory.values[ordinal], key: directory.keys[ordinal])
        let bytes = directory.bytes[ordinal]
        let block = try space.pageKey(bound).withBytes { key throws(DatabaseError) in
            try IndexBlock(validating: bytes, pageKey: key, mostRepeats: pages.mostListElements)
        }
        directory.blocks[ordinal] = block
        return block
    }

    // MARK: Lookups

    /// The first entry not below `bound`.
    func first(from bound: IndexEntry) throws(DatabaseError) -> IndexEntry? {
        guard var block = try seek(bound) else { return nil }
        var index = block.lowerBound(bound)
        if index == block.count {
            // The next block begins above the bound (I2) and is not empty (I1).
            guard let next = try advance() else { return nil }
            block = next
            index = 0
        }
        return block.entry(index)
    }

    /// Calls for every block that has entries from `lower` to `upper`, with their positions in it.
    @inline(__always)
    private func forEachRun(
        from lower: IndexEntry, through upper: IndexEntry, _ body: (IndexBlock, Range<Int>) -> Void
    ) throws(DatabaseError) {
        try forEachRunWhile(from: lower, through: upper) { block, range in
            body(block, range)
            return true
        }
    }

    /// The same, until `body` says that it is enough.
    @inline(__always)
    private func forEachRunWhile(
        from lower: IndexEntry, through upper: IndexEntry, _ body: (IndexBlock, Range<Int>) -> Bool
    ) throws(DatabaseError) {
        guard !(upper < lower), var block = try seek(lower) else { return }
        var start = block.lowerBound(lower)
        while true {
            let end = block.upperBound(upper)
            if start < end, !body(block, start ..< end) { return }
            guard end == block.count, let next = try advance() else { return }
            block = next
            start = 0
        }
    }

    /// Stops counting behind `most`.
    func count(
        from lower: IndexEntry, through upper: IndexEntry, most: Int = .max
    ) throws(DatabaseError) -> Int {
        var count = 0
        try forEachRunWhile(from: lower, through: upper) { _, range in
            count += range.count
            return count <= most
        }
        return count
    }

    /// The keys of the entries in range, in the order of the entries: ascending within a value.
    func appendKeys(from lower: IndexEntry, through upper: IndexEntry, to output: inout [Int64]) throws(DatabaseError) {
        try forEachRun(from: lower, through: upper) { block, range in block.appendKeys(range, to: &output) }
    }

    func appendEntries(
        from lower: IndexEntry, through upper: IndexEntry, to output: inout ContiguousArray<IndexEntry>
    ) throws(DatabaseError) {
        try forEachRun(from: lower, through: upper) { block, range in block.appendEntries(range, to: &output) }
    }

    // MARK: Walking

    /// Calls for each block in turn, until `body` says that it is enough. It keeps nothing of them, so that `letGo` may
    /// let memory go between two where it is wanted.
    func forEachBlock(_ letGo: () -> Void, _ body: (IndexBlock) -> Bool) throws(DatabaseError) {
        var cursor = try pages.makeCursor()
        var found = try cursor.seek(space.pageKey(.lowest))
        while found, let block = try block(at: cursor) {
            guard body(block) else { return }
            if pages.hold?.isDue == true { cursor = try pages.makeCursor(at: cursor, after: letGo) }
            found = try cursor.next()
        }
    }

    /// Number of blocks, for a walk over all of them with `blockForWalk`.
    func countBlocks() throws(DatabaseError) -> Int { try readDirectory().values.count }

    func blockForWalk(_ ordinal: Int) throws(DatabaseError) -> IndexBlock? {
        ordinal < blockCount ? try block(ordinal) : nil
    }
}
