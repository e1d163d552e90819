/// An ordinary class becomes embedded: every object of it has to end with exactly one parent.
///
/// Objects without a parent are deleted; one that several links lead to stays with the first and is duplicated for each
/// other, whatever it holds itself included. That can make more to do elsewhere, so it is repeated until nothing is.
import MotteColumns
import MotteSchemaModel
import MotteValues

extension SchemaMigration {
    /// Links in circles would be duplicated for ever.
    private static let deepestNesting = 64

    func embed(_ tables: [TableKey]) throws(DatabaseError) {
        guard !tables.isEmpty else { return }
        // Copies of objects that hold embedded ones have to hold copies.
        let owned = write.catalog.tables.filter { $0.isEmbedded || tables.contains($0.key) }.map(\.key)
        setEmbedded(owned, to: false)
        var round = 0
        while true {
            var changed = false
            for table in owned where try settle(table) { changed = true }
            try progress?(MigrationProgress(phase: .embedding, done: round, total: 0))
            guard changed else { break }
            round += 1
            guard round <= Self.deepestNesting else {
                throw DatabaseError(
                    .invalidArgument,
                    "class \(write.catalog.table(tables[0])?.name ?? "") cannot become embedded: its objects link in "
                        + "circles; take the links apart in the migration's step")
            }
        }
        setEmbedded(owned, to: true)
    }

    private func setEmbedded(_ tables: [TableKey], to isEmbedded: Bool) {
        var stored = write.catalog.tables
        for position in stored.indices where tables.contains(stored[position].key) {
            stored[position].isEmbedded = isEmbedded
        }
        let catalog = write.catalog
        write.amend(
            Catalog(
                schemaVersion: catalog.schemaVersion, changedIn: catalog.changedIn, nextTableKey: catalog.nextTableKey,
                nextIndexKey: catalog.nextIndexKey, tables: stored))
    }

    /// True if something had to be done.
    private func settle(_ table: TableKey) throws(DatabaseError) -> Bool {
        let view = try write.table(table)
        let incoming = write.catalog.incomingLinks(to: table)
        var keys: [Int64] = []
        for rowGroup in 0 ..< view.rowGroupCount { keys += try view.rowGroup(rowGroup).liveKeys }
        var changed = false
        for key in keys where try view.locate(ObjectKey(key)) != nil {
            var isFirst = true
            for (origin, column) in incoming {
                guard let index = column.index else { continue }
                var parents: [Int64] = []
                try write.indexView(index).keys(IndexValue.link(to: ObjectKey(key)), into: &parents)
                for parent in parents {
                    if isFirst {
                        isFirst = false
                        continue
                    }
                    let copy = try duplicate(table, ObjectKey(key))
                    try replaceLastLink(origin, column, ObjectKey(parent), from: ObjectKey(key), to: copy, table)
                    changed = true
                }
            }
            if isFirst {
                try write.delete(table, ObjectKey(key))
                changed = true
            }
        }
        return changed
    }

    // MARK: Orphans

    /// Embedded objects go with the property that held them, unless the step gave them to another one.
    func deleteOrphans(of tables: Set<TableKey>) throws(DatabaseError) {
        for table in tables.sorted() where write.catalog.table(table)?.isEmbedded ?? false {
            let view = try write.table(table)
            let incoming = write.catalog.incomingLinks(to: table).compactMap { $0.column.index }
            var keys: [Int64] = []
            for rowGroup in 0 ..< view.rowGroupCount { keys += try view.rowGroup(rowGroup).liveKeys }
            for key in keys.map({ ObjectKey($0) }) where try view.locate(key) != nil {
                if try !hasParent(key, incoming) { try write.delete(table, key) }
            }
        }
    }

    private func hasParent(_ key: ObjectKey, _ indexes: [IndexKey]) throws(DatabaseError) -> Bool {
        var parents: [Int64] = []
        for index in indexes where parents.isEmpty {
            try write.indexView(index).keys(IndexValue.link(to: key), into: &parents)
        }
        return !parents.isEmpty
    }

    // MARK: Copying

    private func duplicate(_ table: TableKey, _ key: ObjectKey) throws(DatabaseError) -> ObjectKey {
        let copy = try write.create(table, primaryKey: nil)
        let view = try write.table(table)
        for column in view.layout.columns where !column.isMapKeys {
            switch column.collection {
            case .none:
                let value = try view.value(column.key, key).owned
                try value.withView { view throws(DatabaseError) in try write.set(table, column.key, copy, to: view) }
            case .list, .set:
                for (index, value) in try elements(view, column.key, key).enumerated() {
                    try value.withView { view throws(DatabaseError) in
                        if column.collection == .set {
                            _ = try write.setInsert(table, column.key, copy, view)
                        } else {
                            try write.listInsert(table, column.key, copy, at: index, [view])
                        }
                    }
                }
            case .map:
                for (name, value) in try entries(view, column.key, key) {
                    try put(table, column.key, copy, name, value)
                }
            }
        }
        return copy
    }

    private func elements(_ view: TableView, _ column: ColumnKey, _ key: ObjectKey) throws(DatabaseError) -> [Value] {
        var values: [Value] = []
        for index in 0 ..< (try view.listCount(column, key)) {
            values.append(try view.listElement(column, key, index).owned)
        }
        return values
    }

    private func entries(
        _ view: TableView, _ column: ColumnKey, _ key: ObjectKey
    ) throws(DatabaseError) -> [(String, Value)] {
        var entries: [(String, Value)] = []
        for index in 0 ..< (try view.listCount(column, key)) {
            let name = String(decoding: try view.mapKey(column, key, index), as: UTF8.self)
            entries.append((name, try view.listElement(column, key, index).owned))
        }
        return entries
    }

    private func put(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, _ name: String, _ value: Value
    ) throws(DatabaseError) {
        try name.withUTF8Bytes { name throws(DatabaseError) in
            try value.withView { view throws(DatabaseError) in
                _ = try write.mapPut(table, column, key, name, view)
            }
        }
    }

    /// One occurrence, so that an object that a list holds twice becomes two.
    private func replaceLastLink(
        _ origin: TableKey, _ column: StoredColumn, _ parent: ObjectKey, from old: ObjectKey, to new: ObjectKey,
        _ table: TableKey
    ) throws(DatabaseError) {
        let link = ValueView.link(ObjectLink(table: table, key: new))
        let view = try write.table(origin)
        switch column.collection {
        case .none: try write.set(origin, column.key, parent, to: link)
        case .list:
            let values = try elements(view, column.key, parent)
            if let index = values.lastIndex(of: .link(ObjectLink(table: table, key: old))) {
                try write.listSet(origin, column.key, parent, at: index, link)
            }
        case .map:
            let entries = try entries(view, column.key, parent)
            if let entry = entries.last(where: { $0.1 == .link(ObjectLink(table: table, key: old)) }) {
                try put(origin, column.key, parent, entry.0, .link(ObjectLink(table: table, key: new)))
            }
        case .set: break  // Sets do not hold embedded objects: the declared schema is valid.
        }
    }
}
