/// Schemas as builders and as text. What an open realm holds is in Introspection+C.
import CMotte
import MotteSchemaModel
import MotteValues

/// A schema under construction. Used by one thread at a time.
final class SchemaBox: Box {
    var classes: [(name: String, isEmbedded: Bool, properties: [Property], indexes: [IndexDeclaration])]

    init(_ schema: Schema = .empty) {
        classes = schema.objectTypes.map { ($0.name, $0.isEmbedded, $0.properties, $0.indexes) }
        super.init(kind: .schema)
    }

    var schema: Schema {
        Schema(
            classes.map {
                ObjectType(
                    name: $0.name, properties: $0.properties, isEmbedded: $0.isEmbedded, indexes: $0.indexes)
            })
    }

    override func clone() throws(DatabaseError) -> Box { SchemaBox(schema) }
}

@_cdecl("motte_schema_new") @implementation
public func motte_schema_new(_ out_schema: UnsafeMutablePointer<OpaquePointer?>?) -> motte_status {
    boundary { () throws(DatabaseError) in
        try Handles.make(SchemaBox(), try required(out_schema))
        return .ok
    }
}

@_cdecl("motte_schema_parse") @implementation
public func motte_schema_parse(
    _ text: UnsafePointer<CChar>?, _ text_size: Int, _ out_schema: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_schema)
        let schema = try SchemaText.parse(try requiredText(text, text_size, "the schema text"))
        try Handles.make(SchemaBox(schema), out)
        return .ok
    }
}

@_cdecl("motte_schema_add_class") @implementation
public func motte_schema_add_class(
    _ schema: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ name_size: Int, _ flags: UInt32,
    _ out_index: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_index?.pointee = 0
        let schema = try Handles.any(schema, .schema, as: SchemaBox.self)
        try checkFlags(flags, allowed: UInt32(MOTTE_CLASS_EMBEDDED))
        let name = try requiredName(name, name_size, "the class name")
        guard !schema.box.classes.contains(where: { $0.name.hasSameBytes(as: name) }) else {
            throw DatabaseError(.schemaInvalid, "class '\(name)' is declared twice", className: name)
        }
        schema.box.classes.append((name, flags & UInt32(MOTTE_CLASS_EMBEDDED) != 0, [], []))
        out_index?.pointee = schema.box.classes.count - 1
        return .ok
    }
}

@_cdecl("motte_schema_add_prop") @implementation
public func motte_schema_add_prop(
    _ schema: OpaquePointer?, _ class_index: Int, _ spec: UnsafePointer<motte_prop_spec>?,
    _ out_index: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_index?.pointee = 0
        let schema = try Handles.any(schema, .schema, as: SchemaBox.self)
        let property = try declaredProperty(try readStruct(spec, empty: motte_prop_spec()))
        try checkIndex(class_index, below: schema.box.classes.count)
        let owner = schema.box.classes[class_index]
        guard !owner.properties.contains(where: { $0.name.hasSameBytes(as: property.name) }) else {
            throw DatabaseError(
                .schemaInvalid, "property '\(property.name)' is declared twice in \(owner.name)",
                className: owner.name, propertyName: property.name)
        }
        schema.box.classes[class_index].properties.append(property)
        out_index?.pointee = owner.properties.count
        return .ok
    }
}

@_cdecl("motte_schema_add_index") @implementation
public func motte_schema_add_index(
    _ schema: OpaquePointer?, _ class_index: Int, _ props: UnsafePointer<CChar>?, _ props_size: Int, _ flags: UInt32
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let schema = try Handles.any(schema, .schema, as: SchemaBox.self)
        try checkFlags(flags, allowed: UInt32(MOTTE_INDEX_UNIQUE))
        let text = try requiredText(props, props_size, "the properties")
        try checkIndex(class_index, below: schema.box.classes.count)
        let parts = try SchemaText.parseIndexParts(text)
        let index = IndexDeclaration.ordered(parts, isUnique: flags & UInt32(MOTTE_INDEX_UNIQUE) != 0)
        let owner = schema.box.classes[class_index]
        guard !owner.indexes.contains(where: { $0.declaresSame(as: index) }) else {
            throw DatabaseError(
                .schemaInvalid, "the \(index.text) of \(owner.name) is declared twice", className: owner.name)
        }
        schema.box.classes[class_index].indexes.append(index)
        return .ok
    }
}

