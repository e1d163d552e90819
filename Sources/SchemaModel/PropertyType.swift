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
    case linkingObjects = 100

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
        case .linkingObjects: "inverse"
        }
    }

    /// What its values are; nil for `linkingObjects`, which has none of its own.
    package var valueKind: ValueKind? { ValueKind(rawValue: rawValue) }

    package var isNumeric: Bool {
        switch self {
        case .int, .float, .double: true
        case .bool, .string, .data, .timestamp, .link, .linkingObjects: false
        }
    }

    package var canBePrimaryKey: Bool { self == .int || self == .string }

    package var canBeIndexed: Bool {
        switch self {
        case .bool, .int, .string, .timestamp: true
        case .float, .double, .data, .link, .linkingObjects: false
        }
    }
}

/// One value, or a collection of them. Sets and maps have their numbers reserved.
package enum CollectionKind: UInt32, Sendable, CaseIterable {
    case none = 0
    case list = 1
}
