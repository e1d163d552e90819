/// Values whose type is only known at run time: in `Dog(value: […])`, subscripts, query arguments, primary keys.
import Foundation
import MotteValues

package enum Dynamic {
    /// nil for nil, `NSNull` and every depth of optional around them.
    static func flattened(_ value: Any?) -> Any? {
        guard let value, !(value is NSNull) else { return nil }
        guard let optional = value as? any OptionalProtocol else { return value }
        return inner(optional)
    }

    private static func inner(_ optional: some OptionalProtocol) -> Any? { flattened(optional._wrapped) }

    /// To a type whose values are scalars; objects and collections have conversions of their own.
    static func convert<T: _HasPersistedType>(_ value: Any?, to type: T.Type) -> T? {
        guard let value = flattened(value) else { return nil }
        if let exact = value as? T { return exact }
        if let stored = storedValue(value), !stored.isNull {
            return stored.withView { view in
                // Decoding a scalar needs no session; links are converted elsewhere.
                view.kind == .link ? nil : T._decode(_Stored(view, nil))
            }
        }
        return nil
    }

    /// A scalar as the store has it; nil for what it cannot have. Managed objects are links.
    package static func storedValue(_ value: Any?) -> Value? {
        guard let value = flattened(value) else { return .null }
        if let object = value as? ObjectBase { return object.live.map { .link($0.link) } }
        if let stored = value as? any _HasPersistedType {
            if stored is any _CollectionValue { return nil }
            let encoder = _Encoder(nil)
            stored._encode(encoder)
            // What does not encode is no stored value: whoever asks says so, with the property.
            return try? encoder.withView { view throws(DatabaseError) in view.owned }
        }
        switch value {
        case let number as UInt: return Int64(exactly: number).map { .int($0) }
        case let number as UInt8: return .int(Int64(number))
        case let number as UInt16: return .int(Int64(number))
        case let number as UInt32: return .int(Int64(number))
        case let number as UInt64: return Int64(exactly: number).map { .int($0) }
        case let number as Decimal: return MotteValues.Decimal128(parsing: "\(number)").map { .decimal($0) }
        case let text as Substring: return .string(String(text))
        case let text as NSString: return .string(String(describing: text))
        case let text as StaticString: return .string("\(text)")
        case let bytes as NSData: return .data([UInt8](bytes as Data))
        case let id as NSUUID: return UUID(uuidString: id.uuidString).map { .uuid($0._bytes) }
        default: return nil
        }
    }

    /// A value that is looked for, and the files that the objects in it are of.
    struct Asked {
        let value: Value
        var files: Set<UInt64> = []
    }

    /// As `storedValue`; what is in no file is a link to nothing, which is equal to nothing.
    static func asked(_ value: Any?) -> Asked? {
        guard let stored = flattened(value) as? any _HasPersistedType, !(stored is any _CollectionValue) else {
            return storedValue(value).map { Asked(value: $0) }
        }
        let encoder = _Encoder(asking: ())
        stored._encode(encoder)
        // As above.
        return try? encoder.withView { view throws(DatabaseError) in Asked(value: view.owned, files: encoder.files) }
    }

    /// nil for what is no text.
    static func text(in value: Any?) -> String? {
        switch flattened(value) {
        case let text as String: text
        case let text as Substring: String(text)
        case let text as NSString: String(describing: text)
        default: nil
        }
    }

    /// The elements of an array, set, or live collection, as values of unknown type; nil for anything else.
    static func elements(_ value: Any?) -> [Any?]? {
        guard let value = flattened(value) else { return nil }
        if let array = value as? [Any?] { return array }
        if let array = value as? [Any] { return array }
        if value is String || value is Data || value is any _MapValue { return nil }
        if value is [AnyHashable: Any] || value is NSDictionary { return nil }
        if let sequence = value as? any Sequence { return gather(sequence) }
        return nil
    }

    private static func gather(_ sequence: some Sequence) -> [Any?] { sequence.map { $0 as Any? } }

    /// The entries of a dictionary or map; nil for anything else.
    static func entries(_ value: Any?) -> [(key: String, value: Any?)]? {
        guard let value = flattened(value) else { return nil }
        if let map = value as? any _MapValue { return map._dynamicEntries }
        if let dictionary = value as? [String: Any?] { return dictionary.map { ($0.key, $0.value) } }
        if let dictionary = value as? [String: Any] { return dictionary.map { ($0.key, $0.value) } }
        if let dictionary = value as? [AnyHashable: Any] {
            let named = dictionary.compactMap { entry in (entry.key.base as? String).map { ($0, entry.value as Any?) } }
            return named.count == dictionary.count ? named : nil
        }
        return nil
    }

    /// For messages.
    static func text(_ value: Any?) -> String { flattened(value).map { "\($0)" } ?? "nil" }
}
