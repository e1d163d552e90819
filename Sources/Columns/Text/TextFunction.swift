/// What a query may compute of a text before it compares: `length(trim(name)) > 3`, `lower(substr(name, 1, 2)) == 'a'`
///
/// Characters are Unicode scalars, as in SQLite, so that nothing depends on tables of graphemes. Cases are those of
/// each scalar by itself, as `[c]` has them, without a language. Of null and of what is no text a function is null.
import MotteValues

package enum TextFunction: Sendable, Equatable {
    /// Scalars of a text, bytes of data; nothing can follow it.
    case length
    case lower, upper
    /// White space at both ends, at the beginning, at the end.
    case trim, trimStart, trimEnd
    /// From the `start`-th scalar on, counted from 1, or from the end where it is negative; as many as `count`.
    case part(start: Int, count: Int?)

    package var word: String {
        switch self {
        case .length: "length"
        case .lower: "lower"
        case .upper: "upper"
        case .trim: "trim"
        case .trimStart: "ltrim"
        case .trimEnd: "rtrim"
        case .part: "substr"
        }
    }

    /// A part without its numbers.
    package static func named(_ word: String) -> TextFunction? {
        switch word.lowercased() {
        case "length": .length
        case "lower": .lower
        case "upper": .upper
        case "trim": .trim
        case "ltrim": .trimStart
        case "rtrim": .trimEnd
        case "substr": .part(start: 1, count: nil)
        default: nil
        }
    }
}

/// One after the other, the innermost first.
package struct TextFunctions: Sendable, Equatable {
    package let functions: [TextFunction]

    package init(_ functions: [TextFunction]) { self.functions = functions }

    package var isLength: Bool { functions.last == .length }

    /// What comes out is lent to `body`.
    package func apply<Result>(_ view: ValueView, _ body: (ValueView) -> Result) -> Result {
        if functions.isEmpty { return body(view) }
        switch view.kindNumber {
        case ValueKind.string.rawValue: return apply(view.bytes, functions[...], body)
        case ValueKind.data.rawValue where functions == [.length]: return body(.int(Int64(view.bytes.count)))
        default: return body(.null)
        }
    }

    private func apply<Result>(
        _ text: UnsafeRawBufferPointer, _ rest: ArraySlice<TextFunction>, _ body: (ValueView) -> Result
    ) -> Result {
        guard let function = rest.first else { return body(.string(text)) }
        let others = rest.dropFirst()
        switch function {
        case .length: return body(.int(Int64(Self.scalarCount(text))))
        case .trim: return apply(Self.trimmedEnd(Self.trimmedStart(text)), others, body)
        case .trimStart: return apply(Self.trimmedStart(text), others, body)
        case .trimEnd: return apply(Self.trimmedEnd(text), others, body)
        case .part(let start, let count): return apply(Self.part(text, start, count), others, body)
        case .lower: return withCase(text, isUpper: false) { apply($0, others, body) }
        case .upper: return withCase(text, isUpper: true) { apply($0, others, body) }
        }
    }

    // MARK: Scalars

    @inline(__always)
    private static func isContinued(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }

    private static func scalarCount(_ text: UnsafeRawBufferPointer) -> Int {
        var count = 0
        for byte in text where !isContinued(byte) { count &+= 1 }
        return count
    }

    private static func part(
        _ text: UnsafeRawBufferPointer, _ start: Int, _ count: Int?
    ) -> UnsafeRawBufferPointer {
        // Places before the first character take from the count, as in SQLite.
        var first = start > 0 ? start - 1 : start
        if start < 0 { first = scalarCount(text).addingReportingOverflow(start).partialValue }
        if start == 0 { first = -1 }
        var end = Int.max
        if let count {
            let (sum, overflow) = first.addingReportingOverflow(count)
            end = overflow ? .max : sum
        }
        guard end > 0, end > first else { return UnsafeRawBufferPointer(rebasing: text[0 ..< 0]) }
        let from = place(text, max(0, first))
        let to = end == .max ? text.count : place(text, end)
        return UnsafeRawBufferPointer(rebasing: text[from ..< max(from, to)])
    }

    /// Where the scalar with this number begins, or the end.
    private static func place(_ text: UnsafeRawBufferPointer, _ scalar: Int) -> Int {
        var number = -1
        for (index, byte) in text.enumerated() where !isContinued(byte) {
            number &+= 1
            if number == scalar { return index }
        }
        return text.count
    }

    /// The scalar that begins at `index`, and its bytes; what is no UTF-8 is passed over byte by byte.
    private static func scalar(_ text: UnsafeRawBufferPointer, _ index: Int) -> (scalar: Unicode.Scalar, size: Int)? {
        let lead = text[index]
        if lead < 0x80 { return (Unicode.Scalar(lead), 1) }
        let size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2
        guard lead >= 0xC0, index + size <= text.count else { return nil }
        var value = UInt32(lead) & (0xFF >> UInt32(size + 1))
        for next in text[index + 1 ..< index + size] { value = value << 6 | UInt32(next & 0x3F) }
        return Unicode.Scalar(value).map { ($0, size) }
    }

    private static func isSpace(_ text: UnsafeRawBufferPointer, _ index: Int) -> (isSpace: Bool, size: Int) {
        guard let (scalar, size) = scalar(text, index) else { return (false, 1) }
        return (scalar.properties.isWhitespace, size)
    }

    private static func trimmedStart(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var start = 0
        while start < text.count {
            let (isSpace, size) = isSpace(text, start)
            guard isSpace else { break }
            start += size
        }
        return UnsafeRawBufferPointer(rebasing: text[start...])
    }

    private static func trimmedEnd(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var end = text.count
        while end > 0 {
            var start = end - 1
            while start > 0, isContinued(text[start]) { start -= 1 }
            guard isSpace(text, start).isSpace else { break }
            end = start
        }
        return UnsafeRawBufferPointer(rebasing: text[..<end])
    }

    // MARK: Case

    /// No mapping makes more than three times as many bytes.
    private static let mostGrowth = 3

    private func withCase<Result>(
        _ text: UnsafeRawBufferPointer, isUpper: Bool, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        let isASCII = TextFolding.isASCII(text)
        let room = isASCII ? text.count : text.count * Self.mostGrowth
        return withUnsafeTemporaryAllocation(byteCount: max(1, room), alignment: 1) { output in
            var used = 0
            if isASCII {
                for byte in text {
                    let isOther = isUpper ? byte &- 97 < 26 : byte &- 65 < 26
                    output[used] = isOther ? byte ^ 0x20 : byte
                    used &+= 1
                }
            } else {
                var index = 0
                while index < text.count {
                    guard let (scalar, size) = Self.scalar(text, index) else {
                        index += 1
                        continue
                    }
                    index += size
                    let properties = scalar.properties
                    for byte in (isUpper ? properties.uppercaseMapping : properties.lowercaseMapping).utf8
                    where used < output.count {
                        output[used] = byte
                        used += 1
                    }
                }
            }
            return body(UnsafeRawBufferPointer(rebasing: output[..<used]))
        }
    }
}
