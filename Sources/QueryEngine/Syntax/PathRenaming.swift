/// Queries and paths with other names: those by which a program calls properties turned into those that are stored.
/// A name means something only in its class, so paths are followed from class to class, however the caller knows them.
import MotteValues

package struct PathRenaming<Class> {
    /// The stored name of a property, and the class that it leads to; nil where it leads to none.
    private let step: (_ name: String, _ type: Class) -> (name: String, target: Class?)

    private typealias Variables = [NameKey: Class]

    package init(_ step: @escaping (_ name: String, _ type: Class) -> (name: String, target: Class?)) {
        self.step = step
    }

    /// `owner.firstName` as `owner.first_name`.
    package func path(_ path: String, of type: Class) -> String {
        walk(path.parts(between: "."), type).names.joined(separator: ".")
    }

    package func query(_ query: ParsedQuery, of type: Class) -> ParsedQuery {
        var ordering = query.ordering
        ordering.clauses = ordering.clauses.map { clause in
            switch clause {
            case .sort(let keys):
                .sort(keys.map { Ordering.SortKey(path($0.path, [:], type), isAscending: $0.isAscending) })
            case .distinct(let paths): .distinct(paths.map { path($0, [:], type) })
            case .limit, .offset: clause
            }
        }
        return query.replacing(
            predicate: predicate(query.predicate, [:], type), ordering: ordering,
            grouping: query.grouping?.mapPaths { path($0, [:], type) })
    }

    /// And the class that the path leads to.
    private func walk(_ names: [String], _ type: Class) -> (names: [String], type: Class?) {
        var current: Class? = type
        let stored = names.map { name -> String in
            guard let type = current else { return name }
            let next = step(name, type)
            current = next.target
            return next.name
        }
        return (stored, current)
    }

    private func path(_ path: Predicate.Path, _ variables: Variables, _ type: Class) -> Predicate.Path {
        guard let root = path.variable.map({ variables[NameKey($0)] }) ?? type else { return path }
        var renamed = path
        let stored = walk(path.names.map(\.text), root).names
        renamed.names = zip(path.names, stored).map { Predicate.Name($1, position: $0.position) }
        return renamed
    }

    // No default: what queries learn to say has its paths here.

    private func predicate(_ predicate: Predicate, _ variables: Variables, _ type: Class) -> Predicate {
        switch predicate {
        case .constant: return predicate
        case .not(let inner): return .not(self.predicate(inner, variables, type))
        case .and(let parts): return .and(parts.map { self.predicate($0, variables, type) })
        case .or(let parts): return .or(parts.map { self.predicate($0, variables, type) })
        case .comparison(var comparison):
            comparison.left = operand(comparison.left, variables, type)
            comparison.right = operand(comparison.right, variables, type)
            return .comparison(comparison)
        }
    }

    private func operand(_ operand: Predicate.Operand, _ variables: Variables, _ type: Class) -> Predicate.Operand {
        switch operand {
        case .path(let path): return .path(self.path(path, variables, type))
        case .subquery(var subquery):
            let root = subquery.collection.variable.flatMap { variables[NameKey($0)] } ?? type
            let target = walk(subquery.collection.names.map(\.text), root).type
            subquery.collection = path(subquery.collection, variables, type)
            var inner = variables
            inner[NameKey(subquery.variable)] = target
            subquery.predicate = predicate(subquery.predicate, inner, type)
            return .subquery(subquery)
        case .list(let operands, let position):
            return .list(operands.map { self.operand($0, variables, type) }, position)
        case .arithmetic(var arithmetic):
            arithmetic.left = self.operand(arithmetic.left, variables, type)
            arithmetic.right = self.operand(arithmetic.right, variables, type)
            return .arithmetic(arithmetic)
        case .shape, .constant, .argument, .now: return operand
        }
    }
}
