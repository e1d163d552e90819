/// A 128-bit identifier as its 16 bytes, in the order they are printed.
import CMotteShim

package struct UUIDBytes: Hashable, Comparable, Sendable {
    /// The bytes as two words in memory order, as a `ValueView` carries them.
    package let low: UInt64
    package let high: UInt64

    package init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    /// From at least 16 bytes.
    package init(_ bytes: UnsafeRawBufferPointer) {
        low = bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)
        high = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    }

    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try withUnsafeBytes(of: (low, high), body)
    }

    /// By bytes.
    package static func < (left: UUIDBytes, right: UUIDBytes) -> Bool {
        (left.low.bigEndian, left.high.bigEndian) < (right.low.bigEndian, right.high.bigEndian)
    }
}
