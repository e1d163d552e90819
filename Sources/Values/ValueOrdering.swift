/// The total order of values: null < bool < numbers < string < data < timestamp < objectId < uuid < link < list < map.
///
/// Numbers of all kinds are one family and compare exactly, without rounding large ints to doubles; NaN is below every
/// other number and equals itself; -0.0 equals 0.0. Strings and data compare by unsigned bytes.
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

package enum ValueOrdering {
    /// Negative, zero or positive as `left` is below, equal to or above `right`.
    package static func compare(_ left: ValueView, _ right: ValueView) -> Int {
        let family = Self.family(left)
        let otherFamily = Self.family(right)
        guard family == otherFamily else { return family < otherFamily ? -1 : 1 }
        switch left.form {
        case .bool: return order(left.low, right.low)
        case .int, .float, .double, .decimal: return compareNumbers(left, right)
        case .string, .data: return compareBytes(left.bytes, right.bytes)
        case .timestamp: return order(left.timestampValue, right.timestampValue)
        case .link: return order(left.linkValue, right.linkValue)
        // A family has one of them, and what a shorter one lacks is zero in both.
        case .identifier:
            let (first, second) = (left.low.bigEndian, right.low.bigEndian)
            return first == second ? order(left.high.bigEndian, right.high.bigEndian) : order(first, second)
        case .list, .map: return compareDocuments(left.bytes, right.bytes)
        case .null, nil: return 0
        }
    }

    /// Whether one can be above or below the other: values of one family, and not a number beside NaN.
    package static func areComparable(_ left: ValueView, _ right: ValueView) -> Bool {
        family(left) == family(right) && isNaN(left) == isNaN(right)
    }

    package static func isNaN(_ view: ValueView) -> Bool {
        switch view.kind {
        case .float: view.floatValue.isNaN
        case .double: view.doubleValue.isNaN
        case .decimal: view.decimalValue.isNaN
        default: false
        }
    }

    package static func compareBytes(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        let shared = min(left.count, right.count)
        if shared > 0, let leftStart = left.baseAddress, let rightStart = right.baseAddress {
            let difference = memcmp(leftStart, rightStart, shared)
            if difference != 0 { return Int(difference) }
        }
        return left.count - right.count
    }

    /// Exact comparison of an integer with a double.
    package static func compare(_ int: Int64, _ double: Double) -> Int {
        if double.isNaN { return 1 }
        // 2^63 is exact; every double at or above it is above every Int64.
        if double >= 0x1p63 { return -1 }
        if double < -0x1p63 { return 1 }
        let whole = double.rounded(.towardZero)
        let truncated = Int64(whole)
        if int != truncated { return int < truncated ? -1 : 1 }
        let fraction = double - whole
        return fraction > 0 ? -1 : fraction < 0 ? 1 : 0
    }

    package static func compareDoubles(_ left: Double, _ right: Double) -> Int {
        if left < right { return -1 }
        if left > right { return 1 }
        if left == right { return 0 }
        // At least one NaN.
        return left.isNaN ? (right.isNaN ? 0 : -1) : 1
    }

    private static func compareNumbers(_ left: ValueView, _ right: ValueView) -> Int {
        if left.kind == .decimal || right.kind == .decimal { return compareDecimals(left, right) }
        return switch (left.kind == .int, right.kind == .int) {
        case (true, true): order(left.intValue, right.intValue)
        case (true, false): compare(left.intValue, floating(right))
        case (false, true): -compare(right.intValue, floating(left))
        case (false, false): compareDoubles(floating(left), floating(right))
        }
    }

    @inline(never)
    private static func compareDecimals(_ left: ValueView, _ right: ValueView) -> Int {
        switch (left.kind, right.kind) {
        case (.decimal, .decimal): Decimal128.compare(left.decimalValue, right.decimalValue)
        case (.decimal, .int): Decimal128.compare(left.decimalValue, Decimal128(right.intValue))
        case (.int, .decimal): Decimal128.compare(Decimal128(left.intValue), right.decimalValue)
        case (.decimal, _): Decimal128.compare(left.decimalValue, floating(right))
        default: -Decimal128.compare(right.decimalValue, floating(left))
        }
    }

    /// Entry by entry, the shorter first; of a map keys before values.
    private static func compareDocuments(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        let one = NestedDocument(trusted: left)
        let two = NestedDocument(trusted: right)
        for index in 0 ..< min(one.count, two.count) {
            if one.isMap {
                let keys = compareBytes(one.key(at: index), two.key(at: index))
                if keys != 0 { return keys }
            }
            let values = compare(one.value(at: index), two.value(at: index))
            if values != 0 { return values }
        }
        return one.count - two.count
    }

    private static func floating(_ view: ValueView) -> Double {
        view.kind == .float ? Double(view.floatValue) : view.doubleValue
    }

    private static func order<T: Comparable>(_ left: T, _ right: T) -> Int {
        left < right ? -1 : left == right ? 0 : 1
    }

    /// Position of the value's type in the order of types; numbers share one.
    @inline(__always)
    package static func family(_ view: ValueView) -> Int { view.kind?.rank ?? 0 }
}

extension Value: Comparable, Hashable {
    package static func == (left: Value, right: Value) -> Bool { compare(left, right) == 0 }
    package static func < (left: Value, right: Value) -> Bool { compare(left, right) < 0 }

    package static func compare(_ left: Value, _ right: Value) -> Int {
        left.withView { leftView in right.withView { rightView in ValueOrdering.compare(leftView, rightView) } }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        // Equal numbers of different kinds hash alike: all of them by their double.
        case .int(let value): hasher.combine(Double(value) + 0.0)
        case .float(let value): hasher.combine(value.isNaN ? .nan : Double(value) + 0.0)
        case .double(let value): hasher.combine(value.isNaN ? .nan : value + 0.0)
        case .string(let value): value.withUTF8Bytes { hasher.combine(bytes: $0) }
        case .data(let value): value.withUnsafeBytes { hasher.combine(bytes: $0) }
        case .timestamp(let value): hasher.combine(value)
        case .link(let value): hasher.combine(value)
        // Equal to an int or a double only where the double is exact, and then their doubles are equal.
        case .decimal(let value): hasher.combine(value.isNaN ? .nan : value.doubleValue + 0.0)
        case .objectID(let value): hasher.combine(value)
        case .uuid(let value): hasher.combine(value)
        case .list(let elements): hasher.combine(elements)
        case .map(let entries):
            for entry in entries.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
                entry.key.withUTF8Bytes { hasher.combine(bytes: $0) }
                hasher.combine(entry.value)
            }
        }
    }
}
