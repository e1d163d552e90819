/// Names to columns and constants to the types of their columns; errors point at the text.
///
/// Quantifiers become `any`: `NONE p` is NOT ANY p, `ALL p` is NOT ANY NOT p. A path through a null link is null, so
/// each link step knows whether null passes what comes after it; a collection behind a null link is empty.
import MotteColumns
import MotteSchemaModel
import MotteValues

struct Binder {
    let resolver: PathResolver
    let table: TableKey
    let arguments: Arguments

    var source: QuerySource { resolver.source }

    func bind(_ predicate: Predicate, depth: Int = 0) throws(DatabaseError) -> BoundPredicate {
        guard depth <= Predicate.deepest * 2 else {
            throw DatabaseError(.queryInvalid, "the query is nested more than \(Predicate.deepest) deep")
        }
        switch predicate {
        case .constant(let value): return .constant(value)
        case .not(let inner): return .not(try bind(inner, depth: depth + 1))
        case .and(let parts): return .and(try bind(parts, depth))
        case .or(let parts): return .or(try bind(parts, depth))
        case .comparison(let comparison):
            let text = PredicateText.describe(predicate, arguments: arguments)
            return .comparison(text, try bind(comparison))
        }
    }

    private func bind(_ parts: [Predicate], _ depth: Int) throws(DatabaseError) -> [BoundPredicate] {
        var bound: [BoundPredicate] = []
        for part in parts { bound.append(try bind(part, depth: depth + 1)) }
        return bound
    }

    func failure(_ message: String, at position: SourcePosition, _ code: ErrorCode = .queryInvalid) -> DatabaseError {
        source.error(code, message, at: position)
    }

    // MARK: Sides

    private func bind(_ comparison: Predicate.Comparison) throws(DatabaseError) -> BoundPredicate {
        let sign = comparison.operator
        switch (comparison.left, comparison.right) {
        case (.path(let left), .path(let right)): return try bindPaths(left, comparison, right)
        case (.path(let path), let constant):
            return try bind(path, sign, constant, ignoresCase: comparison.ignoresCase, at: comparison.position)
        case (let constant, .path(var path)):
            if sign == .in {
                // `x IN list` asks whether some element is x.
                if path.quantifier == nil { path.quantifier = .any }
                return try bind(path, .equal, constant, ignoresCase: false, at: comparison.position)
            }
            guard let mirrored = Self.mirrored(sign) else {
                throw failure("\(sign.text) needs its property on the left", at: comparison.position)
            }
            return try bind(path, mirrored, constant, ignoresCase: comparison.ignoresCase, at: comparison.position)
        default: throw failure("one side of a comparison must be a property", at: comparison.position)
        }
    }

    private static func mirrored(_ sign: Predicate.Operator) -> Predicate.Operator? {
        switch sign {
        case .equal, .notEqual: sign
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        case .between, .in, .beginsWith, .endsWith, .contains, .like: nil
        }
    }

    static func comparisonOperator(_ sign: Predicate.Operator) -> ComparisonOperator? {
        switch sign {
        case .equal: .equal
        case .notEqual: .notEqual
        case .less: .less
        case .lessOrEqual: .lessOrEqual
        case .greater: .greater
        case .greaterOrEqual: .greaterOrEqual
        case .between, .in, .beginsWith, .endsWith, .contains, .like: nil
        }
    }

    private func bindPaths(
        _ left: Predicate.Path, _ comparison: Predicate.Comparison, _ right: Predicate.Path
    ) throws(DatabaseError) -> BoundPredicate {
        let leftPath = try resolver.resolve(left, from: table)
        let rightPath = try resolver.resolve(right, from: table)
        guard leftPath.isRead(left), rightPath.isRead(right) else {
            throw failure("an operator such as @sum is compared with a value", at: comparison.position)
        }
        guard !leftPath.isToMany, !rightPath.isToMany, left.quantifier == nil, right.quantifier == nil else {
            throw failure("a path through a list is compared with a value", at: comparison.position)
        }
        guard let sign = Self.comparisonOperator(comparison.operator), !comparison.ignoresCase else {
            throw failure("\(comparison.operator.text) needs a value on its right", at: comparison.position)
        }
        let isOrdered = sign != .equal && sign != .notEqual
        let fits = leftPath.type == .link && rightPath.type != .mixed
            ? rightPath.type == .link && leftPath.targetTable == rightPath.targetTable && !isOrdered
            : leftPath.type == rightPath.type || (leftPath.type.isNumeric && rightPath.type.isNumeric)
                || leftPath.type == .mixed || rightPath.type == .mixed
        guard fits else {
            throw failure(
                "\(leftPath.name) is \(leftPath.type.name) and \(rightPath.name) is \(rightPath.type.name); "
                    + "they cannot be compared by \(comparison.operator.text)", at: comparison.position)
        }
        return .paths(leftPath, sign, rightPath)
    }

