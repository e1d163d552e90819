/// The rows of a CSV file as objects of one class, in batches, in the session's open write.
///
/// The header names properties. An empty field is null where the property takes it; a quoted one is always text. A link
/// is the primary key of its target; collections and mixed values are JSON. Links to classes without a primary key
/// are refused: the number that an export writes for one, `#7`, is another object's in another file.
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

package final class CSVImport {
    /// Of a time without a zone, in seconds since 1970 as if it were in UTC, the seconds that are meant.
    package typealias Zone = @Sendable (Int64) -> Int64?

    package struct Options {
        package var delimiter = UInt8(ascii: ",")
        /// Text that stands for null, beside the empty field.
        package var null = "NA"
        /// nil: times need their zone.
        package var zone: Zone?
        package var policy = UpdatePolicy.error
        package var batchRows = 1_000
        /// Commits and starts over after that many rows; 0: never.
        package var commitEvery = 0
        /// Called with the rows so far and the bytes read.
        package var progress: ((Int, Int) throws(DatabaseError) -> Void)?
        /// Bytes from which on a thread of its own reads ahead.
        package var readsAheadFrom = ReadAhead.worthwhile

        package init() {}

        /// Not where what ends a field may be part of a number or bool, or what means null is one.
        var readsValuesInPlace: Bool {
            !PlainScan.isInValues(delimiter) && !(null.utf8.first.map(PlainScan.isInValues) ?? false)
        }
    }

    package private(set) var outcome = ImportOutcome()
    private let session: Session
    private let options: Options
    private let plan: ClassPlan
    /// Links to what comes later and JSON in cells are its work.
    private let cells: JSONImport
    private var rowsSinceCommit = 0

    package init(_ session: Session, into table: TableKey, _ options: Options = Options()) throws(DatabaseError) {
        self.session = session
        var options = options
        // Commits happen between batches.
        if options.commitEvery > 0 { options.batchRows = min(options.batchRows, options.commitEvery) }
        self.options = options
        var forCells = JSONImport.Options()
        forCells.policy = options.policy
        forCells.takesObjectKeys = false
        cells = try JSONImport(session, into: table, forCells)
        plan = try cells.plans.plan(table)
    }

    static func header(_ reader: inout CSVReader) throws(DatabaseError) -> [String] {
        var fields: [CSVField] = []
        guard try reader.next(&fields) else {
            throw DatabaseError(.invalidArgument, "line 1: there is no header line")
        }
        var names: [String] = []
        for field in fields {
            guard UTF8Validation.isValid(field.raw) else {
                throw DatabaseError(
                    .invalidUTF8,
                    "line 1: the name '\(field.string)' is not valid UTF-8; say which encoding the text has")
            }
            names.append(field.string)
        }
        return names
    }

    static func isNull(_ field: CSVField, _ null: [UInt8]) -> Bool {
        !field.isQuoted && (field.raw.isEmpty || field.raw.elementsEqual(null))
    }

    package func run(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
        let reader = try CSVRows(bytes, plan, options, links: cells)
        let readsAhead =
            reader.isReadAlone
            && ReadAhead.pays(bytes: bytes.count, from: options.readsAheadFrom, batchRows: options.batchRows)
        let batches = (0 ..< (readsAhead ? ReadAhead.batches : 1)).map { _ -> PendingRows in
            let rows = PendingRows(capacity: options.batchRows)
            rows.become(plan, reader.rowColumns)
            return rows
        }
        try ReadAhead.run(reader, batches) { (rows) throws(DatabaseError) in
            try InputFile.requireWhole(bytes)
            try flush(rows)
            if let start = bytes.baseAddress { InputFile.letGo(before: start + rows.position) }
        }
        try cells.finishLinks()
    }

    private func flush(_ rows: PendingRows) throws(DatabaseError) {
        guard rows.count > 0 else { return }
        let changes = try rows.flush(session, options.policy)
        cells.supersede(plan, rows.columns, UnsafeBufferPointer(start: rows.keys, count: rows.count))
        outcome.created += changes.created
        outcome.updated += changes.updated
        for (row, cell) in rows.cells { try cells.assign(plan, ObjectKey(rows.keys[row]), cell) }
        rowsSinceCommit += rows.count
        try options.progress?(outcome.total, rows.position)
        guard options.commitEvery > 0, rowsSinceCommit >= options.commitEvery else { return }
        rowsSinceCommit = 0
        try session.commitAndGoOn()
    }
}
