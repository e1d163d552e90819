/// Editing lists and maps that are nested in mixed values, by the path that leads to them. The change log has the edit
/// itself beside the fact that the property was modified, so that observers of a nested collection are notified of just
/// that.
///
/// A nested collection is part of its value's bytes, so an edit costs what the value is long.
import MotteColumns
import MotteSchemaModel
import MotteValues

/// One edit of the list or map at the end of a path. Values may hold lists and maps themselves.
package enum NestedEdit: Sendable {
    /// Of a list.
    case insert(at: Int, Value)
    case append(Value)
    case set(at: Int, Value)
    case remove(at: Int, count: Int)
    case move(from: Int, to: Int)
    /// Of a map: the key's value, whether it is new or not.
    case put(String, Value)
    /// A key that is not there is fine.
    case removeKey(String)
    /// Of either.
    case clear
}

extension WriteTransaction {
    /// Edits the list or map at `path` in a mixed property. In a list of mixed values the path begins with the index of
    /// the element, in a map with its key. False if there was nothing to change.
    @discardableResult
    package func nestedEdit(
        _ table: TableKey, _ column: ColumnKey, _ key: ObjectKey, path: NestedPath, edit: NestedEdit
    ) throws(DatabaseError) -> Bool {
        let before = changeCount
        defer { settle(since: before) }
        try requireOpen()
        let view = try self.table(table)
        let slot = try view.layout.slot(column)
        let stored = view.layout.columns[slot]
        let place = try view.requireLocation(key)
        let rules = NestedRules(column: stored, table: view.layout.stored)
        guard stored.type == .mixed else { throw rules.wrongType("does not hold mixed values") }
        switch stored.collection {
        case .none:
            let old = try view.value(slot: slot, at: place)
            let (new, edits) = try edited(old, path[...], path, edit, rules)
            guard !edits.isEmpty else { return false }
            try new.withView { new throws(DatabaseError) in try makeRoom(for: new) }
            try completing { () throws(DatabaseError) in
                for operation in edits { recorder.nestedChanged(table, column, key, operation) }
                try new.withView { new throws(DatabaseError) in
                    try replaceValue(view, slot, place, key, old: old, new: new, isWhole: false)
                }
            }
        case .list:
            guard case .index(let index) = path.first else { throw rules.noSuchPath(path) }
            let list = try openEdit(table, column, key)
            guard index >= 0, index < list.count else { throw outOfBounds(index, list.count) }
            let (new, edits) = try edited(try list.view(index), path.dropFirst(), path, edit, rules)
            guard !edits.isEmpty else { return false }
            try new.withView { new throws(DatabaseError) in try makeRoom(for: new) }
            try completing { () throws(DatabaseError) in
                for operation in edits { recorder.nestedChanged(table, column, key, operation) }
                try new.withView { new throws(DatabaseError) in try setElement(list, index, new, isWhole: false) }
            }
        case .map:
            guard case .key(let name) = path.first else { throw rules.noSuchPath(path) }
            var map = try openMap(table, column, key)
            let found = try name.withUTF8Bytes { bytes throws(DatabaseError) in try map.find(bytes) }
            guard found.isThere else { throw rules.noSuchPath(path) }
            let (new, edits) = try edited(try map.values.view(found.index), path.dropFirst(), path, edit, rules)
            guard !edits.isEmpty else { return false }
            try new.withView { new throws(DatabaseError) in try makeRoom(for: new) }
            try completing { () throws(DatabaseError) in
                for operation in edits { recorder.nestedChanged(table, column, key, operation) }
                try new.withView { new throws(DatabaseError) in
                    try setMapValue(&map, found.index, new, isWhole: false)
                }
            }
        case .set:
            throw rules.wrongType("is a set: take the value out, and put the changed one in")
        }
        return true
    }

    /// The whole value after the edit, checked, and what the change log says of it; `rest` is the path within `old`.
    private func edited(
        _ old: ValueView, _ rest: ArraySlice<NestedStep>, _ path: NestedPath, _ edit: NestedEdit, _ rules: NestedRules
    ) throws(DatabaseError) -> (Value, [NestedOperation]) {
        var value = old.owned
        var changes: [NestedOperation.Change] = []
        try value.edit(rest, edit, path, rules, &changes)
        try value.withView { new throws(DatabaseError) in
            // As `checked`, but that only what is new may link to what is not there.
            _ = try ValueCheck.fitted(new, rules.column, rules.table)
        }
        if let added = edit.added {
            try added.withView { added throws(DatabaseError) in
                try requireTargets(added, rules.column, rules.table)
            }
        }
        return (value, changes.map { NestedOperation(path: path, change: $0) })
    }
}

extension NestedEdit {
    fileprivate var added: Value? {
        switch self {
        case .insert(_, let value), .append(let value), .set(_, let value), .put(_, let value): value
        case .remove, .move, .removeKey, .clear: nil
        }
    }
}

/// Which property an edit is in, for its errors.
private struct NestedRules {
    let column: StoredColumn
    let table: StoredTable

    func wrongType(_ reason: String) -> DatabaseError {
        DatabaseError(
            .wrongType, "\(table.name).\(column.name) \(reason)", className: table.name, propertyName: column.name)
    }

