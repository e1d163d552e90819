/// A change of a collection as seen in sections.
///
/// Deleted sections are reported by their old index, and their elements are not among the deletions. Inserted sections
/// are reported by their new index, and their elements are insertions too. Deletions and old places of modifications
/// count in the old sections, insertions and new places in the new ones. What stays keeps its order: a section or an
/// element that moves, or an element whose key changes, is a deletion and an insertion.
import MotteLiveObjects
import MotteValues

package struct SectionChanges: Sendable {
    package struct Place: Hashable, Comparable, Sendable {
        package let section: Int
        package let item: Int

        package static func < (left: Place, right: Place) -> Bool {
            left.section != right.section ? left.section < right.section : left.item < right.item
        }
    }

    let old: SectionLayout
    let new: SectionLayout
    /// Of one section alone.
    let only: SectionLayout.Key?
    /// Where that section was just before it changed; others may have shifted it since its observer was notified.
    let lastIndex: Int?
    package private(set) var sectionDeletions: [Int] = []
    package private(set) var sectionInsertions: [Int] = []
    package private(set) var deletions: [Place] = []
    package private(set) var insertions: [Place] = []
    package private(set) var modificationsOld: [Place] = []
    package private(set) var modificationsNew: [Place] = []

    /// `base` is the change of the collection between the two layouts.
    init(
        _ base: ChangeSet, from old: SectionLayout, to new: SectionLayout, only: SectionLayout.Key?, lastIndex: Int?
    ) {
        self.old = old
        self.new = new
        self.only = only
        self.lastIndex = lastIndex
        if let only { compare(base, only) } else { compare(base) }
    }

    package var isEmpty: Bool {
        sectionDeletions.isEmpty && sectionInsertions.isEmpty && deletions.isEmpty && insertions.isEmpty
            && modificationsOld.isEmpty
    }

    private mutating func compare(_ base: ChangeSet) {
        // Of sections that are in both, as many stay as can without crossing each other.
        var shared: [(old: Int, new: Int)] = []
        for (index, key) in new.keys.enumerated() {
            if let before = old.find(key) { shared.append((before, index)) }
        }
        var newOfOld = [Int](repeating: -1, count: old.count)
        var stays = [Bool](repeating: false, count: new.count)
        for index in AscendingSeries.longest(shared.map(\.old)) {
            newOfOld[shared[index].old] = shared[index].new
            stays[shared[index].new] = true
        }
        sectionDeletions = newOfOld.indices.filter { newOfOld[$0] < 0 }
        sectionInsertions = stays.indices.filter { !stays[$0] }
        compareElements(base, newOfOld)
    }

    private mutating func compare(_ base: ChangeSet, _ only: SectionLayout.Key) {
        switch (old.find(only), new.find(only)) {
        case (nil, nil): return
        case (let before?, nil): sectionDeletions = [lastIndex ?? before]
        case (nil, let after?):
            sectionInsertions = [after]
            insertions = (0 ..< new.count(in: after)).map { Place(section: after, item: $0) }
        case (let before?, let after?):
            var newOfOld = [Int](repeating: -1, count: old.count)
            newOfOld[before] = after
            compareElements(base, newOfOld)
            deletions.removeAll { $0.section != before }
            insertions.removeAll { $0.section != after }
            guard let lastIndex else { return }
            deletions = deletions.map { Place(section: lastIndex, item: $0.item) }
            modificationsOld = modificationsOld.map { Place(section: lastIndex, item: $0.item) }
        }
    }

    /// `newOfOld` has the new index of each old section that stays, -1 for the others.
    private mutating func compareElements(_ base: ChangeSet, _ newOfOld: [Int]) {
        for position in base.deletions where newOfOld[Int(old.sectionOf[position])] >= 0 { delete(position) }
        for position in base.insertions { insert(position) }
        var modified = 0
        var walk = StayingWalk(base)
        for after in new.sectionOf.indices {
            guard let before = walk.old(after) else { continue }
            while modified < base.modificationsNew.count, base.modificationsNew[modified] < after { modified += 1 }
            let section = newOfOld[Int(old.sectionOf[before])]
            if section == Int(new.sectionOf[after]) {
                guard modified < base.modificationsNew.count, base.modificationsNew[modified] == after else { continue }
                modificationsOld.append(place(before, in: old))
                modificationsNew.append(place(after, in: new))
            } else {
                if section >= 0 { delete(before) }
                insert(after)
            }
        }
        deletions.sort()
        insertions.sort()
        let order = modificationsOld.indices.sorted { modificationsOld[$0] < modificationsOld[$1] }
        modificationsOld = order.map { modificationsOld[$0] }
        modificationsNew = order.map { modificationsNew[$0] }
    }

    private mutating func delete(_ position: Int) { deletions.append(place(position, in: old)) }
    private mutating func insert(_ position: Int) { insertions.append(place(position, in: new)) }

    private func place(_ position: Int, in layout: SectionLayout) -> Place {
        let (section, item) = layout.place(position)
        return Place(section: section, item: item)
    }
}

extension SectionChanges: CustomStringConvertible {
    package var description: String {
        func text(_ places: [Place]) -> String {
            "[" + places.map { "\($0.section).\($0.item)" }.joined(separator: ", ") + "]"
        }
        var parts: [String] = []
        if !sectionDeletions.isEmpty { parts.append("sections -\(sectionDeletions)") }
        if !sectionInsertions.isEmpty { parts.append("sections +\(sectionInsertions)") }
        if !deletions.isEmpty { parts.append("-\(text(deletions))") }
        if !insertions.isEmpty { parts.append("+\(text(insertions))") }
        if !modificationsOld.isEmpty { parts.append("~\(text(modificationsOld))~\(text(modificationsNew))") }
        return parts.joined(separator: " ")
    }
}

/// Old positions of new ones that are asked for in ascending order.
struct StayingWalk {
    private let deletions: [Int]
    private let insertions: [Int]
    private var nextDeletion = 0
    private var nextInsertion = 0

    init(_ changes: ChangeSet) {
        deletions = changes.deletions
        insertions = changes.insertions
    }

    /// nil for an element that was inserted.
    mutating func old(_ new: Int) -> Int? {
        while nextInsertion < insertions.count, insertions[nextInsertion] < new { nextInsertion += 1 }
        if nextInsertion < insertions.count, insertions[nextInsertion] == new { return nil }
        let rank = new - nextInsertion
        while nextDeletion < deletions.count, deletions[nextDeletion] - nextDeletion <= rank { nextDeletion += 1 }
        return rank + nextDeletion
    }
}

/// The change in sections together with what it was made from, so that several can be combined.
package final class SectionedChanges: Sendable {
    private let base: ChangeSet
    package let changes: SectionChanges

    init(
        base: ChangeSet, from old: SectionLayout, to new: SectionLayout, only: SectionLayout.Key?, lastIndex: Int?
    ) {
        self.base = base
        changes = SectionChanges(base, from: old, to: new, only: only, lastIndex: lastIndex)
    }

    func followed(by next: SectionedChanges) -> SectionedChanges {
        SectionedChanges(
            base: base.followed(by: next.base), from: changes.old, to: next.changes.new, only: changes.only,
            lastIndex: changes.lastIndex)
    }
}
