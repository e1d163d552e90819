/// A stored chunk in which a few rows have got other values: what a commit that changes an object writes, without
/// decoding the rows that it leaves alone and encoding them again.
///
///     numbers   the chunk's bytes, with the new values in their places
///     texts     the heap before, between and behind the new texts as it is, and offsets that move with it
///
/// It takes what leaves the form of the chunk as it is: values that are not null in place of others, numbers that lie
/// within the width, texts without a dictionary that are not long. A builder takes everything, so whoever meets
/// another value goes on with one (`load`). A patched chunk is valid, if not always the narrowest there is.
///
/// Its invariants are at the end.
import MotteValues

package final class ChunkPatch {
    package private(set) var base: ColumnChunk
    /// The bytes of `base`, once they were copied.
    private var own: UnsafeMutableRawBufferPointer?
    private var edits: [Edit] = []
    /// Of texts, with the edits.
    private var heapBytes = 0
    /// What was replaced once more: views of it end with the patch, not before.
    private var former: [UnsafeRawBufferPointer] = []

    private struct Edit {
        let row: Int
        var word: UInt64
        var aux: UInt32
        /// Of kinds that are kept as bytes.
        var text: UnsafeRawBufferPointer
    }

    /// More changes than this are better off in a builder.
    private static let mostEdits = 8
    private static var noText: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

    /// nil for a chunk that cannot be patched. Its bytes stay where they are until the patch is detached, or gone.
    package init?(_ base: ColumnChunk) {
        guard !base.isDictionary, !base.hasLongTexts else { return nil }
        self.base = base
        if base.kind.hasBytes { heapBytes = base.offset(base.count) }
    }

    deinit {
        own?.deallocate()
        for edit in edits { edit.text.deallocate() }
        for text in former { text.deallocate() }
    }

    package var count: Int { base.count }

    // MARK: Memory

    package var allocatedBytes: Int { own?.count ?? 0 }

    /// Copies the chunk, whose bytes may then go. Views of it end when they go.
    package func detach() {
        guard own == nil else { return }
        var (start, end) = (base.values, base.values)
        for (part, size) in parts {
            start = min(start, part)
            end = max(end, part + size)
        }
        let size = end - start
        // As far from what addresses are multiples of as it was.
        let shift = Int(bitPattern: start) & 15
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: shift + size, alignment: 16)
        guard let place = copy.baseAddress else { return }
        (place + shift).copyMemory(from: start, byteCount: size)
        base = base.moved(by: UnsafeRawPointer(place + shift) - start)
        own = copy
    }

    /// What the chunk consists of.
    private var parts: [(start: UnsafeRawPointer, size: Int)] {
        let count = base.count
        var parts: [(start: UnsafeRawPointer, size: Int)] = []
        if let validity = base.validity { parts.append((validity, Self.bitmapBytes(count))) }
        switch base.kind.layout {
        case .bits: parts.append((base.values, Self.bitmapBytes(count)))
        case .floats: parts.append((base.values, count * 4))
        case .doubles: parts.append((base.values, count * 8))
        case .ints:
            parts.append((base.values, count * Int(base.width)))
            if let nanoseconds = base.extra { parts.append((nanoseconds, count * 4)) }
        case .bytes:
            parts.append((base.hashes, count))
            if let offsets = base.extra { parts.append((offsets, (count + 1) * Int(base.offsetWidth))) }
            if let heap = base.heap { parts.append((heap, base.offset(count))) }
        }
        return parts
    }

    // MARK: Editing

    /// Whether the row may get this value, which is one of the kind. `longLimit`: longer texts are kept elsewhere.
    package func takes(_ row: Int, _ value: ValueView, longLimit: Int) -> Bool {
        guard row < base.count, !base.isNull(row), !value.isNull else { return false }
        guard edits.count < Self.mostEdits || edits.contains(where: { $0.row == row }) else { return false }
        switch base.kind.layout {
        case .bits, .floats, .doubles: return true
        case .ints:
            if base.kind == .timestamp, value.aux != 0, base.extra == nil { return false }
            return fits(Int64(bitPattern: value.low))
        case .bytes:
            var isFine = false
            base.kind.withBytes(of: value) { bytes in
                let total = heapBytes - text(row).count + bytes.count
                isFine = bytes.count <= longLimit && total <= (base.offsetWidth == 2 ? 0xFFFF : Int(Int32.max))
            }
            return isFine
        }
    }

    /// Between what the chunk's width reaches from its reference on: scans take that for the lowest value.
    private func fits(_ number: Int64) -> Bool {
        guard number >= base.reference else { return false }
        let distance = UInt64(bitPattern: number) &- UInt64(bitPattern: base.reference)
        return base.width >= 8 || distance >> (8 * UInt64(base.width)) == 0
    }

    /// What `takes` has agreed to.
    package func set(_ row: Int, _ value: ValueView) {
        let aux = base.kind == .timestamp ? value.aux : 0
        var edit = Edit(row: row, word: value.low, aux: aux, text: Self.noText)
        if base.kind.hasBytes {
            base.kind.withBytes(of: value) { edit.text = Self.copy($0) }
            heapBytes += edit.text.count - text(row).count
        }
        let place = edits.firstIndex { $0.row >= row } ?? edits.count
        if place < edits.count, edits[place].row == row {
            if edits[place].text.baseAddress != nil { former.append(edits[place].text) }
            edits[place] = edit
        } else {
            edits.insert(edit, at: place)
        }
    }

    private static func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard !bytes.isEmpty else { return noText }
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
        copy.copyMemory(from: bytes)
        return UnsafeRawBufferPointer(copy)
    }

    // MARK: Reading

    private func text(_ row: Int) -> UnsafeRawBufferPointer {
        for edit in edits where edit.row == row { return edit.text }
        return base.text(row)
    }

    /// Borrowed bytes live as long as the patch and the chunk do. Links come with table 0.
    package func view(_ row: Int) -> ValueView {
        for edit in edits where edit.row == row {
            if base.kind.hasBytes { return base.kind.view(edit.text) }
            return ValueView(kindNumber: UInt32(base.kind.rawValue), aux: edit.aux, low: edit.word)
        }
        return base.view(row)
    }

    /// The same rows in a builder.
    package func load(into builder: ChunkBuilder) {
        builder.load(base)
        for edit in edits { builder.set(edit.row, view(edit.row)) }
    }

    // MARK: Encoding

    package var size: Int { ChunkHeader.size + header.payloadSize }

    private var header: ChunkHeader {
        let count = base.count
        var flags: UInt8 = 0
        var payload = 0
        if base.validity != nil {
            flags |= ChunkHeader.hasValidity
            payload += Self.bitmapBytes(count)
        }
        switch base.kind.layout {
        case .bits: payload += Self.bitmapBytes(count)
        case .floats: payload += count * 4
        case .doubles: payload += count * 8
        case .ints:
            payload += 8 + count * Int(base.width)
            if base.extra != nil {
                flags |= ChunkHeader.hasNanoseconds
                payload += count * 4
            }
        case .bytes: payload += count + (count + 1) * Int(base.offsetWidth) + heapBytes
        }
        var header = ChunkHeader(
            kind: base.kind.rawValue, encoding: 0, width: base.width, flags: flags, count: count)
        header.payloadSize = (payload + 7) & ~7
        return header
    }

    private static func bitmapBytes(_ count: Int) -> Int { (count + 63) / 64 * 8 }

    /// Writes `size` bytes.
    package func write(to start: UnsafeMutableRawPointer, key: UnsafeRawBufferPointer) {
        let header = header
        var output = start + ChunkHeader.size
        if let validity = base.validity { Self.copy(validity, Self.bitmapBytes(base.count), &output) }
        switch base.kind.layout {
        case .bits: writeBits(&output)
        case .floats: writeNumbers(width: 4, &output)
        case .doubles: writeNumbers(width: 8, &output)
        case .ints:
            output.storeBytes(of: base.reference, as: Int64.self)
            output += 8
            writeNumbers(width: Int(base.width), &output)
            if let nanoseconds = base.extra { writeNanoseconds(nanoseconds, &output) }
        case .bytes: writeTexts(&output)
        }
        let end = start + ChunkHeader.size + header.payloadSize
        while output < end {
            output.storeBytes(of: 0, as: UInt8.self)
            output += 1
        }
        assert(output == end, "a patched chunk's size was reckoned wrongly (patch-2)")
        header.write(to: start, key: key)
    }

    private static func copy(_ source: UnsafeRawPointer, _ size: Int, _ output: inout UnsafeMutableRawPointer) {
        output.copyMemory(from: source, byteCount: size)
        output += size
    }

    private func writeBits(_ output: inout UnsafeMutableRawPointer) {
        let bits = output
        Self.copy(base.values, Self.bitmapBytes(base.count), &output)
        for edit in edits {
            let mask = UInt8(1) << UInt8(edit.row & 7)
            let byte = bits.load(fromByteOffset: edit.row >> 3, as: UInt8.self)
            bits.storeBytes(
                of: edit.word & 1 == 0 ? byte & ~mask : byte | mask, toByteOffset: edit.row >> 3, as: UInt8.self)
        }
    }

    private func writeNumbers(width: Int, _ output: inout UnsafeMutableRawPointer) {
        let numbers = output
        Self.copy(base.values, base.count * width, &output)
        let reference = base.kind.layout == .ints ? UInt64(bitPattern: base.reference) : 0
        for edit in edits {
            let place = numbers + edit.row * width
            withUnsafeBytes(of: (edit.word &- reference).littleEndian) { bytes in
                for index in 0 ..< width { place.storeBytes(of: bytes[index], toByteOffset: index, as: UInt8.self) }
            }
        }
    }

    private func writeNanoseconds(_ source: UnsafeRawPointer, _ output: inout UnsafeMutableRawPointer) {
        let nanoseconds = output
        Self.copy(source, base.count * 4, &output)
        for edit in edits {
            nanoseconds.storeBytes(of: edit.aux.littleEndian, toByteOffset: edit.row * 4, as: UInt32.self)
        }
    }

    // MARK: Texts

    private func writeTexts(_ output: inout UnsafeMutableRawPointer) {
        let count = base.count
        let hashes = output
        Self.copy(base.hashes, count, &output)
        for edit in edits {
            hashes.storeBytes(of: TextRun.hash(edit.text), toByteOffset: edit.row, as: UInt8.self)
        }
        switch base.offsetWidth {
        case 2: moveOffsets(as: UInt16.self, &output)
        default: moveOffsets(as: UInt32.self, &output)
        }
        guard let heap = base.heap else { return }
        var next = 0
        for edit in edits {
            let start = base.offset(edit.row)
            Self.copy(heap + next, start - next, &output)
            if let text = edit.text.baseAddress { Self.copy(text, edit.text.count, &output) }
            next = base.offset(edit.row + 1)
        }
        Self.copy(heap + next, base.offset(count) - next, &output)
    }

    /// Those behind an edit move by as much as its text is longer, in a loop of additions and nothing else.
    @inline(__always)
    private func moveOffsets<Offset: FixedWidthInteger & BitwiseCopyable>(
        as type: Offset.Type, _ output: inout UnsafeMutableRawPointer
    ) {
        let offsets = output
        let width = MemoryLayout<Offset>.size
        output += (base.count + 1) * width
        guard let source = base.extra else { return }
        var next = 0
        var shift = 0
        func move(through last: Int) {
            let shift = Offset(truncatingIfNeeded: shift)
            for index in next ..< last + 1 {
                let offset = source.loadUnaligned(fromByteOffset: index &* width, as: Offset.self)
                offsets.storeBytes(of: offset &+ shift, toByteOffset: index &* width, as: Offset.self)
            }
            next = last + 1
        }
        for edit in edits {
            move(through: edit.row)
            shift += edit.text.count - base.text(edit.row).count
        }
        move(through: base.count)
    }

    package func checkInvariants() throws(DatabaseError) {
        try Invariant.require(
            zip(edits, edits.dropFirst()).allSatisfy { $0.row < $1.row } && edits.allSatisfy { $0.row < base.count },
            "patch-1: the rows that a chunk's patch changes ascend, and are rows of it")
        try Invariant.require(
            base.kind.layout != .ints || edits.allSatisfy { fits(Int64(bitPattern: $0.word)) },
            "patch-3: the ints of a patch lie where its chunk's width reaches from the reference on")
        guard base.kind.hasBytes else { return }
        let moved = edits.reduce(0) { $0 + $1.text.count - base.text($1.row).count }
        try Invariant.require(
            heapBytes == base.offset(base.count) + moved, "patch-2: a patch counts the bytes of all texts")
    }
}
