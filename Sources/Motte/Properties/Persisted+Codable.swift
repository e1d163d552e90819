/// Models as `Codable`: properties in and out under their names. Only unmanaged objects are encoded; a managed one
/// would drag in everything it reaches. Values are handed to the coder's containers, whose strategies for dates, data
/// and numbers then apply to them.
import Foundation

extension Persisted: Decodable where Value: Decodable {
    /// Decodes the value into an unmanaged property. Throws what decoding the value throws.
    public init(from decoder: Decoder) throws {
        self.init(decoded: try decoder.singleValueContainer().decode(Value.self))
    }
}

extension Persisted: Encodable where Value: Encodable {
    /// Encodes the value of an unmanaged property. Throws `EncodingError.invalidValue` for one of a managed object.
    public func encode(to encoder: Encoder) throws {
        guard column == 0 else {
            throw EncodingError.invalidValue(
                self,
                .init(
                    codingPath: encoder.codingPath,
                    debugDescription: "Only unmanaged Realm objects can be encoded using automatic Codable synthesis. "
                        + "You must explicitly define encode(to:) on your model class to support managed Realm objects."
                ))
        }
        var container = encoder.singleValueContainer()
        switch storage {
        case .value(let value), .initial(let value): try container.encode(value)
        case .unset: try container.encode(Value._initial())
        case .origin: try container.encode(Value._default())
        }
    }
}

/// Wrappers of optionals, whose keys may be missing.
public protocol OptionalCodingWrapper {
    /// The wrapper of nil.
    init()
}

extension Persisted: OptionalCodingWrapper where Value: ExpressibleByNilLiteral {}

extension KeyedDecodingContainer {
    /// Decodes an optional property; a key that is missing is nil. Called by the `Codable` that the compiler writes for
    /// a model.
    public func decode<T>(_ type: T.Type, forKey key: Self.Key) throws -> T
    where T: Decodable, T: OptionalCodingWrapper {
        try decodeIfPresent(T.self, forKey: key) ?? T()
    }
}
