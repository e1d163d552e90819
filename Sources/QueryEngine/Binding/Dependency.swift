/// What a query reads: which changes can change its result, and how to get from a changed object back to the rows of
/// the query.
import MotteStorage
import MotteValues

/// A column that is read after walking some steps from the query's own objects. Of an inverse step it is the link
/// column that is walked backwards; objects that come to exist or cease to count as changes of it.
package struct Dependency: Sendable, Equatable {
    package let steps: [PathStep]
    package let table: TableKey
    package let column: ColumnKey
    /// Read for the order only: a change moves rows and never adds or removes one.
    package let isForOrder: Bool
}

extension BoundQuery {
    /// Without repetitions; those of the query's own table have no steps.
    package var dependencies: [Dependency] {
        var found = DependencyFinder()
        found.visit(predicate, [], table)
        // What rows are compared by, and the order before a limit that is not the last clause, decide which rows are in
        // it.
        for step in steps {
            switch step {
            case .sort(let keys): for key in keys { found.visit(key.path, [], table, isForOrder: isPlain) }
            case .distinct(let paths): for path in paths { found.visit(path, [], table) }
            case .limit, .offset: break
            }
        }
        return found.dependencies
    }
}

extension BoundGrouping {
    /// What the groups of given objects are made of.
    package var dependencies: [Dependency] {
        var found = DependencyFinder()
        for key in keys { found.visit(key.path, [], table) }
        for aggregate in aggregates { if let path = aggregate.path { found.visit(path, [], table) } }
        return found.dependencies
    }

    package var isInKeyOrder: Bool { steps.allSatisfy { if case .sort = $0 { false } else { true } } }
}

private struct DependencyFinder {
    var dependencies: [Dependency] = []

    mutating func visit(_ predicate: BoundPredicate, _ steps: [PathStep], _ table: TableKey) {
        switch predicate {
        case .constant, .object: break
        case .column(let column, _, _), .anyElement(let column, _, _), .anyKey(let column, _, _):
            add(steps, table, column)
        case .access(let access, _): add(steps, table, access.column)
        case .link(let step, let inner, _), .anyObject(let step, let inner):
            walk(step, steps)
            visit(inner, steps + [step], step.target)
        case .aggregate(let aggregate):
            switch aggregate.collection {
            case .elements(let column, _): add(steps, table, column)
            case .objects(let step, let path):
                walk(step, steps)
                if let path { visit(path, steps + [step], step.target) }
            case .matching(let step, let inner):
                walk(step, steps)
                visit(inner, steps + [step], step.target)
            }
        case .paths(let left, _, let right):
            visit(left, steps, table)
            visit(right, steps, table)
        case .arithmetic(let left, _, let right):
            visit(left, steps, table)
            visit(right, steps, table)
        case .geo(let test):
            add(steps, table, test.type)
            add(steps, table, test.coordinates)
        case .not(let inner), .comparison(_, let inner): visit(inner, steps, table)
        case .and(let parts), .or(let parts): for part in parts { visit(part, steps, table) }
        }
    }

    private mutating func visit(_ expression: BoundExpression, _ steps: [PathStep], _ table: TableKey) {
        switch expression {
        case .constant: break
        case .path(let path, _), .length(let path, _): visit(path, steps, table)
        case .arithmetic(let left, _, let right, _):
            visit(left, steps, table)
            visit(right, steps, table)
        }
    }

    mutating func visit(_ path: BoundPath, _ prefix: [PathStep], _ table: TableKey, isForOrder: Bool = false) {
        var steps = prefix
        for step in path.steps {
            walk(step, steps, isForOrder: isForOrder)
            steps.append(step)
        }
        switch path.end {
        case .column(let column, _, _), .elements(let column, _, _), .keys(let column, _):
            add(steps, steps.last?.target ?? table, column, isForOrder: isForOrder)
        case .access(let access): add(steps, steps.last?.target ?? table, access.column, isForOrder: isForOrder)
        case .object: break
        }
    }

    private mutating func walk(_ step: PathStep, _ steps: [PathStep], isForOrder: Bool = false) {
        if case .inverse = step.kind {
            add(steps + [step], step.target, step.column, isForOrder: isForOrder)
        } else {
            add(steps, step.origin, step.column, isForOrder: isForOrder)
        }
    }

    private mutating func add(_ steps: [PathStep], _ table: TableKey, _ column: ColumnKey, isForOrder: Bool = false) {
        let found = dependencies.firstIndex { $0.table == table && $0.column == column && $0.steps == steps }
        guard let found else {
            dependencies.append(Dependency(steps: steps, table: table, column: column, isForOrder: isForOrder))
            return
        }
        if !isForOrder, dependencies[found].isForOrder {
            dependencies[found] = Dependency(steps: steps, table: table, column: column, isForOrder: false)
        }
    }
}

extension Dependency {
    /// The objects of the query's table from which `keys` of `table` are reached, ascending: the steps walked back in
    /// the state of `source`. Links that a change has removed are the caller's to follow, from the before-images.
    package func roots(of keys: [Int64], in source: RowSource) throws(DatabaseError) -> [Int64] {
        try roots(of: keys, behind: steps[...], in: source)
    }

    /// The same for objects that the last step starts from.
    package func roots(ofOrigins keys: [Int64], in source: RowSource) throws(DatabaseError) -> [Int64] {
        try roots(of: keys, behind: steps.dropLast(), in: source)
    }

    private func roots(
        of keys: [Int64], behind steps: ArraySlice<PathStep>, in source: RowSource
    ) throws(DatabaseError) -> [Int64] {
        var current = keys
        for step in steps.reversed() {
            if current.isEmpty { return [] }
            var previous: [Int64] = []
            let view = try source.table(step.target)
            switch step.kind {
            case .link, .list:
                try view.backlinks(origin: step.origin, step.column, of: current, into: &previous)
            case .inverse(let isList):
                for key in current where try view.locate(ObjectKey(key)) != nil {
                    if isList {
                        try view.listValues(step.column, ObjectKey(key)) { chunk, range in
                            for position in range where !chunk.isNull(position) { previous.append(chunk.int(position)) }
                        }
                    } else {
                        let link = try view.value(step.column, ObjectKey(key))
                        if !link.isNull { previous.append(link.intValue) }
                    }
                }
            }
            current = previous.ascending
        }
        return steps.isEmpty ? current.ascending : current
    }
}
