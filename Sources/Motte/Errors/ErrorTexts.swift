/// The phrases that RealmSwift's messages begin with, which programs and tests look for, before what the engine says.
import MotteSchemaModel
import MotteValues

enum ErrorTexts {
    /// For a property by name that an object does not have.
    static func unknown(_ name: String, of object: ObjectBase) -> String {
        let names: [String]
        let className: String
        // Texts of errors do not fail; of what was deleted they name what is declared.
        if object is DynamicObject, let type = try? object.live?.type {
            (names, className) = (type.properties.map(\.name), type.name)
        } else {
            let type = type(of: object)
            (names, className) = (ClassFields.of(type).fields.map(\.name), type.className())
        }
        let hint = NearestName.suggestion(for: name, among: names)
        return "Invalid property name '\(name)' for class '\(className)'." + (hint.isEmpty ? "" : " It has none" + hint)
    }

    static func message(_ error: DatabaseError) -> String {
        guard let phrase = phrase(error) else { return error.message }
        return "\(phrase): \(error.message)"
    }

    /// nil where the message has it, or there is none.
    private static func phrase(_ error: DatabaseError) -> String? {
        let message = error.message
        switch error.code {
        case .wrongThread: return "Realm accessed from incorrect thread"
        // Of a realm that was invalidated everything ends, results too.
        case .closed where message.hasPrefix("this session"): return "Object has been deleted or invalidated"
        case .objectDeleted where !message.contains("deleted or invalidated"):
            return "Object has been deleted or invalidated"
        case .frozen where message.hasPrefix("cannot write"):
            return "Can't perform transactions on a frozen Realm"
        case .frozen where message.hasPrefix("cannot modify"):
            return "Attempting to modify a frozen object - call thaw on the Object instance first"
        case .notInWrite: return "Cannot modify managed objects outside of a write transaction"
        case .invalidArgument where message.hasPrefix("cannot freeze an object"):
            return "Cannot freeze an object in the same write transaction as it was created in"
        case .alreadyInWrite where message.hasPrefix("this session"):
            return "The Realm is already in a write transaction"
        case .unknownProperty:
            guard let property = error.details.propertyName, let type = error.details.className,
                !message.contains("not found in object of type")
            else { return nil }
            return "Property '\(property)' not found in object of type '\(type)'"
        case .primaryKeyIsFixed: return "Primary key can't be changed after an object is inserted"
        case .duplicatePrimaryKey:
            return message.contains("cannot be the primary key")
                ? "Primary key property has duplicate values after migration"
                : "Attempting to create an object with an existing primary key value"
        case .valueTooLarge: return "Binary too big"
        case .queryInvalid where message.contains("say ANY"):
            return "Key paths that pass a collection need ANY or aggregate operations"
        case .schemaMismatch where message.contains("needs a migration"):
            return "Migration is required due to the following errors"
        default: return nil
        }
    }
}
