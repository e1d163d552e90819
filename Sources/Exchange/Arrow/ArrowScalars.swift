/// Values of one type on their way into Arrow buffers: the innermost part of every column.
import MotteColumns
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

/// Elements of one column of a batch: of a property of rows, or of the lists in it.
class ArrowValues {
    private(set) final var presence = ArrowPresence()
    final var count: Int { presence.count }

    func append(_ chunk: ColumnChunk, _ rows: Range<Int>) throws(DatabaseError) {
        try presence.append(chunk, rows)
    }

    /// Rows in any order.
    func append(_ chunk: ColumnChunk, _ slots: Slots) throws(DatabaseError) {
        try presence.append(chunk, slots)
    }

    /// One value of any chunk or document.
    func append(_ value: ValueView) throws(DatabaseError) {
        try presence.append(isPresent: !value.isNull)
    }

    func appendNulls(_ count: Int) throws(DatabaseError) {
        try presence.append(isPresent: false, times: count)
    }

    final func appendPresent(_ count: Int) throws(DatabaseError) {
        try presence.append(isPresent: true, times: count)
    }

    /// What has been appended; nothing is afterwards.
    final func finish() throws(DatabaseError) -> ArrowData {
        let (buffers, children) = try takeBuffers()
        defer { presence = ArrowPresence() }
        return ArrowData(
            length: count, nullCount: presence.nullCount, buffers: [presence.buffer] + buffers, children: children)
    }

    /// Apart from what is present.
    func takeBuffers() throws(DatabaseError) -> ([ArrowBuffer], [ArrowData]) { ([], []) }

    /// Of fixed width: takes the buffer and begins another.
    final func swap(_ buffer: inout ArrowBuffer) -> ArrowBuffer {
        defer { buffer = ArrowBuffer() }
        return buffer
    }
}

/// What a column of a batch takes at most: beyond that, the batch is tried again with fewer rows.
final class ArrowLimit {
    /// Bytes of texts, or elements of lists.
    private static let usual = 1 << 27
    private var most = ArrowLimit.usual

    /// A single row has no fewer rows: it may take what offsets of 32 bits reach.
    func expect(rowCount: Int) { most = rowCount == 1 ? Int(Int32.max) : Self.usual }

    func check(_ count: Int, _ more: Int) throws(DatabaseError) {
        guard count + more <= most else {
            throw DatabaseError(
                .valueTooLarge, "a column of a batch takes more than \(most) bytes or elements of lists")
        }
    }
}

// MARK: Of fixed width

final class ArrowNumbers: ArrowValues {
    enum Form {
        case ints(IntWidth)
        case links
        case float, double
        case times(unitsPerSecond: Int64)
    }

    private let form: Form
    private let name: String
    private var buffer = ArrowBuffer()

    init(_ form: Form, name: String) {
        self.form = form
        self.name = name
    }

    override func append(_ chunk: ColumnChunk, _ rows: Range<Int>) throws(DatabaseError) {
        let count = rows.count
        switch form {
        case .ints(.bits8): chunk.decodeInts(rows, narrowed: try reserve(count, Int8.self))
        case .ints(.bits16): chunk.decodeInts(rows, narrowed: try reserve(count, Int16.self))
        case .ints(.bits32): chunk.decodeInts(rows, narrowed: try reserve(count, Int32.self))
        case .ints(.bits64), .links: chunk.decodeInts(rows, into: try reserve(count, Int64.self))
        case .float: chunk.decodeFloats(rows, into: try reserve(count, Float.self))
        case .double: chunk.decodeDoubles(rows, into: try reserve(count, Double.self))
        case .times(let unitsPerSecond):
            let place = try reserve(count, Int64.self)
            if let row = chunk.decodeTimes(rows, unitsPerSecond: unitsPerSecond, into: place) {
                throw tooFar(at: self.count + row - rows.lowerBound)
            }
        }
        if case .ints(let width) = form, width != .bits64 { try checkFits(chunk, rows, width) }
        try super.append(chunk, rows)
    }

