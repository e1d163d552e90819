/// Lines of a source up to an offset that only advances; each byte is looked at once.
struct LineCounter {
    private(set) var line: Int
    private var offset = 0

    init(firstLine: Int = 1) { line = firstLine }

    mutating func advance(to end: Int, in bytes: UnsafePointer<UInt8>) -> Int {
        while offset + 8 <= end {
            let word = UnsafeRawPointer(bytes + offset).loadUnaligned(as: UInt64.self)
            line += Self.newlines(word)
            offset += 8
        }
        while offset < end {
            if bytes[offset] == 0x0A { line += 1 }
            offset += 1
        }
        return line
    }

    /// How many of eight bytes are line feeds: exact, without carries from byte to byte.
    private static func newlines(_ word: UInt64) -> Int {
        let low: UInt64 = 0x7F7F_7F7F_7F7F_7F7F
        let different = word ^ 0x0A0A_0A0A_0A0A_0A0A
        return (~(((different & low) &+ low) | different | low)).nonzeroBitCount
    }
}
