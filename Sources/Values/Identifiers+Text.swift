/// Identifiers as hexadecimal text and back, and new ones.
import CMotteShim

private enum Hex {
    static let digits = Array("0123456789abcdef".utf8)

    static func append(_ byte: UInt8, to text: inout [UInt8]) {
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
    }

    static func value(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30 ... 0x39: byte - 0x30
        case 0x61 ... 0x66: byte - 0x61 + 10
        case 0x41 ... 0x46: byte - 0x41 + 10
        default: nil
        }
    }

    /// nil unless `text` is exactly `count` bytes in digits.
    static func bytes(_ text: [UInt8], count: Int) -> [UInt8]? {
        guard text.count == count * 2 else { return nil }
        var bytes: [UInt8] = []
        for index in 0 ..< count {
            guard let high = value(text[index * 2]), let low = value(text[index * 2 + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}

extension ObjectID {
    /// 24 lower-case hexadecimal digits.
    package var text: String {
        var text: [UInt8] = []
        withBytes { for byte in $0 { Hex.append(byte, to: &text) } }
        return String(decoding: text, as: UTF8.self)
    }

    /// From 24 hexadecimal digits of either case.
    package init?(parsing text: String) {
        guard let bytes = Hex.bytes(Array(text.utf8), count: 12) else { return nil }
        self = bytes.withUnsafeBytes { ObjectID($0) }
    }

    /// When it was made: seconds since 1970.
    package var seconds: UInt32 { UInt32(truncatingIfNeeded: low.bigEndian >> 32) }

    /// Five random bytes of this process, and where its counters begin. A forked child draws its own: with its
    /// parent's both would make the same identifiers.
    private struct Origin {
        let forkGeneration = motte_shim_fork_generation()
        let random: UInt64
        let counter: UInt32

        init() {
            var words: (UInt64, UInt64) = (0, 0)
            withUnsafeMutableBytes(of: &words) { _ = motte_shim_random($0.baseAddress, $0.count) }
            random = words.0 & 0xFF_FFFF_FFFF
            // Starts low enough that a second's worth of identifiers does not wrap around.
            counter = UInt32(words.1 & 0x3F_FFFF)
        }
    }

    private struct Latest {
        var origin = Origin()
        var seconds: UInt32 = 0
        var counter: UInt32 = 0
    }

    private static let latest = Locked(ofProcess: Latest())

    /// A new one, above those that this process made before.
    package static func generate() -> ObjectID {
        let now = UInt32(truncatingIfNeeded: motte_shim_wall_time_ns() / 1_000_000_000)
        let (seconds, counter, random) = latest.withLock { latest in
            if latest.origin.forkGeneration != motte_shim_fork_generation() { latest = Latest() }
            if now > latest.seconds {
                (latest.seconds, latest.counter) = (now, latest.origin.counter)
            } else {
                latest.counter += 1
                if latest.counter > 0xFF_FFFF { (latest.seconds, latest.counter) = (latest.seconds + 1, 0) }
            }
            return (latest.seconds, latest.counter, latest.origin.random)
        }
        let high = UInt64(seconds) << 32 | (random >> 8)
        let low = UInt32(truncatingIfNeeded: random & 0xFF) << 24 | counter
        return ObjectID(low: high.bigEndian, high: UInt64(low.bigEndian))
    }
}

extension UUIDBytes {
    /// In the canonical form, 8-4-4-4-12 lower-case hexadecimal digits.
    package var text: String {
        var text: [UInt8] = []
        withBytes { bytes in
            for (index, byte) in bytes.enumerated() {
                if index == 4 || index == 6 || index == 8 || index == 10 { text.append(UInt8(ascii: "-")) }
                Hex.append(byte, to: &text)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// From the canonical form, in either case.
    package init?(parsing text: String) {
        let all = Array(text.utf8)
        guard all.count == 36, [8, 13, 18, 23].allSatisfy({ all[$0] == UInt8(ascii: "-") }),
            let bytes = Hex.bytes(all.filter { $0 != UInt8(ascii: "-") }, count: 16)
        else { return nil }
        self = bytes.withUnsafeBytes { UUIDBytes($0) }
    }

    /// A random one (version 4).
    package static func generate() -> UUIDBytes {
        var bytes = [UInt8](repeating: 0, count: 16)
        bytes.withUnsafeMutableBytes { _ = motte_shim_random($0.baseAddress, $0.count) }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes.withUnsafeBytes { UUIDBytes($0) }
    }
}
