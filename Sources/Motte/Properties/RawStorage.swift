/// Values given by name that are no value of the property's type, but of what it is stored as: what a failable type
/// cannot be made from, null for a type that is stored as an embedded object. They are stored as they are; reading them
/// as the type is what fails, or shows the type's default for null. A raw value that an enum has no case for is
/// refused: nothing of the program could read it.
///
/// Elements are stored as they are where a managed collection is given them by name as a whole, or a map a value.
import MotteValues

/// Lists, sets and maps, whose elements may be stored without being values of the program's type.
package protocol RawElements {
    /// Makes a managed one a collection of what its elements are stored as; nil where they are not of a failable type,
    /// or where the value does not fit that collection either.
    static func _raw(for value: Any?) -> RawStorage.Collection?
    var _managed: _CollectionHandle? { get }
}

package enum RawStorage {
    package typealias Collection = (_CollectionHandle) -> any _CollectionValue

    static func value(_ value: Any?, for type: Any.Type) -> Value? {
        if let optional = type as? any OptionalProtocol.Type { return self.value(value, for: wrapped(optional)) }
        guard let value = Dynamic.flattened(value) else {
            let custom = type as? any _CustomPersistable.Type
            return custom?._shape.type == .link ? .null : nil
        }
        if let type = type as? any FailableCustomPersistable.Type { return persisted(value, type) }
        return nil
    }

    private static func wrapped<T: OptionalProtocol>(_ type: T.Type) -> Any.Type { T.Wrapped.self }

    /// What a message says of a value that does not fit.
    static func reason(_ type: Any.Type) -> String {
        if let optional = type as? any OptionalProtocol.Type { return reason(wrapped(optional)) }
        guard let type = type as? any PersistableEnum.Type else { return "" }
        return "; it is no raw value of the enum \(type), which has \(cases(type))"
    }

    private static func cases<T: PersistableEnum>(_ type: T.Type) -> String {
        T.allCases.prefix(8).map { "\($0.rawValue)" }.joined(separator: ", ") + (T.allCases.count > 8 ? ", ..." : "")
    }

    private static func persisted<T: FailableCustomPersistable>(_ value: Any, _ type: T.Type) -> Value? {
        T.PersistedType._convert(value).flatMap { Dynamic.storedValue($0) }
    }

    // MARK: Elements

    private static func failable(
        _ element: Any.Type
    ) -> (type: any FailableCustomPersistable.Type, isOptional: Bool)? {
        if let optional = element as? any OptionalProtocol.Type {
            return (wrapped(optional) as? any FailableCustomPersistable.Type).map { ($0, true) }
        }
        return (element as? any FailableCustomPersistable.Type).map { ($0, false) }
    }

    static func list(_ element: Any.Type, _ value: Any?) -> Collection? {
        guard let (type, isOptional) = failable(element) else { return nil }
        return list(of: type, isOptional, value)
    }

    private static func list<T: FailableCustomPersistable>(
        of type: T.Type, _ isOptional: Bool, _ value: Any?
    ) -> Collection? {
        isOptional ? elements(List<T.PersistedType?>.self, value) : elements(List<T.PersistedType>.self, value)
    }

    static func set(_ element: Any.Type, _ value: Any?) -> Collection? {
        guard let (type, isOptional) = failable(element) else { return nil }
        return set(of: type, isOptional, value)
    }

    private static func set<T: FailableCustomPersistable>(
        of type: T.Type, _ isOptional: Bool, _ value: Any?
    ) -> Collection? {
        isOptional
            ? elements(MutableSet<T.PersistedType?>.self, value) : elements(MutableSet<T.PersistedType>.self, value)
    }

    private static func elements<C: WholeElements>(_ type: C.Type, _ value: Any?) -> Collection? {
        guard let value = Dynamic.flattened(value), C._elements(value) != nil else { return nil }
        return { C._collection($0) }
    }

    static func map<Key: _MapKey>(_ key: Key.Type, _ element: Any.Type, _ value: Any?) -> Collection? {
        guard let (type, isOptional) = failable(element) else { return nil }
        return map(key, of: type, isOptional, value)
    }

    private static func map<Key: _MapKey, T: FailableCustomPersistable>(
        _ key: Key.Type, of type: T.Type, _ isOptional: Bool, _ value: Any?
    ) -> Collection? {
        guard let value = Dynamic.flattened(value) else { return nil }
        if isOptional {
            guard Map<Key, T.PersistedType?>._entries(value) != nil else { return nil }
            return { Map<Key, T.PersistedType?>._collection($0) }
        }
        guard Map<Key, T.PersistedType>._entries(value) != nil else { return nil }
        return { Map<Key, T.PersistedType>._collection($0) }
    }
}
