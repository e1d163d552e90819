/// A 12-byte identifier that ascends with time: 4 bytes of seconds, 5 of the process, 3 of a counter.
import CMotteShim

package struct ObjectID: Hashable, Comparable, Sendable {
    /// The first eight bytes in memory order, as a `ValueView` carries them.
    package let low: UInt64
    /// The last four, with zeros behind.
    package let high: UInt64

    package init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high & UInt64(UInt32.max).littleEndian
    }

    package static let zero = ObjectID(low: 0, high: 0)

    /// From at least 12 bytes.
    package init(_ bytes: UnsafeRawBufferPointer) {
        low = bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)
        high = UInt64(bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self).littleEndian).littleEndian
    }

    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try withUnsafeBytes(of: (low, high)) { try body(UnsafeRawBufferPointer(rebasing: $0[..<12])) }
    }

    /// By bytes.
    package static func < (left: ObjectID, right: ObjectID) -> Bool {
        (left.low.bigEndian, left.high.bigEndian) < (right.low.bigEndian, right.high.bigEndian)
    }
}
