/// Everything a session shows as text, in an order that does not depend on how it came to be: for comparing stores.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

package enum StoreDump {
    /// Classes and properties by name; objects by key.
    package static func text(_ session: Session) throws -> String {
        var lines: [String] = []
        let types = try session.schema.objectTypes.sorted { $0.name < $1.name }
        for type in types {
            let properties = type.properties.sorted { $0.name < $1.name }
            lines.append(type.name + ": " + properties.map(SchemaText.print).joined(separator: ", "))
            let table = try session.tableKey(type.name)
            for key in try session.objects(type.name).allKeys {
                guard let object = try session.object(table, at: ObjectKey(key)) else { continue }
                var parts = ["  #\(key)"]
                for property in properties {
                    if property.type == .linkingObjects || property.collection != .none {
                        let values = try object.collection(property.name).allValues
                        parts.append(
                            property.name + "=[" + values.map { plain($0, session) }.joined(separator: " ") + "]")
                    } else {
                        parts.append(property.name + "=" + plain(try object.get(property.name), session))
                    }
                }
                lines.append(parts.joined(separator: " "))
            }
        }
        return lines.joined(separator: "\n")
    }

    /// Table numbers depend on the history of the schema, names do not.
    private static func plain(_ value: Value, _ session: Session) -> String {
        guard case .link(let link) = value else { return value.text }
        let name = (try? session.schema[link.table]?.name) ?? "?"
        return "\(name)#\(link.key.rawValue)"
    }
}
