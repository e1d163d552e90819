/// What the columns of a CSV file hold: inferred from rows, or given by a class that exists; and cells as values.
import MotteSchemaModel
import MotteValues

struct ColumnTypes {
    /// Narrowest type that all of a column's values have: bool, int, double, timestamp, else string.
    static func infer(_ rows: [[String]], columns: Int, null: String) -> [(type: PropertyType, isNullable: Bool)] {
        (0 ..< columns).map { column in
            let cells = rows.map { column < $0.count ? $0[column] : "" }
            let values = cells.filter { !$0.isEmpty && $0 != null }
            let candidates: [PropertyType] = [.bool, .int, .double, .timestamp]
            let type =
                values.isEmpty
                ? .string : candidates.first { type in values.allSatisfy { value($0, type) != nil } } ?? .string
            return (type, values.count < cells.count || type != .string)
        }
    }

    /// nil where the text is no value of that type.
    static func value(_ text: String, _ type: PropertyType) -> Value? {
        switch type {
        case .bool:
            switch text.lowercased() {
            case "true": return .bool(true)
            case "false": return .bool(false)
            default: return nil
            }
        case .int: return Int64(text).map(Value.int)
        case .float: return Float(text).map(Value.float)
        case .double: return Double(text).map(Value.double)
        case .string: return .string(text)
        case .data: return .data([UInt8](text.utf8))
        case .timestamp: return ISOTime.parse(text).map(Value.timestamp)
        case .decimal: return Decimal128(parsing: text).map(Value.decimal)
        case .objectID: return ObjectID(parsing: text).map(Value.objectID)
        case .uuid: return UUIDBytes(parsing: text).map(Value.uuid)
        case .mixed: return .string(text)
        case .link, .linkingObjects: return nil
        }
    }
}