    // MARK: Path and constant

    private func bind(
        _ path: Predicate.Path, _ sign: Predicate.Operator, _ constant: Predicate.Operand, ignoresCase: Bool,
        at position: SourcePosition
    ) throws(DatabaseError) -> BoundPredicate {
        let bound = try resolver.resolve(path, from: table)
        if !bound.isRead(path) {
            return try bindAggregate(path, bound, sign, constant, at: position)
        }
        guard bound.isToMany || path.quantifier == nil else {
            throw failure("\(bound.name) is a single value; ANY, ALL, NONE and IN need a list", at: path.position)
        }
        guard !bound.isToMany || path.quantifier != nil else {
            throw failure(
                "\(bound.name) is reached through a list; say ANY, ALL or NONE before the path, or @count after it",
                at: path.position)
        }
        let negatesElement = path.quantifier == .all
        let result = try leaf(
            bound, sign, constant, ignoresCase: ignoresCase, negated: negatesElement, at: position)
        let whole = Self.wrapped(result.predicate, bound.steps[...], nullPasses: result.nullPasses)
        return path.quantifier == .all || path.quantifier == Predicate.Quantifier.none ? .not(whole) : whole
    }

    /// Steps around what is asked at their end.
    static func wrapped(
        _ inner: BoundPredicate, _ steps: ArraySlice<PathStep>, nullPasses: Bool
    ) -> BoundPredicate {
        var result = inner
        var nullPasses = nullPasses
        for step in steps.reversed() {
            if step.isToOne {
                result = .link(step, result, nullPasses: nullPasses)
            } else {
                result = .anyObject(step, result)
                nullPasses = false
            }
        }
        return result
    }

    private func leaf(
        _ path: BoundPath, _ sign: Predicate.Operator, _ constant: Predicate.Operand, ignoresCase: Bool, negated: Bool,
        at position: SourcePosition
    ) throws(DatabaseError) -> (predicate: BoundPredicate, nullPasses: Bool) {
        if case .object = path.end {
            let predicate = try objectTest(path, sign, constant, at: position)
            // An object that is reached is not null; SELF behind a null link differs from every object.
            return (negated ? .not(predicate) : predicate, sign == .notEqual)
        }
        var test = try columnTest(path, sign, constant, ignoresCase: ignoresCase, at: position)
        if negated { test = .not(test) }
        switch path.end {
        case .column(let column, let type, _): return (.column(column, type, test), test.holdsForNull)
        case .elements(let column, let type, _): return (.anyElement(column, type, test), false)
        case .keys(let column, let keys): return (.anyKey(column, keys: keys, test), false)
        case .access(let access): return (.access(access, test), access.nullPasses(test))
        case .object: return (.constant(false), false)
        }
    }

    private func objectTest(
        _ path: BoundPath, _ sign: Predicate.Operator, _ constant: Predicate.Operand, at position: SourcePosition
    ) throws(DatabaseError) -> BoundPredicate {
        let values: [(value: Value, operand: Predicate.Operand)]
        switch sign {
        case .equal, .notEqual: values = [(try value(constant), constant)]
        case .in: values = try members(constant)
        default: throw failure("objects are compared with ==, != and IN only", at: position)
        }
        var keys: [Int64] = []
        for (value, operand) in values {
            if case .link(let link) = value, link.table == path.targetTable {
                keys.append(link.key.rawValue)
            } else if !value.isNull {
                throw mismatch(path, value, operand)
            }
        }
        let isOne = BoundPredicate.object(Array(Set(keys)).sorted())
        return sign == .notEqual ? .not(isOne) : isOne
    }
}
