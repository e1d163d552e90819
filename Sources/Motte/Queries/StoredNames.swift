/// Property names of the program turned into those of the store, along paths and in whole queries, for classes that map
/// some of their names.
import Foundation
import MotteQueryEngine
import MotteValues

package enum StoredNames {
    /// `owner.firstName` as `owner.first_name`.
    package static func path(_ path: String, of type: ObjectBase.Type?) -> String {
        guard let type, needsMapping(type) else { return path }
        let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        return mapped(names, type).names.joined(separator: ".")
    }

    static func query(_ query: ParsedQuery, of type: ObjectBase.Type?) -> ParsedQuery {
        guard let type, needsMapping(type) else { return query }
        var ordering = query.ordering
        ordering.clauses = ordering.clauses.map { clause in
            switch clause {
            case .sort(let keys):
                return .sort(keys.map { Ordering.SortKey(mapped($0.path, [:], type), isAscending: $0.isAscending) })
            case .distinct(let paths): return .distinct(paths.map { mapped($0, [:], type) })
            case .limit: return clause
            }
        }
        return ParsedQuery(
            predicate: mapped(query.predicate, [:], type), ordering: ordering, source: query.source,
            argumentCount: query.argumentCount)
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
            if fields.contains(where: { $0.name != $0.columnName }) { found = true }
            waiting += fields.compactMap(\.shape.target)
        }
        known.withLock { $0[id] = found }
        return found
    }

    // MARK: Walking

    private typealias Variables = [String: ObjectBase.Type]

    /// And the class that the path leads to.
    private static func mapped(
        _ names: [String], _ type: ObjectBase.Type
    ) -> (names: [String], type: ObjectBase.Type?) {
        var current: ObjectBase.Type? = type
        let mapped = names.map { name -> String in
            guard let field = current.flatMap({ ClassFields.of($0).field(named: name) }) else {
                current = nil
                return name
            }
            current = field.shape.target
            return field.columnName
        }
        return (mapped, current)
    }

    private static func mapped(
        _ path: QueryPredicate.Path, _ variables: Variables, _ type: ObjectBase.Type
    ) -> QueryPredicate.Path {
        guard let root = path.variable.map({ variables[$0] }) ?? type else { return path }
        var renamed = path
        let names = mapped(path.names.map(\.text), root).names
        renamed.names = zip(path.names, names).map { QueryPredicate.Name($1, position: $0.position) }
        return renamed
    }

    private static func mapped(
        _ predicate: QueryPredicate, _ variables: Variables, _ type: ObjectBase.Type
    ) -> QueryPredicate {
        switch predicate {
        case .not(let inner): return .not(mapped(inner, variables, type))
        case .and(let parts): return .and(parts.map { mapped($0, variables, type) })
        case .or(let parts): return .or(parts.map { mapped($0, variables, type) })
        case .comparison(var comparison):
            comparison.left = mapped(comparison.left, variables, type)
            comparison.right = mapped(comparison.right, variables, type)
            return .comparison(comparison)
        default: return predicate
        }
    }

    private static func mapped(
        _ operand: QueryPredicate.Operand, _ variables: Variables, _ type: ObjectBase.Type
    ) -> QueryPredicate.Operand {
        switch operand {
        case .path(let path): return .path(mapped(path, variables, type))
        case .subquery(var subquery):
            let root = subquery.collection.variable.flatMap { variables[$0] } ?? type
            let target = mapped(subquery.collection.names.map(\.text), root).type
            subquery.collection = mapped(subquery.collection, variables, type)
            var inner = variables
            inner[subquery.variable] = target
            subquery.predicate = mapped(subquery.predicate, inner, type)
            return .subquery(subquery)
        default: return operand
        }
    }
}
