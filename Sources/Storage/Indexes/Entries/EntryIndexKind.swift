/// The kinds whose entries have a fixed size, 64 bits of a value and an object key (`IndexValue`, `IndexEntry`):
/// primary keys, properties marked as indexed, and the backlinks of links and of mixed values.
///
/// A property has them by itself, so their numbers are kept with its column and not in the list of a class's indexes,
/// and a write keeps them value by value without a call through an interface (`WriteTransaction.index`). For whatever
/// is done to whole batches, row groups or indexes they are kinds like others.
import MottePages
import MotteSchemaModel
import MotteValues

struct EntryIndexKind: IndexKind {
    let name: String
    private let isOfLinks: Bool

    static let primaryKey = EntryIndexKind(name: "primaryKey", isOfLinks: false)
    static let values = EntryIndexKind(name: "values", isOfLinks: false)
    static let links = EntryIndexKind(name: "links", isOfLinks: true)
    static let mixedLinks = EntryIndexKind(name: "mixedLinks", isOfLinks: true)

    private init(name: String, isOfLinks: Bool) {
        self.name = name
        self.isOfLinks = isOfLinks
    }

    /// `IndexKinds` refuses the declaration before it comes here.
    func check(_ index: IndexDeclaration, of type: ObjectType) throws(DatabaseError) {
        throw DatabaseError(.schemaInvalid, "properties have the \(index.text) by themselves", className: type.name)
    }

    func capabilities(of index: TableIndex) -> IndexCapabilities {
        if isOfLinks { return [.equality, .count, .several] }
        var capabilities: IndexCapabilities = [.equality]
        if let column = index.columns.first, EntryAnswers.isOrdered(column.type) {
            capabilities.formUnion([.range, .count])
        }
        if name.hasSameBytes(as: Self.primaryKey.name) { capabilities.insert(.unique) }
        return capabilities
    }

    func makeReader(of index: TableIndex, pages: PageSnapshot) -> any IndexReading {
        IndexReader(index.key, pages: pages)
    }

    func makeWriter(of index: TableIndex, in context: IndexWriteContext) -> any IndexWriting {
        IndexDelta(index.key, form(of: index), spill: context.spill, undo: context.undo)
    }

    func makeCheck(of index: TableIndex) -> any IndexChecking { EntryCheck(form(of: index)) }

    func answers(
        of index: TableIndex, _ reader: (any IndexReading)?, pending: (any IndexWriting)?
    ) -> any IndexAnswering {
        EntryAnswers(IndexView(reader as? IndexReader, pending as? IndexDelta), form(of: index))
    }

    func form(of index: TableIndex) -> EntryForm {
        if name.hasSameBytes(as: Self.mixedLinks.name) { return StoredColumn.linkForm }
        return index.columns.first?.entryForm ?? StoredColumn.linkForm
    }
}

/// What an index of fixed entries answers by itself; where values only share their bits, the caller looks at the rows.
struct EntryAnswers: IndexAnswering {
    private let view: IndexView
    private let form: EntryForm

    init(_ view: IndexView, _ form: EntryForm) {
        self.view = view
        self.form = form
    }

    /// Whether the bits of the type's values say all of them, in their order.
    static func isOrdered(_ type: PropertyType) -> Bool { type == .int || type == .bool }

    func entryCount() throws(DatabaseError) -> Int { try view.count() }

    func estimate(_ question: IndexQuestion, most: Int) throws(DatabaseError) -> IndexEstimate? {
        switch question {
        case .all: return IndexEstimate(rows: try view.count(), isCounted: true, isExact: true)
        case .equal(let values):
            guard let wanted = encoded(values) else { return nil }
            return IndexEstimate(rows: try view.count(wanted), isCounted: wanted.isExact, isExact: wanted.isExact)
        case .range(let leading, let lower, let upper):
            guard leading.isEmpty, let range = encoded(lower, upper) else { return nil }
            let rows = try range.map { range throws(DatabaseError) in try view.count(range, most: most) }
            return IndexEstimate(rows: rows ?? 0, isCounted: true, isExact: true)
        case .prefix, .own: return nil
        }
    }

    func keys(
        _ question: IndexQuestion, order: IndexOrder, limit: Int, into keys: inout [Int64]
    ) throws(DatabaseError) {
        guard order == .byKey else { throw Self.noAnswer }
        var found: [Int64] = []
        switch question {
        case .all:
            try view.keys(0 ... UInt64.max, into: &found)
            try view.keys(.null, into: &found)
        case .equal(let values):
            guard let wanted = encoded(values) else { throw Self.noAnswer }
            try view.keys(wanted, into: &found)
        case .range(let leading, let lower, let upper):
            guard leading.isEmpty, let range = encoded(lower, upper) else { throw Self.noAnswer }
            if let range { try view.keys(range, into: &found) }
        case .prefix, .own: throw Self.noAnswer
        }
        found.sort()
        keys += found.prefix(limit)
    }

    private static var noAnswer: DatabaseError {
        DatabaseError(.internal, "an index was asked what it does not answer")
    }

    private func encoded(_ values: [Value]) -> IndexValue? {
        guard values.count == 1 else { return nil }
        return values[0].withView { view in
            switch form.content {
            case .values(let type): IndexValue(view, of: type)
            case .links: IndexValue.link(to: view.linkValue.key)
            case .mixedLinks: IndexValue.mixedLink(to: view.linkValue)
            }
        }
    }

    /// nil where the bits have no order; nothing between bounds that exclude all there is.
    private func encoded(_ lower: IndexBound?, _ upper: IndexBound?) -> ClosedRange<UInt64>?? {
        guard case .values(let type) = form.content, Self.isOrdered(type) else { return nil }
        var first = UInt64.min, last = UInt64.max
        if let lower {
            first = lower.value.withView { IndexValue($0).raw }
            guard lower.isIncluded || first < .max else { return .some(nil) }
            if !lower.isIncluded { first += 1 }
        }
        if let upper {
            last = upper.value.withView { IndexValue($0).raw }
            guard upper.isIncluded || last > 0 else { return .some(nil) }
            if !upper.isIncluded { last -= 1 }
        }
        return .some(first <= last ? first ... last : nil)
    }
}
