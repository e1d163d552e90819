/// Changes of one list: of a property, or inside a mixed value.
import CMotte
import MotteLiveObjects
import MotteValues

/// Runs a change on the list behind a handle; other collections are refused.
private func changing(
    _ list: OpaquePointer?, _ change: (LiveList) throws(DatabaseError) -> Void,
    nested: (LiveNested) throws(DatabaseError) -> Void
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let handle = try Handles.collection(list)
        if let list = handle.box.collection as? LiveList {
            try change(list)
        } else if let list = handle.box.collection as? LiveNested, !list.isMap {
            try nested(list)
        } else {
            throw DatabaseError(.wrongKind, "this collection is no list")
        }
        return .ok
    }
}

/// Elements to put in; links without a class get the collection's.
func elements(
    _ values: UnsafePointer<motte_value>?, _ count: Int, for list: LiveCollection
) throws(DatabaseError) -> [ValueView] {
    var checked = try checkedValues(values, count, in: list.session)
    guard let target = list.target else { return checked }
    for index in checked.indices where checked[index].kind == .link && checked[index].aux == 0 {
        checked[index].aux = target.rawValue
    }
    return checked
}

func element(_ value: UnsafePointer<motte_value>?, for list: LiveCollection) throws(DatabaseError) -> ValueView {
    var checked = try checkedValue(value, in: list.session)
    if let target = list.target, checked.kind == .link, checked.aux == 0 { checked.aux = target.rawValue }
    return checked
}

@_cdecl("motte_list_set") @implementation
public func motte_list_set(_ list: OpaquePointer?, _ index: Int, _ value: UnsafePointer<motte_value>?) -> motte_status {
    changing(list) { (list) throws(DatabaseError) in
        try checkNotHuge(index)
        try list.set(index, to: try element(value, for: list))
    } nested: { (list) throws(DatabaseError) in
        try checkIndex(index, below: try list.count())
        try list.set(index, to: try checkedValue(value, in: list.session).owned)
    }
}

@_cdecl("motte_list_insert") @implementation
public func motte_list_insert(
    _ list: OpaquePointer?, _ index: Int, _ value: UnsafePointer<motte_value>?
) -> motte_status {
    changing(list) { (list) throws(DatabaseError) in
        try checkNotHuge(index)
        try list.insert(try element(value, for: list), at: index)
    } nested: { (list) throws(DatabaseError) in
        try checkNotHuge(index)
        try list.insert(try checkedValue(value, in: list.session).owned, at: index)
    }
}

@_cdecl("motte_list_append") @implementation
public func motte_list_append(
    _ list: OpaquePointer?, _ values: UnsafePointer<motte_value>?, _ count: Int
) -> motte_status {
    changing(list) { (list) throws(DatabaseError) in
        try list.append(try elements(values, count, for: list))
    } nested: { (list) throws(DatabaseError) in
        try insert(try checkedValues(values, count, in: list.session), at: try list.count(), in: list)
    }
}

@_cdecl("motte_list_remove") @implementation
public func motte_list_remove(_ list: OpaquePointer?, _ index: Int) -> motte_status {
    changing(list) { (list) throws(DatabaseError) in
        try checkNotHuge(index)
        try list.remove(at: index)
    } nested: { (list) throws(DatabaseError) in
        try checkNotHuge(index)
        try list.remove(at: index)
    }
}

@_cdecl("motte_list_move") @implementation
public func motte_list_move(_ list: OpaquePointer?, _ from: Int, _ to: Int) -> motte_status {
    changing(list) { (list) throws(DatabaseError) in
        try checkNotHuge(from)
        try checkNotHuge(to)
        try list.move(from: from, to: to)
    } nested: { (list) throws(DatabaseError) in
        try checkNotHuge(from)
        try checkNotHuge(to)
        try list.move(from: from, to: to)
    }
}

@_cdecl("motte_list_swap") @implementation
public func motte_list_swap(_ list: OpaquePointer?, _ index: Int, _ other: Int) -> motte_status {
    changing(list) { (list) throws(DatabaseError) in
        try checkNotHuge(index)
        try checkNotHuge(other)
        try list.swap(index, other)
    } nested: { (list) throws(DatabaseError) in
        let count = try list.count()
        try checkIndex(index, below: count)
        try checkIndex(other, below: count)
        guard index != other else { return }
        try list.move(from: min(index, other), to: max(index, other))
        try list.move(from: max(index, other) - 1, to: min(index, other))
    }
}

@_cdecl("motte_list_splice") @implementation
public func motte_list_splice(
    _ list: OpaquePointer?, _ index: Int, _ remove_count: Int, _ values: UnsafePointer<motte_value>?, _ count: Int
) -> motte_status {
    changing(list) { (list) throws(DatabaseError) in
        try checkNotHuge(index)
        try checkNotHuge(remove_count)
        try list.splice(at: index, removing: remove_count, inserting: try elements(values, count, for: list))
    } nested: { (list) throws(DatabaseError) in
        let total = try list.count()
        try checkNotHuge(index)
        try checkNotHuge(remove_count)
        guard index <= total, remove_count <= total - index else {
            throw DatabaseError(.outOfBounds, "\(remove_count) elements at \(index) are outside a list of \(total)")
        }
        let checked = try checkedValues(values, count, in: list.session)
        _ = try list.session.requireWrite()
        // What is put in may be refused, so it goes first.
        try insert(checked, at: index, in: list)
        if remove_count > 0 { try list.remove(at: index + count, count: remove_count) }
    }
}

/// All or nothing.
private func insert(_ values: [ValueView], at index: Int, in list: LiveNested) throws(DatabaseError) {
    _ = try list.session.requireWrite()
    for (offset, value) in values.enumerated() {
        do throws(DatabaseError) {
            try list.insert(value.owned, at: index + offset)
        } catch {
            if offset > 0 { try list.remove(at: index, count: offset) }
            throw error.at(rowIndex: offset)
        }
    }
}
