/// What values may link to, and what happens to links when their target is deleted: single ones become null, lists and
/// sets lose them, maps keep their keys with null, and so do links inside mixed values.
import MotteColumns
import MotteSchemaModel
import MotteValues

extension WriteTransaction {
    // MARK: Targets

    /// Whether what a value links to exists, and may be linked to from here.
    func requireTargets(
        _ value: ValueView, _ column: StoredColumn, _ table: StoredTable
    ) throws(DatabaseError) {
        switch value.kind {
        case .link:
            let link = value.linkValue
            if column.type == .mixed {
                guard let target = catalog.table(link.table) else { throw unknownTable(link.table) }
                guard !target.isEmbedded else {
                    throw DatabaseError(
                        .invalidArgument,
                        "\(table.name).\(column.name) holds mixed values, which cannot be embedded objects",
                        className: table.name, propertyName: column.name)
                }
            } else if isOwner(column), !adoptsEmbedded {
                throw managedEmbedded(column, table)
            }
            try requireTarget(link)
        case .list, .map:
            let document = NestedDocument(trusted: value.bytes)
            for index in 0 ..< document.count { try requireTargets(document.value(at: index), column, table) }
        default: break
        }
    }

    func requireTarget(_ link: ObjectLink) throws(DatabaseError) {
        if linksAhead { return }
        guard try table(link.table).locate(link.key) != nil else {
            throw DatabaseError(.objectDeleted, "the object to link to has been deleted")
        }
    }

    // MARK: Deletion of a target

    /// Last in whatever deletes: what it has opened before may be encoded.
    func dropIncoming(_ view: TableView, _ key: ObjectKey) throws(DatabaseError) {
        let before = changeCount
        for (origin, column) in view.layout.incoming {
            guard let index = column.index else { continue }
            for source in try sources(index, IndexValue.link(to: key)) {
                switch column.collection {
                case .none: try nullify(origin, column.key, source)
                case .list, .set: try removeFromList(origin, column.key, source) { $0 == key }
                case .map: try nullifyInMap(origin, column.key, source) { $0 == key }
                }
                settle(since: before)
            }
        }
        let link = ObjectLink(table: view.key, key: key)
        for (origin, column) in catalog.mixedColumns {
            guard let index = column.linkIndex else { continue }
            for source in try sources(index, IndexValue.mixedLink(to: link)) {
                try nullifyInMixed(origin, column, source) { $0 == link }
                settle(since: before)
            }
        }
    }

    /// The objects that have links to this one.
    func linking(to key: ObjectKey, _ view: TableView) throws(DatabaseError) -> [ObjectLink] {
        var linking: [ObjectLink] = []
        for (origin, column) in view.layout.incoming {
            guard let index = column.index else { continue }
            for source in try sources(index, IndexValue.link(to: key)) {
                linking.append(ObjectLink(table: origin, key: source))
            }
        }
        let link = ObjectLink(table: view.key, key: key)
        for (origin, column) in catalog.mixedColumns {
            guard let index = column.linkIndex else { continue }
            for source in try sources(index, IndexValue.mixedLink(to: link)) {
                linking.append(ObjectLink(table: origin, key: source))
            }
        }
        return linking
    }

    /// Each object once.
    private func sources(_ index: IndexKey, _ value: IndexValue) throws(DatabaseError) -> [ObjectKey] {
        var keys: [Int64] = []
        try indexView(index).keys(value, into: &keys)
        var distinct: [ObjectKey] = []
        for key in keys where distinct.last?.rawValue != key { distinct.append(ObjectKey(key)) }
        return distinct
    }

    private func nullify(_ table: TableKey, _ column: ColumnKey, _ key: ObjectKey) throws(DatabaseError) {
        let view = try self.table(table)
        let slot = try view.layout.slot(column)
        let place = try view.requireLocation(key)
        try replaceValue(view, slot, place, key, old: try view.value(slot: slot, at: place), new: .null)
    }

    /// Every occurrence of links in a list or set, those beside each other at once.
    func removeFromList(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, _ isDoomed: (ObjectKey) -> Bool
    ) throws(DatabaseError) {
        var edit = try openEdit(table, column, key)
        var found: [Range<Int>] = []
        try edit.forEach(0 ..< edit.count) { index, element in
            guard !element.isNull, isDoomed(element.linkValue.key) else { return }
            if let last = found.last, last.upperBound == index {
                found[found.count - 1] = last.lowerBound ..< index + 1
            } else {
                found.append(index ..< index + 1)
            }
        }
        for range in found.reversed() { try removeElements(range, &edit) }
        if !found.isEmpty { noteChange() }
    }

