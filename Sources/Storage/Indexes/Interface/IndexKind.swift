/// What a kind of index is to the rest of Storage: everything that differs between kinds stands behind these protocols.
///
/// A kind is added by a folder with an `IndexKind` and one line in `IndexKinds`. What it keeps lies under page keys
/// that begin with its index's number (`IndexSpace`), so that dropping it, clearing it, counting its bytes and finding
/// stray pages need no word of it. The rest it answers here: who reads it (`IndexReading`), who keeps it in a write
/// (`IndexWriting`), what it answers to queries (`IndexAnswering`), and how it is compared with the rows
/// (`IndexChecking`). Salvage and repair build it again from the rows, as its first build does.
///
/// Rows come and go in batches (`IndexedRows`), so that no call of these protocols is made for each row of many.
import MottePages
import MotteSchemaModel
import MotteValues

package protocol IndexKind: Sendable {
    /// In the stored schema; never changes.
    var name: String { get }

    /// Throws `.schemaInvalid` for columns and parameters that the kind does not take.
    func check(_ index: IndexDeclaration, of type: ObjectType) throws(DatabaseError)

    func capabilities(of index: TableIndex) -> IndexCapabilities

    /// What the stored schema keeps of declared parameters, and these again. A kind may keep more than is declared.
    func storedParameters(_ declared: [UInt8]) -> [UInt8]
    func declaredParameters(_ stored: [UInt8]) -> [UInt8]

    /// Whether it was built in a way that this library no longer builds it: it answers nothing, changes of rows do not
    /// reach it, and the next commit builds it again.
    func isOutdated(_ index: TableIndex) -> Bool

    /// The index as a committed version has it.
    func makeReader(of index: TableIndex, pages: PageSnapshot) -> any IndexReading

    /// What a write does to it, in the beginning nothing.
    func makeWriter(of index: TableIndex, in context: IndexWriteContext) -> any IndexWriting

    /// What queries are answered by: the committed entries, and on top what a write has pending. Both are of this kind.
    /// `reader` is nil where the write has cleared the index.
    func answers(
        of index: TableIndex, _ reader: (any IndexReading)?, pending: (any IndexWriting)?
    ) -> any IndexAnswering

    /// For verification: is given all rows, and compares.
    func makeCheck(of index: TableIndex) -> any IndexChecking
}

extension IndexKind {
    package func storedParameters(_ declared: [UInt8]) -> [UInt8] { declared }
    package func declaredParameters(_ stored: [UInt8]) -> [UInt8] { stored }
    package func isOutdated(_ index: TableIndex) -> Bool { false }
}

/// What the planner may ask of an index. Everything an index answers holds for the rows as its reader sees them, those
/// of an open write included.
package struct IndexCapabilities: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let equality = IndexCapabilities(rawValue: 1)
    package static let range = IndexCapabilities(rawValue: 2)
    package static let prefix = IndexCapabilities(rawValue: 4)
    /// Keys come in the order of the values, in both directions.
    package static let order = IndexCapabilities(rawValue: 8)
    /// How many rows there are is known without reading one.
    package static let count = IndexCapabilities(rawValue: 16)
    /// No two objects have the same values.
    package static let unique = IndexCapabilities(rawValue: 32)
    /// An object may be in it several times: once for each element of a collection.
    package static let several = IndexCapabilities(rawValue: 64)
}

/// One index of a class, as the schema has it.
package final class TableIndex: Sendable {
    package let key: IndexKey
    package let table: TableKey
    package let className: String
    package let kind: any IndexKind
    /// As they are stored, in the kind's own form.
    package let parameters: [UInt8]
    /// In the order of the index, and where they are in the table.
    package let columns: [StoredColumn]
    let slots: [Int]
    /// Those of the kinds `ordered` and `folded`, which are asked often; nil of others, and where this release does not
    /// know them.
    let orderedParameters: OrderedParameters?
    package var capabilities: IndexCapabilities { kind.capabilities(of: self) }

    init(_ key: IndexKey, _ kind: any IndexKind, parameters: [UInt8] = [], of table: StoredTable, slots: [Int]) {
        self.key = key
        self.kind = kind
        self.parameters = parameters
        self.table = table.key
        className = table.name
        self.slots = slots
        let columns = slots.map { table.columns[$0] }
        self.columns = columns
        orderedParameters =
            (kind as? OrderedIndexKind)?.parameters(parameters, types: columns.map(\.type))
    }

    var isOutdated: Bool { kind.isOutdated(self) }

    /// The collection whose elements it holds; nil for an index of properties with one value.
    package var collection: StoredColumn? { columns.first { $0.isList } }

    /// Of one that keeps order; nil of other kinds, and of folded texts, whose order is none of the values.
    package func isDescending(_ column: Int) -> Bool? {
        guard let known = orderedParameters?.columns[column], known.folding.isEmpty else { return nil }
        return known.isDescending
    }

    /// What it overlooks of the texts of this column, which it keeps folded.
    package func folding(_ column: Int) -> TextOptions { orderedParameters?.columns[column].folding ?? [] }

    /// For messages.
    package var text: String { "\(kind.name) index of \(columns.map(\.name).joined(separator: ", "))" }
}

