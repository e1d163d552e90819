/// The blocks of an ordered index as one committed version has them, found by what they may hold.
///
/// The first lookups go through a page cursor, which suits a transaction that asks once. After a few the bounds of all
/// blocks are read; from then on a lookup is a search in memory and a look at one block. Blocks are checked when they
/// are first used. One thread at a time.
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import MottePages
import MotteValues

package final class OrderedReader: IndexReading {
    /// What the page keys of its blocks begin with.
    let prefix: [UInt8]
    private var pages: PageSnapshot
    private let cursorLookups: Int
    private var lookups = 0
    private var cursor: PageCursor?
    private var directory: OrderedDirectory?

    init(_ index: IndexKey, pages: PageSnapshot, cursorLookups: Int = 16) {
        prefix = IndexSpace.everything(of: index)[0]
        self.pages = pages
        self.cursorLookups = cursorLookups
    }

    package func advance(to pages: PageSnapshot) {
        self.pages = pages
        cursor = nil
    }

    @inline(__always)
    static func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        let shared = min(left.count, right.count)
        if shared > 0, let one = left.baseAddress, let two = right.baseAddress {
            let order = Int(memcmp(one, two, shared))
            if order != 0 { return order }
        }
        return left.count - right.count
    }

    private func openCursor() throws(DatabaseError) -> PageCursor {
        if let cursor { return cursor }
        let opened = try pages.makeCursor()
        cursor = opened
        return opened
    }

    private func isOwn(_ key: UnsafeRawBufferPointer) -> Bool { key.starts(with: prefix) }

    /// The bounds of all blocks.
    func readDirectory() throws(DatabaseError) -> OrderedDirectory {
        if let directory { return directory }
        let made = OrderedDirectory()
        let cursor = try openCursor()
        var found = try cursor.seek(prefix)
        while found, isOwn(cursor.key) {
            made.bounds.append(contentsOf: cursor.key.dropFirst(prefix.count))
            made.ends.append(made.bounds.count)
            let value = cursor.value
            made.bytes.append(value.isStable ? value.bytes : made.arena.copy(value.bytes))
            found = try cursor.next()
        }
        made.blocks = ContiguousArray(repeating: nil, count: made.count)
        directory = made
        self.cursor = nil
        return made
    }

    func block(_ directory: OrderedDirectory, _ ordinal: Int) throws(DatabaseError) -> OrderedBlock {
        if let block = directory.blocks[ordinal] { return block }
        var pageKey = prefix
        directory.withBound(ordinal) { pageKey.append(contentsOf: $0) }
        let bytes = directory.bytes[ordinal]
        let block = try pageKey.withBytes { key throws(DatabaseError) in
            try OrderedBlock(validating: bytes, pageKey: key)
        }
        directory.blocks[ordinal] = block
        return block
    }

    func hasBlocks() throws(DatabaseError) -> Bool {
        if let directory { return directory.count > 0 }
        let cursor = try openCursor()
        return try cursor.seek(prefix) && isOwn(cursor.key)
    }

    // MARK: Walking

    /// Calls for each block in turn, until `body` says that it is enough. It keeps nothing of them, so that `letGo` may
    /// let memory go between two where it is wanted.
    func forEachBlock(_ letGo: () -> Void, _ body: (OrderedBlock) -> Bool) throws(DatabaseError) {
        var cursor = try pages.makeCursor()
        var found = try cursor.seek(prefix)
        while found, isOwn(cursor.key) {
            guard body(try OrderedBlock(validating: cursor.value.bytes, pageKey: cursor.key)) else { return }
            if pages.hold?.isDue == true { cursor = try pages.makeCursor(at: cursor, after: letGo) }
            found = try cursor.next()
        }
    }

    /// Calls for the blocks that may have something of `span`, in order, until `body` says that it is enough.
    /// `isInside`: nothing in the block is behind the span's end, and nothing before its beginning.
    func forEachBlock(
        in span: OrderedSpan, _ body: (OrderedBlock, _ isInside: Bool) -> Bool
    ) throws(DatabaseError) {
        guard !span.isEmpty else { return }
        lookups += 1
        if directory != nil || lookups > cursorLookups { return try walk(try readDirectory(), span, body) }
        let cursor = try openCursor()
        let start = prefix + span.low
        var isThere = try cursor.seekLast(atMost: start)
        if !isThere || !isOwn(cursor.key) { isThere = try cursor.seek(start) }
        guard isThere, isOwn(cursor.key) else { return }
        var isFirst = true
        while true {
            let key = cursor.key
            if let high = span.high, !isFirst,
                high.withUnsafeBytes({ Self.compare(UnsafeRawBufferPointer(rebasing: key[prefix.count...]), $0) }) >= 0
            {
                return
            }
            let block = try OrderedBlock(validating: cursor.value.bytes, pageKey: key)
            let isInside = span.high == nil && (!isFirst || span.low.isEmpty)
            guard body(block, isInside), try cursor.next(), isOwn(cursor.key) else { return }
            isFirst = false
        }
    }

    private func walk(
        _ directory: OrderedDirectory, _ span: OrderedSpan, _ body: (OrderedBlock, _ isInside: Bool) -> Bool
    ) throws(DatabaseError) {
        guard directory.count > 0 else { return }
        let first = span.low.withUnsafeBytes { directory.ordinal(of: $0) }
        let last = try lastOrdinal(directory, span)
        guard first <= last else { return }
        for ordinal in first ... last {
            // What lies between two blocks that have something of it is all in it.
            let isInside = (ordinal > first || span.low.isEmpty) && (ordinal < last || span.high == nil)
            guard body(try block(directory, ordinal), isInside) else { return }
        }
    }

    private func lastOrdinal(_ directory: OrderedDirectory, _ span: OrderedSpan) throws(DatabaseError) -> Int {
        guard let high = span.high else { return directory.count - 1 }
        return high.withUnsafeBytes { directory.ordinal(of: $0) }
    }

    /// The same from the end.
    func forEachBlockBackwards(in span: OrderedSpan, _ body: (OrderedBlock) -> Bool) throws(DatabaseError) {
        guard !span.isEmpty else { return }
        let directory = try readDirectory()
        guard directory.count > 0 else { return }
        let first = span.low.withUnsafeBytes { directory.ordinal(of: $0) }
        var ordinal = try lastOrdinal(directory, span)
        while ordinal >= first {
            guard body(try block(directory, ordinal)) else { return }
            ordinal -= 1
        }
    }

    // MARK: Groups

    /// Calls for the groups of a block that are in the span.
    @inline(__always)
    package static func forEachGroup(
        of block: OrderedBlock, in span: OrderedSpan, isInside: Bool, _ body: (OrderedBlock.Group) -> Bool
    ) -> Bool {
        if isInside {
            var goesOn = true
            block.forEachGroup { group in
                goesOn = body(group)
                return goesOn
            }
            return goesOn
        }
        var goesOn = true
        span.low.withUnsafeBytes { low in
            (span.high ?? []).withUnsafeBytes { high in
                var lower = OrderedBoundSearch(low)
                var upper = OrderedBoundSearch(high)
                let hasEnd = span.high != nil
                block.forEachGroup { group in
                    let isBehind = hasEnd && upper.reaches(group)
                    if isBehind {
                        goesOn = false
                        return false
                    }
                    guard lower.reaches(group) else { return true }
                    goesOn = body(group)
                    return goesOn
                }
            }
        }
        return goesOn
    }

    /// Stops counting behind `most`.
    func count(in span: OrderedSpan, most: Int = .max) throws(DatabaseError) -> Int {
        var count = 0
        try forEachBlock(in: span) { block, isInside in
            if isInside {
                count += block.entryCount
                return count <= most
            }
            return Self.forEachGroup(of: block, in: span, isInside: false) { group in
                count += group.count
                return count <= most
            }
        }
        return count
    }

    /// By value, equal ones by key.
    func appendKeys(in span: OrderedSpan, to keys: inout [Int64], limit: Int = .max) throws(DatabaseError) {
        let start = keys.count
        try forEachBlock(in: span) { block, isInside in
            Self.forEachGroup(of: block, in: span, isInside: isInside) { group in
                group.appendKeys(to: &keys)
                return keys.count - start < limit
            }
        }
        if keys.count - start > limit { keys.removeLast(keys.count - start - limit) }
    }

    /// Of a row other than `own` that has just these bytes.
    func firstKey(with bytes: [UInt8], except own: Int64) throws(DatabaseError) -> Int64? {
        var keys: [Int64] = []
        let span = OrderedSpan(low: bytes, high: OrderedBytes.successor(bytes))
        try appendKeys(in: span, to: &keys, limit: 2)
        return keys.first { $0 != own }
    }

    /// The highest values first, equal ones by key.
    func appendKeysBackwards(in span: OrderedSpan, to keys: inout [Int64], limit: Int) throws(DatabaseError) {
        let start = keys.count
        /// What is known of the lowest value so far: an earlier block may have more of it.
        var open: (bytes: [UInt8], keys: [Int64])?
        try forEachBlockBackwards(in: span) { block in
            let items = OrderedItems()
            items.append(block)
            var found: [(bytes: [UInt8], keys: [Int64])] = []
            for item in items.list where span.contains(items.bytes(item)) {
                let bytes = items.bytes(item)
                if let last = found.last, last.bytes.withUnsafeBytes({ Self.compare($0, bytes) }) == 0 {
                    found[found.count - 1].keys.append(Int64(bitPattern: item.key))
                } else {
                    found.append(([UInt8](bytes), [Int64(bitPattern: item.key)]))
                }
            }
            for group in found.reversed() {
                if let last = open, last.bytes == group.bytes {
                    open = (group.bytes, group.keys + last.keys)
                } else {
                    if let last = open { keys += last.keys }
                    open = group
                }
            }
            return keys.count - start < limit
        }
        if let open { keys += open.keys }
        if keys.count - start > limit { keys.removeLast(keys.count - start - limit) }
    }

    /// All entries of it, taken apart.
    func items(in span: OrderedSpan) throws(DatabaseError) -> OrderedItems {
        let items = OrderedItems()
        try forEachBlock(in: span) { block, _ in
            items.append(block)
            return true
        }
        items.keep { span.contains($0) }
        return items
    }
}

extension OrderedSpan {
    func contains(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard low.withUnsafeBytes({ OrderedReader.compare(bytes, $0) }) >= 0 else { return false }
        guard let high else { return true }
        return high.withUnsafeBytes { OrderedReader.compare(bytes, $0) } < 0
    }
}
