/// Columns in another order: elements of Arrow buffers gathered, of lists with what is in them.
import MotteColumns
import MotteValues

struct ArrowArrangement {
    /// By element of the new column: where it is in the old one.
    let sources: [UInt32]

    /// The same column with its elements in this order. Views of texts keep the bytes that they refer to.
    func arranged(_ data: ArrowData, _ field: ArrowField) throws(DatabaseError) -> ArrowData {
        var buffers = data.buffers
        var children = data.children
        if data.nullCount > 0 { buffers[0] = try bits(buffers[0]) }
        switch field.format {
        case "b": buffers[1] = try bits(buffers[1])
        case "u", "z": (buffers[1], buffers[2]) = try texts(buffers[1], buffers[2])
        case "+s":
            for (index, child) in field.children.enumerated() { children[index] = try arranged(children[index], child) }
        case "+l", "+m":
            let (ends, elements) = try lists(buffers[1])
            buffers[1] = ends
            children[0] = try elements.arranged(children[0], field.children[0])
        default: buffers[1] = try elements(buffers[1], Self.width(field.format))
        }
        return ArrowData(length: sources.count, nullCount: data.nullCount, buffers: buffers, children: children)
    }

    /// Bytes of an element, of the formats that exports have.
    private static func width(_ format: String) -> Int {
        switch format {
        case "c": 1
        case "s": 2
        case "i", "f": 4
        case "w:12": 12
        case "w:16", "vu": 16
        // Ints, doubles and times.
        default: 8
        }
    }

    // MARK: Of fixed width

    private func bits(_ source: ArrowBuffer) throws(DatabaseError) -> ArrowBuffer {
        let target = ArrowBuffer()
        let size = (sources.count + 7) / 8
        let bytes = try target.reserve(size, of: UInt8.self)
        bytes.initialize(repeating: 0, count: size)
        target.count = size
        guard let start = source.start else { return target }
        for (row, source) in sources.enumerated() where BitRuns.bit(start, Int(source)) {
            bytes[row >> 3] |= 1 << UInt8(truncatingIfNeeded: row & 7)
        }
        return target
    }

    private func elements(_ source: ArrowBuffer, _ width: Int) throws(DatabaseError) -> ArrowBuffer {
        let target = ArrowBuffer()
        let place = try target.reserve(sources.count * width)
        target.count = sources.count * width
        guard let start = source.start else { return target }
        switch width {
        case 1: gather(start, place, UInt8.self)
        case 2: gather(start, place, UInt16.self)
        case 4: gather(start, place, UInt32.self)
        case 8: gather(start, place, UInt64.self)
        case 16: gather(start, place, UInt128.self)
        default:
            for (row, source) in sources.enumerated() {
                (place + row * width).copyMemory(from: start + Int(source) * width, byteCount: width)
            }
        }
        return target
    }

    @inline(__always)
    private func gather<Element: BitwiseCopyable>(
        _ source: UnsafeMutableRawPointer, _ target: UnsafeMutableRawPointer, _ type: Element.Type
    ) {
        let from = source.assumingMemoryBound(to: type), to = target.assumingMemoryBound(to: type)
        for (row, source) in sources.enumerated() { to[row] = from[Int(source)] }
    }

    // MARK: Of any length

    /// Where each element of the new order ends, and the old places of ends.
    private func ends(
        _ offsets: ArrowBuffer
    ) throws(DatabaseError) -> (ends: ArrowBuffer, old: UnsafePointer<Int32>?, total: Int) {
        let target = ArrowBuffer()
        let ends = try target.reserve(sources.count + 1, of: Int32.self)
        target.count = (sources.count + 1) * MemoryLayout<Int32>.stride
        ends.initialize(repeating: 0, count: sources.count + 1)
        guard let old = offsets.start?.assumingMemoryBound(to: Int32.self) else { return (target, nil, 0) }
        var total: Int32 = 0
        for (row, source) in sources.enumerated() {
            total &+= old[Int(source) &+ 1] &- old[Int(source)]
            ends[row &+ 1] = total
        }
        return (target, UnsafePointer(old), Int(total))
    }

    /// Short texts are copied sixteen bytes at once: what is too much the next one covers.
    private func texts(
        _ offsets: ArrowBuffer, _ heap: ArrowBuffer
    ) throws(DatabaseError) -> (ArrowBuffer, ArrowBuffer) {
        let (ends, old, total) = try ends(offsets)
        let newHeap = ArrowBuffer()
        let target = try newHeap.reserve(total + ColumnChunk.textSlack)
        newHeap.count = total
        // So that what is too much lies in the buffer.
        _ = try heap.reserve(ColumnChunk.textSlack)
        guard let old, let bytes = heap.start else { return (ends, newHeap) }
        var used = 0
        for source in sources {
            let start = Int(old[Int(source)])
            let size = Int(old[Int(source) &+ 1]) &- start
            let from = bytes + start, to = target + used
            if size <= ColumnChunk.textSlack {
                let tail = from.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
                to.storeBytes(of: from.loadUnaligned(as: UInt64.self), as: UInt64.self)
                to.storeBytes(of: tail, toByteOffset: 8, as: UInt64.self)
            } else {
                to.copyMemory(from: from, byteCount: size)
            }
            used &+= size
        }
        return (ends, newHeap)
    }

    /// Where each list ends, and the order of what is in them.
    private func lists(_ offsets: ArrowBuffer) throws(DatabaseError) -> (ArrowBuffer, ArrowArrangement) {
        let (ends, old, total) = try ends(offsets)
        var elements: [UInt32] = []
        elements.reserveCapacity(total)
        if let old {
            for source in sources {
                for element in old[Int(source)] ..< old[Int(source) &+ 1] { elements.append(UInt32(element)) }
            }
        }
        return (ends, ArrowArrangement(sources: elements))
    }
}
