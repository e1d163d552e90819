/// A leaf of decimals: as decimal32, decimal64 or decimal128 in binary integer encoding, or all zero, or all null.
import MotteValues

struct DecimalLeaf {
    private static let nullHigh: UInt64 = 0x7C00_0000_0000_0000
    private static let null64: UInt64 = 0x7C00_0000_0000_00AA
    private static let null32: UInt32 = 0x7C00_00AA
    private static let bias = 6_176

    let count: Int
    private let ref: Int
    private let start: UnsafeRawPointer
    private let width: Int
    private let isZero: Bool

    init(_ node: Node) throws(DatabaseError) {
        try node.multiplied("a leaf of decimals")
        guard [0, 4, 8, 16].contains(node.width) else { throw node.unlike("a leaf of decimals") }
        (count, ref, start, width, isZero) = (node.count, node.ref, node.start, node.width, node.context)
    }

    /// nil: null.
    func value(_ index: Int) throws(DatabaseError) -> Decimal128? {
        switch width {
        case 0: return isZero ? .zero : nil
        case 4:
            let bits = UInt32(littleEndian: start.load(fromByteOffset: 4 * index, as: UInt32.self))
            if bits == Self.null32 { return nil }
            guard bits >> 29 & 3 != 3 else { throw Damage.at(ref, "a decimal is in no form that is used") }
            return Self.widened(
                isNegative: bits >> 31 != 0, exponent: Int(bits >> 23 & 0xFF) - 101, UInt64(bits & 0x7F_FFFF))
        case 8:
            let bits = UInt64(littleEndian: start.load(fromByteOffset: 8 * index, as: UInt64.self))
            if bits == Self.null64 { return nil }
            guard bits >> 61 & 3 != 3 else { throw Damage.at(ref, "a decimal is in no form that is used") }
            return Self.widened(
                isNegative: bits >> 63 != 0, exponent: Int(bits >> 53 & 0x3FF) - 398, bits & 0x1F_FFFF_FFFF_FFFF)
        default:
            let low = UInt64(littleEndian: start.load(fromByteOffset: 16 * index, as: UInt64.self))
            let high = UInt64(littleEndian: start.load(fromByteOffset: 16 * index + 8, as: UInt64.self))
            return Self.isNull(low: low, high: high) ? nil : Decimal128(low: low, high: high)
        }
    }

    static func isNull(low: UInt64, high: UInt64) -> Bool { high == nullHigh && low == 0xAA }

    private static func widened(isNegative: Bool, exponent: Int, _ coefficient: UInt64) -> Decimal128 {
        Decimal128(low: coefficient, high: (isNegative ? 1 << 63 : 0) | UInt64(exponent + bias) << 49)
    }
}
