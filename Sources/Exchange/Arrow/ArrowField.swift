/// A column of Arrow data as its schema describes it, and the data of one batch, both as Swift owns them: the C
/// interface hands them out as structs.
import Glibc
import MotteColumns
import MotteValues

package struct ArrowField: Sendable {
    package var name: String
    /// As the C data interface writes types: `l`, `u`, `+s`.
    package var format: String
    package var isNullable: Bool
    package var children: [ArrowField] = []
    package var metadata: [(key: String, value: String)] = []

    package init(
        _ name: String, _ format: String, isNullable: Bool = true, children: [ArrowField] = [],
        metadata: [(key: String, value: String)] = []
    ) {
        self.name = name
        self.format = format
        self.isNullable = isNullable
        self.children = children
        self.metadata = metadata
    }

    /// What Motte's own type is where the format alone does not say it.
    package static let typeKey = "motte:type"
}

/// The values of one column of a batch. Gives its buffers up with itself.
package final class ArrowData {
    package let length: Int
    package let nullCount: Int
    package let buffers: [ArrowBuffer]
    package let children: [ArrowData]

    init(length: Int, nullCount: Int, buffers: [ArrowBuffer], children: [ArrowData] = []) {
        self.length = length
        self.nullCount = nullCount
        self.buffers = buffers
        self.children = children
    }

    /// For whoever gives the buffers up in its own time, with `free`.
    package func takeBuffers() -> [UnsafeMutableRawPointer?] { buffers.map { $0.take() } }
}

/// Memory of one buffer, which grows at its end; at an address that is a multiple of 64, as Arrow wants it.
package final class ArrowBuffer {
    private(set) var start: UnsafeMutableRawPointer?
    private var capacity = 0
    /// Bytes in use.
    var count = 0

    package init() {}
    deinit { free(start) }

    package func take() -> UnsafeMutableRawPointer? {
        defer { (start, capacity, count) = (nil, 0, 0) }
        return start
    }

    /// Room for so many bytes more, behind those in use.
    func reserve(_ more: Int) throws(DatabaseError) -> UnsafeMutableRawPointer {
        if let start, count + more <= capacity { return start + count }
        let wanted = max(count + more, capacity * 2, 64)
        var fresh: UnsafeMutableRawPointer?
        guard posix_memalign(&fresh, 64, (wanted + 63) & ~63) == 0, let fresh else {
            throw DatabaseError(.outOfMemory, "no memory for \(wanted) bytes of a column; choose smaller batches")
        }
        if let start { fresh.copyMemory(from: start, byteCount: count) }
        free(start)
        start = fresh
        capacity = (wanted + 63) & ~63
        return fresh + count
    }

    func reserve<T>(_ more: Int, of type: T.Type) throws(DatabaseError) -> UnsafeMutablePointer<T> {
        try reserve(more * MemoryLayout<T>.stride).assumingMemoryBound(to: type)
    }

    func append<T: BitwiseCopyable>(_ value: T) throws(DatabaseError) {
        try reserve(MemoryLayout<T>.stride).storeBytes(of: value, as: T.self)
        count += MemoryLayout<T>.stride
    }
}

/// Which elements are there: a bitmap that exists from the first null on.
struct ArrowPresence {
    private(set) var buffer = ArrowBuffer()
    private(set) var count = 0
    private(set) var nullCount = 0
    private var isKept = false

    /// Room for so many bits more; the bitmap's address.
    private mutating func keep(_ more: Int) throws(DatabaseError) -> UnsafeMutableRawPointer {
        let bytes = (count + more + 7) / 8
        _ = try buffer.reserve(max(bytes - buffer.count, 0))
        buffer.count = max(buffer.count, bytes)
        // unsafelyUnwrapped: something was reserved.
        let start = buffer.start.unsafelyUnwrapped
        if !isKept {
            isKept = true
            BitRuns.fill(start, at: 0, count: count, with: true)
        }
        return start
    }

    mutating func append(_ chunk: ColumnChunk, _ rows: Range<Int>) throws(DatabaseError) {
        if isKept || chunk.hasNulls, isKept || chunk.countNulls(rows) > 0 {
            nullCount += chunk.copyPresence(rows, to: try keep(rows.count), at: count)
        }
        count += rows.count
    }

    mutating func append(_ chunk: ColumnChunk, _ slots: Slots) throws(DatabaseError) {
        if isKept || chunk.hasNulls, isKept || chunk.countNulls(slots) > 0 {
            nullCount += chunk.copyPresence(slots, to: try keep(slots.count), at: count)
        }
        count += slots.count
    }

    mutating func append(isPresent: Bool, times: Int = 1) throws(DatabaseError) {
        if isKept || !isPresent {
            BitRuns.fill(try keep(times), at: count, count: times, with: isPresent)
            if !isPresent { nullCount += times }
        }
        count += times
    }
}