    func nullifyInMap(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, _ isDoomed: (ObjectKey) -> Bool
    ) throws(DatabaseError) {
        var map = try openMap(table, column, key)
        var found: [Int] = []
        try map.values.forEach(0 ..< map.values.count) { index, element in
            if !element.isNull, isDoomed(element.linkValue.key) { found.append(index) }
        }
        for index in found { try setMapValue(&map, index, .null) }
    }

    // MARK: Deletion of a target of mixed values

    func nullifyInMixed(
        _ table: TableKey, _ column: StoredColumn, _ key: ObjectKey, _ isDoomed: (ObjectLink) -> Bool
    ) throws(DatabaseError) {
        switch column.collection {
        case .none: try nullifyInMixed(table, column.key, key, isDoomed)
        case .list: try nullifyInMixedList(table, column.key, key, isDoomed)
        case .set: try removeFromMixedSet(table, column.key, key, isDoomed)
        case .map: try nullifyInMixedMap(table, column.key, key, isDoomed)
        }
    }

    private func nullifyInMixed(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, _ isDoomed: (ObjectLink) -> Bool
    ) throws(DatabaseError) {
        let view = try self.table(table)
        let slot = try view.layout.slot(column)
        let place = try view.requireLocation(key)
        let old = try view.value(slot: slot, at: place)
        guard MixedLinks.contains(old, isDoomed) else { return }
        var edits: [NestedOperation] = []
        let new = MixedLinks.nullify(isDoomed, in: old, at: [], &edits)
        for edit in edits { recorder.nestedChanged(table, column, key, edit) }
        try new.withView { new throws(DatabaseError) in
            try replaceValue(view, slot, place, key, old: old, new: new, isWhole: false)
        }
    }

    private func mixedElements(
        _ edit: ListEdit, _ isDoomed: (ObjectLink) -> Bool
    ) throws(DatabaseError) -> [Int] {
        var found: [Int] = []
        try edit.forEach(0 ..< edit.count) { index, element in
            if MixedLinks.contains(element, isDoomed) { found.append(index) }
        }
        return found
    }

    private func nullifyInMixedList(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, _ isDoomed: (ObjectLink) -> Bool
    ) throws(DatabaseError) {
        let edit = try openEdit(table, column, key)
        for index in try mixedElements(edit, isDoomed) {
            var edits: [NestedOperation] = []
            let new = MixedLinks.nullify(isDoomed, in: try edit.view(index), at: [.index(index)], &edits)
            for edit in edits { recorder.nestedChanged(table, column, key, edit) }
            try new.withView { new throws(DatabaseError) in
                try setElement(edit, index, new, isWhole: false)
            }
        }
    }

    private func nullifyInMixedMap(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, _ isDoomed: (ObjectLink) -> Bool
    ) throws(DatabaseError) {
        var map = try openMap(table, column, key)
        for index in try mixedElements(map.values, isDoomed) {
            var edits: [NestedOperation] = []
            let name = try map.keyText(index)
            let new = MixedLinks.nullify(isDoomed, in: try map.values.view(index), at: [.key(name)], &edits)
            for edit in edits { recorder.nestedChanged(table, column, key, edit) }
            try new.withView { new throws(DatabaseError) in try setMapValue(&map, index, new, isWhole: false) }
        }
    }

    /// Links leave the set; lists and maps in it, which are sorted by what they hold, find a new place.
    private func removeFromMixedSet(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, _ isDoomed: (ObjectLink) -> Bool
    ) throws(DatabaseError) {
        var edit = try openEdit(table, column, key)
        var changed: [Value] = []
        for index in try mixedElements(edit, isDoomed).reversed() {
            let element = try edit.view(index)
            var edits: [NestedOperation] = []
            if element.kind != .link { changed.append(MixedLinks.nullify(isDoomed, in: element, at: [], &edits)) }
            try removeElements(index ..< index + 1, &edit)
            noteChange()
        }
        // Only then: what is put in moves what has not been looked at.
        for value in changed {
            try value.withView { view throws(DatabaseError) in _ = try insertElement(view, &edit) }
        }
    }
}
