/// Values of a chunk as Arrow lays them out, a run of rows at a time. Null rows give 0 or an empty text.
import MotteValues

extension ColumnChunk {
    // MARK: Bits

    /// What is present, to bits of `target` from `place` on; the number of nulls.
    package func copyPresence(_ rows: Range<Int>, to target: UnsafeMutableRawPointer, at place: Int) -> Int {
        guard let validity else {
            BitRuns.fill(target, at: place, count: rows.count, with: true)
            return 0
        }
        BitRuns.copy(validity, from: rows.lowerBound, count: rows.count, to: target, at: place)
        return rows.count - BitRuns.countOnes(validity, from: rows.lowerBound, count: rows.count)
    }

    package func countNulls(_ rows: Range<Int>) -> Int {
        guard let validity else { return 0 }
        return rows.count - BitRuns.countOnes(validity, from: rows.lowerBound, count: rows.count)
    }

    /// The values of a column of bools.
    package func copyBits(_ rows: Range<Int>, to target: UnsafeMutableRawPointer, at place: Int) {
        BitRuns.copy(values, from: rows.lowerBound, count: rows.count, to: target, at: place)
    }

    // MARK: Numbers

    /// Ints in fewer bits than 64, which they fit in.
    package func decodeInts<Narrow: FixedWidthInteger>(
        _ rows: Range<Int>, narrowed output: UnsafeMutablePointer<Narrow>
    ) {
        for index in 0 ..< rows.count {
            let row = rows.lowerBound &+ index
            output[index] = isNull(row) ? 0 : Narrow(truncatingIfNeeded: int(row))
        }
    }

    /// Values of a column of floats.
    package func decodeFloats(_ rows: Range<Int>, into output: UnsafeMutablePointer<Float>) {
        for index in 0 ..< rows.count {
            output[index] = isNull(rows.lowerBound &+ index) ? 0 : float(rows.lowerBound &+ index)
        }
    }

    /// Timestamps in units since 1970, rounded down: a thousand million by the power of a thousand. The first row that
    /// is too far from 1970 for the unit, nil where all fit.
    package func decodeTimes(
        _ rows: Range<Int>, unitsPerSecond: Int64, into output: UnsafeMutablePointer<Int64>
    ) -> Int? {
        decodeInts(rows, into: output)
        let overflows: Bool
        switch unitsPerSecond {
        case 1: return nil
        case 1_000: overflows = scale(rows, 1_000, 1_000_000, output)
        case 1_000_000: overflows = scale(rows, 1_000_000, 1_000, output)
        default: overflows = scale(rows, 1_000_000_000, 1, output)
        }
        guard overflows else { return nil }
        for (index, row) in rows.enumerated() where !isNull(row) {
            let time = timestamp(row)
            // In a wider type: the sum can fit although the product does not.
            let units =
                Int128(time.seconds) * Int128(unitsPerSecond)
                + Int128(Int64(time.nanoseconds) / (1_000_000_000 / unitsPerSecond))
            guard let exact = Int64(exactly: units) else { return row }
            output[index] = exact
        }
        return nil
    }

    @inline(__always)
    private func scale(
        _ rows: Range<Int>, _ perSecond: Int64, _ nanosecondsPerUnit: UInt32, _ output: UnsafeMutablePointer<Int64>
    ) -> Bool {
        var overflows = false
        if let extra {
            for index in 0 ..< rows.count {
                let nanoseconds = extra.loadUnaligned(fromByteOffset: (rows.lowerBound &+ index) &* 4, as: UInt32.self)
                let (product, over) = output[index].multipliedReportingOverflow(by: perSecond)
                let (sum, overAgain) = product.addingReportingOverflow(Int64(nanoseconds / nanosecondsPerUnit))
                overflows = overflows || over || overAgain
                output[index] = sum
            }
        } else {
            for index in 0 ..< rows.count {
                let (product, over) = output[index].multipliedReportingOverflow(by: perSecond)
                overflows = overflows || over
                output[index] = product
            }
        }
        return overflows
    }

    // MARK: Texts

    /// Bytes of the texts of some rows, or somewhat more.
    package func byteBound(_ rows: Range<Int>) -> Int {
        if longTexts == nil, !isDictionary { return offset(rows.upperBound) &- offset(rows.lowerBound) }
        if copiesCodes(rows) {
            var longest = 0
            for code in 0 ..< distinctCount { longest = max(longest, offset(code &+ 1) &- offset(code)) }
            // Less than looking at each of them would cost.
            if longest <= 64 { return rows.count &* longest }
        }
        var total = 0
        for row in rows where !isNull(row) { total &+= bytes(row).count }
        return total
    }

