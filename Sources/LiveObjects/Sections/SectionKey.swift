/// What elements of a collection are put into sections by: the value at the end of a key path, or what a function says.
import MotteSchemaModel
import MotteStorage
import MotteValues

package struct SectionKey {
    /// Called for an element by its position; on the session's thread, with the collection as it is then.
    package typealias Function = (LiveCollection, Int) throws(DatabaseError) -> Value

    package enum Part: UInt32, Sendable {
        case whole = 0
        /// The first letter of a text as an upper-case one, "#" for one that begins with none; null stays null.
        case firstLetter = 1
    }

    enum Kind {
        case path(KeySteps, Part)
        case function(Function)
    }

    let kind: Kind
    /// The key path, nil for a function.
    package let path: String?

    /// A path through links to a single value; `self` for the elements of a collection of values.
    package init(path: String, part: Part = .whole, of collection: LiveCollection) throws(DatabaseError) {
        self.path = path
        let steps = try KeySteps(path, of: collection)
        guard part == .whole || steps.type == .string else {
            throw DatabaseError(.wrongType, "'\(path)' is \(steps.type.name); only texts have a first letter")
        }
        kind = .path(steps, part)
    }

    package init(function: @escaping Function) {
        kind = .function(function)
        path = nil
    }

    func value(_ collection: LiveCollection, at index: Int) throws(DatabaseError) -> Value {
        switch kind {
        case .path(let steps, let part):
            let value = try steps.value(collection, at: index)
            return part == .whole ? value : Self.firstLetter(value)
        case .function(let function): return try function(collection, index)
        }
    }

    static func firstLetter(_ value: Value) -> Value {
        guard case .string(let text) = value else { return .null }
        guard let first = text.first, first.isLetter else { return .string("#") }
        return .string(first.uppercased())
    }
}

/// A path looked up: the links that lead to the last object, and what is read there.
struct KeySteps {
    /// Empty where the elements themselves are the value.
    private let columns: [ColumnKey]
    let type: PropertyType

    init(_ path: String, of collection: LiveCollection) throws(DatabaseError) {
        let schema = try collection.session.schema
        guard let target = collection.target else {
            guard path.hasSameBytes(as: "self") || path.hasSameBytes(as: "SELF") else {
                throw DatabaseError(
                    .unknownProperty, "the elements are plain values without a property '\(path)'; use self",
                    propertyName: path)
            }
            columns = []
            type = collection.elementType
            return
        }
        let names = path.parts(between: ".")
        var columns: [ColumnKey] = []
        var owner = schema[target]
        var found = PropertyType.link
        for (index, name) in names.enumerated() {
            guard let type = owner else {
                throw DatabaseError(
                    .unknownProperty, "the key path '\(path)' continues after a plain value", propertyName: name)
            }
            let property = try type.requiredProperty(named: name)
            guard let column = property.columnKey, property.collection == .none else {
                throw DatabaseError(
                    .wrongType, "\(type.name).\(name) holds many; sections need one key for each element",
                    className: type.name, propertyName: name)
            }
            columns.append(column)
            found = property.type
            owner = property.type == .link ? property.target.flatMap { schema[$0] } : nil
            if index == names.count - 1, property.type == .link {
                throw DatabaseError(
                    .wrongType, "\(type.name).\(name) is a link; name a property of what it leads to",
                    className: type.name, propertyName: name)
            }
        }
        self.columns = columns
        type = found
    }

    /// null where a link on the way is.
    func value(_ collection: LiveCollection, at index: Int) throws(DatabaseError) -> Value {
        var value = try collection.value(at: index)
        for column in columns {
            guard value.kind == .link else { return .null }
            value = try collection.session.value(value.linkValue.table, column, value.linkValue.key)
        }
        return value.owned
    }
}
