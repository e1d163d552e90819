/// A value as messages and explanations show it: short, on one line.
extension Value {
    package var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .int(let value): "\(value)"
        case .float(let value): "\(value)"
        case .double(let value): "\(value)"
        case .string(let value): "\"\(value.count > 60 ? String(value.prefix(57)) + "..." : value)\""
        case .data(let value): "data of \(value.count) bytes"
        case .timestamp(let value): "T\(value.seconds):\(value.nanoseconds)"
        case .decimal(let value): value.text
        case .objectID(let value): value.text
        case .uuid(let value): value.text
        case .list(let elements): "list of \(elements.count)"
        case .map(let entries): "map of \(entries.count)"
        case .link(let value): "object \(value.key.rawValue)"
        }
    }
}
