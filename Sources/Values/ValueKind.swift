/// What a value is, with the numbers used in the file, in `motte_value` and in `motte.h`. Never renumbered.
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

    /// As it is written in messages.
    package var name: String {
        switch self {
        case .null: "null"
        case .bool: "bool"
        case .int: "int"
        case .float: "float"
        case .double: "double"
        case .string: "string"
        case .data: "data"
        case .timestamp: "timestamp"
        case .link: "link"
        }
    }
}
