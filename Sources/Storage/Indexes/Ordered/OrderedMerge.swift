/// Turns the changes of a write into puts and deletes of an ordered index's blocks, reading and rewriting only blocks
/// that the changes fall into, and blocks that follow one which has become small.
import MottePages
import MotteValues

struct OrderedMerge {
    private let encoder: OrderedEncoder
    private let cursor: PageCursor?

    /// `pages`: the version that the write began with; nil where the index has no blocks left.
    init(_ encoder: OrderedEncoder, over pages: PageSnapshot?) throws(DatabaseError) {
        self.encoder = encoder
        cursor = try pages.map { pages throws(DatabaseError) in try pages.makeCursor() }
    }

    /// More changes than this to one block are merged by taking it apart.
    private static let mostEdits = 32

    private struct Place {
        /// Behind the index's number.
        var bound: [UInt8] = []
        /// nil where there is none yet.
        var block: OrderedBlock?
        /// Of the block behind; nil where there is none.
        var following: [UInt8]?
    }

    func run(_ changes: inout OrderedChanges, into batch: inout PageBatch) throws(DatabaseError) {
        try changes.withStream { stream throws(DatabaseError) in
            var upcoming = UpcomingChanges(stream)
            try run(&upcoming, into: &batch)
        }
    }

    private func run(_ changes: inout UpcomingChanges, into batch: inout PageBatch) throws(DatabaseError) {
        while let change = changes.first {
            var place = try seek(change)
            if try edit(&changes, place, into: &batch) { continue }
            var merged = OrderedItems()
            if let block = place.block { merged.append(block) }
            if place.following == nil, isBehind(change, merged), !change.isRemoved || merged.isEmpty {
                return append(&changes, merged, place.bound, into: &batch)
            }
            var hasShrunk = false
            while true {
                let before = merged.count
                merged = apply(&changes, to: merged, until: place.following)
                hasShrunk = hasShrunk || merged.count < before
                guard hasShrunk, let following = place.following,
                    merged.isEmpty || isSmall(encoder.size(merged))
                else { break }
                // Together with the block behind it.
                try absorb(following, merged, &place)
                batch.delete(encoder.prefix + following)
            }
            if merged.isEmpty {
                if place.block != nil { batch.delete(encoder.prefix + place.bound) }
            } else {
                encoder.put(merged, bound: place.bound, into: &batch)
            }
        }
    }

    private func isSmall(_ size: Int) -> Bool { size < encoder.blockBytes / 4 }

    /// Makes the few changes that fall into the block in it. False, with nothing done, where they are many, or the
    /// block would overflow, end or become small.
    private func edit(
        _ changes: inout UpcomingChanges, _ place: Place, into batch: inout PageBatch
    ) throws(DatabaseError) -> Bool {
        guard let block = place.block, let few = changes.few(Self.mostEdits, below: place.following) else {
            return false
        }
        let pageKey = encoder.prefix + place.bound
        guard let edited = block.applying(few, limit: encoder.blockBytes, pageKey: pageKey) else { return false }
        let hasShrunk = edited.entryCount < block.entryCount
        guard !hasShrunk || place.following == nil || !isSmall(edited.bytes.count) else { return false }
        batch.put(pageKey, edited.bytes)
        changes.removeFirst(few.count)
        return true
    }

    // MARK: Finding blocks

    private func isOwn(_ key: UnsafeRawBufferPointer) -> Bool { key.starts(with: encoder.prefix) }

    private func ownBound(_ cursor: PageCursor) -> [UInt8] { [UInt8](cursor.key.dropFirst(encoder.prefix.count)) }

    /// The block that a change falls into, and what lies behind it.
    private func seek(_ change: OrderedChanges.Change) throws(DatabaseError) -> Place {
        guard let cursor else { return Place() }
        var place = Place()
        var wanted = encoder.prefix + change.bytes
        withUnsafeBytes(of: change.key.bigEndian) { wanted.append(contentsOf: $0) }
        if try cursor.seekLast(atMost: wanted), isOwn(cursor.key) {
            place.bound = ownBound(cursor)
            place.block = try OrderedBlock(validating: cursor.value.bytes, pageKey: cursor.key)
            if try cursor.next(), isOwn(cursor.key) { place.following = ownBound(cursor) }
        } else if try cursor.seek(encoder.prefix), isOwn(cursor.key) {
            place.following = ownBound(cursor)
        }
        return place
    }

