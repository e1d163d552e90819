/// The one error of the engine: a stable code, a sentence that says what to do, and the facts behind it.
///
/// One reference wide, so that a throwing call costs no more than a pointer; everything else is in `Details`.
/// Language bindings turn it into a C status with `motte_error`, a Python exception or a Swift error.
package struct DatabaseError: Error, Sendable, CustomStringConvertible {
    package final class Details: Sendable {
        package let code: ErrorCode
        package let message: String
        package let path: String?
        package let className: String?
        package let propertyName: String?
        /// UTF-8 offset into the query text, for query errors.
        package let queryOffset: Int?
        /// Row of a batch that failed.
        package let rowIndex: Int?
        /// errno of the failed system call, 0 if none.
        package let systemError: Int32
        /// What a callback that refused has left behind, for the binding that called it.
        package let callback: (any AnyObject & Sendable)?

        init(
            _ code: ErrorCode, _ message: String, path: String?, className: String?, propertyName: String?,
            queryOffset: Int?, rowIndex: Int?, systemError: Int32
        ) {
            self.code = code
            self.message = message
            self.path = path
            self.className = className
            self.propertyName = propertyName
            self.queryOffset = queryOffset
            self.rowIndex = rowIndex
            self.systemError = systemError
            callback = nil
        }

        init(refused message: String, _ callback: any AnyObject & Sendable) {
            code = .callback
            self.message = message
            path = nil
            className = nil
            propertyName = nil
            queryOffset = nil
            rowIndex = nil
            systemError = 0
            self.callback = callback
        }

        init(_ other: Details, _ message: String, rowIndex: Int) {
            code = other.code
            self.message = message
            path = other.path
            className = other.className
            propertyName = other.propertyName
            queryOffset = other.queryOffset
            self.rowIndex = rowIndex
            systemError = other.systemError
            callback = other.callback
        }
    }

    package let details: Details

    package init(
        _ code: ErrorCode, _ message: String, path: String? = nil, className: String? = nil,
        propertyName: String? = nil,
        queryOffset: Int? = nil, rowIndex: Int? = nil, systemError: Int32 = 0
    ) {
        details = Details(
            code, DatabaseError.cut(message), path: path, className: className.map(DatabaseError.cut),
            propertyName: propertyName.map(DatabaseError.cut), queryOffset: queryOffset, rowIndex: rowIndex,
            systemError: systemError)
    }

    private init(_ details: Details) { self.details = details }

    /// Of a callback that refused, with what it has left behind.
    package init(refused message: String, _ callback: any AnyObject & Sendable) {
        details = Details(refused: DatabaseError.cut(message), callback)
    }

    private static let longestText = 4_000
    private static let longestEnd = 1_000

    /// A text that is too long for a message loses its middle, which is a name or a value that somebody gave: how it
    /// begins, and what it says is to be done, stay.
    private static func cut(_ text: String) -> String {
        let bytes = text.utf8
        guard bytes.count > longestText else { return text }
        let scalars = text.unicodeScalars
        var start = bytes.index(bytes.startIndex, offsetBy: longestText - longestEnd)
        while start.samePosition(in: scalars) == nil { start = bytes.index(before: start) }
        var end = bytes.index(bytes.endIndex, offsetBy: -longestEnd)
        while end.samePosition(in: scalars) == nil { end = bytes.index(after: end) }
        return text[..<start] + " ... " + text[end...]
    }

    package var code: ErrorCode { details.code }
    package var message: String { details.message }
    package var description: String { details.message }

    /// The same error with the row of a batch that caused it.
    package func at(rowIndex: Int) -> DatabaseError {
        with("row \(rowIndex): \(message)", rowIndex)
    }

    /// The same error with the position of the property that caused it, which the text names already.
    package func at(propertyIndex: Int) -> DatabaseError { with(message, propertyIndex) }

    private func with(_ message: String, _ rowIndex: Int) -> DatabaseError {
        DatabaseError(Details(details, DatabaseError.cut(message), rowIndex: rowIndex))
    }

    private static let damageStart = "the file is damaged: "
    private static let damageEnd = "; restore it from a copy, or read what is left with 'motte salvage'"

    package static func corrupted(_ what: String) -> DatabaseError {
        DatabaseError(.corrupted, damageStart + what + damageEnd)
    }

    /// The same error with something else to be done about it.
    package func advising(_ what: String) -> DatabaseError {
        DatabaseError(code, DatabaseError.damageStart + damage + what, path: details.path)
    }

    /// The message without what every message about damage says, for lists of damage.
    package var damage: String {
        var text = Substring(message)
        if text.hasPrefix(DatabaseError.damageStart) { text = text.dropFirst(DatabaseError.damageStart.count) }
        if text.hasSuffix(DatabaseError.damageEnd) { text = text.dropLast(DatabaseError.damageEnd.count) }
        return String(text)
    }
}
