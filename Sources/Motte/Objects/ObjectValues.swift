/// Properties of an object by name, managed or not: subscripts, `Dog(value: ["name": "Rex"])`, `value(forKeyPath:)`.
import Foundation
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

enum ObjectValues {
    // MARK: One property

    static func value(of object: ObjectBase, _ name: String) -> Any? {
        if let dynamic = object as? DynamicObject { return dynamic.read(name) }
        guard let field = ClassFields.of(type(of: object)).field(named: name) else {
            return object.value(forUndefinedKey: name)
        }
        return field.value(of: object)
    }

    static func set(_ value: Any?, _ name: String, of object: ObjectBase) {
        if let dynamic = object as? DynamicObject { return dynamic.write(name, value) }
        guard let field = ClassFields.of(type(of: object)).field(named: name) else {
            return object.setValue(value, forUndefinedKey: name)
        }
        set(value, field, of: object)
    }

    /// What an unmanaged object cannot hold, but its row can: a stored value, or one for a collection.
    enum Kept {
        case value(MotteValues.Value)
        case elements(Any?)
    }

    /// Takes that.
    typealias Keep = (_ kept: Kept, _ field: ClassFields.Field) -> Void

    /// Gives it to the object, which is managed by now.
    static func store(_ kept: Kept, _ field: ClassFields.Field, in object: ObjectBase) throws(DatabaseError) {
        switch kept {
        case .value(let raw): try object.live?.set(field.columnName, to: raw)
        case .elements(let value):
            let collection = field.access.collection(at: field.pointer(in: object), of: object)
            guard let handle = (collection as? any RawElements)?._managed else { return }
            field.access.rawElements(value)?(handle)._assign(value ?? [Any](), policy: .all)
        }
    }

    @discardableResult
    private static func set(
        _ value: Any?, _ field: ClassFields.Field, of object: ObjectBase, keeping keep: Keep? = nil
    ) -> Bool {
        if field.shape.type == .linkingObjects {
            misuse("\(type(of: object).className()).\(field.name) is computed and cannot be set", .invalidInput)
        } else if field.access.assign(value, at: field.pointer(in: object), of: object) {
            return true
        } else if let raw = field.access.rawValue(value), object.live != nil || keep != nil {
            return self.keep(.value(raw), field, of: object, keep)
        } else if field.access.rawElements(value) != nil, object.live != nil || keep != nil {
            return self.keep(.elements(value), field, of: object, keep)
        } else if Dynamic.flattened(value) == nil, field.access.rawValue(value) != nil, let target = field.shape.target
        {
            // Null of a type that is stored as an embedded object, which an unmanaged object shows as the default.
            return field.access.assign(target.init(), at: field.pointer(in: object), of: object)
        } else {
            misuse(
                "Invalid value '\(Dynamic.text(value))' for property '\(type(of: object).className()).\(field.name)'"
                    + field.access.misfit, .invalidInput)
        }
        return false
    }

    private static func keep(_ kept: Kept, _ field: ClassFields.Field, of object: ObjectBase, _ keep: Keep?) -> Bool {
        if object.live != nil {
            attempt { () throws(DatabaseError) in try store(kept, field, in: object) }
        } else {
            keep?(kept, field)
        }
        return true
    }

