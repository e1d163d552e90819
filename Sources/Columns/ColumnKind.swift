/// What a column's chunks hold, with the numbers in the file: those of the value kinds they carry. Never renumbered.
///
/// Texts, and all values without a loop of their own, are kept as runs of bytes: strings and data as they are, decimals
/// and UUIDs as their 16 bytes, object ids as their 12, mixed values as an entry of a nested document, kind byte first.
import MotteValues

package enum ColumnKind: UInt8, Sendable, CaseIterable {
    case bool = 1
    case int = 2
    case float = 3
    case double = 4
    case string = 5
    case data = 6
    case timestamp = 7
    case link = 8
    case decimal = 9
    case objectID = 10
    case uuid = 11
    case mixed = 14

    /// Whether values have bytes in a chunk's heap.
    package var hasBytes: Bool {
        switch self {
        case .string, .data, .decimal, .objectID, .uuid, .mixed: true
        case .bool, .int, .float, .double, .timestamp, .link: false
        }
    }

    /// Whether values may be too long for a chunk.
    package var mayBeLong: Bool { self == .string || self == .data || self == .mixed }

    /// The bytes that a value is kept as; it is not null and fits the kind.
    @inline(__always)
    func withBytes(of view: ValueView, _ body: (UnsafeRawBufferPointer) -> Void) {
        switch self {
        case .string, .data: body(view.bytes)
        default: withEncoded(view, body)
        }
    }

    @inline(never)
    private func withEncoded(_ view: ValueView, _ body: (UnsafeRawBufferPointer) -> Void) {
        switch self {
        case .decimal, .uuid: withUnsafeBytes(of: (view.low, view.high), body)
        case .objectID:
            withUnsafeBytes(of: (view.low, view.high)) { body(UnsafeRawBufferPointer(rebasing: $0[..<12])) }
        default: NestedDocument.encodeEntry(view).withUnsafeBytes(body)
        }
    }

    /// The value behind bytes that `check` has seen or `withBytes` made; borrows them.
    @inline(__always)
    package func view(_ bytes: UnsafeRawBufferPointer) -> ValueView {
        switch self {
        case .string: .string(bytes)
        case .data: .data(bytes)
        default: decoded(bytes)
        }
    }

    @inline(never)
    private func decoded(_ bytes: UnsafeRawBufferPointer) -> ValueView {
        switch self {
        case .decimal:
            .decimal(
                Decimal128(
                    low: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self),
                    high: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        case .uuid: .uuid(UUIDBytes(bytes))
        case .objectID: .objectID(ObjectID(bytes))
        default: NestedDocument.entry(bytes)
        }
    }

    /// What stands in for null where null is not allowed and no bytes are no value.
    var zero: ValueView? {
        switch self {
        case .decimal: .decimal(.zero)
        case .objectID: .objectID(.zero)
        case .uuid: .uuid(UUIDBytes(low: 0, high: 0))
        case .mixed: .null
        default: nil
        }
    }

    func check(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
        switch self {
        case .decimal, .uuid: try require(bytes.count == 16)
        case .objectID: try require(bytes.count == 12)
        case .mixed: try NestedDocument.validate(entry: bytes)
        default: break
        }
    }

    private func require(_ condition: Bool) throws(DatabaseError) {
        guard condition else { throw .corrupted("a chunk has a value of a wrong size") }
    }
}
