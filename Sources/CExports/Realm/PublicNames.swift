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

    mutating func name(class stored: String, _ name: String) {
        classes[NameKey(name)] = stored
        publicClasses[NameKey(stored)] = name
    }

    mutating func name(property stored: String, of className: String, _ name: String) {
        properties[NameKey(className), default: [:]][NameKey(name)] = stored
        publicProperties[NameKey(className), default: [:]][NameKey(stored)] = name
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
        let names = path.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return stored(names.map { String(decoding: $0, as: UTF8.self) }, type, schema).names.joined(separator: ".")
    }

    func query(_ query: ParsedQuery, of table: TableKey?, in schema: Schema) -> ParsedQuery {
        guard !isEmpty, let type = table.flatMap({ schema[$0] }) else { return query }
        let walk = QueryNames(names: self, schema: schema)
        var ordering = query.ordering
        ordering.clauses = ordering.clauses.map { clause in
            switch clause {
            case .sort(let keys):
                .sort(keys.map { Ordering.SortKey(walk.path($0.path, [:], type), isAscending: $0.isAscending) })
            case .distinct(let paths): .distinct(paths.map { walk.path($0, [:], type) })
            case .limit: clause
            }
        }
        return ParsedQuery(
            predicate: walk.predicate(query.predicate, [:], type), ordering: ordering, source: query.source,
            argumentCount: query.argumentCount)
    }

    /// And the class that the path leads to; nil where it leads to none.
    fileprivate func stored(
        _ names: [String], _ type: ObjectType, _ schema: Schema
    ) -> (names: [String], type: ObjectType?) {
        var current: ObjectType? = type
        let stored = names.map { name -> String in
            guard let type = current else { return name }
            let stored = storedProperty(name, of: type.name)
            current = type.property(named: stored)?.target.flatMap { schema[$0] }
            return stored
        }
        return (stored, current)
    }
}

/// One walk through a query.
private struct QueryNames {
    let names: PublicNames
    let schema: Schema

    typealias Variables = [String: ObjectType]

    func path(_ path: Predicate.Path, _ variables: Variables, _ type: ObjectType) -> Predicate.Path {
        guard let root = path.variable.map({ variables[$0] }) ?? type else { return path }
        var renamed = path
        let stored = names.stored(path.names.map(\.text), root, schema).names
        renamed.names = zip(path.names, stored).map { Predicate.Name($1, position: $0.position) }
        return renamed
    }

    func predicate(_ predicate: Predicate, _ variables: Variables, _ type: ObjectType) -> Predicate {
        switch predicate {
        case .not(let inner): return .not(self.predicate(inner, variables, type))
        case .and(let parts): return .and(parts.map { self.predicate($0, variables, type) })
        case .or(let parts): return .or(parts.map { self.predicate($0, variables, type) })
        case .comparison(var comparison):
            comparison.left = operand(comparison.left, variables, type)
            comparison.right = operand(comparison.right, variables, type)
            return .comparison(comparison)
        default: return predicate
        }
    }

    private func operand(
        _ operand: Predicate.Operand, _ variables: Variables, _ type: ObjectType
    ) -> Predicate.Operand {
        switch operand {
        case .path(let path): return .path(self.path(path, variables, type))
        case .subquery(var subquery):
            let root = subquery.collection.variable.flatMap { variables[$0] } ?? type
            let target = names.stored(subquery.collection.names.map(\.text), root, schema).type
            subquery.collection = path(subquery.collection, variables, type)
            var inner = variables
            inner[subquery.variable] = target
            subquery.predicate = predicate(subquery.predicate, inner, type)
            return .subquery(subquery)
        default: return operand
        }
    }
}