    private func absorb(_ bound: [UInt8], _ items: OrderedItems, _ place: inout Place) throws(DatabaseError) {
        guard let cursor, try cursor.seek(encoder.prefix + bound), isOwn(cursor.key) else { return }
        let block = try OrderedBlock(validating: cursor.value.bytes, pageKey: cursor.key)
        let own = OrderedItems()
        own.append(block)
        for item in own.list { items.append(own.bytes(item), item.key) }
        place.following = try cursor.next() && isOwn(cursor.key) ? ownBound(cursor) : nil
    }

    private func isBehind(_ change: OrderedChanges.Change, _ items: OrderedItems) -> Bool {
        guard let last = items.list.last else { return true }
        return OrderedItems.compare(change.bytes, change.key, items.bytes(last), last.key) > 0
    }

    static func isBelow(_ change: OrderedChanges.Change, _ bound: [UInt8]) -> Bool {
        var whole = [UInt8](change.bytes)
        withUnsafeBytes(of: change.key.bigEndian) { whole.append(contentsOf: $0) }
        return whole.withUnsafeBytes { whole in bound.withUnsafeBytes { OrderedReader.compare(whole, $0) } } < 0
    }

    // MARK: Merging

    /// `items` with the changes below `until`, which are then done. An entry that is to go and is not there, or to come
    /// and is, is passed over.
    private func apply(_ changes: inout UpcomingChanges, to items: OrderedItems, until: [UInt8]?) -> OrderedItems {
        guard let first = changes.first, until.map({ Self.isBelow(first, $0) }) ?? true else { return items }
        let result = OrderedItems()
        var position = 0
        func takeBelow(_ change: OrderedChanges.Change) {
            while position < items.count {
                let item = items.list[position]
                guard OrderedItems.compare(items.bytes(item), item.key, change.bytes, change.key) < 0 else { return }
                result.append(items.bytes(item), item.key)
                position += 1
            }
        }
        while let change = changes.first, until.map({ Self.isBelow(change, $0) }) ?? true {
            takeBelow(change)
            if position < items.count {
                let item = items.list[position]
                if OrderedItems.compare(items.bytes(item), item.key, change.bytes, change.key) == 0 { position += 1 }
            }
            if !change.isRemoved { result.append(change.bytes, change.key) }
            changes.removeFirst()
        }
        for item in items.list[position...] { result.append(items.bytes(item), item.key) }
        return result
    }

    /// Everything that is left comes behind all there is: full blocks.
    private func append(
        _ changes: inout UpcomingChanges, _ last: OrderedItems, _ bound: [UInt8], into batch: inout PageBatch
    ) {
        let filler = OrderedBlockFiller(prefix: encoder.prefix, bound: bound, blockBytes: encoder.blockBytes)
        for item in last.list { filler.append(last.bytes(item), item.key, into: &batch) }
        while let change = changes.first {
            if !change.isRemoved { filler.append(change.bytes, change.key, into: &batch) }
            changes.removeFirst()
        }
        filler.finish(into: &batch)
    }
}

/// The changes that are not done yet, of which some may be looked at before their turn.
private struct UpcomingChanges {
    private var stream: OrderedChanges.Stream
    private(set) var first: OrderedChanges.Change?
    /// Those behind the first that were looked at, the next one last.
    private var ahead: [OrderedChanges.Change] = []

    init(_ stream: OrderedChanges.Stream) {
        self.stream = stream
        first = self.stream.next()
    }

    mutating func removeFirst() { first = ahead.popLast() ?? stream.next() }
    mutating func removeFirst(_ count: Int) { for _ in 0 ..< count { removeFirst() } }

    /// The first one and those behind it that are below a block's bound; nil where these are more than `most`.
    mutating func few(_ most: Int, below bound: [UInt8]?) -> [OrderedChanges.Change]? {
        guard let first else { return [] }
        var few = [first]
        // Looked at, and put back in their turn.
        var seen: [OrderedChanges.Change] = []
        while few.count <= most, let change = ahead.popLast() ?? stream.next() {
            seen.append(change)
            guard bound.map({ OrderedMerge.isBelow(change, $0) }) ?? true else { break }
            few.append(change)
        }
        ahead += seen.reversed()
        return few.count > most ? nil : few
    }
}
