/// Matching text as the query language does: by UTF-8 bytes, or with case folded ([c]).
///
/// Folding lowers every scalar on its own (no locale): pure ASCII on both sides is compared in place, other text is
/// folded into a buffer first. An empty pattern matches nothing, also not the empty text; LIKE is the exception.
import MotteValues

package struct TextMatcher: Sendable {
    package enum Mode: UInt8, Sendable { case equal, beginsWith, endsWith, contains, like }

    private let mode: Mode
    let ignoresCase: Bool
    /// Folded where case is ignored.
    let pattern: [UInt8]

    var isContains: Bool { mode == .contains }

    package init(_ mode: Mode, _ pattern: UnsafeRawBufferPointer, ignoresCase: Bool) {
        self.mode = mode
        self.ignoresCase = ignoresCase
        self.pattern = ignoresCase ? Self.folded(pattern) : [UInt8](pattern)
    }

    package func matches(_ text: UnsafeRawBufferPointer) -> Bool {
        guard ignoresCase else { return pattern.withUnsafeBytes { Self.match(mode, text, $0, fold: false) } }
        if Self.isASCII(text) { return pattern.withUnsafeBytes { Self.match(mode, text, $0, fold: true) } }
        let folded = Self.folded(text)
        return pattern.withUnsafeBytes { pattern in
            folded.withUnsafeBytes { Self.match(mode, $0, pattern, fold: false) }
        }
    }

    private static func match(
        _ mode: Mode, _ text: UnsafeRawBufferPointer, _ pattern: UnsafeRawBufferPointer, fold: Bool
    ) -> Bool {
        let size = pattern.count
        switch mode {
        case .equal: return text.count == size && equals(text, 0, pattern, fold)
        case .like: return like(text, pattern, fold)
        case .beginsWith: return size > 0 && text.count >= size && equals(text, 0, pattern, fold)
        case .endsWith: return size > 0 && text.count >= size && equals(text, text.count - size, pattern, fold)
        case .contains:
            guard size > 0, text.count >= size else { return false }
            let first = pattern[0]
            for start in 0 ... text.count - size {
                let byte = fold ? lowered(text[start]) : text[start]
                if byte == first, equals(text, start, pattern, fold) { return true }
            }
            return false
        }
    }

    @inline(__always)
    private static func equals(
        _ text: UnsafeRawBufferPointer, _ start: Int, _ pattern: UnsafeRawBufferPointer, _ fold: Bool
    ) -> Bool {
        for index in 0 ..< pattern.count {
            let byte = text[start &+ index]
            if (fold ? lowered(byte) : byte) != pattern[index] { return false }
        }
        return true
    }

    /// `*` any run, `?` one character (not one byte).
    private static func like(_ text: UnsafeRawBufferPointer, _ pattern: UnsafeRawBufferPointer, _ fold: Bool) -> Bool {
        var position = 0, wanted = 0
        var star = -1, retry = 0
        while position < text.count {
            if wanted < pattern.count, pattern[wanted] == UInt8(ascii: "*") {
                star = wanted
                retry = position
                wanted += 1
            } else if wanted < pattern.count, pattern[wanted] == UInt8(ascii: "?") {
                position = next(text, position)
                wanted += 1
            } else if wanted < pattern.count, (fold ? lowered(text[position]) : text[position]) == pattern[wanted] {
                position += 1
                wanted += 1
            } else if star >= 0 {
                retry = next(text, retry)
                position = retry
                wanted = star + 1
            } else {
                return false
            }
        }
        while wanted < pattern.count, pattern[wanted] == UInt8(ascii: "*") { wanted += 1 }
        return wanted == pattern.count
    }

    private static func next(_ text: UnsafeRawBufferPointer, _ position: Int) -> Int {
        var next = position + 1
        while next < text.count, text[next] & 0xC0 == 0x80 { next += 1 }
        return next
    }

    @inline(__always)
    private static func lowered(_ byte: UInt8) -> UInt8 { byte &- 65 < 26 ? byte | 0x20 : byte }

    /// As many bytes as the pattern has, compared as ASCII.
    @inline(__always)
    func isSame(_ text: UnsafeRawBufferPointer, _ pattern: UnsafeRawBufferPointer) -> Bool {
        Self.equals(text, 0, pattern, ignoresCase)
    }

    static func isASCII(_ text: UnsafeRawBufferPointer) -> Bool {
        guard let base = text.baseAddress else { return true }
        var index = 0
        while index &+ 8 <= text.count {
            if base.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 != 0 { return false }
            index &+= 8
        }
        while index < text.count {
            if base.load(fromByteOffset: index, as: UInt8.self) >= 0x80 { return false }
            index &+= 1
        }
        return true
    }

    /// Every scalar's lower case.
    package static func folded(_ text: UnsafeRawBufferPointer) -> [UInt8] {
        if isASCII(text) { return text.map(lowered) }
        var folded: [UInt8] = []
        folded.reserveCapacity(text.count)
        for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
            folded.append(contentsOf: scalar.properties.lowercaseMapping.utf8)
        }
        return folded
    }
}
