/// Deleting many objects at once. What is the same work for each of them alone is done once for all: a collection that
/// holds many of them is gone through once, not once for each.
import MotteColumns
import MotteSchemaModel
import MotteValues

extension WriteTransaction {
    /// Deletes those that exist and says how many did.
    package func delete(_ table: TableKey, _ keys: [Int64]) throws(DatabaseError) -> Int {
        try requireOpen()
        let view = try self.table(table)
        return try completing { () throws(DatabaseError) in
            try unlinkFromCollections(view, keys.map { ObjectKey($0) })
            var deleted = 0
            for key in keys where try view.locate(ObjectKey(key)) != nil {
                try delete(table, ObjectKey(key))
                deleted += 1
            }
            return deleted
        }
    }

    /// Takes objects that are about to be deleted out of the collections that hold several of them, as deleting them
    /// does; those that hold one are left to their deletion. Embedded objects stay with their owners.
    func unlinkFromCollections(_ view: TableView, _ keys: [ObjectKey]) throws(DatabaseError) {
        guard keys.count >= manyObjects else { return }
        for (origin, column) in view.layout.incoming where column.isList && !isOwner(column) {
            guard let index = column.index else { continue }
            try forEachHolder(of: keys, index, { IndexValue.link(to: $0) }) { owner, doomed throws(DatabaseError) in
                if column.collection == .map {
                    try nullifyInMap(origin, column.key, owner) { doomed.contains($0) }
                } else {
                    try removeFromList(origin, column.key, owner) { doomed.contains($0) }
                }
            }
        }
        let table = view.key
        for (origin, column) in catalog.mixedColumns where column.isList {
            guard let index = column.linkIndex else { continue }
            let value = { IndexValue.mixedLink(to: ObjectLink(table: table, key: $0)) }
            try forEachHolder(of: keys, index, value) { owner, doomed throws(DatabaseError) in
                try nullifyInMixed(origin, column, owner) { $0.table == table && doomed.contains($0.key) }
            }
        }
    }

    /// Calls `body` with each object that an index says holds several of `keys`, and with those.
    private func forEachHolder(
        of keys: [ObjectKey], _ index: IndexKey, _ value: (ObjectKey) -> IndexValue,
        _ body: (_ owner: ObjectKey, _ held: Set<ObjectKey>) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let before = changeCount
        let entries = try indexView(index)
        var pairs: [(owner: Int64, held: ObjectKey)] = []
        var owners: [Int64] = []
        for key in keys {
            owners.removeAll(keepingCapacity: true)
            try entries.keys(value(key), into: &owners)
            var last: Int64?
            for owner in owners where owner != last {
                pairs.append((owner, key))
                last = owner
            }
        }
        pairs.sort { $0.owner < $1.owner }
        var start = 0
        while start < pairs.count {
            var end = start + 1
            while end < pairs.count, pairs[end].owner == pairs[start].owner { end += 1 }
            if end - start > 1 { try body(ObjectKey(pairs[start].owner), Set(pairs[start ..< end].map(\.held))) }
            settle(since: before)
            start = end
        }
    }
}
