/// Ending queries of a realm before they are done.
import CMotte
import MotteLiveObjects
import MotteValues

@_cdecl("motte_realm_interrupt") @implementation
public func motte_realm_interrupt(_ realm: OpaquePointer?) -> motte_status {
    boundary { () throws(DatabaseError) in
        // Nothing else of the session is looked at: it is another thread's, which may close it meanwhile.
        let session = try Handles.any(realm, .realm, as: RealmBox.self).box.core.session
        guard !session.queryControl.isEnded else {
            throw DatabaseError(.closed, "this session has been closed; open the file again")
        }
        session.queryControl.interrupt()
        return .ok
    }
}

@_cdecl("motte_realm_set_query_timeout") @implementation
public func motte_realm_set_query_timeout(_ realm: OpaquePointer?, _ timeout_ms: Int64) -> motte_status {
    boundary { () throws(DatabaseError) in
        try Handles.realm(realm).box.session.queryControl.timeoutMilliseconds = timeout_ms
        return .ok
    }
}

@_cdecl("motte_realm_on_query_progress") @implementation
public func motte_realm_on_query_progress(
    _ realm: OpaquePointer?, _ progress: motte_query_progress_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: motte_free_fn?
) -> motte_status {
    boundary(keeping: userdata, free_userdata) { (bridge) throws(DatabaseError) in
        let realm = try Handles.realm(realm)
        guard let progress else {
            try realm.box.session.onQueryProgress(nil)
            bridge.close()
            return .ok
        }
        // The bridge frees the userdata when the session lets go of it.
        try realm.box.session.onQueryProgress { () throws(DatabaseError) in try bridge.call { progress($0) } }
        return .ok
    }
}
