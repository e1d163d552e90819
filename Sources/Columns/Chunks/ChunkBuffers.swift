/// The growing buffers of a `ChunkBuilder`.
///
/// A text longer than its source's limit is not in the heap but one of `longs`; its row has the place there as its word
/// and `longMark` as its size.
import MotteValues

struct ChunkBuffers {
    let kind: ColumnKind
    let isNullable: Bool
    var count = 0
    private(set) var capacity: Int
    private(set) var words: UnsafeMutablePointer<UInt64>
    /// Byte counts of what is kept as bytes or `longMark`, nanoseconds of timestamps; of no use to other kinds.
    private(set) var sizes: UnsafeMutablePointer<UInt32>
    /// Kept for nullable columns only.
    private(set) var present: UnsafeMutablePointer<UInt8>
    var nullCount = 0
    private(set) var heap: UnsafeMutableRawPointer
    private var heapCapacity: Int
    private var heapUsed = 0
    /// Bytes that rows still name; rows loaded from a dictionary share theirs.
    private(set) var heapNamed = 0

    let isText: Bool
    private let hasSizes: Bool

    static let longMark: UInt32 = 1 << 31
    private var longs: [LongText] = []
    private var longLimit: Int
    private(set) var longSource: (any LongTextSource)?

    init(_ kind: ColumnKind, isNullable: Bool, capacity: Int, long source: (any LongTextSource)?) {
        longSource = kind.mayBeLong ? source : nil
        longLimit = longSource?.limit ?? .max
        self.kind = kind
        self.isNullable = isNullable
        self.capacity = max(capacity, 4)
        isText = kind.hasBytes
        hasSizes = isText || kind == .timestamp
        words = .allocate(capacity: self.capacity)
        sizes = .allocate(capacity: hasSizes ? self.capacity : 0)
        present = .allocate(capacity: isNullable ? self.capacity : 0)
        heapCapacity = isText ? self.capacity * 16 : 0
        heap = .allocate(byteCount: heapCapacity, alignment: 16)
    }

    /// Where long texts go from now on. Those that are there already stay with the source that they came from.
    mutating func setLongSource(_ source: (any LongTextSource)?) {
        longSource = kind.mayBeLong ? source : nil
        longLimit = longSource?.limit ?? .max
    }

    var allocatedBytes: Int {
        capacity * (8 + (hasSizes ? 4 : 0) + (isNullable ? 1 : 0)) + heapCapacity
    }

    func deallocate() {
        words.deallocate()
        sizes.deallocate()
        present.deallocate()
        heap.deallocate()
    }

    // MARK: Room

    @inline(__always)
    mutating func reserve(_ more: Int) {
        if count &+ more > capacity { grow(to: max(capacity * 2, count + more)) }
    }

    @inline(never)
    private mutating func grow(to larger: Int) {
        words = Self.moved(words, count, larger)
        if hasSizes { sizes = Self.moved(sizes, count, larger) }
        if isNullable { present = Self.moved(present, count, larger) }
        capacity = larger
    }

    private static func moved<T>(
        _ old: UnsafeMutablePointer<T>, _ count: Int, _ capacity: Int
    ) -> UnsafeMutablePointer<T> {
        let new = UnsafeMutablePointer<T>.allocate(capacity: capacity)
        new.moveInitialize(from: old, count: count)
        old.deallocate()
        return new
    }

    /// Copies bytes into the heap and returns where. They may lie in this very heap.
    @inline(__always)
    private mutating func keep(_ start: UnsafeRawPointer?, _ size: Int) -> UInt64 {
        let place = heapUsed
        if place &+ size > heapCapacity {
            keepGrowing(start, size)
        } else if let start, size > 0 {
            (heap + place).copyMemory(from: start, byteCount: size)
        }
        heapUsed = place &+ size
        return UInt64(truncatingIfNeeded: place)
    }

    @inline(never)
    private mutating func keepGrowing(_ start: UnsafeRawPointer?, _ size: Int) {
        let old = heap
        heapCapacity = max(heapCapacity * 2, heapUsed + size)
        heap = .allocate(byteCount: heapCapacity, alignment: 16)
        heap.copyMemory(from: old, byteCount: heapUsed)
        if let start, size > 0 { (heap + heapUsed).copyMemory(from: start, byteCount: size) }
        old.deallocate()
    }

