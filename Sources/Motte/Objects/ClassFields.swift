/// The persisted properties of a class: found once by walking its stored fields, then bound to columns by their place
/// inside the object, so that no property costs an allocation or a look-up by name.
import Foundation
import MotteSchemaModel
import MotteValues
@_spi(Reflection) import Swift

package struct ClassFields: Sendable {
    package struct Field: @unchecked Sendable {  // @unchecked: immutable; metatypes and shapes are
        package let name: String
        /// In the store.
        package let columnName: String
        package let offset: Int
        package let access: any FieldAccess.Type
        package let shape: _Shape
        package let isCollection: Bool
        package let isPrimaryKey: Bool
        package let isIndexed: Bool
        package let isUnique: Bool
        package let origin: String?
        /// Of the types that most properties have.
        let common: CommonField?

        @inline(__always)
        package func pointer(in object: ObjectBase) -> UnsafeMutableRawPointer {
            Unmanaged.passUnretained(object).toOpaque() + offset
        }

        package func value(of object: ObjectBase) -> Any? { access.value(at: pointer(in: object), of: object) }
    }

    package let fields: [Field]
    package let primaryKey: Field?
    /// Whether an instance has nothing but wrappers of stored properties, so that one that keeps nothing is as good for
    /// a row as another.
    package let isPlain: Bool
    private let byName: [NameKey: Int]

    private init(_ fields: [Field], isPlain: Bool) {
        self.fields = fields
        self.isPlain = isPlain
        primaryKey = fields.first { $0.isPrimaryKey }
        byName = Dictionary(
            fields.enumerated().map { (NameKey($0.element.name), $0.offset) }, uniquingKeysWith: { first, _ in first })
    }

    package func field(named name: String) -> Field? { byName[NameKey(name)].map { fields[$0] } }
    package func field(inColumn name: String) -> Field? { fields.first { $0.columnName.hasSameBytes(as: name) } }

    private static let known = Locked<[ObjectIdentifier: ClassFields]>(ofProcess: [:])

    package static func of(_ type: ObjectBase.Type) -> ClassFields {
        if let found = known.withLock({ $0[ObjectIdentifier(type)] }) { return found }
        let found = discover(type)
        known.withLock { $0[ObjectIdentifier(type)] = found }
        return found
    }

    private static func offsets(of type: ObjectBase.Type) -> Set<Int> {
        var offsets: Set<Int> = []
        _ = _forEachField(of: type, options: _EachFieldOptions(rawValue: 1)) { _, offset, _, _ in
            offsets.insert(offset)
            return true
        }
        return offsets
    }

    private static func discover(_ type: ObjectBase.Type) -> ClassFields {
        let prototype = type.init()
        let primaryKey = type.primaryKey()
        let indexed = Set(type.indexedProperties().map { NameKey($0) })
        let ignored = Set(type.ignoredProperties().map { NameKey($0) })
        let names = Array(type.propertiesMapping()) + Array(type._realmColumnNames())
        let mapping = Dictionary(names.map { (NameKey($0.key), $0.value) }) { first, _ in first }
        var fields: [Field] = []
        _ = _forEachField(of: type, options: _EachFieldOptions(rawValue: 1)) { name, offset, fieldType, _ in
            guard let access = fieldType as? any FieldAccess.Type else { return true }
            let stored = String(cString: name)
            let name = access.isWrapper && stored.hasPrefix("_") ? String(stored.dropFirst()) : stored
            guard !ignored.contains(NameKey(name)) else { return true }
            let declared = access.declaration(at: Unmanaged.passUnretained(prototype).toOpaque() + offset)
            fields.append(
                Field(
                    name: name, columnName: mapping[NameKey(name)] ?? name, offset: offset, access: access,
                    shape: access.shape, isCollection: access.isCollection,
                    isPrimaryKey: declared.options.contains(.primaryKey) || primaryKey.hasSameBytes(as: name),
                    isIndexed: declared.options.contains(.indexed) || indexed.contains(NameKey(name)),
                    isUnique: declared.options.contains(.unique), origin: declared.origin,
                    common: CommonField(access)))
            return true
        }
        let others = offsets(of: type).subtracting(offsets(of: ObjectBase.self))
        let isPlain = fields.allSatisfy { $0.access.isWrapper } && others == Set(fields.map(\.offset))
        return ClassFields(fields, isPlain: isPlain)
    }

    /// The class as the store sees it.
    package static func objectType(_ type: ObjectBase.Type) -> ObjectType {
        ObjectType(
            name: type.className(),
            properties: of(type).fields.map { field in
                let origin = field.origin.map { name in
                    field.shape.target.map { of($0).field(named: name)?.columnName ?? name } ?? name
                }
                return MotteSchemaModel.Property(
                    name: field.columnName, type: field.shape.type, width: field.shape.width,
                    collection: field.shape.collection, isNullable: field.shape.isNullable,
                    isPrimaryKey: field.isPrimaryKey, isIndexed: field.isIndexed && !field.isPrimaryKey,
                    target: field.shape.target?.className()
                ).unique(field.isUnique).listing(origin: origin)
            }, isEmbedded: type is EmbeddedObject.Type,
            indexes: type.indexes().map { index in
                index.declaration { of(type).field(named: $0)?.columnName ?? $0 }
            })
    }
}
