/// The text of a query, for errors that show where they are.
///
///     there is no property 'nmae'; did you mean 'name'?
///       age > 3 AND nmae == 'x'
///                   ^
///
/// Only the line with the error is shown, and of a long line only what is around it. Predicates that were not made from
/// text have an empty source; their errors are the sentence alone.
import MotteValues

package struct QuerySource: Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }
    package static let none = QuerySource("")

    package func error(
        _ code: ErrorCode, _ message: String, at position: SourcePosition, className: String? = nil,
        propertyName: String? = nil
    ) -> DatabaseError {
        guard let offset = position.utf8Offset, offset >= 0, !text.isEmpty else {
            return DatabaseError(code, message, className: className, propertyName: propertyName)
        }
        return DatabaseError(
            code, message + "\n" + excerpt(offset), className: className, propertyName: propertyName,
            queryOffset: offset)
    }

    private static let widest = 100

    private func excerpt(_ offset: Int) -> String {
        let bytes = Array(text.utf8)
        let position = min(max(offset, 0), bytes.count)
        var start = position, end = position
        while start > 0, bytes[start - 1] != 0x0A { start -= 1 }
        while end < bytes.count, bytes[end] != 0x0A { end += 1 }
        var before = Array(String(decoding: bytes[start ..< position], as: UTF8.self).unicodeScalars)
        var after = Array(String(decoding: bytes[position ..< end], as: UTF8.self).unicodeScalars)
        if before.count + after.count > Self.widest {
            if before.count > Self.widest / 2 { before = Array("...".unicodeScalars) + before.suffix(Self.widest / 2) }
            if after.count > Self.widest / 2 { after = after.prefix(Self.widest / 2) + Array("...".unicodeScalars) }
        }
        var line = "  ", caret = "  "
        for scalar in before {
            line.unicodeScalars.append(Self.printable(scalar))
            // A tab stays one, so that the caret stands under its character however wide tabs are.
            caret.unicodeScalars.append(scalar == "\t" ? "\t" : " ")
        }
        for scalar in after { line.unicodeScalars.append(Self.printable(scalar)) }
        return line + "\n" + caret + "^"
    }

    private static func printable(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        scalar.value >= 0x20 || scalar == "\t" ? scalar : " "
    }
}

/// Where in the text something stood, in UTF-8 bytes; nil for what was not made from text.
///
/// Any two are equal, so that trees compare by what they mean.
package struct SourcePosition: Sendable, Equatable {
    package let utf8Offset: Int?
    package init(_ utf8Offset: Int?) { self.utf8Offset = utf8Offset }
    package static let none = SourcePosition(nil)
    package static func == (left: SourcePosition, right: SourcePosition) -> Bool { true }
}
