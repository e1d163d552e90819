/// Whether an index answers a part of a predicate, and the best of those that do.
///
/// Looked for among the parts of the outermost `and`: equality or IN on an indexed column, ranges of one (all parts
/// about the same column together), links to known objects (by their backlinks), paths to objects that an index finds,
/// and the objects themselves. Counts are read from the index, so the choice is made on what is there.
import MotteColumns
import MotteStorage
import MotteValues

enum IndexChoice {
    /// Fewer rows than this are always fetched by key.
    static let few = 64
    /// Fetching a row by key costs about as much as scanning this many.
    private static let scanAdvantage = 4
    /// Paths are followed backwards from at most this many objects.
    private static let mostTargets = 256
    /// A second index narrows what the first gives where it has at most so many times as many keys: reading these costs
    /// less than looking at rows all over the class.
    private static let narrowingAdvantage = 16

    /// nil where scanning is better. `wanted` is how many of the first matches are enough; `isCount`: only how many
    /// there are.
    static func choose(
        _ predicate: BoundPredicate, _ view: TableView, _ source: RowSource, wanted: Int? = nil, isCount: Bool = false
    ) throws(DatabaseError) -> IndexAccess? {
        guard let access = try cheapest(predicate, view, source, isCount: isCount) else { return nil }
        if let wanted, try scanFinds(wanted, predicate, before: access, view, source) { return nil }
        return access
    }

    /// Whether a scan meets so many matches before an index has given all of its keys. Of few keys it is not asked.
    private static func scanFinds(
        _ wanted: Int, _ predicate: BoundPredicate, before access: IndexAccess, _ view: TableView, _ source: RowSource
    ) throws(DatabaseError) -> Bool {
        guard access.count > manyKeys, wanted < access.count / scanAdvantage else { return false }
        let fraction = Estimator(source).fraction(predicate, of: view.key)
        guard fraction > 0 else { return false }
        // Matches may lie closer together behind than in front.
        return Double(wanted) / fraction * Double(scanAdvantage) < Double(access.count)
    }

    /// Reading and sorting more keys than this takes longer than looking at statistics.
    private static let manyKeys = 4_096

    private static func cheapest(
        _ predicate: BoundPredicate, _ view: TableView, _ source: RowSource, isCount: Bool
    ) throws(DatabaseError) -> IndexAccess? {
        var parts = [predicate]
        if case .and(let inner) = predicate { parts = inner }
        var best: (access: Found, index: Int)?
        var others: [(access: Found, index: Int)] = []
        for (index, part) in parts.enumerated() {
            // Following links backwards takes a look-up for each object they lead to.
            if let best, best.access.count <= few * scanAdvantage, !best.access.isBacklinks, followsLinks(part) {
                continue
            }
            guard let found = try find(part, view, source) else { continue }
            guard found.count < best?.access.count ?? .max else {
                others.append((found, index))
                continue
            }
            if let best { others.append(best) }
            best = (found, index)
            if found.count == 0 { break }
        }
        if best?.access.count != 0 {
            let ranges = [try rangeAccess(parts, view, source), try declaredAccess(parts, view, source)]
                .compactMap { $0 }
            if let range = ranges.min(by: { $0.count < $1.count }), range.count < best?.access.count ?? .max {
                return range
            }
        }
        guard let best else { return nil }
        var rest = parts
        // Where values only share what the index keeps of them, the rows are looked at.
        if best.access.isExact { rest.remove(at: best.index) }
        // Without anything left to test a count needs no keys at all, so an index always wins then; and testing where
        // links lead takes longer than reading who links.
        let isDirect = rest.isEmpty && (isCount || best.access.isBacklinks)
        guard isDirect || best.access.count <= few || best.access.count * scanAdvantage <= view.liveCount else {
            return nil
        }
        // Keys that had to be read already cost little more.
        let perKey = best.access.known == nil ? CostEstimate.perKey(best.access.source) : CostEstimate.perKey / 2
        guard rest.isEmpty || CostEstimate.pays(best.access.count, perKey, inPlaceOf: [parts[best.index]], view) else {
            return nil
        }
        if best.access.count > few, best.access.known == nil, best.access.targets == nil,
            let second = others.min(by: { $0.access.count < $1.access.count }), second.access.known == nil,
            second.access.targets == nil,
            second.access.count <= min(best.access.count * narrowingAdvantage, view.liveCount / scanAdvantage),
            CostEstimate.pays(second.access.count, CostEstimate.perCommonKey, inPlaceOf: [parts[second.index]], view)
        {
            return narrowed(parts, best, second, view, source)
        }
        return IndexAccess(
            source: best.access.source, count: best.access.count, countIsExact: best.access.countIsExact,
            rest: Self.conjunction(rest), text: PlanText.text(parts[best.index]), targets: best.access.targets,
            known: best.access.known)
    }

