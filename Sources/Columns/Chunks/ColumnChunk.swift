/// A view of the encoded values of one column of one row group: plain pointers into bytes that were checked once.
///
/// Payload by kind, after the optional validity bitmap (a multiple of 8 bytes, 1 = present) and the optional bitmap of
/// long texts (the same, 1 = what is in the text's place is a reference to it):
///
///     bool       bits, a multiple of 8 bytes
///     int, link  i64 reference | count x width (0, 1, 2, 4, 8): value = reference + packed
///     timestamp  i64 reference | count x width seconds | count x u32 nanoseconds where flagged
///     float      count x 4            double   count x 8
///     string,    encoding 0: count x u8 hash | (count + 1) x width (2, 4) offsets | heap
///     data,      encoding 1: count x width (1, 2) codes, padded to 8 | u32 distinct count | u32 offset width |
///     decimal,                        the distinct values as in encoding 0
///     uuid, objectId, mixed: the bytes of each value (see `ColumnKind.withBytes`) as a text
///
/// Validation guarantees that every later read stays inside. Bytes may be only 2-byte aligned.
import MotteValues

package struct ColumnChunk {
    package let kind: ColumnKind
    package let count: Int
    package let width: UInt8
    package let reference: Int64
    /// nil where no value is null.
    package let validity: UnsafeRawPointer?
    /// Packed values, bits, codes or hash bytes, by kind.
    package let values: UnsafeRawPointer
    /// Nanoseconds of timestamps, offsets of strings.
    let extra: UnsafeRawPointer?
    let heap: UnsafeRawPointer?
    /// Of stored texts: of rows, or of a dictionary's distinct ones. Elsewhere meaningless.
    let hashes: UnsafeRawPointer
    let offsetWidth: UInt8
    /// Of a dictionary: how many distinct values; -1 elsewhere.
    package let distinctCount: Int
    /// Of rows whose texts are too long for the chunk; nil where there are none. Borrowed from who made the chunk.
    private(set) var longTexts: Unmanaged<LongTexts>?

    /// Of no rows. `place` is any address.
    package init(emptyAt place: UnsafeRawPointer) {
        kind = .bool
        count = 0
        width = 0
        reference = 0
        validity = nil
        values = place
        extra = nil
        heap = nil
        hashes = place
        offsetWidth = 0
        distinctCount = -1
        longTexts = nil
    }

    /// The same of a copy of its bytes that lies `distance` behind them. Of chunks without long texts.
    func moved(by distance: Int) -> ColumnChunk {
        assert(longTexts == nil, "who keeps the long texts of a chunk knows nothing of its copies")
        return ColumnChunk(self, movedBy: distance)
    }

    private init(_ chunk: ColumnChunk, movedBy distance: Int) {
        kind = chunk.kind
        count = chunk.count
        width = chunk.width
        reference = chunk.reference
        validity = chunk.validity.map { $0 + distance }
        values = chunk.values + distance
        extra = chunk.extra.map { $0 + distance }
        heap = chunk.heap.map { $0 + distance }
        hashes = chunk.hashes + distance
        offsetWidth = chunk.offsetWidth
        distinctCount = chunk.distinctCount
        longTexts = nil
    }

    package var hasNulls: Bool { validity != nil }
    package var isDictionary: Bool { distinctCount >= 0 }

    /// An absent key stands for bytes that never were in a file. For chunks without long texts.
    package init(
        validating bytes: UnsafeRawBufferPointer, kind: ColumnKind, key: UnsafeRawBufferPointer
    ) throws(DatabaseError) {
        var none: LongTexts?
        try self.init(validating: bytes, kind: kind, key: key, long: nil, keeping: &none)
    }

    /// Long texts are looked for in `source`. The chunk is good for as long as the caller keeps `kept` and the bytes.
    package init(
        validating bytes: UnsafeRawBufferPointer, kind: ColumnKind, key: UnsafeRawBufferPointer,
        long source: (any LongTextSource)?, keeping kept: inout LongTexts?
    ) throws(DatabaseError) {
        let header = try ChunkHeader(validating: bytes, kind: kind.rawValue, key: key)
        var layout = ChunkLayout(bytes, header)
        self.kind = kind
        count = header.count
        width = header.width
        validity = header.flags & ChunkHeader.hasValidity != 0 ? try layout.take((count + 63) / 64 * 8) : nil
        var marks: UnsafeRawPointer?
        if header.flags & ChunkHeader.hasLongTexts != 0 {
            try layout.require(kind.mayBeLong && header.encoding == 0, "flags")
            marks = try layout.take((count + 63) / 64 * 8)
        }
        var reference: Int64 = 0
        var extra: UnsafeRawPointer?
        var heap: UnsafeRawPointer?
        var offsetWidth: UInt8 = 0
        var distinct = -1
        var hashes: UnsafeRawPointer?
        switch kind.layout {
        case .bits: values = try layout.take((count + 63) / 64 * 8)
        case .floats: values = try layout.take(count * 4)
        case .doubles: values = try layout.take(count * 8)
        case .ints:
            try layout.require([0, 1, 2, 4, 8].contains(width), "an integer width")
            reference = try layout.take(8).loadUnaligned(as: Int64.self)
            values = try layout.take(count * Int(width))
            if header.flags & ChunkHeader.hasNanoseconds != 0 {
                extra = try layout.take(count * 4)
                try Self.checkNanoseconds(extra, count, layout)
            }
        case .bytes:
            let text: ChunkLayout.Text
            if header.encoding == 1 {
                try layout.require(width == 1 || width == 2, "a code width")
                values = try layout.take((count * Int(width) + 7) & ~7)
                distinct = Int(try layout.take(4).loadUnaligned(as: UInt32.self))
                let offsets = try layout.take(4).loadUnaligned(as: UInt32.self)
                text = try layout.takeText(distinct, offsetWidth: UInt8(truncatingIfNeeded: offsets))
                try Self.checkCodes(values, width, count, below: distinct, layout)
            } else {
                try layout.require(header.encoding == 0, "a string encoding")
                text = try layout.takeText(count, offsetWidth: width)
                values = text.hashes
            }
            extra = text.offsets
            hashes = text.hashes
            heap = text.heap
            offsetWidth = text.offsetWidth
        }
        self.reference = reference
        self.extra = extra
        self.heap = heap
        self.hashes = hashes ?? values
        self.offsetWidth = offsetWidth
        distinctCount = distinct
        longTexts = nil
        kept = nil
        if let marks {
            guard let source else { throw .corrupted("a chunk refers to long values where none can be") }
            let here = self
            let texts = try LongTexts(marks, count, kind, here.hashes, in: source) { here.text($0) }
            kept = texts
            longTexts = Unmanaged.passUnretained(texts)
        }
        if kind.hasBytes, kind != .string, kind != .data { try checkValues() }
    }

    /// What is stored as bytes but has a form of its own.
    private func checkValues() throws(DatabaseError) {
        // Null rows are empty texts that nobody reads.
        if isDictionary {
            for code in 0 ..< distinctCount where !text(code).isEmpty { try kind.check(text(code)) }
            for row in 0 ..< count where !isNull(row) && text(code(row)).isEmpty { try kind.check(text(code(row))) }
        } else {
            for row in 0 ..< count where !isNull(row) && longText(row) == nil { try kind.check(text(row)) }
        }
    }

    private static func checkNanoseconds(
        _ start: UnsafeRawPointer?, _ count: Int, _ layout: ChunkLayout
    ) throws(DatabaseError) {
        guard let start else { return }
        var highest: UInt32 = 0
        for row in 0 ..< count {
            highest = max(highest, start.loadUnaligned(fromByteOffset: row &* 4, as: UInt32.self))
        }
        try layout.require(highest < 1_000_000_000, "nanoseconds")
    }

    private static func checkCodes(
        _ codes: UnsafeRawPointer, _ width: UInt8, _ count: Int, below limit: Int, _ layout: ChunkLayout
    ) throws(DatabaseError) {
        var highest = -1
        if width == 1 {
            for row in 0 ..< count { highest = max(highest, Int(codes.load(fromByteOffset: row, as: UInt8.self))) }
        } else {
            for row in 0 ..< count {
                highest = max(highest, Int(codes.loadUnaligned(fromByteOffset: row &* 2, as: UInt16.self)))
            }
        }
        try layout.require(highest < limit, "a dictionary code")
    }

    // MARK: One value

    @inline(__always)
    package func isNull(_ row: Int) -> Bool {
        guard let validity else { return false }
        return validity.load(fromByteOffset: row >> 3, as: UInt8.self) & (1 << UInt8(row & 7)) == 0
    }

    @inline(__always)
    package func bool(_ row: Int) -> Bool {
        values.load(fromByteOffset: row >> 3, as: UInt8.self) & (1 << UInt8(row & 7)) != 0
    }

    @inline(__always)
    package func int(_ row: Int) -> Int64 {
        PackedInts.value(row, in: values, width: width, reference: reference)
    }

    /// Of ints: what values of this width may lie between, without a look at them.
    package var intRange: ClosedRange<Int64> {
        guard width < 8 else { return .min ... .max }
        let (upper, overflow) = reference.addingReportingOverflow(width == 0 ? 0 : Int64(1) << (8 * Int64(width)) - 1)
        return reference ... (overflow ? .max : upper)
    }

    /// Whether no int lies below the reference, which scans take for the lowest value: a distance that is too large has
    /// wrapped. Rows without a value have any.
    package var hasSoundFrame: Bool {
        guard kind.layout == .ints, width > 0 else { return true }
        let farthest = UInt64(bitPattern: Int64.max &- reference)
        return (0 ..< count).allSatisfy { row in
            isNull(row) || UInt64(bitPattern: int(row) &- reference) <= farthest
        }
    }

    @inline(__always)
    package func float(_ row: Int) -> Float { values.loadUnaligned(fromByteOffset: row &* 4, as: Float.self) }

    @inline(__always)
    package func double(_ row: Int) -> Double { values.loadUnaligned(fromByteOffset: row &* 8, as: Double.self) }

    package func timestamp(_ row: Int) -> Timestamp { Timestamp(seconds: int(row), nanoseconds: nanoseconds(row)) }

    @inline(__always)
    func nanoseconds(_ row: Int) -> UInt32 { extra?.loadUnaligned(fromByteOffset: row &* 4, as: UInt32.self) ?? 0 }

    /// Object key of a link, -1 for null.
    @inline(__always)
    package func link(_ row: Int) -> Int64 { isNull(row) ? -1 : int(row) }

    /// Of what is kept as bytes.
    package func bytes(_ row: Int) -> UnsafeRawBufferPointer { text(isDictionary ? code(row) : row) }

    @inline(__always)
    func code(_ row: Int) -> Int {
        width == 1
            ? Int(values.load(fromByteOffset: row, as: UInt8.self))
            : Int(values.loadUnaligned(fromByteOffset: row &* 2, as: UInt16.self))
    }

    /// The `index`-th stored text: of a row, or of a dictionary code.
    @inline(__always)
    func text(_ index: Int) -> UnsafeRawBufferPointer {
        if longTexts != nil, let long = longText(index) { return long.bytes }
        guard let heap else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        let start = offset(index)
        return UnsafeRawBufferPointer(start: heap + start, count: offset(index &+ 1) &- start)
    }

    @inline(__always)
    func offset(_ index: Int) -> Int {
        guard let extra else { return 0 }
        return offsetWidth == 2
            ? Int(extra.loadUnaligned(fromByteOffset: index &* 2, as: UInt16.self))
            : Int(extra.loadUnaligned(fromByteOffset: index &* 4, as: UInt32.self))
    }

    /// Links come with table 0: only the column's owner knows the target.
    package func view(_ row: Int) -> ValueView {
        if isNull(row) { return .null }
        switch kind {
        case .bool: return .bool(bool(row))
        case .int: return .int(int(row))
        case .float: return .float(float(row))
        case .double: return .double(double(row))
        case .string: return .string(bytes(row))
        case .data: return .data(bytes(row))
        case .timestamp: return .timestamp(timestamp(row))
        case .link: return .link(ObjectLink(table: TableKey(0), key: ObjectKey(int(row))))
        default: return kind.view(bytes(row))
        }
    }
}

