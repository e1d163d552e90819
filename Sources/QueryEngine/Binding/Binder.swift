/// Names to columns and constants to the types of their columns; errors point at the text.
///
/// Quantifiers become `any`: `NONE p` is NOT ANY p, `ALL p` is NOT ANY NOT p. A path through a null link is null, so
/// each link step knows whether null passes what comes after it; a collection behind a null link is empty.
import MotteColumns
import MotteSchemaModel
import MotteValues

struct Binder {
    var resolver: PathResolver
    let table: TableKey
    let arguments: Arguments
    /// What the SUBQUERY is called whose elements are asked about; nil outside.
    var variable: String?

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

    /// `place GEOWITHIN shape`, and `place IN shape` as the peers' format strings write it.
    private func asksWhere(
        _ path: Predicate.Path, _ comparison: Predicate.Comparison
    ) throws(DatabaseError) -> Bool {
        if comparison.operator == .geoWithin { return true }
        guard comparison.operator == .in else { return false }
        switch comparison.right {
        case .shape: return true
        // An argument that was filled in.
        case .constant(.string, _): return try resolve(path).targetTable != nil
        case .argument(let number, let position):
            guard case .value(.string) = try arguments.argument(number, at: position, in: source) else { return false }
            return try resolve(path).targetTable != nil
        default: return false
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

    /// Paths start at the objects that are asked about: those of the query, or inside SUBQUERY the elements.
    func resolve(_ path: Predicate.Path) throws(DatabaseError) -> BoundPath {
        let isOurs =
            switch (path.variable, variable) {
            case (nil, nil): true
            case (let written?, let known?): written.utf8.elementsEqual(known.utf8)
            default: false
            }
        guard isOurs else {
            let what = variable.map { "inside SUBQUERY paths begin with its own variable, $\($0)" }
            throw failure(
                what ?? "there is no $\(path.variable ?? "") here: only SUBQUERY has variables", at: path.position)
        }
        return try resolver.resolve(path, from: table)
    }

    // MARK: Sides

    private func bind(_ written: Predicate.Comparison) throws(DatabaseError) -> BoundPredicate {
        var comparison = written
        comparison.left = try computed(written.left)
        comparison.right = try computed(written.right)
        if comparison.left.isArithmetic || comparison.right.isArithmetic { return try bindArithmetic(comparison) }
        let sign = comparison.operator
        if case .path(let path) = comparison.left, try asksWhere(path, comparison) {
            return try bindGeo(path, comparison.right, at: comparison.position)
        }
        switch (comparison.left, comparison.right) {
        case (.path(let left), .path(let right)): return try bindPaths(left, comparison, right)
        case (.subquery(let subquery), let constant):
            return try bindSubquery(subquery, sign, constant, at: comparison.position)
        case (let constant, .subquery(let subquery)):
            guard let mirrored = Self.mirrored(sign) else {
                throw failure("\(sign.text) needs its SUBQUERY on the left", at: comparison.position)
            }
            return try bindSubquery(subquery, mirrored, constant, at: comparison.position)
        case (.path(let path), let constant):
            return try bind(path, sign, constant, comparison.options, at: comparison.position)
        case (let constant, .path(var path)):
            if sign == .in {
                // `x IN list` asks whether some element is x.
                if path.quantifier == nil { path.quantifier = .any }
                return try bind(path, .equal, constant, comparison.options, at: comparison.position)
            }
            guard let mirrored = Self.mirrored(sign) else {
                throw failure("\(sign.text) needs its property on the left", at: comparison.position)
            }
            return try bind(path, mirrored, constant, comparison.options, at: comparison.position)
        default: throw failure("one side of a comparison must be a property", at: comparison.position)
        }
    }

    static func mirrored(_ sign: Predicate.Operator) -> Predicate.Operator? {
        switch sign {
        case .equal, .notEqual: sign
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        case .between, .in, .beginsWith, .endsWith, .contains, .like, .matches, .geoWithin: nil
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
        case .between, .in, .beginsWith, .endsWith, .contains, .like, .matches, .geoWithin: nil
        }
    }

    private func bindPaths(
        _ left: Predicate.Path, _ comparison: Predicate.Comparison, _ right: Predicate.Path
    ) throws(DatabaseError) -> BoundPredicate {
        let leftPath = try resolve(left)
        let rightPath = try resolve(right)
        guard leftPath.isRead(left), rightPath.isRead(right) else {
            throw failure("an operator such as @sum is compared with a value", at: comparison.position)
        }
        guard !leftPath.isToMany, !rightPath.isToMany, left.quantifier == nil, right.quantifier == nil else {
            throw failure("a path through a list is compared with a value", at: comparison.position)
        }
        let ofLeft = try textFunctions(left, leftPath), ofRight = try textFunctions(right, rightPath)
        let test = try pairTest(comparison, leftPath.applying(ofLeft), rightPath.applying(ofRight))
        let isPlain = ofLeft.functions.isEmpty && ofRight.functions.isEmpty
        let bound = BoundPredicate.paths(leftPath, isPlain ? test : .applied(ofLeft, test, ofRight), rightPath)
        if case .text = test, comparison.operator == .notEqual { return .not(bound) }
        return bound
    }

    /// Those of a path that is read.
    func textFunctions(_ path: Predicate.Path, _ bound: BoundPath) throws(DatabaseError) -> TextFunctions {
        let functions = TextFunctions(path.functions)
        guard let first = path.functions.first else { return functions }
        let isText = bound.type == .string || bound.type == .mixed
        guard bound.isRead(path), isText || (bound.type == .data && functions.functions == [.length]) else {
            let what = bound.isRead(path) ? bound.type.name : "a total"
            throw failure(
                "\(bound.name) is \(what); \(first.word) is for texts", at: path.position)
        }
        return functions
    }

    /// For two values that fit each other; a text's `!=` is to be negated.
    func pairTest(
        _ comparison: Predicate.Comparison, _ leftPath: BoundPath, _ rightPath: BoundPath
    ) throws(DatabaseError) -> PairTest {
        let test = try pairTest(comparison)
        let fits =
            switch test {
            case .compare(let sign):
                Self.areComparable(leftPath, rightPath, isOrdered: sign != .equal && sign != .notEqual)
            case .text(let mode, let options): Self.areTexts(leftPath.type, rightPath.type, mode, options)
            case .applied: true
            }
        guard fits else {
            throw failure(
                "\(leftPath.name) is \(leftPath.type.name) and \(rightPath.name) is \(rightPath.type.name); "
                    + "they cannot be compared by \(comparison.operator.text)", at: comparison.position)
        }
        return test
    }

    private func pairTest(_ comparison: Predicate.Comparison) throws(DatabaseError) -> PairTest {
        let sign = comparison.operator
        if let mode = Self.textMode(sign) { return .text(mode, comparison.options) }
        if !comparison.options.isEmpty, sign == .equal || sign == .notEqual { return .text(.equal, comparison.options) }
        guard let comparing = Self.comparisonOperator(sign), comparison.options.isEmpty else {
            throw failure("\(sign.text) needs values on its right", at: comparison.position)
        }
        return .compare(comparing)
    }

    private static func areComparable(_ left: BoundPath, _ right: BoundPath, isOrdered: Bool) -> Bool {
        if left.type == .link, right.type != .mixed {
            return right.type == .link && left.targetTable == right.targetTable && !isOrdered
        }
        return left.type == right.type || (left.type.isNumeric && right.type.isNumeric)
            || left.type == .mixed || right.type == .mixed
    }

    private static func areTexts(
        _ left: PropertyType, _ right: PropertyType, _ mode: TextMatcher.Mode, _ options: TextOptions
    ) -> Bool {
        let allowed: [PropertyType] = mode == .like || !options.isEmpty ? [.string, .mixed] : [.string, .data, .mixed]
        return allowed.contains(left) && allowed.contains(right) && (left == right || left == .mixed || right == .mixed)
    }

    static func textMode(_ sign: Predicate.Operator) -> TextMatcher.Mode? {
        switch sign {
        case .beginsWith: .beginsWith
        case .endsWith: .endsWith
        case .contains: .contains
        case .like: .like
        case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .between, .in, .matches, .geoWithin:
            nil
        }
    }

    // MARK: Path and constant

    private func bind(
        _ path: Predicate.Path, _ sign: Predicate.Operator, _ constant: Predicate.Operand, _ options: TextOptions,
        at position: SourcePosition
    ) throws(DatabaseError) -> BoundPredicate {
        let bound = try resolve(path)
        let functions = try textFunctions(path, bound)
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
        let result = try leaf(bound, functions, sign, constant, options, negated: negatesElement, at: position)
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
        _ path: BoundPath, _ functions: TextFunctions, _ sign: Predicate.Operator, _ constant: Predicate.Operand,
        _ options: TextOptions, negated: Bool, at position: SourcePosition
    ) throws(DatabaseError) -> (predicate: BoundPredicate, nullPasses: Bool) {
        if case .object = path.end {
            let predicate = try objectTest(path, sign, constant, at: position)
            // An object that is reached is not null; SELF behind a null link differs from every object.
            return (negated ? .not(predicate) : predicate, sign == .notEqual)
        }
        var test = try columnTest(path.applying(functions), sign, constant, options, at: position)
        if !functions.functions.isEmpty { test = .applied(functions, test) }
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
            if case .link(let link) = value, link.table == path.targetTable || link == .nowhere {
                keys.append(link.key.rawValue)
            } else if !value.isNull {
                throw mismatch(path, value, operand)
            }
        }
        let isOne = BoundPredicate.object(Array(Set(keys)).sorted())
        return sign == .notEqual ? .not(isOne) : isOne
    }
}
