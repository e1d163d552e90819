/// Change batches as bytes: read from one file, applied to another.
import CMotte
import MotteLiveObjects
import MotteStorage
import MotteValues

@_cdecl("motte_changes_batch_read") @implementation
public func motte_changes_batch_read(
    _ realm: OpaquePointer?, _ from_version: UInt64, _ out_batch: UnsafeMutablePointer<motte_buf>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_batch, zero: emptyBuffer)
        let batch = try Handles.realm(realm).box.session.changeBatch(since: Version(from_version))
        out.pointee = try batch.bytes.withBytes { bytes throws(DatabaseError) in try makeBuffer(bytes) }
        return .ok
    }
}

@_cdecl("motte_changes_batch_between") @implementation
public func motte_changes_batch_between(
    _ realm: OpaquePointer?, _ before: OpaquePointer?, _ out_batch: UnsafeMutablePointer<motte_buf>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_batch, zero: emptyBuffer)
        let former = try Handles.realm(before).box.session
        let batch = try Handles.realm(realm).box.session.changeBatch(since: former)
        out.pointee = try batch.bytes.withBytes { bytes throws(DatabaseError) in try makeBuffer(bytes) }
        return .ok
    }
}

@_cdecl("motte_changes_batch_difference") @implementation
public func motte_changes_batch_difference(
    _ realm: OpaquePointer?, _ other: OpaquePointer?, _ out_batch: UnsafeMutablePointer<motte_buf>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_batch, zero: emptyBuffer)
        let target = try Handles.realm(other).box.session
        let batch = try Handles.realm(realm).box.session.changeBatch(to: target)
        out.pointee = try batch.bytes.withBytes { bytes throws(DatabaseError) in try makeBuffer(bytes) }
        return .ok
    }
}

@_cdecl("motte_changes_batch_inverse") @implementation
public func motte_changes_batch_inverse(
    _ bytes: UnsafePointer<UInt8>?, _ size: Int, _ out_batch: UnsafeMutablePointer<motte_buf>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_batch, zero: emptyBuffer)
        let inverse = try batch(bytes, size).inverse()
        out.pointee = try inverse.bytes.withBytes { bytes throws(DatabaseError) in try makeBuffer(bytes) }
        return .ok
    }
}

@_cdecl("motte_realm_on_commit") @implementation
public func motte_realm_on_commit(
    _ realm: OpaquePointer?, _ flags: UInt32, _ callback: motte_commit_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: motte_free_fn?
) -> motte_status {
    boundary(keeping: userdata, free_userdata) { (bridge) throws(DatabaseError) in
        let session = try Handles.realm(realm).box.session
        let reversible = UInt32(MOTTE_ON_COMMIT_REVERSIBLE)
        try checkFlags(flags, allowed: reversible)
        guard let callback else {
            try session.onCommit(nil)
            bridge.close()
            return .ok
        }
        // The bridge frees the userdata when the session lets go of it.
        try session.onCommit(isReversible: flags & reversible != 0) { (batch) throws(DatabaseError) in
            try batch.bytes.withBytes { bytes throws(DatabaseError) in
                try bridge.call { callback($0, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count) }
            }
        }
        return .ok
    }
}

/// The batch that a caller hands in.
private func batch(_ bytes: UnsafePointer<UInt8>?, _ size: Int) throws(DatabaseError) -> ChangeBatch {
    try checkCount(size, of: bytes, "the size of a change batch")
    guard bytes != nil || size == 0 else {
        throw DatabaseError(.nullArgument, "the bytes of a change batch are missing")
    }
    return try ChangeBatch(copying: UnsafeRawBufferPointer(start: bytes, count: size))
}

