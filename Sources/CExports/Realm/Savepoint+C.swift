/// Savepoints of an open write, by number.
import CMotte
import MotteLiveObjects
import MotteStorage
import MotteValues

@_cdecl("motte_realm_savepoint") @implementation
public func motte_realm_savepoint(
    _ realm: OpaquePointer?, _ out_savepoint: UnsafeMutablePointer<UInt64>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_savepoint, zero: 0)
        let realm = try Handles.realm(realm)
        out.pointee = try realm.box.session.savepoint().serial
        return .ok
    }
}

@_cdecl("motte_realm_release_savepoint") @implementation
public func motte_realm_release_savepoint(_ realm: OpaquePointer?, _ savepoint: UInt64) -> motte_status {
    boundary { () throws(DatabaseError) in
        try Handles.realm(realm).box.session.release(WriteTransaction.Savepoint(serial: savepoint))
        return .ok
    }
}

@_cdecl("motte_realm_roll_back") @implementation
public func motte_realm_roll_back(_ realm: OpaquePointer?, _ savepoint: UInt64) -> motte_status {
    boundary { () throws(DatabaseError) in
        try Handles.realm(realm).box.session.rollBack(to: WriteTransaction.Savepoint(serial: savepoint))
        return .ok
    }
}
