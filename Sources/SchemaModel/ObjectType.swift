/// A class of objects: its name and its properties in the order of their declaration; with its table key once stored.
///
/// Immutable after `init`, which builds the lookups by name and by column.
import MotteValues

package struct ObjectType: Sendable {
    package let name: String
    package let properties: [Property]
    /// nil before it is stored.
    package let tableKey: TableKey?
    /// Objects of the class belong to one parent each and live and die with it.
    package let isEmbedded: Bool
    /// Apart from those that properties have by themselves.
    package let indexes: [IndexDeclaration]
    /// The first property marked as the primary key; validation refuses a second.
    package let primaryKey: Property?

    private let indexByName: [NameKey: Int]
    /// Column keys ascend from 1 with few gaps, so a plain array; -1 where there is no such column.
    private let indexByColumn: [Int]

    package init(
        name: String, properties: [Property], tableKey: TableKey? = nil, isEmbedded: Bool = false,
        indexes: [IndexDeclaration] = []
    ) {
        self.name = name
        let (properties, indexes) = Self.settled(properties, indexes)
        self.properties = properties
        self.tableKey = tableKey
        self.isEmbedded = isEmbedded
        self.indexes = indexes
        primaryKey = properties.first { $0.isPrimaryKey }
        var byName: [NameKey: Int] = [:]
        var byColumn: [Int] = []
        for (index, property) in properties.enumerated() {
            let key = NameKey(property.name)
            // Of duplicates, which validation refuses, the first is found.
            if byName[key] == nil { byName[key] = index }
            guard let column = property.columnKey, column.rawValue <= 0xFFFF else { continue }
            while byColumn.count <= Int(column.rawValue) { byColumn.append(-1) }
            byColumn[Int(column.rawValue)] = index
        }
        indexByName = byName
        indexByColumn = byColumn
    }

    package func property(named name: String) -> Property? {
        indexByName[NameKey(name)].map { properties[$0] }
    }

    package func property(_ column: ColumnKey) -> Property? {
        propertyIndex(column).map { properties[$0] }
    }

    /// Position in `properties`.
    package func propertyIndex(_ column: ColumnKey) -> Int? {
        guard column.rawValue < UInt32(indexByColumn.count) else {
            return column.rawValue > 0xFFFF ? properties.firstIndex { $0.columnKey == column } : nil
        }
        let index = indexByColumn[Int(column.rawValue)]
        return index < 0 ? nil : index
    }

    package var storedProperties: [Property] { properties.filter(\.isStored) }
}
