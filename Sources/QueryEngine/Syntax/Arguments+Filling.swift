/// A query with constants in the place of its arguments, so that it can be joined with others that have their own.
///
/// Binding has made sure before that there are as many arguments as are asked for, and that they fit.
import MotteValues

extension Predicate {
    package func filled(with arguments: Arguments) -> Predicate {
        switch self {
        case .constant: return self
        case .not(let inner): return .not(inner.filled(with: arguments))
        case .and(let parts): return .and(parts.map { $0.filled(with: arguments) })
        case .or(let parts): return .or(parts.map { $0.filled(with: arguments) })
        case .comparison(var comparison):
            comparison.left = comparison.left.filled(with: arguments)
            comparison.right = comparison.right.filled(with: arguments)
            return .comparison(comparison)
        }
    }
}

extension Predicate.Operand {
    func filled(with arguments: Arguments) -> Predicate.Operand {
        switch self {
        case .constant, .shape: return self
        case .now(let position): return arguments.now.map { .constant(.timestamp($0), position) } ?? self
        case .arithmetic(var arithmetic):
            arithmetic.left = arithmetic.left.filled(with: arguments)
            arithmetic.right = arithmetic.right.filled(with: arguments)
            return arithmetic.constant ?? .arithmetic(arithmetic)
        case .path(let path): return .path(path.filled(with: arguments))
        case .subquery(var subquery):
            subquery.collection = subquery.collection.filled(with: arguments)
            subquery.predicate = subquery.predicate.filled(with: arguments)
            return .subquery(subquery)
        case .list(let elements, let position): return .list(elements.map { $0.filled(with: arguments) }, position)
        case .argument(let number, let position):
            guard number < arguments.values.count else { return self }
            switch arguments.values[number] {
            case .value(let value): return .constant(value, position)
            case .list(let values): return .list(values.map { .constant($0, position) }, position)
            }
        }
    }
}

extension Predicate.Path {
    func filled(with arguments: Arguments) -> Predicate.Path {
        var path = self
        path.subscripts = subscripts.map { place in
            guard case .argument(let number, let position) = place, number < arguments.values.count
            else { return place }
            switch arguments.values[number] {
            case .value(.string(let key)): return .key(.init(key, position: position))
            case .value(.int(let index)): return .index(Int(index))
            default: return place
            }
        }
        return path
    }
}

extension Ordering {
    package func filled(with arguments: Arguments) -> Ordering {
        Ordering(
            clauses.map { clause in
                switch clause {
                case .sort(let keys):
                    return .sort(keys.map { SortKey($0.path.filled(with: arguments), isAscending: $0.isAscending) })
                case .distinct(let paths): return .distinct(paths.map { $0.filled(with: arguments) })
                case .limit(let limit): return .limit(limit.filled(with: arguments))
                case .offset(let offset): return .offset(offset.filled(with: arguments))
                }
            })
    }
}

private extension Ordering.Limit {
    func filled(with arguments: Arguments) -> Ordering.Limit {
        guard case .argument(let number, _) = self, number < arguments.values.count,
            case .value(.int(let count)) = arguments.values[number]
        else { return self }
        return .count(Int(count))
    }
}
