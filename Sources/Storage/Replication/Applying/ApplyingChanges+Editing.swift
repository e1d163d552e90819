/// Objects that a change batch changes and deletes.
import MotteSchemaModel
import MotteValues

extension ApplyingChanges {
    func set(_ reader: inout ChangeBatchReader) throws(DatabaseError) {
        let (table, column) = try property(&reader, .none)
        let count = try reader.count(minimumSize: 2)
        var keys: [ObjectKey] = []
        var next: Int64 = 0
        for _ in 0 ..< count { keys.append(try local(table, try reader.key(after: &next))) }
        for key in keys {
            try withLocal(try reader.value()) { value throws(DatabaseError) in
                guard column.type == .mixed, value.kind == .list || value.kind == .map else {
                    return try write.set(table.key, column.key, key, to: value)
                }
                try setNested(table, column, key, value.owned)
            }
        }
    }

    /// A list or map in a mixed value that was one before is edited, so that observers of what is in it are notified of
    /// just that.
    private func setNested(
        _ table: StoredTable, _ column: StoredColumn, _ key: ObjectKey, _ new: Value
    ) throws(DatabaseError) {
        let old = try write.table(table.key).value(column.key, key).owned
        guard let edits = NestedDifference.edits(from: old, to: new) else {
            return try new.withView { new throws(DatabaseError) in
                try write.set(table.key, column.key, key, to: new)
            }
        }
        for edit in edits {
            try write.nestedEdit(table.key, column.key, key, path: edit.path, edit: edit.edit)
        }
    }

    /// Calls `body` for each object of a section of collections.
    func forEachOwner(
        _ table: StoredTable, _ reader: inout ChangeBatchReader,
        _ body: (ObjectKey, inout ChangeBatchReader) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        var next: Int64 = 0
        for _ in 0 ..< (try reader.count(minimumSize: 2)) {
            let key = try reader.key(after: &next)
            try body(try local(table, key), &reader)
        }
    }

    func editLists(_ reader: inout ChangeBatchReader) throws(DatabaseError) {
        let (table, column) = try property(&reader, .list)
        try forEachOwner(table, &reader) { key, reader throws(DatabaseError) in
            let before = try reader.position()
            guard try write.table(table.key).listCount(column.key, key) == Int(before) else {
                throw DatabaseError(
                    .historyForked,
                    "\(table.name).\(column.name) has another length here than in the batch's origin: it was changed "
                        + "by somebody else; \(advice)", className: table.name,
                    propertyName: column.name)
            }
            for _ in 0 ..< (try reader.count(minimumSize: 3)) { try editList(table, column, key, &reader) }
        }
    }

    private func editList(
        _ table: StoredTable, _ column: StoredColumn, _ key: ObjectKey, _ reader: inout ChangeBatchReader
    ) throws(DatabaseError) {
        let kind = try reader.byte()
        let index = Int(try reader.position())
        switch kind {
        case 1:
            let values = try reader.values(try reader.count())
            try withLocal(values) { values throws(DatabaseError) in
                try write.listInsert(table.key, column.key, key, at: index, values)
            }
        case 2:
            try write.listRemove(table.key, column.key, key, at: index, count: Int(try reader.position()))
        case 3:
            for offset in 0 ..< (try reader.count()) {
                let value = try reader.value()
                let former = write.isOwner(column) ? try element(table, column, key, index + offset) : nil
                try withLocal(value) { value throws(DatabaseError) in
                    try write.listSet(table.key, column.key, key, at: index + offset, value)
                    if let former, value.kind != .link || value.linkValue != former { try write.deleteAll([former]) }
                }
            }
        case 4:
            try write.listMove(table.key, column.key, key, from: index, to: Int(try reader.position()))
        default: throw ChangeBatch.damaged()
        }
    }

    /// The object that an element links to.
    private func element(
        _ table: StoredTable, _ column: StoredColumn, _ key: ObjectKey, _ index: Int
    ) throws(DatabaseError) -> ObjectLink? {
        let value = try write.table(table.key).listElement(column.key, key, index)
        return value.kind == .link ? value.linkValue : nil
    }

