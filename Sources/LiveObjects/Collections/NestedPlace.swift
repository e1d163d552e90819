/// Where a list or map nested in a mixed value is, and how edits move it or make an end of it.
///
/// The first step of a path into a list or map of mixed values is the element's index or key.
import MotteSchemaModel
import MotteStorage
import MotteValues

/// The mixed property at the beginning of a path.
struct NestedRoot {
    let owner: LiveObject
    let column: ColumnKey
    let collection: CollectionKind

    /// The value at the end of a path; nil where there is none.
    func value(at path: NestedPath) throws(DatabaseError) -> ValueView? {
        let view = try owner.view()
        let whole: ValueView
        var rest = path[...]
        switch collection {
        case .none: whole = try view.value(column, owner.key)
        case .list:
            guard case .index(let index)? = rest.popFirst(), index >= 0,
                index < (try view.listCount(column, owner.key))
            else { return nil }
            whole = try view.listElement(column, owner.key, index)
        case .map:
            guard case .key(let key)? = rest.popFirst() else { return nil }
            let found = try key.withUTF8Bytes { bytes throws(DatabaseError) in
                try view.mapFind(column, owner.key, bytes)
            }
            guard let found else { return nil }
            whole = try view.listElement(column, owner.key, found)
        case .set: return nil
        }
        return NestedDocument.value(whole, at: NestedPath(rest))
    }
}

/// A path that follows edits.
package struct NestedPlace {
    package var path: NestedPath
    /// What was there has been replaced or removed.
    package var isGone = false

    package init(path: NestedPath) { self.path = path }

    /// An edit inside the mixed value.
    package mutating func follow(_ operation: NestedOperation) {
        guard !isGone, path.starts(with: operation.path) else { return }
        if operation.change == .replaced {
            isGone = true
            return
        }
        let depth = operation.path.count
        guard path.count > depth else { return }
        switch (operation.change, path[depth]) {
        case (.inserted(let index, let count), .index(let mine)):
            if mine >= index { path[depth] = .index(mine + count) }
        case (.removed(let index, let count), .index(let mine)):
            if mine >= index + count { path[depth] = .index(mine - count) } else if mine >= index { isGone = true }
        case (.set(let index), .index(let mine)): if mine == index { isGone = true }
        case (.keyModified(let key), _), (.keyRemoved(let key), _): if path[depth] == .key(key) { isGone = true }
        case (.cleared, _): isGone = true
        default: break
        }
    }

    /// An edit of the list or set of mixed values around it. Elements that are set are reported as nested edits.
    mutating func follow(_ operation: ListOperation) {
        guard !isGone, case .index(let mine)? = path.first else { return }
        switch operation.kind {
        case .insert: if mine >= operation.index { path[0] = .index(mine + operation.count) }
        case .remove:
            if mine >= operation.index + operation.count {
                path[0] = .index(mine - operation.count)
            } else if mine >= operation.index {
                isGone = true
            }
        case .move:
            if mine == operation.index {
                path[0] = .index(operation.destination)
            } else {
                let without = mine > operation.index ? mine - 1 : mine
                path[0] = .index(without >= operation.destination ? without + 1 : without)
            }
        case .clear: isGone = true
        case .set: break
        }
    }

    /// What the change log has, which does not tell how edits of a list and edits inside its elements took turns.
    mutating func follow(_ summary: ChangeSummary, _ root: NestedRoot) {
        guard !isGone, let table = summary.table(root.owner.table) else { return }
        let owner = root.owner.key.rawValue
        let moves = (table.list(root.column, owner)?.operations ?? []).filter { $0.kind != .set }
        let edits = table.nested(root.column, owner)?.operations ?? []
        if !moves.isEmpty, !edits.isEmpty {
            isGone = true
            return
        }
        for move in moves { follow(move) }
        for edit in edits { follow(edit) }
        if case .key(let key)? = path.first, root.collection == .map,
            let change = table.map(root.column, owner)?.changes.first(where: { key.utf8.elementsEqual($0.key) })
        {
            let isEdited = edits.contains { $0.path.first == .key(key) }
            if change.kind != .modified || !isEdited { isGone = true }
        }
    }
}
