/// Groups that are ready to be made of any state of a file with the schema they were bound to.
import MotteColumns
import MotteSchemaModel
import MotteValues

package struct BoundGrouping: Sendable {
    package struct Key: Sendable {
        package let path: BoundPath
        package let bucket: TimeBucket?
    }

    package struct Aggregate: Sendable {
        package let function: Grouping.Function
        /// nil counts objects.
        package let path: BoundPath?
        /// For messages.
        package let text: String
    }

    /// What the values of a column are.
    package struct Column: Sendable, Equatable {
        package let name: String
        package let type: PropertyType
        package let isNullable: Bool
        /// The class of links.
        package let target: TableKey?
        package let isKey: Bool
    }

    package indirect enum Condition: Sendable {
        case constant(Bool)
        case test(Int, ColumnTest)
        case columns(Int, PairTest, Int)
        case not(Condition)
        case and([Condition])
        case or([Condition])
    }

    package enum Step: Sendable {
        case sort([Grouping.SortKey])
        case limit(Int)
    }

    package let table: TableKey
    package let keys: [Key]
    package let aggregates: [Aggregate]
    /// Of keys and aggregates, also of those that are not shown.
    package let columns: [Column]
    package let shownCount: Int
    package let having: Condition?
    package let steps: [Step]
    /// With arguments filled in.
    package let text: String

    package var shownColumns: ArraySlice<Column> { columns[..<shownCount] }

    /// `parsed` has groups.
    package static func bind(
        _ parsed: ParsedQuery, table: TableKey, schema: Schema, arguments: Arguments = Arguments()
    ) throws(DatabaseError) -> BoundGrouping {
        guard let grouping = parsed.grouping else {
            throw DatabaseError(
                .queryInvalid, "the query has no groups; they are asked for as in GROUP(city) COUNT, AVG(age)")
        }
        if let name = grouping.repeatedTitle {
            throw DatabaseError(.queryInvalid, "two columns of the groups are called '\(name)'; name one with AS")
        }
        guard !grouping.keys.isEmpty || !grouping.aggregates.isEmpty else {
            throw DatabaseError(.queryInvalid, "groups need a key or an aggregate")
        }
        let resolver = PathResolver(schema: schema, source: parsed.source, arguments: arguments)
        _ = try resolver.type(table)
        let binder = Binder(resolver: resolver, table: table, arguments: arguments)
        return try binder.bind(grouping)
    }
}

extension Binder {
    fileprivate func bind(_ grouping: Grouping) throws(DatabaseError) -> BoundGrouping {
        var columns: [BoundGrouping.Column] = []
        var keys: [BoundGrouping.Key] = []
        for key in grouping.keys {
            let path = try singlePath(key.path, "group")
            if let bucket = key.bucket, path.type != .timestamp {
                throw failure(
                    "\(path.name) is \(path.type.name); BY \(bucket.rawValue) is for timestamps",
                    at: key.path.position)
            }
            keys.append(.init(path: path, bucket: key.bucket))
            columns.append(
                .init(
                    name: key.title, type: path.type, isNullable: path.mayBeNull,
                    target: path.type == .link ? path.targetTable : nil, isKey: true))
        }
        var aggregates: [BoundGrouping.Aggregate] = []
        for aggregate in grouping.aggregates {
            var path: BoundPath?
            if let written = aggregate.path { path = try singlePath(written, "aggregate") }
            columns.append(try column(aggregate, path))
            aggregates.append(.init(function: aggregate.function, path: path, text: aggregate.text))
        }
        var steps: [BoundGrouping.Step] = []
        for clause in grouping.clauses {
            switch clause {
            case .sort(let keys):
                for key in keys where columns[key.column].type == .link {
                    throw failure(
                        "cannot sort by '\(columns[key.column].name)': objects have no order", at: .none)
                }
                steps.append(.sort(keys))
            case .limit(let written): steps.append(.limit(try count(written, "LIMIT")))
            }
        }
        return BoundGrouping(
            table: table, keys: keys, aggregates: aggregates, columns: columns,
            shownCount: grouping.keys.count + grouping.shown,
            having: try grouping.having.map { condition throws(DatabaseError) in try bind(condition, columns) },
            steps: steps, text: PredicateText.describe(grouping, arguments: arguments))
    }

    /// What an aggregate gives; throws where its values have none.
    private func column(
        _ aggregate: Grouping.Aggregate, _ path: BoundPath?
    ) throws(DatabaseError) -> BoundGrouping.Column {
        func made(_ type: PropertyType, isNullable: Bool) -> BoundGrouping.Column {
            .init(name: aggregate.title, type: type, isNullable: isNullable, target: nil, isKey: false)
        }
        guard let path else { return made(.int, isNullable: false) }
        let type = path.type
        let isNumber = type.isNumeric || type == .mixed
        let fits: Bool
        let column: BoundGrouping.Column
        switch aggregate.function {
        case .count, .distinct: (fits, column) = (true, made(.int, isNullable: false))
        case .min, .max: (fits, column) = (type != .link, made(type, isNullable: true))
        case .sum:
            fits = isNumber
            column = made(
                type == .int ? .int : type == .decimal || type == .mixed ? .decimal : .double, isNullable: false)
        case .avg:
            (fits, column) = (isNumber, made(type == .decimal || type == .mixed ? .decimal : .double, isNullable: true))
        case .variance, .deviation, .median, .percentile: (fits, column) = (isNumber, made(.double, isNullable: true))
        }
        guard fits else {
            throw failure(
                "\(path.name) is \(type.name), which \(aggregate.function.word) does not work on",
                at: aggregate.position)
        }
        return column
    }

    private func bind(
        _ condition: Grouping.Condition, _ columns: [BoundGrouping.Column]
    ) throws(DatabaseError) -> BoundGrouping.Condition {
        switch condition {
        case .constant(let value): return .constant(value)
        case .not(let inner): return .not(try bind(inner, columns))
        case .and(let parts): return .and(try bind(parts, columns))
        case .or(let parts): return .or(try bind(parts, columns))
        case .comparison(let comparison):
            let left = path(columns[comparison.column])
            switch comparison.right {
            case .operand(let operand):
                return .test(
                    comparison.column,
                    try columnTest(
                        left, comparison.operator, operand, comparison.options, at: comparison.position))
            case .column(let other):
                // The sides are bound already.
                let written = Predicate.Comparison(
                    .list([]), comparison.operator, .list([]), options: comparison.options,
                    position: comparison.position)
                let test = try pairTest(written, left, path(columns[other]))
                let bound = BoundGrouping.Condition.columns(comparison.column, test, other)
                if case .text = test, comparison.operator == .notEqual { return .not(bound) }
                return bound
            }
        }
    }

    private func bind(
        _ parts: [Grouping.Condition], _ columns: [BoundGrouping.Column]
    ) throws(DatabaseError) -> [BoundGrouping.Condition] {
        var bound: [BoundGrouping.Condition] = []
        for part in parts { bound.append(try bind(part, columns)) }
        return bound
    }

    /// A column of groups as if it were one of a class: conditions are the same.
    private func path(_ column: BoundGrouping.Column) -> BoundPath {
        BoundPath(
            steps: [], end: .column(ColumnKey(0), column.type, isNullable: true), table: table, name: column.name,
            targetTable: column.target)
    }
}

extension BoundPath {
    fileprivate var mayBeNull: Bool {
        if !steps.isEmpty { return true }
        switch end {
        case .column(_, let type, let isNullable): return isNullable || type == .mixed
        case .elements, .keys, .access: return true
        case .object: return false
        }
    }
}
