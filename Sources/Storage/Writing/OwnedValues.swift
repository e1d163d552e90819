/// Values that a caller hands in may be borrowed from the very rows that the call changes: a text read a moment ago in
/// this write lies in memory that the next change gives up. Calls that do several things copy such values first.
///
/// Only where something was lent: a bulk load that reads nothing copies nothing. What is as stored stays where it is
/// until the write's snapshot goes.
import MotteValues

/// Whether the write has lent memory of rows that it has changed.
final class LentRows {
    @exclusivity(unchecked) var any = false
}

/// Copies of bytes, for as long as this lives.
final class ByteCopies {
    private var blocks: [UnsafeMutableRawPointer] = []

    func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard let start = bytes.baseAddress, bytes.count > 0 else { return bytes }
        let block = UnsafeMutableRawPointer.allocate(byteCount: bytes.count, alignment: 8)
        block.copyMemory(from: start, byteCount: bytes.count)
        blocks.append(block)
        return UnsafeRawBufferPointer(start: block, count: bytes.count)
    }

    func copy(_ value: ValueView) -> ValueView {
        switch value.kind {
        case .string, .data, .list, .map:
            var copied = value
            copied.low = UInt64(UInt(bitPattern: copy(value.bytes).baseAddress))
            return copied
        default: return value
        }
    }

    deinit { for block in blocks { block.deallocate() } }
}

extension WriteTransaction {
    package func withOwned<Outcome>(
        _ values: [ValueView], _ body: ([ValueView]) throws(DatabaseError) -> Outcome
    ) throws(DatabaseError) -> Outcome {
        guard lent.any else { return try body(values) }
        let copies = ByteCopies()
        defer { withExtendedLifetime(copies) {} }
        return try body(values.map { copies.copy($0) })
    }

    /// `count` values that lie behind each other.
    package func withOwned<Outcome>(
        _ values: UnsafePointer<ValueView>?, count: Int,
        _ body: (UnsafePointer<ValueView>?) throws(DatabaseError) -> Outcome
    ) throws(DatabaseError) -> Outcome {
        guard lent.any, let values, count > 0 else { return try body(values) }
        let copies = ByteCopies()
        defer { withExtendedLifetime(copies) {} }
        let own = (0 ..< count).map { copies.copy(values[$0]) }
        return try own.withUnsafeBufferPointer { buffer throws(DatabaseError) in try body(buffer.baseAddress) }
    }

    /// A key of a map and its value.
    func withOwned<Outcome>(
        _ key: UnsafeRawBufferPointer, _ value: ValueView,
        _ body: (UnsafeRawBufferPointer, ValueView) throws(DatabaseError) -> Outcome
    ) throws(DatabaseError) -> Outcome {
        guard lent.any else { return try body(key, value) }
        let copies = ByteCopies()
        defer { withExtendedLifetime(copies) {} }
        return try body(copies.copy(key), copies.copy(value))
    }

    package func withOwned<Outcome>(
        _ entries: [(key: UnsafeRawBufferPointer, value: ValueView)],
        _ body: ([(key: UnsafeRawBufferPointer, value: ValueView)]) throws(DatabaseError) -> Outcome
    ) throws(DatabaseError) -> Outcome {
        guard lent.any else { return try body(entries) }
        let copies = ByteCopies()
        defer { withExtendedLifetime(copies) {} }
        return try body(entries.map { (copies.copy($0.key), copies.copy($0.value)) })
    }

    /// The columns of a batch.
    func withOwned<Outcome>(
        _ sources: [BatchColumn], rowCount: Int, _ body: ([BatchColumn]) throws(DatabaseError) -> Outcome
    ) throws(DatabaseError) -> Outcome {
        guard lent.any, rowCount > 0 else { return try body(sources) }
        let copies = ByteCopies()
        defer { withExtendedLifetime(copies) {} }
        let own = sources.map { source -> BatchColumn in
            switch source {
            case .ints, .doubles: return source
            case .cells(let cells, let stride):
                let values = (0 ..< rowCount).map { copies.copy(cells[$0 &* stride]) }
                let kept = values.withUnsafeBytes { copies.copy($0) }
                guard let start = kept.baseAddress else { return source }
                return .cells(start.assumingMemoryBound(to: ValueView.self), stride: 1)
            case .texts(let heap, let offsets):
                let first = Int(offsets[0])
                let bytes = UnsafeRawBufferPointer(start: heap + first, count: Int(offsets[rowCount]) - first)
                guard let start = copies.copy(bytes).baseAddress else { return source }
                return .texts(start - first, offsets: offsets)
            }
        }
        return try body(own)
    }
}
