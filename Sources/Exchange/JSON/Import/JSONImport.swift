/// JSON into a store: one object, an array of them, or JSON Lines, of one class or of all of them (a dump).
///
/// Rows go to the store in batches, so that memory is bounded by a batch, by links to what comes later in the text, and
/// by the numbers of objects without a primary key. The session is in a write; what was written before a mistake was
/// found stays in that write, and whoever began it cancels it. The form is described in docs/json.md.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

package final class JSONImport {
    package struct Options {
        package var policy = UpdatePolicy.error
        package var batchRows = 1_000
        /// Commits and starts over after that many rows; 0: never.
        package var commitEvery = 0
        /// Names that the class does not have are passed over.
        package var ignoresUnknownProperties = false
        /// Whether `{"$key": 7}` may be an object key of the database, and not only a number of the same text.
        package var takesObjectKeys = true
        /// Called with the number of objects now and then, and at the end.
        package var progress: ((Int) throws(DatabaseError) -> Void)?
        /// Bytes from which on a thread of its own reads ahead.
        package var readsAheadFrom = ReadAhead.worthwhile

        package init() {}

        /// Commits happen between batches.
        fileprivate var inBatchesThatCanBeCommitted: Options {
            var options = self
            if commitEvery > 0 { options.batchRows = min(batchRows, commitEvery) }
            return options
        }
    }

    /// Of what stands at the top of the text; nested objects are not counted.
    package private(set) var outcome = ImportOutcome()
    /// The object that was read last.
    package private(set) var lastKey: ObjectLink?

    let session: Session
    let options: Options
    var plans: ClassPlans
    /// What `{"$key": 7}` stands for, by class.
    private var sourceKeys: [TableKey: KeyMap] = [:]
    /// Texts of references while they are looked up.
    let referenceTexts = ByteArena()
    /// Cells that link to what has not been read yet, by where they belong.
    private var unresolved: [Place: Unresolved] = [:]
    private var postponedCount = 0
    private let rows: JSONRows
    private var batches: [PendingRows] = []
    private var carried: [UInt8] = []
    private var rowsSinceCommit = 0

    private struct Place: Hashable {
        let table: TableKey
        let key: ObjectKey
        let field: Int
    }

    private struct Unresolved {
        let number: Int
        let text: [UInt8]
        let line: Int
    }

    /// Objects of one class, or with `nil` of the classes that the text names.
    package init(_ session: Session, into table: TableKey?, _ options: Options = Options()) throws(DatabaseError) {
        self.session = session
        let options = options.inBatchesThatCanBeCommitted
        self.options = options
        plans = ClassPlans(try session.schema, session.writeRules?.declared)
        rows = JSONRows(table, plans, options)
    }

    package var count: Int { outcome.total }
    /// For objects that are read here and now.
    var objectReader: JSONObjectReader {
        JSONObjectReader(ignoresUnknown: options.ignoresUnknownProperties, links: self)
    }

    // MARK: The text

    /// All of a text at once.
    package func run(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
        try read(bytes)
        try finishLinks()
    }

    /// A part of JSON Lines, cut anywhere; `finish` reads what is left.
    package func feed(_ part: UnsafeRawBufferPointer) throws(DatabaseError) {
        carried.append(contentsOf: part)
        guard !Self.isArray(carried), let end = carried.lastIndex(of: 0x0A) else { return }
        try carried.withBytes { bytes throws(DatabaseError) in
            try read(UnsafeRawBufferPointer(rebasing: bytes[...end]))
            rows.finishPart()
        }
        carried.removeFirst(end + 1)
    }

    package func finish() throws(DatabaseError) {
        let rest = carried
        carried = []
        try rest.withBytes { bytes throws(DatabaseError) in try read(bytes) }
        try finishLinks()
    }

    private static func isArray(_ bytes: [UInt8]) -> Bool {
        bytes.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D } == UInt8(ascii: "[")
    }

    private func read(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
        try rows.begin(bytes, isFirst: count == 0)
        let readsAhead =
            try rows.isReadAlone()
            && ReadAhead.pays(bytes: bytes.count, from: options.readsAheadFrom, batchRows: options.batchRows)
        rows.links = readsAhead ? nil : self
        defer { rows.links = nil }
        let wanted = readsAhead ? ReadAhead.batches : 1
        for batch in batches { batch.forget() }
        while batches.count < wanted { batches.append(PendingRows(capacity: options.batchRows)) }
        // Values borrow from the text, which is the caller's again when all rows are written.
        try ReadAhead.run(rows, Array(batches.prefix(wanted))) { (rows) throws(DatabaseError) in try flush(rows) }
    }

    private func flush(_ rows: PendingRows) throws(DatabaseError) {
        guard let plan = rows.plan, rows.count > 0 else { return }
        if let bytes = rows.countsLinesIn?.bytes { try InputFile.requireWhole(bytes) }
        let count = rows.count
        try keepingWideInts { () throws(DatabaseError) in
            let changes = try rows.flush(session, self.rows.policy(plan))
            supersede(plan, rows.columns, UnsafeBufferPointer(start: rows.keys, count: count))
            outcome.created += changes.created
            outcome.updated += changes.updated
            for row in 0 ..< count where rows.sourceKeys[row] >= 0 {
                try remember(plan, rows.sourceKeys[row], rows.keys[row], line: rows.line(row))
            }
            for (row, cell) in rows.cells { try assign(plan, ObjectKey(rows.keys[row]), cell) }
        }
        lastKey = ObjectLink(table: plan.table, key: ObjectKey(rows.keys[count - 1]))
        try options.progress?(self.count)
        try commitIfDue(count)
    }

    /// A dump has what the file had, ints among it that were stored before their property became narrower.
    private func keepingWideInts(_ body: () throws(DatabaseError) -> Void) throws(DatabaseError) {
        guard rows.isDump else { return try body() }
        try session.requireWrite().keepingWideInts(body)
    }

    private func commitIfDue(_ rows: Int) throws(DatabaseError) {
        rowsSinceCommit += rows
        guard options.commitEvery > 0, rowsSinceCommit >= options.commitEvery else { return }
        rowsSinceCommit = 0
        try session.commitAndGoOn()
    }

    // MARK: What comes later

    func remember(
        _ plan: ClassPlan, _ source: Int64, _ key: Int64, line: @autoclosure () -> Int
    ) throws(DatabaseError) {
        guard sourceKeys[plan.table, default: KeyMap()].add(source, key) else {
            throw DatabaseError(
                .invalidArgument, "line \(line()): there are two objects of \(plan.type.name) with \"$key\": \(source)",
                className: plan.type.name)
        }
    }

    /// The object that a number stands for; in the end also one of the store.
    func object(_ table: TableKey, numbered source: Int64, isLast: Bool) throws(DatabaseError) -> ObjectKey? {
        if let key = sourceKeys[table]?.find(source) { return ObjectKey(key) }
        guard isLast, !rows.isDump, source >= 0, try session.table(table).locate(ObjectKey(source)) != nil else {
            return nil
        }
        return ObjectKey(source)
    }

    func postpone(_ plan: ClassPlan, _ key: ObjectKey, _ cell: ObjectScratch.Cell) {
        postponedCount += 1
        unresolved[Place(table: plan.table, key: key, field: cell.field)] = Unresolved(
            number: postponedCount, text: [UInt8](cell.text), line: cell.line)
    }

    /// A value that comes later in the text takes the place of one that waits.
    func supersede(_ plan: ClassPlan, _ key: ObjectKey, field: Int) {
        if !unresolved.isEmpty { unresolved[Place(table: plan.table, key: key, field: field)] = nil }
    }

    /// The same of rows that were written.
    func supersede(_ plan: ClassPlan, _ columns: [ColumnKey], _ keys: UnsafeBufferPointer<Int64>) {
        guard !unresolved.isEmpty else { return }
        for field in plan.fields.indices where plan.fields[field].mayWait {
            guard columns.contains(plan.fields[field].column) else { continue }
            for key in keys { supersede(plan, ObjectKey(key), field: field) }
        }
    }

    /// Nested objects bring cells of their own, and may be what others wait for: as long as that goes on, nothing is
    /// missing yet.
    func finishLinks() throws(DatabaseError) {
        var before = Int.max
        while !unresolved.isEmpty {
            let postponed = unresolved.sorted { $0.value.number < $1.value.number }
            unresolved = [:]
            let isLast = postponed.count >= before
            before = postponed.count
            try keepingWideInts { () throws(DatabaseError) in
                for (place, cell) in postponed { try retry(cell, at: place, isLast: isLast) }
            }
        }
    }

    private func retry(_ cell: Unresolved, at place: Place, isLast: Bool) throws(DatabaseError) {
        // An embedded object that a later line has put something else in the place of, or what somebody has deleted
        // between two commits.
        guard try session.table(place.table).locate(place.key) != nil else { return }
        let plan = try plans.plan(place.table)
        try cell.text.withBytes { text throws(DatabaseError) in
            try assign(
                plan, place.key, ObjectScratch.Cell(field: place.field, text: text, line: cell.line), isLast: isLast)
        }
    }
}
