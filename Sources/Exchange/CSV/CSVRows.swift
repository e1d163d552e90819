/// The records of a CSV text as rows of a class.
///
/// A record is first read in place, a cell at a time and without an allocation. Where anything about it is out of the
/// ordinary, it is read once more as a whole, which says what is wrong.
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

final class CSVRows: RowReader {
    /// A column of the text.
    private struct Column {
        /// In `plan.fields`.
        let index: Int
        let field: ClassPlan.Field
        let isInRow: Bool
    }

    /// The same as far as every row asks for it.
    private struct QuickColumn {
        let reading: QuickReading
        let isNullable: Bool
        let isInRow: Bool
    }

    private let plan: ClassPlan
    private let policy: UpdatePolicy
    private let null: [UInt8]
    private let zone: CSVImport.Zone?
    /// What links to objects are looked up with; nothing else touches the store.
    private let links: JSONImport
    private var reader: CSVReader
    private let columns: [Column]
    private let quick: UnsafeMutablePointer<QuickColumn>
    private var fields: [CSVField] = []

    /// Reads the header. The bytes outlive the rows.
    init(
        _ bytes: UnsafeRawBufferPointer, _ plan: ClassPlan, _ options: CSVImport.Options, links: JSONImport
    ) throws(DatabaseError) {
        self.plan = plan
        self.links = links
        policy = options.policy
        null = Array(options.null.utf8)
        zone = options.zone
        reader = CSVReader(bytes, delimiter: options.delimiter)
        columns = try Self.columns(try CSVImport.header(&reader), plan, options.policy)
        quick = .allocate(capacity: max(columns.count, 1))
        // Where other texts than usual mean null or end a field, nothing but text is read in place.
        let isUsual = options.readsValuesInPlace
        for (index, column) in columns.enumerated() {
            let known = plan.quick[column.index]
            (quick + index).initialize(
                to: QuickColumn(
                    reading: column.isInRow && (isUsual || known.reading == .text) ? known.reading : .other,
                    isNullable: known.isNullable, isInRow: column.isInRow))
        }
    }

    deinit { quick.deallocate() }

    /// Of the values that are part of a row.
    var rowColumns: [ColumnKey] { columns.compactMap { $0.isInRow ? $0.field.column : nil } }

    /// Whether no column is a single link, which is looked up in the store as it is read.
    var isReadAlone: Bool {
        columns.allSatisfy { $0.field.position < 0 || $0.field.ownsTarget || $0.field.target == nil }
    }