    mutating func compactHeapIfWasteful() {
        guard heapUsed > 4_096, heapUsed / 4 > heapNamed else { return }
        let old = heap
        heapCapacity = max(heapNamed * 2, 4_096)
        heap = .allocate(byteCount: heapCapacity, alignment: 16)
        heapUsed = 0
        for row in 0 ..< count where !isLong(row) { words[row] = keep(old + Int(words[row]), Int(sizes[row])) }
        old.deallocate()
    }

    // MARK: Appending

    @inline(__always)
    mutating func append(_ word: UInt64, size: UInt32 = 0, isPresent: Bool = true) {
        reserve(1)
        words[count] = word
        if hasSizes { sizes[count] = size }
        if isNullable { present[count] = isPresent ? 1 : 0 }
        count &+= 1
    }

    @inline(__always)
    mutating func append(bytes: UnsafeRawBufferPointer) {
        if bytes.count > longLimit, appendLong(bytes) { return }
        appendStored(bytes)
    }

    /// As it is: whether a value is long is decided when it comes, not when it moves. What an earlier release kept in
    /// chunks stays there, in rows that are dead too.
    @inline(__always)
    private mutating func appendStored(_ bytes: UnsafeRawBufferPointer) {
        let place = keep(bytes.baseAddress, bytes.count)
        heapNamed &+= bytes.count
        append(place, size: UInt32(truncatingIfNeeded: bytes.count))
    }

    @inline(never)
    private mutating func appendLong(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let longSource, let text = LongText(keeping: bytes, kind, in: longSource) else { return false }
        append(text)
        return true
    }

    /// Takes over a text that lies elsewhere; without a source it is copied into the heap.
    mutating func append(_ text: LongText) {
        guard longSource != nil else { return appendStored(text.bytes) }
        longs.append(text)
        append(UInt64(longs.count - 1), size: Self.longMark)
    }

    /// A row of another builder of the same kind.
    mutating func append(_ source: ChunkBuffers, _ row: Int) {
        if let text = source.longText(row) {
            append(text)
        } else if isText, source.isPresent(row) {
            appendStored(source.text(row))
        } else {
            append(source.view(row))
        }
    }

    @inline(__always)
    mutating func append(_ view: ValueView) {
        if view.isNull {
            if !isNullable, let zero = kind.zero { return kind.withBytes(of: zero) { append(bytes: $0) } }
            if isNullable { nullCount &+= 1 }
            append(0, isPresent: false)
        } else if isText {
            kind.withBytes(of: view) { append(bytes: $0) }
        } else {
            append(view.low, size: view.aux)
        }
    }

    mutating func append(_ views: UnsafePointer<ValueView>, _ stride: Int, _ number: Int) {
        reserve(number)
        guard !isNullable, !hasSizes else {
            for row in 0 ..< number { append(views[row &* stride]) }
            return
        }
        // A null is all zeroes but for what C callers leave in it.
        let output = words + count
        for row in 0 ..< number {
            let view = views[row &* stride]
            output[row] = view.isNull ? 0 : view.low
        }
        count &+= number
    }

    /// 64-bit values as they lie in memory.
    mutating func append(words source: UnsafeRawPointer, _ number: Int) {
        reserve(number)
        UnsafeMutableRawPointer(words + count).copyMemory(from: source, byteCount: number * 8)
        if hasSizes { (sizes + count).update(repeating: 0, count: number) }
        if isNullable { (present + count).update(repeating: 1, count: number) }
        count &+= number
    }

