/// Deleting all objects of a class: one entry in the change log, a bitmap for each row group, and whole indexes
/// dropped, instead of work for each object. What other classes' links to the objects cost is added to that.
import MotteColumns
import MottePages
import MotteSchemaModel
import MotteValues

extension WriteTransaction {
    /// Deletes every object of the class and says how many there were. Links to them become null and they disappear
    /// from collections, as when they are deleted one by one.
    @discardableResult
    package func deleteAll(_ table: TableKey) throws(DatabaseError) -> Int {
        try requireOpen()
        let view = try self.table(table)
        let count = view.liveCount
        guard count > 0 else { return 0 }
        try completing { () throws(DatabaseError) in
            if ownsEmbeddedObjects(view.layout) { try deleteEach(view) } else { try deleteTogether(view) }
        }
        return count
    }

    private func deleteTogether(_ view: TableView) throws(DatabaseError) {
        let table = view.key
        // The links of the objects themselves go with the indexes that they are kept in; links of other classes are
        // changed object by object, because their observers want to know.
        clearIndexes(of: view.layout)
        for (origin, column) in view.layout.incoming where origin != table {
            guard let index = column.index else { continue }
            let targets = try self.targets(index)
            try unlinkFromCollections(view, targets)
            for target in targets { try dropIncoming(view, target) }
        }
        for (origin, column) in catalog.mixedColumns where origin != table {
            guard let index = column.linkIndex else { continue }
            let targets = try self.targets(index, mixedOf: table)
            try unlinkFromCollections(view, targets)
            for target in targets { try dropIncoming(view, target) }
        }
        recorder.deleted(table, 0 ..< view.nextKey)
        try writer(table).killAll()
        noteChange()
    }

    /// Embedded objects are deleted with their owner, which takes a look at each.
    private func ownsEmbeddedObjects(_ layout: TableLayout) -> Bool {
        layout.columns.contains { column in
            column.target.flatMap { catalog.table($0)?.isEmbedded } ?? false
        }
    }

    private func deleteEach(_ view: TableView) throws(DatabaseError) {
        for rowGroup in 0 ..< view.rowGroupCount {
            let rows = try view.rowGroup(rowGroup)
            guard rows.liveCount > 0 else { continue }
            for row in 0 ..< rows.rowCount {
                let key = ObjectKey(rows.firstKey + Int64(row))
                // An object may have gone with another one.
                if try view.locate(key) != nil { try delete(view.key, key) }
            }
        }
    }

    /// The objects that links of an index lead to; those of one class where the links are in mixed values.
    private func targets(_ index: IndexKey, mixedOf table: TableKey? = nil) throws(DatabaseError) -> [ObjectKey] {
        let first = table.map { IndexValue.mixedLink(to: ObjectLink(table: $0, key: ObjectKey(0))).raw } ?? 0
        let last = table == nil ? UInt64.max : first | (1 << 48 - 1)
        let walk = try indexView(index).makeWalk()
        var found: [ObjectKey] = []
        while let batch = try walk.next() {
            for value in batch.values where value >= first && value <= last {
                let key = ObjectKey(Int64(bitPattern: value - first))
                if found.last != key { found.append(key) }
            }
        }
        return found
    }
}
