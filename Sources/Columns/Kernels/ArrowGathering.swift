/// Scattered rows of a chunk as Arrow lays them out; what `ArrowKernels` does for runs of neighbours.
import MotteValues

/// Rows of one chunk, in any order.
package typealias Slots = UnsafeBufferPointer<UInt32>

extension ColumnChunk {
    // MARK: Bits

    package func countNulls(_ slots: Slots) -> Int {
        guard validity != nil else { return 0 }
        var nulls = 0
        for slot in slots where isNull(Int(slot)) { nulls &+= 1 }
        return nulls
    }

    /// The number of nulls.
    package func copyPresence(_ slots: Slots, to target: UnsafeMutableRawPointer, at place: Int) -> Int {
        var nulls = 0
        for (index, slot) in slots.enumerated() {
            let isNull = isNull(Int(slot))
            BitRuns.set(target, place &+ index, !isNull)
            nulls &+= isNull ? 1 : 0
        }
        return nulls
    }

    package func copyBits(_ slots: Slots, to target: UnsafeMutableRawPointer, at place: Int) {
        for (index, slot) in slots.enumerated() { BitRuns.set(target, place &+ index, bool(Int(slot))) }
    }

    // MARK: Numbers

    package func decodeInts(_ slots: Slots, into output: UnsafeMutablePointer<Int64>) {
        let reference = reference, values = values
        switch width {
        case 0: for index in 0 ..< slots.count { output[index] = reference }
        case 1:
            for index in 0 ..< slots.count {
                let byte = values.load(fromByteOffset: Int(slots[index]), as: UInt8.self)
                output[index] = reference &+ Int64(byte)
            }
        case 2:
            for index in 0 ..< slots.count {
                let offset = Int(slots[index]) &* 2
                output[index] = reference &+ Int64(values.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
            }
        case 4:
            for index in 0 ..< slots.count {
                let offset = Int(slots[index]) &* 4
                output[index] = reference &+ Int64(values.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            }
        default:
            for index in 0 ..< slots.count {
                let offset = Int(slots[index]) &* 8
                output[index] = reference &+ values.loadUnaligned(fromByteOffset: offset, as: Int64.self)
            }
        }
        forEachNull(slots) { output[$0] = kind == .link ? -1 : 0 }
    }

    package func decodeInts<Narrow: FixedWidthInteger>(_ slots: Slots, narrowed output: UnsafeMutablePointer<Narrow>) {
        for index in 0 ..< slots.count {
            let slot = Int(slots[index])
            output[index] = isNull(slot) ? 0 : Narrow(truncatingIfNeeded: int(slot))
        }
    }

    package func decodeFloats(_ slots: Slots, into output: UnsafeMutablePointer<Float>) {
        for index in 0 ..< slots.count { output[index] = float(Int(slots[index])) }
        forEachNull(slots) { output[$0] = 0 }
    }

    package func decodeDoubles(_ slots: Slots, into output: UnsafeMutablePointer<Double>) {
        for index in 0 ..< slots.count { output[index] = double(Int(slots[index])) }
        forEachNull(slots) { output[$0] = 0 }
    }

    /// As for runs: the first position that is too far from 1970.
    package func decodeTimes(
        _ slots: Slots, unitsPerSecond: Int64, into output: UnsafeMutablePointer<Int64>
    ) -> Int? {
        decodeInts(slots, into: output)
        if unitsPerSecond == 1 { return nil }
        let nanosecondsPerUnit = UInt32(truncatingIfNeeded: 1_000_000_000 / unitsPerSecond)
        for index in 0 ..< slots.count {
            let (product, over) = output[index].multipliedReportingOverflow(by: unitsPerSecond)
            let rest = Int64(nanoseconds(Int(slots[index])) / nanosecondsPerUnit)
            let (sum, overAgain) = product.addingReportingOverflow(rest)
            guard over || overAgain else {
                output[index] = sum
                continue
            }
            if isNull(Int(slots[index])) { continue }
            let units = Int128(output[index]) * Int128(unitsPerSecond) + Int128(rest)
            guard let exact = Int64(exactly: units) else { return index }
            output[index] = exact
        }
        return nil
    }

    @inline(__always)
    private func forEachNull(_ slots: Slots, _ body: (Int) -> Void) {
        guard validity != nil else { return }
        for (index, slot) in slots.enumerated() where isNull(Int(slot)) { body(index) }
    }

    // MARK: Texts

    package func byteBound(_ slots: Slots) -> Int {
        var total = 0
        let isDictionary = isDictionary
        for slot in slots {
            let slot = Int(slot)
            if longTexts != nil {
                total &+= isNull(slot) ? 0 : bytes(slot).count
            } else {
                let place = isDictionary ? code(slot) : slot
                total &+= offset(place &+ 1) &- offset(place)
            }
        }
        return total
    }

    package func copyTexts(
        _ slots: Slots, base: Int, ends: UnsafeMutablePointer<Int32>, heap: UnsafeMutableRawPointer
    ) -> Int {
        copyEach(slots.lazy.map { Int($0) }, base, ends, heap)
    }

    package func copyViews(
        _ slots: Slots, base: Int, buffer: Int32, views: UnsafeMutablePointer<TextView>,
        heap: UnsafeMutableRawPointer
    ) -> Int {
        viewEach(slots.lazy.map { Int($0) }, base, buffer, views, heap)
    }

    package func copyFixed(_ slots: Slots, width: Int, to output: UnsafeMutableRawPointer) {
        for (index, slot) in slots.enumerated() {
            copyFixed(Int(slot) ..< Int(slot) &+ 1, width: width, to: output + index &* width)
        }
    }
}
