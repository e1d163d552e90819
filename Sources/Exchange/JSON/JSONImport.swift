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
        /// Commits and begins anew after that many rows; 0: never.
        package var commitEvery = 0
        /// Names that the class does not have are passed over.
        package var ignoresUnknownProperties = false
        /// Called with the number of objects now and then, and at the end.
        package var progress: ((Int) throws(DatabaseError) -> Void)?

        package init() {}
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
    /// Cells that link to what has not been read yet.
    private var unresolved: [Unresolved] = []
    /// Whether numbers stand for objects of the text only.
    private var isDump = false

    private let table: TableKey?
    private var scratch: ObjectScratch?
    private var pending: PendingRows?
    private var pendingNames: [Bool] = []
    private var pendingCells: [(row: Int, cell: ObjectScratch.Cell)] = []
    private var pendingSourceKeys: [Int64] = []
    private var lines = LineCounter()
    private var carried: [UInt8] = []
    private var rowsSinceCommit = 0

    struct Unresolved {
        let table: TableKey
        let key: ObjectKey
        let field: Int
        let text: [UInt8]
        let line: Int
    }

    /// Objects of one class, or with `nil` of the classes that the text names.
    package init(_ session: Session, into table: TableKey?, _ options: Options = Options()) throws(DatabaseError) {
        self.session = session
        self.options = options
        self.table = table
        plans = ClassPlans(try session.schema)
    }

    package var count: Int { outcome.total }

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
        var reader = JSONReader(bytes, firstLine: lines.line)
        lines = LineCounter(firstLine: lines.line)
        if count == 0 { reader.skipByteOrderMark() }
        if !reader.isAtEnd, try reader.peek() == .array {
            try reader.beginArray()
            while try reader.nextElement() { try record(&reader) }
            guard reader.isAtEnd else { throw reader.failure("something follows the array") }
        } else {
            while !reader.isAtEnd { try record(&reader) }
        }
        // Values borrow from the text, which is the caller's again.
        try flush()
        _ = lines.advance(to: bytes.count, in: reader.start)
    }

    private func record(_ reader: inout JSONReader) throws(DatabaseError) {
        guard try reader.peek() == .object else { throw reader.failure("expected an object") }
        let line = lines.advance(to: reader.position, in: reader.start)
        if table == nil, try passHeader(&reader) { return }
        let plan = try plan(of: reader)
        let scratch = try scratch(for: plan)
        scratch.reset()
        scratch.line = line
        scratch.offset = reader.position
        try readObject(&reader, into: scratch)
        try append(scratch)
    }

    /// The first line of a dump.
    private func passHeader(_ reader: inout JSONReader) throws(DatabaseError) -> Bool {
        guard count == 0, pending == nil, try StoreDumpHeader(beginning: reader) != nil else { return false }
        isDump = true
        _ = try reader.skip()
        return true
    }

    private func plan(of reader: JSONReader) throws(DatabaseError) -> ClassPlan {
        if let table { return try plans.plan(table) }
        var ahead = reader
        try ahead.beginObject()
        guard let key = try ahead.nextKey(), key.raw.elementsEqual("$class".utf8), try ahead.peek() == .string else {
            throw reader.failure("expected \"$class\" first, which says what the object is; or name the class")
        }
        let name = String(decoding: JSONScalarReader(arena: referenceTexts).plain(try ahead.string()), as: UTF8.self)
        if let known = scratch?.plan, known.type.name.hasSameBytes(as: name) { return known }
        let type = try plans.schema.type(named: name)
        guard let table = type.tableKey, !type.isEmbedded else {
            throw reader.failure("\(name) is embedded: its objects stand where they belong, not by themselves")
        }
        return try plans.plan(table)
    }

    private func scratch(for plan: ClassPlan) throws(DatabaseError) -> ObjectScratch {
        if let scratch, scratch.plan === plan { return scratch }
        try flush()
        let rows = PendingRows(plan.table, plan.columns, capacity: options.batchRows)
        let scratch = ObjectScratch(plan, rows.arena)
        self.scratch = scratch
        pending = rows
        pendingNames = []
        return scratch
    }

    // MARK: Batches

    private func append(_ scratch: ObjectScratch) throws(DatabaseError) {
        let policy = policy(scratch.plan)
        if policy != .error { try shape(scratch) }
        guard let pending else { return }
        if let primaryKey = scratch.plan.primaryKey, !scratch.hasValue[primaryKey] {
            let name = scratch.plan.fields[primaryKey].property.name
            throw ExchangeError.at(
                line: scratch.line,
                DatabaseError(
                    .invalidArgument, "\(scratch.plan.type.name) needs a value for its primary key \(name)",
                    className: scratch.plan.type.name, propertyName: name))
        }
        let values = pending.begin(line: scratch.line)
        if policy == .error {
            values.update(from: scratch.values, count: scratch.plan.columns.count)
        } else {
            var position = 0
            for (index, field) in scratch.plan.fields.enumerated() where scratch.hasValue[index] {
                values[position] = scratch.values[field.position]
                position += 1
            }
        }
        let row = pending.count - 1
        for cell in scratch.cells { pendingCells.append((row, cell)) }
        pendingSourceKeys.append(scratch.sourceKey)
        if pending.isFull { try flush() }
    }

    /// In a dump, objects of a class without a primary key are new in any case.
    private func policy(_ plan: ClassPlan) -> UpdatePolicy {
        table == nil && plan.primaryKey == nil ? .error : options.policy
    }

    /// What an update does not name stays as it is, so rows of a batch name the same properties.
    private func shape(_ scratch: ObjectScratch) throws(DatabaseError) {
        let named = scratch.plan.fields.indices.map { scratch.hasValue[$0] }
        guard named != pendingNames else { return }
        // The values of this object are in the arena of the batch that is flushed here; keep them for the next.
        let before = pending
        try flush(keepingTexts: true)
        let columns = scratch.plan.fields.indices.filter { named[$0] }.map { scratch.plan.fields[$0].column }
        let rows = PendingRows(
            scratch.plan.table, columns, capacity: options.batchRows, arena: before?.arena ?? scratch.arena)
        pending = rows
        pendingNames = named
    }

    private func flush(keepingTexts: Bool = false) throws(DatabaseError) {
        guard let pending, let plan = scratch?.plan, pending.count > 0 else { return }
        let changes = try pending.flush(session, policy(plan))
        outcome.created += changes.created
        outcome.updated += changes.updated
        let count = pending.count
        for row in 0 ..< count where pendingSourceKeys[row] >= 0 {
            try remember(plan, pendingSourceKeys[row], pending.keys[row], line: pending.line(row))
        }
        for (row, cell) in pendingCells {
            try assign(plan, ObjectKey(pending.keys[row]), cell)
        }
        lastKey = ObjectLink(table: plan.table, key: ObjectKey(pending.keys[count - 1]))
        pendingCells.removeAll(keepingCapacity: true)
        pendingSourceKeys.removeAll(keepingCapacity: true)
        pending.forget(keepingTexts: keepingTexts)
        try options.progress?(self.count)
        try commitIfDue(count)
    }

    private func commitIfDue(_ rows: Int) throws(DatabaseError) {
        rowsSinceCommit += rows
        guard options.commitEvery > 0, rowsSinceCommit >= options.commitEvery else { return }
        rowsSinceCommit = 0
        try session.commit()
        try session.beginWrite()
    }

    // MARK: What comes later

    func remember(
        _ plan: ClassPlan, _ source: Int64, _ key: Int64, line: Int
    ) throws(DatabaseError) {
        guard sourceKeys[plan.table, default: KeyMap()].add(source, key) else {
            throw DatabaseError(
                .invalidArgument, "line \(line): there are two objects of \(plan.type.name) with \"$key\": \(source)",
                className: plan.type.name)
        }
    }

    /// The object that a number stands for; in the end also one of the store.
    func object(_ table: TableKey, numbered source: Int64, isLast: Bool) throws(DatabaseError) -> ObjectKey? {
        if let key = sourceKeys[table]?.find(source) { return ObjectKey(key) }
        guard isLast, !isDump, source >= 0, try session.table(table).locate(ObjectKey(source)) != nil else {
            return nil
        }
        return ObjectKey(source)
    }

    func postpone(_ plan: ClassPlan, _ key: ObjectKey, _ cell: ObjectScratch.Cell) {
        unresolved.append(
            Unresolved(
                table: plan.table, key: key, field: cell.field, text: [UInt8](cell.text), line: cell.line))
    }

    /// Nested objects bring cells of their own, and may be what others wait for: as long as that goes on, nothing is
    /// missing yet.
    func finishLinks() throws(DatabaseError) {
        var before = Int.max
        while !unresolved.isEmpty {
            let postponed = unresolved
            unresolved = []
            let isLast = postponed.count >= before
            before = postponed.count
            for cell in postponed { try retry(cell, isLast: isLast) }
        }
    }

    private func retry(_ cell: Unresolved, isLast: Bool) throws(DatabaseError) {
        let plan = try plans.plan(cell.table)
        try cell.text.withBytes { text throws(DatabaseError) in
            try assign(
                plan, cell.key, ObjectScratch.Cell(field: cell.field, text: text, line: cell.line), isLast: isLast)
        }
    }
}
