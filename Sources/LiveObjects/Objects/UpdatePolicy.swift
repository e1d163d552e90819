/// What happens when an object with the same primary key is there already, and when the elements of a collection are
/// assigned over others.
///
///     error      the primary key is taken: `.duplicatePrimaryKey`, and nothing changes
///     all        every given value is written and reported as modified, equal ones too
///     modified   only values that differ are written and reported; of lists, only positions that differ
import MotteValues

package enum UpdatePolicy: UInt32, Sendable, CaseIterable {
    case error = 1
    case all = 2
    case modified = 3
}

extension ValueView {
    /// Whether `new`, as its column would hold it, reads back as something else than what is there. Numbers may differ
    /// though they be equal: in a mixed value the kind is part of it, a zero has a sign, a decimal its digits.
    package func differs(from new: ValueView) -> Bool {
        guard kindNumber == new.kindNumber else { return true }
        switch kind {
        // In order [1] and [true] are equal; their bytes are those of one form each.
        case .list, .map: return !bytes.elementsEqual(new.bytes)
        case .float: return floatValue.bitPattern != new.floatValue.bitPattern && !isNaN(new)
        case .double: return doubleValue.bitPattern != new.doubleValue.bitPattern && !isNaN(new)
        case .decimal:
            let (old, new) = (decimalValue, new.decimalValue)
            return (old.low, old.high) != (new.low, new.high) && !(old.isNaN && new.isNaN)
        default: return ValueOrdering.compare(self, new) != 0
        }
    }

    private func isNaN(_ other: ValueView) -> Bool {
        kind == .float
            ? floatValue.isNaN && other.floatValue.isNaN : doubleValue.isNaN && other.doubleValue.isNaN
    }
}
