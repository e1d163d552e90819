/// Property names of the program turned into those of the store, along paths and in whole queries, for classes that map
/// some of their names.
import Foundation
import MotteQueryEngine
import MotteValues

package enum StoredNames {
    private static var renaming: PathRenaming<ObjectBase.Type> {
        PathRenaming { name, type in
            guard let field = ClassFields.of(type).field(named: name) else { return (name, nil) }
            return (field.columnName, field.shape.target)
        }
    }

    /// `owner.firstName` as `owner.first_name`.
    package static func path(_ path: String, of type: ObjectBase.Type?) -> String {
        guard let type, needsMapping(type) else { return path }
        return renaming.path(path, of: type)
    }

    static func query(_ query: ParsedQuery, of type: ObjectBase.Type?) -> ParsedQuery {
        guard let type, needsMapping(type) else { return query }
        return renaming.query(query, of: type)
    }

    // MARK: Which classes

    private static let known = Locked<[ObjectIdentifier: Bool]>(ofProcess: [:])

    /// Whether the class or one that it leads to maps names.
    private static func needsMapping(_ type: ObjectBase.Type) -> Bool {
        let id = ObjectIdentifier(type)
        if let known = known.withLock({ $0[id] }) { return known }
        var seen: Set<ObjectIdentifier> = []
        var waiting: [ObjectBase.Type] = [type]
        var found = false
        while let next = waiting.popLast() {
            guard seen.insert(ObjectIdentifier(next)).inserted else { continue }
            let fields = ClassFields.of(next).fields
            if fields.contains(where: { !$0.name.hasSameBytes(as: $0.columnName) }) { found = true }
            waiting += fields.compactMap(\.shape.target)
        }
        known.withLock { $0[id] = found }
        return found
    }
}
