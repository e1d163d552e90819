/// Texts and other values that chunks keep as bytes to codes: 1, 2, 3, ... in the order in which they are first seen; 0
/// is null. What groups by texts are found by.
///
/// Of a chunk with a dictionary each distinct text is looked up once. Whoever made one frees it.
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
        heap = .allocate(byteCount: heapCapacity, alignment: 8)
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
    package mutating func codes(_ chunk: ColumnChunk, _ rows: Slots, into output: UnsafeMutablePointer<UInt32>) {
        if chunk.isDictionary { return codesOfDictionary(chunk, rows, into: output) }
        if chunk.hasNulls || chunk.hasLongTexts || chunk.heap == nil {
            for index in 0 ..< rows.count {
                let row = Int(rows[index])
                output[index] = chunk.isNull(row) ? 0 : code(chunk.text(row))
            }
            return
        }
        for index in 0 ..< rows.count { output[index] = code(chunk.text(Int(rows[index]))) }
    }

    private mutating func codesOfDictionary(
        _ chunk: ColumnChunk, _ rows: Slots, into output: UnsafeMutablePointer<UInt32>
    ) {
        let distinct = chunk.distinctCount
        if localCapacity < distinct {
            local.deallocate()
            localCapacity = distinct * 2
            local = .allocate(capacity: localCapacity)
        }
        local.update(repeating: 0, count: distinct)
        let hasNulls = chunk.hasNulls
        for index in 0 ..< rows.count {
            let row = Int(rows[index])
            if hasNulls, chunk.isNull(row) {
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

    @inline(__always)
    package mutating func code(_ text: UnsafeRawBufferPointer) -> UInt32 {
        let hash = Self.hash(text)
        let tag = UInt32(truncatingIfNeeded: hash)
        var slot = Int(truncatingIfNeeded: hash >> 32) & mask
        while true {
            let entry = slots[slot]
            if entry.code == 0 { return add(text, hash, at: slot) }
            if entry.tag == tag, isEqual(entry.code, text) { return entry.code }
            slot = (slot &+ 1) & mask
        }
    }

    @inline(__always)
    private func isEqual(_ code: UInt32, _ text: UnsafeRawBufferPointer) -> Bool {
        let index = Int(code) &- 1
        let start = starts[index]
        let size = starts[index &+ 1] &- start
        guard size == text.count, let other = text.baseAddress else { return size == text.count }
        let mine = heap + start
        if size >= 8 {
            var offset = 0
            while offset &+ 8 <= size {
                if Self.word(mine, offset) != Self.word(other, offset) { return false }
                offset &+= 8
            }
            return Self.word(mine, size &- 8) == Self.word(other, size &- 8)
        }
        for offset in 0 ..< size
        where mine.load(fromByteOffset: offset, as: UInt8.self) != other.load(fromByteOffset: offset, as: UInt8.self) {
            return false
        }
        return true
    }

    @inline(__always)
    private static func word(_ place: UnsafeRawPointer, _ offset: Int) -> UInt64 {
        place.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }

    @inline(__always)
    private static func half(_ place: UnsafeRawPointer, _ offset: Int) -> UInt64 {
        UInt64(place.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    @inline(__always)
    private static func mix(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }

    /// Reads no byte beyond the text.
    @inline(__always)
    private static func hash(_ text: UnsafeRawBufferPointer) -> UInt64 {
        let size = text.count
        guard size > 0, let place = text.baseAddress else { return 0x2D35_8DCC_AA6C_78A5 }
        var seed: UInt64 = 0x8BB8_4B93_962E_ACC9 ^ UInt64(truncatingIfNeeded: size)
        var first: UInt64
        var second: UInt64 = 0
        if size >= 8 {
            var offset = 0
            while offset &+ 16 < size {
                seed = mix(
                    word(place, offset) ^ 0x4B33_A62E_D433_D4A3, word(place, offset &+ 8) ^ seed)
                offset &+= 16
            }
            first = word(place, min(offset, size &- 8))
            second = word(place, size &- 8)
        } else if size >= 4 {
            first = half(place, 0)
            second = half(place, size &- 4)
        } else {
            first = UInt64(place.load(as: UInt8.self))
            first |= UInt64(place.load(fromByteOffset: size >> 1, as: UInt8.self)) << 8
            first |= UInt64(place.load(fromByteOffset: size &- 1, as: UInt8.self)) << 16
        }
        return mix(first ^ 0x4D5A_2DA5_1DE1_AA47, second ^ seed)
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
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 8)
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
