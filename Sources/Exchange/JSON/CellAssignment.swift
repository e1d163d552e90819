/// One property of one object from its text, once the object is there: collections, and links that had to wait.
///
/// Answers false, with nothing changed, when it links to an object that is not there yet.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

struct CellAssignment {
    let importer: JSONImport
    let plan: ClassPlan
    let field: ClassPlan.Field
    let key: ObjectKey
    let arena: ByteArena
    let isLast: Bool

    func run(_ reader: inout JSONReader) throws(DatabaseError) -> Bool {
        switch field.property.collection {
        case .none: try single(&reader)
        case .list: try list(&reader)
        case .set, .map: throw DatabaseError(.unsupported, "sets and maps cannot be imported yet")
        }
    }

    // MARK: Single values

    private func single(_ reader: inout JSONReader) throws(DatabaseError) -> Bool {
        guard let value = try value(&reader) else { return false }
        try importer.session.set(plan.table, field.column, key, to: value)
        return true
    }

    /// nil when it links to what is not there yet.
    private func value(_ reader: inout JSONReader) throws(DatabaseError) -> ValueView? {
        if field.property.type == .mixed {
            return try JSONMixedReader(importer: importer, arena: arena, isLast: isLast).read(&reader)
        }
        guard let target = field.target else {
            return try JSONScalarReader(arena: arena).read(field.property.type, &reader)
        }
        switch try importer.reference(&reader, target, isLast: isLast) {
        case .null: return .null
        case .link(let link): return .link(link)
        case .unknown: return nil
        case .object: return .link(try importer.nestedObject(&reader, target))
        }
    }

    // MARK: Lists

    private func list(_ reader: inout JSONReader) throws(DatabaseError) -> Bool {
        guard try isResolved(reader) else { return false }
        guard let values = try elements(&reader) else { return false }
        if importer.options.policy == .error {
            if !values.isEmpty {
                try importer.session.requireWrite().listInsert(plan.table, field.column, key, at: 0, values)
            }
        } else if let object = try importer.session.object(plan.table, at: key) {
            try object.list(field.column).assign(values, policy: importer.options.policy)
        }
        return true
    }

    /// All elements of an array; null is an empty one.
    private func elements(_ reader: inout JSONReader) throws(DatabaseError) -> [ValueView]? {
        var values: [ValueView] = []
        guard try begin(&reader) else { return values }
        while try reader.nextElement() {
            guard let value = try value(&reader) else { return nil }
            values.append(value)
        }
        return values
    }

    private func begin(_ reader: inout JSONReader) throws(DatabaseError) -> Bool {
        switch try reader.peek() {
        case .null:
            try reader.null()
            return false
        case .array:
            try reader.beginArray()
            return true
        case let kind:
            throw DatabaseError(.wrongType, "expected an array of \(field.property.type.name), found \(kind.name)")
        }
    }

    /// Whether all references of a collection can be followed: looked at before nested objects are made.
    private func isResolved(_ reader: JSONReader) throws(DatabaseError) -> Bool {
        guard !isLast else { return true }
        if field.property.type == .mixed { return try areMixedResolved(reader) }
        guard let target = field.target else { return true }
        var ahead = reader
        guard try begin(&ahead) else { return true }
        while try ahead.nextElement() {
            switch try importer.reference(&ahead, target, isLast: false) {
            case .unknown: return false
            case .object: _ = try ahead.skip()
            case .null, .link: continue
            }
        }
        return true
    }

    private func areMixedResolved(_ reader: JSONReader) throws(DatabaseError) -> Bool {
        var ahead = reader
        guard try begin(&ahead) else { return true }
        let mixed = JSONMixedReader(importer: importer, arena: arena, isLast: false)
        while try ahead.nextElement() {
            if try mixed.read(&ahead) == nil { return false }
        }
        return true
    }
}