/// What a writer may use of the write it belongs to.
package struct IndexWriteContext {
    /// The version that the write began with.
    package let pages: PageSnapshot
    /// For what is too much to stay in memory until the commit.
    package let spill: SpillFile
    let undo: UndoLog
}

// MARK: - Reading

/// A committed index. Kept as long as a snapshot shows versions in which it stays as it is; one thread at a time.
package protocol IndexReading: AnyObject {
    /// To a version with the same entries.
    func advance(to pages: PageSnapshot)
}

package protocol IndexAnswering {
    /// All entries.
    func entryCount() throws(DatabaseError) -> Int

    /// How many keys there are, counted or estimated at a small part of what reading them costs; nil where the index
    /// does not answer the question. Counting may stop behind `most`.
    func estimate(_ question: IndexQuestion, most: Int) throws(DatabaseError) -> IndexEstimate?

    /// Appends the keys, at most `limit` of them. Ascending keys, or for an order the keys in the order of the values,
    /// equal values by key. Only what `estimate` answers.
    func keys(
        _ question: IndexQuestion, order: IndexOrder, limit: Int, into keys: inout [Int64]
    ) throws(DatabaseError)

    /// The lowest key of each combination of values in the first `columns` columns, in the order of these values; nil
    /// where the index cannot tell all combinations apart.
    func firstOfEach(_ question: IndexQuestion, columns: Int) throws(DatabaseError) -> [Int64]?
}

extension IndexAnswering {
    package func firstOfEach(_ question: IndexQuestion, columns: Int) throws(DatabaseError) -> [Int64]? { nil }
}

package struct IndexEstimate: Sendable {
    package var rows: Int
    /// Whether that is their number and not an estimate of it.
    package var isCounted: Bool
    /// False where keys may come of rows that do not pass: the caller looks at the rows.
    package var isExact: Bool

    package init(rows: Int, isCounted: Bool, isExact: Bool) {
        self.rows = rows
        self.isCounted = isCounted
        self.isExact = isExact
    }
}

package enum IndexOrder: Sendable { case byKey, ascending, descending }

package struct IndexBound: Sendable {
    package var value: Value
    package var isIncluded: Bool

    package init(_ value: Value, isIncluded: Bool = true) {
        self.value = value
        self.isIncluded = isIncluded
    }
}

/// What can be asked of an index. Values are those of its leading columns, in its order.
package enum IndexQuestion: Sendable {
    case all
    case equal([Value])
    /// Equal in the columns before, and between bounds in the next one. Nulls are in no range.
    case range([Value], lower: IndexBound?, upper: IndexBound?)
    /// Equal in the columns before, and text or data that begins so in the next one.
    case prefix([Value], [UInt8])
    /// Of a kind's own: words of a text, what lies near a place.
    case own(String, [Value])
}

// MARK: - Writing

/// What a write transaction has done to one index and not yet committed. One thread.
package protocol IndexWriting: AnyObject {
    /// Whether a commit has nothing to write.
    var isEmpty: Bool { get }

    /// Everything that was in the index when the write began is gone: `clear` was called and not rolled back.
    var isCleared: Bool { get }

    /// Before anything of a call is changed: throws where the rows must not be there, as with a value that must be
    /// unique. The rows' own keys are theirs: an object that has the value itself is in nobody's way. `isPostponed`:
    /// what other rows have is looked at by `checkPostponed`, because some of them are still to change.
    func check(adding rows: IndexedRows, isPostponed: Bool) throws(DatabaseError)

    /// What was postponed, with all rows as they are now.
    func checkPostponed() throws(DatabaseError)
    func forgetPostponed()

    /// Nothing of what is stored may be known by its place any more: its memory is given back.
    func forgetPlaces()

    /// Rows, or elements of an object's collection, that came and went. A value that changes goes and comes.
    func add(_ rows: IndexedRows)
    func remove(_ rows: IndexedRows)

    /// The class has no rows any more, or the index is built again.
    func clear()

    /// How much the writer has done: savepoints take one, before the first change after them, and go back to it.
    var mark: Int { get }
    func rollBack(to mark: Int)

    /// The commit's part: puts and deletes of pages of this index. Nothing is consumed, because a commit that could not
    /// be written is tried again. All pages of a cleared index are deleted before.
    func encode(over pages: PageSnapshot, into batch: inout PageBatch) throws(DatabaseError)

    /// Throws what is wrong with the pending changes; called by tests and in debug builds.
    func checkInvariants() throws(DatabaseError)
}

// MARK: - Verification

package protocol IndexChecking: AnyObject {
    func add(_ rows: IndexedRows)

    /// Compares what the rows said with what is stored. nil, at most once: they are not the same, and the rows are to
    /// be added again, so that it can be said what differs. `letGo` is called where nothing is used that pages lent.
    func finish(_ reader: any IndexReading, _ letGo: () -> Void) throws(DatabaseError) -> IndexFindings?
}

package struct IndexFindings: Sendable {
    /// Entries that are stored.
    package var entries = 0
    package var missing = 0
    package var surplus = 0
    /// An object that one of them is about.
    package var example: Int64?
    package var isOutOfOrder = false

    package init() {}

    package mutating func lacks(_ key: Int64) {
        missing += 1
        if example == nil { example = key }
    }

    package mutating func hasTooMuch(_ key: Int64) {
        surplus += 1
        if example == nil { example = key }
    }
}
