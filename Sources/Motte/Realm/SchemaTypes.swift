/// The classes and properties of an open realm, for programs that look at them: migrations, tools, dynamic access.
///
/// Values that describe; changing a schema is done by changing the classes. The texts are indented blocks of
/// `key = value;` lines, one block a property.
import MotteSchemaModel
import MotteValues

/// The type of a property or of a collection's elements.
public enum PropertyType: Int, Sendable, CustomStringConvertible {
    /// Whole numbers of up to 64 bits, and enums with such raw values.
    case int = 0
    /// True or false.
    case bool = 1
    /// Text, as UTF-8.
    case string = 2
    /// Bytes.
    case data = 3
    /// A moment, to the nanosecond.
    case date = 4
    /// A floating-point number of 32 bits.
    case float = 5
    /// A floating-point number of 64 bits.
    case double = 6
    /// A link to an object.
    case object = 7
    /// Inverse links: computed from the links of another property.
    case linkingObjects = 8
    /// A mixed value: of any type, decided value by value.
    case any = 9
    /// An identifier of twelve bytes.
    case objectId = 10
    /// A decimal number of 34 digits.
    case decimal128 = 11
    /// An identifier of sixteen bytes.
    case UUID = 12

    package init(_ type: MotteSchemaModel.PropertyType) {
        switch type {
        case .int: self = .int
        case .bool: self = .bool
        case .string: self = .string
        case .data: self = .data
        case .timestamp: self = .date
        case .float: self = .float
        case .double: self = .double
        case .link: self = .object
        case .linkingObjects: self = .linkingObjects
        case .mixed: self = .any
        case .objectID: self = .objectId
        case .decimal: self = .decimal128
        case .uuid: self = .UUID
        }
    }

    /// The type's name, as descriptions of schemas have it.
    public var description: String {
        switch self {
        case .int: "int"
        case .bool: "bool"
        case .string: "string"
        case .data: "data"
        case .date: "date"
        case .float: "float"
        case .double: "double"
        case .object: "object"
        case .linkingObjects: "linking objects"
        case .any: "mixed"
        case .objectId: "object id"
        case .decimal128: "decimal128"
        case .UUID: "uuid"
        }
    }
}

/// A property of a class as it is stored.
public struct Property: Sendable {
    /// As the program names it.
    public let name: String
    /// As the file names it.
    public let columnName: String
    /// The type of the value, or of the elements of a collection.
    public let type: PropertyType
    /// Whether it is a list, or inverse links.
    public let isArray: Bool
    /// Whether it is a set.
    public let isSet: Bool
    /// Whether it is a map with text keys.
    public let isMap: Bool
    /// Whether it has an index; a primary key always has.
    public let isIndexed: Bool
    /// Whether no two objects have the same value, apart from nil; a primary key is unique without this.
    public let isUnique: Bool
    package let isPrimary: Bool
    /// Whether it may be nil; of a collection, whether its elements may. False for mixed values, which hold null by
    /// themselves.
    public let isOptional: Bool
    /// The class of linked objects, of links, collections of them and inverse links; nil for everything else.
    public let objectClassName: String?
    /// Of inverse links: the property that links here.
    package let linkOriginPropertyName: String?

    /// `columnName` differs from the name where the class maps it.
    package init(_ property: MotteSchemaModel.Property, name: String? = nil) {
        self.name = name ?? property.name
        columnName = property.name
        type = PropertyType(property.type)
        // Inverse links are read as an array of objects.
        isArray = property.isList || property.type == .linkingObjects
        isSet = property.isSet
        isMap = property.isMap
        isIndexed = property.hasIndex || property.isUnique
        isUnique = property.isUnique
        isPrimary = property.isPrimaryKey
        // A mixed value has a none of its own.
        isOptional = property.isNullable && property.type != .mixed
        objectClassName = property.target
        linkOriginPropertyName = property.origin
    }
}

extension Property: CustomStringConvertible, Equatable {
    /// The property with all that is declared about it, for people to read.
    public var description: String {
        var lines = ["type = \(type)"]
        if type == .object || type == .linkingObjects {
            lines.append("objectClassName = \(objectClassName ?? "(null)")")
            lines.append("linkOriginPropertyName = \(linkOriginPropertyName ?? "(null)")")
        }
        lines.append("columnName = \(columnName)")
        let marks = [
            ("indexed", isIndexed), ("isPrimary", isPrimary), ("array", isArray), ("set", isSet),
            ("dictionary", isMap), ("optional", isOptional),
        ]
        lines += marks.map { "\($0) = \($1 ? "YES" : "NO")" }
        return "\(name) {\n" + lines.map { "\t\($0);\n" }.joined() + "}"
    }
}