    func noSuchPath(_ path: NestedPath) -> DatabaseError {
        let text = path.map { step in
            switch step {
            case .index(let index): "[\(index)]"
            case .key(let key): "['\(key)']"
            }
        }.joined()
        return DatabaseError(
            .invalidArgument, "\(table.name).\(column.name) has no list or map at \(path.isEmpty ? "its top" : text)",
            className: table.name, propertyName: column.name)
    }

    func outOfBounds(_ index: Int, _ count: Int) -> DatabaseError {
        DatabaseError(
            .outOfBounds, "index \(index) is outside the nested list, which has \(count) elements",
            className: table.name, propertyName: column.name)
    }
}

extension Value {
    fileprivate mutating func edit(
        _ rest: ArraySlice<NestedStep>, _ edit: NestedEdit, _ path: NestedPath, _ rules: NestedRules,
        _ changes: inout [NestedOperation.Change]
    ) throws(DatabaseError) {
        guard let step = rest.first else { return try apply(edit, path, rules, &changes) }
        switch (self, step) {
        case (.list(var elements), .index(let index)):
            guard index >= 0, index < elements.count else { throw rules.outOfBounds(index, elements.count) }
            self = .null
            try elements[index].edit(rest.dropFirst(), edit, path, rules, &changes)
            self = .list(elements)
        case (.map(var entries), .key(let key)):
            let found = MapEntry.find(key, in: entries)
            guard found.isThere else { throw rules.noSuchPath(path) }
            self = .null
            try entries[found.index].value.edit(rest.dropFirst(), edit, path, rules, &changes)
            self = .map(entries)
        default: throw rules.noSuchPath(path)
        }
    }

    private mutating func apply(
        _ edit: NestedEdit, _ path: NestedPath, _ rules: NestedRules, _ changes: inout [NestedOperation.Change]
    ) throws(DatabaseError) {
        switch self {
        case .list(var elements):
            self = .null
            try Self.apply(edit, to: &elements, path, rules, &changes)
            self = .list(elements)
        case .map(var entries):
            self = .null
            try Self.apply(edit, to: &entries, path, rules, &changes)
            self = .map(entries)
        default: throw rules.noSuchPath(path)
        }
    }

    private static func apply(
        _ edit: NestedEdit, to list: inout [Value], _ path: NestedPath, _ rules: NestedRules,
        _ changes: inout [NestedOperation.Change]
    ) throws(DatabaseError) {
        switch edit {
        case .insert(let index, let value):
            guard index >= 0, index <= list.count else { throw rules.outOfBounds(index, list.count) }
            list.insert(value, at: index)
            changes = [.inserted(at: index, count: 1)]
        case .append(let value):
            changes = [.inserted(at: list.count, count: 1)]
            list.append(value)
        case .set(let index, let value):
            guard index >= 0, index < list.count else { throw rules.outOfBounds(index, list.count) }
            list[index] = value
            changes = [.set(at: index)]
        case .remove(let index, let count):
            guard index >= 0, count >= 0, index <= list.count, count <= list.count - index else {
                throw rules.outOfBounds(index, list.count)
            }
            guard count > 0 else { return }
            list.removeSubrange(index ..< index + count)
            changes = [.removed(at: index, count: count)]
        case .move(let from, let to):
            guard from >= 0, from < list.count else { throw rules.outOfBounds(from, list.count) }
            guard to >= 0, to < list.count else { throw rules.outOfBounds(to, list.count) }
            guard from != to else { return }
            list.insert(list.remove(at: from), at: to)
            changes = [.removed(at: from, count: 1), .inserted(at: to, count: 1)]
        case .clear:
            guard !list.isEmpty else { return }
            changes = [.cleared(count: list.count)]
            list.removeAll()
        case .put, .removeKey: throw rules.wrongType("has a list there, not a map")
        }
    }

    private static func apply(
        _ edit: NestedEdit, to map: inout [MapEntry], _ path: NestedPath, _ rules: NestedRules,
        _ changes: inout [NestedOperation.Change]
    ) throws(DatabaseError) {
        switch edit {
        case .put(let key, let value):
            let found = MapEntry.find(key, in: map)
            if found.isThere {
                map[found.index].value = value
                changes = [.keyModified(key)]
            } else {
                map.insert(MapEntry(key: key, value: value), at: found.index)
                changes = [.keyInserted(key)]
            }
        case .removeKey(let key):
            let found = MapEntry.find(key, in: map)
            guard found.isThere else { return }
            map.remove(at: found.index)
            changes = [.keyRemoved(key)]
        case .clear:
            guard !map.isEmpty else { return }
            changes = [.cleared(count: map.count)]
            map.removeAll()
        case .insert, .append, .set, .remove, .move: throw rules.wrongType("has a map there, not a list")
        }
    }
}

extension MapEntry {
    /// Entries are sorted by the bytes of their keys.
    fileprivate static func find(_ key: String, in entries: [MapEntry]) -> (index: Int, isThere: Bool) {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            let order = entries[middle].key.withUTF8Bytes { one in
                key.withUTF8Bytes { ValueOrdering.compareBytes(one, $0) }
            }
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
    }
}
