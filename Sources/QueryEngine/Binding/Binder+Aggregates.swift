/// `collection.@count`, `.@sum`, ... and `SUBQUERY(...).@count`, compared with constants.
import MotteColumns
import MotteSchemaModel
import MotteValues

extension Binder {
    func bindAggregate(
        _ path: Predicate.Path, _ bound: BoundPath, _ sign: Predicate.Operator, _ constant: Predicate.Operand,
        at position: SourcePosition
    ) throws(DatabaseError) -> BoundPredicate {
        guard let function = path.collectionOperator else { return .constant(false) }
        guard path.quantifier == nil else {
            throw failure("@\(function.rawValue) is a single value; ANY, ALL and NONE need a list", at: path.position)
        }
        let (collection, prefix) = try collection(function, bound, at: path.position)
        return try bind(function, collection, prefix, bound, sign, constant, at: position)
    }

    func bindSubquery(
        _ subquery: Predicate.Subquery, _ sign: Predicate.Operator, _ constant: Predicate.Operand,
        at position: SourcePosition
    ) throws(DatabaseError) -> BoundPredicate {
        let written = subquery.collection
        guard written.quantifier == nil, written.collectionOperator == nil else {
            throw failure("SUBQUERY needs a list of objects, by itself", at: written.position)
        }
        let bound = try resolve(written)
        let many = bound.steps.indices.filter { !bound.steps[$0].isToOne }
        guard case .object = bound.end, let last = bound.steps.last, let index = many.first,
            index == bound.steps.count - 1
        else {
            throw failure(
                many.count > 1
                    ? "SUBQUERY works on one list, this path has two"
                    : "SUBQUERY needs a list of objects, \(bound.name) is none", at: written.position)
        }
        var inner = Binder(resolver: resolver, table: last.target, arguments: arguments)
        inner.variable = subquery.variable
        let predicate = PredicateRewrites.simplified(try inner.bind(subquery.predicate))
        return try bind(.count, .matching(last, predicate), bound.steps[..<index], bound, sign, constant, at: position)
    }

    private func bind(
        _ function: Predicate.CollectionOperator, _ collection: BoundAggregate.Collection,
        _ prefix: ArraySlice<PathStep>, _ bound: BoundPath, _ sign: Predicate.Operator, _ constant: Predicate.Operand,
        at position: SourcePosition
    ) throws(DatabaseError) -> BoundPredicate {
        switch sign {
        case .between:
            let bounds = try members(constant)
            guard bounds.count == 2 else {
                throw failure("BETWEEN needs two bounds", at: constant.position, .queryArgument)
            }
            for (value, operand) in bounds where value.isNull {
                throw failure("the bounds of BETWEEN cannot be null", at: operand.position)
            }
            return .and([
                try compare(function, collection, prefix, bound, .greaterOrEqual, bounds[0].value, bounds[0].operand),
                try compare(function, collection, prefix, bound, .lessOrEqual, bounds[1].value, bounds[1].operand),
            ])
        case .in:
            var parts: [BoundPredicate] = []
            for (value, operand) in try members(constant) {
                parts.append(try compare(function, collection, prefix, bound, .equal, value, operand))
            }
            return .or(parts)
        default:
            guard let op = Self.comparisonOperator(sign) else {
                throw failure("@\(function.rawValue) is a number, which \(sign.text) does not compare", at: position)
            }
            return try compare(function, collection, prefix, bound, op, try value(constant), constant)
        }
    }

    private func compare(
        _ function: Predicate.CollectionOperator, _ collection: BoundAggregate.Collection,
        _ prefix: ArraySlice<PathStep>, _ bound: BoundPath, _ op: ComparisonOperator, _ value: Value,
        _ operand: Predicate.Operand
    ) throws(DatabaseError) -> BoundPredicate {
        let isTime = function != .count && bound.type == .timestamp
        switch value {
        case .null: break
        case .int, .float, .double, .decimal:
            guard !isTime else { throw mismatch(bound, value, operand) }
        case .timestamp:
            guard isTime else { throw aggregateMismatch(function, value, operand) }
        default: throw aggregateMismatch(function, value, operand)
        }
        let aggregate = BoundAggregate(function: function, collection: collection, operator: op, constant: value)
        return Self.wrapped(.aggregate(aggregate), prefix, nullPasses: aggregate.holdsForNull)
    }

    private func aggregateMismatch(
        _ function: Predicate.CollectionOperator, _ value: Value, _ operand: Predicate.Operand
    ) -> DatabaseError {
        var code = ErrorCode.queryInvalid
        if case .argument = operand { code = .queryArgument }
        return failure("@\(function.rawValue) is a number, but this is \(value.kind.name)", at: operand.position, code)
    }

    /// Splits a path at its one collection.
    private func collection(
        _ function: Predicate.CollectionOperator, _ bound: BoundPath, at position: SourcePosition
    ) throws(DatabaseError) -> (BoundAggregate.Collection, prefix: ArraySlice<PathStep>) {
        let name = "@\(function.rawValue)"
        let many = bound.steps.indices.filter { !bound.steps[$0].isToOne }
        if case .keys(let column, _) = bound.end, function == .count {
            guard many.isEmpty else { throw failure("\(name) works on one list, this path has two", at: position) }
            return (.elements(column, .string), bound.steps[...])
        }
        if case .access = bound.end {
            throw failure("\(name) does not work inside values; only @count does", at: position)
        }
        if case .elements(let column, let type, _) = bound.end {
            guard many.isEmpty else { throw failure("\(name) works on one list, this path has two", at: position) }
            try requireSummable(function, type, bound, at: position)
            return (.elements(column, type), bound.steps[...])
        }
        guard let index = many.first else { throw failure("\(name) needs a list, \(bound.name) is none", at: position) }
        guard many.count == 1 else { throw failure("\(name) works on one list, this path has two", at: position) }
        let step = bound.steps[index]
        let prefix = bound.steps[..<index]
        if function == .count {
            guard index == bound.steps.count - 1, case .object = bound.end else {
                throw failure("@count stands directly after a list", at: position)
            }
            return (.objects(step, nil), prefix)
        }
        guard case .column(_, let type, _) = bound.end else {
            throw failure("\(name) needs a property of the objects in \(bound.name)", at: position)
        }
        try requireSummable(function, type, bound, at: position)
        var rest = bound
        rest.steps = Array(bound.steps[(index + 1)...])
        return (.objects(step, rest), prefix)
    }

    private func requireSummable(
        _ function: Predicate.CollectionOperator, _ type: PropertyType, _ bound: BoundPath, at position: SourcePosition
    ) throws(DatabaseError) {
        switch function {
        case .count: return
        case .min, .max:
            if type.isNumeric || type == .timestamp || type == .mixed { return }
        case .sum, .avg:
            if type.isNumeric || type == .mixed { return }
        }
        throw failure("\(bound.name) is \(type.name), which @\(function.rawValue) does not work on", at: position)
    }
}