/// A class as it is stored.
public struct ObjectSchema: Sendable {
    /// The stored properties: those of superclasses first, then in the order of their declaration.
    public let properties: [Property]
    /// Those that are computed from others: inverse links.
    package let computedProperties: [Property]
    /// The name of the class in the file.
    public let className: String
    /// The class of the program; `DynamicObject` for one that it has not declared.
    public let objectClass: AnyClass
    /// Whether its objects belong to one place of a parent each.
    public let isEmbedded: Bool
    /// Always false: asymmetric objects are of a service that is gone.
    public var isAsymmetric: Bool { false }

    /// With the names that the program's class, if it has one, gives to its properties.
    package init(_ type: ObjectType, in session: RealmSession?) {
        let known = session?.swiftType(named: type.name)
        let fields = known.map { ClassFields.of($0).fields } ?? []
        let names = fields.map { (NameKey($0.columnName), $0.name) }
        self.init(
            type, objectClass: known ?? DynamicObject.self,
            names: Dictionary(names, uniquingKeysWith: { first, _ in first }))
    }

    /// As the program declares it, whatever order the file has its properties in.
    package init(declaredBy type: ObjectBase.Type) {
        let names = ClassFields.of(type).fields.map { (NameKey($0.columnName), $0.name) }
        self.init(
            ClassFields.objectType(type), objectClass: type,
            names: Dictionary(names, uniquingKeysWith: { first, _ in first }))
    }

    /// `names` maps names of the file to those of the program, where they differ.
    package init(_ type: ObjectType, objectClass: AnyClass, names: [NameKey: String] = [:]) {
        let all = type.properties.map { Property($0, name: names[NameKey($0.name)]) }
        properties = all.filter { $0.type != .linkingObjects }
        computedProperties = all.filter { $0.type == .linkingObjects }
        className = type.name
        self.objectClass = objectClass
        isEmbedded = type.isEmbedded
    }

    /// The property that is the primary key; nil where there is none.
    public var primaryKeyProperty: Property? { properties.first(where: \.isPrimary) }

    /// The property of that name, a computed one included; nil where there is none.
    public subscript(name: String) -> Property? {
        (properties + computedProperties).first { $0.name.hasSameBytes(as: name) }
    }
}

extension ObjectSchema: CustomStringConvertible, Equatable {
    /// The class with its properties, for people to read.
    public var description: String {
        let blocks = (properties + computedProperties).map { indented($0.description) }
        return "\(className) \(isEmbedded ? "(embedded) " : ""){\n" + blocks.joined() + "}"
    }

    /// Equal as declarations; which Swift class stands for them does not count.
    public static func == (left: ObjectSchema, right: ObjectSchema) -> Bool {
        left.className.hasSameBytes(as: right.className) && left.isEmbedded == right.isEmbedded
            && left.properties == right.properties && left.computedProperties == right.computedProperties
    }
}

/// The classes that a program declares, or those of a file before a migration.
public struct Schema: Sendable {
    /// The classes. Those that a program declares ascend by name.
    public let objectSchema: [ObjectSchema]

    package init(_ objectSchema: [ObjectSchema]) { self.objectSchema = objectSchema }
    package init(of schema: MotteSchemaModel.Schema, in session: RealmSession) {
        self.init(schema.objectTypes.map { ObjectSchema($0, in: session) })
    }

    /// The class of that name; nil where there is none.
    public subscript(name: String) -> ObjectSchema? { objectSchema.first { $0.className.hasSameBytes(as: name) } }
}

extension RealmSession {
    /// What the program declares for this realm, by name.
    var declaredSchema: Schema {
        let types = RealmOpening.declaredTypes(configuration)
        let classes = types.map { ObjectSchema(declaredBy: $0) }
        return Schema(classes.sorted { $0.className.precedesInBytes($1.className) })
    }
}

extension Schema: CustomStringConvertible, Equatable {
    /// The classes in the order of their names, for people to read.
    public var description: String {
        let sorted = objectSchema.sorted { $0.className.precedesInBytes($1.className) }
        return "Schema {\n" + sorted.map { indented($0.description) }.joined() + "}"
    }

    /// Whether both have equal classes, in whatever order.
    public static func == (left: Schema, right: Schema) -> Bool {
        // Several classes may have one name.
        var rest = right.objectSchema
        for type in left.objectSchema {
            guard let place = rest.firstIndex(of: type) else { return false }
            rest.remove(at: place)
        }
        return rest.isEmpty
    }
}

private func indented(_ block: String) -> String {
    block.split(separator: "\n", omittingEmptySubsequences: false).map { "\t\($0)\n" }.joined()
}
