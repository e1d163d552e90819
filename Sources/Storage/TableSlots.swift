/// One thing for each table, by its number. Numbers are small where classes are not made and dropped by the thousand; a
/// file that somebody made may have any, and must not have memory reserved for all below it.
import MotteValues

package struct TableSlots<Element> {
    private var low: [Element?] = []
    private var high: [Int: Element] = [:]
    private static var lowLimit: Int { 4_096 }

    package init() {}

    @inline(__always)
    package subscript(table: TableKey) -> Element? {
        get {
            let index = Int(table.rawValue)
            if index < low.count { return low[index] }
            return high.isEmpty ? nil : high[index]
        }
        set {
            let index = Int(table.rawValue)
            guard index < Self.lowLimit else { return high[index] = newValue }
            while low.count <= index { low.append(nil) }
            low[index] = newValue
        }
    }

    /// Those that are there, tables ascending.
    package var all: [Element] {
        let first = low.compactMap { $0 }
        return high.isEmpty ? first : first + high.sorted { $0.key < $1.key }.map(\.value)
    }

    package mutating func removeAll() {
        low.removeAll()
        high.removeAll()
    }
}
