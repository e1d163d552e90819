/// A query that is ready to run against any state of a file with the schema it was bound to. Binding reads no rows.
import MotteSchemaModel
import MotteValues

package struct BoundQuery: Sendable {
    package struct SortKey: Sendable {
        package let path: BoundPath
        package let isAscending: Bool
    }

    /// The class the query is about.
    package let table: TableKey
    package let predicate: BoundPredicate
    package let sort: [SortKey]
    package let limit: Int?
    package let parsed: ParsedQuery
    package let arguments: Arguments

    /// `schema` is that of a row source, in which everything has its keys.
    package static func bind(
        _ parsed: ParsedQuery, table: TableKey, schema: Schema, arguments: Arguments = Arguments()
    ) throws(DatabaseError) -> BoundQuery {
        let resolver = PathResolver(schema: schema, source: parsed.source, arguments: arguments)
        _ = try resolver.type(table)
        let binder = Binder(resolver: resolver, table: table, arguments: arguments)
        let predicate = try binder.bind(parsed.predicate)
        var sort: [SortKey] = []
        for key in parsed.ordering.sort {
            sort.append(SortKey(path: try binder.sortPath(key.path), isAscending: key.isAscending))
        }
        return BoundQuery(
            table: table, predicate: PredicateRewrites.simplified(predicate), sort: sort,
            limit: try binder.limit(parsed.ordering.limit), parsed: parsed, arguments: arguments)
    }

    /// All objects of a class, as they are stored.
    package static func all(_ table: TableKey) -> BoundQuery {
        BoundQuery(
            table: table, predicate: .constant(true), sort: [], limit: nil, parsed: ParsedQuery(.constant(true)),
            arguments: Arguments())
    }

    /// Whether it is every object of its class, so that there is nothing to evaluate.
    package var selectsAll: Bool {
        if case .constant(true) = predicate { return true }
        return false
    }

    /// The canonical text, with arguments filled in.
    package var text: String { PredicateText.describe(parsed, arguments: arguments) }
}

extension Binder {
    func sortPath(_ path: Predicate.Path) throws(DatabaseError) -> BoundPath {
        func refused(_ why: String) -> DatabaseError {
            failure("cannot sort by '\(PredicateText.describe(path))': \(why)", at: path.position)
        }
        if path.collectionOperator != nil { throw refused("operators such as @count do not sort") }
        let bound = try resolver.resolve(path, from: table)
        if bound.isToMany { throw refused("\(bound.name) is a list or reached through one") }
        switch bound.end {
        case .column(_, .link, _), .object: throw refused("objects have no order; name one of their properties")
        case .column, .elements, .keys, .access: return bound
        }
    }

    func limit(_ limit: Ordering.Limit?) throws(DatabaseError) -> Int? {
        switch limit {
        case nil: return nil
        case .count(let count): return max(0, count)
        case .argument(let number, let position):
            let argument = try arguments.argument(number, at: position, in: source)
            guard case .value(.int(let count)) = argument, count >= 0 else {
                throw failure("LIMIT needs an int that is not negative", at: position, .queryArgument)
            }
            return Int(count)
        }
    }
}