    private func copiesCodes(_ rows: Range<Int>) -> Bool {
        longTexts == nil && isDictionary && rows.count >= 2 &* distinctCount
    }

    /// What copies may write behind the last byte.
    package static var textSlack: Int { 16 }

    /// The texts of some rows behind each other, and where each ends; the first begins at `base`. The heap has room
    /// for `byteBound` and the slack. How many bytes it took.
    package func copyTexts(
        _ rows: Range<Int>, base: Int, ends: UnsafeMutablePointer<Int32>, heap: UnsafeMutableRawPointer
    ) -> Int {
        if copiesCodes(rows) { return copyCodes(rows, base, ends, heap) }
        guard longTexts == nil, !isDictionary else { return copyEach(rows, base, ends, heap) }
        guard let ownHeap = self.heap, let extra else { return copyEach(rows, base, ends, heap) }
        let first = offset(rows.lowerBound)
        let size = offset(rows.upperBound) &- first
        if size > 0 { heap.copyMemory(from: ownHeap + first, byteCount: size) }
        let shift = Int32(truncatingIfNeeded: base &- first)
        if offsetWidth == 2 {
            let offsets = extra + (rows.lowerBound &+ 1) &* 2
            for index in 0 ..< rows.count {
                let end = offsets.loadUnaligned(fromByteOffset: index &* 2, as: UInt16.self)
                ends[index] = shift &+ Int32(truncatingIfNeeded: end)
            }
        } else {
            let offsets = extra + (rows.lowerBound &+ 1) &* 4
            for index in 0 ..< rows.count {
                let end = offsets.loadUnaligned(fromByteOffset: index &* 4, as: UInt32.self)
                ends[index] = shift &+ Int32(truncatingIfNeeded: end)
            }
        }
        return size
    }

    func copyEach(
        _ rows: some Sequence<Int>, _ base: Int, _ ends: UnsafeMutablePointer<Int32>, _ heap: UnsafeMutableRawPointer
    ) -> Int {
        var used = 0
        var index = 0
        for row in rows {
            if !isNull(row) {
                let text = bytes(row)
                if let start = text.baseAddress, text.count > 0 {
                    (heap + used).copyMemory(from: start, byteCount: text.count)
                }
                used &+= text.count
            }
            ends[index] = Int32(truncatingIfNeeded: base &+ used)
            index &+= 1
        }
        return used
    }

    /// Short texts of a dictionary are copied sixteen bytes at once, from a copy that has so many behind the last one.
    private func copyCodes(
        _ rows: Range<Int>, _ base: Int, _ ends: UnsafeMutablePointer<Int32>, _ heap: UnsafeMutableRawPointer
    ) -> Int {
        var used = 0
        withPaddedDictionary { dictionary, starts in
            let hasNulls = hasNulls
            for index in 0 ..< rows.count {
                let row = rows.lowerBound &+ index
                if !hasNulls || !isNull(row) {
                    let code = code(row)
                    let start = Int(starts[code])
                    let size = Int(starts[code &+ 1]) &- start
                    let from = dictionary + start
                    if size <= 16 {
                        (heap + used).storeBytes(of: from.loadUnaligned(as: UInt64.self), as: UInt64.self)
                        let rest = from.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
                        (heap + used).storeBytes(of: rest, toByteOffset: 8, as: UInt64.self)
                    } else {
                        (heap + used).copyMemory(from: from, byteCount: size)
                    }
                    used &+= size
                }
                ends[index] = Int32(truncatingIfNeeded: base &+ used)
            }
        }
        return used
    }

    private func withPaddedDictionary(
        _ body: (UnsafeRawPointer, UnsafePointer<UInt32>) -> Void
    ) {
        let size = offset(distinctCount)
        let copy = UnsafeMutableRawPointer.allocate(byteCount: size + Self.textSlack, alignment: 16)
        let starts = UnsafeMutablePointer<UInt32>.allocate(capacity: distinctCount + 1)
        defer {
            copy.deallocate()
            starts.deallocate()
        }
        if size > 0, let heap { copy.copyMemory(from: heap, byteCount: size) }
        for code in 0 ... distinctCount { starts[code] = UInt32(truncatingIfNeeded: offset(code)) }
        body(copy, starts)
    }

