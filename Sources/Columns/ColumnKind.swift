/// What a column's chunks hold, with the numbers in the file: those of the value kinds they carry. Never renumbered.
import MotteValues

package enum ColumnKind: UInt8, Sendable, CaseIterable {
    case bool = 1
    case int = 2
    case float = 3
    case double = 4
    case string = 5
    case data = 6
    case timestamp = 7
    case link = 8

    /// Whether values have bytes in a chunk's heap.
    package var hasBytes: Bool { self == .string || self == .data }
}
