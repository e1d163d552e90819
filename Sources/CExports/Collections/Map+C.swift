/// Maps by key: those of properties, and those inside mixed values.
import CMotte
import MotteLiveObjects
import MotteValues

/// A map of either sort.
private enum AnyMap {
    case stored(LiveMap)
    case nested(LiveNested)

    init(_ handle: borrowing Pinned<CollectionBox>) throws(DatabaseError) {
        let collection = handle.box.collection
        if let map = collection as? LiveMap {
            self = .stored(map)
        } else if let nested = collection as? LiveNested, nested.isMap {
            self = .nested(nested)
        } else {
            throw DatabaseError(.wrongKind, "this collection is no map")
        }
    }

    var collection: LiveCollection {
        switch self {
        case .stored(let map): map
        case .nested(let map): map
        }
    }

    func position(of key: UnsafeRawBufferPointer) throws(DatabaseError) -> Int? {
        switch self {
        case .stored(let map): try map.position(of: key)
        case .nested(let map): try map.position(of: key)
        }
    }

    func key(at index: Int) throws(DatabaseError) -> UnsafeRawBufferPointer {
        switch self {
        case .stored(let map): try map.mapKey(at: index)
        case .nested(let map): try map.mapKey(at: index)
        }
    }

    /// True if the key is new.
    func put(_ key: UnsafeRawBufferPointer, _ value: ValueView) throws(DatabaseError) -> Bool {
        switch self {
        case .stored(let map): return try map.put(key, value)
        case .nested(let map):
            let isNew = try map.position(of: key) == nil
            try map.put(String(decoding: key, as: UTF8.self), value.owned)
            return isNew
        }
    }

    func remove(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        switch self {
        case .stored(let map): try map.remove(key)
        case .nested(let map): try map.remove(String(decoding: key, as: UTF8.self))
        }
    }
}

/// The bytes of a key; the empty one is a key too.
private func keyBytes(_ key: UnsafePointer<CChar>?, _ size: Int) throws(DatabaseError) -> UnsafeRawBufferPointer {
    guard let bytes = try textBytes(key, size) else { throw DatabaseError(.nullArgument, "the key is NULL") }
    return bytes
}

@_cdecl("motte_map_get") @implementation
public func motte_map_get(
    _ map: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ key_size: Int,
    _ out_value: UnsafeMutablePointer<motte_value>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_value, zero: motte_value())
        let map = try AnyMap(try Handles.collection(map))
        guard let index = try map.position(of: try keyBytes(key, key_size)) else { return .notFound }
        let view = try map.collection.value(at: index)
        out.pointee = view.cValue
        return view.isNull ? .null : .ok
    }
}

@_cdecl("motte_map_get_coll") @implementation
public func motte_map_get_coll(
    _ map: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ key_size: Int,
    _ out_coll: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_coll)
        let handle = try Handles.collection(map)
        let map = try AnyMap(handle)
        guard let index = try map.position(of: try keyBytes(key, key_size)) else { return .notFound }
        try Handles.make(try nested(in: map.collection, at: index), handle.box.core, out)
        return .ok
    }
}

@_cdecl("motte_map_has") @implementation
public func motte_map_has(_ map: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ key_size: Int) -> motte_status {
    boundary { () throws(DatabaseError) in
        let map = try AnyMap(try Handles.collection(map))
        return try map.position(of: try keyBytes(key, key_size)) == nil ? .notFound : .ok
    }
}

@_cdecl("motte_map_put") @implementation
public func motte_map_put(
    _ map: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ key_size: Int, _ value: UnsafePointer<motte_value>?,
    _ out_inserted: UnsafeMutablePointer<Bool>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_inserted?.pointee = false
        let map = try AnyMap(try Handles.collection(map))
        let isNew = try map.put(try keyBytes(key, key_size), try element(value, for: map.collection))
        out_inserted?.pointee = isNew
        return .ok
    }
}

