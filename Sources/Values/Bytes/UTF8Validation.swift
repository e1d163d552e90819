/// Whether bytes are well-formed UTF-8, at memory speed for ASCII. Every string is checked once, on its way into the
/// store.
package enum UTF8Validation {
    package static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress else { return true }
        var index = 0
        let count = bytes.count
        while index < count {
            let first = bytes[index]
            if first < 0x80 {
                if index + 8 > count, isShortASCII(base + index, count - index) { return true }
                let isRun = index + 8 <= count && isASCII(base.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                index += isRun ? 8 : 1
                continue
            }
            let length: Int
            let lowest: UInt8
            let highest: UInt8
            // The second byte's range excludes overlong forms, surrogates and code points above U+10FFFF.
            switch first {
            case 0xC2 ... 0xDF: (length, lowest, highest) = (2, 0x80, 0xBF)
            case 0xE0: (length, lowest, highest) = (3, 0xA0, 0xBF)
            case 0xE1 ... 0xEC, 0xEE, 0xEF: (length, lowest, highest) = (3, 0x80, 0xBF)
            case 0xED: (length, lowest, highest) = (3, 0x80, 0x9F)
            case 0xF0: (length, lowest, highest) = (4, 0x90, 0xBF)
            case 0xF1 ... 0xF3: (length, lowest, highest) = (4, 0x80, 0xBF)
            case 0xF4: (length, lowest, highest) = (4, 0x80, 0x8F)
            default: return false
            }
            guard index + length <= count, bytes[index + 1] >= lowest, bytes[index + 1] <= highest else { return false }
            for rest in 2 ..< max(length, 2) where bytes[index + rest] & 0xC0 != 0x80 { return false }
            index += length
        }
        return true
    }

    /// Less than eight bytes.
    @inline(__always)
    private static func isShortASCII(_ start: UnsafeRawPointer, _ count: Int) -> Bool {
        var all: UInt32 = count & 4 != 0 ? start.loadUnaligned(as: UInt32.self) : 0
        if count & 2 != 0 { all |= UInt32(start.loadUnaligned(fromByteOffset: count & 4, as: UInt16.self)) }
        if count & 1 != 0 { all |= UInt32(start.load(fromByteOffset: count & 6, as: UInt8.self)) }
        return all & 0x8080_8080 == 0
    }

    @inline(__always)
    private static func isASCII(_ word: UInt64) -> Bool { word & 0x8080_8080_8080_8080 == 0 }
}
