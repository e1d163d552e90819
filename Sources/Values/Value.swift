/// Anything a property can hold, owned. For constants, errors and single reads; loops over rows use `ValueView`.
///
/// Equality and order are those of the store, not of Swift: strings compare by their UTF-8 bytes (composed and
/// decomposed forms differ), -0.0 equals 0.0, NaN equals NaN, ints and floating numbers compare exactly.
package enum Value: Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case float(Float)
    case double(Double)
    case string(String)
    case data([UInt8])
    case timestamp(Timestamp)
    case link(ObjectLink)
    case decimal(Decimal128)
    case objectID(ObjectID)
    case uuid(UUIDBytes)
    /// Nested in a mixed value.
    case list([Value])
    /// Nested in a mixed value; keys ascend by their bytes once stored.
    case map([MapEntry])

    package var kind: ValueKind {
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
        case .objectID: .objectID
        case .uuid: .uuid
        case .list: .list
        case .map: .map
        }
    }

    package var isNull: Bool {
        if case .null = self { return true }
        return false
    }

    /// Lends the value as a view that is valid for the length of `body`.
    package func withView<Result, Failure: Error>(
        _ body: (ValueView) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        switch self {
        case .null: return try body(.null)
        case .bool(let value): return try body(.bool(value))
        case .int(let value): return try body(.int(value))
        case .float(let value): return try body(.float(value))
        case .double(let value): return try body(.double(value))
        case .timestamp(let value): return try body(.timestamp(value))
        case .link(let value): return try body(.link(value))
        case .string(let value):
            return try value.withUTF8Bytes { bytes throws(Failure) in try body(.string(bytes)) }
        case .data(let value):
            return try value.withBytes { bytes throws(Failure) in try body(.data(bytes)) }
        case .decimal(let value): return try body(.decimal(value))
        case .objectID(let value): return try body(.objectID(value))
        case .uuid(let value): return try body(.uuid(value))
        case .list:
            return try NestedDocument.encode(self).withBytes { bytes throws(Failure) in try body(.list(bytes)) }
        case .map:
            return try NestedDocument.encode(self).withBytes { bytes throws(Failure) in try body(.map(bytes)) }
        }
    }
}

/// A key of a nested map and its value.
package struct MapEntry: Sendable {
    package var key: String
    package var value: Value

    package init(key: String, value: Value) {
        self.key = key
        self.value = value
    }
}

extension String {
    /// The UTF-8 bytes for the length of `body`; equality and order in the engine always go by these.
    package func withUTF8Bytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var copy = self
        var outcome: Swift.Result<Result, Failure>?
        copy.withUTF8 { bytes in
            do throws(Failure) { outcome = .success(try body(UnsafeRawBufferPointer(bytes))) } catch {
                outcome = .failure(error)
            }
        }
        // withUTF8 always runs its body once.
        return try outcome.unsafelyUnwrapped.get()
    }
}

extension Array where Element == UInt8 {
    /// Inlined into its callers: the closure and its two types are not worth asking the runtime for.
    @inlinable package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var outcome: Swift.Result<Result, Failure>?
        withUnsafeBytes { bytes in
            do throws(Failure) { outcome = .success(try body(bytes)) } catch { outcome = .failure(error) }
        }
        // withUnsafeBytes always runs its body once.
        return try outcome.unsafelyUnwrapped.get()
    }
}
