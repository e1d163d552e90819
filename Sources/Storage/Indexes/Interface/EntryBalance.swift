/// Whether rows and an index have the same entries, in memory that does not grow with them: rows add to sums of hashes,
/// what is stored is taken from them, and of a sound index nothing is left. There is a sum for each of 256 parts of
/// the hashes, so that of an index that is wrong somewhere only entries of parts that are uneven need be compared.
///
/// Hashes begin with a random number, so that nobody can make a file whose surplus makes up for what it lacks; by
/// chance that takes some 2^64 tries.
import CMotteShim
import MotteValues

package final class EntryBalance {
    private struct Part {
        var count = 0
        var sum: UInt64 = 0
    }

    private static let partCount = 256
    private static let partShift: UInt64 = 56
    private let seed = UInt64.random(in: 0 ... .max)
    private let parts = UnsafeMutablePointer<Part>.allocate(capacity: partCount)

    package init() { parts.initialize(repeating: Part(), count: EntryBalance.partCount) }
    deinit { parts.deallocate() }

    // MARK: Hashes

    @inline(__always)
    package func hash(_ entry: IndexEntry) -> UInt64 { Self.mix(Self.mix(entry.value ^ seed) &+ entry.key) }

    @inline(__always)
    package func hash(null key: UInt64) -> UInt64 { Self.mix(Self.mix(key &+ seed) ^ seed) }

    func hash(_ bytes: UnsafeRawBufferPointer, _ key: UInt64) -> UInt64 {
        Self.mix(Self.mix(motte_shim_xxh3(bytes.baseAddress, bytes.count) ^ seed) &+ key)
    }

    /// Of splitmix64: one to one, and every bit depends on all.
    @inline(__always)
    private static func mix(_ word: UInt64) -> UInt64 {
        var word = word &+ 0x9E37_79B9_7F4A_7C15
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    // MARK: Weighing

    /// What a row has.
    @inline(__always)
    package func add(_ hash: UInt64) {
        let part = parts + Int(truncatingIfNeeded: hash >> Self.partShift)
        part.pointee.count &+= 1
        // The part says eight bits of the hash already.
        part.pointee.sum &+= Self.mix(hash ^ seed)
    }

    /// What is stored.
    @inline(__always)
    package func take(_ hash: UInt64) {
        let part = parts + Int(truncatingIfNeeded: hash >> Self.partShift)
        part.pointee.count &-= 1
        part.pointee.sum &-= Self.mix(hash ^ seed)
    }

    package var isEven: Bool {
        for part in 0 ..< Self.partCount where parts[part].count != 0 || parts[part].sum != 0 { return false }
        return true
    }

    /// Whether the hash is of a part in which something is left.
    @inline(__always)
    package func isUneven(_ hash: UInt64) -> Bool {
        let part = parts[Int(truncatingIfNeeded: hash >> Self.partShift)]
        return part.count != 0 || part.sum != 0
    }
}
