/// Tokens: observing a realm, an object or a collection, with a callback or by asking.
import CMotte
import MotteLiveObjects
import MotteNotifications
import MotteValues

final class TokenBox: RealmMemberBox {
    let observation: Observation
    let bridge: CallbackBridge
    /// Class of an observed object, for the property ids of its change sets.
    let table: TableKey?

    init(_ observation: Observation, _ bridge: CallbackBridge, _ table: TableKey?, _ core: RealmCore) {
        self.observation = observation
        self.bridge = bridge
        self.table = table
        super.init(kind: .token, core)
    }

    override func handleReleased() { stop() }

    @discardableResult
    func stop() -> Bool {
        let ended = observation.stop()
        bridge.close()
        return ended
    }
}

/// Who wants to be notified: what all functions that observe are given besides what is observed.
struct Listener {
    let flags: UInt32
    let callback: motte_changes_fn?
    let userdata: UnsafeMutableRawPointer?
    let free: motte_free_fn?
    /// For the token.
    let out: UnsafeMutablePointer<OpaquePointer?>?

    init(
        _ flags: UInt32, _ callback: motte_changes_fn?, _ userdata: UnsafeMutableRawPointer?, _ free: motte_free_fn?,
        _ out: UnsafeMutablePointer<OpaquePointer?>?
    ) {
        self.flags = flags
        self.callback = callback
        self.userdata = userdata
        self.free = free
        self.out = out
    }
}

/// Registers an observation and publishes its token. The userdata is freed here if that fails.
func observe(
    _ core: () throws(DatabaseError) -> (core: RealmCore, table: TableKey?), by listener: Listener,
    allowed: UInt32 = 0, _ register: (Observation.Callback?) throws(DatabaseError) -> Observation
) -> motte_status {
    boundary(keeping: listener.userdata, listener.free) { (bridge) throws(DatabaseError) in
        let out = try required(listener.out)
        let (core, table) = try core()
        try checkFlags(listener.flags, allowed: allowed)
        var deliver: Observation.Callback?
        if let callback = listener.callback {
            deliver = { (changes) throws(DatabaseError) in
                try lend(ChangesBox(changes, table)) { (changes) throws(DatabaseError) in
                    try bridge.call { callback($0, changes) }
                }
            }
        }
        let observation = try register(deliver)
        do throws(DatabaseError) {
            try Handles.make(TokenBox(observation, bridge, table, core), out)
        } catch {
            observation.stop()
            throw error
        }
        return .ok
    }
}

@_cdecl("motte_observe_realm") @implementation
public func motte_observe_realm(
    _ realm: OpaquePointer?, _ flags: UInt32, _ callback: motte_changes_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: motte_free_fn?, _ out_token: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    observe(
        { () throws(DatabaseError) in (try Handles.realm(realm).box.core, nil) },
        by: Listener(flags, callback, userdata, free_userdata, out_token)
    ) { (deliver) throws(DatabaseError) in
        try Handles.realm(realm).box.session.observe(deliver)
    }
}

/// Key paths as they come from C; absent where a function takes none.
private typealias Paths = () throws(DatabaseError) -> [String]

private func observe(object: OpaquePointer?, _ paths: Paths?, by listener: Listener) -> motte_status {
    observe(
        { () throws(DatabaseError) in
            let object = try Handles.object(object)
            return (object.box.core, object.box.object.table)
        }, by: listener
    ) { (deliver) throws(DatabaseError) in
        let object = try Handles.object(object)
        guard let paths else { return try object.box.object.observe(deliver) }
        let schema = try object.box.session.schema
        let names = object.box.core.publicNames
        let stored = try paths().map { names.path($0, of: object.box.object.table, in: schema) }
        return try object.box.object.observe(keyPaths: stored, deliver)
    }
}

private func observe(collection: OpaquePointer?, _ paths: Paths?, by listener: Listener) -> motte_status {
    observe(
        { () throws(DatabaseError) in (try Handles.collection(collection).box.core, nil) }, by: listener
    ) { (deliver) throws(DatabaseError) in
        let collection = try Handles.collection(collection)
        guard let paths else { return try collection.box.collection.observe(deliver) }
        var stored: [String] = []
        for path in try paths() { stored.append(try collection.box.stored(path)) }
        return try collection.box.collection.observe(keyPaths: stored, deliver)
    }
}

@_cdecl("motte_observe_object") @implementation
public func motte_observe_object(
    _ object: OpaquePointer?, _ flags: UInt32, _ callback: motte_changes_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: motte_free_fn?, _ out_token: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    observe(object: object, nil, by: Listener(flags, callback, userdata, free_userdata, out_token))
}

@_cdecl("motte_observe_coll") @implementation
public func motte_observe_coll(
    _ coll: OpaquePointer?, _ flags: UInt32, _ callback: motte_changes_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: motte_free_fn?, _ out_token: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    observe(collection: coll, nil, by: Listener(flags, callback, userdata, free_userdata, out_token))
}

@_cdecl("motte_observe_groups") @implementation
public func motte_observe_groups(
    _ groups: OpaquePointer?, _ flags: UInt32, _ callback: motte_changes_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: motte_free_fn?, _ out_token: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    observe(
        { () throws(DatabaseError) in (try Handles.groups(groups).box.core, nil) },
        by: Listener(flags, callback, userdata, free_userdata, out_token)
    ) { (deliver) throws(DatabaseError) in
        try Handles.groups(groups).box.groups.observe(deliver)
    }
}

@_cdecl("motte_observe_object_paths") @implementation
public func motte_observe_object_paths(
    _ object: OpaquePointer?, _ paths: UnsafePointer<motte_str>?, _ path_count: Int, _ flags: UInt32,
    _ callback: motte_changes_fn?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: motte_free_fn?,
    _ out_token: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    let given = { () throws(DatabaseError) in try texts(paths, path_count, "a key path") }
    return observe(object: object, given, by: Listener(flags, callback, userdata, free_userdata, out_token))
}

@_cdecl("motte_observe_coll_paths") @implementation
public func motte_observe_coll_paths(
    _ coll: OpaquePointer?, _ paths: UnsafePointer<motte_str>?, _ path_count: Int, _ flags: UInt32,
    _ callback: motte_changes_fn?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: motte_free_fn?,
    _ out_token: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    let given = { () throws(DatabaseError) in try texts(paths, path_count, "a key path") }
    return observe(collection: coll, given, by: Listener(flags, callback, userdata, free_userdata, out_token))
}

@_cdecl("motte_token_next") @implementation
public func motte_token_next(
    _ token: OpaquePointer?, _ out_changes: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_changes)
        let token = try Handles.any(token, .token, as: TokenBox.self)
        try token.box.session.check()
        switch try token.box.observation.next() {
        case .changes(let changes):
            try Handles.make(ChangesBox(changes, token.box.table), out)
            return .ok
        case .pending: return .pending
        case .end: return .end
        }
    }
}

@_cdecl("motte_token_stop") @implementation
public func motte_token_stop(_ token: OpaquePointer?) -> motte_status {
    boundary { () throws(DatabaseError) in
        let token = try Handles.any(token, .token, as: TokenBox.self)
        do throws(DatabaseError) {
            try token.box.session.check()
        } catch {
            // It may stop anywhere and at any time, also while the session asks the program something.
            guard error.code == .wrongThread || error.code == .reentrant else { throw error }
        }
        return token.box.stop() ? .ok : .unchanged
    }
}
