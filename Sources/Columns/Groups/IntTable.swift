/// 64-bit keys to codes: 1, 2, 3, ... in the order in which they are first seen. What groups are found by.
///
/// Small keys are looked up by their place, the others by open addressing, at most half full. Whoever made one frees
/// it; it is a struct behind a pointer of its owner's, so that its loops check no access at run time.
import MotteValues

package struct IntTable {
    private struct Slot {
        var key: Int64
        /// 0 where nothing is.
        var code: UInt32
    }

    /// How many codes were given out.
    package private(set) var count = 0
    private var keys: UnsafeMutablePointer<Int64>
    private var capacity: Int
    private var slots: UnsafeMutablePointer<Slot>
    private var mask: Int
    /// Codes of keys from `-Self.below` on; 0 where nothing is.
    private let near: UnsafeMutablePointer<UInt32>

    private static let nearCount = 1 << 16
    private static let below: Int64 = 1 << 13

    package init() {
        capacity = 256
        keys = .allocate(capacity: capacity)
        mask = 511
        slots = .allocate(capacity: 512)
        slots.initialize(repeating: Slot(key: 0, code: 0), count: 512)
        near = .allocate(capacity: Self.nearCount)
        near.initialize(repeating: 0, count: Self.nearCount)
    }

    package func deallocate() {
        keys.deallocate()
        slots.deallocate()
        near.deallocate()
    }

    /// The key that has a code.
    @inline(__always)
    package func key(_ code: UInt32) -> Int64 { keys[Int(code) &- 1] }

    /// The codes of some keys; those that are new get the next ones.
    package mutating func codes(
        _ values: UnsafePointer<Int64>, _ number: Int, into output: UnsafeMutablePointer<UInt32>
    ) {
        for index in 0 ..< number { output[index] = code(values[index]) }
    }

    @inline(__always)
    package mutating func code(_ key: Int64) -> UInt32 {
        let place = UInt64(bitPattern: key &+ Self.below)
        if place < UInt64(Self.nearCount) {
            let known = near[Int(place)]
            return known != 0 ? known : addNear(key, Int(place))
        }
        var slot = Self.hash(key) & mask
        while true {
            let entry = slots[slot]
            if entry.code == 0 { return add(key, at: slot) }
            if entry.key == key { return entry.code }
            slot = (slot &+ 1) & mask
        }
    }

    @inline(__always)
    private static func hash(_ key: Int64) -> Int {
        let mixed = UInt64(bitPattern: key) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: (mixed ^ (mixed >> 32)) >> 7)
    }

    @inline(never)
    private mutating func addNear(_ key: Int64, _ place: Int) -> UInt32 {
        let code = append(key)
        near[place] = code
        return code
    }

    @inline(never)
    private mutating func add(_ key: Int64, at slot: Int) -> UInt32 {
        let code = append(key)
        slots[slot] = Slot(key: key, code: code)
        if count &* 2 > mask { grow() }
        return code
    }

    private mutating func append(_ key: Int64) -> UInt32 {
        if count == capacity {
            let larger = UnsafeMutablePointer<Int64>.allocate(capacity: capacity * 2)
            larger.update(from: keys, count: count)
            keys.deallocate()
            keys = larger
            capacity *= 2
        }
        keys[count] = key
        count += 1
        return UInt32(truncatingIfNeeded: count)
    }

    private mutating func grow() {
        let size = (mask + 1) * 4
        slots.deallocate()
        slots = .allocate(capacity: size)
        slots.initialize(repeating: Slot(key: 0, code: 0), count: size)
        mask = size - 1
        for index in 0 ..< count {
            let key = keys[index]
            if UInt64(bitPattern: key &+ Self.below) < UInt64(Self.nearCount) { continue }
            var slot = Self.hash(key) & mask
            while slots[slot].code != 0 { slot = (slot &+ 1) & mask }
            slots[slot] = Slot(key: key, code: UInt32(truncatingIfNeeded: index + 1))
        }
    }
}
