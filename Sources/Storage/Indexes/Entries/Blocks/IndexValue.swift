/// A property's value as an index stores it: 64 bits whose unsigned order is the order of the values where that fits.
///
///     bool, int        sign bit flipped                                        exact, ordered
///     float, double    IEEE total order; -0.0 as 0.0, one NaN, below all       exact, ordered
///     timestamp        seconds, sign bit flipped                               ordered; nanoseconds are not in it
///     string, data     up to 7 bytes: 0 | bytes padded to 56 bits | length     exact, ordered among themselves
///                      longer: 1 | zeros | 48 bits of IndexHash                neither
///     link             the target's object key                                 exact
///     link in mixed    16 bits of the class, 48 of the object key              exact for the first 65,535 classes
///     objectId, uuid   48 bits of IndexHash, as a long string                  neither
///     decimal          that of its double                                      ordered, not exact
///     in mixed columns numbers as their double, else a hash of kind and value  neither
///     null             a space of its own                                      exact
///
/// Where `isExact` is false other values may share the bits: the caller compares the row itself.
import MotteSchemaModel
import MotteValues

package struct IndexValue: Hashable, Sendable {
    package let raw: UInt64
    package let isNull: Bool
    package let isExact: Bool

    private init(_ raw: UInt64, isNull: Bool = false, isExact: Bool = true) {
        self.raw = raw
        self.isNull = isNull
        self.isExact = isExact
    }

    package static let null = IndexValue(0, isNull: true)

    @inline(__always)
    package static func int(_ value: Int64) -> IndexValue { IndexValue(UInt64(bitPattern: value) ^ (1 << 63)) }
    package static func bool(_ value: Bool) -> IndexValue { int(value ? 1 : 0) }

    package static func double(_ value: Double) -> IndexValue {
        if value.isNaN { return IndexValue(0) }
        // Adding zero turns -0.0 into 0.0.
        let bits = (value + 0.0).bitPattern
        return IndexValue(bits >> 63 == 0 ? bits | (1 << 63) : ~bits)
    }

    package static func timestamp(_ value: Timestamp) -> IndexValue {
        IndexValue(UInt64(bitPattern: value.seconds) ^ (1 << 63), isExact: false)
    }

    package static func link(to target: ObjectKey) -> IndexValue {
        target.rawValue < 0 ? null : IndexValue(UInt64(bitPattern: target.rawValue))
    }

    /// A link in a mixed value. Classes from 65,536 on share numbers, so that the value itself has to be looked at.
    package static func mixedLink(to target: ObjectLink) -> IndexValue {
        IndexValue(UInt64(target.table.rawValue) << 48 | UInt64(bitPattern: target.key.rawValue) & (1 << 48 - 1))
    }

    /// Short enough to be its own encoding: most codes and abbreviations are.
    package static let longestExactBytes = 7

    package static func bytes(_ bytes: UnsafeRawBufferPointer) -> IndexValue {
        guard bytes.count <= longestExactBytes else {
            return IndexValue(1 << 63 | IndexHash.hash(bytes) >> 16, isExact: false)
        }
        var packed: UInt64 = 0
        for index in 0 ..< longestExactBytes { packed = packed << 8 | (index < bytes.count ? UInt64(bytes[index]) : 0) }
        return IndexValue(packed << 3 | UInt64(bytes.count))
    }

    package init(_ view: ValueView) {
        switch view.form {
        case .null, nil: self = .null
        case .bool: self = .bool(view.boolValue)
        case .int: self = .int(view.intValue)
        case .float: self = .double(Double(view.floatValue))
        case .double: self = .double(view.doubleValue)
        case .string, .data: self = .bytes(view.bytes)
        case .timestamp: self = .timestamp(view.timestampValue)
        case .link: self = .link(to: view.linkValue.key)
        case .decimal: self = IndexValue(IndexValue.double(view.decimalValue.doubleValue).raw, isExact: false)
        case .identifier: self = view.withOwnBytes { .hashed($0, salt: 0) }
        case .list, .map: self = .hashed(view.bytes, salt: view.kindNumber)
        }
    }

    /// The value as a column of `type` keeps it: mixed columns hold all kinds in one space.
    package init(_ view: ValueView, of type: PropertyType) {
        guard type == .mixed else {
            self.init(view)
            return
        }
        switch view.kind {
        case .null, nil: self = .null
        // Equal numbers of different kinds share their double; values close to it are distinguished by the row.
        case .int: self = .number(Double(view.intValue))
        case .float: self = .number(Double(view.floatValue))
        case .double: self = .number(view.doubleValue)
        case .decimal: self = .number(view.decimalValue.doubleValue)
        case .string, .data: self = .hashed(view.bytes, salt: view.kindNumber)
        // In lists and maps, too, equal numbers of different kinds are the same.
        default: self = OrderKey.bytes(of: view).withBytes { .hashed($0, salt: 0) }
        }
    }

    private static func number(_ value: Double) -> IndexValue { IndexValue(double(value).raw, isExact: false) }

    private static func hashed(_ bytes: UnsafeRawBufferPointer, salt: UInt32) -> IndexValue {
        IndexValue(1 << 63 | (IndexHash.hash(bytes) &+ UInt64(salt) << 16) >> 16, isExact: false)
    }
}