    func assignSets(_ reader: inout ChangeBatchReader) throws(DatabaseError) {
        let (table, column) = try property(&reader, .set)
        try forEachOwner(table, &reader) { key, reader throws(DatabaseError) in
            let values = try reader.values(try reader.count())
            try withLocal(values) { values throws(DatabaseError) in
                try removeOthers(table, column, key, values)
                try write.setAssign(table.key, column.key, key, values)
            }
        }
    }

    /// Assigning leaves what is equal, as 1 and 1.0 are in a set of mixed values; both files are to have the same.
    private func removeOthers(
        _ table: StoredTable, _ column: StoredColumn, _ key: ObjectKey, _ values: [ValueView]
    ) throws(DatabaseError) {
        for value in values {
            let view = try write.table(table.key)
            guard let place = try view.setFind(column.key, key, value) else { continue }
            if ValueIdentity.isSame(try view.listElement(column.key, key, place), value) { continue }
            try write.setRemove(table.key, column.key, key, value)
        }
    }

    func editMaps(_ reader: inout ChangeBatchReader) throws(DatabaseError) {
        let (table, column) = try property(&reader, .map)
        try forEachOwner(table, &reader) { key, reader throws(DatabaseError) in
            for _ in 0 ..< (try reader.count(minimumSize: 2)) {
                let name = try reader.content()
                switch try reader.byte() {
                case 1:
                    let value = try reader.value()
                    let place =
                        write.isOwner(column) ? try write.table(table.key).mapFind(column.key, key, name) : nil
                    let former = try place.flatMap { place throws(DatabaseError) in
                        try element(table, column, key, place)
                    }
                    try withLocal(value) { value throws(DatabaseError) in
                        try write.mapPut(table.key, column.key, key, name, value)
                        if let former, value.kind != .link || value.linkValue != former {
                            try write.deleteAll([former])
                        }
                    }
                case 2: try write.mapRemove(table.key, column.key, key, name)
                default: throw ChangeBatch.damaged()
                }
            }
        }
    }

    // MARK: Objects that go

    mutating func delete(_ reader: inout ChangeBatchReader) throws(DatabaseError) {
        if batch.isDifference { try settleAllDeletions() }
        let table = try table(try reader.table())
        let runs = try reader.runs()
        var keys: [Int64] = []
        if let going = going[table.key] {
            let view = try write.table(table.key)
            // What an object that went owned is gone already.
            for key in going.sorted() where try view.locate(ObjectKey(key)) != nil { keys.append(key) }
        } else {
            keys = try objects(table, in: runs).map(\.rawValue)
        }
        if batch.isDifference {
            try keepDeleted(table, runs)
            try requireNoLinks(table, keys)
        }
        keys.removeAll { takenOver.contains(ObjectLink(table: table.key, key: ObjectKey($0))) }
        if !replaced.isEmpty {
            let going = Set(keys)
            for (link, former) in replaced where link.table == table.key && going.contains(link.key.rawValue) {
                former.primaryKey.withView { write.index($0, former.column, link.key) }
            }
        }
        _ = try write.delete(table.key, keys)
    }

    /// Those of the batch that are here.
    func objects(_ table: StoredTable, in keys: KeyRuns) throws(DatabaseError) -> [ObjectKey] {
        var objects: [ObjectKey] = []
        for run in keys.runs {
            if batch.isDifference, isFound(table) {
                let view = try write.table(table.key)
                for key in found[table.key]?.others(of: run) ?? [] {
                    // What an object that went owned is gone already.
                    if try view.locate(ObjectKey(key)) != nil { objects.append(ObjectKey(key)) }
                }
            } else if goesByKeys {
                let view = try write.table(table.key), end = view.nextKey
                for key in run.clamped(to: 0 ..< max(0, end)) {
                    if let key = try live(table.key, key) { objects.append(key) }
                }
                if batch.isDifference { objects += try self.objects(view, named: run) }
            } else {
                let view = try write.table(table.key)
                if batch.isDifference { objects += try self.objects(view, named: run) }
                let run = run.clamped(to: 0 ..< FileDifference.firstName)
                try names.forEach(table.key, in: run) { key throws(DatabaseError) in
                    if let key = try ownNames.standing(view, key.rawValue) { objects.append(key) }
                }
            }
        }
        return objects
    }
}
