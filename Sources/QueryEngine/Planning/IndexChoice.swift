/// Whether an index answers a part of a predicate, and the best of those that do.
///
/// Looked for among the parts of the outermost `and`: equality or IN on an indexed column, ranges of one (all parts
/// about the same column together), links to known objects (by their backlinks), paths to objects that an index finds,
/// and the objects themselves. Counts are read from the index, so the choice is made on what is there.
import MotteColumns
import MotteStorage
import MotteValues

struct IndexAccess {
    enum Source {
        case objects([Int64])
        case column(ColumnKey, [Value])
        /// What an index that is declared with the class answers.
        case declared(TableIndex, [IndexQuestion])
        /// What its index has between some bounds.
        case ranges(ColumnKey, [ClosedRange<UInt64>])
        /// The objects whose link column points to one of these.
        case backlinks(PathStep, [Int64])
    }

    let source: Source
    /// How many keys it gives; more than there are objects where one links twice.
    let count: Int
    let countIsExact: Bool
    /// What is left to test.
    let rest: BoundPredicate
    let text: String
    /// Keys that the choice had to read already.
    fileprivate let known: [Int64]?

    /// Ascending, each once.
    func keys(_ view: TableView, _ source: RowSource) throws(DatabaseError) -> [Int64] {
        var keys: [Int64] = []
        if let known {
            keys = known
        } else {
            switch self.source {
            case .objects(let objects): keys = objects
            case .column(let column, let values): try IndexChoice.lookUp(view, column, values, into: &keys)
            case .declared(let index, let questions):
                for question in questions { try view.keys(index, question, into: &keys) }
            case .ranges(let column, let ranges): try view.indexKeys(column, in: ranges, into: &keys)
            case .backlinks(let step, let targets):
                let target = try source.table(step.target)
                for key in targets {
                    try target.backlinks(origin: step.origin, step.column, ObjectKey(key), into: &keys)
                }
            }
        }
        if case .objects = self.source {
            var live: [Int64] = []
            for key in keys where try view.locate(ObjectKey(key)) != nil { live.append(key) }
            return live
        }
        return keys.ascending
    }
}

enum IndexChoice {
    /// Fewer rows than this are always fetched by key.
    private static let few = 64
    /// Fetching a row by key costs about as much as scanning this many.
    private static let scanAdvantage = 4
    /// Paths are followed backwards from at most this many objects.
    private static let mostTargets = 256

    /// nil where scanning is better.
    static func choose(
        _ predicate: BoundPredicate, _ view: TableView, _ source: RowSource
    ) throws(DatabaseError) -> IndexAccess? {
        var parts = [predicate]
        if case .and(let inner) = predicate { parts = inner }
        var best: (access: Found, index: Int)?
        for (index, part) in parts.enumerated() {
            guard let found = try find(part, view, source), found.count < best?.access.count ?? .max else { continue }
            best = (found, index)
            if found.count == 0 { break }
        }
        if best?.access.count != 0 {
            let ranges = [try rangeAccess(parts, view), try declaredAccess(parts, view)].compactMap { $0 }
            if let range = ranges.min(by: { $0.count < $1.count }), range.count < best?.access.count ?? .max {
                return range
            }
        }
        guard let best else { return nil }
        var rest = parts
        // Where values only share what the index keeps of them, the rows are looked at.
        if best.access.isExact { rest.remove(at: best.index) }
        // Without anything left to test a count needs no keys at all, so an index always wins then.
        guard rest.isEmpty || best.access.count <= few || best.access.count * scanAdvantage <= view.liveCount else {
            return nil
        }
        return IndexAccess(
            source: best.access.source, count: best.access.count, countIsExact: best.access.countIsExact,
            rest: Self.conjunction(rest), text: PlanText.text(parts[best.index]), known: best.access.known)
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
        _ parts: [BoundPredicate], _ view: TableView
    ) throws(DatabaseError) -> IndexAccess? {
        var best: IndexAccess?
        for candidate in columnRanges(parts, view) {
            let most = min(max(few, view.liveCount / rangeAdvantage), best.map { $0.count - 1 } ?? .max)
            let ranges = candidate.range.ranges
            guard most >= 0, let count = try view.indexCount(candidate.column, in: ranges, most: most), count <= most
            else { continue }
            let isExact = candidate.range.isExact
            let rest = parts.indices.filter { !isExact || !candidate.parts.contains($0) }.map { parts[$0] }
            best = IndexAccess(
                source: .ranges(candidate.column, ranges), count: count, countIsExact: isExact,
                rest: conjunction(rest),
                text: candidate.parts.map { PlanText.text(parts[$0]) }.joined(separator: " AND "), known: nil)
        }
        return best
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
        _ parts: [BoundPredicate], _ view: TableView
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
            best = IndexAccess(
                source: .declared(asked.index, asked.questions), count: estimate.rows,
                countIsExact: estimate.isCounted && estimate.isExact,
                rest: estimate.isExact ? conjunction(rest) : conjunction(parts),
                text: asked.parts.map { PlanText.text(parts[$0]) }.joined(separator: " AND "), known: nil)
        }
        return best
    }

    // MARK: Single parts

    private struct Found {
        var source: IndexAccess.Source
        var count: Int
        var countIsExact: Bool
        var known: [Int64]?
        /// False where there may be keys of objects that do not pass.
        var isExact = true
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
            let target = try source.table(step.target)
            guard let access = try choose(inner, target, source), access.count <= mostTargets,
                case .constant(true) = access.rest
            else { return nil }
            return try backlinks(step, try access.keys(target, source), source)
        case .anyObject(let step, .object(let keys)) where step.kind == .list && keys.count <= mostTargets:
            return try backlinks(step, keys, source)
        default: return nil
        }
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
        var count = 0
        for key in keys { count += try target.backlinkCount(origin: step.origin, step.column, ObjectKey(key)) }
        return Found(source: .backlinks(step, keys), count: count, countIsExact: step.kind == .link)
    }

    /// By an index that is declared with the class and begins with the column.
    private static func declared(
        _ view: TableView, _ column: ColumnKey, _ values: [Value]
    ) throws(DatabaseError) -> Found? {
        var best: Found?
        for index in view.usableDeclaredIndexes
        where index.columns.first?.key == column && index.collection == nil && index.capabilities.contains(.equality) {
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
