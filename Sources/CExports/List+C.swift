/// Changes of one list.
import CMotte
import MotteLiveObjects
import MotteValues

/// Runs a change on the list behind a handle; other collections are refused.
private func changing(
    _ list: OpaquePointer?, _ change: (LiveList) throws(DatabaseError) -> Void
) -> motte_status {
    boundary { () throws(DatabaseError) in
        try change(try Handles.collection(list).box.list())
        return .ok
    }
}

/// Elements to put in; links without a class get the list's.
private func elements(
    _ values: UnsafePointer<motte_value>?, _ count: Int, for list: LiveList
) throws(DatabaseError) -> [ValueView] {
    var checked = try checkedValues(values, count)
    guard let target = list.target else { return checked }
    for index in checked.indices where checked[index].kind == .link && checked[index].aux == 0 {
        checked[index].aux = target.rawValue
    }
    return checked
}

private func element(_ value: UnsafePointer<motte_value>?, for list: LiveList) throws(DatabaseError) -> ValueView {
    var checked = try checkedValue(value)
    if let target = list.target, checked.kind == .link, checked.aux == 0 { checked.aux = target.rawValue }
    return checked
}

@_cdecl("motte_list_set") @implementation
public func motte_list_set(_ list: OpaquePointer?, _ index: Int, _ value: UnsafePointer<motte_value>?) -> motte_status {
    changing(list) { (list) throws(DatabaseError) in
        try checkNotHuge(index)
        try list.set(index, to: try element(value, for: list))
    }
}

@_cdecl("motte_list_insert") @implementation
public func motte_list_insert(
    _ list: OpaquePointer?, _ index: Int, _ value: UnsafePointer<motte_value>?
) -> motte_status {
    changing(list) { (list) throws(DatabaseError) in
        try checkNotHuge(index)
        try list.insert(try element(value, for: list), at: index)
    }
}

@_cdecl("motte_list_append") @implementation
public func motte_list_append(
    _ list: OpaquePointer?, _ values: UnsafePointer<motte_value>?, _ count: Int
) -> motte_status {
    changing(list) { (list) throws(DatabaseError) in try list.append(try elements(values, count, for: list)) }
}

@_cdecl("motte_list_remove") @implementation
public func motte_list_remove(_ list: OpaquePointer?, _ index: Int) -> motte_status {
    changing(list) { (list) throws(DatabaseError) in
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
    }
}

@_cdecl("motte_list_swap") @implementation
public func motte_list_swap(_ list: OpaquePointer?, _ index: Int, _ other: Int) -> motte_status {
    changing(list) { (list) throws(DatabaseError) in
        try checkNotHuge(index)
        try checkNotHuge(other)
        try list.swap(index, other)
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
    }
}
