/// The groups that a query asks for, as a tree of values: keys, aggregates, a condition on groups, their order.
///
///     GROUP(city, time BY month AS m) COUNT, AVG(age) AS age HAVING COUNT > 10 SORT(age DESC) LIMIT(5)
///
/// Columns are numbered: first the keys, then the aggregates. Those that only HAVING or SORT name come last and are not
/// shown.
import MotteColumns
import MotteSchemaModel
import MotteValues

package struct Grouping: Sendable, Equatable {
    package struct Key: Sendable, Equatable {
        package var path: Predicate.Path
        package var bucket: TimeBucket?
        /// Whose calendar it is; nil: UTC.
        package var zone: String?
        /// What the column is called; nil: as it is written.
        package var name: String?
        /// As it was written, in the names that the query used.
        package var text: String

        package init(
            _ path: Predicate.Path, by bucket: TimeBucket? = nil, zone: String? = nil, name: String? = nil
        ) {
            self.path = path
            self.bucket = bucket
            self.zone = zone
            self.name = name
            let place = zone.map { " IN " + PredicateText.describe(.string($0)) } ?? ""
            let ending = bucket.map { " BY " + $0.rawValue + place } ?? ""
            text = PredicateText.describe(path) + ending
            plainText = path.plainText + ending
        }

        package var title: String { name ?? plainText }
        private let plainText: String
    }

    package enum Function: Sendable, Equatable {
        /// Of objects, or with a path of values that are not null.
        case count
        /// How many different values.
        case distinct
        case sum, avg, min, max
        /// Of a sample.
        case variance, deviation
        case median
        /// Between 0 and 1.
        case percentile(Double)
    }

    package struct Aggregate: Sendable, Equatable {
        package var function: Function
        /// Only `count` does without.
        package var path: Predicate.Path?
        package var name: String?
        package var text: String
        package var position: SourcePosition

        package init(
            _ function: Function, _ path: Predicate.Path? = nil, name: String? = nil, position: SourcePosition = .none
        ) {
            self.function = function
            self.path = path
            self.name = name
            self.position = position
            text = function.text(path.map { PredicateText.describe($0) })
            plainText = function.text(path?.plainText)
        }

        package var title: String { name ?? plainText }
        private let plainText: String
    }

    package struct SortKey: Sendable, Equatable {
        package var column: Int
        package var isAscending: Bool

        package init(column: Int, isAscending: Bool) {
            self.column = column
            self.isAscending = isAscending
        }
    }

    package enum Clause: Sendable, Equatable {
        case sort([SortKey])
        case limit(Ordering.Limit)
        /// Without the first so many.
        case offset(Ordering.Limit)
    }

    package var keys: [Key] = []
    package var aggregates: [Aggregate] = []
    /// How many of the aggregates are columns of the outcome.
    package var shown = 0
    /// What holds for a group that stays. Its paths are columns: see `Predicate.Path.init(column:)`.
    package var having: Predicate?
    package var clauses: [Clause] = []

    package init() {}

    package init(_ keys: [Key], _ aggregates: [Aggregate]) {
        self.keys = keys
        self.aggregates = aggregates
        shown = aggregates.count
    }

    /// A group is more than this many keys or aggregates only by mistake.
    package static let mostKeys = 16
    package static let mostAggregates = 64

    /// The same with other paths: names of a program replaced by those of the file. Columns keep their names.
    package func mapPaths(_ change: (Predicate.Path) -> Predicate.Path) -> Grouping {
        var mapped = self
        for index in mapped.keys.indices { mapped.keys[index].path = change(keys[index].path) }
        for index in mapped.aggregates.indices { mapped.aggregates[index].path = aggregates[index].path.map(change) }
        return mapped
    }

    /// The first name that two of the shown columns have.
    package var repeatedTitle: String? {
        var seen: Set<NameKey> = []
        let titles = keys.map(\.title) + aggregates.prefix(shown).map(\.title)
        return titles.first { !seen.insert(NameKey($0)).inserted }
    }
}

extension Grouping.Function {
    /// As the words of queries; a percentile has an argument more.
    package static func named(_ word: String) -> Grouping.Function? {
        switch word.lowercased() {
        case "count": .count
        case "sum": .sum
        case "avg": .avg
        case "min": .min
        case "max": .max
        case "var": .variance
        case "stddev": .deviation
        case "median": .median
        case "percentile": .percentile(0)
        default: nil
        }
    }

    package var word: String {
        switch self {
        case .count, .distinct: "COUNT"
        case .sum: "SUM"
        case .avg: "AVG"
        case .min: "MIN"
        case .max: "MAX"
        case .variance: "VAR"
        case .deviation: "STDDEV"
        case .median: "MEDIAN"
        case .percentile: "PERCENTILE"
        }
    }

    func text(_ path: String?) -> String {
        guard let path else { return word }
        return switch self {
        case .distinct: "COUNT(DISTINCT \(path))"
        case .percentile(let fraction): "PERCENTILE(\(path), \(fraction))"
        default: "\(word)(\(path))"
        }
    }
}

extension Predicate.Path {
    /// A column of groups by its number, in the place of a path: a subscript of nothing, which no text makes.
    init(column: Int, position: SourcePosition) {
        self.init([], subscripts: [.index(column)], position: position)
    }

    var column: Int? {
        guard names.isEmpty, variable == nil, case .index(let column)? = subscripts.first else { return nil }
        return column
    }

    /// As a column is called: without backquotes.
    fileprivate var plainText: String {
        let isPlain = !names.isEmpty && subscripts.isEmpty && aspect == nil && collectionOperator == nil
        return isPlain ? names.map(\.text).joined(separator: ".") : PredicateText.describe(self)
    }
}
