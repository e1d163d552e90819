/// Objects as lines: aligned columns for people, CSV and JSON Lines for programs.
import ArgumentParser
import Foundation
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

enum OutputFormat: String, ExpressibleByArgument, CaseIterable {
    case table, csv, jsonl
}

struct RowText {
    let session: Session
    let properties: [Property]

    /// The named properties, or all stored ones that are not lists.
    init(_ type: ObjectType, columns: String?, _ session: Session) throws {
        self.session = session
        if let columns {
            properties = try columns.split(separator: ",").map { try type.requiredProperty(named: String($0)) }
        } else {
            properties = type.properties.filter { $0.isStored && !$0.isList }
        }
    }

    var names: [String] { properties.map(\.name) }

    func values(_ object: LiveObject) throws -> [Value] {
        try properties.map { property in
            guard let column = property.columnKey, !property.isList else {
                return .int(Int64(try object.collection(property.name).count()))
            }
            return try object.get(column).owned
        }
    }

    /// A link shows the primary key of what it links to.
    func text(_ value: Value) throws -> String {
        switch value {
        case .null: return ""
        case .string(let text): return text
        case .bool(let value): return value ? "true" : "false"
        case .int(let number): return "\(number)"
        case .float(let number): return "\(number)"
        case .double(let number): return "\(number)"
        case .data(let bytes): return bytes.map { String(format: "%02x", $0) }.joined()
        case .timestamp(let time): return ISOTime.text(time)
        case .decimal, .objectID, .uuid, .list, .map: return value.text
        case .link(let link):
            guard let target = try session.object(link.table, at: link.key) else { return "" }
            guard let key = try target.type.primaryKey else { return "#\(link.key.rawValue)" }
            return try text(try target.get(key.name))
        }
    }

    func line(_ object: LiveObject, _ format: OutputFormat) throws -> String {
        let values = try values(object)
        switch format {
        case .table: return try values.map { try text($0) }.joined(separator: "  ")
        case .csv: return try values.map { Self.quoted(try text($0)) }.joined(separator: ",")
        case .jsonl:
            let fields = try zip(names, values).map { "\(Self.json($0)): \(try json($1))" }
            return "{\(fields.joined(separator: ", "))}"
        }
    }

    static func quoted(_ text: String) -> String {
        guard text.contains(where: { $0 == "," || $0 == "\"" || $0.isNewline }) else { return text }
        return "\"\(text.replacingOccurrences(of: "\"", with: "\"\""))\""
    }

    private func json(_ value: Value) throws -> String {
        switch value {
        case .null: "null"
        case .bool, .int: try text(value)
        case .float(let number): number.isFinite ? "\(number)" : "null"
        case .double(let number): number.isFinite ? "\(number)" : "null"
        case .string, .data, .timestamp, .link, .decimal, .objectID, .uuid, .list, .map: Self.json(try text(value))
        }
    }

    static func json(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\n": quoted += "\\n"
            case _ where scalar.value < 0x20: quoted += String(format: "\\u%04x", scalar.value)
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

/// Rows as columns wide enough for what is in them.
struct AlignedTable {
    private var rows: [[String]]

    init(header: [String]) { rows = [header] }

    mutating func add(_ row: [String]) { rows.append(row.map { $0.count > 40 ? $0.prefix(37) + "..." : $0 }) }

    var lines: [String] {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            // Only at the end: a first cell that is empty keeps its place.
            var line = zip(row, widths).map { text, width in text + String(repeating: " ", count: width - text.count) }
                .joined(separator: "  ")
            while line.utf8.last == UInt8(ascii: " ") { line.removeLast() }
            return line
        }
    }
}
