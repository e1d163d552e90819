/// The logical types of a property, and how many values it holds.
///
/// Numbers equal `ValueKind` and are those of the file and of `motte.h`; never renumbered. `linkingObjects` has no
/// column: it is read from the backlinks of its origin property. What else there is to know of a type stands in
/// `TypeTable.swift`.
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
    package func defaultValue(isNullable: Bool) -> ValueView { isNullable ? .null : valueKind?.zero ?? .null }

    /// As it is written in schema texts and messages.
    package var name: String {
        switch self {
        case .mixed: "mixed"
        case .linkingObjects: "inverse"
        default: valueKind?.name ?? ""
        }
    }

    /// What its values are; nil for `mixed`, whose values are of any kind, and for `linkingObjects`, which has none.
    @inlinable package var valueKind: ValueKind? {
        self == .mixed || self == .linkingObjects ? nil : ValueKind(rawValue: rawValue)
    }

    package var isNumeric: Bool { valueKind?.isNumeric ?? false }

    package var canBePrimaryKey: Bool { valueKind?.canBePrimaryKey ?? false }

    package var canBeIndexed: Bool { valueKind?.canBeIndexed ?? (self == .mixed) }

    package var canBeUnique: Bool { PropertyType.scalars.contains(self) }

    /// Those of one value with a column, in the order of their numbers.
    package static let scalars: [PropertyType] = allCases.filter { $0 != .link && $0.valueKind != nil }

    /// nil for `mixed` and `linkingObjects`.
    @inlinable package var form: ValueKind.Form? { valueKind?.form }
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
