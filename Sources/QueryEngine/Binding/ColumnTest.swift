/// What is asked of the values of one column (or of one list's elements), with its constants converted to the column's
/// type where that changes nothing: numbers of different types compare exactly. For comparing with null see
/// `comparingNull`.
import MotteColumns
import MotteSchemaModel
import MotteValues

package indirect enum ColumnTest: Sendable {
    case always
    case never
    /// Everything that is not null.
    case present
    case null
    case bool(ComparisonOperator, Bool)
    case int(ComparisonOperator, Int64)
    case intRange(Int64, Int64)
    /// Ascending, more than a few.
    case intSet([Int64])
    /// Float and double columns.
    case double(ComparisonOperator, Double)
    case timestamp(ComparisonOperator, Timestamp)
    case link(ComparisonOperator, Int64)
    /// Strings and data.
    case text(ComparisonOperator, [UInt8])
    /// Ascending by bytes, more than a few.
    case textSet([[UInt8]])
    case match(TextMatcher)
    /// Of any column, value by value: decimals, mixed values, numbers beside a decimal.
    case value(ComparisonOperator, Value)
    /// Ascending, more than a few.
    case valueSet([Value])
    /// The strings among mixed values, or the data.
    case matchAmongMixed(TextMatcher, ValueKind)
    /// Of what the functions make of the value.
    case applied(TextFunctions, ColumnTest)
    case not(ColumnTest)
    case any([ColumnTest])
    case all([ColumnTest])

    /// Whether a null passes; also the answer for a path through a null link.
    package var holdsForNull: Bool {
        switch self {
        case .always, .null: true
        case .never, .present, .intRange, .intSet, .textSet, .match, .valueSet, .matchAmongMixed: false
        case .bool(let op, _), .int(let op, _), .double(let op, _), .timestamp(let op, _), .link(let op, _),
            .text(let op, _), .value(let op, _):
            op == .notEqual
        case .applied(_, let test): test.holdsForNull
        case .not(let test): !test.holdsForNull
        case .any(let tests): tests.contains { $0.holdsForNull }
        case .all(let tests): tests.allSatisfy { $0.holdsForNull }
        }
    }

    /// `column op null`: only nulls are equal to null, and nothing is below or above it.
    static func comparingNull(_ op: ComparisonOperator) -> ColumnTest {
        switch op {
        case .equal, .lessOrEqual, .greaterOrEqual: .null
        case .notEqual: .present
        case .less, .greater: .never
        }
    }

    /// `column op value`; nil where the types do not fit. `value` is not null.
    static func comparing(_ op: ComparisonOperator, _ value: Value, _ type: PropertyType) -> ColumnTest? {
        switch (type, value) {
        case (.bool, _): return ConstantFit.bool(value).map { .bool(op, $0) }
        case (.int, .int(let value)): return .int(op, value)
        case (.int, .float(let value)): return ints(op, Double(value))
        case (.int, .double(let value)): return ints(op, value)
        case (.int, .decimal(let value)): return ints(op, value)
        case (.decimal, .decimal(let value)): return decimals(op, value)
        case (.decimal, .int(let value)): return decimals(op, Decimal128(value))
        case (.decimal, _): return ConstantFit.double(value).map { decimals(op, Decimal128($0)) }
        // Their order is that of their bytes.
        case _ where type.form == .identifier:
            guard type.valueKind == value.kind else { return nil }
            return .text(op, value.withView { $0.withOwnBytes { Array($0) } })
        case (.mixed, _): return .value(op, value)
        case (.float, .int(let value)), (.double, .int(let value)):
            return doubles(op, nearest: Double(value), order: ValueOrdering.compare(value, Double(value)))
        case (.float, .decimal(let value)), (.double, .decimal(let value)):
            let nearest = value.doubleValue
            return doubles(op, nearest: nearest, order: Decimal128.compare(value, nearest))
        case (.float, _), (.double, _): return ConstantFit.double(value).map { .double(op, $0) }
        case (.string, .string(let value)): return .text(op, Array(value.utf8))
        case (.data, .data(let value)): return .text(op, value)
        case (.timestamp, .timestamp(let value)): return .timestamp(op, value)
        case (.link, .link(let value)) where op == .equal || op == .notEqual: return .link(op, value.key.rawValue)
        default: return nil
        }
    }

    /// A decimal column and a number. Nothing is below or above NaN, whose place in an order is for sorting.
    private static func decimals(_ op: ComparisonOperator, _ number: Decimal128) -> ColumnTest {
        number.isNaN && op != .equal && op != .notEqual ? .never : .value(op, .decimal(number))
    }

    /// An int column and a double.
    private static func ints(_ op: ComparisonOperator, _ number: Double) -> ColumnTest {
        if let exact = Int64(exactly: number) { return .int(op, exact) }
        let isInside = number >= -0x1p63 && number < 0x1p63
        return ints(
            op, isNaN: number.isNaN, isAbove: number > 0, below: isInside ? Int64(number.rounded(.down)) : nil)
    }

    /// An int column and a decimal.
    private static func ints(_ op: ComparisonOperator, _ number: Decimal128) -> ColumnTest {
        if let exact = number.int64Value { return .int(op, exact) }
        return ints(op, isNaN: number.isNaN, isAbove: !number.isNegative, below: number.int64Below)
    }

    /// Beside a number that no int is: only those below it and above it differ. `below` is the next lower int, nil
    /// where the number is outside of 64 bits.
    private static func ints(
        _ op: ComparisonOperator, isNaN: Bool, isAbove: Bool, below: Int64?
    ) -> ColumnTest {
        switch op {
        case .equal: return .never
        case .notEqual: return .always
        case .less, .lessOrEqual:
            if let below { return .int(.lessOrEqual, below) }
            return isAbove && !isNaN ? .present : .never
        case .greater, .greaterOrEqual:
            if let below { return below == .max ? .never : .int(.greaterOrEqual, below + 1) }
            return isAbove || isNaN ? .never : .present
        }
    }

    /// A float or double column and a number whose nearest double is known. `order`: of the number beside that double.
    private static func doubles(_ op: ComparisonOperator, nearest: Double, order: Int) -> ColumnTest {
        if order == 0 { return .double(op, nearest) }
        switch op {
        case .equal: return .never
        case .notEqual: return .always
        case .less, .lessOrEqual: return .double(.lessOrEqual, order > 0 ? nearest : nearest.nextDown)
        case .greater, .greaterOrEqual: return .double(.greaterOrEqual, order < 0 ? nearest : nearest.nextUp)
        }
    }

    /// One of several; fewer tests where the kernels have something for many values.
    static func anyOf(_ tests: [ColumnTest]) -> ColumnTest {
        var rest: [ColumnTest] = []
        var ints: [Int64] = []
        var texts: [[UInt8]] = []
        var values: [Value] = []
        for test in tests {
            switch test {
            case .never: continue
            case .value(.equal, let value): values.append(value)
            case .int(.equal, let value), .link(.equal, let value): ints.append(value)
            case .text(.equal, let value): texts.append(value)
            default: rest.append(test)
            }
        }
        // A comparison of all rows with one value takes a fiftieth of the time of looking each row up in a set, and of
        // texts a hundredth.
        let few = 3, fewCompared = 16
        if ints.count > fewCompared {
            rest.append(.intSet(Self.sortedUnique(ints) { $0 < $1 }))
        } else {
            // Links have the same kernel as ints.
            rest += ints.map { .int(.equal, $0) }
        }
        if texts.count > fewCompared {
            rest.append(.textSet(Self.sortedUnique(texts) { $0.lexicographicallyPrecedes($1) }))
        } else {
            rest += texts.map { .text(.equal, $0) }
        }
        if values.count > few {
            rest.append(.valueSet(Self.sortedUnique(values) { $0 < $1 }))
        } else {
            rest += values.map { .value(.equal, $0) }
        }
        if rest.isEmpty { return .never }
        return rest.count == 1 ? rest[0] : .any(rest)
    }

    private static func sortedUnique<Element: Equatable>(
        _ values: [Element], _ precedes: (Element, Element) -> Bool
    ) -> [Element] {
        var result: [Element] = []
        for value in values.sorted(by: precedes) where result.last != value { result.append(value) }
        return result
    }

    /// The values a column must equal one of, if the test says no more than that: what an index can answer.
    func equalValues(_ type: PropertyType) -> [Value]? {
        switch self {
        case .null: return [.null]
        case .bool(.equal, let value): return [.bool(value)]
        case .int(.equal, let value): return type == .int ? [.int(value)] : nil
        case .timestamp(.equal, let value): return [.timestamp(value)]
        case .text(.equal, let value): return Self.text(value, type).map { [$0] }
        case .intSet(let values): return type == .int ? values.map(Value.int) : nil
        case .value(.equal, let value): return type == .mixed ? [value] : nil
        case .valueSet(let values): return type == .mixed ? values : nil
        case .textSet(let values):
            let texts = values.compactMap { Self.text($0, type) }
            return texts.count == values.count ? texts : nil
        case .any(let tests):
            var values: [Value] = []
            for test in tests {
                guard let more = test.equalValues(type) else { return nil }
                values += more
            }
            // The same value twice would count its objects twice.
            return Self.sortedUnique(values) { $0 < $1 }
        default: return nil
        }
    }

    private static func text(_ bytes: [UInt8], _ type: PropertyType) -> Value? {
        switch type {
        case .string: return .string(String(decoding: bytes, as: UTF8.self))
        default:
            guard let kind = type.valueKind, kind.identifier != nil, kind.byteCount == bytes.count else { return nil }
            return bytes.withUnsafeBytes { $0.baseAddress.map { ValueView(kind, bytes: $0).owned } }
        }
    }
}

/// Constants in the type of what they are compared with.
enum ConstantFit {
    /// As the language's front ends write truth: true, 1, "true", "YES".
    static func bool(_ value: Value) -> Bool? {
        switch value {
        case .bool(let value): return value
        case .int(0): return false
        case .int(1): return true
        case .string(let text):
            switch text.lowercased() {
            case "true", "yes", "1": return true
            case "false", "no", "0": return false
            default: return nil
            }
        default: return nil
        }
    }

    static func double(_ value: Value) -> Double? {
        switch value {
        case .int(let value): Double(value)
        case .float(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }
}
