/// Arithmetic in comparisons: computed at once where it has no paths, else bound as expressions of a row.
import MotteColumns
import MotteSchemaModel
import MotteValues

extension Binder {
    /// With constants for `now()` and for the arithmetic that reads no rows.
    func computed(_ operand: Predicate.Operand) throws(DatabaseError) -> Predicate.Operand {
        switch operand {
        case .now(let position): return .constant(.timestamp(arguments.now ?? .now), position)
        case .list(let elements, let position):
            var all: [Predicate.Operand] = []
            for element in elements { all.append(try computed(element)) }
            return .list(all, position)
        case .arithmetic(let arithmetic) where !arithmetic.hasPaths:
            return .constant(try quantity(operand).value, arithmetic.left.position)
        case .path, .constant, .argument, .shape, .subquery, .arithmetic: return operand
        }
    }

    func bindArithmetic(_ comparison: Predicate.Comparison) throws(DatabaseError) -> BoundPredicate {
        guard comparison.options.isEmpty else {
            throw failure(
                "only strings have case and diacritics, and this is a number or a time", at: comparison.position)
        }
        let left = try expression(comparison.left)
        switch comparison.operator {
        case .between:
            let bounds = try members(comparison.right)
            guard bounds.count == 2 else {
                throw failure("BETWEEN needs two bounds", at: comparison.right.position, .queryArgument)
            }
            for (value, operand) in bounds where value.isNull {
                throw failure("the bounds of BETWEEN cannot be null", at: operand.position)
            }
            return .and([
                try compare(left, .greaterOrEqual, try constant(bounds[0]), comparison),
                try compare(left, .lessOrEqual, try constant(bounds[1]), comparison),
            ])
        case .in:
            var parts: [BoundPredicate] = []
            for member in try members(comparison.right) {
                parts.append(try compare(left, .equal, try constant(member), comparison))
            }
            return .or(parts)
        default:
            guard let test = Self.comparisonOperator(comparison.operator) else {
                throw failure(
                    "\(comparison.operator.text) is for text, and this is a number or a time", at: comparison.position)
            }
            return try compare(left, test, try expression(comparison.right), comparison)
        }
    }

    private func compare(
        _ left: BoundExpression, _ test: ComparisonOperator, _ right: BoundExpression,
        _ comparison: Predicate.Comparison
    ) throws(DatabaseError) -> BoundPredicate {
        let kinds = (left.kind, right.kind)
        let isUnknown = [kinds.0, kinds.1].contains { $0 == .null || $0 == .mixed }
        guard isUnknown || kinds.0.isNumber == kinds.1.isNumber else {
            throw failure(
                "a number and a time cannot be compared; the difference of two times is a number of seconds",
                at: comparison.position)
        }
        return .arithmetic(left, test, right)
    }

    private func constant(
        _ member: (value: Value, operand: Predicate.Operand)
    ) throws(DatabaseError) -> BoundExpression {
        .constant(try quantity(member.value, member.operand))
    }

    private func expression(_ operand: Predicate.Operand) throws(DatabaseError) -> BoundExpression {
        switch operand {
        case .path(let path): return try expression(path)
        case .subquery(let subquery):
            throw failure("arithmetic does not work on SUBQUERY; compare its count with a value", at: subquery.position)
        case .arithmetic(let arithmetic) where arithmetic.hasPaths:
            let left = try expression(arithmetic.left)
            let right = try expression(arithmetic.right)
            let kind = try resultKind(left.kind, arithmetic, right.kind)
            return .arithmetic(left, arithmetic.operator, right, kind)
        case .constant, .argument, .list, .shape, .now, .arithmetic: return .constant(try quantity(operand))
        }
    }

    private func expression(_ path: Predicate.Path) throws(DatabaseError) -> BoundExpression {
        let bound = try resolve(path)
        guard bound.isRead(path) else {
            throw failure(
                "arithmetic does not work on totals such as @sum; compare them with a value", at: path.position)
        }
        guard !bound.isToMany, path.quantifier == nil else {
            throw failure(
                "\(bound.name) is reached through a list, and arithmetic is about one value; put the comparison into "
                    + "SUBQUERY(list, $x, ...).@count > 0", at: path.position)
        }
        if !path.functions.isEmpty {
            let functions = try textFunctions(path, bound)
            guard functions.isLength else {
                throw failure(
                    "\(path.functions.last?.word ?? "") gives a text; arithmetic is for numbers and times",
                    at: path.position)
            }
            return .length(bound, functions)
        }
        guard let kind = QuantityKind(bound.type) else {
            throw failure(
                "\(bound.name) is \(bound.type.name); arithmetic is for numbers and times", at: path.position)
        }
        return .path(bound, kind)
    }

    private func quantity(_ value: Value, _ operand: Predicate.Operand) throws(DatabaseError) -> Quantity {
        if let quantity = Quantity(value) { return quantity }
        if case .argument(let number, let position) = operand {
            throw failure(
                "arithmetic is for numbers and times, but argument $\(number) is \(value.kind.name)", at: position,
                .queryArgument)
        }
        throw failure("arithmetic is for numbers and times, but this is \(value.kind.name)", at: operand.position)
    }

    /// Of an operand without paths.
    private func quantity(_ operand: Predicate.Operand) throws(DatabaseError) -> Quantity {
        guard case .arithmetic(let arithmetic) = operand else {
            return try quantity(try value(try computed(operand)), operand)
        }
        let left = try quantity(arithmetic.left)
        let right = try quantity(arithmetic.right)
        _ = try resultKind(left.kind, arithmetic, right.kind)
        return Quantity.compute(left, arithmetic.operator, right)
    }

    private func resultKind(
        _ left: QuantityKind, _ arithmetic: Predicate.Arithmetic, _ right: QuantityKind
    ) throws(DatabaseError) -> QuantityKind {
        if let kind = QuantityKind.result(left, arithmetic.operator, right) { return kind }
        throw failure(
            "'\(arithmetic.operator.rawValue)' does not work here: times are subtracted from each other, which gives "
                + "seconds, and seconds are added to them and subtracted from them", at: arithmetic.position)
    }
}

extension Predicate.Arithmetic {
    /// Whether it reads rows.
    var hasPaths: Bool { left.hasPaths || right.hasPaths }
}

extension Predicate.Operand {
    var isArithmetic: Bool {
        if case .arithmetic = self { return true }
        return false
    }

    fileprivate var hasPaths: Bool {
        switch self {
        case .path, .subquery: true
        case .arithmetic(let arithmetic): arithmetic.hasPaths
        case .constant, .argument, .list, .shape, .now: false
        }
    }
}
