/// A predicate after binding: every name is a column, every constant has its column's type, every quantifier is an
/// `any` with negations around it.
///
/// Each node asks about the objects of one table. A path is a chain of nodes, each about the table its step leads to,
/// so that the inner part can be answered once per target object and not once per row.
import MotteColumns
import MotteSchemaModel
import MotteValues

package indirect enum BoundPredicate: Sendable {
    case constant(Bool)
    case column(ColumnKey, PropertyType, ColumnTest)
    /// The object is one of these keys, ascending.
    case object([Int64])
    /// The object that a link points to passes; `nullPasses` answers for null links.
    case link(PathStep, BoundPredicate, nullPasses: Bool)
    /// Some value in a list passes.
    case anyElement(ColumnKey, PropertyType, ColumnTest)
    /// Some key of a map passes; the columns of the map's values and of its keys.
    case anyKey(ColumnKey, keys: ColumnKey, ColumnTest)
    /// Some value that is reached inside a property passes.
    case access(ValueAccess, ColumnTest)
    /// Some object of a list or an inverse link passes.
    case anyObject(PathStep, BoundPredicate)
    case aggregate(BoundAggregate)
    /// The object is a point in a region.
    case geo(GeoTest)
    /// Two paths without collections, compared with each other.
    case paths(BoundPath, PairTest, BoundPath)
    /// Arithmetic on one side or on both.
    case arithmetic(BoundExpression, ComparisonOperator, BoundExpression)
    case not(BoundPredicate)
    case and([BoundPredicate])
    case or([BoundPredicate])
    /// One comparison of the query, with its text for plans.
    case comparison(String, BoundPredicate)
}

/// `collection.@op.path` compared with a constant.
package struct BoundAggregate: Sendable {
    package enum Collection: Sendable {
        case elements(ColumnKey, PropertyType)
        /// A list or inverse step, and the path from each object to the value; nil for `@count`.
        case objects(PathStep, BoundPath?)
        /// Those of a list or inverse step that pass; for `@count` only.
        case matching(PathStep, BoundPredicate)
    }

    package var function: Predicate.CollectionOperator
    package var collection: Collection
    package var `operator`: ComparisonOperator
    /// `.null` asks for aggregates that have no value.
    package var constant: Value

    /// Whether an aggregate without a value passes.
    var holdsForNull: Bool {
        ValueComparison.holds(`operator`, .null, constant.isNull ? .null : .bool(true))
    }
}

/// What two values of one row are asked.
package enum PairTest: Sendable {
    case compare(ComparisonOperator)
    /// Texts, or data; the right side is the pattern.
    case text(TextMatcher.Mode, TextOptions)
    /// Of what the functions make of the two.
    indirect case applied(TextFunctions, PairTest, TextFunctions)

    package func holds(_ left: ValueView, _ right: ValueView) -> Bool {
        switch self {
        case .compare(let op): return ValueComparison.holds(op, left, right)
        case .applied(let ofLeft, let test, let ofRight):
            return ofLeft.apply(left) { left in ofRight.apply(right) { right in test.holds(left, right) } }
        case .text(let mode, let options):
            // As constants do: equality and LIKE find null with null, the others find nothing.
            if left.isNull || right.isNull { return left.isNull && right.isNull && (mode == .equal || mode == .like) }
            guard left.kind == right.kind, left.kind == .string || (left.kind == .data && mode != .like) else {
                return false
            }
            return TextMatcher.matches(mode, left.bytes, right.bytes, left.kind == .string ? options : [])
        }
    }
}

/// Comparing two values as queries do, where neither is known before the row is.
package enum ValueComparison {
    /// Null equals null and differs from all else; otherwise it is not ordered. NaN equals NaN and is not ordered, nor
    /// are values of different families, such as a text and a number.
    package static func holds(_ op: ComparisonOperator, _ left: ValueView, _ right: ValueView) -> Bool {
        if left.isNull || right.isNull {
            let bothNull = left.isNull && right.isNull
            switch op {
            case .equal, .lessOrEqual, .greaterOrEqual: return bothNull
            case .notEqual: return !bothNull
            case .less, .greater: return false
            }
        }
        let order = ValueOrdering.compare(left, right)
        switch op {
        case .equal, .notEqual: return op.holds(order)
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            return !isNaN(left) && !isNaN(right) && ValueOrdering.areComparable(left, right) && op.holds(order)
        }
    }

    @inline(__always)
    private static func isNaN(_ view: ValueView) -> Bool {
        switch view.kindNumber {
        case ValueKind.double.rawValue: view.doubleValue.isNaN
        case ValueKind.float.rawValue: view.floatValue.isNaN
        case ValueKind.decimal.rawValue: view.decimalValue.isNaN
        default: false
        }
    }
}
