/// Bytes as hexadecimal digits, both ways; written in lower case, read in either.
enum Hexadecimal {
    @inline(__always)
    static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30 ... 0x39: byte - 0x30
        case 0x61 ... 0x66: byte - 0x61 + 10
        case 0x41 ... 0x46: byte - 0x41 + 10
        default: nil
        }
    }

    static func write(_ bytes: UnsafeRawBufferPointer, to sink: inout ByteSink) {
        for byte in bytes {
            sink.append(character(byte >> 4))
            sink.append(character(byte & 15))
        }
    }

    @inline(__always)
    static func character(_ digit: UInt8) -> UInt8 { digit < 10 ? 0x30 + digit : 0x61 + digit - 10 }
}
