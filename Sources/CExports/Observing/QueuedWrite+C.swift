/// Writes that wait for their turn on a realm's queue.
import CMotte
import MotteLiveObjects
import MotteNotifications
import MotteValues

extension RealmBox {
    /// For any thread.
    fileprivate var writes: QueuedWrites {
        get throws(DatabaseError) {
            if let writes = core.writes { return writes }
            throw session.isFrozen
                ? DatabaseError(.frozen, "cannot write to something frozen; use the live realm")
                : DatabaseError(.invalidArgument, "the realm was opened without a queue; set one in its config")
        }
    }
}

@_cdecl("motte_realm_queue_write") @implementation
public func motte_realm_queue_write(
    _ realm: OpaquePointer?, _ work: motte_realm_fn?, _ done: motte_write_done_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ free_userdata: motte_free_fn?, _ out_ticket: UnsafeMutablePointer<UInt64>?
) -> motte_status {
    boundary(keeping: userdata, free_userdata) { (bridge) throws(DatabaseError) in
        out_ticket?.pointee = 0
        guard let work else { throw DatabaseError(.nullArgument, "the work is NULL") }
        let realm = try Handles.any(realm, .realm, as: RealmBox.self)
        // Weakly, because the core keeps the writes.
        let write = QueuedWrites.Write { [weak core = realm.box.core] (_) throws(DatabaseError) in
            // All handles were released: for the program the realm is closed, and what has not begun never runs.
            guard let core else { return false }
            try lend(RealmBox(core)) { (realm) throws(DatabaseError) in try bridge.call { work($0, realm) } }
            return true
        } done: { (outcome) throws(DatabaseError) in
            defer { bridge.close() }
            try bridge.report(outcome, to: done)
        }
        let ticket = try realm.box.writes.add(write)
        out_ticket?.pointee = ticket
        return .ok
    }
}

extension CallbackBridge {
    /// A failure that no completion handler gets is the dispatch's.
    fileprivate func report(
        _ outcome: Result<Version, DatabaseError>, to done: motte_write_done_fn?
    ) throws(DatabaseError) {
        switch outcome {
        case .success(let version):
            if let done { try call { done($0, .ok, version.rawValue) } }
        case .failure(let error):
            guard let done else { throw error }
            ThreadState.current.fail(error)
            try call { done($0, error.code.rawValue, 0) }
        }
    }
}

@_cdecl("motte_realm_cancel_queued") @implementation
public func motte_realm_cancel_queued(_ realm: OpaquePointer?, _ ticket: UInt64) -> motte_status {
    boundary { () throws(DatabaseError) in
        try Handles.any(realm, .realm, as: RealmBox.self).box.writes.cancel(ticket) ? .ok : .unchanged
    }
}
