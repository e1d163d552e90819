/// Values given by name that are no value of the property's type, but of what it is stored as: what a failable type
/// cannot be made from, null for a type that is stored as an embedded object. They are stored as they are; reading them
/// as the type is what fails, or shows the type's default for null. A raw value that an enum has no case for is
/// refused: nothing of the program could read it.
import MotteValues

enum RawStorage {
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
}
