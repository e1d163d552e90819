/// The logical types of a property, and how many values it holds.
///
/// Numbers equal `ValueKind` and are those of the file and of `motte.h`; never renumbered. `linkingObjects` has no
/// column: it is read from the backlinks of its origin property.
import MotteValues

package enum PropertyType: UInt32, Sendable, CaseIterable {
    case bool = 1
    case int = 2
    case float = 3
    case double = 4
    case string = 5
    case data = 6
    case timestamp = 7
    case link = 8
    case decimal = 9
    case objectID = 10
    case uuid = 11
    /// A value of any of these, null included, or a nested list or map of them.
    case mixed = 14
    case linkingObjects = 100

    /// What a property has that nobody gave a value.
    package func defaultValue(isNullable: Bool) -> ValueView {
        if isNullable { return .null }
        switch self {
        case .bool: return .bool(false)
        case .int: return .int(0)
        case .float: return .float(0)
        case .double: return .double(0)
        case .string: return .string(UnsafeRawBufferPointer(start: nil, count: 0))
        case .data: return .data(UnsafeRawBufferPointer(start: nil, count: 0))
        case .timestamp: return .timestamp(Timestamp(seconds: 0, nanoseconds: 0))
        case .decimal: return .decimal(.zero)
        case .objectID: return .objectID(.zero)
        case .uuid: return .uuid(UUIDBytes(low: 0, high: 0))
        case .link, .mixed, .linkingObjects: return .null
        }
    }

    /// As it is written in schema texts and messages.
    package var name: String {
        switch self {
        case .bool: "bool"
        case .int: "int"
        case .float: "float"
        case .double: "double"
        case .string: "string"
        case .data: "data"
        case .timestamp: "timestamp"
        case .link: "link"
        case .decimal: "decimal"
        case .objectID: "objectId"
        case .uuid: "uuid"
        case .mixed: "mixed"
        case .linkingObjects: "inverse"
        }
    }

    /// What its values are; nil for `mixed`, whose values are of any kind, and for `linkingObjects`, which has none.
    package var valueKind: ValueKind? {
        self == .mixed || self == .linkingObjects ? nil : ValueKind(rawValue: rawValue)
    }

    package var isNumeric: Bool {
        switch self {
        case .int, .float, .double, .decimal: true
        case .bool, .string, .data, .timestamp, .link, .objectID, .uuid, .mixed, .linkingObjects: false
        }
    }

    package var canBePrimaryKey: Bool { self == .int || self == .string || self == .objectID || self == .uuid }

    package var canBeIndexed: Bool {
        switch self {
        case .bool, .int, .string, .timestamp, .objectID, .uuid, .mixed: true
        case .float, .double, .decimal, .data, .link, .linkingObjects: false
        }
    }
}

/// One value, or a collection of them. Keys of maps are strings.
package enum CollectionKind: UInt32, Sendable, CaseIterable {
    case none = 0
    case list = 1
    case set = 2
    case map = 3

    /// As it is written in schema texts and messages.
    package var name: String {
        switch self {
        case .none: "value"
        case .list: "list"
        case .set: "set"
        case .map: "map"
        }
    }
}
