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
    /// Whether `new`, as its column would hold it, says something else than what is there. Numbers of different kinds
    /// differ, though they be equal: in a mixed value the kind is part of it.
    package func differs(from new: ValueView) -> Bool {
        guard kindNumber == new.kindNumber else { return true }
        // In order [1] and [true] are equal; their bytes are those of one form each.
        if kind == .list || kind == .map { return !bytes.elementsEqual(new.bytes) }
        return ValueOrdering.compare(self, new) != 0
    }
}
