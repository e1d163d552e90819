/// An array of integers as a node packs them, in memory: 0 to 64 bits each.
///
/// Up to 4 bits they are unsigned, from the low bits of each byte up; from 8 bits on they are two's complement,
/// little endian, or unsigned where the place of the array says so. Whoever asks for an element compares with `count`
/// first.
import MotteValues

struct Integers {
    let start: UnsafeRawPointer
    let count: Int
    /// Bits are `(1 << code) >> 1`.
    let code: UInt8

    static var none: Integers {
        // unsafelyUnwrapped: not 0.
        Integers(start: UnsafeRawPointer(bitPattern: 8).unsafelyUnwrapped, count: 0, code: 0)
    }

    @inline(__always)
    subscript(index: Int) -> Int64 {
        assert(index >= 0 && index < count)
        switch code {
        case 0: return 0
        case 1: return Int64(start.load(fromByteOffset: index >> 3, as: UInt8.self) >> UInt8(index & 7) & 1)
        case 2: return Int64(start.load(fromByteOffset: index >> 2, as: UInt8.self) >> UInt8(2 * (index & 3)) & 3)
        case 3: return Int64(start.load(fromByteOffset: index >> 1, as: UInt8.self) >> UInt8(4 * (index & 1)) & 15)
        case 4: return Int64(start.load(fromByteOffset: index, as: Int8.self))
        case 5: return Int64(Int16(littleEndian: start.load(fromByteOffset: 2 &* index, as: Int16.self)))
        case 6: return Int64(Int32(littleEndian: start.load(fromByteOffset: 4 &* index, as: Int32.self)))
        default: return Int64(littleEndian: start.load(fromByteOffset: 8 &* index, as: Int64.self))
        }
    }

    @inline(__always)
    func unsigned(_ index: Int) -> UInt64 {
        switch code {
        case 4: return UInt64(UInt8(truncatingIfNeeded: self[index]))
        case 5: return UInt64(UInt16(truncatingIfNeeded: self[index]))
        case 6: return UInt64(UInt32(truncatingIfNeeded: self[index]))
        default: return UInt64(bitPattern: self[index])
        }
    }

    /// Of a "has refs" array; missing ones are nothing.
    @inline(__always)
    func slot(_ index: Int) -> Slot {
        guard index < count else { return .nothing }
        let value = self[index]
        if value == 0 { return .nothing }
        return value & 1 == 1 ? .tagged(value >> 1) : .ref(Int(value))
    }
}

/// An element of a "has refs" array.
enum Slot {
    case nothing
    case tagged(Int64)
    case ref(Int)

    /// 0 for nothing; nil for a ref.
    var number: Int64? {
        switch self {
        case .nothing: 0
        case .tagged(let value): value
        case .ref: nil
        }
    }
}
