/// A decimal number of 34 digits, IEEE 754-2008's decimal128: what money and measurements are stored as.
///
/// Equality, order and hash go by the number and not by its form: 1.0 equals 1.00. NaN equals NaN and comes before all
/// other numbers, so that sets and sorts of decimals are well defined. Results are rounded half to even.
/// Text that is no number makes NaN, as a value that is no number does.
import Foundation
import MotteValues

/// A decimal number of 34 digits (IEEE 754-2008).
public final class Decimal128: @unchecked Sendable {  // @unchecked: only `negate()` changes it; see there
    /// The distance of two decimals is a decimal.
    public typealias Stride = Decimal128

    package private(set) var engine: MotteValues.Decimal128

    package init(_ engine: MotteValues.Decimal128) { self.engine = engine }

    /// Zero.
    public init() { engine = .zero }

    /// From any number, text, or another decimal; NaN from anything else.
    public init(value: Any) { engine = Self.engine(of: value) ?? .nan }

    /// From a number object, exactly where it has up to 34 digits; one that holds a float or a double by its shortest
    /// decimal.
    public init(number: NSNumber) { engine = Self.engine(of: number) ?? .nan }

    /// From digits with an optional sign, point and exponent, or the words NaN, Inf and Infinity in any case; NaN from
    /// any other text. Digits beyond the 34th are rounded half to even and what is out of range is infinite or zero, as
    /// with the peer, whose initializer throws as little.
    public init(string: String) throws { engine = MotteValues.Decimal128(parsing: string) ?? .nan }

    /// The shortest decimal that reads back as the same double.
    public convenience init(_ value: Double) { self.init(MotteValues.Decimal128(value)) }

    /// The number, exactly; nil when it has more digits than a decimal holds.
    public convenience init?<T: BinaryInteger>(exactly source: T) {
        let text = "\(source)"
        guard let engine = MotteValues.Decimal128(parsing: text), engine.plainText == text else { return nil }
        self.init(engine)
    }

    /// nil for what has no decimal, NSNull included.
    private static func engine(of value: Any) -> MotteValues.Decimal128? {
        switch value {
        case let decimal as Decimal128: decimal.engine
        // Asked of the type, because a cast makes one of any number, and any number of one.
        case let number as NSNumber where type(of: value) is NSNumber.Type: engine(ofNumber: number)
        case let text as String: MotteValues.Decimal128(parsing: text)
        case let number as Float: parsed(number)
        case let number as Double: MotteValues.Decimal128(number)
        case let number as any BinaryInteger: MotteValues.Decimal128(parsing: "\(number)")
        case let number as Decimal: number.isNaN ? nil : MotteValues.Decimal128(parsing: "\(number)")
        case let number as NSNumber: engine(ofNumber: number)
        default: nil
        }
    }

    private static func engine(ofNumber number: NSNumber) -> MotteValues.Decimal128? {
        // Wide integers would lose digits as a double, and a float would gain some.
        switch String(cString: number.objCType) {
        case "d": MotteValues.Decimal128(number.doubleValue)
        case "f": parsed(number.floatValue)
        default: MotteValues.Decimal128(parsing: number.stringValue)
        }
    }

    private static func parsed(_ number: Float) -> MotteValues.Decimal128? {
        number.isNaN ? .nan : MotteValues.Decimal128(parsing: "\(number)")
    }

    // MARK: Parts

    /// The smallest number that can be stored: -9.99...E6144.
    public static var min: Decimal128 { minimumDecimalNumber }
    /// The largest number that can be stored: 9.99...E6144.
    public static var max: Decimal128 { maximumDecimalNumber }
    /// The same as ``min``.
    public static var minimumDecimalNumber: Decimal128 { Decimal128(greatest.negated) }
    /// The same as ``max``.
    public static var maximumDecimalNumber: Decimal128 { Decimal128(greatest) }

    private static let greatest =
        MotteValues.Decimal128(parsing: "9.999999999999999999999999999999999E6144") ?? .infinity

    /// The number without its sign; NaN of NaN.
    public var magnitude: Decimal128 { Decimal128(engine.isNegative ? engine.negated : engine) }
    /// Whether it is no number, as 0/0 is.
    public var isNaN: Bool { engine.isNaN }
    /// There is one NaN, so these are the same as `isNaN`.
    public var isSignaling: Bool { engine.isNaN }
    /// There is one NaN, so this is the same as `isNaN`.
    public var isSignalingNaN: Bool { engine.isNaN }

    /// The nearest double.
    public var doubleValue: Double { engine.doubleValue }

    /// "3.75", "3E-1", "1.23E6", "NaN", "Inf", "-Inf".
    public var stringValue: String { engine.text }

    /// Changes the sign of this very object; whoever else holds it sees that too, so not while others read it.
    public func negate() { engine = engine.negated }
}

// MARK: - Order

