/// One column of one cluster while it is being written: typed buffers that append at memory speed, and that encode into
/// the narrowest chunk. Encoding consumes nothing.
///
/// Integers, links and seconds are `words`; doubles and floats their bits; bools 0 or 1; strings and data (start, size)
/// in `words` and `sizes` over `heap`, which keeps replaced bytes until it is encoded.
import MotteValues

package final class ChunkBuilder {
    package let kind: ColumnKind
    package let isNullable: Bool
    // A builder belongs to one write transaction and calls no one back: dynamic exclusivity checks would cost more
    // than the append itself.
    @exclusivity(unchecked) package private(set) var count = 0
    @exclusivity(unchecked) private var capacity: Int
    @exclusivity(unchecked) private var words: UnsafeMutablePointer<UInt64>
    /// Nanoseconds of timestamps, byte counts of strings and data.
    @exclusivity(unchecked) private var sizes: UnsafeMutablePointer<UInt32>
    @exclusivity(unchecked) private var present: UnsafeMutablePointer<Bool>
    @exclusivity(unchecked) private var heap: UnsafeMutableRawPointer
    @exclusivity(unchecked) private var heapCapacity: Int
    @exclusivity(unchecked) private var heapUsed = 0

    private var isText: Bool { kind == .string || kind == .data }

    package init(kind: ColumnKind, nullable: Bool, capacity: Int) {
        self.kind = kind
        isNullable = nullable
        self.capacity = max(capacity, 4)
        words = .allocate(capacity: self.capacity)
        sizes = .allocate(capacity: self.capacity)
        present = .allocate(capacity: self.capacity)
        heapCapacity = kind == .string || kind == .data ? self.capacity * 16 : 16
        heap = .allocate(byteCount: heapCapacity, alignment: 16)
    }

    deinit {
        words.deallocate()
        sizes.deallocate()
        present.deallocate()
        heap.deallocate()
    }

    @inline(never)
    private func grow() {
        let larger = capacity * 2
        words = Self.moved(words, count, larger)
        sizes = Self.moved(sizes, count, larger)
        present = Self.moved(present, count, larger)
        capacity = larger
    }

    private static func moved<T>(_ old: UnsafeMutablePointer<T>, _ count: Int, _ capacity: Int) -> UnsafeMutablePointer<T> {
        let new = UnsafeMutablePointer<T>.allocate(capacity: capacity)
        new.moveInitialize(from: old, count: count)
        old.deallocate()
        return new
    }

    // MARK: Appending

    @inline(__always)
    private func append(word: UInt64, size: UInt32 = 0, isPresent: Bool = true) {
        if count == capacity { grow() }
        words[count] = word
        sizes[count] = size
        present[count] = isPresent
        count &+= 1
    }

    package func appendInt(_ value: Int64) { append(word: UInt64(bitPattern: value)) }
    package func appendDouble(_ value: Double) { append(word: value.bitPattern) }

    package func append(_ view: ValueView) {
        let (word, size) = stored(view)
        append(word: word, size: size, isPresent: !view.isNull)
    }

    /// Null where that is allowed, else 0, false, empty or the epoch.
    package func appendDefaults(_ number: Int) {
        for _ in 0 ..< number { append(word: 0, isPresent: !isNullable) }
    }

    /// What `words` and `sizes` keep of a value.
    @inline(__always)
    private func stored(_ view: ValueView) -> (UInt64, UInt32) {
        switch view.kindNumber {
        case ValueKind.string.rawValue, ValueKind.data.rawValue: return keep(view.bytes)
        case ValueKind.timestamp.rawValue: return (view.low, view.aux)
        case ValueKind.null.rawValue: return (0, 0)
        default: return (view.low, 0)
        }
    }

    @inline(__always)
    private func keep(_ bytes: UnsafeRawBufferPointer) -> (UInt64, UInt32) {
        if heapUsed + bytes.count > heapCapacity { growHeap(bytes.count) }
        if let start = bytes.baseAddress, bytes.count > 0 {
            (heap + heapUsed).copyMemory(from: start, byteCount: bytes.count)
        }
        defer { heapUsed &+= bytes.count }
        return (UInt64(heapUsed), UInt32(truncatingIfNeeded: bytes.count))
    }

    @inline(never)
    private func growHeap(_ more: Int) {
        heapCapacity = max(heapCapacity * 2, heapUsed + more)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: heapCapacity, alignment: 16)
        larger.copyMemory(from: heap, byteCount: heapUsed)
        heap.deallocate()
        heap = larger
    }

    // MARK: Editing

    package func set(_ row: Int, _ view: ValueView) {
        let (word, size) = stored(view)
        words[row] = word
        sizes[row] = size
        present[row] = !view.isNull
        if isText, heapUsed > 4_096, heapUsed > 4 * liveBytes() { compactHeap() }
    }

    package func insert(_ view: ValueView, at row: Int) {
        append(view)
        let last = count - 1
        let (word, size, isPresent) = (words[last], sizes[last], present[last])
        (words + row + 1).update(from: words + row, count: last - row)
        (sizes + row + 1).update(from: sizes + row, count: last - row)
        (present + row + 1).update(from: present + row, count: last - row)
        (words[row], sizes[row], present[row]) = (word, size, isPresent)
    }

    package func remove(at row: Int) {
        let rest = count - row - 1
        (words + row).update(from: words + row + 1, count: rest)
        (sizes + row).update(from: sizes + row + 1, count: rest)
        (present + row).update(from: present + row + 1, count: rest)
        count -= 1
    }

    package func removeAll() {
        count = 0
        heapUsed = 0
    }

    private func liveBytes() -> Int {
        var total = 0
        for row in 0 ..< count { total += Int(sizes[row]) }
        return total
    }

    private func compactHeap() {
        let old = heap
        heapCapacity = max(liveBytes() * 2, 4_096)
        heap = .allocate(byteCount: heapCapacity, alignment: 16)
        heapUsed = 0
        for row in 0 ..< count {
            (words[row], sizes[row]) = keep(UnsafeRawBufferPointer(start: old + Int(words[row]), count: Int(sizes[row])))
        }
        old.deallocate()
    }

    package func load(_ chunk: ColumnChunk) {
        removeAll()
        for row in 0 ..< chunk.count { append(chunk.view(row)) }
    }

    // MARK: Reading

    package func isNull(_ row: Int) -> Bool { !present[row] }

    /// Borrowed bytes live until the next change. Links come with table 0.
    package func view(_ row: Int) -> ValueView {
        guard present[row] else { return .null }
        switch kind {
        case .bool: return ValueView(kindNumber: 1, low: words[row])
        case .int: return ValueView(kindNumber: 2, low: words[row])
        case .float: return ValueView(kindNumber: 3, low: words[row])
        case .double: return ValueView(kindNumber: 4, low: words[row])
        case .timestamp: return ValueView(kindNumber: 7, aux: sizes[row], low: words[row])
        case .link: return ValueView(kindNumber: 8, low: words[row])
        case .string: return .string(text(row))
        case .data: return .data(text(row))
        }
    }

    private func text(_ row: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: heap + Int(words[row]), count: Int(sizes[row]))
    }

    // MARK: Encoding

    package func encode(key: UnsafeRawBufferPointer) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: ChunkHeader.size)
        bytes.reserveCapacity(ChunkHeader.size + 64 + count * 9 + (isText ? heapUsed : 0))
        var header = ChunkHeader(kind: kind.rawValue, encoding: 0, width: 0, flags: 0, count: count)
        if isNullable, hasNull() {
            header.flags |= ChunkHeader.hasValidity
            appendBits(to: &bytes) { present[$0] }
        }
        switch kind {
        case .bool: appendBits(to: &bytes) { words[$0] != 0 }
        case .int, .link: header.width = appendPacked(to: &bytes)
        case .timestamp:
            header.width = appendPacked(to: &bytes)
            if (0 ..< count).contains(where: { sizes[$0] != 0 }) {
                header.flags |= ChunkHeader.hasNanoseconds
                for row in 0 ..< count { Self.append(sizes[row], to: &bytes) }
            }
        case .float: for row in 0 ..< count { Self.append(UInt32(truncatingIfNeeded: words[row]), to: &bytes) }
        case .double: UnsafeRawBufferPointer(start: words, count: count * 8).withMemoryRebound(to: UInt8.self) { bytes.append(contentsOf: $0) }
        case .string, .data:
            if let dictionary = TextDictionary(count, text: text) {
                header.encoding = 1
                header.width = dictionary.append(to: &bytes)
            } else {
                header.width = appendText(to: &bytes)
            }
        }
        header.finish(&bytes, key: key)
        return bytes
    }

    private func hasNull() -> Bool {
        for row in 0 ..< count where !present[row] { return true }
        return false
    }

    private func appendBits(to bytes: inout [UInt8], _ bit: (Int) -> Bool) {
        for first in stride(from: 0, to: count, by: 64) {
            var word: UInt64 = 0
            for row in first ..< min(first + 64, count) where bit(row) { word |= 1 << UInt64(row - first) }
            Self.append(word, to: &bytes)
        }
    }

    private func appendPacked(to bytes: inout [UInt8]) -> UInt8 {
        var lowest = Int64.max, highest = Int64.min
        for row in 0 ..< count where present[row] {
            let value = Int64(bitPattern: words[row])
            lowest = min(lowest, value)
            highest = max(highest, value)
        }
        if lowest > highest { (lowest, highest) = (0, 0) }
        let span = UInt64(bitPattern: highest) &- UInt64(bitPattern: lowest)
        let width: UInt8 = span == 0 ? 0 : span <= 0xFF ? 1 : span <= 0xFFFF ? 2 : span <= 0xFFFF_FFFF ? 4 : 8
        Self.append(UInt64(bitPattern: lowest), to: &bytes)
        let base = UInt64(bitPattern: lowest)
        let start = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: count * Int(width)))
        bytes.withUnsafeMutableBytes { buffer in
            guard let out = buffer.baseAddress.map({ $0 + start }) else { return }
            for row in 0 ..< count {
                let packed = present[row] ? words[row] &- base : 0
                switch width {
                case 0: break
                case 1: out.storeBytes(of: UInt8(truncatingIfNeeded: packed), toByteOffset: row, as: UInt8.self)
                case 2: out.storeBytes(of: UInt16(truncatingIfNeeded: packed), toByteOffset: row &* 2, as: UInt16.self)
                case 4: out.storeBytes(of: UInt32(truncatingIfNeeded: packed), toByteOffset: row &* 4, as: UInt32.self)
                default: out.storeBytes(of: packed, toByteOffset: row &* 8, as: UInt64.self)
                }
            }
        }
        return width
    }

    private func appendText(to bytes: inout [UInt8]) -> UInt8 {
        TextRun.append(count: count, to: &bytes, text: text)
    }

    static func append<T: FixedWidthInteger>(_ value: T, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }
}
