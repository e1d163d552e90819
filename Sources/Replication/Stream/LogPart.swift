/// A message of a log in a stream: a batch, or one of the parts of a batch that is larger than a message may be.
///
///     u32 "MLP1", u32 CRC-32C of all that follows, origin 16 bytes, u64 version after which the batch is, u64 version
///     up to which it is, u64 number of the leader's message, u64 bytes of all batches since the newest snapshot, u32
///     part, u32 how many, the bytes
///
/// Numbers are little-endian. The parts of one batch stand next to each other, in their order; a batch of which one is
/// missing was never finished, and is passed over.
import CMotteShim
import MotteStorage
import MotteValues

package struct LogPart: Equatable {
    var origin: ChangeOrigin
    package internal(set) var from: Version
    var to: Version
    /// Number of the message by which the leader began to lead.
    var term: UInt64
    /// Of the batches since the newest snapshot, with this one.
    var bytesSinceSnapshot: UInt64
    var index: UInt32
    var count: UInt32
    var bytes: [UInt8]

    private static let mark: UInt32 = 0x3150_4C4D
    static let headerSize = 64

    var encoded: [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(Self.headerSize + bytes.count)
        body.append(le: Self.mark)
        body.append(le: UInt32(0))
        for number in [origin.high, origin.low, from.rawValue, to.rawValue, term, bytesSinceSnapshot] {
            body.append(le: number)
        }
        body.append(le: index)
        body.append(le: count)
        body.append(contentsOf: bytes)
        let sum = Self.checksum(body)
        withUnsafeBytes(of: sum.littleEndian) { sum in
            for (index, byte) in sum.enumerated() { body[4 + index] = byte }
        }
        return body
    }

    private static func checksum(_ message: [UInt8]) -> UInt32 {
        message.withUnsafeBytes { motte_shim_crc32c(0, $0.baseAddress.map { $0 + 8 }, $0.count - 8) }
    }

    /// `place` names the message in errors.
    package init(_ message: [UInt8], _ place: String) throws(DatabaseError) {
        guard message.count >= Self.headerSize, message.le(0, as: UInt32.self) == Self.mark,
            message.le(4, as: UInt32.self) == Self.checksum(message)
        else { throw LogText.damaged(place) }
        origin = ChangeOrigin(high: message.le(8), low: message.le(16))
        from = Version(message.le(24))
        to = Version(message.le(32))
        term = message.le(40)
        bytesSinceSnapshot = message.le(48)
        index = message.le(56)
        count = message.le(60)
        guard index < count, from < to else { throw LogText.damaged(place) }
        bytes = Array(message[Self.headerSize...])
    }

    private init(
        _ batch: ChangeBatch, term: UInt64, bytesSinceSnapshot: Int, _ index: Int, _ count: Int, _ bytes: [UInt8]
    ) {
        (origin, from, to, self.term) = (batch.origin, batch.from, batch.to, term)
        self.bytesSinceSnapshot = UInt64(bytesSinceSnapshot)
        (self.index, self.count, self.bytes) = (UInt32(index), UInt32(count), bytes)
    }

    /// A batch in messages of at most `largest` bytes; `bytes` is how it goes there.
    static func parts(
        of batch: ChangeBatch, _ bytes: [UInt8], term: UInt64, bytesSinceSnapshot: Int, largest: Int
    ) -> [LogPart] {
        let room = max(1, largest - headerSize)
        let count = max(1, (bytes.count + room - 1) / room)
        return (0 ..< count).map { index in
            let range = index * room ..< min((index + 1) * room, bytes.count)
            return LogPart(
                batch, term: term, bytesSinceSnapshot: bytesSinceSnapshot, index, count, Array(bytes[range]))
        }
    }

    /// Other messages of that name are this one.
    var name: String { "\(origin.text)-\(term)-\(from.rawValue)-\(to.rawValue)-\(index)" }
}

extension [UInt8] {
    mutating func append<Number: FixedWidthInteger>(le number: Number) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }

    /// The caller has compared with the length.
    func le<Number: FixedWidthInteger>(_ offset: Int, as _: Number.Type = Number.self) -> Number {
        withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Number.self)) }
    }
}
