/// An ordinary class becomes embedded: every object of it has to end with exactly one parent.
///
/// Objects without a parent are deleted; one that several links lead to stays with the first and is duplicated for each
/// other, whatever it holds itself included. What that changes for the objects that these link to is looked at again.
import MotteColumns
import MotteSchemaModel
import MotteValues

extension SchemaMigration {
    func embed(_ tables: [TableKey]) throws(DatabaseError) {
        guard !tables.isEmpty else { return }
        try refuseSets(of: tables)
        // Copies of objects that hold embedded ones have to hold copies.
        let owned = write.catalog.tables.filter { $0.isEmbedded || tables.contains($0.key) }.map(\.key)
        setEmbedded(owned, to: false)
        var family = Family(tables: Set(owned), becoming: Set(tables))
        for table in owned {
            let view = try write.table(table)
            for rowGroup in 0 ..< view.rowGroupCount {
                family.left += try view.rowGroup(rowGroup).liveKeys.map { ObjectLink(table: table, key: ObjectKey($0)) }
            }
        }
        var done = 0
        while done < family.left.count {
            if done & 1023 == 0 {
                try progress?(MigrationProgress(phase: .embedding, done: done, total: family.left.count))
            }
            try settle(family.left[done], &family)
            done += 1
        }
        try progress?(MigrationProgress(phase: .embedding, done: done, total: done))
        try refuseLooseCircles(family)
        setEmbedded(owned, to: true)
    }

    private struct Family {
        let tables: Set<TableKey>
        let becoming: Set<TableKey>
        /// Objects to be looked at, in turn.
        var left: [ObjectLink] = []
        /// Which object a copy was made of first.
        var originals: [ObjectLink: ObjectLink] = [:]
        /// The collection in which a link was replaced last: many may be.
        var holder: Holder?

        func original(of link: ObjectLink) -> ObjectLink { originals[link] ?? link }
    }

    private struct Holder {
        let origin: TableKey
        let column: ColumnKey
        let parent: ObjectKey
        /// Where it leads to an object, ascending.
        var places: [ObjectKey: [Place]] = [:]
    }

    private enum Place {
        case index(Int)
        case name(String)
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

    private func settle(_ link: ObjectLink, _ family: inout Family) throws(DatabaseError) {
        let (table, key) = (link.table, link.key)
        guard try write.table(table).locate(key) != nil else { return }
        var isFirst = true
        for (origin, column, parent) in try parents(of: link) {
            if isFirst {
                isFirst = false
                continue
            }
            try refuseCircle(above: ObjectLink(table: origin, key: parent), of: link, family)
            let copy = ObjectLink(table: table, key: try duplicate(table, key))
            family.originals[copy] = family.original(of: link)
            try replaceLastLink(origin, column, parent, from: key, to: copy.key, table, &family.holder)
            family.left += try children(of: copy, family)
        }
        guard isFirst else { return try refuseMixedLinks(to: link, family) }
        let children = try children(of: link, family)
        try write.delete(table, key)
        family.left += children
    }

    /// The links that lead to an object, an element each.
    private func parents(of link: ObjectLink) throws(DatabaseError) -> [(TableKey, StoredColumn, ObjectKey)] {
        var found: [(TableKey, StoredColumn, ObjectKey)] = []
        for (origin, column) in write.catalog.incomingLinks(to: link.table) {
            guard let index = column.index else { continue }
            var parents: [Int64] = []
            try write.indexView(index).keys(IndexValue.link(to: link.key), into: &parents)
            found += parents.map { (origin, column, ObjectKey($0)) }
        }
        return found
    }

    /// What an object of the family holds of it.
    private func children(of link: ObjectLink, _ family: Family) throws(DatabaseError) -> [ObjectLink] {
        let view = try write.table(link.table)
        var found: [ObjectLink] = []
        for column in view.layout.columns where !column.isMapKeys {
            guard let target = column.target, family.tables.contains(target) else { continue }
            let values =
                column.collection == .none
                ? [try view.value(column.key, link.key).owned] : try elements(view, column.key, link.key)
            for case .link(let child) in values { found.append(child) }
        }
        return found
    }

