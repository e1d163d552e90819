/// Count, minimum, maximum, sum and average over a property of the elements, or over the elements themselves, by the
/// rules of `Accumulator`. A sum of ints that does not fit in 64 bits is `.overflow`.
import MotteColumns
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues

package enum AggregateOperation: UInt32, Sendable {
    case count = 1
    case min, max, sum, average

    var name: String {
        switch self {
        case .count: "count"
        case .min: "minimum"
        case .max: "maximum"
        case .sum: "sum"
        case .average: "average"
        }
    }

    var function: Predicate.CollectionOperator {
        switch self {
        case .count: .count
        case .min: .min
        case .max: .max
        case .sum: .sum
        case .average: .avg
        }
    }
}

extension LiveCollection {
    /// A nil column stands for the elements themselves.
    package func aggregate(_ operation: AggregateOperation, _ column: ColumnKey? = nil) throws(DatabaseError) -> Value {
        let (type, name) = try typeForReading(column)
        if target != nil, column == nil, operation == .count { return .int(Int64(try count())) }
        let isNumber = type.isNumeric || type == .mixed
        let isOrdered = isNumber || type == .timestamp
        switch operation {
        case .count: break
        case .min, .max: guard isOrdered else { throw unfit(operation, name, type) }
        case .sum, .average: guard isNumber else { throw unfit(operation, name, type) }
        }
        if let column, type != .mixed, type != .decimal, let total = try vectorized(operation, column) { return total }
        guard operation != .count else {
            var count: Int64 = 0
            try forEachRun(column, from: 0, limit: .max) { chunk, rows, _ in
                for row in rows where !chunk.isNull(row) { count += 1 }
            }
            return .int(count)
        }
        var total = Accumulator(type)
        try forEachRun(column, from: 0, limit: .max) { chunk, rows, _ in total.add(chunk, rows) }
        return try total.result(operation.function, name)
    }

    /// Type and name of what bulk reads and totals read; refuses lists and inverses.
    func typeForReading(_ column: ColumnKey?) throws(DatabaseError) -> (type: PropertyType, name: String) {
        guard let target else {
            if column != nil { throw notObjects() }
            return (elementType, "self")
        }
        let schema = try session.schema
        guard let type = schema[target] else { throw notObjects() }
        guard let column else { return (.link, "self") }
        guard let property = type.property(column) else {
            throw DatabaseError(
                .unknownProperty, "\(type.name) has no property with key \(column.rawValue)", className: type.name)
        }
        guard !property.isCollection else {
            throw DatabaseError(
                .wrongType,
                "\(type.name).\(property.name) is a \(property.collection.name); this reads properties of one value",
                className: type.name, propertyName: property.name)
        }
        return (property.type, property.name)
    }

    private func unfit(_ operation: AggregateOperation, _ name: String, _ type: PropertyType) -> DatabaseError {
        DatabaseError(
            .wrongType, "there is no \(operation.name) of '\(name)', which has type \(type.name)", propertyName: name)
    }
}
