/// A query that is ready to run against any state of a file with the schema it was bound to. Binding reads no rows.
import MotteSchemaModel
import MotteValues

package struct BoundQuery: Sendable {
    package struct SortKey: Sendable {
        package let path: BoundPath
        package let isAscending: Bool
    }

    /// One clause, applied to the matches as the clauses before it left them.
    package enum Step: Sendable {
        case sort([SortKey])
        case distinct([BoundPath])
        case limit(Int)
        case offset(Int)
    }

    /// The class the query is about.
    package let table: TableKey
    package let predicate: BoundPredicate
    /// No sort directly follows another, and no limit another.
    package let steps: [Step]
    package let parsed: ParsedQuery
    package let arguments: Arguments
    /// What running it takes of a thread's stack.
    let stackBytes: Int

    /// `schema` is that of a row source, in which everything has its keys.
    package static func bind(
        _ parsed: ParsedQuery, table: TableKey, schema: Schema, arguments: Arguments = Arguments()
    ) throws(DatabaseError) -> BoundQuery {
        let arguments = arguments.timed
        try parsed.requireObjects()
        let resolver = PathResolver(schema: schema, source: parsed.source, arguments: arguments)
        _ = try resolver.type(table)
        let binder = Binder(resolver: resolver, table: table, arguments: arguments)
        let stackBytes = parsed.predicate.stackBytes
        try Predicate.checkStack(for: stackBytes)
        let predicate = try binder.bind(parsed.predicate)
        return BoundQuery(
            table: table, predicate: PredicateRewrites.simplified(predicate),
            steps: try binder.steps(parsed.ordering), parsed: parsed, arguments: arguments, stackBytes: stackBytes)
    }

    /// All objects of a class, as they are stored.
    package static func all(_ table: TableKey) -> BoundQuery {
        BoundQuery(
            table: table, predicate: .constant(true), steps: [], parsed: ParsedQuery(.constant(true)),
            arguments: Arguments(), stackBytes: 0)
    }

    /// Whether it is every object of its class, so that there is nothing to evaluate.
    package var selectsAll: Bool {
        if case .constant(true) = predicate { return true }
        return false
    }

    /// The order it begins with; empty where matches come as they are stored.
    package var sort: [SortKey] {
        if case .sort(let keys)? = steps.first { return keys }
        return []
    }

    /// Whether there is no more than an order and a limit behind it: then a row's place depends on its own values only.
    package var isPlain: Bool {
        let rest = sort.isEmpty ? steps[...] : steps.dropFirst()
        if case .limit? = rest.first { return rest.count == 1 }
        return rest.isEmpty
    }

    /// How many elements are enough for these steps, where the first of them only cut: then the rest need not be found.
    static func enough(for steps: ArraySlice<Step>) -> Int? {
        var skipped = 0
        for step in steps {
            switch step {
            case .offset(let offset): skipped = sum(skipped, offset)
            case .limit(let limit): return sum(skipped, limit)
            case .sort, .distinct: return nil
            }
        }
        return nil
    }

    /// As large as there are numbers for it.
    static func sum(_ left: Int, _ right: Int) -> Int {
        let (sum, overflow) = left.addingReportingOverflow(right)
        return overflow ? .max : sum
    }

    /// Of a plain query.
    package var limit: Int? {
        guard isPlain, case .limit(let limit)? = steps.last else { return nil }
        return limit
    }

    /// The canonical text, with arguments filled in.
    package var text: String { PredicateText.describe(parsed, arguments: arguments) }
}

extension Binder {
    /// Two orders in a row are one: the later decides, the earlier settles ties.
    func steps(_ ordering: Ordering) throws(DatabaseError) -> [BoundQuery.Step] {
        var steps: [BoundQuery.Step] = []
        for clause in ordering.clauses {
            switch (clause, steps.last) {
            case (.sort(let keys), let before):
                var sort: [BoundQuery.SortKey] = []
                for key in keys { sort.append(.init(path: try sortPath(key.path), isAscending: key.isAscending)) }
                if sort.isEmpty { continue }
                if case .sort(let earlier)? = before {
                    steps[steps.count - 1] = .sort(sort + earlier)
                } else {
                    steps.append(.sort(sort))
                }
            case (.distinct(let paths), _):
                var bound: [BoundPath] = []
                for path in paths { bound.append(try distinctPath(path)) }
                if !bound.isEmpty { steps.append(.distinct(bound)) }
            case (.limit(let written), let before):
                let limit = try count(written, "LIMIT")
                if case .limit(let earlier)? = before {
                    steps[steps.count - 1] = .limit(min(earlier, limit))
                } else {
                    steps.append(.limit(limit))
                }
            case (.offset(let written), let before):
                let offset = try count(written, "OFFSET")
                if case .offset(let earlier)? = before {
                    steps[steps.count - 1] = .offset(BoundQuery.sum(earlier, offset))
                } else {
                    steps.append(.offset(offset))
                }
            }
        }
        return steps
    }

    func sortPath(_ path: Predicate.Path) throws(DatabaseError) -> BoundPath {
        let bound = try singlePath(path, "sort")
        switch bound.end {
        case .column(_, .link, _), .object:
            throw refused(path, "sort", "objects have no order; name one of their properties")
        case .column, .elements, .keys, .access: return bound
        }
    }

    private func distinctPath(_ path: Predicate.Path) throws(DatabaseError) -> BoundPath {
        try singlePath(path, "tell apart")
    }

    private func refused(_ path: Predicate.Path, _ purpose: String, _ why: String) -> DatabaseError {
        failure("cannot \(purpose) by '\(PredicateText.describe(path))': \(why)", at: path.position)
    }

    /// A path to one value per object.
    func singlePath(_ path: Predicate.Path, _ purpose: String) throws(DatabaseError) -> BoundPath {
        if path.collectionOperator != nil { throw refused(path, purpose, "operators such as @count do not \(purpose)") }
        if path.quantifier != nil { throw refused(path, purpose, "ANY, ALL and NONE do not \(purpose)") }
        let bound = try resolve(path)
        if bound.isToMany { throw refused(path, purpose, "\(bound.name) is a list or reached through one") }
        return bound
    }

    func count(_ limit: Ordering.Limit, _ clause: String) throws(DatabaseError) -> Int {
        switch limit {
        case .count(let count): return max(0, count)
        case .argument(let number, let position):
            let argument = try arguments.argument(number, at: position, in: source)
            guard case .value(.int(let count)) = argument, count >= 0 else {
                throw failure("\(clause) needs an int that is not negative", at: position, .queryArgument)
            }
            return Int(count)
        }
    }
}
