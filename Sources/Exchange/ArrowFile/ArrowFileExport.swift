/// Objects as Arrow's own format between processes: a stream that is read as it comes, or a file, which has a table of
/// its batches at the end (https://arrow.apache.org/docs/format/Columnar.html).
///
/// Written batch by batch, so that memory does not grow with what is exported.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

package struct ArrowFileExport {
    package enum Form: Sendable {
        case file, stream
    }

    private static let batchRows = 65_536
    /// A batch with long texts ends earlier, far below what its offsets of 32 bits can name.
    private static let batchBytes = 64 << 20
    private static let magic = Array("ARROW1".utf8)
    /// Version 5 of the metadata.
    private static let version: Int16 = 4

    private let session: Session
    private let form: Form
    private var columns: [ArrowFileColumn]
    private var json: JSONExport
    private var rowCount = 0
    private var byteCount = 0
    /// Of everything so far.
    private var written = 0
    private var batches: [[Int64]] = []

    package init(_ session: Session, _ columns: [ColumnPath], as form: Form) throws(DatabaseError) {
        self.session = session
        self.form = form
        let schema = try session.schema
        self.columns = columns.map { ArrowFileColumn($0, in: schema) }
        json = try JSONExport(session)
    }

    // MARK: The whole

    package mutating func begin(_ sink: inout ByteSink) {
        if form == .file { write(Self.magic + [0, 0], &sink) }
        var metadata = FlatBuffer()
        let schema = schema(&metadata)
        message(header: 1, schema, bodyLength: 0, &metadata, &sink)
    }

    package mutating func row(_ object: ObjectLink, to sink: inout ByteSink) throws(DatabaseError) {
        for index in columns.indices { try append(object, to: index) }
        rowCount += 1
        if rowCount == Self.batchRows || byteCount >= Self.batchBytes { flush(&sink) }
    }

    package mutating func end(_ sink: inout ByteSink) {
        if rowCount > 0 { flush(&sink) }
        write([0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0], &sink)
        guard form == .file else { return }
        var footer = FlatBuffer()
        let schema = schema(&footer)
        let blocks = footer.vector(ofStructs: batches)
        let none = footer.vector(ofStructs: [])
        let root = footer.table([.short(Self.version), .place(schema), .place(none), .place(blocks)])
        let bytes = footer.finish(root)
        write(bytes, &sink)
        write(Self.bytes(Int32(bytes.count)) + Self.magic, &sink)
    }

    // MARK: Values

    private mutating func append(_ object: ObjectLink, to index: Int) throws(DatabaseError) {
        let path = columns[index].path
        guard let owner = try path.owner(of: object, in: session) else { return columns[index].appendNull() }
        let property = path.property
        guard property.collection == .none, let column = property.columnKey else {
            return try appendText(index) { (export, sink) throws(DatabaseError) in
                try export.json.property(owner, property, to: &sink)
            }
        }
        let value = try session.value(owner.table, column, owner.key)
        if value.isNull { return columns[index].appendNull() }
        if case .text = columns[index].kind {
            return try appendText(index) { (export, sink) throws(DatabaseError) in
                try export.write(value, owner, property, &sink)
            }
        }
        byteCount += value.kind == .string || value.kind == .data ? value.bytes.count : 8
        guard value.kind == .link, let key = try session.schema[value.linkValue.table]?.primaryKey?.columnKey else {
            return try columns[index].append(value)
        }
        try columns[index].append(try session.value(value.linkValue.table, key, value.linkValue.key))
    }

    private mutating func write(
        _ value: ValueView, _ owner: ObjectLink, _ property: Property, _ sink: inout ByteSink
    ) throws(DatabaseError) {
        let isEmbedded = try property.target.map { target throws(DatabaseError) in
            try session.schema[target]?.isEmbedded ?? false
        }
        if isEmbedded == true || property.type == .mixed { return try json.property(owner, property, to: &sink) }
        try PlainText.write(value, in: session, to: &sink)
    }

    private mutating func appendText(
        _ index: Int, _ body: (inout ArrowFileExport, inout ByteSink) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        var text = ByteSink()
        try body(&self, &text)
        byteCount += text.bytes.count
        text.bytes.withUnsafeBytes { columns[index].append(text: $0) }
    }

    // MARK: Messages

    private mutating func flush(_ sink: inout ByteSink) {
        var nodes: [[Int64]] = []
        var places: [[Int64]] = []
        var body: [UInt8] = []
        for column in columns {
            nodes.append([Int64(rowCount), Int64(column.nullCount)])
            for buffer in column.buffers {
                places.append([Int64(body.count), Int64(buffer.count)])
                body.append(contentsOf: buffer)
                while body.count % 64 != 0 { body.append(0) }
            }
        }
        var metadata = FlatBuffer()
        let buffers = metadata.vector(ofStructs: places)
        let fields = metadata.vector(ofStructs: nodes)
        let batch = metadata.table([.long(Int64(rowCount)), .place(fields), .place(buffers)])
        let start = written
        message(header: 3, batch, bodyLength: body.count, &metadata, &sink)
        // A struct of 64, 32 and 64 bits, with a gap behind the second.
        batches.append([Int64(start), Int64(written - start), Int64(body.count)])
        write(body, &sink)
        for index in columns.indices { columns[index].clear() }
        rowCount = 0
        byteCount = 0
    }

    private mutating func message(
        header: UInt8, _ place: FlatBuffer.Place, bodyLength: Int, _ metadata: inout FlatBuffer, _ sink: inout ByteSink
    ) {
        let root = metadata.table([
            .short(Self.version), .byte(header), .place(place), .long(Int64(bodyLength)),
        ])
        let bytes = metadata.finish(root)
        write([0xFF, 0xFF, 0xFF, 0xFF] + Self.bytes(Int32(bytes.count)) + bytes, &sink)
    }

    private mutating func write(_ bytes: [UInt8], _ sink: inout ByteSink) {
        bytes.withUnsafeBytes { sink.append($0) }
        written += bytes.count
    }

    private static func bytes(_ number: Int32) -> [UInt8] { withUnsafeBytes(of: number.littleEndian) { Array($0) } }

    // MARK: The schema

    private func schema(_ buffer: inout FlatBuffer) -> FlatBuffer.Place {
        var fields: [FlatBuffer.Place] = []
        for column in columns {
            let name = buffer.string(column.path.text)
            let (number, type) = type(column.kind, &buffer)
            let children = buffer.vector(of: [])
            fields.append(
                buffer.table([
                    .place(name), .byte(column.isNullable ? 1 : 0), .byte(number), .place(type), .absent,
                    .place(children),
                ]))
        }
        let vector = buffer.vector(of: fields)
        return buffer.table([.short(0), .place(vector)])
    }

    /// Its number in the union of types, and the table of that type.
    private func type(_ kind: ArrowFileColumn.Kind, _ buffer: inout FlatBuffer) -> (UInt8, FlatBuffer.Place) {
        switch kind {
        case .bool: return (6, buffer.table([]))
        case .int: return (2, buffer.table([.int(64), .byte(1)]))
        case .float: return (3, buffer.table([.short(1)]))
        case .double: return (3, buffer.table([.short(2)]))
        case .string, .text: return (5, buffer.table([]))
        case .data: return (4, buffer.table([]))
        case .time:
            let zone = buffer.string("UTC")
            return (10, buffer.table([.short(3), .place(zone)]))
        }
    }
}
