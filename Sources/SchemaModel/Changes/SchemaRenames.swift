/// Classes and properties that a migration keeps under a new name. Their data stays where it is.
///
/// Applied to a stored schema first; what differs after that is the difference to migrate. A property is named by the
/// class's new name.
import MotteValues

package struct SchemaRenames: Sendable {
    package struct TypeRename: Sendable {
        package let from: String
        package let to: String
    }

    package struct PropertyRename: Sendable {
        /// The class as it is declared, after renames of classes.
        package let className: String
        package let from: String
        package let to: String
    }

    package private(set) var types: [TypeRename] = []
    package private(set) var properties: [PropertyRename] = []

    package init() {}

    package var isEmpty: Bool { types.isEmpty && properties.isEmpty }

    package mutating func renameType(_ from: String, to: String) {
        types.append(TypeRename(from: from, to: to))
    }

    package mutating func renameProperty(of className: String, from: String, to: String) {
        properties.append(PropertyRename(className: className, from: from, to: to))
    }

    /// Whether each rename leads from something stored to something declared that the file does not have yet.
    package func check(stored: Schema, declared: Schema) throws(DatabaseError) {
        for rename in types {
            guard stored[rename.from] != nil else {
                throw refused("class \(rename.from) cannot be renamed: the file has no such class", rename.from)
            }
            guard declared[rename.to] != nil else {
                throw refused(
                    "class \(rename.from) cannot be renamed to \(rename.to), which is not in the declared schema",
                    rename.to)
            }
            guard declared[rename.from] == nil else {
                throw refused(
                    "class \(rename.from) cannot be renamed to \(rename.to): it is still declared", rename.from)
            }
            guard stored[rename.to] == nil else {
                throw refused(
                    "class \(rename.from) cannot be renamed to \(rename.to): the file has such a class already",
                    rename.to)
            }
        }
        for rename in properties { try check(rename, stored: stored, declared: declared) }
    }

    private func check(_ rename: PropertyRename, stored: Schema, declared: Schema) throws(DatabaseError) {
        let name = "\(rename.className).\(rename.from)"
        let storedName = types.first { $0.to.hasSameBytes(as: rename.className) }?.from ?? rename.className
        guard let declaredType = declared[rename.className] else {
            throw refused("\(name) cannot be renamed: \(rename.className) is not declared", rename.className)
        }
        guard let old = stored[storedName]?.property(named: rename.from) else {
            throw refused("\(name) cannot be renamed: the file has no such property", rename.className)
        }
        guard let new = declaredType.property(named: rename.to) else {
            throw refused("\(name) cannot be renamed to '\(rename.to)', which is not declared", rename.className)
        }
        guard declaredType.property(named: rename.from) == nil else {
            throw refused("\(name) cannot be renamed to '\(rename.to)': it is still declared", rename.className)
        }
        guard stored[storedName]?.property(named: rename.to) == nil else {
            throw refused(
                "\(name) cannot be renamed to '\(rename.to)': the file has such a property already", rename.className)
        }
        guard old.isStored, new.isStored else {
            throw refused("\(name) is computed and has no data to rename", rename.className)
        }
        guard old.type == new.type, old.collection == new.collection else {
            throw refused(
                "\(name) is \(SchemaText.typeText(old)) and '\(rename.to)' is declared \(SchemaText.typeText(new)):"
                    + " a rename keeps the type", rename.className)
        }
        guard !old.isNullable || new.isNullable else {
            throw refused("\(name) is optional and '\(rename.to)' is not: a rename keeps nulls", rename.className)
        }
    }

    private func refused(_ message: String, _ className: String) -> DatabaseError {
        DatabaseError(.invalidArgument, message, className: className)
    }
}
