/// What every layer has to know of a type, in one place: `ValueKind` is a type of values, and this is its row.
///
/// Code elsewhere asks for a value's `form`, for what a column of the type can be, or for how its values are written,
/// never for the type itself. A type of an existing form, such as another identifier of some bytes, is a case of
/// `ValueKind` and a row in each table here; a new form is found missing by the compiler wherever forms are
/// distinguished. What else has to be changed is listed in docs/ARCHITECTURE.md.
extension ValueKind {
    /// How values lie in a `ValueView`, in chunks and in documents, and how they are compared.
    package enum Form: UInt8, Sendable {
        case null, bool, int, float, double
        /// Text and bytes, by the address of the first.
        case string, data
        case timestamp, link, decimal
        /// Some bytes that are the value, in the view itself, ordered as bytes.
        case identifier
        /// Lists and maps nested in a mixed value.
        case list, map
    }

    @inlinable package var form: Form {
        switch self {
        case .null: .null
        case .bool: .bool
        case .int: .int
        case .float: .float
        case .double: .double
        case .string: .string
        case .data: .data
        case .timestamp: .timestamp
        case .link: .link
        case .decimal: .decimal
        case .objectID, .uuid: .identifier
        case .list: .list
        case .map: .map
        }
    }

    /// As it is written in schemas, queries, messages and dumps.
    package var name: String {
        switch self {
        case .null: "null"
        case .bool: "bool"
        case .int: "int"
        case .float: "float"
        case .double: "double"
        case .string: "string"
        case .data: "data"
        case .timestamp: "timestamp"
        case .link: "link"
        case .decimal: "decimal"
        case .objectID: "objectId"
        case .uuid: "uuid"
        case .list: "list"
        case .map: "map"
        }
    }

    /// Its place in the order of values of different types; numbers share one.
    @inlinable package var rank: Int {
        switch self {
        case .null: 0
        case .bool: 1
        case .int, .float, .double, .decimal: 2
        case .string: 3
        case .data: 4
        case .timestamp: 5
        case .objectID: 6
        case .uuid: 7
        case .link: 8
        case .list: 9
        case .map: 10
        }
    }

    /// Bytes of a value that is nothing but some bytes.
    @inlinable package var byteCount: Int? {
        switch self {
        case .decimal, .uuid: 16
        case .objectID: 12
        case .null, .bool, .int, .float, .double, .string, .data, .timestamp, .link, .list, .map: nil
        }
    }

    package var isNumeric: Bool {
        switch form {
        case .int, .float, .double, .decimal: true
        case .null, .bool, .string, .data, .timestamp, .link, .identifier, .list, .map: false
        }
    }

    package var canBePrimaryKey: Bool {
        switch form {
        case .int, .string, .identifier: true
        case .null, .bool, .float, .double, .data, .timestamp, .link, .decimal, .list, .map: false
        }
    }

    package var canBeIndexed: Bool {
        switch form {
        case .bool, .int, .string, .timestamp, .identifier: true
        case .null, .float, .double, .decimal, .data, .link, .list, .map: false
        }
    }

    /// What a property has that nobody gave a value and that cannot be null; there is none of links.
    package var zero: ValueView? {
        switch form {
        case .null, .link, .list, .map: nil
        case .bool: .bool(false)
        case .int: .int(0)
        case .float: .float(0)
        case .double: .double(0)
        case .string: .string(UnsafeRawBufferPointer(start: nil, count: 0))
        case .data: .data(UnsafeRawBufferPointer(start: nil, count: 0))
        case .timestamp: .timestamp(Timestamp(seconds: 0, nanoseconds: 0))
        case .decimal: .decimal(.zero)
        case .identifier: ValueView(kindNumber: rawValue)
        }
    }

    /// Of the identifiers: how they are written.
    package var identifier: IdentifierType? {
        switch self {
        case .objectID: .objectID
        case .uuid: .uuid
        case .null, .bool, .int, .float, .double, .string, .data, .timestamp, .link, .decimal, .list, .map: nil
        }
    }
}

/// A type whose values are some bytes.
package struct IdentifierType: Sendable {
    package let kind: ValueKind
    /// In front of the parenthesis in queries, and behind a dollar sign in JSON.
    package let word: String
    /// What its texts look like, for messages: "is not ...".
    package let description: String
    package let example: String
    private let parse: @Sendable (String) -> ValueView?
    private let write: @Sendable (ValueView) -> String

    package static let all: [IdentifierType] = ValueKind.allCases.compactMap(\.identifier)

    /// nil where the text is no value.
    package func value(_ text: String) -> ValueView? { parse(text) }

    package func text(_ view: ValueView) -> String { write(view) }

    static let objectID = IdentifierType(
        kind: .objectID, word: "oid", description: "an objectId, which has 24 hexadecimal digits",
        example: "507f1f77bcf86cd799439011", parse: { ObjectID(parsing: $0).map(ValueView.objectID) },
        write: { $0.objectIDValue.text })

    static let uuid = IdentifierType(
        kind: .uuid, word: "uuid", description: "a uuid, as 01234567-89ab-cdef-0123-456789abcdef",
        example: "123e4567-e89b-12d3-a456-426614174000", parse: { UUIDBytes(parsing: $0).map(ValueView.uuid) },
        write: { $0.uuidValue.text })
}

extension ValueView {
    /// nil for a number that is no kind.
    @inlinable package var form: ValueKind.Form? { kind?.form }

    /// An identifier or a decimal, from as many bytes as its type has.
    @inlinable package init(_ kind: ValueKind, bytes: UnsafeRawPointer) {
        let low = bytes.loadUnaligned(as: UInt64.self)
        let high =
            kind.byteCount == 12
            ? UInt64(bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
            : bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        self.init(kindNumber: kind.rawValue, low: low, high: high)
    }

    /// The bytes of an identifier or a decimal.
    @inlinable package func withOwnBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let words = (low, high)
        return try withUnsafeBytes(of: words) { bytes throws(Failure) in
            try body(UnsafeRawBufferPointer(rebasing: bytes[..<(kind?.byteCount ?? 0)]))
        }
    }
}