    /// Texts that lie behind each other take one copy.
    mutating func append(texts source: UnsafeRawPointer, _ offsets: UnsafePointer<Int64>, _ number: Int) {
        guard number > 0 else { return }
        if longLimit < .max {
            var longest: Int64 = 0
            for row in 0 ..< number { longest = max(longest, offsets[row &+ 1] &- offsets[row]) }
            if longest > Int64(longLimit) {
                for row in 0 ..< number {
                    let start = Int(offsets[row])
                    append(bytes: UnsafeRawBufferPointer(start: source + start, count: Int(offsets[row + 1]) - start))
                }
                return
            }
        }
        reserve(number)
        let first = Int(offsets[0])
        let size = Int(offsets[number]) - first
        var place = keep(source + first, size)
        heapNamed &+= size
        let starts = words + count
        let lengths = sizes + count
        for row in 0 ..< number {
            let length = offsets[row &+ 1] &- offsets[row]
            starts[row] = place
            lengths[row] = UInt32(truncatingIfNeeded: length)
            place &+= UInt64(truncatingIfNeeded: length)
        }
        if isNullable { (present + count).update(repeating: 1, count: number) }
        count &+= number
    }

    /// The heap where its texts are those of all rows, in their order, and nothing else.
    var textsInOrder: UnsafeRawPointer? {
        guard heapUsed == heapNamed, longs.isEmpty else { return nil }
        var place: UInt64 = 0
        for row in 0 ..< count {
            guard words[row] == place || sizes[row] == 0 else { return nil }
            place &+= UInt64(sizes[row])
        }
        return UnsafeRawPointer(heap)
    }

    mutating func append(_ chunk: ColumnChunk, _ rows: Range<Int>) {
        reserve(rows.count)
        let first = count
        let output = words + first
        switch kind.layout {
        case .ints:
            output.withMemoryRebound(to: Int64.self, capacity: rows.count) { chunk.decodeInts(rows, into: $0) }
            if hasSizes { for (index, row) in rows.enumerated() { sizes[first + index] = chunk.nanoseconds(row) } }
        case .doubles:
            output.withMemoryRebound(to: Double.self, capacity: rows.count) { chunk.decodeDoubles(rows, into: $0) }
        case .bits: for (index, row) in rows.enumerated() { output[index] = chunk.bool(row) ? 1 : 0 }
        case .floats: for (index, row) in rows.enumerated() { output[index] = UInt64(chunk.float(row).bitPattern) }
        case .bytes:
            for row in rows {
                if chunk.isNull(row) {
                    append(.null)
                } else if chunk.hasLongTexts, let text = chunk.longText(row) {
                    append(text)
                } else {
                    appendStored(chunk.bytes(row))
                }
            }
            return
        }
        count &+= rows.count
        guard isNullable else { return }
        for (index, row) in rows.enumerated() {
            let isNull = chunk.isNull(row)
            present[first + index] = isNull ? 0 : 1
            if isNull { forget(first + index) }
        }
    }

    /// A row that just became null.
    private mutating func forget(_ row: Int) {
        nullCount &+= 1
        words[row] = 0
        if hasSizes { sizes[row] = 0 }
    }

    // MARK: Editing

    mutating func set(_ row: Int, _ view: ValueView) {
        if !isPresent(row) { nullCount &-= 1 }
        forgetText(row)
        if view.isNull {
            words[row] = 0
            if hasSizes { sizes[row] = 0 }
            if isNullable { nullCount &+= 1 }
        } else if isText {
            kind.withBytes(of: view) { bytes in
                if bytes.count > longLimit, let longSource, let text = LongText(keeping: bytes, kind, in: longSource) {
                    return setLong(row, text)
                }
                setStored(row, bytes)
            }
        } else {
            words[row] = view.low
            if hasSizes { sizes[row] = view.aux }
        }
        if isNullable { present[row] = view.isNull ? 0 : 1 }
        if isText { compactHeapIfWasteful() }
    }

    /// To a row of another builder of the same kind.
    mutating func set(_ row: Int, _ source: ChunkBuffers, _ sourceRow: Int) {
        guard isText, source.isPresent(sourceRow) else { return set(row, source.view(sourceRow)) }
        if !isPresent(row) { nullCount &-= 1 }
        forgetText(row)
        if longSource != nil, let text = source.longText(sourceRow) {
            setLong(row, text)
        } else {
            setStored(row, source.text(sourceRow))
        }
        if isNullable { present[row] = 1 }
        compactHeapIfWasteful()
    }

