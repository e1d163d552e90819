/// The names by which a program calls classes and properties that have other names in the file: part of a config,
/// never stored. They stand wherever a name comes in: look-ups, queries, sort and key paths. What is stored keeps its
/// own name as well, except where a public name is the same.
///
/// Paths are followed from class to class along the stored schema, because a public name means something only in its
/// class. Queries and paths of classes that lead to no public name are left as they are.
import MotteQueryEngine
import MotteSchemaModel
import MotteValues

struct PublicNames: Sendable {
    /// Stored names by public ones.
    private var classes: [NameKey: String] = [:]
    /// The same of properties, by the stored name of their class.
    private var properties: [NameKey: [NameKey: String]] = [:]
    private var publicClasses: [NameKey: String] = [:]
    private var publicProperties: [NameKey: [NameKey: String]] = [:]

    var isEmpty: Bool { classes.isEmpty && properties.isEmpty }

    /// In place of the one that the class had.
    mutating func name(class stored: String, _ name: String) throws(DatabaseError) {
        if let other = classes[NameKey(name)], !other.hasSameBytes(as: stored) { throw Self.taken(name, by: other) }
        if let former = publicClasses.updateValue(name, forKey: NameKey(stored)) { classes[NameKey(former)] = nil }
        classes[NameKey(name)] = stored
    }

    mutating func name(property stored: String, of className: String, _ name: String) throws(DatabaseError) {
        let key = NameKey(className)
        if let other = properties[key]?[NameKey(name)], !other.hasSameBytes(as: stored) {
            throw Self.taken(name, by: "\(className).\(other)")
        }
        if let former = publicProperties[key, default: [:]].updateValue(name, forKey: NameKey(stored)) {
            properties[key]?[NameKey(former)] = nil
        }
        properties[key, default: [:]][NameKey(name)] = stored
    }

    private static func taken(_ name: String, by stored: String) -> DatabaseError {
        DatabaseError(.invalidArgument, "'\(name)' is the public name of \(stored) already; choose another one")
    }

    func storedClass(_ name: String) -> String { classes[NameKey(name)] ?? name }

    func storedProperty(_ name: String, of className: String) -> String {
        properties[NameKey(className)]?[NameKey(name)] ?? name
    }

    func publicClass(_ stored: String) -> String { publicClasses[NameKey(stored)] ?? stored }

    func publicProperty(_ stored: String, of className: String) -> String {
        publicProperties[NameKey(className)]?[NameKey(stored)] ?? stored
    }

    // MARK: Paths and queries

    /// `owner.firstName` as `owner.first_name`.
    func path(_ path: String, of table: TableKey?, in schema: Schema) -> String {
        guard !isEmpty, let type = table.flatMap({ schema[$0] }) else { return path }
        return renaming(schema).path(path, of: type)
    }

    func query(_ query: ParsedQuery, of table: TableKey?, in schema: Schema) -> ParsedQuery {
        guard !isEmpty, let type = table.flatMap({ schema[$0] }) else { return query }
        return renaming(schema).query(query, of: type)
    }

    private func renaming(_ schema: Schema) -> PathRenaming<ObjectType> {
        PathRenaming { name, type in
            let stored = storedProperty(name, of: type.name)
            return (stored, type.property(named: stored)?.target.flatMap { schema[$0] })
        }
    }
}
