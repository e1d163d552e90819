/// Runs of bits, lowest first, copied from one bitmap to another at any place.
package enum BitRuns {
    /// Bits of `source` from `first` on to those of `target` from `place` on. Bits of `target` behind them, up to the
    /// end of their byte, may change.
    package static func copy(
        _ source: UnsafeRawPointer, from first: Int, count: Int, to target: UnsafeMutableRawPointer, at place: Int
    ) {
        var done = 0
        // Up to the next whole byte of the target one by one, then eight at a time.
        while done < count, (place &+ done) & 7 != 0 {
            set(target, place &+ done, bit(source, first &+ done))
            done &+= 1
        }
        let shift = (first &+ done) & 7
        var from = source + ((first &+ done) >> 3)
        var to = target + ((place &+ done) >> 3)
        while count &- done >= 8 {
            var byte = from.load(as: UInt8.self) >> UInt8(shift)
            if shift != 0 { byte |= from.load(fromByteOffset: 1, as: UInt8.self) << UInt8(8 &- shift) }
            to.storeBytes(of: byte, as: UInt8.self)
            from += 1
            to += 1
            done &+= 8
        }
        while done < count {
            set(target, place &+ done, bit(source, first &+ done))
            done &+= 1
        }
    }

    /// Makes bits from `place` on all 1 or all 0.
    package static func fill(_ target: UnsafeMutableRawPointer, at place: Int, count: Int, with value: Bool) {
        var done = 0
        while done < count, (place &+ done) & 7 != 0 {
            set(target, place &+ done, value)
            done &+= 1
        }
        let whole = (count &- done) / 8
        (target + ((place &+ done) >> 3)).initializeMemory(as: UInt8.self, repeating: value ? 0xFF : 0, count: whole)
        done &+= whole &* 8
        while done < count {
            set(target, place &+ done, value)
            done &+= 1
        }
    }

    package static func countOnes(_ source: UnsafeRawPointer, from first: Int, count: Int) -> Int {
        var ones = 0
        var index = 0
        while index < count, (first &+ index) & 7 != 0 {
            ones &+= bit(source, first &+ index) ? 1 : 0
            index &+= 1
        }
        while count &- index >= 64 {
            let word = source.loadUnaligned(fromByteOffset: (first &+ index) >> 3, as: UInt64.self)
            ones &+= word.nonzeroBitCount
            index &+= 64
        }
        while index < count {
            ones &+= bit(source, first &+ index) ? 1 : 0
            index &+= 1
        }
        return ones
    }

    @inline(__always)
    package static func bit(_ source: UnsafeRawPointer, _ index: Int) -> Bool {
        source.load(fromByteOffset: index >> 3, as: UInt8.self) & (1 << UInt8(index & 7)) != 0
    }

    @inline(__always)
    package static func set(_ target: UnsafeMutableRawPointer, _ index: Int, _ value: Bool) {
        let place = target + (index >> 3)
        let mask = UInt8(1) << UInt8(index & 7)
        let byte = place.load(as: UInt8.self)
        place.storeBytes(of: value ? byte | mask : byte & ~mask, as: UInt8.self)
    }
}
