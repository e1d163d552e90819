/// Batches of an Arrow export in Arrow's own format between processes: a stream that is read as it comes, or a file,
/// which has a table of its batches at the end (https://arrow.apache.org/docs/format/Columnar.html).
///
/// The buffers are those that the C data interface hands out. Batch by batch, so that memory does not grow with what is
/// exported.
import MotteLiveObjects
import MotteValues

package struct ArrowFileExport {
    package enum Form: Sendable {
        case file, stream
    }

    private static let magic = Array("ARROW1".utf8)
    /// Of every buffer, as Arrow recommends.
    private static let alignment = 64
    private static let pieceBytes = 1 << 16

    private let form: Form
    private let schema: ArrowField
    /// Bytes of everything so far.
    private var written = 0
    /// Where each batch is, for the table at the end: its place, the length of its description and of its body.
    private var blocks: [[Int64]] = []

    private init(_ schema: ArrowField, as form: Form) {
        self.schema = schema
        self.form = form
    }

    /// Columns of a collection; `check` runs before each batch, and may end it.
    package static func write(
        _ collection: LiveCollection, columns: [String], as form: Form, to sink: inout ByteSink,
        check: () throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        var options = ArrowExport.Options()
        options.columns = columns
        try write(try ArrowExport(collection, options), as: form, to: &sink, check: check)
    }

    package static func write(
        _ export: ArrowExport, as form: Form, to sink: inout ByteSink, check: () throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        var file = ArrowFileExport(export.schema, as: form)
        try file.begin(&sink)
        try check()
        while let batch = try export.next() {
            try file.append(batch, &sink)
            try check()
        }
        try file.end(&sink)
    }

    // MARK: Parts

    private mutating func begin(_ sink: inout ByteSink) throws(DatabaseError) {
        if form == .file { try write(Self.magic + [0, 0], &sink) }
        var metadata = FlatBuffer()
        let place = ArrowFileSchema.place(of: schema, in: &metadata)
        try message(.schema, place, bodyBytes: 0, &metadata, &sink)
    }

    private mutating func append(_ batch: ArrowData, _ sink: inout ByteSink) throws(DatabaseError) {
        var parts = Parts()
        for (column, field) in zip(batch.children, schema.children) { parts.append(column, field) }
        var places: [[Int64]] = []
        var bodyBytes = 0
        for part in parts.buffers {
            places.append([Int64(bodyBytes), Int64(part.count)])
            bodyBytes += Self.padded(part.count)
        }
        var metadata = FlatBuffer()
        let buffers = metadata.vector(ofStructs: places)
        let nodes = metadata.vector(ofStructs: parts.nodes)
        let place = metadata.table([.long(Int64(batch.length)), .place(nodes), .place(buffers)])
        let start = written
        try message(.batch, place, bodyBytes: bodyBytes, &metadata, &sink)
        // The length is a number of 32 bits with a gap behind it.
        blocks.append([Int64(start), Int64(written - start), Int64(bodyBytes)])
        for part in parts.buffers { try write(part, &sink) }
    }

    private mutating func end(_ sink: inout ByteSink) throws(DatabaseError) {
        try write([0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0], &sink)
        guard form == .file else { return }
        var footer = FlatBuffer()
        let schema = ArrowFileSchema.place(of: schema, in: &footer)
        let batches = footer.vector(ofStructs: blocks)
        let dictionaries = footer.vector(ofStructs: [])
        let root = footer.table([
            .short(ArrowFileSchema.version), .place(schema), .place(dictionaries), .place(batches),
        ])
        let bytes = footer.finish(root)
        try write(bytes + Self.bytes(Int32(bytes.count)) + Self.magic, &sink)
    }

    // MARK: Buffers

    /// The columns of a batch and what is in them, each before its children.
    private struct Parts {
        struct Buffer {
            let content: ArrowBuffer
            let count: Int
            /// Of a bitmap: bits of its last byte that are in use.
            let lastBits: Int
        }

        var nodes: [[Int64]] = []
        var buffers: [Buffer] = []

        mutating func append(_ data: ArrowData, _ field: ArrowField) {
            nodes.append([Int64(data.length), Int64(data.nullCount)])
            for (index, content) in data.buffers.enumerated() {
                guard index == 0 || field.format == "b" else {
                    buffers.append(Buffer(content: content, count: content.count, lastBits: 0))
                    continue
                }
                // Without nulls, no bitmap of them.
                let bits = index == 0 && data.nullCount == 0 ? 0 : data.length
                buffers.append(Buffer(content: content, count: (bits + 7) / 8, lastBits: bits & 7))
            }
            for (child, field) in zip(data.children, field.children) { append(child, field) }
        }
    }

    private static func padded(_ count: Int) -> Int { (count + alignment - 1) & ~(alignment - 1) }

    /// In pieces, so that what is ready can go on its way before all of it is.
    private mutating func write(_ part: Parts.Buffer, _ sink: inout ByteSink) throws(DatabaseError) {
        guard part.count > 0, let start = part.content.start else { return }
        if part.lastBits > 0 {
            // What lies behind them nobody has set.
            let last = part.count - 1
            start.storeBytes(
                of: start.load(fromByteOffset: last, as: UInt8.self) & (1 << UInt8(part.lastBits) - 1),
                toByteOffset: last, as: UInt8.self)
        }
        var place = 0
        while place < part.count {
            let size = min(Self.pieceBytes, part.count - place)
            sink.append(UnsafeRawBufferPointer(start: start + place, count: size))
            try sink.flushIfFull()
            place += size
        }
        let padding = Self.padded(part.count) - part.count
        for _ in 0 ..< padding { sink.append(UInt8(0)) }
        written += part.count + padding
    }

    // MARK: Messages

    private mutating func message(
        _ kind: ArrowFileSchema.Message, _ place: FlatBuffer.Place, bodyBytes: Int, _ metadata: inout FlatBuffer,
        _ sink: inout ByteSink
    ) throws(DatabaseError) {
        let root = metadata.table([
            .short(ArrowFileSchema.version), .byte(kind.rawValue), .place(place), .long(Int64(bodyBytes)),
        ])
        let bytes = metadata.finish(root)
        try write([0xFF, 0xFF, 0xFF, 0xFF] + Self.bytes(Int32(bytes.count)) + bytes, &sink)
    }

    private mutating func write(_ bytes: [UInt8], _ sink: inout ByteSink) throws(DatabaseError) {
        bytes.withUnsafeBytes { sink.append($0) }
        try sink.flushIfFull()
        written += bytes.count
    }

    private static func bytes(_ number: Int32) -> [UInt8] { withUnsafeBytes(of: number.littleEndian) { Array($0) } }
}