extension Decimal128: Comparable, Hashable {
    /// Whether the numbers are equal, whatever their forms: 1.0 equals 1.00, and NaN equals NaN.
    public static func == (left: Decimal128, right: Decimal128) -> Bool { left.engine == right.engine }
    /// Whether the left number comes first; NaN comes before all others.
    public static func < (left: Decimal128, right: Decimal128) -> Bool { left.engine < right.engine }
    /// By the number, whatever its form.
    public func hash(into hasher: inout Hasher) { hasher.combine(engine) }

    /// The same as `>`.
    public func isGreaterThan(_ other: Decimal128) -> Bool { self > other }
    /// The same as `>=`.
    public func isGreaterThanOrEqual(to other: Decimal128) -> Bool { self >= other }
    /// The same as `<`.
    public func isLessThan(_ other: Decimal128) -> Bool { self < other }
    /// The same as `<=`.
    public func isLessThanOrEqual(to other: Decimal128) -> Bool { self <= other }

    /// Whether the other is a decimal or a number object of the same value.
    public func isEqual(_ other: Any?) -> Bool {
        switch other {
        case let decimal as Decimal128: self == decimal
        case let number as NSNumber: Self.engine(ofNumber: number) == engine
        default: false
        }
    }
}

// MARK: - Arithmetic

extension Decimal128: Numeric {
    /// The sum, rounded half to even to 34 digits; infinite beyond ``max``.
    public static func + (left: Decimal128, right: Decimal128) -> Decimal128 {
        Decimal128(left.engine.adding(right.engine))
    }
    /// The difference, rounded half to even to 34 digits; infinite beyond ``max``.
    public static func - (left: Decimal128, right: Decimal128) -> Decimal128 {
        Decimal128(left.engine.subtracting(right.engine))
    }
    /// The product, rounded half to even to 34 digits; infinite beyond ``max``.
    public static func * (left: Decimal128, right: Decimal128) -> Decimal128 {
        Decimal128(left.engine.multiplying(by: right.engine))
    }
    /// The quotient, rounded half to even to 34 digits. A number divided by zero is infinite, zero divided by zero NaN.
    public static func / (left: Decimal128, right: Decimal128) -> Decimal128 {
        Decimal128(left.engine.dividing(by: right.engine))
    }
    /// Multiplies, rounded half to even to 34 digits. The variable gets a new object; others that hold the old one keep
    /// it.
    public static func *= (left: inout Decimal128, right: Decimal128) { left = left * right }
    /// Divides, rounded half to even to 34 digits. The variable gets a new object; others that hold the old one keep
    /// it.
    public static func /= (left: inout Decimal128, right: Decimal128) { left = left / right }
    /// The number with the other sign; another object.
    public static prefix func - (operand: Decimal128) -> Decimal128 { Decimal128(operand.engine.negated) }

    /// `other` minus this number.
    public func distance(to other: Decimal128) -> Decimal128 { other - self }
    /// This number plus `step`.
    public func advanced(by step: Decimal128) -> Decimal128 { self + step }

    /// The same as `+`.
    public func decimalNumber(byAdding other: Decimal128) -> Decimal128 { self + other }
    /// The same as `-`.
    public func decimalNumber(bySubtracting other: Decimal128) -> Decimal128 { self - other }
    /// The same as `*`.
    public func decimalNumber(byMultiplyingBy other: Decimal128) -> Decimal128 { self * other }
    /// The same as `/`.
    public func decimalNumber(byDividingBy other: Decimal128) -> Decimal128 { self / other }
}

// MARK: - Literals and text

extension Decimal128: ExpressibleByFloatLiteral, ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
    /// The shortest decimal that reads back as the same double, so `0.1` is one tenth.
    public convenience init(floatLiteral value: Double) { self.init(value) }
    /// The number, exactly.
    public convenience init(integerLiteral value: Int64) { self.init(MotteValues.Decimal128(value)) }
    /// The number that the text names; NaN when it names none.
    public convenience init(stringLiteral value: String) {
        self.init(MotteValues.Decimal128(parsing: value) ?? .nan)
    }
}

extension Decimal128: CustomStringConvertible {
    /// The same as ``stringValue``.
    public var description: String { stringValue }
}

// MARK: - Codable

extension Decimal128: Codable {
    /// From text, which keeps every digit, or from a number.
    public convenience init(from decoder: Decoder) throws {
        let container = try decoder.singleValueContainer()
        // Asks which type is there; of none of them the last one tells the cause.
        if let text = try? container.decode(String.self) {
            self.init(MotteValues.Decimal128(parsing: text) ?? .nan)
            // As above.
        } else if let number = try? container.decode(Int64.self) {
            self.init(MotteValues.Decimal128(number))
        } else {
            self.init(MotteValues.Decimal128(try container.decode(Double.self)))
        }
    }

    /// Encodes the number as text, which keeps every digit.
    public func encode(to encoder: Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(stringValue)
    }
}
