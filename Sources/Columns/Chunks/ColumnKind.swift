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

    /// How a chunk keeps its values.
    package enum Layout: Sendable {
        case bits, ints, floats, doubles
        /// In a heap of bytes, with the place of each.
        case bytes
    }

    package var layout: Layout {
        guard let kind else { return .bytes }
        switch kind.form {
        case .bool: return .bits
        case .int, .link, .timestamp: return .ints
        case .float: return .floats
        case .double: return .doubles
        case .string, .data, .decimal, .identifier: return .bytes
        // Of no column.
        case .null, .list, .map: return .bytes
        }
    }

    /// nil for mixed values.
    @inline(__always)
    var kind: ValueKind? { ValueKind(rawValue: UInt32(rawValue)) }

    /// Whether values have bytes in a chunk's heap.
    package var hasBytes: Bool { layout == .bytes }

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
        guard self == .mixed else { return view.withOwnBytes(body) }
        NestedDocument.encodeEntry(view).withUnsafeBytes(body)
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
        guard let kind else { return NestedDocument.entry(bytes) }
        guard let base = bytes.baseAddress, kind.byteCount == bytes.count else { return .null }
        return ValueView(kind, bytes: base)
    }

    /// What stands in for null where null is not allowed and no bytes are no value.
    var zero: ValueView? {
        guard let kind else { return .null }
        return kind.byteCount == nil ? nil : kind.zero
    }

    func check(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
        guard let kind else { return try NestedDocument.validate(entry: bytes) }
        guard kind.byteCount == nil || kind.byteCount == bytes.count else {
            throw .corrupted("a chunk has a value of a wrong size")
        }
    }
}
