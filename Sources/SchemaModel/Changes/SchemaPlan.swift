/// What opening a file with a declared schema would do, as text: one line a difference.
///
/// The same plan is printed as a dry run, logged when it is carried out, and quoted when it is refused.
import MotteValues

package struct SchemaPlan: Sendable {
    package enum Action: Sendable, Equatable {
        /// The file has all that is declared.
        case nothing
        /// The file is empty and gets the declared schema.
        case create
        /// Classes, properties and indexes are added; nothing is lost.
        case add
        /// The declared version is higher: everything is made as declared, and the migration step runs.
        case migrate
        /// The file's content is thrown away, as the options ask.
        case reset
    }

    package let action: Action
    package let storedVersion: UInt64
    package let declaredVersion: UInt64
    /// Sentences, one a difference.
    package let lines: [String]

    package init(action: Action, storedVersion: UInt64, declaredVersion: UInt64, lines: [String]) {
        self.action = action
        self.storedVersion = storedVersion
        self.declaredVersion = declaredVersion
        self.lines = lines
    }

    package var text: String {
        let head =
            switch action {
            case .nothing: "schema version \(storedVersion): nothing to do"
            case .create: "new file with schema version \(declaredVersion)"
            case .add: "schema version \(declaredVersion): additions"
            case .migrate: "migration from schema version \(storedVersion) to \(declaredVersion)"
            case .reset: "all objects are deleted, and the schema of version \(declaredVersion) takes their place"
            }
        return ([head] + lines.map { "  " + $0 }).joined(separator: "\n")
    }
}

extension SchemaDifference {
    /// What is added, in the order of declaration.
    package func additionLines() -> [String] {
        var lines = addedTypes.map { "class \($0.name) is added" }
        lines += addedProperties.map {
            "\($0.className).\($0.property.name) is added: \(SchemaText.typeText($0.property))"
                + ($0.property.isPrimaryKey ? ", the primary key" : "")
        }
        lines += addedIndexes.map { "\($0.className).\($0.propertyName) gets an index" }
        lines += addedClassIndexes.map { "\($0.className) gets the \($0.index.text)" }
        lines += widthChanges.map {
            "\($0.className).\($0.propertyName) takes ints of \($0.to.bits) bits instead of \($0.from.bits)"
        }
        lines += replacedInverses.map {
            "\($0.className).\($0.property.name) becomes \(SchemaText.typeText($0.property))"
        }
        return lines
    }

    /// What a migration does beside additions. `deleting` are classes of the file that go with their objects.
    package func migrationLines(deleting: [String] = []) -> [String] {
        var lines = embeddingChanges.map {
            $0.becomesEmbedded
                ? "class \($0.className) becomes embedded: objects without a parent go, shared ones are duplicated"
                : "class \($0.className) becomes an ordinary class"
        }
        lines += changedProperties.flatMap(self.lines)
        lines += undeclaredProperties.map { "\($0.className).\($0.propertyName) is removed with its values" }
        lines += droppedIndexes.map { "\($0.className).\($0.propertyName) loses its index" }
        lines += droppedClassIndexes.map { "\($0.className) loses the \($0.index.text)" }
        lines += undeclaredTypes.map { name in
            deleting.contains { $0.hasSameBytes(as: name) }
                ? "class \(name) is removed with its objects" : "class \(name) is not declared and stays"
        }
        return lines
    }

    private func lines(_ change: ChangedProperty) -> [String] {
        let name = "\(change.className).\(change.declared.name)"
        var lines: [String] = []
        let before = SchemaText.typeText(change.stored)
        let after = SchemaText.typeText(change.declared)
        if !before.hasSameBytes(as: after) {
            let values = change.keepsValues ? "keeps its values" : "its values become defaults"
            lines.append("\(name) changes from \(before) to \(after): \(values)")
        }
        if change.stored.isPrimaryKey != change.declared.isPrimaryKey {
            lines.append(
                change.declared.isPrimaryKey
                    ? "\(name) becomes the primary key" : "\(name) is no longer the primary key"
            )
        }
        return lines
    }
}

extension SchemaRenames {
    package func lines() -> [String] {
        types.map { "class \($0.from) is renamed to \($0.to)" }
            + properties.map { "\($0.className).\($0.from) is renamed to \($0.to)" }
    }
}
