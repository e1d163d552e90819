/// Arithmetic on properties: `where { $0.price * $0.quantity > 100 }`, `where { $0.arrival - $0.departure > 3600 }`.
import Foundation
import MotteQueryEngine
import MotteValues

extension Query {
    /// One with a value or another query, of which at least one is a property.
    fileprivate static func computed<Result>(
        _ left: QuerySide, _ sign: QueryPredicate.ArithmeticOperator, _ right: QuerySide
    ) -> Query<Result> {
        guard let one = left.operand else { return Query<Result>(.invalid(left.reason)) }
        guard let other = right.operand else { return Query<Result>(.invalid(right.reason)) }
        return Query<Result>(
            .arithmetic(QueryPredicate.Arithmetic(one, sign, other), reaching: left.reach.union(right.reach)))
    }

    fileprivate var side: QuerySide { QuerySide(operand: operand, reach: reach, reason: reason) }
}

/// A query of any type, or a value.
private struct QuerySide {
    let operand: QueryPredicate.Operand?
    let reach: QueryReach
    let reason: String

    init(operand: QueryPredicate.Operand?, reach: QueryReach, reason: String) {
        self.operand = operand
        self.reach = reach
        self.reason = reason
    }

    init(value: Any?) {
        var reach = QueryReach()
        operand = Dynamic.asked(value).map { .constant($0.value, reach.note($0, value)) }
        self.reach = reach
        reason = "a value of type \(type(of: value)) cannot be used in arithmetic"
    }
}

// MARK: Numbers

extension Query where T: _HasPersistedType, T.PersistedType: _QueryArithmetic {
    /// The sum. What does not fit into an int has no value, as null has none.
    public static func + (left: Query, right: Query) -> Query { computed(left.side, .add, right.side) }
    /// The sum. What does not fit into an int has no value, as null has none.
    public static func + (left: Query, right: T) -> Query { computed(left.side, .add, QuerySide(value: right)) }
    /// The sum. What does not fit into an int has no value, as null has none.
    public static func + (left: T, right: Query) -> Query { computed(QuerySide(value: left), .add, right.side) }

    /// The difference. What does not fit into an int has no value, as null has none.
    public static func - (left: Query, right: Query) -> Query { computed(left.side, .subtract, right.side) }
    /// The difference. What does not fit into an int has no value, as null has none.
    public static func - (left: Query, right: T) -> Query { computed(left.side, .subtract, QuerySide(value: right)) }
    /// The difference. What does not fit into an int has no value, as null has none.
    public static func - (left: T, right: Query) -> Query { computed(QuerySide(value: left), .subtract, right.side) }

    /// The product. What does not fit into an int has no value, as null has none.
    public static func * (left: Query, right: Query) -> Query { computed(left.side, .multiply, right.side) }
    /// The product. What does not fit into an int has no value, as null has none.
    public static func * (left: Query, right: T) -> Query { computed(left.side, .multiply, QuerySide(value: right)) }
    /// The product. What does not fit into an int has no value, as null has none.
    public static func * (left: T, right: Query) -> Query { computed(QuerySide(value: left), .multiply, right.side) }

    /// The quotient, of ints without its fraction. A division of ints by zero has no value.
    public static func / (left: Query, right: Query) -> Query { computed(left.side, .divide, right.side) }
    /// The quotient, of ints without its fraction. A division of ints by zero has no value.
    public static func / (left: Query, right: T) -> Query { computed(left.side, .divide, QuerySide(value: right)) }
    /// The quotient, of ints without its fraction. A division of ints by zero has no value.
    public static func / (left: T, right: Query) -> Query { computed(QuerySide(value: left), .divide, right.side) }

    /// The number as a double, for arithmetic with doubles: `$0.count.double * $0.price`.
    public var double: Query<Double> {
        guard operand != nil else { return Query<Double>(.invalid(reason)) }
        return Query<Double>(node)
    }
}

// MARK: Times

extension Query where T: _QueryTime {
    /// The seconds from the other time to this one.
    public static func - <Other: _QueryTime>(left: Query, right: Query<Other>) -> Query<Double> {
        computed(left.side, .subtract, right.side)
    }
    /// The seconds from the other time to this one.
    public static func - (left: Query, right: Date) -> Query<Double> {
        computed(left.side, .subtract, QuerySide(value: right))
    }
    /// The seconds from this time to the other one.
    public static func - (left: Date, right: Query) -> Query<Double> {
        computed(QuerySide(value: left), .subtract, right.side)
    }
    /// The time so many seconds later.
    public static func + (left: Query, right: TimeInterval) -> Query {
        computed(left.side, .add, QuerySide(value: right))
    }
    /// The time so many seconds earlier.
    public static func - (left: Query, right: TimeInterval) -> Query {
        computed(left.side, .subtract, QuerySide(value: right))
    }
}
