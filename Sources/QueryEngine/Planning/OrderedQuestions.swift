/// What the parts of a conjunction ask together of an index that keeps order: equality or IN of its first properties,
/// and behind those one range, or one beginning of texts. Each combination of values is a question of its own, and no
/// object answers two of them.
import MotteColumns
import MotteSchemaModel
import MotteStorage
import MotteValues

struct OrderedQuestions {
    let index: TableIndex
    let questions: [IndexQuestion]
    /// Which of the conjunction they are.
    let parts: [Int]
    /// Whether nothing but equality is asked for.
    let isEquality: Bool
    /// How many of the index's properties have one value in all that is asked for.
    let fixed: Int
    /// False where folded texts are asked for something that they only come near: rows have to be looked at.
    let isExact: Bool

    /// IN of several properties multiplies; more questions than these are left to the rows.
    private static let most = 256

    /// Of each index that answers something of it.
    static func all(_ parts: [BoundPredicate], _ view: TableView) -> [OrderedQuestions] {
        var tests: [(part: Int, column: ColumnKey, type: PropertyType, test: ColumnTest)] = []
        let indexes = view.usableDeclaredIndexes.filter {
            $0.collection == nil && $0.capabilities.isSuperset(of: [.equality, .range, .prefix])
        }
        guard !indexes.isEmpty else { return [] }
        for (number, part) in parts.enumerated() {
            var inner = part
            if case .comparison(_, let compared) = part { inner = compared }
            if case .column(let column, let type, let test) = inner { tests.append((number, column, type, test)) }
        }
        return indexes.compactMap { index in
            var leading: [[Value]] = [[]]
            var asked: [Int] = []
            var fixed = 0
            var span = ValueSpan()
            var isExact = true
            for (place, column) in index.columns.enumerated() {
                let folding = index.folding(place)
                let own = tests.filter { $0.column == column.key }
                let equal = own.lazy.compactMap { one in
                    (folding.isEmpty ? equalValues(one.test, one.type) : FoldedTexts.equal(one.test, folding))
                        .map { (part: one.part, test: one.test, values: $0) }
                }.first
                if let equal, leading.count * equal.values.count <= most {
                    leading = leading.flatMap { before in equal.values.map { before + [$0] } }
                    asked.append(equal.part)
                    isExact = isExact && (folding.isEmpty || FoldedTexts.isJust(equal.test, folding))
                    if equal.values.count == 1, fixed == asked.count - 1 { fixed += 1 }
                    continue
                }
                if folding.isEmpty {
                    for one in own where span.take(one.test, one.type) { asked.append(one.part) }
                } else if let (one, prefix) = own.lazy.compactMap({ one in
                    FoldedTexts.beginning(one.test, folding).map { (one, $0) }
                }).first {
                    span = ValueSpan(prefix: prefix)
                    asked.append(one.part)
                    isExact = isExact && FoldedTexts.isJust(one.test, folding)
                }
                break
            }
            guard !asked.isEmpty else { return nil }
            let questions = leading.map { span.question(behind: $0) ?? .equal($0) }
            return OrderedQuestions(
                index: index, questions: questions, parts: asked, isEquality: span.isEmpty, fixed: fixed,
                isExact: isExact)
        }
    }

    /// Each once.
    private static func equalValues(_ test: ColumnTest, _ type: PropertyType) -> [Value]? {
        if case .double(.equal, let value) = test, type == .double || type == .float, !value.isNaN {
            return [.double(value)]
        }
        return test.equalValues(type)
    }

    /// Together; nil where the index does not answer one of them. Counting may stop behind `most`.
    func estimate(_ view: TableView, most: Int = .max) throws(DatabaseError) -> IndexEstimate? {
        var whole = IndexEstimate(rows: 0, isCounted: true, isExact: isExact)
        for question in questions where whole.rows <= most {
            let left = most == .max ? most : most - whole.rows
            guard let part = try view.estimate(index, question, most: left) else { return nil }
            whole.rows += part.rows
            whole.isCounted = whole.isCounted && part.isCounted
            whole.isExact = whole.isExact && part.isExact
        }
        return whole
    }
}

/// A sort directly before a limit, along an index: the first keys of it are the answer.
struct OrderedWalkPlan {
    let index: TableIndex
    let question: IndexQuestion
    let order: IndexOrder

