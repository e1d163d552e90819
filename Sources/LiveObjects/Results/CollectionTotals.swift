/// Count, minimum, maximum, sum and average over a property of the elements, or over the elements themselves.
///
/// Nulls do not take part. Sums of ints are exact or `.overflow`; averages are doubles. Minimum, maximum and average of
/// nothing are null, sums of nothing zero.
import MotteColumns
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
        var total = Total(type)
        try forEachRun(column, from: 0, limit: .max) { chunk, rows, _ in total.add(chunk, rows, operation) }
        return try total.result(operation, name)
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

    /// One pass over runs of a column.
    private struct Total {
        let type: PropertyType
        private let form: ValueKind.Form?
        var count = 0
        var intSum = Int128(0)
        var doubleSum = 0.0
        var intLeast = Int64.max, intMost = Int64.min
        var doubleLeast = Double.nan, doubleMost = Double.nan
        var timeLeast: Timestamp?, timeMost: Timestamp?
        var decimalSum = Decimal128.zero
        var anyLeast: Value?, anyMost: Value?

        init(_ type: PropertyType) {
            self.type = type
            form = type.form
        }

        mutating func add(_ chunk: ColumnChunk, _ rows: Range<Int>, _ operation: AggregateOperation) {
            for row in rows where !chunk.isNull(row) {
                count += 1
                switch form {
                case .int:
                    let value = chunk.int(row)
                    intSum += Int128(value)
                    intLeast = Swift.min(intLeast, value)
                    intMost = Swift.max(intMost, value)
                case .float: add(Double(chunk.float(row)))
                case .double: add(chunk.double(row))
                case .timestamp:
                    let value = chunk.timestamp(row)
                    if value < timeLeast ?? value || timeLeast == nil { timeLeast = value }
                    if timeMost ?? value < value || timeMost == nil { timeMost = value }
                case .decimal: add(chunk.view(row))
                case nil:
                    guard type == .mixed else { break }
                    // All of it is ordered; sums and averages are of the numbers in it.
                    let value = chunk.view(row)
                    if value.kind?.isNumeric == true || operation == .min || operation == .max {
                        add(value)
                    } else if operation != .count {
                        count -= 1
                    }
                case .bool, .string, .data, .link, .identifier, .null, .list, .map: break
                }
            }
        }

        private mutating func add(_ value: ValueView) {
            switch value.kind {
            case .int: decimalSum = decimalSum.adding(Decimal128(value.intValue))
            case .float: decimalSum = decimalSum.adding(Decimal128(Double(value.floatValue)))
            case .double: decimalSum = decimalSum.adding(Decimal128(value.doubleValue))
            case .decimal: decimalSum = decimalSum.adding(value.decimalValue)
            default: break
            }
            let owned = value.owned
            if anyLeast.map({ owned < $0 }) ?? true { anyLeast = owned }
            if anyMost.map({ $0 < owned }) ?? true { anyMost = owned }
        }

        /// NaN is below every other number.
        private mutating func add(_ value: Double) {
            doubleSum += value
            if count == 1 {
                doubleLeast = value
                doubleMost = value
            } else {
                if ValueOrdering.compareDoubles(value, doubleLeast) < 0 { doubleLeast = value }
                if ValueOrdering.compareDoubles(value, doubleMost) > 0 { doubleMost = value }
            }
        }

        func result(_ operation: AggregateOperation, _ name: String) throws(DatabaseError) -> Value {
            switch operation {
            case .count: return .int(Int64(count))
            case .sum where type == .decimal || type == .mixed: return .decimal(decimalSum)
            case .average where type == .decimal || type == .mixed:
                return count == 0 ? .null : .decimal(decimalSum.dividing(by: Decimal128(Int64(count))))
            case .sum:
                guard type == .int else { return .double(doubleSum) }
                guard let sum = Int64(exactly: intSum) else {
                    throw DatabaseError(
                        .overflow, "the sum of '\(name)' does not fit 64 bits; sum a double property or fewer rows",
                        propertyName: name)
                }
                return .int(sum)
            case .average:
                if count == 0 { return .null }
                return .double(type == .int ? Double(intSum) / Double(count) : doubleSum / Double(count))
            case .min, .max:
                if count == 0 { return .null }
                return extreme(operation == .min)
            }
        }

        private func extreme(_ isLeast: Bool) -> Value {
            switch form {
            case .int: .int(isLeast ? intLeast : intMost)
            case .float: .float(Float(isLeast ? doubleLeast : doubleMost))
            case .double: .double(isLeast ? doubleLeast : doubleMost)
            case .timestamp: (isLeast ? timeLeast : timeMost).map(Value.timestamp) ?? .null
            // Nothing else was added to these where the type has no totals.
            case .decimal, nil: (isLeast ? anyLeast : anyMost) ?? .null
            case .bool, .string, .data, .link, .identifier, .null, .list, .map: .null
            }
        }
    }
}
