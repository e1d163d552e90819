/// What a value is, with the numbers used in the file, in `motte_value` and in `motte.h`. Never renumbered.
/// What else there is to know of each stands in `TypeTable.swift`.
package enum ValueKind: UInt32, Sendable, CaseIterable {
    case null = 0
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
    /// Nested in a mixed value, as `map` is.
    case list = 12
    case map = 13
}