@_cdecl("motte_map_put_many") @implementation
public func motte_map_put_many(
    _ map: OpaquePointer?, _ keys: UnsafePointer<motte_str>?, _ values: UnsafePointer<motte_value>?, _ count: Int
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let map = try AnyMap(try Handles.collection(map))
        let names = try input(keys, count)
        let checked = try elements(values, count, for: map.collection)
        var entries: [(key: UnsafeRawBufferPointer, value: ValueView)] = []
        entries.reserveCapacity(count)
        for (index, name) in names.enumerated() {
            let key = try atRow(index) { () throws(DatabaseError) in try keyBytes(name.data, name.size) }
            entries.append((key, checked[index]))
        }
        switch map {
        case .stored(let map): try map.putMany(entries)
        case .nested:
            // Keys are checked before the first is put in; of checked values, only the size can be wrong.
            for (index, entry) in entries.enumerated() {
                try atRow(index) { () throws(DatabaseError) in try checkMapKey(entry.key) }
            }
            try map.collection.session.atomically { () throws(DatabaseError) in
                for (index, entry) in entries.enumerated() {
                    try atRow(index) { () throws(DatabaseError) in _ = try map.put(entry.key, entry.value) }
                }
            }
        }
        return .ok
    }
}

private func checkMapKey(_ key: UnsafeRawBufferPointer) throws(DatabaseError) {
    guard key.first != UInt8(ascii: "$"), !key.contains(UInt8(ascii: ".")) else {
        throw DatabaseError(
            .invalidArgument,
            "a key of a map neither begins with '$' nor contains '.'; percent-encode it (%24, %2E)")
    }
}

@_cdecl("motte_map_remove") @implementation
public func motte_map_remove(_ map: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ key_size: Int) -> motte_status {
    boundary { () throws(DatabaseError) in
        let map = try AnyMap(try Handles.collection(map))
        return try map.remove(try keyBytes(key, key_size)) ? .ok : .notFound
    }
}

@_cdecl("motte_map_entry") @implementation
public func motte_map_entry(
    _ map: OpaquePointer?, _ index: Int, _ out_key: UnsafeMutablePointer<motte_str>?,
    _ out_value: UnsafeMutablePointer<motte_value>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_key?.pointee = motte_str()
        out_value?.pointee = motte_value()
        let map = try AnyMap(try Handles.collection(map))
        try checkNotHuge(index)
        let view = try map.collection.value(at: index)
        let key = ValueView.string(try map.key(at: index))
        out_key?.pointee = key.cString
        out_value?.pointee = view.cValue
        return view.isNull ? .null : .ok
    }
}

@_cdecl("motte_map_keys") @implementation
public func motte_map_keys(
    _ map: OpaquePointer?, _ first: Int, _ count: Int, _ out_values: UnsafeMutablePointer<motte_str>?,
    _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_count, zero: 0)
        guard count >= 0 else { throw DatabaseError(.invalidArgument, "a count is larger than memory") }
        guard let out_values else { throw DatabaseError(.nullArgument, "the output array is NULL") }
        let map = try AnyMap(try Handles.collection(map))
        let total = try map.collection.count()
        // A position above Int.max arrives negative; nothing is left there.
        guard first >= 0, first < total else { return .end }
        let end = first + min(count, total - first)
        for index in first ..< end { out_values[index - first] = ValueView.string(try map.key(at: index)).cString }
        out.pointee = end - first
        return .ok
    }
}

@_cdecl("motte_map_key_results") @implementation
public func motte_map_key_results(
    _ map: OpaquePointer?, _ out_coll: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_coll)
        let handle = try Handles.collection(map)
        guard case .stored(let stored) = try AnyMap(handle) else {
            throw DatabaseError(.wrongKind, "the keys of a map in a mixed value are read with motte_map_keys()")
        }
        try Handles.make(try stored.mapKeys(), handle.box.core, out)
        return .ok
    }
}
