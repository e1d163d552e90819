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

    private struct Place {
        /// Behind the index's number.
        var bound: [UInt8] = []
        var isStored = false
        /// Of the block behind; nil where there is none.
        var following: [UInt8]?
    }

    func run(_ changes: inout OrderedChanges, into batch: inout PageBatch) throws(DatabaseError) {
        try changes.withStream { stream throws(DatabaseError) in try run(&stream, into: &batch) }
    }

    private func run(_ stream: inout OrderedChanges.Stream, into batch: inout PageBatch) throws(DatabaseError) {
        var next = stream.next()
        while let change = next {
            let items = OrderedItems()
            var place = try seek(change, items)
            if place.following == nil, isBehind(change, items), !change.isRemoved || items.isEmpty {
                return append(&stream, change, items, place.bound, into: &batch)
            }
            var merged = items
            var hasShrunk = false
            while true {
                let before = merged.count
                merged = apply(&stream, &next, to: merged, until: place.following)
                hasShrunk = hasShrunk || merged.count < before
                guard hasShrunk, let following = place.following,
                    merged.isEmpty || encoder.size(merged) < encoder.blockBytes / 4
                else { break }
                // Together with the block behind it.
                try absorb(following, merged, &place)
                batch.delete(encoder.prefix + following)
            }
            if merged.isEmpty {
                if place.isStored { batch.delete(encoder.prefix + place.bound) }
            } else {
                encoder.put(merged, bound: place.bound, into: &batch)
            }
        }
    }

    // MARK: Finding blocks

    private func isOwn(_ key: UnsafeRawBufferPointer) -> Bool { key.starts(with: encoder.prefix) }

    private func ownBound(_ cursor: PageCursor) -> [UInt8] { [UInt8](cursor.key.dropFirst(encoder.prefix.count)) }

    /// The block that a change falls into, taken apart, and what lies behind it.
    private func seek(_ change: OrderedChanges.Change, _ items: OrderedItems) throws(DatabaseError) -> Place {
        guard let cursor else { return Place() }
        var place = Place()
        var wanted = encoder.prefix + change.bytes
        withUnsafeBytes(of: change.key.bigEndian) { wanted.append(contentsOf: $0) }
        if try cursor.seekLast(atMost: wanted), isOwn(cursor.key) {
            place.bound = ownBound(cursor)
            place.isStored = true
            items.append(try OrderedBlock(validating: cursor.value.bytes, pageKey: cursor.key))
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

    private static func isBelow(_ change: OrderedChanges.Change, _ bound: [UInt8]) -> Bool {
        var whole = [UInt8](change.bytes)
        withUnsafeBytes(of: change.key.bigEndian) { whole.append(contentsOf: $0) }
        return whole.withUnsafeBytes { whole in bound.withUnsafeBytes { OrderedReader.compare(whole, $0) } } < 0
    }

    // MARK: Merging

    /// `items` with the changes below `until`, which are then done. An entry that is to go and is not there, or to come
    /// and is, is passed over.
    private func apply(
        _ stream: inout OrderedChanges.Stream, _ next: inout OrderedChanges.Change?, to items: OrderedItems,
        until: [UInt8]?
    ) -> OrderedItems {
        guard let first = next, until.map({ Self.isBelow(first, $0) }) ?? true else { return items }
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
        while let change = next, until.map({ Self.isBelow(change, $0) }) ?? true {
            takeBelow(change)
            if position < items.count {
                let item = items.list[position]
                if OrderedItems.compare(items.bytes(item), item.key, change.bytes, change.key) == 0 { position += 1 }
            }
            if !change.isRemoved { result.append(change.bytes, change.key) }
            next = stream.next()
        }
        for item in items.list[position...] { result.append(items.bytes(item), item.key) }
        return result
    }

    /// Everything that is left comes behind all there is: full blocks.
    private func append(
        _ stream: inout OrderedChanges.Stream, _ first: OrderedChanges.Change, _ last: OrderedItems, _ bound: [UInt8],
        into batch: inout PageBatch
    ) {
        let filler = OrderedBlockFiller(prefix: encoder.prefix, bound: bound, blockBytes: encoder.blockBytes)
        for item in last.list { filler.append(last.bytes(item), item.key, into: &batch) }
        var next: OrderedChanges.Change? = first
        while let change = next {
            if !change.isRemoved { filler.append(change.bytes, change.key, into: &batch) }
            next = stream.next()
        }
        filler.finish(into: &batch)
    }
}
