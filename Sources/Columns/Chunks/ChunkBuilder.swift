/// One column of one row group while it is being written: typed buffers that append at memory speed and encode into the
/// narrowest chunk. Encoding consumes nothing.
///
/// Integers, links and seconds are `words`; doubles and floats their bits; bools 0 or 1; strings and data a start in
/// `heap` (`words`) and a byte count (`sizes`). Replaced texts stay in the heap until they are most of it.
///
/// The buffers are reached through one pointer and not as properties of the class, whose every access would be checked
/// for exclusivity at run time: a builder belongs to one write transaction.
import MotteValues

package final class ChunkBuilder {
    package let kind: ColumnKind
    package let isNullable: Bool
    let buffers: UnsafeMutablePointer<ChunkBuffers>

    /// Texts longer than the limit of `source` are kept there; without one, all are kept here.
    package init(kind: ColumnKind, nullable: Bool, capacity: Int, long source: (any LongTextSource)? = nil) {
        self.kind = kind
        isNullable = nullable
        buffers = .allocate(capacity: 1)
        buffers.initialize(to: ChunkBuffers(kind, isNullable: nullable, capacity: capacity, long: source))
    }

    deinit {
        buffers.pointee.deallocate()
        buffers.deinitialize(count: 1)
        buffers.deallocate()
    }

    package var count: Int { buffers.pointee.count }
    /// Bytes of the strings and data in it.
    package var heapBytes: Int { buffers.pointee.heapNamed }

    // MARK: Appending

    package func appendInt(_ value: Int64) { buffers.pointee.append(UInt64(bitPattern: value)) }
    package func appendLink(_ key: Int64) { key < 0 ? append(.null) : appendInt(key) }
    package func appendBool(_ value: Bool) { buffers.pointee.append(value ? 1 : 0) }
    package func appendFloat(_ value: Float) { buffers.pointee.append(UInt64(value.bitPattern)) }
    package func appendDouble(_ value: Double) { buffers.pointee.append(value.bitPattern) }
    package func appendTimestamp(_ value: Timestamp) {
        buffers.pointee.append(UInt64(bitPattern: value.seconds), size: value.nanoseconds)
    }
    /// Strings and data.
    package func appendBytes(_ bytes: UnsafeRawBufferPointer) { buffers.pointee.append(bytes: bytes) }

    /// `view` is null or of the column's kind.
    package func append(_ view: ValueView) { buffers.pointee.append(view) }

    /// `count` values, `stride` views apart: one column of rows that lie behind each other.
    package func append(_ views: UnsafePointer<ValueView>, stride: Int, count: Int) {
        buffers.pointee.append(views, stride, count)
    }

    /// Ints and doubles as they lie in memory; only for columns of that kind.
    package func append(ints: UnsafePointer<Int64>, count: Int) { append(words: UnsafeRawPointer(ints), count) }
    package func append(doubles: UnsafePointer<Double>, count: Int) { append(words: UnsafeRawPointer(doubles), count) }
    private func append(words: UnsafeRawPointer, _ count: Int) { buffers.pointee.append(words: words, count) }

    /// Texts that lie behind each other: the i-th is `heap[offsets[i] ..< offsets[i + 1]]`.
    package func append(texts heap: UnsafeRawPointer, offsets: UnsafePointer<Int64>, count: Int) {
        buffers.pointee.append(texts: heap, offsets, count)
    }

    /// Null where that is allowed, else 0, false, empty or the epoch.
    package func appendDefaults(_ number: Int) {
        buffers.pointee.reserve(number)
        for _ in 0 ..< number { buffers.pointee.append(.null) }
    }

    /// Rows of another builder of the same kind.
    package func append(_ source: ChunkBuilder, _ rows: Range<Int>) {
        buffers.pointee.reserve(rows.count)
        guard kind.hasBytes else {
            for row in rows { append(source.view(row)) }
            return
        }
        for row in rows { buffers.pointee.append(source.buffers.pointee, row) }
    }

    /// Rows of a chunk of the same kind.
    package func append(_ chunk: ColumnChunk, _ rows: Range<Int>) { buffers.pointee.append(chunk, rows) }

    package func load(_ chunk: ColumnChunk) {
        removeAll()
        append(chunk, 0 ..< chunk.count)
    }

    // MARK: Editing

    package func set(_ row: Int, _ view: ValueView) { buffers.pointee.set(row, view) }
    package func insert(_ view: ValueView, at row: Int) { buffers.pointee.insert(view, at: row) }
    /// Rows of another builder of the same kind; long texts change hands.
    package func set(_ row: Int, _ source: ChunkBuilder, _ sourceRow: Int) {
        buffers.pointee.set(row, source.buffers.pointee, sourceRow)
    }
    package func insert(_ source: ChunkBuilder, _ sourceRow: Int, at row: Int) {
        buffers.pointee.insert(source.buffers.pointee, sourceRow, at: row)
    }
    package func remove(at row: Int) { buffers.pointee.remove(at: row) }
    package func removeAll() { buffers.pointee.removeAll() }

    // MARK: Reading

    package func isNull(_ row: Int) -> Bool { !buffers.pointee.isPresent(row) }

    /// Borrowed bytes live until the next change, and may be handed back to it. Links come with table 0.
    package func view(_ row: Int) -> ValueView { buffers.pointee.view(row) }

    /// Throws where the row's value is a long one that cannot be read; `view` shows it as empty.
    @inline(__always)
    package func checkLongText(_ row: Int) throws(DatabaseError) { try buffers.pointee.longText(row)?.check() }

    package func isLong(_ row: Int) -> Bool { buffers.pointee.isLong(row) }

    package var longReferences: [LongTextReference] {
        (0 ..< count).compactMap { buffers.pointee.longText($0)?.reference }
    }

    // MARK: Changing hands

    /// Lets go of the write that it was part of, so that a later one may go on with it (`join`). False where one of the
    /// values lies in that write or in the version below it.
    package func leaveWrite() -> Bool {
        guard !buffers.pointee.hasLongTexts else { return false }
        buffers.pointee.dropLongTexts()
        return true
    }

    package func join(_ source: (any LongTextSource)?) { buffers.pointee.setLongSource(source) }

    /// Memory that it holds.
    package var allocatedBytes: Int { buffers.pointee.allocatedBytes }

    // MARK: Encoding

    /// For as long as the builder lives and does not change.
    package func makeEncoder() -> ChunkEncoder { ChunkEncoder(buffers.pointee) }

    /// Exactly the bytes that `encode` makes.
    package func encodedSize() -> Int { makeEncoder().size }

    package func encode(key: UnsafeRawBufferPointer) -> [UInt8] {
        let encoder = makeEncoder()
        // Every chunk has a header.
        return [UInt8](unsafeUninitializedCapacity: encoder.size) { output, used in
            guard let base = output.baseAddress else { return }
            encoder.write(to: UnsafeMutableRawPointer(base), key: key)
            used = encoder.size
        }
    }
}
