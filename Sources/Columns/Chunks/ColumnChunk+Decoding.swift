/// Copying runs of a chunk's values out: for bulk reads, sorting and joins. Null rows give 0 (links: -1).
import MotteValues

extension ColumnChunk {
    /// Ints, links' object keys and timestamps' seconds.
    package func decodeInts(_ rows: Range<Int>, into output: UnsafeMutablePointer<Int64>) {
        let reference = reference, start = rows.lowerBound, count = rows.count
        switch width {
        case 0: for index in 0 ..< count { output[index] = reference }
        case 1:
            for index in 0 ..< count {
                output[index] = reference &+ Int64(values.load(fromByteOffset: start &+ index, as: UInt8.self))
            }
        case 2:
            for index in 0 ..< count {
                let offset = (start &+ index) &* 2
                output[index] = reference &+ Int64(values.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
            }
        case 4:
            for index in 0 ..< count {
                let offset = (start &+ index) &* 4
                output[index] = reference &+ Int64(values.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            }
        default:
            for index in 0 ..< count {
                let offset = (start &+ index) &* 8
                output[index] = reference &+ values.loadUnaligned(fromByteOffset: offset, as: Int64.self)
            }
        }
        forEachNull(rows) { output[$0] = kind == .link ? -1 : 0 }
    }

    package func decodeInts(into output: UnsafeMutablePointer<Int64>) { decodeInts(0 ..< count, into: output) }
    package func decodeLinks(_ rows: Range<Int>, into output: UnsafeMutablePointer<Int64>) {
        decodeInts(rows, into: output)
    }

    /// Float and double columns.
    package func decodeDoubles(_ rows: Range<Int>, into output: UnsafeMutablePointer<Double>) {
        let start = rows.lowerBound
        if kind == .float {
            for index in 0 ..< rows.count { output[index] = Double(float(start &+ index)) }
        } else if !rows.isEmpty {
            UnsafeMutableRawPointer(output).copyMemory(from: values + start &* 8, byteCount: rows.count &* 8)
        }
        forEachNull(rows) { output[$0] = 0 }
    }

    package func decodeDoubles(into output: UnsafeMutablePointer<Double>) { decodeDoubles(0 ..< count, into: output) }

    /// One byte per row, 0 or 1.
    package func decodeBools(_ rows: Range<Int>, into output: UnsafeMutablePointer<UInt8>) {
        for index in 0 ..< rows.count { output[index] = bool(rows.lowerBound &+ index) ? 1 : 0 }
        forEachNull(rows) { output[$0] = 0 }
    }

    package func decodeTimestamps(_ rows: Range<Int>, into output: UnsafeMutablePointer<Timestamp>) {
        for index in 0 ..< rows.count { output[index] = timestamp(rows.lowerBound &+ index) }
        forEachNull(rows) { output[$0] = Timestamp(seconds: 0, nanoseconds: 0) }
    }

    /// One bit per row, 1 = present; bits past the last row are 0.
    package func copyValidity(into words: SelectionWords) { ComparisonKernels.selectPresent(self, into: words) }

    /// Positions within `rows`.
    @inline(__always)
    private func forEachNull(_ rows: Range<Int>, _ body: (Int) -> Void) {
        guard validity != nil else { return }
        for row in rows where isNull(row) { body(row &- rows.lowerBound) }
    }
}