@_cdecl("motte_changes_batch_info") @implementation
public func motte_changes_batch_info(
    _ bytes: UnsafePointer<UInt8>?, _ size: Int, _ out_details: UnsafeMutablePointer<motte_changes_batch_details>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        try fillStruct(out_details) { () throws(DatabaseError) in
            let batch = try batch(bytes, size)
            var details = motte_changes_batch_details()
            details.flags =
                (batch.isWhole ? UInt32(MOTTE_CHANGES_BATCH_WHOLE) : 0)
                | (batch.isEmpty ? UInt32(MOTTE_CHANGES_BATCH_EMPTY) : 0)
                | (batch.isPatch ? UInt32(MOTTE_CHANGES_BATCH_PATCH) : 0)
                | (try batch.isReversible ? UInt32(MOTTE_CHANGES_BATCH_REVERSIBLE) : 0)
                | (batch.isDifference ? UInt32(MOTTE_CHANGES_BATCH_DIFFERENCE) : 0)
            details.origin_high = batch.origin.high
            details.origin_low = batch.origin.low
            details.from_version = batch.from.rawValue
            details.to_version = batch.to.rawValue
            details.wall_time_ns = batch.wallTimeNanoseconds
            return details
        }
        return .ok
    }
}

@_cdecl("motte_changes_batch_apply") @implementation
public func motte_changes_batch_apply(
    _ realm: OpaquePointer?, _ bytes: UnsafePointer<UInt8>?, _ size: Int, _ timeout_ms: Int64
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let realm = try Handles.realm(realm)
        let batch = try batch(bytes, size)
        switch try realm.box.session.apply(batch, timeoutMilliseconds: timeout_ms) {
        case .applied: return .ok
        case .known: return .unchanged
        }
    }
}

@_cdecl("motte_changes_batch_position") @implementation
public func motte_changes_batch_position(
    _ realm: OpaquePointer?, _ origin_high: UInt64, _ origin_low: UInt64, _ out_version: UnsafeMutablePointer<UInt64>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_version, zero: 0)
        let origin = ChangeOrigin(high: origin_high, low: origin_low)
        guard let position = try Handles.realm(realm).box.session.replicaPosition(origin) else { return .notFound }
        out.pointee = position.version.rawValue
        return .ok
    }
}

@_cdecl("motte_changes_batch_origin") @implementation
public func motte_changes_batch_origin(
    _ realm: OpaquePointer?, _ out_high: UnsafeMutablePointer<UInt64>?, _ out_low: UnsafeMutablePointer<UInt64>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_low?.pointee = 0
        let high = try required(out_high, zero: 0)
        let low = try required(out_low, zero: 0)
        let origin = try Handles.realm(realm).box.session.changeOrigin()
        high.pointee = origin.high
        low.pointee = origin.low
        return .ok
    }
}

@_cdecl("motte_changes_batch_keep") @implementation
public func motte_changes_batch_keep(_ realm: OpaquePointer?, _ since_version: UInt64) -> motte_status {
    boundary { () throws(DatabaseError) in
        let version = since_version == .max ? nil : Version(since_version)
        try Handles.realm(realm).box.session.keepChanges(since: version)
        return .ok
    }
}

@_cdecl("motte_changes_batch_keep_for") @implementation
public func motte_changes_batch_keep_for(
    _ realm: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ name_size: Int, _ since_version: UInt64
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let session = try Handles.realm(realm).box.session
        let name = try requiredName(name, name_size, "the name of the consumer")
        let version = since_version == .max ? nil : Version(since_version)
        return try session.keepChanges(since: version, for: name) ? .ok : .notFound
    }
}

@_cdecl("motte_changes_batch_consumers") @implementation
public func motte_changes_batch_consumers(
    _ realm: OpaquePointer?, _ out_consumers: UnsafeMutablePointer<motte_changes_consumer>?, _ capacity: Int,
    _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let count = try required(out_count, zero: 0)
        let realm = try Handles.realm(realm)
        var consumers: [motte_changes_consumer] = []
        for consumer in try realm.box.session.changeConsumers() {
            consumers.append(
                motte_changes_consumer(
                    name: try realm.box.core.names.pointer(toOptional: consumer.name),
                    version: consumer.version.rawValue, commits: consumer.backlog.commits,
                    is_kept: consumer.backlog.isKept))
        }
        return try fill(out_consumers, capacity, count, from: consumers)
    }
}
