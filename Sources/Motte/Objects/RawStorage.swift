/// Values given by name that the type of a property has no case for, but that what it is stored as has: an enum's
/// unknown raw value, what a failable type cannot be made from, null for a type that is stored as an embedded object.
/// They are stored as they are; reading them as the type is what fails, or shows the type's default for null.
import MotteValues

enum RawStorage {
    static func value(_ value: Any?, for type: Any.Type) -> Value? {
        if let optional = type as? any OptionalProtocol.Type { return self.value(value, for: wrapped(optional)) }
        guard let value = Dynamic.flattened(value) else {
            let custom = type as? any _CustomPersistable.Type
            return custom?._shape.type == .link ? .null : nil
        }
        if let type = type as? any PersistableEnum.Type { return raw(value, type) }
        if let type = type as? any FailableCustomPersistable.Type { return persisted(value, type) }
        return nil
    }

    private static func wrapped<T: OptionalProtocol>(_ type: T.Type) -> Any.Type { T.Wrapped.self }

    private static func raw<T: PersistableEnum>(_ value: Any, _ type: T.Type) -> Value? {
        T.RawValue._convert(value).flatMap { Dynamic.storedValue($0) }
    }

    private static func persisted<T: FailableCustomPersistable>(_ value: Any, _ type: T.Type) -> Value? {
        T.PersistedType._convert(value).flatMap { Dynamic.storedValue($0) }
    }
}
