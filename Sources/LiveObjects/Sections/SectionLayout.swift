/// Which elements are in which section: sections in the order of their first element, elements in the order of the
/// collection. Immutable; shared by everything that shows it.
import MotteValues

package final class SectionLayout: Sendable {
    /// Values of different types are different keys, also numbers that are equal.
    package struct Key: Hashable, Sendable {
        package let value: Value
        private let kind: UInt32

        package init(_ value: Value) {
            self.value = value
            kind = value.kind.rawValue
        }
    }

    package let keys: [Key]
    /// The section of each element of the collection.
    package let sectionOf: [Int32]
    /// Positions in the collection of the elements of all sections, one section after the other.
    private let members: [Int]
    /// Where each section begins in `members`, and where the last one ends.
    private let starts: [Int]
    private let sectionByKey: [Key: Int]

    package static let empty = SectionLayout(keys: [], sectionOf: [])

    /// `keys` are in the order of their first element and all have one.
    init(keys: [Key], sectionOf: [Int32]) {
        self.keys = keys
        self.sectionOf = sectionOf
        var counts = [Int](repeating: 0, count: keys.count + 1)
        for section in sectionOf { counts[Int(section) + 1] += 1 }
        for section in keys.indices { counts[section + 1] += counts[section] }
        starts = counts
        var members = [Int](repeating: 0, count: sectionOf.count)
        for (position, section) in sectionOf.enumerated() {
            members[counts[Int(section)]] = position
            counts[Int(section)] += 1
        }
        self.members = members
        var byKey: [Key: Int] = [:]
        for (section, key) in keys.enumerated() { byKey[key] = section }
        sectionByKey = byKey
    }

    package var count: Int { keys.count }
    package func count(in section: Int) -> Int { starts[section + 1] - starts[section] }

    /// Ascending positions in the collection.
    package func positions(in section: Int) -> ArraySlice<Int> { members[starts[section] ..< starts[section + 1]] }

    package func find(_ key: Key) -> Int? { sectionByKey[key] }

    /// Section and place in it of an element of the collection.
    package func place(_ position: Int) -> (section: Int, item: Int) {
        let section = Int(sectionOf[position])
        // Binary search among the section's members, which ascend.
        var low = starts[section]
        var high = starts[section + 1]
        while low < high {
            let middle = (low + high) / 2
            if members[middle] < position { low = middle + 1 } else { high = middle }
        }
        return (section, low - starts[section])
    }
}

/// Puts one element after the other into its section.
struct SectionLayoutBuilder {
    private var keys: [SectionLayout.Key] = []
    private var sectionOf: [Int32] = []
    private var known: [SectionLayout.Key: Int32] = [:]
    /// The sections of an older layout in this one; -1 for those not met yet.
    private var sections: [Int32] = []

    init(capacity: Int) { sectionOf.reserveCapacity(capacity) }

    mutating func append(_ value: Value) {
        let key = SectionLayout.Key(value)
        if let last = sectionOf.last, keys[Int(last)] == key { return sectionOf.append(last) }
        if let section = known[key] { return sectionOf.append(section) }
        let section = Int32(truncatingIfNeeded: keys.count)
        keys.append(key)
        known[key] = section
        sectionOf.append(section)
    }

    /// Elements that stayed, which keep their keys.
    mutating func copy(_ positions: Range<Int>, of old: SectionLayout, oldPosition: (Int) -> Int) {
        for position in positions {
            let before = old.sectionOf[oldPosition(position)]
            if Int(before) < sections.count, sections[Int(before)] >= 0 {
                sectionOf.append(sections[Int(before)])
                continue
            }
            append(old.keys[Int(before)].value)
            while sections.count <= Int(before) { sections.append(-1) }
            sections[Int(before)] = sectionOf[sectionOf.count - 1]
        }
    }

    func finish() -> SectionLayout { SectionLayout(keys: keys, sectionOf: sectionOf) }
}
