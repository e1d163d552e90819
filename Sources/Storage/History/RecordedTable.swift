/// The changes of one table that a `ChangeRecorder` has collected, and how they become those of the record.
import MotteValues

package final class RecordedTable {
    // Exclusivity: one thread, like the recorder; each change of a value looks at these.
    let key: TableKey
    @exclusivity(unchecked) package var inserted = KeyRuns()
    @exclusivity(unchecked) var deleted: [Int64] = []
    @exclusivity(unchecked) var deletedRuns = KeyRuns()
    /// The savepoint that has an image of this.
    @exclusivity(unchecked) var savedAt: UInt64 = 0
    @exclusivity(unchecked) private var columns: [RecordedColumn] = []
    @exclusivity(unchecked) private var latestColumn: RecordedColumn?
    private var listColumns: [RecordedLists] = []
    private var mapColumns: [RecordedMaps] = []
    private var nestedColumns: [RecordedNested] = []

    package init(_ key: TableKey) { self.key = key }

    /// Which rows came and went, for going back to a savepoint.
    struct Image {
        fileprivate let inserted: KeyRuns
        fileprivate let deletedCount: Int
        fileprivate let deletedRuns: KeyRuns
    }

    var image: Image { Image(inserted: inserted, deletedCount: deleted.count, deletedRuns: deletedRuns) }

    func restore(_ image: Image) {
        inserted = image.inserted
        deleted.removeSubrange(image.deletedCount...)
        deletedRuns = image.deletedRuns
        savedAt = 0
    }

    /// False for an object that the transaction itself has inserted.
    @inline(__always)
    func isOld(_ key: ObjectKey) -> Bool {
        guard let first = inserted.runs.first else { return true }
        return key.rawValue < first.lowerBound
    }

    package func column(_ key: ColumnKey) -> RecordedColumn {
        if let latestColumn, latestColumn.key == key { return latestColumn }
        let found = columns.first { $0.key == key } ?? addColumn(key)
        latestColumn = found
        return found
    }

    private func addColumn(_ key: ColumnKey) -> RecordedColumn {
        let made = RecordedColumn(key)
        columns.append(made)
        return made
    }

    func listColumn(_ key: ColumnKey) -> RecordedLists {
        for column in listColumns where column.key == key { return column }
        let made = RecordedLists(key)
        listColumns.append(made)
        return made
    }

    func mapColumn(_ key: ColumnKey) -> RecordedMaps {
        for column in mapColumns where column.key == key { return column }
        let made = RecordedMaps(key)
        mapColumns.append(made)
        return made
    }

    func nestedColumn(_ key: ColumnKey) -> RecordedNested {
        for column in nestedColumns where column.key == key { return column }
        let made = RecordedNested(key)
        nestedColumns.append(made)
        return made
    }

    package func checkInvariants() throws(DatabaseError) {
        for (runs, what) in [(inserted, "inserted"), (deletedRuns, "deleted")] {
            try Invariant.require(
                zip(runs.runs, runs.runs.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound }
                    && runs.runs.allSatisfy { !$0.isEmpty },
                "record-2: runs of \(what) keys ascend and lie apart")
            try Invariant.require(
                runs.runs.reduce(0) { $0 + $1.count } == runs.count, "record-3: runs of \(what) keys are counted")
        }
        for column in columns { try column.checkInvariants() }
    }

    /// The net effect.
    var changes: ChangeRecord.Table {
        var gone = KeyRuns(deleted)
        gone.formUnion(deletedRuns)
        var changes = ChangeRecord.Table(table: key)
        changes.inserted = inserted.subtracting(gone)
        // A cleared table may name new keys too.
        changes.deleted = gone.subtracting(inserted)
        for column in columns.sorted(by: { $0.key < $1.key }) {
            if let column = column.changes(without: gone) { changes.columns.append(column) }
        }
        for column in listColumns.sorted(by: { $0.key < $1.key }) { changes.lists += column.changes(without: gone) }
        for column in mapColumns.sorted(by: { $0.key < $1.key }) { changes.maps += column.changes(without: gone) }
        for column in nestedColumns.sorted(by: { $0.key < $1.key }) { changes.nested += column.changes(without: gone) }
        return changes
    }
}