    /// Through links, as far as the path goes; through a collection, the values of all its elements.
    static func value(of object: ObjectBase, path: String) -> Any? {
        let parts = path.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1).map { String(Substring($0)) }
        guard let first = parts.first else { return nil }
        let value = object.value(forKey: first)
        guard parts.count == 2 else { return value }
        let rest = parts[1]
        if let next = value as? ObjectBase { return next.value(forKeyPath: rest) }
        if let collection = value as? any RealmCollection { return collection.value(forKeyPath: rest) }
        if value != nil { misuse("'\(first)' is no object, so it has no '\(rest)'", .invalidInput) }
        return nil
    }

    // MARK: All of them

    /// From a dictionary, an array in the order of declaration, or another object. False after misuse, with which it
    /// ends.
    @discardableResult
    static func assign(
        _ value: Any, to object: ObjectBase,
        resolving: (_ value: Any?, _ shape: _Shape) -> Any? = { value, _ in value }, keeping keep: Keep? = nil
    ) -> Bool {
        let type = type(of: object)
        let fields = ClassFields.of(type)
        if let other = value as? ObjectBase {
            for field in fields.fields where field.shape.type != .linkingObjects {
                guard has(other, field.name) else { continue }
                let value = detached(resolving(other.value(forKey: field.name), field.shape), field)
                guard set(value, field, of: object, keeping: keep) else { return false }
            }
        } else if let entries = Dynamic.entries(value) {
            for entry in entries {
                // What the class does not store is passed over, as RealmSwift does.
                guard let field = fields.field(named: entry.key), field.shape.type != .linkingObjects else { continue }
                let value = detached(resolving(entry.value, field.shape), field)
                guard set(value, field, of: object, keeping: keep) else { return false }
            }
        } else if let values = Dynamic.elements(value) {
            let stored = fields.fields.filter { $0.shape.type != .linkingObjects }
            guard values.count <= stored.count else {
                misuse(
                    "Invalid array input: more values (\(values.count)) than properties (\(stored.count)) of "
                        + "\(type.className())", .invalidInput)
                return false
            }
            for (field, value) in zip(stored, values) {
                let value = detached(resolving(value, field.shape), field)
                guard set(value, field, of: object, keeping: keep) else { return false }
            }
        } else {
            misuse(
                "Invalid value '\(Dynamic.text(value))' to initialize object of type '\(type.className())'",
                .invalidInput)
            return false
        }
        return true
    }

    /// The elements of a collection that is another object's, and stays that.
    private static func detached(_ value: Any?, _ field: ClassFields.Field) -> Any? {
        guard let collection = Dynamic.flattened(value) as? any _CollectionValue, !collection._isManaged,
            // A mixed value holds none, and says so.
            !(collection is any _SetValue && field.shape.type == .mixed && !field.isCollection)
        else { return value }
        if let entries = Dynamic.entries(collection) {
            return Dictionary(entries.map { ($0.key, $0.value) }) { $1 } as [String: Any?]
        }
        return Dynamic.elements(collection) ?? value
    }

    private static func has(_ object: ObjectBase, _ name: String) -> Bool {
        if let dynamic = object as? DynamicObject { return dynamic.property(named: name) != nil }
        return ClassFields.of(Swift.type(of: object)).field(named: name) != nil
    }
}

/// Objects as text.
enum ObjectText {
    private static let deepest = 5

    static func text(of object: ObjectBase, depth: Int = 0) -> String {
        guard !object.isInvalidated else { return "[invalid object]" }
        let name = (object as? DynamicObject)?.objectSchema.className ?? type(of: object).className()
        guard depth < deepest else { return "<Maximum depth exceeded>" }
        let properties: [(name: String, value: Any?)]
        if let dynamic = object as? DynamicObject {
            properties = dynamic.objectSchema.properties.filter { $0.type != .linkingObjects }
                .map { ($0.name, dynamic.value(forKey: $0.name)) }
        } else {
            properties = ClassFields.of(type(of: object)).fields.filter { $0.shape.type != .linkingObjects }
                .map { ($0.name, $0.value(of: object)) }
        }
        let lines = properties.map { "\t\($0.name) = \(text($0.value, depth: depth + 1).indented);" }
        return "\(name) {\n\(lines.map { $0 + "\n" }.joined())}"
    }

    static func text(_ value: Any?, depth: Int = 0) -> String {
        guard let value = Dynamic.flattened(value) else { return "(null)" }
        if let object = value as? ObjectBase { return text(of: object, depth: depth) }
        if let collection = value as? any _CollectionValue { return collection._text(depth: depth) }
        if let data = value as? Data {
            let hex = data.prefix(24).map { String(UInt8($0) >> 4, radix: 16) + String(UInt8($0) & 15, radix: 16) }
            return "<\(hex.joined())\(data.count > 24 ? "…" : "")> — \(data.count) total bytes"
        }
        return "\(value)"
    }

    private static let longest = 100

    /// Of a list, set or map; `element` gives a line, or several.
    static func list(_ name: String, _ count: Int, depth: Int, _ element: (Int) -> String) -> String {
        guard depth < deepest else { return "<Maximum depth exceeded>" }
        var lines = (0 ..< min(count, longest)).map { element($0).indented }.joined(separator: ",\n")
        if count > longest { lines += "\n\t... \(count - longest) objects skipped." }
        return "\(name) (\n\(lines)\n)"
    }

    static func address(_ object: AnyObject) -> String {
        "0x" + String(UInt(bitPattern: ObjectIdentifier(object).hashValue), radix: 16)
    }
}

extension String {
    /// Every line but the first one step to the right.
    fileprivate var indented: String { replacingOccurrences(of: "\n", with: "\n\t") }
}
