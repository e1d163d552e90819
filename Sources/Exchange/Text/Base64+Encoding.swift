/// Bytes as base64 into what is being written.
import MotteValues

extension Base64 {
    static func encode(_ bytes: UnsafeRawBufferPointer, to sink: inout ByteSink) {
        alphabet.withUnsafeBufferPointer { alphabet in
            var index = 0
            while index + 3 <= bytes.count {
                let bits = Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
                for shift in [18, 12, 6, 0] { sink.append(alphabet[bits >> shift & 63]) }
                index += 3
            }
            let left = bytes.count - index
            guard left > 0 else { return }
            let bits = Int(bytes[index]) << 16 | (left == 2 ? Int(bytes[index + 1]) << 8 : 0)
            sink.append(alphabet[bits >> 18])
            sink.append(alphabet[bits >> 12 & 63])
            sink.append(left == 2 ? alphabet[bits >> 6 & 63] : UInt8(ascii: "="))
            sink.append(UInt8(ascii: "="))
        }
    }
}