    override func append(_ chunk: ColumnChunk, _ slots: Slots) throws(DatabaseError) {
        let count = slots.count
        switch form {
        case .ints(.bits8): chunk.decodeInts(slots, narrowed: try reserve(count, Int8.self))
        case .ints(.bits16): chunk.decodeInts(slots, narrowed: try reserve(count, Int16.self))
        case .ints(.bits32): chunk.decodeInts(slots, narrowed: try reserve(count, Int32.self))
        case .ints(.bits64), .links: chunk.decodeInts(slots, into: try reserve(count, Int64.self))
        case .float: chunk.decodeFloats(slots, into: try reserve(count, Float.self))
        case .double: chunk.decodeDoubles(slots, into: try reserve(count, Double.self))
        case .times(let unitsPerSecond):
            let place = try reserve(count, Int64.self)
            if let index = chunk.decodeTimes(slots, unitsPerSecond: unitsPerSecond, into: place) {
                throw tooFar(at: self.count + index)
            }
        }
        if case .ints(let width) = form, width != .bits64 {
            for slot in slots { try checkFits(chunk, Int(slot) ..< Int(slot) + 1, width) }
        }
        try super.append(chunk, slots)
    }

    /// Values from before a property became narrower stay as they were.
    private func checkFits(_ chunk: ColumnChunk, _ rows: Range<Int>, _ width: IntWidth) throws(DatabaseError) {
        let range = width.range
        for row in rows where !chunk.isNull(row) && !range.contains(chunk.int(row)) {
            throw DatabaseError(
                .overflow, "'\(name)' is an int\(width.bits), and a value of it is \(chunk.int(row)); declare it wider",
                propertyName: name)
        }
    }

    private func tooFar(at index: Int) -> DatabaseError {
        DatabaseError(
            .overflow,
            "'\(name)' of row \(index) of its batch is too far from 1970 for this unit; choose a coarser "
                + "one", propertyName: name)
    }

    private func reserve<T>(_ count: Int, _ type: T.Type) throws(DatabaseError) -> UnsafeMutablePointer<T> {
        let place = try buffer.reserve(count, of: type)
        buffer.count += count * MemoryLayout<T>.stride
        return place
    }

    override func append(_ value: ValueView) throws(DatabaseError) {
        switch form {
        case .ints(let width):
            guard value.isNull || width.holds(value.intValue) else {
                throw DatabaseError(
                    .overflow, "'\(name)' is an int\(width.bits), and one value is \(value.intValue)",
                    propertyName: name)
            }
            switch width {
            case .bits8: try buffer.append(Int8(truncatingIfNeeded: value.intValue))
            case .bits16: try buffer.append(Int16(truncatingIfNeeded: value.intValue))
            case .bits32: try buffer.append(Int32(truncatingIfNeeded: value.intValue))
            case .bits64: try buffer.append(value.intValue)
            }
        case .links: try buffer.append(value.isNull ? -1 : value.intValue)
        case .float: try buffer.append(value.floatValue)
        case .double: try buffer.append(value.doubleValue)
        case .times(let unitsPerSecond):
            let time = value.timestampValue
            let units =
                Int128(time.seconds) * Int128(unitsPerSecond)
                + Int128(Int64(time.nanoseconds) / (1_000_000_000 / unitsPerSecond))
            guard let exact = Int64(exactly: units) else { throw tooFar(at: count) }
            try buffer.append(exact)
        }
        try super.append(value)
    }

    override func appendNulls(_ count: Int) throws(DatabaseError) {
        for _ in 0 ..< count { try append(.null) }
    }

    override func takeBuffers() throws(DatabaseError) -> ([ArrowBuffer], [ArrowData]) { ([swap(&buffer)], []) }
}

final class ArrowBools: ArrowValues {
    private var buffer = ArrowBuffer()

    private func reserve(_ more: Int) throws(DatabaseError) -> UnsafeMutableRawPointer {
        let bytes = (count + more + 7) / 8
        _ = try buffer.reserve(max(bytes - buffer.count, 0))
        buffer.count = max(buffer.count, bytes)
        // unsafelyUnwrapped: something was reserved.
        return buffer.start.unsafelyUnwrapped
    }

    override func append(_ chunk: ColumnChunk, _ rows: Range<Int>) throws(DatabaseError) {
        chunk.copyBits(rows, to: try reserve(rows.count), at: count)
        try super.append(chunk, rows)
    }

