/// Matching text as the query language does: by UTF-8 bytes, or without regard to case ([c]) or diacritics ([d]).
///
/// Texts of pure ASCII are compared in place, others are folded into a buffer first (`TextFolding`). An empty pattern
/// matches nothing, also not the empty text; LIKE is the exception.
import MotteValues

package struct TextMatcher: Sendable {
    package enum Mode: UInt8, Sendable { case equal, beginsWith, endsWith, contains, like }

    private let mode: Mode
    package let options: TextOptions
    /// Folded by `options`.
    package let pattern: [UInt8]
    /// Asked instead of all that.
    private let expression: RegularExpression?

    var isContains: Bool { mode == .contains }
    /// What every match begins with, byte by byte; nil where that is not so.
    package var prefix: [UInt8]? { mode == .beginsWith && options.isEmpty ? pattern : nil }
    /// Whether every match is the pattern once it is folded, or begins with it.
    package var isEquality: Bool { mode == .equal && expression == nil }
    package var isBeginning: Bool { mode == .beginsWith }
    var ignoresCase: Bool { options.contains(.ignoresCase) }

    package init(_ mode: Mode, _ pattern: UnsafeRawBufferPointer, _ options: TextOptions = []) {
        self.mode = mode
        self.options = options
        self.pattern = options.isEmpty ? [UInt8](pattern) : TextFolding.folded(pattern, options)
        expression = nil
    }

    package init(_ expression: RegularExpression) {
        mode = .like
        options = []
        pattern = []
        self.expression = expression
    }

    package func matches(_ text: UnsafeRawBufferPointer) -> Bool {
        if let expression { return expression.matches(text) }
        if options.isEmpty || TextFolding.isASCII(text) {
            return pattern.withUnsafeBytes { Self.match(mode, text, $0, fold: ignoresCase) }
        }
        let folded = TextFolding.folded(text, options)
        return pattern.withUnsafeBytes { pattern in
            folded.withUnsafeBytes { Self.match(mode, $0, pattern, fold: false) }
        }
    }

    /// Those of the candidates that are not null and match: as `matches` says of each, but references are counted once
    /// for all of them, and threads that use one matcher do not wait for each other.
    package func select(_ chunk: ColumnChunk, among candidates: UnsafePointer<UInt64>, into words: SelectionWords) {
        let mode = mode, isWhole = expression == nil, isPlain = options.isEmpty, fold = ignoresCase
        pattern.withUnsafeBytes { pattern in
            for index in 0 ..< Selection.wordCount(chunk.count) {
                var open = candidates[index]
                var found: UInt64 = 0
                while open != 0 {
                    let bit = open.trailingZeroBitCount
                    open &= open &- 1
                    let row = index &* 64 &+ bit
                    if chunk.isNull(row) { continue }
                    let text = chunk.bytes(row)
                    let isFound =
                        isWhole && (isPlain || TextFolding.isASCII(text))
                        ? Self.match(mode, text, pattern, fold: fold) : matches(text)
                    if isFound { found |= 1 &<< UInt64(truncatingIfNeeded: bit) }
                }
                words[index] = found
            }
        }
    }

    /// Where the pattern differs from row to row; its own bytes, not folded.
    package static func matches(
        _ mode: Mode, _ text: UnsafeRawBufferPointer, _ pattern: UnsafeRawBufferPointer, _ options: TextOptions
    ) -> Bool {
        if options.isEmpty { return match(mode, text, pattern, fold: false) }
        return TextFolding.folded(text, options).withUnsafeBytes { text in
            TextFolding.folded(pattern, options).withUnsafeBytes { match(mode, text, $0, fold: false) }
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
        case .contains: return TextSearch.contains(text, pattern, ignoresCase: fold)
        }
    }

    @inline(__always)
    private static func equals(
        _ text: UnsafeRawBufferPointer, _ start: Int, _ pattern: UnsafeRawBufferPointer, _ fold: Bool
    ) -> Bool {
        for index in 0 ..< pattern.count {
            let byte = text[start &+ index]
            if (fold ? TextFolding.lowered(byte) : byte) != pattern[index] { return false }
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
            } else if wanted < pattern.count,
                (fold ? TextFolding.lowered(text[position]) : text[position]) == pattern[wanted]
            {
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

    /// As many bytes as the pattern has, compared as ASCII.
    @inline(__always)
    static func isSame(
        _ text: UnsafeRawBufferPointer, _ pattern: UnsafeRawBufferPointer, _ ignoresCase: Bool
    ) -> Bool {
        equals(text, 0, pattern, ignoresCase)
    }
}