/// Modifications of one column, in the order they were made.
package final class RecordedColumn {
    let key: ColumnKey
    @exclusivity(unchecked) private var keys: [Int64] = []
    /// Where the images of each modification begin, and where its second one does.
    @exclusivity(unchecked) private var before: [Int] = []
    @exclusivity(unchecked) private var after: [Int] = []
    @exclusivity(unchecked) private var images: [UInt8] = []
    @exclusivity(unchecked) private var ascends = true
    @exclusivity(unchecked) private var hasImages = true

    init(_ key: ColumnKey) { self.key = key }

    package func append(_ object: Int64, _ oldValue: ValueView, _ newValue: ValueView, _ policy: ChangeLogPolicy) {
        if !policy.keepsImages { hasImages = false }
        if let last = keys.last, last == object {
            guard hasImages, let start = after.last else { return }
            images.removeSubrange(start...)
            LoggedValue.append(newValue, longest: policy.longestAfter, to: &images)
            return
        }
        if let last = keys.last, object < last { ascends = false }
        keys.append(object)
        if hasImages, keys.count > policy.mostImages { dropImages() }
        guard hasImages else { return }
        before.append(images.count)
        LoggedValue.append(oldValue, longest: policy.longestBefore, to: &images)
        after.append(images.count)
        LoggedValue.append(newValue, longest: policy.longestAfter, to: &images)
    }

    private func dropImages() {
        hasImages = false
        (before, after, images) = ([], [], [])
    }

    func checkInvariants() throws(DatabaseError) {
        try Invariant.require(
            before.count == after.count && (before.isEmpty || before.count == keys.count),
            "record-4: each modification of column \(key.rawValue) has its two values, or none has")
        try Invariant.require(
            zip(before, after).allSatisfy { $0 <= $1 } && (after.last ?? 0) <= images.count,
            "record-5: the values of modifications of column \(key.rawValue) lie within what is kept")
    }

    /// What the next modification of an object changes here: its last one, or it is a new one.
    enum Last {
        case new
        case image([UInt8])
    }

    func last(_ object: Int64) -> Last {
        guard let last = keys.last, last == object else { return .new }
        return .image(after.last.map { Array(images[$0...]) } ?? [])
    }

    func undo(_ last: Last) {
        switch last {
        case .image(let bytes):
            guard let start = after.last else { return }
            images.removeSubrange(start...)
            images += bytes
        case .new:
            keys.removeLast()
            guard let start = before.popLast() else { return }
            images.removeSubrange(start...)
            after.removeLast()
        }
    }

    /// Per key, ascending: its first and its last modification.
    private func folded(without gone: KeyRuns) -> [(key: Int64, first: Int, last: Int)] {
        var order = Array(keys.indices)
        if !ascends { order.sort { keys[$0] != keys[$1] ? keys[$0] < keys[$1] : $0 < $1 } }
        var folded: [(key: Int64, first: Int, last: Int)] = []
        folded.reserveCapacity(keys.count)
        for index in order {
            if let last = folded.last, last.key == keys[index] {
                folded[folded.count - 1].last = index
            } else if gone.isEmpty || !gone.contains(keys[index]) {
                folded.append((keys[index], index, index))
            }
        }
        return folded
    }

    /// Each key once, ascending. There may be many: nothing is allocated for each.
    private func keysWithoutImages(_ gone: KeyRuns) -> [Int64] {
        var left = keys
        if !ascends { left.sort() }
        var count = 0
        for index in left.indices where count == 0 || left[count - 1] != left[index] {
            if !gone.isEmpty, gone.contains(left[index]) { continue }
            left[count] = left[index]
            count += 1
        }
        left.removeSubrange(count...)
        return left
    }

    /// Per key its value before all modifications and the one after them; nil where no object is left.
    func changes(without gone: KeyRuns) -> ChangeRecord.Column? {
        // Neighbours with the same key are one entry, so that ascending keys are there once: nothing to fold, to copy.
        if ascends, gone.isEmpty, !keys.isEmpty {
            return ChangeRecord.Column(column: key, keys: keys, images: hasImages ? images : [], starts: before)
        }
        if !hasImages {
            let left = keysWithoutImages(gone)
            return left.isEmpty ? nil : ChangeRecord.Column(column: key, keys: left, images: [], starts: [])
        }
        let changes = folded(without: gone)
        guard !changes.isEmpty else { return nil }
        var kept: [UInt8] = []
        var starts: [Int] = []
        kept.reserveCapacity(images.count)
        starts.reserveCapacity(changes.count)
        for change in changes {
            starts.append(kept.count)
            kept.append(contentsOf: images[before[change.first] ..< after[change.first]])
            let end = change.last + 1 < before.count ? before[change.last + 1] : images.count
            kept.append(contentsOf: images[after[change.last] ..< end])
        }
        return ChangeRecord.Column(column: key, keys: changes.map(\.key), images: kept, starts: starts)
    }
}

/// Edits of the lists of one column, per owner in the order they were made.
final class RecordedLists {
    let key: ColumnKey
    private var operations: [[ListOperation]] = []
    private var owners: [Int64] = []
    private var slots: [Int64: Int] = [:]
    private var latest = -1

    init(_ key: ColumnKey) { self.key = key }

    func append(_ owner: Int64, _ operation: ListOperation) {
        if latest < 0 || owners[latest] != owner {
            if let slot = slots[owner] {
                latest = slot
            } else {
                latest = owners.count
                slots[owner] = latest
                owners.append(owner)
                operations.append([])
            }
        }
        let end = operations[latest].count - 1
        if end >= 0, operations[latest][end].absorb(operation) { return }
        operations[latest].append(operation)
    }

    /// What the next edit of a list changes here.
    struct Last {
        fileprivate let owner: Int64
        /// How many operations there are; nil for an owner without any.
        fileprivate let count: Int?
        fileprivate let operation: ListOperation?
    }

    func last(_ owner: Int64) -> Last {
        guard let slot = slots[owner] else { return Last(owner: owner, count: nil, operation: nil) }
        return Last(owner: owner, count: operations[slot].count, operation: operations[slot].last)
    }

    func undo(_ last: Last) {
        latest = -1
        guard let slot = slots[last.owner] else { return }
        guard let count = last.count else {
            // Owners that came later are gone by now.
            owners.removeLast()
            operations.removeLast()
            slots[last.owner] = nil
            return
        }
        if operations[slot].count > count { operations[slot].removeLast() }
        if let operation = last.operation, count > 0 { operations[slot][count - 1] = operation }
    }

    func changes(without gone: KeyRuns) -> [ChangeRecord.List] {
        let order = owners.indices.sorted { owners[$0] < owners[$1] }.filter { !gone.contains(owners[$0]) }
        return order.map { ChangeRecord.List(column: key, owner: owners[$0], operations: operations[$0]) }
    }
}
