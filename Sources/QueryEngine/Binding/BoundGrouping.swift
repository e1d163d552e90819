/// Groups that are ready to be made of any state of a file with the schema they were bound to.
import MotteColumns
import MotteSchemaModel
import MotteValues

package struct BoundGrouping: Sendable {
    package struct Key: Sendable {
        package let path: BoundPath
        package let bucket: TimeSpans?
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
        /// Columns in it are paths that end in columns with their numbers.
        case arithmetic(BoundExpression, ComparisonOperator, BoundExpression)
        case not(Condition)
        case and([Condition])
        case or([Condition])
    }

    package enum Step: Sendable {
        case sort([Grouping.SortKey])
        case limit(Int)
        case offset(Int)
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
            keys.append(.init(path: path, bucket: try spans(key)))
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
            case .offset(let written): steps.append(.offset(try count(written, "OFFSET")))
            }
        }
        return BoundGrouping(
            table: table, keys: keys, aggregates: aggregates, columns: columns,
            shownCount: grouping.keys.count + grouping.shown,
            having: try grouping.having.map { condition throws(DatabaseError) in
                try ofColumns(columns).bindHaving(condition)
            },
            steps: steps, text: PredicateText.describe(grouping, arguments: arguments))
    }

    private func spans(_ key: Grouping.Key) throws(DatabaseError) -> TimeSpans? {
        guard let bucket = key.bucket else { return nil }
        do throws(DatabaseError) {
            return try TimeSpans(bucket, zone: key.zone)
        } catch {
            throw failure(error.message, at: key.path.position, error.code)
        }
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

    // MARK: HAVING

    /// For conditions whose paths are these columns: each as if it were one of a class.
    private func ofColumns(_ columns: [BoundGrouping.Column]) -> Binder {
        var binder = self
        binder.resolver.columns = columns.enumerated().map { number, column in
            BoundPath(
                steps: [], end: .column(ColumnKey(UInt32(number)), column.type, isNullable: true), table: table,
                name: column.name, targetTable: column.target)
        }
        return binder
    }

    private func bindHaving(_ condition: Predicate) throws(DatabaseError) -> BoundGrouping.Condition {
        switch condition {
        case .constant(let value): return .constant(value)
        case .not(let inner): return .not(try bindHaving(inner))
        case .and(let parts): return .and(try bindHaving(parts))
        case .or(let parts): return .or(try bindHaving(parts))
        case .comparison(let comparison): return try bindHaving(comparison)
        }
    }

    private func bindHaving(_ parts: [Predicate]) throws(DatabaseError) -> [BoundGrouping.Condition] {
        var bound: [BoundGrouping.Condition] = []
        for part in parts { bound.append(try bindHaving(part)) }
        return bound
    }

    private func bindHaving(_ written: Predicate.Comparison) throws(DatabaseError) -> BoundGrouping.Condition {
        var comparison = written
        comparison.left = try computed(written.left)
        comparison.right = try computed(written.right)
        if comparison.left.isArithmetic || comparison.right.isArithmetic {
            return try BoundGrouping.Condition(try bindArithmetic(comparison))
        }
        switch (comparison.left, comparison.right) {
        case (.path(let left), .path(let right)):
            let (one, other) = (try resolve(left), try resolve(right))
            let test = try pairTest(comparison, one, other)
            let bound = BoundGrouping.Condition.columns(left.column ?? 0, test, right.column ?? 0)
            if case .text = test, comparison.operator == .notEqual { return .not(bound) }
            return bound
        case (.path(let column), let constant):
            return try bindHaving(column, comparison.operator, constant, comparison)
        case (let constant, .path(let column)):
            guard let mirrored = Self.mirrored(comparison.operator) else {
                throw failure("\(comparison.operator.text) needs its column on the left", at: comparison.position)
            }
            return try bindHaving(column, mirrored, constant, comparison)
        default: throw failure("one side of a comparison must be a column", at: comparison.position)
        }
    }

    private func bindHaving(
        _ column: Predicate.Path, _ sign: Predicate.Operator, _ constant: Predicate.Operand,
        _ comparison: Predicate.Comparison
    ) throws(DatabaseError) -> BoundGrouping.Condition {
        let test = try columnTest(
            try resolve(column), sign, constant, comparison.options, at: comparison.position)
        return .test(column.column ?? 0, test)
    }
}

extension BoundGrouping.Condition {
    /// Of what arithmetic is bound to.
    fileprivate init(_ predicate: BoundPredicate) throws(DatabaseError) {
        func all(_ parts: [BoundPredicate]) throws(DatabaseError) -> [BoundGrouping.Condition] {
            var conditions: [BoundGrouping.Condition] = []
            for part in parts { conditions.append(try BoundGrouping.Condition(part)) }
            return conditions
        }
        switch predicate {
        case .constant(let value): self = .constant(value)
        case .arithmetic(let left, let test, let right): self = .arithmetic(left, test, right)
        case .and(let parts): self = .and(try all(parts))
        case .or(let parts): self = .or(try all(parts))
        default: throw DatabaseError(.internal, "arithmetic of columns was bound to something else")
        }
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
