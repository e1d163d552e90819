/// How many bits the ints of a property may take: a bound on what is written.
///
/// Raw values are the numbers of the file; a release that did not know widths reads 64. Chunks pack ints by what is in
/// them, so a width may change without touching a row: values that no longer fit stay as they are until they are
/// overwritten.
package enum IntWidth: UInt8, Sendable, CaseIterable {
    case bits64 = 0
    case bits8 = 1
    case bits16 = 2
    case bits32 = 3

    package init?(bits: Int) {
        switch bits {
        case 8: self = .bits8
        case 16: self = .bits16
        case 32: self = .bits32
        case 64: self = .bits64
        default: return nil
        }
    }

    package var bits: Int {
        switch self {
        case .bits64: 64
        case .bits8: 8
        case .bits16: 16
        case .bits32: 32
        }
    }

    package var range: ClosedRange<Int64> {
        let highest = Int64.max >> Int64(64 - bits)
        return -highest - 1 ... highest
    }

    @inline(__always)
    package func holds(_ value: Int64) -> Bool { self == .bits64 || range.contains(value) }
}
