/// What a declared schema asks of a stored one.
///
/// Additions are applied when a file is opened. What the declaration leaves out stays in the file untouched. Anything
/// else would change or lose data and is a conflict: one line each, together the message of `.schemaMismatch`. Whoever
/// wants a new schema version for every property that comes or goes has a line for each of those, too.
import MotteValues

package struct SchemaDifference: Sendable {
    package struct AddedProperty: Sendable {
        package let className: String
        package let property: Property
    }

    package struct PropertyName: Sendable {
        package let className: String
        package let propertyName: String
    }

    package struct ClassIndex: Sendable {
        package let className: String
        package let index: IndexDeclaration
    }

    package struct ChangedProperty: Sendable {
        package let className: String
        package let stored: Property
        package let declared: Property

        /// Whether the values stay; otherwise they become defaults.
        package var keepsValues: Bool {
            stored.isStored && declared.isStored && stored.type == declared.type
                && stored.collection == declared.collection && stored.target.hasSameBytes(as: declared.target)
                && (stored.isNullable == declared.isNullable || declared.isNullable)
        }
    }

    package struct WidthChange: Sendable {
        package let className: String
        package let propertyName: String
        package let from: IntWidth
        package let to: IntWidth
    }

    package struct EmbeddingChange: Sendable {
        package let className: String
        package let becomesEmbedded: Bool
    }

    package private(set) var addedTypes: [ObjectType] = []
    package private(set) var addedProperties: [AddedProperty] = []
    /// Stored properties that the declaration marks as indexed and the file does not.
    package private(set) var addedIndexes: [PropertyName] = []
    /// What is stored stays; only what is written from now on is bounded otherwise.
    package private(set) var widthChanges: [WidthChange] = []
    /// Computed, so they are replaced without touching data.
    package private(set) var replacedInverses: [AddedProperty] = []
    package private(set) var undeclaredTypes: [String] = []
    package private(set) var undeclaredProperties: [PropertyName] = []
    /// Stored properties whose type, nullability or role as the primary key the declaration changes.
    package private(set) var changedProperties: [ChangedProperty] = []
    /// Stored indexes that are not declared; a migration drops them, opening alone does not.
    package private(set) var droppedIndexes: [PropertyName] = []
    /// The same of indexes that are declared with a class.
    package private(set) var addedClassIndexes: [ClassIndex] = []
    package private(set) var droppedClassIndexes: [ClassIndex] = []
    /// Classes that become embedded, or ordinary again.
    package private(set) var embeddingChanges: [EmbeddingChange] = []
    package private(set) var conflicts: [String] = []
    /// Stored properties that only one side has, and that are no conflict in themselves.
    private var comingAndGoing: [String] = []

    /// Both schemas are valid.
    package init(stored: Schema, declared: Schema) {
        for type in declared.objectTypes {
            if let storedType = stored[type.name] {
                compare(storedType, with: type)
            } else {
                addedTypes.append(type)
            }
        }
        undeclaredTypes = stored.objectTypes.filter { declared[$0.name] == nil }.map(\.name)
    }

    /// Whether the stored schema has to be rewritten.
    package var changesSchema: Bool {
        !addedTypes.isEmpty || !addedProperties.isEmpty || !addedIndexes.isEmpty || !replacedInverses.isEmpty
            || !widthChanges.isEmpty || !addedClassIndexes.isEmpty
    }

    /// What a migration has to settle; where `fixesProperties`, also properties that come or go.
    package func reasonsToMigrate(fixesProperties: Bool = false) -> [String] {
        fixesProperties ? conflicts + comingAndGoing : conflicts
    }

    /// Throws `.schemaMismatch` when the declaration takes a migration.
    package func checkNeedsNoMigration(fixesProperties: Bool = false) throws(DatabaseError) {
        let reasons = reasonsToMigrate(fixesProperties: fixesProperties)
        guard let first = reasons.first else { return }
        let lines = reasons.count == 1 ? first : reasons.map { "\n  " + $0 }.joined()
        throw DatabaseError(
            .schemaMismatch, "the file's schema differs from the declared one in a way that needs a migration: \(lines)"
        )
    }

    private mutating func compare(_ stored: ObjectType, with declared: ObjectType) {
        if stored.isEmbedded != declared.isEmbedded {
            let name = declared.name
            conflicts.append(
                declared.isEmbedded
                    ? "class \(name) is an ordinary class in the file and declared as embedded"
                    : "class \(name) is embedded in the file and declared as an ordinary class")
            embeddingChanges.append(EmbeddingChange(className: name, becomesEmbedded: declared.isEmbedded))
        }
        for property in declared.properties {
            if let storedProperty = stored.property(named: property.name) {
                compare(storedProperty, with: property, in: declared.name)
            } else if property.isPrimaryKey {
                conflicts.append("\(declared.name).\(property.name) is a new primary key of an existing class")
                addedProperties.append(AddedProperty(className: declared.name, property: property))
            } else {
                addedProperties.append(AddedProperty(className: declared.name, property: property))
                guard property.isStored else { continue }
                comingAndGoing.append("\(declared.name).\(property.name) is declared and not in the file")
            }
        }
        for property in stored.properties where declared.property(named: property.name) == nil {
            if property.isPrimaryKey {
                conflicts.append("\(declared.name).\(property.name) is the primary key in the file and is not declared")
            } else if property.isStored {
                comingAndGoing.append("\(declared.name).\(property.name) is in the file and not declared")
            }
            undeclaredProperties.append(PropertyName(className: declared.name, propertyName: property.name))
        }
        for index in declared.indexes where !stored.indexes.contains(where: { $0.declaresSame(as: index) }) {
            addedClassIndexes.append(ClassIndex(className: declared.name, index: index))
        }
        for index in stored.indexes where !declared.indexes.contains(where: { $0.declaresSame(as: index) }) {
            droppedClassIndexes.append(ClassIndex(className: declared.name, index: index))
        }
    }

    private mutating func compare(_ stored: Property, with declared: Property, in className: String) {
        let name = "\(className).\(declared.name)"
        let storedText = SchemaText.typeText(stored)
        let declaredText = SchemaText.typeText(declared)
        var atStoredWidth = declared
        if stored.type == .int, declared.type == .int { atStoredWidth.width = stored.width }
        if !storedText.hasSameBytes(as: SchemaText.typeText(atStoredWidth)) {
            if stored.type == .linkingObjects, declared.type == .linkingObjects {
                replacedInverses.append(AddedProperty(className: className, property: declared))
            } else {
                conflicts.append("\(name) is \(storedText) in the file and declared \(declaredText)")
                changedProperties.append(
                    ChangedProperty(className: className, stored: stored, declared: declared))
            }
            return
        }
        if stored.isPrimaryKey != declared.isPrimaryKey {
            conflicts.append(
                stored.isPrimaryKey
                    ? "\(name) is the primary key in the file and is not declared as such"
                    : "\(name) is declared as the primary key and is not in the file")
            changedProperties.append(ChangedProperty(className: className, stored: stored, declared: declared))
            return
        }
        if stored.width != declared.width {
            widthChanges.append(
                WidthChange(
                    className: className, propertyName: declared.name, from: stored.width, to: declared.width))
        }
        // A primary key has its index anyway.
        if declared.isIndexed, !stored.isIndexed, !stored.isPrimaryKey {
            addedIndexes.append(PropertyName(className: className, propertyName: declared.name))
        } else if stored.isIndexed, !declared.isIndexed, !declared.isPrimaryKey {
            droppedIndexes.append(PropertyName(className: className, propertyName: declared.name))
        }
    }
}