    /// The texts of some rows as Arrow's views: sixteen bytes each, with the text itself where it has up to twelve
    /// bytes, else its first four, `buffer` and its place in that. `heap` takes what `viewedByteCount` says, behind
    /// `base` bytes of others, and the slack. How many bytes it took.
    package func copyViews(
        _ rows: Range<Int>, base: Int, buffer: Int32, views: UnsafeMutablePointer<TextView>,
        heap: UnsafeMutableRawPointer
    ) -> Int {
        if longTexts == nil, isDictionary, rows.count >= distinctCount {
            let size = offset(distinctCount)
            if size > 0, let own = self.heap { heap.copyMemory(from: own, byteCount: size) }
            let known = UnsafeMutablePointer<TextView>.allocate(capacity: distinctCount + 1)
            defer { known.deallocate() }
            for code in 0 ..< distinctCount {
                let start = offset(code)
                known[code] = TextView(heap + start, offset(code &+ 1) &- start, buffer, base &+ start)
            }
            let hasNulls = hasNulls
            for index in 0 ..< rows.count {
                let row = rows.lowerBound &+ index
                views[index] = hasNulls && isNull(row) ? TextView() : known[code(row)]
            }
            return size
        }
        if longTexts == nil, !isDictionary, let own = self.heap {
            let first = offset(rows.lowerBound)
            let size = offset(rows.upperBound) &- first
            if size > 0 { heap.copyMemory(from: own + first, byteCount: size) }
            var start = 0
            for index in 0 ..< rows.count {
                let end = offset(rows.lowerBound &+ index &+ 1) &- first
                views[index] = TextView(heap + start, end &- start, buffer, base &+ start)
                start = end
            }
            return size
        }
        return viewEach(rows, base, buffer, views, heap)
    }

    func viewEach(
        _ rows: some Sequence<Int>, _ base: Int, _ buffer: Int32, _ views: UnsafeMutablePointer<TextView>,
        _ heap: UnsafeMutableRawPointer
    ) -> Int {
        var used = 0
        for (index, row) in rows.enumerated() {
            guard !isNull(row) else {
                views[index] = TextView()
                continue
            }
            let text = bytes(row)
            if let start = text.baseAddress, text.count > 0 {
                (heap + used).copyMemory(from: start, byteCount: text.count)
            }
            views[index] = TextView(heap + used, text.count, buffer, base &+ used)
            if text.count > TextView.mostInPlace { used &+= text.count }
        }
        return used
    }

    /// What `copyViews` takes of the heap at most.
    package func viewedByteCount(_ rows: Range<Int>) -> Int {
        longTexts == nil && isDictionary && rows.count >= distinctCount ? offset(distinctCount) : byteBound(rows)
    }

    /// Bytes of values that all have so many, one behind the other; zeros for null.
    package func copyFixed(_ rows: Range<Int>, width: Int, to output: UnsafeMutableRawPointer) {
        for (index, row) in rows.enumerated() {
            let place = output + index &* width
            let value = isNull(row) ? UnsafeRawBufferPointer(start: nil, count: 0) : bytes(row)
            guard let start = value.baseAddress, value.count == width else {
                place.initializeMemory(as: UInt8.self, repeating: 0, count: width)
                continue
            }
            place.copyMemory(from: start, byteCount: width)
        }
    }
}

/// One text of Arrow's layout of views.
package struct TextView: BitwiseCopyable {
    private let low: UInt64
    private let high: UInt64

    package static let mostInPlace = 12

    /// Of no bytes.
    @inline(__always)
    package init() { (low, high) = (0, 0) }

    /// `start` has sixteen readable bytes, whatever they are behind the text's own.
    @inline(__always)
    package init(_ start: UnsafeRawPointer, _ size: Int, _ buffer: Int32, _ place: Int) {
        let size64 = UInt64(UInt32(truncatingIfNeeded: size))
        var head = start.loadUnaligned(as: UInt32.self)
        if size <= Self.mostInPlace {
            var tail = start.loadUnaligned(fromByteOffset: 4, as: UInt64.self)
            if size < 4 {
                head &= (1 << (UInt32(truncatingIfNeeded: size) &* 8)) &- 1
                tail = 0
            } else if size < Self.mostInPlace {
                tail &= (1 << (UInt64(truncatingIfNeeded: size &- 4) &* 8)) &- 1
            }
            low = size64 | UInt64(head) << 32
            high = tail
        } else {
            low = size64 | UInt64(head) << 32
            high = UInt64(UInt32(bitPattern: buffer)) | UInt64(UInt32(truncatingIfNeeded: place)) << 32
        }
    }
}
