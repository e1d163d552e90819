/// A few changes made to a block of an ordered index without taking it apart: groups that they leave alone are copied
/// as they lie, most of them in a few pieces. It is what a small commit does to an index; its price is a walk over the
/// heads of the groups before the last change.
import MotteValues

extension OrderedBlock {
    /// The block with `changes`, which ascend and fall into it, under the page key it has. nil where it would take more
    /// than `limit` bytes, or have no entry left. An entry that is to go and is not there, or to come and is, is passed
    /// over.
    package func applying(_ changes: [OrderedChanges.Change], limit: Int, pageKey: [UInt8]) -> EditedBlock? {
        var entryCount = 0
        // There is always room for one entry.
        let bytes = [UInt8](unsafeUninitializedCapacity: OrderedBlockOutput.room(limit)) { buffer, initialized in
            guard let place = UnsafeMutableRawPointer(buffer.baseAddress) else { return }
            withUnsafeTemporaryAllocation(byteCount: 2 * OrderedBytes.longest, alignment: 8) { room in
                guard let last = room.baseAddress else { return }
                var edit = OrderedBlockEdit(
                    self, OrderedBlockOutput(place), limit, last, current: last + OrderedBytes.longest)
                edit.run(changes)
                guard !edit.isFull, edit.output.entries > 0 else { return }
                initialized = edit.output.seal(pageKey).count
                entryCount = edit.output.entries
            }
        }
        return bytes.isEmpty ? nil : EditedBlock(bytes: bytes, entryCount: entryCount)
    }

    package struct EditedBlock {
        package let bytes: [UInt8]
        package let entryCount: Int
    }
}

private struct OrderedBlockEdit {
    private let block: OrderedBlock
    private(set) var output: OrderedBlockOutput
    /// There was no room for something, and what is written is worth nothing.
    private(set) var isFull = false
    private let limit: Int
    private var source: OrderedBlock.Groups
    private var groupsRead = 0
    private var entriesRead = 0
    /// The group that was read last, where nothing of it is written yet, and where it begins.
    private var pending: (group: OrderedBlock.Group, start: UnsafeRawPointer)?
    /// The bytes of the group that was read last.
    private let current: UnsafeMutableRawPointer
    private var currentCount = 0
    /// The bytes of the group that was written last, unless `isInStep`.
    private let last: UnsafeMutableRawPointer
    private var lastCount = 0
    /// What was written last is, but for the pending group, what was read last: the next may be copied as it lies.
    private var isInStep = true

    init(
        _ block: OrderedBlock, _ output: OrderedBlockOutput, _ limit: Int, _ last: UnsafeMutableRawPointer,
        current: UnsafeMutableRawPointer
    ) {
        self.block = block
        self.output = output
        self.limit = limit
        self.last = last
        self.current = current
        source = OrderedBlock.Groups(block)
    }

    mutating func run(_ changes: [OrderedChanges.Change]) {
        var next = 0
        while next < changes.count, !isFull {
            let bytes = changes[next].bytes
            var end = next + 1
            while end < changes.count, OrderedReader.compare(changes[end].bytes, bytes) == 0 { end += 1 }
            copyGroups(below: bytes)
            if let group = pending?.group, OrderedReader.compare(bytes, currentBytes) == 0 {
                change(group, changes[next ..< end])
            } else {
                insert(bytes, changes[next ..< end])
            }
            next = end
        }
        copyRest()
    }

