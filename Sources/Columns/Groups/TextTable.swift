/// Texts and other values that chunks keep as bytes to codes: 1, 2, 3, ... in the order in which they are first seen; 0
/// is null. What groups by texts are found by.
///
/// Of a chunk with a dictionary each distinct text is looked up once. Texts of up to sixteen bytes, which most are, are
/// hashed and compared as two words without a branch on their size: sizes vary from one to the next, and a branch that
/// is guessed wrong costs more than all the rest. Whoever made one frees it.
import CMotteShim
import MotteValues

package struct TextTable {
    private struct Slot {
        var tag: UInt32
        /// 0 where nothing is.
        var code: UInt32
    }

    /// How many codes were given out.
    package private(set) var count = 0
    private var slots: UnsafeMutablePointer<Slot>
    private var mask: Int
    private var hashes: UnsafeMutablePointer<UInt64>
    /// Where the text of a code begins in `heap`; that of the next one is where it ends.
    private var starts: UnsafeMutablePointer<Int>
    private var capacity: Int
    private var heap: UnsafeMutableRawPointer
    private var heapCapacity: Int
    /// Codes of a chunk's dictionary.
    private var local: UnsafeMutablePointer<UInt32>
    private var localCapacity: Int

    package init() {
        mask = 511
        slots = .allocate(capacity: 512)
        slots.initialize(repeating: Slot(tag: 0, code: 0), count: 512)
        capacity = 256
        hashes = .allocate(capacity: capacity)
        starts = .allocate(capacity: capacity + 1)
        starts[0] = 0
        heapCapacity = 4096
        heap = .allocate(byteCount: heapCapacity + Self.slack, alignment: 8)
        localCapacity = 256
        local = .allocate(capacity: localCapacity)
    }

    package func deallocate() {
        slots.deallocate()
        hashes.deallocate()
        starts.deallocate()
        heap.deallocate()
        local.deallocate()
    }

    /// The bytes that have a code; at this place until the next new text.
    package func bytes(_ code: UInt32) -> UnsafeRawBufferPointer {
        let index = Int(code) - 1
        return UnsafeRawBufferPointer(start: heap + starts[index], count: starts[index + 1] - starts[index])
    }

    /// The codes of some rows of a chunk; texts that are new get the next ones.
    package mutating func codes(
        _ chunk: ColumnChunk, _ rows: Slots, isDense: Bool, into output: UnsafeMutablePointer<UInt32>
    ) {
        if chunk.isDictionary { return codesOfDictionary(chunk, rows, isDense: isDense, into: output) }
        guard let source = ShortTexts(chunk, chunk.count), !chunk.hasNulls else {
            for index in 0 ..< rows.count {
                let row = Int(rows[index])
                output[index] = chunk.isNull(row) ? 0 : code(chunk.text(row))
            }
            return
        }
        // What is looked up a little later is fetched already: tables of many texts are in no cache.
        let ahead = 16
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: ahead) { hashes in
            for index in 0 ..< min(ahead, rows.count) { hashes[index] = hash(of: Int(rows[index]), source) }
            for index in 0 ..< rows.count {
                let known = hashes[index % ahead]
                if index &+ ahead < rows.count {
                    hashes[index % ahead] = hash(of: Int(rows[index &+ ahead]), source)
                }
                let row = Int(rows[index])
                output[index] =
                    source.words(row).map { code($0, known, chunk.text(row)) } ?? code(chunk.text(row), known)
            }
        }
    }

    /// And has its place in the table fetched.
    @inline(__always)
    private func hash(of row: Int, _ source: ShortTexts) -> UInt64 {
        let hash = source.words(row).map { Self.hash($0) } ?? Self.hash(source.text(row))
        motte_shim_prefetch(slots + (Int(truncatingIfNeeded: hash >> 32) & mask))
        return hash
    }

    private mutating func codesOfDictionary(
        _ chunk: ColumnChunk, _ rows: Slots, isDense: Bool, into output: UnsafeMutablePointer<UInt32>
    ) {
        let distinct = chunk.distinctCount
        if localCapacity < distinct {
            local.deallocate()
            localCapacity = distinct * 2
            local = .allocate(capacity: localCapacity)
        }
        guard rows.count >= distinct else { return codesOfFew(chunk, rows, into: output) }
        // A text that no row has any more gets a code, too, which nobody has.
        if let source = ShortTexts(chunk, distinct) {
            for place in 0 ..< distinct {
                local[place] =
                    source.words(place).map { code($0, Self.hash($0), source.text(place)) } ?? code(source.text(place))
            }
        } else {
            for place in 0 ..< distinct { local[place] = code(chunk.text(place)) }
        }
        let codes = UnsafePointer(local)
        switch (isDense, chunk.width == 1) {
        case (true, true):
            for row in 0 ..< rows.count {
                output[row] = codes[Int(chunk.values.load(fromByteOffset: row, as: UInt8.self))]
            }
        case (true, false):
            for row in 0 ..< rows.count {
                output[row] = codes[Int(chunk.values.loadUnaligned(fromByteOffset: row &* 2, as: UInt16.self))]
            }
        case (false, _): for index in 0 ..< rows.count { output[index] = codes[chunk.code(Int(rows[index]))] }
        }
        guard chunk.hasNulls else { return }
        for index in 0 ..< rows.count where chunk.isNull(Int(rows[index])) { output[index] = 0 }
    }

    /// Of fewer rows than the dictionary has texts.
    private mutating func codesOfFew(
        _ chunk: ColumnChunk, _ rows: Slots, into output: UnsafeMutablePointer<UInt32>
    ) {
        local.update(repeating: 0, count: chunk.distinctCount)
        for index in 0 ..< rows.count {
            let row = Int(rows[index])
            if chunk.isNull(row) {
                output[index] = 0
                continue
            }
            let place = chunk.code(row)
            var known = local[place]
            if known == 0 {
                known = code(chunk.text(place))
                local[place] = known
            }
            output[index] = known
        }
    }

    package mutating func code(_ text: UnsafeRawBufferPointer) -> UInt32 { code(text, Self.hash(text)) }

    private mutating func code(_ text: UnsafeRawBufferPointer, _ hash: UInt64) -> UInt32 {
        let tag = UInt32(truncatingIfNeeded: hash)
        var slot = Int(truncatingIfNeeded: hash >> 32) & mask
        while true {
            let entry = slots[slot]
            if entry.code == 0 { return add(text, hash, at: slot) }
            if entry.tag == tag, ValueOrdering.compareBytes(bytes(entry.code), text) == 0 { return entry.code }
            slot = (slot &+ 1) & mask
        }
    }

    /// The same of a text of at most sixteen bytes.
    @inline(__always)
    private mutating func code(
        _ words: ShortTexts.Words, _ hash: UInt64, _ text: @autoclosure () -> UnsafeRawBufferPointer
    ) -> UInt32 {
        let tag = UInt32(truncatingIfNeeded: hash)
        var slot = Int(truncatingIfNeeded: hash >> 32) & mask
        while true {
            let entry = slots[slot]
            if entry.code == 0 { return add(text(), hash, at: slot) }
            if entry.tag == tag, isEqual(entry.code, words) { return entry.code }
            slot = (slot &+ 1) & mask
        }
    }

    @inline(__always)
    private func isEqual(_ code: UInt32, _ words: ShortTexts.Words) -> Bool {
        let index = Int(code) &- 1
        let start = starts[index]
        let size = starts[index &+ 1] &- start
        if size != words.size { return false }
        let mine = ShortTexts.Words(at: heap + start, size)
        return (mine.first ^ words.first) | (mine.second ^ words.second) == 0
    }

    // MARK: Hashes

    /// Bytes behind the last text, so that its words can be read whole.
    private static let slack = ShortTexts.mostBytes

    @inline(__always)
    private static func mix(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }

    @inline(__always)
    private static func hash(_ words: ShortTexts.Words) -> UInt64 {
        mix(
            words.first ^ 0x4D5A_2DA5_1DE1_AA47,
            words.second ^ 0x8BB8_4B93_962E_ACC9 ^ UInt64(truncatingIfNeeded: words.size) << 58)
    }

    /// Reads no byte beyond the text.
    private static func hash(_ text: UnsafeRawBufferPointer) -> UInt64 {
        let size = text.count
        guard let place = text.baseAddress, size > ShortTexts.mostBytes else {
            return hash(ShortTexts.Words(byByte: text))
        }
        var seed: UInt64 = 0x8BB8_4B93_962E_ACC9 ^ UInt64(truncatingIfNeeded: size)
        var offset = 0
        while offset &+ 16 < size {
            seed = mix(
                place.loadUnaligned(fromByteOffset: offset, as: UInt64.self) ^ 0x4B33_A62E_D433_D4A3,
                place.loadUnaligned(fromByteOffset: offset &+ 8, as: UInt64.self) ^ seed)
            offset &+= 16
        }
        return mix(
            place.loadUnaligned(fromByteOffset: size &- 16, as: UInt64.self) ^ 0x4D5A_2DA5_1DE1_AA47,
            place.loadUnaligned(fromByteOffset: size &- 8, as: UInt64.self) ^ seed)
    }

    @inline(never)
    private mutating func add(_ text: UnsafeRawBufferPointer, _ hash: UInt64, at slot: Int) -> UInt32 {
        if count == capacity { growTexts() }
        let start = starts[count]
        if start + text.count > heapCapacity { growHeap(start + text.count) }
        if let bytes = text.baseAddress { (heap + start).copyMemory(from: bytes, byteCount: text.count) }
        starts[count + 1] = start + text.count
        hashes[count] = hash
        count += 1
        let code = UInt32(truncatingIfNeeded: count)
        slots[slot] = Slot(tag: UInt32(truncatingIfNeeded: hash), code: code)
        if count &* 2 > mask { growSlots() }
        return code
    }

    private mutating func growTexts() {
        let moreHashes = UnsafeMutablePointer<UInt64>.allocate(capacity: capacity * 2)
        moreHashes.update(from: hashes, count: count)
        hashes.deallocate()
        hashes = moreHashes
        let moreStarts = UnsafeMutablePointer<Int>.allocate(capacity: capacity * 2 + 1)
        moreStarts.update(from: starts, count: count + 1)
        starts.deallocate()
        starts = moreStarts
        capacity *= 2
    }

    private mutating func growHeap(_ needed: Int) {
        let larger = max(needed, heapCapacity * 2)
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger + Self.slack, alignment: 8)
        moved.copyMemory(from: heap, byteCount: starts[count])
        heap.deallocate()
        heap = moved
        heapCapacity = larger
    }

    private mutating func growSlots() {
        let size = (mask + 1) * 4
        slots.deallocate()
        slots = .allocate(capacity: size)
        slots.initialize(repeating: Slot(tag: 0, code: 0), count: size)
        mask = size - 1
        for index in 0 ..< count {
            var slot = Int(truncatingIfNeeded: hashes[index] >> 32) & mask
            while slots[slot].code != 0 { slot = (slot &+ 1) & mask }
            slots[slot] = Slot(
                tag: UInt32(truncatingIfNeeded: hashes[index]), code: UInt32(truncatingIfNeeded: index + 1))
        }
    }
}
