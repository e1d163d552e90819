/// Opening, writing, moving and closing.
import CMotte
import Glibc
import MotteLiveObjects
import MotteNotifications
import MotteValues

@_cdecl("motte_realm_open") @implementation
public func motte_realm_open(
    _ config: OpaquePointer?, _ out_realm: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_realm)
        let config = try Handles.any(config, .config, as: ConfigBox.self)
        let session = try Session.open(try config.box.openingOptions())
        let core: RealmCore
        let names = config.box.publicNames
        if let queue = config.box.queue {
            core = try RealmCore(session, names, on: queue)
        } else {
            core = RealmCore(session, names)
        }
        try Handles.make(RealmBox(core), out)
        if let warning = try session.database.pages.openingWarning() {
            Log.write(.warn, "storage", "\(session.path): \(warning)")
        }
        return .ok
    }
}

@_cdecl("motte_realm_close") @implementation
public func motte_realm_close(_ realm: OpaquePointer?) -> motte_status {
    boundary { () throws(DatabaseError) in
        let realm = try Handles.any(realm, .realm, as: RealmBox.self)
        if realm.box.session.isClosed { return .unchanged }
        try realm.box.session.check()
        let closed = try realm.box.session.close()
        Log.write(.debug, "storage", "\(realm.box.session.path): closed")
        return closed ? .ok : .unchanged
    }
}

@_cdecl("motte_realm_freeze_shared") @implementation
public func motte_realm_freeze_shared(
    _ realm: OpaquePointer?, _ out_realm: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_realm)
        let realm = try Handles.realm(realm)
        let core = realm.box.core
        try Handles.make(RealmBox(core.core(of: try core.session.sharedFrozen())), out)
        return .ok
    }
}

@_cdecl("motte_realm_info") @implementation
public func motte_realm_info(
    _ realm: OpaquePointer?, _ out_details: UnsafeMutablePointer<motte_realm_details>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let realm = try Handles.realm(realm)
        try fillStruct(out_details, smallest: smallestDetails) { () throws(DatabaseError) in
            let session = realm.box.session
            let warning = try session.database.pages.openingWarning()
            let isDamage = warning?.isDamage == true
            return motte_realm_details(
                struct_size: 0, flags: stateFlags(session) | (isDamage ? UInt32(MOTTE_REALM_DAMAGED) : 0),
                path: try realm.box.core.names.pointer(to: session.path),
                version: try session.version.rawValue, latest_version: try session.latestVersion.rawValue,
                file_size: fileSize(try session.place.location),
                class_count: UInt32(try session.schema.objectTypes.count), reserved: 0,
                schema_version: try session.schemaVersion,
                warning: try realm.box.core.names.pointer(toOptional: warning?.description),
                database_number: try session.database.number)
        }
        return .ok
    }
}

/// Up to the schema version.
private let smallestDetails = 56

private func stateFlags(_ session: Session) -> UInt32 {
    var flags = session.options.isReadOnly ? UInt32(MOTTE_REALM_READ_ONLY) : 0
    if case .memory = session.options.location { flags |= UInt32(MOTTE_REALM_IN_MEMORY) }
    if session.isFrozen { flags |= UInt32(MOTTE_REALM_FROZEN) }
    if session.isInWrite { flags |= UInt32(MOTTE_REALM_IN_WRITE) }
    return flags
}

private func fileSize(_ location: SessionOptions.Location) -> UInt64 {
    guard case .file(let path) = location else { return 0 }
    var status = stat()
    return stat(path, &status) == 0 ? UInt64(max(0, status.st_size)) : 0
}

@_cdecl("motte_realm_begin_write") @implementation
public func motte_realm_begin_write(_ realm: OpaquePointer?, _ timeout_ms: Int64) -> motte_status {
    boundary { () throws(DatabaseError) in
        let realm = try Handles.realm(realm)
        try realm.box.session.beginWrite(timeoutMilliseconds: timeout_ms)
        realm.box.core.begunWrite.store(realm.box.session.writeSerial, ordering: .relaxed)
        return .ok
    }
}

