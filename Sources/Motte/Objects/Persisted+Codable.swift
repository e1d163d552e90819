/// Models as `Codable`: properties in and out under their names. Only unmanaged objects are encoded; a managed one
/// would drag in everything it reaches.
import Foundation

extension Persisted: Decodable where Value: Decodable {
    public init(from decoder: Decoder) throws { self.init(decoded: try Value(from: decoder)) }
}

extension Persisted: Encodable where Value: Encodable {
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
        switch storage {
        case .value(let value): try value.encode(to: encoder)
        case .unset: try Value._initial().encode(to: encoder)
        case .initial(let make): try make().encode(to: encoder)
        case .origin: try Value._default().encode(to: encoder)
        }
    }
}

/// Wrappers of optionals, whose keys may be missing.
public protocol OptionalCodingWrapper {
    init()
}

extension Persisted: OptionalCodingWrapper where Value: ExpressibleByNilLiteral {}

extension KeyedDecodingContainer {
    public func decode<T>(_ type: T.Type, forKey key: Self.Key) throws -> T
    where T: Decodable, T: OptionalCodingWrapper {
        try decodeIfPresent(T.self, forKey: key) ?? T()
    }
}