    override func append(_ chunk: ColumnChunk, _ slots: Slots) throws(DatabaseError) {
        chunk.copyBits(slots, to: try reserve(slots.count), at: count)
        try super.append(chunk, slots)
    }

    override func append(_ value: ValueView) throws(DatabaseError) {
        BitRuns.fill(try reserve(1), at: count, count: 1, with: !value.isNull && value.boolValue)
        try super.append(value)
    }

    override func appendNulls(_ more: Int) throws(DatabaseError) {
        BitRuns.fill(try reserve(more), at: count, count: more, with: false)
        try super.appendNulls(more)
    }

    override func takeBuffers() throws(DatabaseError) -> ([ArrowBuffer], [ArrowData]) { ([swap(&buffer)], []) }
}

/// UUIDs and object ids.
final class ArrowFixed: ArrowValues {
    private let width: Int
    private var buffer = ArrowBuffer()

    init(width: Int) { self.width = width }

    override func append(_ chunk: ColumnChunk, _ rows: Range<Int>) throws(DatabaseError) {
        chunk.copyFixed(rows, width: width, to: try buffer.reserve(rows.count * width))
        buffer.count += rows.count * width
        try super.append(chunk, rows)
    }

    override func append(_ chunk: ColumnChunk, _ slots: Slots) throws(DatabaseError) {
        chunk.copyFixed(slots, width: width, to: try buffer.reserve(slots.count * width))
        buffer.count += slots.count * width
        try super.append(chunk, slots)
    }

    override func append(_ value: ValueView) throws(DatabaseError) {
        let place = try buffer.reserve(width)
        withUnsafeBytes(of: (value.isNull ? 0 : value.low, value.isNull ? 0 : value.high)) { source in
            UnsafeMutableRawBufferPointer(start: place, count: width).copyBytes(from: source.prefix(width))
        }
        buffer.count += width
        try super.append(value)
    }

    override func appendNulls(_ count: Int) throws(DatabaseError) {
        for _ in 0 ..< count { try append(.null) }
    }

    override func takeBuffers() throws(DatabaseError) -> ([ArrowBuffer], [ArrowData]) { ([swap(&buffer)], []) }
}

// MARK: Texts

/// Strings and data, behind each other.
class ArrowTexts: ArrowValues {
    private final let limit: ArrowLimit
    private final var offsets = ArrowBuffer()
    private final var heap = ArrowBuffer()

    init(_ limit: ArrowLimit) { self.limit = limit }

    private final func reserveEnds(_ more: Int) throws(DatabaseError) -> UnsafeMutablePointer<Int32> {
        if offsets.count == 0 { try offsets.append(Int32(0)) }
        return try offsets.reserve(more, of: Int32.self)
    }

    override func append(_ chunk: ColumnChunk, _ rows: Range<Int>) throws(DatabaseError) {
        let bound = chunk.byteBound(rows)
        try limit.check(heap.count, bound)
        let ends = try reserveEnds(rows.count)
        let place = try heap.reserve(bound + ColumnChunk.textSlack)
        heap.count += chunk.copyTexts(rows, base: heap.count, ends: ends, heap: place)
        offsets.count += rows.count * 4
        try super.append(chunk, rows)
    }

    override func append(_ chunk: ColumnChunk, _ slots: Slots) throws(DatabaseError) {
        let bound = chunk.byteBound(slots)
        try limit.check(heap.count, bound)
        let ends = try reserveEnds(slots.count)
        let place = try heap.reserve(bound + ColumnChunk.textSlack)
        heap.count += chunk.copyTexts(slots, base: heap.count, ends: ends, heap: place)
        offsets.count += slots.count * 4
        try super.append(chunk, slots)
    }

    override func append(_ value: ValueView) throws(DatabaseError) {
        try append(bytes: value.isNull ? nil : value.bytes)
        try super.append(value)
    }

    final func append(bytes: UnsafeRawBufferPointer?) throws(DatabaseError) {
        if let bytes, let start = bytes.baseAddress {
            try limit.check(heap.count, bytes.count)
            try heap.reserve(bytes.count).copyMemory(from: start, byteCount: bytes.count)
            heap.count += bytes.count
        }
        try reserveEnds(1).pointee = Int32(truncatingIfNeeded: heap.count)
        offsets.count += 4
    }