    private static func followsLinks(_ part: BoundPredicate) -> Bool {
        switch part {
        case .comparison(_, let inner): followsLinks(inner)
        case .link, .anyObject: true
        default: false
        }
    }

    /// By two indexes.
    private static func narrowed(
        _ parts: [BoundPredicate], _ first: (access: Found, index: Int), _ second: (access: Found, index: Int),
        _ view: TableView, _ source: RowSource
    ) -> IndexAccess {
        let both = [parts[first.index], parts[second.index]]
        let fraction = Estimator(source).fractions(both, of: view.key)[1]
        let expected = min(first.access.count, Int((fraction * Double(view.liveCount)).rounded()))
        var rest: [BoundPredicate] = []
        for (index, part) in parts.enumerated() {
            if index == first.index, first.access.isExact { continue }
            if index == second.index, second.access.isExact { continue }
            rest.append(part)
        }
        return IndexAccess(
            source: .both(first.access.source, second.access.source), count: max(1, expected), countIsExact: false,
            rest: conjunction(rest), text: both.map { PlanText.text($0) }.joined(separator: " AND "), known: nil)
    }

    private static func conjunction(_ parts: [BoundPredicate]) -> BoundPredicate {
        parts.isEmpty ? .constant(true) : parts.count == 1 ? parts[0] : .and(parts)
    }

    // MARK: Ranges

    /// Keys of a range come by value and have to be sorted, and a column is scanned fast.
    private static let rangeAdvantage = 32

    /// What the parts ask of one column together, and which parts they are.
    private struct ColumnRange {
        let column: ColumnKey
        var range: IndexRange
        var parts: [Int]
    }

    private static func columnRanges(
        _ parts: [BoundPredicate], _ view: TableView
    ) -> [ColumnRange] {
        var found: [ColumnRange] = []
        for (index, part) in parts.enumerated() {
            var inner = part
            if case .comparison(_, let compared) = part { inner = compared }
            guard case .column(let column, let type, let test) = inner, view.hasIndex(column),
                let range = IndexRange.make(test, type)
            else { continue }
            if let known = found.firstIndex(where: { $0.column == column }) {
                found[known].range = found[known].range.intersection(range)
                found[known].parts.append(index)
            } else {
                found.append(ColumnRange(column: column, range: range, parts: [index]))
            }
        }
        return found
    }

    /// The range with the fewest keys, if they are few enough.
    private static func rangeAccess(
        _ parts: [BoundPredicate], _ view: TableView, _ source: RowSource
    ) throws(DatabaseError) -> IndexAccess? {
        var best: IndexAccess?
        for candidate in columnRanges(parts, view) {
            let most = min(max(few, view.liveCount / rangeAdvantage), best.map { $0.count - 1 } ?? .max)
            let ranges = candidate.range.ranges
            guard most >= 0, let count = try view.indexCount(candidate.column, in: ranges, most: most), count <= most
            else { continue }
            let answered = candidate.parts.map { parts[$0] }
            guard
                CostEstimate.pays(count, CostEstimate.perSortedKey, inPlaceOf: answered, view)
                    || liesTogether(candidate.column, view, source)
            else { continue }
            let isExact = candidate.range.isExact
            let rest = parts.indices.filter { !isExact || !candidate.parts.contains($0) }.map { parts[$0] }
            best = IndexAccess(
                source: .ranges(candidate.column, ranges), count: count, countIsExact: isExact,
                rest: conjunction(rest),
                text: answered.map { PlanText.text($0) }.joined(separator: " AND "), known: nil)
        }
        return best
    }

    /// Whether the rows of a range follow one another, as those of a day do where rows came day by day: their keys are
    /// in order, and the other row groups are not looked at.
    private static func liesTogether(_ column: ColumnKey, _ view: TableView, _ source: RowSource) -> Bool {
        Estimator(source).column(column, of: view.key)?.statistics.isAscending == true
    }

