/// About which part of a class passes a predicate, from the sampled rows of its columns (`TableSample`).
///
/// Tests of columns run over the sample itself, so that whatever can be tested can be estimated, and parts of an `and`
/// are counted together. What a sample cannot answer (collections, places, totals) is supposed. Links are followed to
/// the sample of their class. Nothing here fails a query: what cannot be read is supposed too.
import MotteColumns
import MotteSchemaModel
import MotteStorage
import MotteValues

package struct Estimator {
    private let source: RowSource
    /// Without what takes long to estimate: arithmetic, row by row.
    private let isQuick: Bool

    package init(_ source: RowSource, isQuick: Bool = false) {
        self.source = source
        self.isQuick = isQuick
    }

    /// A part of the sampled rows, and a part of those that have nothing to do with each other.
    struct Share {
        /// nil: all of them.
        fileprivate var rows: SampledRows?
        fileprivate var factor = 1.0

        var fraction: Double { (rows?.fraction ?? 1) * factor }
    }

    // MARK: What is asked

    /// The sample of a class; nil where it cannot be read, as in a damaged file, and the query will say so itself.
    func sample(_ table: TableKey) -> TableSample? {
        do throws(DatabaseError) { return try source.table(table).sample() } catch { return nil }
    }

    func column(_ column: ColumnKey, of table: TableKey) -> ColumnSample? {
        do throws(DatabaseError) {
            let view = try source.table(table)
            return try view.sample().column(column, view)
        } catch {
            return nil
        }
    }

    package func fraction(_ predicate: BoundPredicate, of table: TableKey) -> Double {
        share(predicate, table).fraction
    }

    /// Of the parts of an `and`, one after another, what passes each together with those before it.
    func fractions(_ parts: [BoundPredicate], of table: TableKey) -> [Double] {
        var all = Share()
        return parts.map { part in
            all = Self.both(all, share(part, table))
            return all.fraction
        }
    }

    /// About how many different combinations of values there are, nulls together as one, among `rows` of the class.
    func combinations(_ paths: [BoundPath], rows: Double) -> Double {
        var product = 1.0
        for path in paths {
            guard case .column(let key, let type, _) = path.end, let column = column(key, of: path.table) else {
                if case .object = path.end { product *= rows } else { product *= max(1, rows / 10) }
                continue
            }
            let values = Double(column.statistics.distinctCount) + (column.statistics.nullFraction > 0 ? 1 : 0)
            product *= max(1, type == .bool ? min(values, 3) : values)
        }
        guard rows > 0 else { return 0 }
        // Of so many equally frequent ones so many are met.
        return min(rows, product * (1 - exponential(-rows / product)))
    }

    private func exponential(_ exponent: Double) -> Double {
        // e^x for x <= 0 as (e^(x/1024))^1024: near enough, and without a library of mathematics.
        if exponent < -700 { return 0 }
        let small = exponent / 1_024
        var value = 1 + small + small * small / 2
        for _ in 0 ..< 10 { value *= value }
        return value
    }

    // MARK: Predicates

    func share(_ predicate: BoundPredicate, _ table: TableKey) -> Share {
        switch predicate {
        case .constant(let value): return value ? Share() : Share(rows: nil, factor: 0)
        case .comparison(_, let inner): return share(inner, table)
        case .column(let key, _, let test): return share(key, test, table)
        case .object(let keys):
            let live = sample(table)?.liveCount ?? 0
            return Share(factor: live > 0 ? min(1, Double(keys.count) / Double(live)) : 0)
        case .link(let step, let inner, let nullPasses):
            let nulls = column(step.column, of: table)?.statistics.nullFraction ?? 0
            let passing = fraction(inner, of: step.target)
            return Share(factor: (1 - nulls) * passing + (nullPasses ? nulls : 0))
        case .not(let inner): return Self.negated(share(inner, table))
        case .and(let parts):
            return parts.reduce(Share()) { Self.both($0, share($1, table)) }
        case .or(let parts):
            // Neither of them fails: not (not a and not b).
            return Self.negated(parts.reduce(Share()) { Self.both($0, Self.negated(share($1, table))) })
        case .arithmetic(let left, let test, let right):
            if isQuick { return Share(factor: Supposed.other) }
            let read: (BoundPath) -> ColumnSample? = { path in
                guard path.steps.isEmpty, case .column(let key, _, _) = path.end else { return nil }
                return column(key, of: table)
            }
            guard let rows = SampledRows.arithmetic(left, test, right, sample(table), read) else {
                return Share(factor: Supposed.other)
            }
            return share(rows, table, ifNone: nil)
        case .paths(_, .compare(.equal), _): return Share(factor: Supposed.equal)
        case .anyElement, .anyKey, .access, .anyObject, .aggregate, .geo, .paths: return Share(factor: Supposed.other)
        }
    }

    /// Shares that nothing is known of.
    private enum Supposed {
        static let equal = 0.05
        static let other = 0.3
    }

    private func share(_ key: ColumnKey, _ test: ColumnTest, _ table: TableKey) -> Share {
        guard let column = column(key, of: table) else { return Share(factor: Supposed.other) }
        var one: Double?
        if let values = test.asEqualities, column.statistics.distinctCount > 0 {
            one = Double(values) * (1 - column.statistics.nullFraction) / Double(column.statistics.distinctCount)
        }
        return share(SampledRows(column.chunk, test), table, ifNone: one)
    }

    /// `ifNone`: what share to suppose where too few of the rows pass to say.
    private func share(_ rows: SampledRows, _ table: TableKey, ifNone: Double?) -> Share {
        let few = 4
        guard rows.passing < few, let sample = sample(table), !sample.isWhole, rows.count > 0 else {
            return Share(rows: rows)
        }
        let counted = (Double(rows.passing) + 0.5) / Double(rows.count)
        return Share(factor: min(counted, max(Double(rows.passing) / Double(rows.count), ifNone ?? counted)))
    }

    private static func both(_ left: Share, _ right: Share) -> Share {
        var both = Share(rows: left.rows ?? right.rows, factor: left.factor * right.factor)
        if let one = left.rows, let other = right.rows { both.rows = one.and(other) }
        return both
    }

    private static func negated(_ share: Share) -> Share {
        if share.factor == 1, let rows = share.rows { return Share(rows: rows.negated) }
        return Share(factor: 1 - share.fraction)
    }
}

