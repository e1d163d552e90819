/// Rewrites that keep the meaning of a predicate and make it cheaper: one rule a function, applied from the leaves up.
enum PredicateRewrites {
    static func simplified(_ predicate: BoundPredicate) -> BoundPredicate {
        switch predicate {
        case .constant, .object, .paths, .arithmetic, .geo: return predicate
        case .aggregate(let aggregate): return existence(aggregate) ?? predicate
        case .column(_, _, .never), .anyElement(_, _, .never), .anyKey(_, _, .never), .access(_, .never):
            return .constant(false)
        case .column(_, _, .always): return .constant(true)
        case .column, .anyElement, .anyKey, .access: return predicate
        case .comparison(let text, let inner):
            let simple = simplified(inner)
            if case .constant = simple { return simple }
            return .comparison(text, simple)
        case .link(let step, let inner, let nullPasses): return link(step, simplified(inner), nullPasses)
        case .anyObject(let step, let inner):
            let simple = simplified(inner)
            if case .constant(false) = simple { return simple }
            return .anyObject(step, simple)
        case .not(let inner): return negated(simplified(inner))
        case .and(let parts): return conjunction(parts.map(simplified))
        case .or(let parts): return disjunction(parts.map(simplified))
        }
    }

    /// Whether a SUBQUERY finds something, or nothing: the first element that passes answers that, and indexes help.
    private static func existence(_ aggregate: BoundAggregate) -> BoundPredicate? {
        guard case .matching(let step, let inner) = aggregate.collection, case .int(let count) = aggregate.constant
        else { return nil }
        let any = BoundPredicate.anyObject(step, inner)
        switch (aggregate.operator, count) {
        case (.greater, 0), (.greaterOrEqual, 1), (.notEqual, 0): return simplified(any)
        case (.equal, 0), (.less, 1), (.lessOrEqual, 0): return negated(simplified(any))
        default: return nil
        }
    }

    /// What holds for every object and for null holds.
    private static func link(_ step: PathStep, _ inner: BoundPredicate, _ nullPasses: Bool) -> BoundPredicate {
        if case .constant(let value) = inner {
            if value == nullPasses { return inner }
            return .column(step.column, .link, value ? .present : .null)
        }
        return .link(step, inner, nullPasses: nullPasses)
    }

    private static func negated(_ inner: BoundPredicate) -> BoundPredicate {
        switch inner {
        case .constant(let value): .constant(!value)
        case .not(let twice): twice
        case .comparison(_, .not(let twice)): twice
        default: .not(inner)
        }
    }

    /// Flattens, drops what is true, stops at what is false, and puts what is cheap and selective first.
    private static func conjunction(_ parts: [BoundPredicate]) -> BoundPredicate {
        var flat: [BoundPredicate] = []
        for part in parts {
            switch part {
            case .constant(true): continue
            case .constant(false): return .constant(false)
            case .and(let inner): flat += inner
            default: flat.append(part)
            }
        }
        if flat.isEmpty { return .constant(true) }
        return flat.count == 1 ? flat[0] : .and(CostEstimate.cheapestFirst(flat))
    }

    private static func disjunction(_ parts: [BoundPredicate]) -> BoundPredicate {
        var flat: [BoundPredicate] = []
        for part in parts {
            switch part {
            case .constant(false): continue
            case .constant(true): return .constant(true)
            case .or(let inner): flat += inner
            default: flat.append(part)
            }
        }
        if flat.isEmpty { return .constant(false) }
        return flat.count == 1 ? flat[0] : .or(CostEstimate.cheapestFirst(flat))
    }
}