    /// How many objects pass, where ranges of one column say that alone; nil where looking at rows is the better way.
    static func countInRanges(_ predicate: BoundPredicate, _ view: TableView) throws(DatabaseError) -> Int? {
        var parts = [predicate]
        if case .and(let inner) = predicate { parts = inner }
        for asked in OrderedQuestions.all(parts, view) where Set(asked.parts).count == parts.count {
            if let estimate = try asked.estimate(view), estimate.isCounted, estimate.isExact { return estimate.rows }
        }
        guard let only = columnRanges(parts, view).first, only.range.isExact, only.parts.count == parts.count else {
            return nil
        }
        let most = view.liveCount / 2
        guard let count = try view.indexCount(only.column, in: only.range.ranges, most: most), count <= most else {
            return nil
        }
        return count
    }

    // MARK: Indexes that are declared with the class and keep order

    /// The one with the fewest keys, if they are few enough.
    private static func declaredAccess(
        _ parts: [BoundPredicate], _ view: TableView, _ source: RowSource
    ) throws(DatabaseError) -> IndexAccess? {
        var best: IndexAccess?
        for asked in OrderedQuestions.all(parts, view) {
            let rest = parts.indices.filter { !asked.parts.contains($0) }.map { parts[$0] }
            // Of one value the keys are in order, and where nothing is left to test a count needs none.
            let isDirect = asked.isEquality && rest.isEmpty
            let share = isDirect ? 1 : asked.isEquality ? scanAdvantage : rangeAdvantage
            let most = min(max(few, view.liveCount / share), best.map { $0.count - 1 } ?? .max)
            guard most >= 0, let estimate = try asked.estimate(view, most: most), estimate.rows <= most else {
                continue
            }
            let answered = asked.parts.map { parts[$0] }
            let isInOrder = asked.isEquality && asked.questions.count == 1
            let perKey = isInOrder ? CostEstimate.perKey : CostEstimate.perSortedKey
            guard
                isDirect || CostEstimate.pays(estimate.rows, perKey, inPlaceOf: answered, view)
                    || asked.fixed == 0 && liesTogether(asked.index.columns[0].key, view, source)
            else { continue }
            best = IndexAccess(
                source: .declared(asked.index, asked.questions), count: estimate.rows,
                countIsExact: estimate.isCounted && estimate.isExact,
                rest: estimate.isExact ? conjunction(rest) : conjunction(parts),
                text: answered.map { PlanText.text($0) }.joined(separator: " AND "), known: nil)
        }
        return best
    }

    // MARK: Single parts

    private struct Found {
        var source: IndexAccess.Source
        var count: Int
        var countIsExact: Bool
        var known: [Int64]?
        var targets: (step: PathStep, predicate: BoundPredicate, count: Int)?
        /// False where there may be keys of objects that do not pass.
        var isExact = true

        var isBacklinks: Bool { if case .backlinks = source { true } else { false } }
    }

    private static func find(
        _ part: BoundPredicate, _ view: TableView, _ source: RowSource
    ) throws(DatabaseError) -> Found? {
        switch part {
        case .comparison(_, let inner): return try find(inner, view, source)
        case .object(let keys): return Found(source: .objects(keys), count: keys.count, countIsExact: false)
        case .column(let column, .link, let test):
            guard let keys = targets(test), keys.count <= mostTargets else { return nil }
            return try backlinks(.link, column, keys, view, source)
        case .column(let column, let type, let test):
            guard let values = test.equalValues(type) else { return nil }
            return view.hasIndex(column) ? try count(view, column, values) : try declared(view, column, values)
        case .link(let step, let inner, nullPasses: false):
            guard let keys = try targets(step, inner, view, source) else { return nil }
            var found = try backlinks(step, keys, source)
            found.targets = (step, inner, keys.count)
            return found
        case .anyObject(let step, .object(let keys)) where step.kind == .list && keys.count <= mostTargets:
            return try backlinks(step, keys, source)
        default: return nil
        }
    }