/// Walks a payload, refusing what would leave it.
struct ChunkLayout {
    struct Text {
        let hashes: UnsafeRawPointer
        let offsets: UnsafeRawPointer
        let heap: UnsafeRawPointer
        let offsetWidth: UInt8
    }

    private let bytes: UnsafeRawBufferPointer
    private(set) var offset = ChunkHeader.size

    init(_ bytes: UnsafeRawBufferPointer, _ header: ChunkHeader) { self.bytes = bytes }

    func require(_ condition: Bool, _ what: @autoclosure () -> String) throws(DatabaseError) {
        guard condition else { throw .corrupted("a chunk has \(what()) out of range") }
    }

    mutating func take(_ size: Int) throws(DatabaseError) -> UnsafeRawPointer {
        guard let base = bytes.baseAddress, size >= 0, size <= bytes.count - offset else {
            throw .corrupted("a chunk is shorter than its values")
        }
        defer { offset += size }
        return base + offset
    }

    var rest: Int { bytes.count - offset }

    mutating func takeText(_ count: Int, offsetWidth: UInt8) throws(DatabaseError) -> Text {
        try require(offsetWidth == 2 || offsetWidth == 4, "an offset width")
        let hashes = try take(count)
        let offsets = try take((count + 1) * Int(offsetWidth))
        let available = rest
        let heap = try take(0)
        // No branch within the loops: they run over every text of every chunk that is read.
        var isDisordered = false
        var last = 0
        if offsetWidth == 2 {
            var previous: UInt16 = 0
            for index in 0 ... count {
                let next = offsets.loadUnaligned(fromByteOffset: index &* 2, as: UInt16.self)
                isDisordered = isDisordered || next < previous
                previous = next
            }
            last = Int(previous)
        } else {
            var previous: UInt32 = 0
            for index in 0 ... count {
                let next = offsets.loadUnaligned(fromByteOffset: index &* 4, as: UInt32.self)
                isDisordered = isDisordered || next < previous
                previous = next
            }
            last = Int(previous)
        }
        guard !isDisordered, last <= available else { throw .corrupted("a chunk's text offsets are out of order") }
        return Text(hashes: hashes, offsets: offsets, heap: heap, offsetWidth: offsetWidth)
    }
}
