/// What new objects of imports start with where no plain value can be a default: collections and links, which the
/// program fills.
import MotteSchemaModel
import MotteStorage
import MotteValues

/// Fills a property of objects that are there.
package protocol ObjectFiller: PropertyFiller {
    func fill(_ session: Session, _ table: TableKey, _ column: ColumnKey, _ keys: [Int64]) throws(DatabaseError)
}

extension Session {
    /// Whether the program declares a default, or a function that makes one.
    package func hasStart(_ property: Property, of type: ObjectType) -> Bool {
        writeRules?.declared.rule(type.name, property.name)?.hasStart ?? false
    }

    /// Whether new objects of a class are filled by functions.
    package func hasFillers(_ type: ObjectType) -> Bool { writeRules?.declared.hasFillers(type.name) ?? false }

    /// The key that the next new object gets.
    package func nextKey(_ table: TableKey) throws(DatabaseError) -> Int64 {
        try requireWrite().table(table).nextNewKey
    }

    /// The properties of new objects that they were given no value for.
    package func fill(
        _ type: ObjectType, _ keys: (ColumnKey) -> [Int64]
    ) throws(DatabaseError) {
        guard let rules = writeRules?.declared, let table = type.tableKey, hasFillers(type) else { return }
        for property in type.properties {
            guard let column = property.columnKey,
                let filler = rules.rule(type.name, property.name)?.filler as? any ObjectFiller
            else { continue }
            let unnamed = keys(column)
            if !unnamed.isEmpty { try filler.fill(self, table, column, unnamed) }
        }
    }
}