    /// The objects behind a link that pass, where they are few: by an index, or by looking at their class where that
    /// is smaller than this one and few are expected.
    private static func targets(
        _ step: PathStep, _ inner: BoundPredicate, _ view: TableView, _ source: RowSource
    ) throws(DatabaseError) -> [Int64]? {
        let target = try source.table(step.target)
        let access = try choose(inner, target, source)
        if let access, case .constant(true) = access.rest {
            return access.count <= mostTargets ? try access.keys(target, source) : nil
        }
        // Looked at once more by the test of links where there turn out to be many.
        let rows = access?.count ?? target.liveCount
        guard rows * scanAdvantage <= view.liveCount else { return nil }
        let expected = Estimator(source).fraction(inner, of: step.target) * Double(target.liveCount)
        guard expected <= Double(mostTargets / 2) else { return nil }
        let run = try SelectionRun(
            RunContext(source), step.target, access: access, rest: access?.rest ?? inner, visits: rows)
        var keys: [Int64] = []
        try run.forEachRowGroup { rows, words in
            Selection.appendKeys(words, rows: rows.rowCount, first: rows.firstKey, to: &keys)
            return keys.count <= mostTargets
        }
        return keys.count <= mostTargets ? keys : nil
    }

    private static func targets(_ test: ColumnTest) -> [Int64]? {
        switch test {
        case .int(.equal, let key), .link(.equal, let key): return [key]
        case .intSet(let keys): return keys
        case .any(let tests):
            var keys: [Int64] = []
            for test in tests {
                guard let more = targets(test) else { return nil }
                keys += more
            }
            return keys
        default: return nil
        }
    }

    private static func backlinks(
        _ kind: PathStep.Kind, _ column: ColumnKey, _ keys: [Int64], _ view: TableView, _ source: RowSource
    ) throws(DatabaseError) -> Found? {
        guard let target = view.layout.columns[try view.layout.slot(column)].target else { return nil }
        let step = PathStep(kind: kind, origin: view.key, target: target, column: column, name: "")
        return try backlinks(step, keys, source)
    }

    private static func backlinks(
        _ step: PathStep, _ given: [Int64], _ source: RowSource
    ) throws(DatabaseError) -> Found {
        // The same target twice would count its objects twice.
        let keys = given.ascending
        let target = try source.table(step.target)
        let count = try target.backlinkCount(origin: step.origin, step.column, of: keys)
        return Found(source: .backlinks(step, keys), count: count, countIsExact: step.kind == .link)
    }

    /// By an index that is declared with the class and begins with the column.
    private static func declared(
        _ view: TableView, _ column: ColumnKey, _ values: [Value]
    ) throws(DatabaseError) -> Found? {
        var best: Found?
        for index in view.usableDeclaredIndexes
        where index.columns.first?.key == column && index.collection == nil && index.capabilities.contains(.equality)
            && index.folding(0).isEmpty
        {
            let questions = values.map { IndexQuestion.equal([$0]) }
            var found = Found(source: .declared(index, questions), count: 0, countIsExact: true)
            var isAnswered = true
            for question in questions {
                guard let estimate = try view.estimate(index, question) else {
                    isAnswered = false
                    break
                }
                found.count += estimate.rows
                found.countIsExact = found.countIsExact && estimate.isCounted && estimate.isExact
                found.isExact = found.isExact && estimate.isExact
            }
            if isAnswered, found.count < best?.count ?? .max { best = found }
        }
        return best
    }

    private static func count(
        _ view: TableView, _ column: ColumnKey, _ values: [Value]
    ) throws(DatabaseError) -> Found {
        var exact = true
        let type = view.layout.columns[try view.layout.slot(column)].type
        for value in values where !value.withView({ IndexValue($0, of: type).isExact }) { exact = false }
        guard exact else {
            var keys: [Int64] = []
            try lookUp(view, column, values, into: &keys)
            return Found(source: .column(column, values), count: keys.count, countIsExact: true, known: keys)
        }
        var count = 0
        for value in values {
            count += try value.withView { value throws(DatabaseError) in
                try view.indexCount(column, equal: value) ?? 0
            }
        }
        return Found(source: .column(column, values), count: count, countIsExact: true)
    }

    static func lookUp(
        _ view: TableView, _ column: ColumnKey, _ values: [Value], into keys: inout [Int64]
    ) throws(DatabaseError) {
        for value in values {
            var found: [Int64] = []
            try value.withView { value throws(DatabaseError) in try view.indexKeys(column, equal: value, into: &found) }
            keys += found
        }
    }
}
