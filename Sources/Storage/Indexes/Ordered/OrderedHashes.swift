/// Which bytes the pending changes of a unique index may have: hashes of all of them, and of a run that has gone to the
/// spill file a filter that says yes for three hundredths of the others.
///
/// The hash is one of this process alone, so nobody can pick values that share it.
import MotteValues

package struct OrderedHashes {
    /// Open addressing; zero is free.
    private var slots = ContiguousArray<UInt64>(repeating: 0, count: 64)
    private(set) var count = 0

    @inline(__always)
    package static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(bytes: bytes)
        return UInt64(bitPattern: Int64(hasher.finalize())) | 1
    }

    func contains(_ hash: UInt64) -> Bool {
        slots.withUnsafeBufferPointer { slots in
            let mask = slots.count - 1
            var slot = Int(truncatingIfNeeded: hash &>> 1) & mask
            while slots[slot] != 0 {
                if slots[slot] == hash { return true }
                slot = (slot &+ 1) & mask
            }
            return false
        }
    }

    /// False where it was there.
    @discardableResult
    mutating func insert(_ hash: UInt64) -> Bool {
        if count * 2 >= slots.count { grow() }
        let isNew = slots.withUnsafeMutableBufferPointer { slots in
            let mask = slots.count - 1
            var slot = Int(truncatingIfNeeded: hash &>> 1) & mask
            while slots[slot] != 0 {
                if slots[slot] == hash { return false }
                slot = (slot &+ 1) & mask
            }
            slots[slot] = hash
            return true
        }
        if isNew { count += 1 }
        return isNew
    }

    private mutating func grow() {
        let old = slots
        slots = ContiguousArray(repeating: 0, count: old.count * 4)
        count = 0
        for hash in old where hash != 0 { insert(hash) }
    }

    func forEach(_ body: (UInt64) -> Void) { for hash in slots where hash != 0 { body(hash) } }
}

/// Eight bits for each hash, of which three say that it is there.
final class OrderedHashFilter {
    private var words: ContiguousArray<UInt64>

    init(_ hashes: OrderedHashes) {
        var size = 64
        while size < hashes.count * 8 { size *= 2 }
        words = ContiguousArray(repeating: 0, count: size / 64)
        hashes.forEach { hash in for probe in 0 ..< Self.probes { set(place(hash, probe)) } }
    }

    private static let probes = 3

    func mayHave(_ hash: UInt64) -> Bool {
        for probe in 0 ..< Self.probes {
            let place = place(hash, probe)
            if words[place >> 6] & (1 << UInt64(place & 63)) == 0 { return false }
        }
        return true
    }

    private func set(_ place: Int) { words[place >> 6] |= 1 << UInt64(place & 63) }

    /// Twenty-one bits of the hash each, without the lowest, which is always set: enough for what is kept near.
    private func place(_ hash: UInt64, _ probe: Int) -> Int {
        Int(truncatingIfNeeded: hash &>> UInt64(1 + 21 * probe)) & (words.count * 64 - 1)
    }
}
