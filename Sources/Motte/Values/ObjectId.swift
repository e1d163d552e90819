/// A 12-byte identifier that ascends with time: four bytes of seconds, five of the process, three of a counter.
///
/// Ordered by its bytes; written as 24 lower-case hexadecimal digits.
import Foundation
import MotteValues

/// An identifier of twelve bytes: time, process, counter.
public final class ObjectId: Sendable {
    package let engine: MotteValues.ObjectID

    package init(_ engine: MotteValues.ObjectID) { self.engine = engine }

    /// All zeros. A new identifier is `generate()`.
    public init() { engine = .zero }

    /// From 24 hexadecimal digits; other text is an error.
    public init(string: String) throws {
        guard let parsed = MotteValues.ObjectID(parsing: string) else {
            throw Realm.Error(.invalidInput, Self.complaint(string))
        }
        engine = parsed
    }

    /// From 24 hexadecimal digits written in the program; other text is misuse.
    public init(_ string: StaticString) {
        let text = string.description
        if let parsed = MotteValues.ObjectID(parsing: text) {
            engine = parsed
        } else {
            misuse(Self.complaint(text), .invalidInput)
            engine = .zero
        }
    }

    private static func complaint(_ text: String) -> String {
        "Invalid Object ID string '\(text)': must be 24 hex digits"
    }

    /// Of a given time, machine and process, with the next value of this process's counter: for identifiers that sort
    /// among those of that time.
    public init(timestamp: Date, machineId: Int, processId: Int) {
        let counter = ObjectID.generate().high.bigEndian >> 32 & 0xFF_FFFF
        let seconds = UInt32(clamping: Int64(clamping: timestamp.timeIntervalSince1970))
        let machine = UInt64(truncatingIfNeeded: machineId) & 0xFF_FFFF
        let process = UInt64(truncatingIfNeeded: processId) & 0xFFFF
        let first = UInt64(seconds) << 32 | machine << 8 | process >> 8
        let rest = UInt32(truncatingIfNeeded: (process & 0xFF) << 24 | counter)
        engine = ObjectID(low: first.bigEndian, high: UInt64(rest.bigEndian))
    }

    /// A new one, above those that this process made before; from any thread.
    public static func generate() -> ObjectId { ObjectId(ObjectID.generate()) }

    /// When it was made, to the second.
    public var timestamp: Date { Date(timeIntervalSince1970: Double(engine.seconds)) }

    /// 24 lower-case hexadecimal digits.
    public var stringValue: String { engine.text }
}

extension Int64 {
    /// The whole seconds of an interval; the nearest bound for what has none, 0 for NaN.
    fileprivate init(clamping interval: TimeInterval) {
        self = Int64(exactly: interval.rounded(.down)) ?? (interval.isNaN ? 0 : interval < 0 ? .min : .max)
    }
}

extension ObjectId: Comparable, Hashable {
    /// Whether all twelve bytes are equal.
    public static func == (left: ObjectId, right: ObjectId) -> Bool { left.engine == right.engine }
    /// In the order of the bytes, which is the order of time, to the second.
    public static func < (left: ObjectId, right: ObjectId) -> Bool { left.engine < right.engine }
    /// By the bytes.
    public func hash(into hasher: inout Hasher) { hasher.combine(engine) }

    /// Whether the other is an `ObjectId` of the same bytes. False for nil and for other types.
    public func isEqual(_ other: Any?) -> Bool { (other as? ObjectId) == self }
}

extension ObjectId: CustomStringConvertible {
    /// The same as ``stringValue``.
    public var description: String { stringValue }
}

extension ObjectId: Codable {
    /// From 24 hexadecimal digits. Throws `DecodingError.dataCorrupted` for other text.
    public convenience init(from decoder: Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let parsed = MotteValues.ObjectID(parsing: text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: Self.complaint(text))
        }
        self.init(parsed)
    }

    /// Encodes the 24 hexadecimal digits as text.
    public func encode(to encoder: Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(stringValue)
    }
}
