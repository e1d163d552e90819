/// The set of classes that users declare or that a file holds, in the order of their declaration.
///
/// Immutable after `init`. A schema that comes from users goes through `validated()` before anything else reads it.
import MotteValues

package struct Schema: Sendable {
    package let objectTypes: [ObjectType]
    private let indexByName: [NameKey: Int]
    private let indexByTable: [TableKey: Int]

    package init(_ objectTypes: [ObjectType]) {
        self.objectTypes = objectTypes
        var byName: [NameKey: Int] = [:]
        var byTable: [TableKey: Int] = [:]
        for (index, type) in objectTypes.enumerated() {
            let key = NameKey(type.name)
            if byName[key] == nil { byName[key] = index }
            if let table = type.tableKey { byTable[table] = index }
        }
        indexByName = byName
        indexByTable = byTable
    }

    package static let empty = Schema([])

    package subscript(name: String) -> ObjectType? { indexByName[NameKey(name)].map { objectTypes[$0] } }
    package subscript(table: TableKey) -> ObjectType? { indexByTable[table].map { objectTypes[$0] } }

    /// Throws `.unknownClass`, with the nearest name when there is one.
    package func type(named name: String) throws(DatabaseError) -> ObjectType {
        if let type = self[name] { return type }
        let hint = NearestName.suggestion(for: name, among: objectTypes.map(\.name))
        throw DatabaseError(.unknownClass, "there is no class '\(name)'\(hint)", className: name)
    }
}

extension ObjectType {
    /// Throws `.unknownProperty`, with the nearest name when there is one.
    package func requiredProperty(named name: String) throws(DatabaseError) -> Property {
        if let property = property(named: name) { return property }
        let hint = NearestName.suggestion(for: name, among: properties.map(\.name))
        throw DatabaseError(
            .unknownProperty, "\(self.name) has no property '\(name)'\(hint)", className: self.name, propertyName: name)
    }
}