@_cdecl("motte_realm_commit") @implementation
public func motte_realm_commit(
    _ realm: OpaquePointer?, _ flags: UInt32, _ out_version: UnsafeMutablePointer<UInt64>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_version?.pointee = 0
        let realm = try Handles.realm(realm)
        try checkFlags(flags)
        let version = try realm.box.session.commit()
        Log.write(.debug, "write", "\(realm.box.session.path): committed version \(version.rawValue)")
        out_version?.pointee = version.rawValue
        return .ok
    }
}

@_cdecl("motte_realm_commit_skipping") @implementation
public func motte_realm_commit_skipping(
    _ realm: OpaquePointer?, _ tokens: UnsafePointer<OpaquePointer?>?, _ token_count: Int, _ flags: UInt32,
    _ out_version: UnsafeMutablePointer<UInt64>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_version?.pointee = 0
        let realm = try Handles.realm(realm)
        try checkFlags(flags)
        var skipped: [Observation] = []
        for token in try input(tokens, token_count) {
            skipped.append(try Handles.any(token, .token, as: TokenBox.self).box.observation)
        }
        let version = try realm.box.session.commit(skipping: skipped)
        Log.write(.debug, "write", "\(realm.box.session.path): committed version \(version.rawValue)")
        out_version?.pointee = version.rawValue
        return .ok
    }
}

@_cdecl("motte_realm_cancel") @implementation
public func motte_realm_cancel(_ realm: OpaquePointer?) -> motte_status {
    boundary { () throws(DatabaseError) in
        try Handles.realm(realm).box.session.cancel()
        return .ok
    }
}

@_cdecl("motte_realm_in_write") @implementation
public func motte_realm_in_write(_ realm: OpaquePointer?) -> Int32 {
    var isInWrite = false
    _ = quietBoundary { () throws(DatabaseError) in
        isInWrite = try Handles.realm(realm).box.session.isInWrite
        return .ok
    }
    return isInWrite ? 1 : 0
}

@_cdecl("motte_realm_refresh") @implementation
public func motte_realm_refresh(_ realm: OpaquePointer?, _ out_advanced: UnsafeMutablePointer<Bool>?) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_advanced?.pointee = false
        let realm = try Handles.realm(realm)
        let advanced = try realm.box.session.refresh()
        out_advanced?.pointee = advanced
        return .ok
    }
}

@_cdecl("motte_realm_wait_for_change") @implementation
public func motte_realm_wait_for_change(_ realm: OpaquePointer?, _ timeout_ms: Int64) -> motte_status {
    boundary { () throws(DatabaseError) in
        try Handles.realm(realm).box.session.waitForChange(timeoutMilliseconds: timeout_ms) ? .ok : .pending
    }
}

@_cdecl("motte_realm_version") @implementation
public func motte_realm_version(
    _ realm: OpaquePointer?, _ out_current: UnsafeMutablePointer<UInt64>?,
    _ out_latest: UnsafeMutablePointer<UInt64>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_current?.pointee = 0
        out_latest?.pointee = 0
        let realm = try Handles.realm(realm)
        let current = try realm.box.session.version, latest = try realm.box.session.latestVersion
        out_current?.pointee = current.rawValue
        out_latest?.pointee = latest.rawValue
        return .ok
    }
}

@_cdecl("motte_realm_view_epoch") @implementation
public func motte_realm_view_epoch(
    _ realm: OpaquePointer?, _ out_epoch: UnsafeMutablePointer<UInt64>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_epoch, zero: 0)
        out.pointee = try Handles.realm(realm).box.session.viewEpoch
        return .ok
    }
}

@_cdecl("motte_realm_counters") @implementation
public func motte_realm_counters(
    _ realm: OpaquePointer?, _ out_counters: UnsafeMutablePointer<motte_counters>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let realm = try Handles.realm(realm)
        try fillStruct(out_counters) { () throws(DatabaseError) in
            let reading = realm.box.session.counters.read()
            return motte_counters(
                struct_size: 0, reserved: 0, chunks_decoded: reading.chunksDecoded,
                rows_evaluated: reading.rowsEvaluated, full_reruns: reading.fullReruns,
                log_records_read: reading.logRecordsRead, index_lookups: reading.indexLookups)
        }
        return .ok
    }
}
