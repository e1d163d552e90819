/// What query text says of its arguments, without a class: what each of them is compared with, so that a binding knows
/// in which form it has to give a value.
import MotteValues

package struct QueryOutline: Sendable {
    package enum Role: String, Sendable {
        /// Compared, or computed with.
        case value
        /// Of an element: `map[$0]`.
        case key
        /// In LIMIT or OFFSET.
        case count
    }

    /// One place where an argument stands.
    package struct Use: Sendable, Equatable {
        /// Its number in the query, and its name if it has one.
        package var argument: Int
        package var name: String?
        package var role: Role
        /// The other side is one property, as it is, and this side nothing but arguments and constants.
        package var isPlain: Bool
        /// Something is computed on one of the sides.
        package var isComputed: Bool
        /// `now()` is computed with.
        package var asksForNow: Bool
        /// The properties on both sides, from the class of the query on, an aggregate such as `@sum` last. Empty for
        /// what has no property's values.
        package var paths: [[String]]

        package init(
            argument: Int, name: String? = nil, role: Role, isPlain: Bool = false, isComputed: Bool = false,
            asksForNow: Bool = false, paths: [[String]] = []
        ) {
            (self.argument, self.name, self.role) = (argument, name, role)
            (self.isPlain, self.isComputed, self.asksForNow, self.paths) = (isPlain, isComputed, asksForNow, paths)
        }
    }

    package private(set) var uses: [Use] = []
    private let query: ParsedQuery

    package init(_ query: ParsedQuery) {
        self.query = query
        look(query.predicate, [:])
        for clause in query.ordering.clauses {
            switch clause {
            case .limit(let limit), .offset(let limit): look(limit)
            case .sort(let keys): for key in keys { lookIntoKeys(key.path) }
            case .distinct(let paths): for path in paths { lookIntoKeys(path) }
            }
        }
        guard let grouping = query.grouping else { return }
        for key in grouping.keys { lookIntoKeys(key.path) }
        for aggregate in grouping.aggregates { if let path = aggregate.path { lookIntoKeys(path) } }
        if let having = grouping.having { look(having, [:]) }
        for clause in grouping.clauses {
            switch clause {
            case .limit(let limit), .offset(let limit): look(limit)
            case .sort: break
            }
        }
    }

    // No default: what queries learn to say has its arguments here.

    /// `variables`: the paths that the elements of SUBQUERYs around come from.
    private mutating func look(_ predicate: Predicate, _ variables: [NameKey: [String]]) {
        switch predicate {
        case .constant: break
        case .not(let inner): look(inner, variables)
        case .and(let parts), .or(let parts): for part in parts { look(part, variables) }
        case .comparison(let comparison): look(comparison, variables)
        }
    }

    private mutating func look(_ comparison: Predicate.Comparison, _ variables: [NameKey: [String]]) {
        var use = Use(argument: 0, role: .value)
        for side in [comparison.left, comparison.right] { note(side, in: &use, variables) }
        use.isPlain = isPlain(comparison)
        for side in [comparison.left, comparison.right] { add(side, use, variables) }
    }

    private func isPlain(_ comparison: Predicate.Comparison) -> Bool {
        switch comparison.operator {
        case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .between, .in: break
        case .beginsWith, .endsWith, .contains, .like, .matches, .geoWithin: return false
        }
        return switch (comparison.left, comparison.right) {
        case (.path(let path), let other) where isPlain(path): Self.isGiven(other)
        case (let other, .path(let path)) where isPlain(path): Self.isGiven(other)
        default: false
        }
    }

    private static func isGiven(_ operand: Predicate.Operand) -> Bool {
        switch operand {
        case .argument, .constant: true
        case .list(let elements, _): elements.allSatisfy(isGiven)
        case .path, .subquery, .shape, .arithmetic, .now: false
        }
    }

    private func isPlain(_ path: Predicate.Path) -> Bool {
        if let column = path.column {
            guard let found = columnPath(column) else { return false }
            return found.isValue && isPlain(found.path)
        }
        return path.subscripts.isEmpty && path.aspect == nil && path.functions.isEmpty
    }

    /// What is on a side of a comparison.
    private func note(_ operand: Predicate.Operand, in use: inout Use, _ variables: [NameKey: [String]]) {
        switch operand {
        case .path(let path): if let names = names(path, variables) { use.paths.append(names) }
        case .list(let elements, _): for element in elements { note(element, in: &use, variables) }
        case .arithmetic(let arithmetic):
            use.isComputed = true
            note(arithmetic.left, in: &use, variables)
            note(arithmetic.right, in: &use, variables)
        case .now: use.asksForNow = true
        // A number.
        case .subquery: use.paths.append([])
        case .constant, .argument, .shape: break
        }
    }

    /// The arguments of a side.
    private mutating func add(_ operand: Predicate.Operand, _ use: Use, _ variables: [NameKey: [String]]) {
        switch operand {
        case .argument(let number, _): add(number, use)
        case .list(let elements, _): for element in elements { add(element, use, variables) }
        case .arithmetic(let arithmetic):
            add(arithmetic.left, use, variables)
            add(arithmetic.right, use, variables)
        case .path(let path): lookIntoKeys(path)
        case .subquery(let subquery):
            lookIntoKeys(subquery.collection)
            var inner = variables
            inner[NameKey(subquery.variable)] = names(subquery.collection, variables) ?? []
            look(subquery.predicate, inner)
        case .constant, .shape, .now: break
        }
    }

    private mutating func add(_ number: Int, _ use: Use) {
        var use = use
        use.argument = number
        let numbered = query.argumentCount - query.namedArguments.count
        if number >= numbered, number - numbered < query.namedArguments.count {
            use.name = query.namedArguments[number - numbered].text
        }
        uses.append(use)
    }

    private mutating func lookIntoKeys(_ path: Predicate.Path) {
        guard path.column == nil else { return }
        for case .argument(let number, _) in path.subscripts { add(number, Use(argument: 0, role: .key)) }
    }

    private mutating func look(_ limit: Ordering.Limit) {
        if case .argument(let number, _) = limit { add(number, Use(argument: 0, role: .count)) }
    }

    /// nil for a number of groups, which is no property's.
    private func names(_ path: Predicate.Path, _ variables: [NameKey: [String]]) -> [String]? {
        if let column = path.column {
            guard let found = columnPath(column) else { return nil }
            return found.isLength ? names(found.path, variables) : []
        }
        let root = path.variable.map { variables[NameKey($0)] ?? [] } ?? []
        return root + path.names.map(\.text) + (path.collectionOperator.map { ["@" + $0.rawValue] } ?? [])
    }

    /// The path that a column is made of; whether it has values of its property, and whether it counts what that does.
    private func columnPath(_ column: Int) -> (path: Predicate.Path, isValue: Bool, isLength: Bool)? {
        guard let grouping = query.grouping, column >= 0 else { return nil }
        if column < grouping.keys.count {
            let key = grouping.keys[column]
            return (key.path, key.bucket == nil, true)
        }
        guard column - grouping.keys.count < grouping.aggregates.count else { return nil }
        let aggregate = grouping.aggregates[column - grouping.keys.count]
        guard let path = aggregate.path else { return nil }
        return switch aggregate.function {
        case .count, .distinct: nil
        case .min, .max: (path, true, true)
        case .sum, .avg, .median, .percentile, .deviation: (path, false, true)
        case .variance: (path, false, false)
        }
    }
}

extension QueryOutline {
    /// For programs:
    ///
    ///     [{"argument": 0, "role": "value", "plain": true, "computed": false, "now": false, "paths": [["age"]]}]
    package var json: String {
        let uses = uses.map { use in
            let paths = use.paths.map { "[" + $0.map(Explanation.quoted).joined(separator: ", ") + "]" }
            let argument = use.name.map(Explanation.quoted) ?? String(use.argument)
            return "{\"argument\": \(argument), \"role\": \"\(use.role.rawValue)\", \"plain\": \(use.isPlain), "
                + "\"computed\": \(use.isComputed), \"now\": \(use.asksForNow), "
                + "\"paths\": [\(paths.joined(separator: ", "))]}"
        }
        return "[" + uses.joined(separator: ", ") + "]"
    }
}