    private static func columns(
        _ header: [String], _ plan: ClassPlan, _ policy: UpdatePolicy
    ) throws(DatabaseError) -> [Column] {
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
            let field = plan.fields[found]
            columns.append(Column(index: found, field: field, isInRow: isInRow(field, policy)))
        }
        return columns
    }

    /// What may have to wait is not part of a row that updates: its place would be overwritten first.
    private static func isInRow(_ field: ClassPlan.Field, _ policy: UpdatePolicy) -> Bool {
        guard field.position >= 0, !field.ownsTarget else { return false }
        return policy == .error || (field.target == nil && field.property.type != .mixed)
    }

    // MARK: Rows

    func fill(_ rows: PendingRows) throws(DatabaseError) -> Bool {
        // Of this call while it goes on: no access to it has to be checked.
        var reader = self.reader
        while !rows.isFull, !reader.isAtEnd {
            let (start, line) = (reader.position, reader.followingLine)
            let cells = rows.cells.count
            if readQuickly(&reader, rows) {
                rows.append(line: reader.line)
                continue
            }
            reader.goBack(to: start, line: line)
            if rows.cells.count > cells { rows.cells.removeLast(rows.cells.count - cells) }
            try readWhole(&reader, rows)
        }
        self.reader = reader
        rows.position = reader.position
        return !reader.isAtEnd
    }

    /// The values of a record in place; false where it has to be read as a whole, wherever that was found.
    private func readQuickly(_ reader: inout CSVReader, _ rows: PendingRows) -> Bool {
        guard reader.begin() else { return false }
        let values = rows.place
        let last = columns.count - 1
        var position = 0
        for index in 0 ... last {
            let column = quick[index]
            if let value = reader.quick(column.reading) ?? quickCell(&reader, column) {
                values[position] = value
                position &+= 1
            } else {
                // The record is then read as a whole, which finds the mistake again, with its line.
                guard let field = try? reader.field(),
                    // As above.
                    (try? put(field, index, rows, &position, line: reader.line)) != nil
                else { return false }
            }
            if index < last, !reader.endsField() { return false }
        }
        return reader.endRecord()
    }

    /// Text and null without quotes.
    @inline(__always)
    private func quickCell(_ reader: inout CSVReader, _ column: QuickColumn) -> ValueView? {
        guard column.isInRow, column.reading != .other else { return nil }
        let before = reader.position
        guard let text = reader.plainField() else { return nil }
        if isNull(text) {
            if column.isNullable { return .null }
        } else if column.reading == .text {
            return .string(text)
        }
        reader.move(to: before)
        return nil
    }

    @inline(__always)
    private func isNull(_ text: UnsafeRawBufferPointer) -> Bool {
        text.isEmpty || (text.count == null.count && text.elementsEqual(null))
    }

    private func readWhole(_ reader: inout CSVReader, _ rows: PendingRows) throws(DatabaseError) {
        guard try reader.next(&fields) else { return }
        if fields.count == 1, columns.count > 1, fields[0].raw.isEmpty, !fields[0].isQuoted { return }
        guard fields.count == columns.count else {
            throw DatabaseError(
                .invalidArgument, "line \(reader.line): \(fields.count) fields where the header has \(columns.count)")
        }
        var position = 0
        for index in columns.indices { try put(fields[index], index, rows, &position, line: reader.line) }
        rows.append(line: reader.line)
    }

    /// A cell into the row that comes next, or among what waits until that has a key.
    private func put(
        _ cell: CSVField, _ index: Int, _ rows: PendingRows, _ position: inout Int, line: Int
    ) throws(DatabaseError) {
        let column = columns[index]
        let value = try value(cell, column.field, rows.arena, line: line)
        if value == nil || !column.isInRow {
            let text =
                value?.isNull == true
                ? Self.nullText : cellText(cell.text(rows.arena), column.field, rows.arena)
            rows.cells.append((rows.count, ObjectScratch.Cell(field: column.index, text: text, line: line)))
        }
        guard column.isInRow else { return }
        rows.place[position] = value ?? plan.defaultValue(column.field)
        position += 1
    }

    private static var nullText: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: ("null" as StaticString).utf8Start, count: 4)
    }

    /// nil for what waits until the object has its key.
    private func value(
        _ cell: CSVField, _ field: ClassPlan.Field, _ arena: ByteArena, line: Int
    ) throws(DatabaseError) -> ValueView? {
        let type = field.property.type
        if CSVImport.isNull(cell, null) {
            if field.position < 0 || field.property.isNullable || type == .mixed { return .null }
            // An empty text is a text.
            if type == .string { return .string(cell.raw) }
        }
        guard field.position >= 0, type != .mixed, !field.ownsTarget else { return nil }
        let text = cell.text(arena)
        if let target = field.target {
            if text.first == UInt8(ascii: "#"), let type = links.plans.schema[target], type.primaryKey == nil {
                let refusal = JSONImport.foreignNumber(type.name)
                let name = "\(plan.type.name).\(field.property.name)"
                throw DatabaseError(
                    refusal.code, "line \(line): \(name): \(refusal.message)", className: plan.type.name,
                    propertyName: field.property.name)
            }
            var reader = JSONReader(cellText(text, field, arena))
            // It is looked at again when the object has its key, with the line.
            guard case .link(let link)? = try? links.reference(&reader, target, isLast: false), reader.isAtEnd
            else { return nil }
            return .link(link)
        }
        if let value = CSVCell.value(text, type, arena, zone: zone) { return value }
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
        guard field.position >= 0, !field.ownsTarget, let target = field.target, let type = links.plans.schema[target]
        else { return text }
        var sink = ByteSink()
        if type.primaryKey?.type == .int {
            sink.append(text)
        } else if type.primaryKey != nil {
            JSONValueWriter.string(text, to: &sink)
        } else {
            sink.append(text)
        }
        return arena.copy(sink.bytes)
    }
}
