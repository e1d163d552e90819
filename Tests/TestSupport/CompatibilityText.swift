// Everything in a store as text that does not depend on how the engine prints values, so that what one release wrote
// can be compared with what another reads.
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package enum CompatibilityText {
    /// Makes the kept file of a kind and what is in it as text, in the folder of `MOTTE_COMPATIBILITY_FOLDER`; nothing
    /// without that. For the writers in Tests/Compatibility, each of which is a test.
    package static func makeFile(
        _ kind: String, _ schema: String, key: [UInt8]? = nil, _ fill: (Session) throws -> Void
    ) throws {
        guard let folder = getenv("MOTTE_COMPATIBILITY_FOLDER") else { return }
        let path = String(cString: folder) + "/" + kind
        var options = SessionOptions(path: path + ".motte", schema: try SchemaText.parse(schema))
        options.schemaVersion = 3
        options.encryptionKey = key
        let session = try Session.open(options)
        try fill(session)
        try write(session, to: path + ".txt")
        try session.close()
    }

    /// As the file that is kept beside the database.
    package static func write(_ session: Session, to path: String) throws {
        let text = try lines(session).joined(separator: "\n") + "\n"
        guard TemporaryDirectory.write(Array(text.utf8), path) else {
            throw DatabaseError(.inputOutput, "'\(path)' could not be written")
        }
    }

    package static func lines(_ session: Session) throws -> [String] {
        var lines: [String] = []
        for type in try session.schema.objectTypes {
            lines.append("class \(type.name): " + type.properties.map(SchemaText.print).joined(separator: ", "))
            let table = try session.tableKey(type.name)
            let objects = try session.objects(type.name)
            for position in 0 ..< (try objects.count()) {
                let key = try objects.key(at: position)
                guard let object = try session.object(table, at: key) else { continue }
                var line = "#\(key.rawValue)"
                for property in type.properties {
                    line += " \(property.name)="
                    if property.type == .linkingObjects || property.collection != .none {
                        let values = try object.collection(property.name)
                        let map = values as? LiveMap
                        let texts = try (0 ..< values.count()).map { index in
                            let key = try map.map { try $0.keyText(at: index) + ":" } ?? ""
                            return try key + text(values.value(at: index).owned)
                        }
                        line += "[" + texts.joined(separator: ",") + "]"
                    } else {
                        line += text(try object.get(property.name))
                    }
                }
                lines.append(line)
            }
        }
        return lines
    }

    private static func text(_ value: Value) -> String {
        if case .bool(let value) = value { return value ? "true" : "false" }
        if case .int(let value) = value { return "i\(value)" }
        if case .float(let value) = value { return "f" + String(value.bitPattern, radix: 16) }
        if case .double(let value) = value { return "d" + String(value.bitPattern, radix: 16) }
        if case .string(let value) = value { return "s" + hex(Array(value.utf8)) }
        if case .data(let value) = value { return "x" + hex(value) }
        if case .timestamp(let value) = value { return "t\(value.seconds):\(value.nanoseconds)" }
        if case .link(let value) = value { return "l\(value.table.rawValue)#\(value.key.rawValue)" }
        if case .decimal(let value) = value { return "D" + words(value.low, value.high) }
        if case .objectID(let value) = value { return "o" + words(value.low, UInt64(value.high)) }
        if case .uuid(let value) = value { return "u" + words(value.low, value.high) }
        if case .list(let values) = value { return "[" + values.map(text).joined(separator: ",") + "]" }
        if case .map(let entries) = value {
            return "{" + entries.map { $0.key + ":" + text($0.value) }.joined(separator: ",") + "}"
        }
        return value.isNull ? "null" : "?"
    }

    private static func words(_ low: UInt64, _ high: UInt64) -> String {
        String(low, radix: 16) + "." + String(high, radix: 16)
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        // Long runs would make the expectations larger than the file.
        guard bytes.count <= 64 else {
            let hash = bytes.reduce(UInt64(14_695_981_039_346_656_037)) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
            return "\(bytes.count)*\(hash)"
        }
        return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