    mutating func setStored(_ row: Int, _ bytes: UnsafeRawBufferPointer) {
        words[row] = keep(bytes.baseAddress, bytes.count)
        sizes[row] = UInt32(truncatingIfNeeded: bytes.count)
        heapNamed &+= bytes.count
    }

    mutating func setLong(_ row: Int, _ text: LongText) {
        // Texts that were replaced stay until they are most of them.
        if longs.count > 64, longs.count > 2 * count { compactLongs(except: row) }
        longs.append(text)
        words[row] = UInt64(longs.count - 1)
        sizes[row] = Self.longMark
    }

    private mutating func compactLongs(except changing: Int) {
        var kept: [LongText] = []
        for row in 0 ..< count where row != changing {
            guard let text = longText(row) else { continue }
            words[row] = UInt64(kept.count)
            kept.append(text)
        }
        longs = kept
    }

    /// Of a row that gets another value.
    @inline(__always)
    mutating func forgetText(_ row: Int) {
        if isText, sizes[row] & Self.longMark == 0 { heapNamed &-= Int(sizes[row]) }
    }

    mutating func insert(_ source: ChunkBuffers, _ sourceRow: Int, at row: Int) {
        append(source, sourceRow)
        moveLast(to: row)
    }

    mutating func insert(_ view: ValueView, at row: Int) {
        append(view)
        moveLast(to: row)
    }

    private mutating func moveLast(to row: Int) {
        let last = count - 1
        Self.rotate(words, row, last)
        if hasSizes { Self.rotate(sizes, row, last) }
        if isNullable { Self.rotate(present, row, last) }
        if isText { compactHeapIfWasteful() }
    }

    /// Moves what is at `last` to `row`.
    private static func rotate<T>(_ values: UnsafeMutablePointer<T>, _ row: Int, _ last: Int) {
        let value = values[last]
        (values + row + 1).update(from: values + row, count: last - row)
        values[row] = value
    }

    mutating func remove(at row: Int) {
        let rest = count - row - 1
        if !isPresent(row) { nullCount &-= 1 }
        forgetText(row)
        (words + row).update(from: words + row + 1, count: rest)
        if hasSizes { (sizes + row).update(from: sizes + row + 1, count: rest) }
        if isNullable { (present + row).update(from: present + row + 1, count: rest) }
        count -= 1
    }

    mutating func removeAll() {
        count = 0
        nullCount = 0
        heapUsed = 0
        heapNamed = 0
        longs.removeAll()
    }

    // MARK: Long texts

    @inline(__always)
    func isLong(_ row: Int) -> Bool { !longs.isEmpty && sizes[row] & Self.longMark != 0 }

    @inline(__always)
    func longText(_ row: Int) -> LongText? { isLong(row) ? longs[Int(words[row])] : nil }

    var hasLongTexts: Bool {
        guard !longs.isEmpty else { return false }
        for row in 0 ..< count where sizes[row] & Self.longMark != 0 { return true }
        return false
    }

    /// Of rows that have other values by now, and with them the source.
    mutating func dropLongTexts() {
        longs.removeAll()
        setLongSource(nil)
    }

    /// Bytes that the row takes in a chunk's heap.
    @inline(__always)
    func storedSize(_ row: Int) -> Int { isLong(row) ? LongTextReference.size : Int(sizes[row]) }

    // MARK: Reading

    @inline(__always)
    func isPresent(_ row: Int) -> Bool { !isNullable || present[row] != 0 }

    @inline(__always)
    func text(_ row: Int) -> UnsafeRawBufferPointer {
        if let long = longText(row) { return long.bytes }
        return UnsafeRawBufferPointer(start: heap + Int(truncatingIfNeeded: words[row]), count: Int(sizes[row]))
    }

    @inline(__always)
    func view(_ row: Int) -> ValueView {
        guard isPresent(row) else { return .null }
        if isText {
            return kind.view(text(row))
        }
        // The kinds of columns and of values have the same numbers.
        return ValueView(kindNumber: UInt32(kind.rawValue), aux: hasSizes ? sizes[row] : 0, low: words[row])
    }
}