    override func appendNulls(_ more: Int) throws(DatabaseError) {
        let ends = try reserveEnds(more)
        for index in 0 ..< more { ends[index] = Int32(truncatingIfNeeded: heap.count) }
        offsets.count += more * 4
        try super.appendNulls(more)
    }

    override func takeBuffers() throws(DatabaseError) -> ([ArrowBuffer], [ArrowData]) {
        if offsets.count == 0 { try offsets.append(Int32(0)) }
        // An empty buffer has an address too: some readers ask for one.
        _ = try heap.reserve(1)
        return ([swap(&offsets), swap(&heap)], [])
    }
}

/// The same as views, whose texts of up to twelve bytes stand in place.
final class ArrowTextViews: ArrowValues {
    private let limit: ArrowLimit
    private var views = ArrowBuffer()
    private var heap = ArrowBuffer()

    init(_ limit: ArrowLimit) { self.limit = limit }

    override func append(_ chunk: ColumnChunk, _ rows: Range<Int>) throws(DatabaseError) {
        let bound = chunk.viewedByteCount(rows)
        try limit.check(heap.count, bound)
        let place = try heap.reserve(bound + ColumnChunk.textSlack)
        heap.count += chunk.copyViews(
            rows, base: heap.count, buffer: 0, views: try views.reserve(rows.count, of: TextView.self), heap: place)
        views.count += rows.count * MemoryLayout<TextView>.stride
        try super.append(chunk, rows)
    }

    override func append(_ chunk: ColumnChunk, _ slots: Slots) throws(DatabaseError) {
        let bound = chunk.byteBound(slots)
        try limit.check(heap.count, bound)
        let place = try heap.reserve(bound + ColumnChunk.textSlack)
        heap.count += chunk.copyViews(
            slots, base: heap.count, buffer: 0, views: try views.reserve(slots.count, of: TextView.self), heap: place)
        views.count += slots.count * MemoryLayout<TextView>.stride
        try super.append(chunk, slots)
    }

    override func append(_ value: ValueView) throws(DatabaseError) {
        let bytes = value.isNull ? UnsafeRawBufferPointer(start: nil, count: 0) : value.bytes
        try limit.check(heap.count, bytes.count)
        let place = try heap.reserve(bytes.count + ColumnChunk.textSlack)
        if let start = bytes.baseAddress { place.copyMemory(from: start, byteCount: bytes.count) }
        try views.append(bytes.isEmpty ? TextView() : TextView(place, bytes.count, 0, heap.count))
        if bytes.count > TextView.mostInPlace { heap.count += bytes.count }
        try super.append(value)
    }

    override func appendNulls(_ count: Int) throws(DatabaseError) {
        for _ in 0 ..< count { try append(.null) }
    }

    override func takeBuffers() throws(DatabaseError) -> ([ArrowBuffer], [ArrowData]) {
        let sizes = ArrowBuffer()
        try sizes.append(Int64(heap.count))
        _ = try heap.reserve(1)
        _ = try views.reserve(1)
        return ([swap(&views), swap(&heap), sizes], [])
    }
}

/// Values that Arrow has no type for, as their texts: decimals, whose exponents differ, and mixed values, as JSON.
final class ArrowWritten: ArrowTexts {
    private let write: (ValueView, inout ByteSink) throws(DatabaseError) -> Void
    private var sink = ByteSink()

    init(_ limit: ArrowLimit, _ write: @escaping (ValueView, inout ByteSink) throws(DatabaseError) -> Void) {
        self.write = write
        super.init(limit)
    }

    override func append(_ chunk: ColumnChunk, _ rows: Range<Int>) throws(DatabaseError) {
        for row in rows { try append(chunk.view(row)) }
    }

    override func append(_ chunk: ColumnChunk, _ slots: Slots) throws(DatabaseError) {
        for slot in slots { try append(chunk.view(Int(slot))) }
    }

    override func append(_ value: ValueView) throws(DatabaseError) {
        guard !value.isNull else { return try appendNulls(1) }
        sink.removeAll()
        try write(value, &sink)
        try sink.bytes.withBytes { bytes throws(DatabaseError) in try append(bytes: bytes) }
        try appendPresent(1)
    }
}