    /// Of classes that are not declared, too: these stay as they are.
    private func refuseSets(of tables: [TableKey]) throws(DatabaseError) {
        let links = tables.flatMap { write.catalog.incomingLinks(to: $0) }
        for (origin, column) in links where column.collection == .set {
            let name = column.target.flatMap { write.catalog.table($0)?.name } ?? ""
            let owner = write.catalog.table(origin)?.name ?? ""
            throw DatabaseError(
                .invalidArgument,
                "class \(name) cannot become embedded: \(owner).\(column.name) is a set of its objects, and only lists "
                    + "hold embedded ones; declare \(owner) without it, or delete the class in the migration",
                className: owner, propertyName: column.name)
        }
    }

    /// What mixed values link to has no one owner.
    private func refuseMixedLinks(to link: ObjectLink, _ family: Family) throws(DatabaseError) {
        guard family.becoming.contains(link.table) else { return }
        for (origin, column) in write.catalog.mixedColumns {
            guard let index = column.linkIndex else { continue }
            var holders: [Int64] = []
            try write.indexView(index).keys(IndexValue.mixedLink(to: link), into: &holders)
            guard !holders.isEmpty else { continue }
            let (name, owner) = (write.catalog.table(link.table)?.name ?? "", write.catalog.table(origin)?.name ?? "")
            throw DatabaseError(
                .invalidArgument,
                "class \(name) cannot become embedded: \(owner).\(column.name) links to objects of it, which mixed "
                    + "values then cannot; give it other values in the migration's step", className: owner,
                propertyName: column.name)
        }
    }

    /// Objects that nothing outside of the family leads to, and that all have an owner: each other.
    private func refuseLooseCircles(_ family: Family) throws(DatabaseError) {
        var left: [ObjectLink] = []
        var count = 0
        for table in family.tables.sorted() {
            let view = try write.table(table)
            count += view.liveCount
            for rowGroup in 0 ..< view.rowGroupCount {
                for key in try view.rowGroup(rowGroup).liveKeys {
                    let link = ObjectLink(table: table, key: ObjectKey(key))
                    if try parents(of: link).contains(where: { !family.tables.contains($0.0) }) { left.append(link) }
                }
            }
        }
        // Each has one owner, so that each comes once.
        var reached = 0
        while let link = left.popLast() {
            reached += 1
            left += try children(of: link, family)
        }
        guard reached == count else { throw circle(family.tables.sorted().first { family.becoming.contains($0) }) }
    }

    private func circle(_ table: TableKey?) -> DatabaseError {
        DatabaseError(
            .invalidArgument,
            "class \(table.flatMap { write.catalog.table($0)?.name } ?? "") cannot become embedded: its objects link "
                + "in circles; take the links apart in the migration's step")
    }

    /// A copy for a parent that is in the object itself, or in a copy of it, would have to be copied for ever.
    private func refuseCircle(
        above parent: ObjectLink, of link: ObjectLink, _ family: Family
    ) throws(DatabaseError) {
        let original = family.original(of: link)
        var next: ObjectLink? = parent
        var seen: Set<ObjectLink> = []
        while let current = next, family.tables.contains(current.table) {
            guard family.original(of: current) != original, seen.insert(current).inserted else {
                throw circle(link.table)
            }
            next = try parents(of: current).first.map { ObjectLink(table: $0.0, key: $0.2) }
        }
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
        _ table: TableKey, _ holder: inout Holder?
    ) throws(DatabaseError) {
        let link = ObjectLink(table: table, key: new)
        // Sets do not hold embedded objects: the declared schema is valid.
        guard column.collection == .list || column.collection == .map else {
            return try write.set(origin, column.key, parent, to: .link(link))
        }
        if holder?.origin != origin || holder?.column != column.key || holder?.parent != parent {
            holder = try places(origin, column, parent)
        }
        switch holder?.places[old]?.popLast() {
        case .index(let index): try write.listSet(origin, column.key, parent, at: index, .link(link))
        case .name(let name): try put(origin, column.key, parent, name, .link(link))
        case nil: throw DatabaseError(.internal, "an index names a link that its collection does not hold")
        }
    }

    private func places(
        _ origin: TableKey, _ column: StoredColumn, _ parent: ObjectKey
    ) throws(DatabaseError) -> Holder {
        var holder = Holder(origin: origin, column: column.key, parent: parent)
        let view = try write.table(origin)
        if column.collection == .list {
            for (index, value) in try elements(view, column.key, parent).enumerated() {
                if case .link(let link) = value { holder.places[link.key, default: []].append(.index(index)) }
            }
        } else {
            for (name, value) in try entries(view, column.key, parent) {
                if case .link(let link) = value { holder.places[link.key, default: []].append(.name(name)) }
            }
        }
        return holder
    }
}
