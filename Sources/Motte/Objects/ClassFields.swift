import Foundation
import MotteSchemaModel
/// The `@Persisted` properties of a class: found once by walking its stored fields, then bound to columns by their
/// place
/// inside the object, so that no property costs an allocation or a look-up by name.
@_spi(Reflection) import Swift
import Synchronization

package struct ClassFields: Sendable {
    package struct Field: @unchecked Sendable {  // @unchecked: immutable; metatypes and shapes are
        package let name: String
        let offset: Int
        package let persisted: any AnyPersisted.Type
        package let shape: _PropertyShape
        package let isPrimaryKey: Bool
        package let isIndexed: Bool
        package let origin: String?

        package func pointer(in object: ObjectBase) -> UnsafeMutableRawPointer {
            Unmanaged.passUnretained(object).toOpaque() + offset
        }
    }

    package let fields: [Field]

    package func field(named name: String) -> Field? { fields.first { $0.name == name } }

    private static let known = Mutex<[ObjectIdentifier: ClassFields]>([:])

    package static func of(_ type: ObjectBase.Type) -> ClassFields {
        if let found = known.withLock({ $0[ObjectIdentifier(type)] }) { return found }
        let prototype = type.init()
        var fields: [Field] = []
        _ = _forEachField(of: type, options: _EachFieldOptions(rawValue: 1)) { name, offset, fieldType, _ in
            guard let persisted = fieldType as? any AnyPersisted.Type else { return true }
            // The wrapper of `name` is stored as `_name`.
            let stored = String(cString: name)
            let flags = persisted._flags(at: Unmanaged.passUnretained(prototype).toOpaque() + offset)
            fields.append(
                Field(
                    name: stored.hasPrefix("_") ? String(stored.dropFirst()) : stored, offset: offset,
                    persisted: persisted,
                    shape: persisted._shape, isPrimaryKey: flags.isPrimaryKey, isIndexed: flags.isIndexed,
                    origin: flags.origin))
            return true
        }
        let found = ClassFields(fields: fields)
        known.withLock { $0[ObjectIdentifier(type)] = found }
        return found
    }

    /// The class as the store sees it.
    package static func objectType(_ type: Object.Type) -> ObjectType {
        ObjectType(
            name: type.className(),
            properties: of(type).fields.map { field in
                Property(
                    name: field.name, type: field.shape.type, collection: field.shape.collection,
                    isNullable: field.shape.isNullable,
                    isPrimaryKey: field.isPrimaryKey, isIndexed: field.isIndexed,
                    target: field.shape.target?.className(),
                    origin: field.origin)
            })
    }
}

/// Collects the names of the properties that a key path passes.
package final class KeyPathRecorder {
    package var names: [String] = []

    /// The name of the one property that `keyPath` reads.
    package static func name<Root: ObjectBase, Value>(of keyPath: KeyPath<Root, Value>) -> String {
        let prototype = Root()
        let recorder = KeyPathRecorder()
        prototype.recorder = recorder
        for field in ClassFields.of(Root.self).fields {
            field.persisted._name(field.name, at: field.pointer(in: prototype))
        }
        _ = prototype[keyPath: keyPath]
        guard let name = recorder.names.first else { preconditionFailure("\(keyPath) is not a persisted property") }
        return name
    }
}