    /// nil where no index has just this order of just these objects.
    static func choose(
        _ predicate: BoundPredicate, _ keys: [BoundQuery.SortKey], _ view: TableView
    ) -> OrderedWalkPlan? {
        for (index, question, fixed) in candidates(predicate, view)
        where index.capabilities.contains(.order) && !view.hasPendingChanges(of: index) {
            guard let order = order(of: index, behind: fixed, keys) else { continue }
            return OrderedWalkPlan(index: index, question: question, order: order)
        }
        return nil
    }

    /// The indexes that have just the objects of a predicate, and what they are asked; behind the properties that have
    /// one value in it.
    static func candidates(
        _ predicate: BoundPredicate, _ view: TableView
    ) -> [(index: TableIndex, question: IndexQuestion, fixed: Int)] {
        var parts = [predicate]
        if case .and(let inner) = predicate { parts = inner }
        if case .constant(true) = predicate {
            return view.usableDeclaredIndexes.filter {
                $0.collection == nil && $0.capabilities.isSuperset(of: [.order, .range])
            }.map { ($0, .all, 0) }
        }
        return OrderedQuestions.all(parts, view).filter {
            $0.isExact && $0.questions.count == 1 && Set($0.parts).count == parts.count
        }.map { ($0.index, $0.questions[0], $0.fixed) }
    }

    /// All properties of the index behind those with one value, all the same way or all the other way. Where the index
    /// has one more, equal ones would not come by key.
    private static func order(
        of index: TableIndex, behind fixed: Int, _ keys: [BoundQuery.SortKey]
    ) -> IndexOrder? {
        let columns = Array(index.columns.dropFirst(fixed))
        guard !columns.isEmpty, columns.count == keys.count else { return nil }
        var isForward: Bool?
        for (place, key) in keys.enumerated() {
            guard key.path.steps.isEmpty, case .column(let column, _, _) = key.path.end, column == columns[place].key,
                let isDescending = index.isDescending(fixed + place)
            else { return nil }
            let isSame = key.isAscending != isDescending
            if let isForward, isForward != isSame { return nil }
            isForward = isSame
        }
        return isForward.map { $0 ? .ascending : .descending }
    }

    /// The object with the lowest or highest value of a property, nulls apart: nil where no index says it.
    static func extreme(
        _ predicate: BoundPredicate, _ column: ColumnKey, isLowest: Bool, _ view: TableView
    ) throws(DatabaseError) -> Int64? {
        var parts = [predicate]
        if case .and(let inner) = predicate { parts = inner }
        if case .constant(true) = predicate { parts = [] }
        for index in view.usableDeclaredIndexes
        where index.collection == nil && index.capabilities.isSuperset(of: [.order, .range])
            && !view.hasPendingChanges(of: index)
        {
            var question = IndexQuestion.range([], lower: nil, upper: nil)
            var place = 0
            if !parts.isEmpty {
                guard let asked = OrderedQuestions.all(parts, view).first(where: { $0.index.key == index.key }),
                    asked.isEquality, asked.isExact, asked.questions.count == 1, Set(asked.parts).count == parts.count,
                    case .equal(let values) = asked.questions[0]
                else { continue }
                question = .range(values, lower: nil, upper: nil)
                place = values.count
            }
            guard place < index.columns.count, index.columns[place].key == column,
                let isDescending = index.isDescending(place),
                let estimate = try view.estimate(index, question, most: 1), estimate.isExact
            else { continue }
            var keys: [Int64] = []
            let order: IndexOrder = isLowest != isDescending ? .ascending : .descending
            try view.keys(index, question, order: order, limit: 1, into: &keys)
            if let key = keys.first, try view.isKeptWhole(keys, by: index) { return key }
        }
        return nil
    }

    /// At most `limit` keys in order; nil where values are so long that the index does not know all of it.
    func keys(_ view: TableView, limit: Int) throws(DatabaseError) -> [Int64]? {
        guard let estimate = try view.estimate(index, question, most: limit), estimate.isExact else { return nil }
        var keys: [Int64] = []
        try view.keys(index, question, order: order, limit: limit, into: &keys)
        return try view.isKeptWhole(keys, by: index) ? keys : nil
    }
}
