/// The values between two bounds, or texts that begin in one way: what tests of one column ask of an ordered index.
///
/// Nulls are in none.
import MotteColumns
import MotteSchemaModel
import MotteStorage
import MotteValues

struct ValueSpan {
    private var lower: IndexBound?
    private var upper: IndexBound?
    private var prefix: [UInt8]?

    init() {}
    init(prefix: [UInt8]) { self.prefix = prefix }

    /// Whether nothing was taken.
    var isEmpty: Bool { prefix == nil && lower == nil && upper == nil }

    /// With these values of the columns before; nil where nothing was taken.
    func question(behind leading: [Value]) -> IndexQuestion? {
        if let prefix { return .prefix(leading, prefix) }
        return isEmpty ? nil : .range(leading, lower: lower, upper: upper)
    }

    /// Narrows it to what passes the test as well; false, with nothing changed, for a test that is no span or that
    /// cannot be said together with those before.
    mutating func take(_ test: ColumnTest, _ type: PropertyType) -> Bool {
        switch (test, type) {
        case (.all(let tests), _):
            var narrowed = self
            for test in tests where !narrowed.take(test, type) { return false }
            self = narrowed
            return true
        case (.int(let op, let value), .int): return narrow(op, .int(value))
        case (.intRange(let low, let high), .int):
            return narrow(.greaterOrEqual, .int(low)) && narrow(.lessOrEqual, .int(high))
        case (.double(let op, let value), .float), (.double(let op, let value), .double):
            return !value.isNaN && narrow(op, .double(value))
        case (.timestamp(let op, let value), .timestamp): return narrow(op, .timestamp(value))
        case (.text(let op, let bytes), .string): return narrow(op, .string(String(decoding: bytes, as: UTF8.self)))
        case (.match(let matcher), .string):
            guard lower == nil, upper == nil, prefix == nil, let beginning = matcher.prefix, !beginning.isEmpty else {
                return false
            }
            prefix = beginning
            return true
        default: return false
        }
    }

    private mutating func narrow(_ op: ComparisonOperator, _ value: Value) -> Bool {
        guard prefix == nil else { return false }
        switch op {
        case .greater, .greaterOrEqual:
            let bound = IndexBound(value, isIncluded: op == .greaterOrEqual)
            if let known = lower, !Self.isTighter(bound, than: known, isLower: true) { return true }
            lower = bound
        case .less, .lessOrEqual:
            let bound = IndexBound(value, isIncluded: op == .lessOrEqual)
            if let known = upper, !Self.isTighter(bound, than: known, isLower: false) { return true }
            upper = bound
        default: return false
        }
        return true
    }

    private static func isTighter(_ bound: IndexBound, than known: IndexBound, isLower: Bool) -> Bool {
        let order = bound.value.withView { one in known.value.withView { ValueOrdering.compare(one, $0) } }
        if order == 0 { return !bound.isIncluded }
        return isLower ? order > 0 : order < 0
    }
}
