/// Which elements of an object's collection changed in what they link to, by position.
///
/// Looked for from the changes: for each object that changed, whether the collection links to it is one look into an
/// index. The elements are walked only when one of them does, or when that is cheaper than so many looks.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

extension DeliveryContext {
    /// Ascending positions in a list, set or map.
    func changedPositions(_ elements: LiveElements, _ filter: KeyPathFilter?) throws(DatabaseError) -> [Int] {
        guard elements.target != nil || elements.elementType == .mixed else { return [] }
        let count = try elements.count()
        guard count > 0 else { return [] }
        guard let target = elements.target else {
            let changes = try mixedChanges(elements.owner, elements.column, filter, atMost: count)
            return try changes.positions(in: elements, count)
        }
        let modified = try linked(
            try modified(target, filter), in: target, elements.owner, elements.column, isMixed: false, atMost: count)
        if modified.isEmpty { return [] }
        if let set = elements as? LiveSet, isCheaper(toLookFor: modified.count, than: count) {
            var positions: [Int] = []
            for key in modified {
                if let index = try set.index(of: ObjectKey(key)) { positions.append(index) }
            }
            return positions.sorted()
        }
        let keys = try elements.keys()
        guard let mask = KeyMask(modified, mostBits: 64 &* (count &+ modified.count &+ 1_024)) else {
            return keys.indices.filter { RowChanges.contains(modified, keys[$0]) }
        }
        return keys.indices.filter { mask.contains(keys[$0]) }
    }

    /// A look into an index, or into a set, takes as long as walking over some hundred elements.
    private func isCheaper(toLookFor keys: Int, than count: Int) -> Bool { keys &* 100 < count }

    /// The same in a list or map inside a mixed value.
    func changedPositions(_ nested: LiveNested, _ filter: KeyPathFilter?) throws(DatabaseError) -> [Int] {
        let count = try nested.count()
        guard count > 0 else { return [] }
        return try mixedChanges(nested.owner, nested.column, filter, atMost: count).positions(in: nested, count)
    }

    /// Of any collection of mixed values that is not an object's own.
    func changedPositions(
        ofValues collection: LiveCollection, _ filter: KeyPathFilter?
    ) throws(DatabaseError) -> [Int] {
        guard collection.elementType == .mixed else { return [] }
        let changes = try mixedChanges(filter)
        return try changes.positions(in: collection, try changes.isEmpty ? 0 : collection.count())
    }

    /// Objects of all classes that mixed values can link to.
    private func mixedChanges(_ filter: KeyPathFilter?) throws(DatabaseError) -> MixedChanges {
        var changes = MixedChanges()
        for table in source.schema.linkableTables {
            let keys = try modified(table, filter)
            if !keys.isEmpty { changes.keys[table] = keys }
        }
        return changes
    }

    /// Those of them that one property's mixed values link to.
    private func mixedChanges(
        _ owner: LiveObject, _ column: ColumnKey, _ filter: KeyPathFilter?, atMost count: Int
    ) throws(DatabaseError) -> MixedChanges {
        var changes = MixedChanges()
        for (table, keys) in try mixedChanges(filter).keys {
            let linked = try linked(keys, in: table, owner, column, isMixed: true, atMost: count)
            if !linked.isEmpty { changes.keys[table] = linked }
        }
        return changes
    }

    /// Those of some keys that a property links to; all of them where asking for each would cost more than it saves.
    private func linked(
        _ keys: [Int64], in target: TableKey, _ owner: LiveObject, _ column: ColumnKey, isMixed: Bool, atMost count: Int
    ) throws(DatabaseError) -> [Int64] {
        guard !keys.isEmpty, isCheaper(toLookFor: keys.count, than: count) else { return keys }
        let view = try source.table(target)
        return try keys.filtered { key throws(DatabaseError) in
            try view.isLinked(from: owner.table, column, owner.key, isMixed: isMixed, to: ObjectKey(key))
        }
    }
}

/// Changed objects by class, ascending.
private struct MixedChanges {
    var keys: [TableKey: [Int64]] = [:]

    var isEmpty: Bool { keys.isEmpty }

    func positions(in collection: LiveCollection, _ count: Int) throws(DatabaseError) -> [Int] {
        guard !isEmpty else { return [] }
        var positions: [Int] = []
        for index in 0 ..< count where isTouched(try collection.value(at: index)) { positions.append(index) }
        return positions
    }

    /// Also by what is nested in the value.
    private func isTouched(_ value: ValueView) -> Bool {
        var touched = false
        MixedLinks.forEach(value) { link in
            if !touched, let keys = keys[link.table] { touched = RowChanges.contains(keys, link.key.rawValue) }
        }
        return touched
    }
}
