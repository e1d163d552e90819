/// When objects were made in writes: after a write is cancelled, or goes back to a savepoint, another process may give
/// the keys of its objects to its own (this one passes them over, see `GivenKeys`), and a program that still holds an
/// earlier object must not see the later one.
///
/// Each write has a number, and another after each time that it went back to a savepoint.
import MotteStorage
import MotteValues

struct Births {
    private(set) var current: UInt32 = 0
    private var first: UInt32 = 0
    /// Ascending and apart: numbers of which no object came to be.
    private var cancelled: [ClosedRange<UInt32>] = []
    /// By table, ascending in both: what had a key from there on when objects came to be that had this number, or one
    /// before, is gone. Objects that remained have lower keys than all that is undone after them.
    private var cuts: [TableKey: [Cut]] = [:]

    private struct Cut {
        let number: UInt32
        let firstKey: ObjectKey
    }

    /// Those of the open write, or of the last one.
    var ofWrite: ClosedRange<UInt32> { first ... max(first, current) }

    mutating func begin() {
        current &+= 1
        first = current
    }

    mutating func cancel(_ numbers: ClosedRange<UInt32>) {
        let place = firstRange(from: numbers.lowerBound)
        if place > 0, cancelled[place - 1].upperBound &+ 1 == numbers.lowerBound {
            cancelled[place - 1] = cancelled[place - 1].lowerBound ... numbers.upperBound
        } else {
            cancelled.insert(numbers, at: place)
        }
    }

    /// The position of the first range that does not end before a number.
    private func firstRange(from number: UInt32) -> Int {
        var low = 0
        var high = cancelled.count
        while low < high {
            let middle = (low + high) / 2
            if cancelled[middle].upperBound < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    mutating func cut(from keys: [(table: TableKey, key: ObjectKey)]) {
        guard !keys.isEmpty else { return }
        for (table, key) in keys {
            while let last = cuts[table]?.last, last.firstKey.rawValue >= key.rawValue { cuts[table]?.removeLast() }
            cuts[table, default: []].append(Cut(number: current, firstKey: key))
        }
        current &+= 1
    }

    @inline(__always)
    func areUndone(_ birth: UInt32, _ table: TableKey, _ key: ObjectKey) -> Bool {
        if cancelled.isEmpty, cuts.isEmpty { return false }
        return isAmongUndone(birth, table, key)
    }

    @inline(never)
    private func isAmongUndone(_ birth: UInt32, _ table: TableKey, _ key: ObjectKey) -> Bool {
        if let cuts = cuts[table], let cut = Self.first(cuts, from: birth), key.rawValue >= cut.firstKey.rawValue {
            return true
        }
        let place = firstRange(from: birth)
        return place < cancelled.count && cancelled[place].contains(birth)
    }

    private static func first(_ cuts: [Cut], from number: UInt32) -> Cut? {
        var low = 0
        var high = cuts.count
        while low < high {
            let middle = (low + high) / 2
            if cuts[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low < cuts.count ? cuts[low] : nil
    }
}