private func declaredProperty(_ spec: motte_prop_spec) throws(DatabaseError) -> Property {
    let name = try requiredName(spec.name, spec.name_size, "the property name")
    guard let type = PropertyType(rawValue: spec.type) else {
        throw DatabaseError(.invalidArgument, "\(spec.type) is no type of a property", propertyName: name)
    }
    guard let collection = CollectionKind(rawValue: spec.collection) else {
        throw DatabaseError(.invalidArgument, "\(spec.collection) is no kind of collection", propertyName: name)
    }
    try checkFlags(spec.flags, allowed: PropertyFlags.all)
    guard let width = PropertyFlags.width(spec.flags) else {
        throw DatabaseError(
            .invalidArgument, "an int has one width: at most one of MOTTE_PROP_INT8, INT16 and INT32",
            propertyName: name)
    }
    return Property(
        name: name, type: type, width: width, collection: collection,
        // The target of a single link or of one in a map can go away, and null is a mixed value: these are nullable
        // without a flag.
        isNullable: spec.flags & PropertyFlags.nullable != 0 || type == .mixed
            || (type == .link && (collection == .none || collection == .map)),
        isPrimaryKey: spec.flags & PropertyFlags.primaryKey != 0,
        isIndexed: spec.flags & PropertyFlags.indexed != 0,
        target: try optionalText(spec.target, spec.target_size)
    ).unique(spec.flags & PropertyFlags.unique != 0).listing(origin: try optionalText(spec.origin, spec.origin_size))
}

enum PropertyFlags {
    static let nullable = UInt32(MOTTE_PROP_NULLABLE)
    static let primaryKey = UInt32(MOTTE_PROP_PRIMARY_KEY)
    static let indexed = UInt32(MOTTE_PROP_INDEXED)
    static let int8 = UInt32(MOTTE_PROP_INT8)
    static let int16 = UInt32(MOTTE_PROP_INT16)
    static let int32 = UInt32(MOTTE_PROP_INT32)
    static let unique = UInt32(MOTTE_PROP_UNIQUE)
    static let all = nullable | primaryKey | indexed | int8 | int16 | int32 | unique

    /// nil for several at once.
    static func width(_ flags: UInt32) -> IntWidth? {
        switch flags & (int8 | int16 | int32) {
        case 0: .bits64
        case int8: .bits8
        case int16: .bits16
        case int32: .bits32
        default: nil
        }
    }

    private static func flag(_ width: IntWidth) -> UInt32 {
        switch width {
        case .bits64: 0
        case .bits8: int8
        case .bits16: int16
        case .bits32: int32
        }
    }

    static func of(_ property: Property) -> UInt32 {
        (property.isNullable ? nullable : 0) | (property.isPrimaryKey ? primaryKey : 0)
            | (property.isIndexed ? indexed : 0) | (property.isUnique ? unique : 0) | flag(property.width)
    }
}

@_cdecl("motte_schema_validate") @implementation
public func motte_schema_validate(_ schema: OpaquePointer?) -> motte_status {
    boundary { () throws(DatabaseError) in
        _ = try Handles.any(schema, .schema, as: SchemaBox.self).box.schema.validated()
        return .ok
    }
}

@_cdecl("motte_schema_text") @implementation
public func motte_schema_text(_ schema: OpaquePointer?, _ out_text: UnsafeMutablePointer<motte_buf>?) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_text, zero: emptyBuffer)
        out.pointee = try makeBuffer(SchemaText.print(try Handles.any(schema, .schema, as: SchemaBox.self).box.schema))
        return .ok
    }
}
