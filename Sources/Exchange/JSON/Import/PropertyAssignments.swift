/// Values for some properties of a class, given as texts, that many objects get: what commands and shells write.
///
/// A text is read by the type of its property: `36`, `Ada`, `2013-01-01T10:00:00Z`, a link as its target's primary key.
/// Collections, embedded objects and mixed values are JSON, and `null` is null where the property takes it. A text that
/// begins with `json:` is JSON for every type, one that begins with `string:` is that very text. One that was written
/// in quotes has no such beginnings, is never null, and is a text for a mixed property.
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

package struct PropertyAssignments {
    private let importer: JSONImport
    private let plan: ClassPlan
    private let cells: [(field: Int, json: [UInt8])]

    package struct Given {
        let name: String
        let text: String
        let isQuoted: Bool

        package init(_ name: String, _ text: String, isQuoted: Bool = false) {
            self.name = name
            self.text = text
            self.isQuoted = isQuoted
        }
    }

    package init(_ session: Session, _ table: TableKey, _ values: [Given]) throws(DatabaseError) {
        var options = JSONImport.Options()
        // What objects have in the property is replaced.
        options.policy = .all
        importer = try JSONImport(session, into: table, options)
        plan = try importer.plans.plan(table)
        var cells: [(field: Int, json: [UInt8])] = []
        for value in values {
            let (name, text) = (value.name, value.text)
            let property = try plan.type.requiredProperty(named: name)
            guard let field = plan.fields.firstIndex(where: { $0.property.name.hasSameBytes(as: property.name) }) else {
                throw DatabaseError(
                    .wrongType, "\(plan.type.name).\(name) is computed; assign the links it is made of",
                    className: plan.type.name, propertyName: name)
            }
            guard !cells.contains(where: { $0.field == field }) else {
                throw DatabaseError(
                    .invalidArgument, "\(plan.type.name).\(name) is assigned twice", className: plan.type.name,
                    propertyName: name)
            }
            let json = Self.json(value, plan.fields[field], importer)
            guard Self.isJSON(json) else {
                throw DatabaseError(
                    .wrongType, "'\(text)' is not \(Self.kind(property)) for \(plan.type.name).\(name)",
                    className: plan.type.name, propertyName: name)
            }
            cells.append((field, json))
        }
        self.cells = cells
    }

    /// In the session's open write.
    package func assign(to key: ObjectKey) throws(DatabaseError) {
        for cell in cells {
            do throws(DatabaseError) {
                try cell.json.withBytes { bytes throws(DatabaseError) in
                    try importer.assign(plan, key, ObjectScratch.Cell(field: cell.field, text: bytes, line: 1))
                }
            } catch { throw Self.withoutLine(error) }
        }
    }

    /// Links to objects that are not there are found when all objects have been assigned to.
    package func finish() throws(DatabaseError) {
        do throws(DatabaseError) { try importer.finishLinks() } catch { throw Self.withoutLine(error) }
    }

    /// The texts as one JSON object, of which an import makes a new object.
    package var object: String {
        var sink = ByteSink()
        sink.append("{")
        for (index, cell) in cells.enumerated() {
            if index > 0 { sink.append(",") }
            JSONValueWriter.string(plan.fields[cell.field].property.name, to: &sink)
            sink.append(":")
            cell.json.withUnsafeBytes { sink.append($0) }
        }
        sink.append("}")
        return sink.string
    }

    private static func json(_ given: Given, _ field: ClassPlan.Field, _ importer: JSONImport) -> [UInt8] {
        let (text, property) = (given.text, field.property)
        if !given.isQuoted {
            if text.beginsWithBytes(of: "json:") { return Array(text.utf8.dropFirst(5)) }
            if text.beginsWithBytes(of: "string:") { return quoted(String(text.utf8.dropFirst(7)) ?? "") }
            if text == "null", property.isNullable || property.type == .mixed || property.type == .link {
                return Array(text.utf8)
            }
        }
        if given.isQuoted, text == "null" { return quoted(text) }
        if property.isCollection || field.ownsTarget { return Array(text.utf8) }
        var type = property.type
        if let target = field.target {
            // Without a primary key it is `{"$key": 7}`, or `#7` as it is shown.
            guard let key = importer.plans.schema[target]?.primaryKey?.type else {
                guard text.utf8.first == UInt8(ascii: "#") else { return Array(text.utf8) }
                return Array("{\"$key\":".utf8) + text.utf8.dropFirst() + [UInt8(ascii: "}")]
            }
            type = key
        }
        switch type {
        case .bool: return Array(text.lowercased().utf8)
        case .int: return Array(text.utf8)
        case .float, .double: return ["NaN", "Infinity", "-Infinity"].contains(text) ? quoted(text) : Array(text.utf8)
        case .mixed: return !given.isQuoted && isJSON(Array(text.utf8)) ? Array(text.utf8) : quoted(text)
        default: return quoted(text)
        }
    }

    private static func kind(_ property: Property) -> String {
        property.isCollection || property.type == .mixed || property.type == .link ? "JSON" : property.type.name
    }

    /// One value, and nothing behind it.
    private static func isJSON(_ text: [UInt8]) -> Bool {
        text.withBytes { bytes in
            var reader = JSONReader(bytes)
            // A yes or no: what is no JSON is a text.
            return (try? reader.skip()) != nil && reader.isAtEnd
        }
    }

    private static func quoted(_ text: String) -> [UInt8] {
        var sink = ByteSink()
        JSONValueWriter.string(text, to: &sink)
        return sink.bytes
    }

    /// There is one line only.
    package static func withoutLine(_ error: DatabaseError) -> DatabaseError {
        guard let message = error.message.behindBytes(of: "line 1: ") else { return error }
        return DatabaseError(
            error.code, message, className: error.details.className, propertyName: error.details.propertyName)
    }
}
