/// The keys of maps in change sets.
///
/// Maps are in the order of their keys, so that keys ascend as positions do, and a key that went and came again is the
/// same place with another value: a modification.
import MotteValues

extension ChangeSet {
    var hasKeys: Bool { !keyDeletions.isEmpty || !keyInsertions.isEmpty || !keyModifications.isEmpty }

    /// A change of a map. `changes` are in the order of their keys; `elements` are new positions of values that changed
    /// in themselves, ascending.
    init(
        _ changes: [MapKeyChange], from: Version, to: Version, modified elements: [Int],
        keyAt: (Int) throws(DatabaseError) -> String
    ) throws(DatabaseError) {
        self.init(.collection, from: from, to: to)
        // Positions before are those after, without what came and with what went.
        var shift = 0
        var modified: [Int] = []
        for change in changes {
            switch change.kind {
            case .inserted:
                insertions.append(change.index)
                keyInsertions.append(change.key)
                shift -= 1
            case .removed:
                deletions.append(change.index + shift)
                keyDeletions.append(change.key)
                shift += 1
            case .modified: modified.append(change.index)
            }
        }
        let map = PositionMap(self)
        var last = -1
        for index in elements.isEmpty ? modified : (modified + elements).sorted() where index != last {
            last = index
            guard let old = map.old(ofNew: index) else { continue }
            modificationsOld.append(old)
            modificationsNew.append(index)
            keyModifications.append(try keyAt(index))
        }
    }

    /// For `self`, the sum of two change sets as far as positions go.
    mutating func addKeys(from first: ChangeSet, _ second: ChangeSet, _ before: PositionMap, _ after: PositionMap) {
        var oldKeys: [Int: String] = [:]
        var newKeys: [Int: String] = [:]
        for (index, key) in zip(first.deletions, first.keyDeletions) { oldKeys[index] = key }
        for (index, key) in zip(second.deletions, second.keyDeletions) {
            if let old = before.old(ofNew: index) { oldKeys[old] = key }
        }
        for (index, key) in zip(first.insertions, first.keyInsertions) {
            if let new = after.new(ofOld: index) { newKeys[new] = key }
        }
        for (index, key) in zip(first.modificationsNew, first.keyModifications) {
            if let new = after.new(ofOld: index) { newKeys[new] = key }
        }
        for (index, key) in zip(second.insertions, second.keyInsertions) { newKeys[index] = key }
        for (index, key) in zip(second.modificationsNew, second.keyModifications) { newKeys[index] = key }

        var gone: [NameKey: Int] = [:]
        for index in deletions { if let key = oldKeys[index] { gone[NameKey(key)] = index } }
        var returned: [(old: Int, new: Int)] = []
        for index in insertions {
            if let key = newKeys[index], let old = gone[NameKey(key)] { returned.append((old, index)) }
        }
        if !returned.isEmpty {
            let old = Set(returned.map(\.old))
            let new = Set(returned.map(\.new))
            deletions.removeAll { old.contains($0) }
            insertions.removeAll { new.contains($0) }
            let pairs = (Array(zip(modificationsOld, modificationsNew)) + returned.map { ($0.old, $0.new) })
                .sorted { $0.0 < $1.0 }
            modificationsOld = pairs.map(\.0)
            modificationsNew = pairs.map(\.1)
        }
        keyDeletions = deletions.compactMap { oldKeys[$0] }
        keyInsertions = insertions.compactMap { newKeys[$0] }
        keyModifications = modificationsNew.compactMap { newKeys[$0] }
    }
}

/// What happened to a key.
struct MapKeyChange {
    enum Kind {
        case inserted, modified, removed
    }

    let key: String
    let kind: Kind
    /// Where the key is now, or where it would be.
    let index: Int
}
