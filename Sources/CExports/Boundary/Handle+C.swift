/// What holds for handles of every kind.
import CMotte
import MotteValues

@_cdecl("motte_release") @implementation
public func motte_release(_ handle: UnsafeRawPointer?) -> motte_status {
    let token = HandleToken(handle)
    // Finalizers call this: nothing but the release on the way that they take.
    if token.bits == 0 || HandleTable.shared.release(token) { return .ok }
    return boundary { () throws(DatabaseError) in
        guard HandleTable.shared.wasReleased(token) else { throw notAHandle(token) }
        return .unchanged
    }
}

private func notAHandle(_ token: HandleToken) -> DatabaseError {
    DatabaseError(
        .badHandle,
        "0x\(String(token.bits, radix: 16)) is not a handle of this library; pass the handle itself, not the address "
            + "of its variable")
}

@_cdecl("motte_release_many") @implementation
public func motte_release_many(_ handles: UnsafePointer<UnsafeRawPointer?>?, _ count: Int) -> motte_status {
    boundary { () throws(DatabaseError) in
        var wrong: HandleToken?
        var wasReleased = false
        for handle in try input(handles, count) {
            let token = HandleToken(handle)
            if token.bits == 0 || HandleTable.shared.release(token) { continue }
            if HandleTable.shared.wasReleased(token) { wasReleased = true } else if wrong == nil { wrong = token }
        }
        if let wrong { throw notAHandle(wrong) }
        return wasReleased ? .unchanged : .ok
    }
}

@_cdecl("motte_clone") @implementation
public func motte_clone(
    _ handle: UnsafeRawPointer?, _ out_handle: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_handle, zero: nil)
        let original = try Handles.whatever(handle)
        try Handles.make(try original.box.clone(), out)
        return .ok
    }
}

@_cdecl("motte_freeze") @implementation
public func motte_freeze(
    _ handle: UnsafeRawPointer?, _ out_handle: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_handle, zero: nil)
        let original = try Handles.whatever(handle)
        try original.box.check()
        try Handles.make(try original.box.freeze(), out)
        return .ok
    }
}

@_cdecl("motte_equal") @implementation
public func motte_equal(_ left: UnsafeRawPointer?, _ right: UnsafeRawPointer?) -> Int32 {
    var same = false
    _ = quietBoundary { () throws(DatabaseError) in
        let left = try Handles.whatever(left), right = try Handles.whatever(right)
        same = left.box.isSame(as: right.box)
        return .ok
    }
    return same ? 1 : 0
}

@_cdecl("motte_handle_kind") @implementation
public func motte_handle_kind(_ handle: UnsafeRawPointer?) -> motte_handle_type {
    var kind: motte_handle_type = 0
    _ = quietBoundary { () throws(DatabaseError) in
        kind = motte_handle_type(try Handles.whatever(handle).box.kind.rawValue)
        return .ok
    }
    return kind
}

@_cdecl("motte_handle_check") @implementation
public func motte_handle_check(_ handle: UnsafeRawPointer?) -> motte_status {
    quietBoundary { () throws(DatabaseError) in
        try Handles.whatever(handle).box.check()
        return .ok
    }
}

@_cdecl("motte_handle_is_frozen") @implementation
public func motte_handle_is_frozen(_ handle: UnsafeRawPointer?) -> Int32 {
    var isFrozen = false
    _ = quietBoundary { () throws(DatabaseError) in
        isFrozen = try Handles.whatever(handle).box.isFrozen
        return .ok
    }
    return isFrozen ? 1 : 0
}

@_cdecl("motte_handle_count") @implementation
public func motte_handle_count(_ kind: motte_handle_type) -> UInt64 {
    guard kind >= 0, kind < 32 else { return 0 }
    if kind > 0 { return UInt64(max(0, HandleTable.shared.count(Int(kind)))) }
    return UInt64(max(0, HandleKind.allCases.reduce(0) { $0 + HandleTable.shared.count(Int($1.rawValue)) }))
}

@_cdecl("motte_handle_dump") @implementation
public func motte_handle_dump(
    _ visit: motte_handle_fn?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: motte_free_fn?
) -> motte_status {
    boundary(calling: userdata, free_userdata) { (bridge) throws(DatabaseError) in
        guard let visit else { throw DatabaseError(.nullArgument, "visit is NULL") }
        for token in HandleTable.shared.liveTokens() {
            try bridge.call { visit($0, UnsafeRawPointer(token.rawPointer), Int32(token.kindNumber)) }
        }
        return .ok
    }
}