    private var currentBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: current, count: currentCount) }

    /// How many bytes of the next group are those of the group before it.
    private func shared(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard output.groups > 0 else { return 0 }
        return OrderedBlockFiller.shared(UnsafeRawBufferPointer(start: last, count: lastCount), bytes)
    }

    private mutating func hasRoom(_ size: Int) -> Bool {
        isFull = isFull || output.used + size > limit || output.groups == Int(UInt16.max)
        return !isFull
    }

    // MARK: Reading

    /// The group that was read is the last one that was written.
    private mutating func keepLast() {
        guard isInStep else { return }
        last.copyMemory(from: current, byteCount: currentCount)
        lastCount = currentCount
    }

    private mutating func read(_ group: OrderedBlock.Group) {
        if let suffix = group.suffix.baseAddress {
            (current + group.shared).copyMemory(from: suffix, byteCount: group.suffix.count)
        }
        currentCount = group.shared + group.suffix.count
        groupsRead += 1
        entriesRead += group.count
    }

    /// The first group that is not below is pending then, if there is one.
    private mutating func copyGroups(below bytes: UnsafeRawBufferPointer) {
        if pending != nil {
            guard OrderedReader.compare(currentBytes, bytes) < 0 else { return }
            copyPending()
        }
        var search = OrderedBoundSearch(bytes, matched: OrderedBlockFiller.shared(currentBytes, bytes))
        var start = source.place, groups = 0, entries = 0
        while true {
            let place = source.place
            let group = source.next()
            if let group, !search.reaches(group) {
                if isInStep {
                    read(group)
                    groups += 1
                    entries += group.count
                } else {
                    read(group)
                    copyBehindAnother(group)
                    start = source.place
                }
                continue
            }
            copy(UnsafeRawBufferPointer(start: start, count: place - start), groups, entries)
            keepLast()
            guard let group else { return }
            read(group)
            pending = (group, place)
            return
        }
    }

    // MARK: Writing

    private mutating func copy(_ bytes: UnsafeRawBufferPointer, _ groups: Int, _ entries: Int) {
        guard hasRoom(bytes.count) else { return }
        output.copy(bytes, groups: groups, entries: entries)
    }

    /// Behind a group that is another than in the block.
    private mutating func copyBehindAnother(_ group: OrderedBlock.Group) {
        let shared = shared(currentBytes), tail = group.tail
        let head = OrderedEncoder.groupSize(shared, currentCount, group.firstKey, group.firstKey, 1)
        // The count takes up to eight bytes more than a count of one.
        guard hasRoom(head + 8 + tail.count) else { return }
        output.writeHead(currentBytes, shared: shared, count: group.count, firstKey: group.firstKey)
        output.copy(tail)
        isInStep = true
    }

    private mutating func copyPending() {
        guard let (group, start) = pending else { return }
        pending = nil
        if isInStep {
            copy(UnsafeRawBufferPointer(start: start, count: source.place - start), 1, group.count)
        } else {
            copyBehindAnother(group)
        }
    }

    private mutating func copyRest() {
        copyPending()
        if !isInStep, !isFull, let group = source.next() {
            read(group)
            copyBehindAnother(group)
        }
        let rest = UnsafeRawBufferPointer(start: source.place, count: block.end - source.place)
        copy(rest, block.groupCount - groupsRead, block.entryCount - entriesRead)
    }

    private mutating func write(_ bytes: UnsafeRawBufferPointer, _ keys: ContiguousArray<UInt64>) {
        let shared = shared(bytes)
        let size = OrderedEncoder.groupSize(shared, bytes.count, keys[0], keys[keys.count - 1], keys.count)
        guard hasRoom(size) else { return }
        keys.withUnsafeBufferPointer { output.write(bytes, shared: shared, keys: $0) }
    }

    /// Rows with bytes that no group has.
    private mutating func insert(_ bytes: UnsafeRawBufferPointer, _ changes: ArraySlice<OrderedChanges.Change>) {
        var keys: ContiguousArray<UInt64> = []
        for change in changes where !change.isRemoved { keys.append(change.key) }
        guard !keys.isEmpty else { return }
        write(bytes, keys)
        if let start = bytes.baseAddress { last.copyMemory(from: start, byteCount: bytes.count) }
        lastCount = bytes.count
        isInStep = false
    }

    /// Rows with the bytes of the pending group.
    private mutating func change(_ group: OrderedBlock.Group, _ changes: ArraySlice<OrderedChanges.Change>) {
        pending = nil
        if splice(group, changes) {
            isInStep = true
            return
        }
        var keys: ContiguousArray<UInt64> = []
        keys.reserveCapacity(group.count + changes.count)
        var next = changes.startIndex
        for index in 0 ..< group.count {
            let key = group.key(index)
            while next < changes.endIndex, changes[next].key < key {
                if !changes[next].isRemoved { keys.append(changes[next].key) }
                next += 1
            }
            let isNamed = next < changes.endIndex && changes[next].key == key
            if !isNamed || !changes[next].isRemoved { keys.append(key) }
            if isNamed { next += 1 }
        }
        for change in changes[next...] where !change.isRemoved { keys.append(change.key) }
        // A group that is gone leaves the one before it as the last that was written.
        isInStep = !keys.isEmpty
        if !keys.isEmpty { write(currentBytes, keys) }
    }

    /// The pending group with its changes among the differences as they lie. False, with nothing done, where its first
    /// key or the width does not stay.
    private mutating func splice(_ group: OrderedBlock.Group, _ changes: ArraySlice<OrderedChanges.Change>) -> Bool {
        let first = group.firstKey
        guard group.count > 1, let lowest = changes.first, let highest = changes.last, lowest.key > first,
            OrderedEncoder.width(highest.key &- first) <= group.width
        else { return false }
        /// Before which key something is to be done.
        var edits: [(index: Int, added: UInt64?)] = []
        for change in changes {
            let index = group.firstIndex(notBelow: change.key)
            let isThere = index < group.count && group.key(index) == change.key
            if isThere == change.isRemoved { edits.append((index, change.isRemoved ? nil : change.key &- first)) }
        }
        let count = edits.reduce(group.count) { $0 + ($1.added == nil ? -1 : 1) }
        guard count > 1 else { return false }
        let shared = shared(currentBytes), width = group.width
        // The count may take one byte more.
        let head = OrderedEncoder.groupSize(shared, currentCount, first, first, 1) + 8
        guard hasRoom(head + 1 + (count - 1) * width) else { return true }
        output.writeHead(currentBytes, shared: shared, count: count, firstKey: first)
        output.writeWidth(width)
        var next = 1
        for edit in edits {
            output.copy(group.differences(next ..< edit.index))
            next = edit.index
            if let added = edit.added { output.write(difference: added, width) } else { next += 1 }
        }
        output.copy(group.differences(next ..< group.count))
        return true
    }
}
