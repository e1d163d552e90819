/// The values that stand for `$0`, `$1`, ... of a query.
import MotteValues

package enum Argument: Sendable, Equatable {
    /// Objects are links.
    case value(Value)
    /// For `IN` and `BETWEEN`.
    case list([Value])
}

package struct Arguments: Sendable {
    package var values: [Argument]
    /// What `now()` is; nil until the query is bound.
    package private(set) var now: Timestamp?

    package init(_ values: [Argument] = []) { self.values = values }
    package init(_ values: [Value]) { self.values = values.map(Argument.value) }

    /// With the time at which the query is made, unless they have one.
    package var timed: Arguments {
        var arguments = self
        arguments.now = now ?? .now
        return arguments
    }

    /// A query has fewer arguments than this.
    package static let most = 1_000

    func argument(
        _ number: Int, at position: SourcePosition, in source: QuerySource
    ) throws(DatabaseError) -> Argument {
        guard number >= 0, number < values.count else {
            let given = values.count == 1 ? "1 argument was given" : "\(values.count) arguments were given"
            throw source.error(.queryArgument, "there is no argument $\(number); \(given)", at: position)
        }
        return values[number]
    }

    /// By number, as the query wants them. Those with names come as one map, behind the others; more than a query asks
    /// for is a mistake of whoever gave them.
    package func fitted(to query: ParsedQuery) throws(DatabaseError) -> Arguments {
        let names = query.namedArguments
        let numbered = query.argumentCount - names.count
        var unknown: String?
        if values.count == numbered + 1, case .value(.map(let given)) = values[numbered] {
            unknown = given.first { query.number(ofArgument: $0.key) == nil }.map {
                "the query has no argument $\($0.key), for which a value was given"
            }
        }
        if names.isEmpty, let unknown { throw DatabaseError(.queryArgument, unknown) }
        guard !names.isEmpty, values.count <= numbered + 1 else {
            try checkNoSurplus(query.argumentCount)
            return self
        }
        var entries: [MapEntry] = []
        if values.count > numbered {
            guard case .value(.map(let given)) = values[numbered] else {
                throw DatabaseError(
                    .queryArgument,
                    "the query has arguments with names, such as $\(names[0].text): their values come as one map")
            }
            entries = given
        }
        var all = Arguments(Array(values.prefix(numbered)))
        all.now = now
        // What is missing is found where it is used.
        guard values.count >= numbered else { return all }
        for name in names {
            guard let entry = entries.first(where: { $0.key.utf8.elementsEqual(name.text.utf8) }) else {
                throw query.source.error(
                    .queryArgument, "no value was given for $\(name.text)" + (unknown.map { "; " + $0 } ?? ""),
                    at: name.position)
            }
            all.values.append(.value(entry.value))
        }
        if let unknown { throw DatabaseError(.queryArgument, unknown) }
        return all
    }

    private func checkNoSurplus(_ wanted: Int) throws(DatabaseError) {
        guard values.count > wanted else { return }
        throw DatabaseError(
            .queryArgument,
            "the query asks for \(wanted == 1 ? "1 argument" : "\(wanted) arguments"), and \(values.count) were given; "
                + "arguments are $0, $1 and so on in the text")
    }

    /// The highest number used + 1.
    static func count(in predicate: Predicate, _ ordering: Ordering) -> Int {
        var count = 0
        for clause in ordering.clauses {
            switch clause {
            case .limit(.argument(let number, _)), .offset(.argument(let number, _)): count = max(count, number + 1)
            case .limit(.count), .offset(.count): break
            case .sort(let keys): for key in keys { count = max(count, Self.count(in: key.path)) }
            case .distinct(let paths): for path in paths { count = max(count, Self.count(in: path)) }
            }
        }
        return max(count, Self.count(in: predicate))
    }

    private static func count(in predicate: Predicate) -> Int {
        switch predicate {
        case .constant: 0
        case .comparison(let comparison): max(count(in: comparison.left), count(in: comparison.right))
        case .not(let inner): count(in: inner)
        case .and(let parts), .or(let parts): parts.reduce(0) { max($0, count(in: $1)) }
        }
    }

    private static func count(in operand: Predicate.Operand) -> Int {
        switch operand {
        case .path(let path): count(in: path)
        case .subquery(let subquery): max(count(in: subquery.collection), count(in: subquery.predicate))
        case .constant, .shape, .now: 0
        case .arithmetic(let arithmetic): max(count(in: arithmetic.left), count(in: arithmetic.right))
        case .argument(let number, _): number + 1
        case .list(let elements, _): elements.reduce(0) { max($0, count(in: $1)) }
        }
    }

    private static func count(in path: Predicate.Path) -> Int {
        path.subscripts.reduce(0) { most, place in
            if case .argument(let number, _) = place { max(most, number + 1) } else { most }
        }
    }
}

extension ParsedQuery {
    /// The number of the argument `$name`; nil if there is none of that name.
    package func number(ofArgument name: String) -> Int? {
        namedArguments.firstIndex { $0.text.utf8.elementsEqual(name.utf8) }.map {
            argumentCount - namedArguments.count + $0
        }
    }
}
