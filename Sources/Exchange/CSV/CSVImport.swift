/// The rows of a CSV file as objects of one class, in batches, in the session's open write.
///
/// The header names properties. An empty field is null where the property takes it; a quoted one is always text. A link
/// is the primary key of its target (`#7` where there is none); collections and mixed values are JSON.
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

package final class CSVImport {
    package struct Options {
        package var delimiter = UInt8(ascii: ",")
        /// Text that stands for null, beside the empty field.
        package var null = "NA"
        package var policy = UpdatePolicy.error
        package var batchRows = 1_000
        /// Commits and begins anew after that many rows; 0: never.
        package var commitEvery = 0
        /// Called with the rows so far and the bytes read.
        package var progress: ((Int, Int) throws(DatabaseError) -> Void)?

        package init() {}
    }

    package private(set) var outcome = ImportOutcome()
    private let session: Session
    private let options: Options
    private let null: [UInt8]
    private let plan: ClassPlan
    /// Links to what comes later and JSON in cells are its work.
    private let cells: JSONImport
    private var pendingCells: [(row: Int, cell: ObjectScratch.Cell)] = []
    private var rowsSinceCommit = 0

    package init(_ session: Session, into table: TableKey, _ options: Options = Options()) throws(DatabaseError) {
        self.session = session
        self.options = options
        null = Array(options.null.utf8)
        var forCells = JSONImport.Options()
        forCells.policy = options.policy
        cells = try JSONImport(session, into: table, forCells)
        plan = try cells.plans.plan(table)
    }

    static func header(_ reader: inout CSVReader) throws(DatabaseError) -> [String] {
        var fields: [CSVField] = []
        guard try reader.next(&fields) else {
            throw DatabaseError(.invalidArgument, "line 1: there is no header line")
        }
        return fields.map(\.string)
    }

    static func isNull(_ field: CSVField, _ null: [UInt8]) -> Bool {
        !field.isQuoted && (field.raw.isEmpty || field.raw.elementsEqual(null))
    }

    package func run(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
        var reader = CSVReader(bytes, delimiter: options.delimiter)
        let columns = try columns(try Self.header(&reader))
        let rows = PendingRows(
            plan.table, columns.compactMap { isInRow($0.field) ? $0.field.column : nil },
            capacity: options.batchRows)
        var fields: [CSVField] = []
        while try reader.next(&fields) {
            if fields.count == 1, columns.count > 1, fields[0].raw.isEmpty, !fields[0].isQuoted { continue }
            guard fields.count == columns.count else {
                throw DatabaseError(
                    .invalidArgument,
                    "line \(reader.line): \(fields.count) fields where the header has \(columns.count)")
            }
            try append(fields, columns, rows, line: reader.line)
            if rows.isFull { try flush(rows, reader.position) }
        }
        try flush(rows, reader.position)
        try cells.finishLinks()
    }

    private typealias Column = (index: Int, field: ClassPlan.Field)

    private func columns(_ header: [String]) throws(DatabaseError) -> [Column] {
        var columns: [Column] = []
        for name in header {
            let found = name.withUTF8Bytes { plan.find($0, hint: columns.count) }
            guard let found else {
                do throws(DatabaseError) { _ = try plan.type.requiredProperty(named: name) } catch {
                    throw ExchangeError.at(line: 1, error)
                }
                throw DatabaseError(
                    .invalidArgument, "line 1: \(plan.type.name).\(name) is computed; it cannot be imported")
            }
            guard !columns.contains(where: { $0.index == found }) else {
                throw DatabaseError(.invalidArgument, "line 1: there are two columns '\(name)'")
            }
            columns.append((found, plan.fields[found]))
        }
        return columns
    }

    // MARK: Rows

    private func append(
        _ fields: [CSVField], _ columns: [Column], _ rows: PendingRows, line: Int
    ) throws(DatabaseError) {
        let values = rows.begin(line: line)
        let row = rows.count - 1
        var position = 0
        for (index, (fieldIndex, field)) in columns.enumerated() {
            let value = try value(fields[index], field, rows.arena, line: line)
            let isInRow = isInRow(field)
            if value == nil || !isInRow {
                let text =
                    value?.isNull == true ? Self.nullText : cellText(fields[index].text(rows.arena), field, rows.arena)
                pendingCells.append((row, ObjectScratch.Cell(field: fieldIndex, text: text, line: line)))
            }
            guard isInRow else { continue }
            values[position] = value ?? plan.defaultValue(field)
            position += 1
        }
    }

    private static var nullText: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: ("null" as StaticString).utf8Start, count: 4)
    }

    /// What may have to wait is not part of a row that updates: its place would be overwritten first.
    private func isInRow(_ field: ClassPlan.Field) -> Bool {
        guard field.position >= 0, !field.ownsTarget else { return false }
        return options.policy == .error || (field.target == nil && field.property.type != .mixed)
    }

    /// nil for what waits until the object has its key.
    private func value(
        _ cell: CSVField, _ field: ClassPlan.Field, _ arena: ByteArena, line: Int
    ) throws(DatabaseError) -> ValueView? {
        let type = field.property.type
        if Self.isNull(cell, null) {
            if field.position < 0 || field.property.isNullable || type == .mixed { return .null }
            // An empty text is a text.
            if type == .string { return .string(cell.raw) }
        }
        guard field.position >= 0, type != .mixed, !field.ownsTarget else { return nil }
        let text = cell.text(arena)
        if let target = field.target {
            var reader = JSONReader(cellText(text, field, arena))
            guard case .link(let link)? = try? cells.reference(&reader, target, isLast: false) else { return nil }
            return .link(link)
        }
        if let value = CSVCell.value(text, type, arena) { return value }
        throw DatabaseError(
            .wrongType,
            "line \(line): '\(String(decoding: text.prefix(60), as: UTF8.self))' in column "
                + "\(field.property.name) is not \(type.name)",
            className: plan.type.name, propertyName: field.property.name)
    }

    /// A cell as JSON: a link's text in the form of its target's primary key, everything else as it is.
    private func cellText(
        _ text: UnsafeRawBufferPointer, _ field: ClassPlan.Field, _ arena: ByteArena
    ) -> UnsafeRawBufferPointer {
        guard field.position >= 0, !field.ownsTarget, let target = field.target, let type = cells.plans.schema[target]
        else { return text }
        var sink = ByteSink()
        if type.primaryKey?.type == .int {
            sink.append(text)
        } else if type.primaryKey != nil {
            JSONValueWriter.string(text, to: &sink)
        } else if text.first == UInt8(ascii: "#") {
            sink.append("{\"$key\":")
            sink.append(UnsafeRawBufferPointer(rebasing: text[1...]))
            sink.append("}")
        } else {
            sink.append(text)
        }
        return arena.copy(sink.bytes)
    }

    private func flush(_ rows: PendingRows, _ position: Int) throws(DatabaseError) {
        guard rows.count > 0 else { return }
        let changes = try rows.flush(session, options.policy)
        outcome.created += changes.created
        outcome.updated += changes.updated
        for (row, cell) in pendingCells { try cells.assign(plan, ObjectKey(rows.keys[row]), cell) }
        pendingCells.removeAll(keepingCapacity: true)
        rowsSinceCommit += rows.count
        rows.forget()
        try options.progress?(outcome.total, position)
        guard options.commitEvery > 0, rowsSinceCommit >= options.commitEvery else { return }
        rowsSinceCommit = 0
        try session.commit()
        try session.beginWrite()
    }
}
