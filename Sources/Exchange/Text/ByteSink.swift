/// Where text goes: a buffer that is handed on in pieces, or kept until somebody takes it.
///
/// What receives the pieces may fail; the failure comes out of the next `flushIfFull` or `finish`.
import MotteValues

package struct ByteSink {
    package typealias Receiver = (UnsafeRawBufferPointer) throws(DatabaseError) -> Void

    private static let pieceBytes = 1 << 16
    package private(set) var bytes: [UInt8] = []
    private let receiver: Receiver?

    /// Keeps everything.
    package init() { receiver = nil }

    /// Hands on pieces of some 64 KB.
    package init(_ receiver: @escaping Receiver) {
        self.receiver = receiver
        bytes.reserveCapacity(Self.pieceBytes * 2)
    }

    @inline(__always)
    package mutating func append(_ byte: UInt8) { bytes.append(byte) }

    @inline(__always)
    package mutating func append(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package mutating func append(text: String) { bytes.append(contentsOf: text.utf8) }
    package mutating func append(_ run: UnsafeRawBufferPointer) { bytes.append(contentsOf: run) }

    package mutating func append(_ number: Int64) {
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        var rest = number.magnitude
        let first = bytes.count
        repeat {
            bytes.append(UInt8(0x30 + rest % 10))
            rest /= 10
        } while rest > 0
        bytes[first...].reverse()
    }

    /// With leading zeros up to a width.
    package mutating func append(_ number: Int64, width: Int) {
        var digits = 1
        var rest = number.magnitude
        while rest >= 10 {
            rest /= 10
            digits += 1
        }
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        for _ in 0 ..< max(0, width - digits) { bytes.append(0x30) }
        append(Int64(number.magnitude & UInt64(Int64.max)))
    }

    /// Of one that keeps everything: room for the next text.
    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    package mutating func flushIfFull() throws(DatabaseError) {
        if let receiver, bytes.count >= Self.pieceBytes { try handOn(receiver) }
    }

    package mutating func finish() throws(DatabaseError) {
        if let receiver, !bytes.isEmpty { try handOn(receiver) }
    }

    private mutating func handOn(_ receiver: Receiver) throws(DatabaseError) {
        try bytes.withBytes { piece throws(DatabaseError) in try receiver(piece) }
        bytes.removeAll(keepingCapacity: true)
    }

    package var string: String { String(decoding: bytes, as: UTF8.self) }
}