/// Which rows of a sample pass.
struct SampledRows {
    private var words: [UInt64]
    let count: Int
    let passing: Int

    var fraction: Double { count == 0 ? 0 : Double(passing) / Double(count) }

    private init(_ words: [UInt64], _ count: Int) {
        self.words = words
        self.count = count
        passing = Selection.count(words, rows: count)
    }

    init(_ chunk: ColumnChunk, _ test: ColumnTest) {
        var words = [UInt64](repeating: 0, count: Selection.wordCount(chunk.count) + 1)
        words.withUnsafeMutableBufferPointer { buffer in
            if let base = buffer.baseAddress, chunk.count > 0 { test.select(chunk, into: base) }
        }
        self.init(words, chunk.count)
    }

    /// Columns that were sampled at different times may differ in their rows.
    func and(_ other: SampledRows) -> SampledRows {
        let count = min(count, other.count)
        return SampledRows(zip(words, other.words).map { $0 & $1 }, count)
    }

    var negated: SampledRows {
        var words = words.map { ~$0 }
        words.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            Selection.trim(base, rows: count)
        }
        return SampledRows(words, count)
    }

    /// nil where a path leads over links.
    static func arithmetic(
        _ left: BoundExpression, _ test: ComparisonOperator, _ right: BoundExpression, _ sample: TableSample?,
        _ column: (BoundPath) -> ColumnSample?
    ) -> SampledRows? {
        guard let sample else { return nil }
        var isKnown = true
        var words = [UInt64](repeating: 0, count: Selection.wordCount(sample.keys.count) + 1)
        for row in sample.keys.indices {
            let read: (BoundPath) -> ValueView = { path in
                guard let values = column(path) else {
                    isKnown = false
                    return .null
                }
                return row < values.chunk.count ? values.chunk.view(row) : .null
            }
            let one = left.value(read), other = right.value(read)
            guard isKnown else { return nil }
            if ValueComparison.holds(test, one.view, other.view) { words[row >> 6] |= 1 << UInt64(row & 63) }
        }
        return SampledRows(words, sample.keys.count)
    }
}

extension ColumnTest {
    /// How many values the test wants a column to equal one of; nil where it asks for something else.
    fileprivate var asEqualities: Int? {
        switch self {
        case .int(.equal, _), .text(.equal, _), .timestamp(.equal, _), .double(.equal, _), .value(.equal, _),
            .link(.equal, _):
            return 1
        case .intSet(let values): return values.count
        case .textSet(let values): return values.count
        case .valueSet(let values): return values.count
        case .any(let tests):
            var sum = 0
            for test in tests {
                guard let one = test.asEqualities else { return nil }
                sum += one
            }
            return sum
        default: return nil
        }
    }
}
