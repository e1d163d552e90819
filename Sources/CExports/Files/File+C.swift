/// Whole files that no realm has open: is there one, its schema version, what opening would do, compaction, salvage,
/// deletion.
import CMotte
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

private func options(_ config: OpaquePointer?) throws(DatabaseError) -> SessionOptions {
    try Handles.any(config, .config, as: ConfigBox.self).box.sessionOptions()
}

@_cdecl("motte_file_exists") @implementation
public func motte_file_exists(_ config: OpaquePointer?) -> motte_status {
    boundary { () throws(DatabaseError) in try Session.exists(try options(config)) ? .ok : .notFound }
}

@_cdecl("motte_file_delete") @implementation
public func motte_file_delete(_ config: OpaquePointer?) -> motte_status {
    boundary { () throws(DatabaseError) in try Session.deleteFile(try options(config)) ? .ok : .notFound }
}

@_cdecl("motte_file_schema_version") @implementation
public func motte_file_schema_version(
    _ config: OpaquePointer?, _ out_version: UnsafeMutablePointer<UInt64>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_version, zero: 0)
        guard let version = try Session.storedSchemaVersion(try options(config)) else { return .notFound }
        out.pointee = version
        return .ok
    }
}

@_cdecl("motte_file_plan") @implementation
public func motte_file_plan(
    _ config: OpaquePointer?, _ out_details: UnsafeMutablePointer<motte_plan_details>?,
    _ out_text: UnsafeMutablePointer<motte_buf>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_text, zero: emptyBuffer)
        let options = try options(config)
        var text = ""
        try fillStruct(out_details) { () throws(DatabaseError) in
            let plan = try Session.schemaPlan(options)
            text = plan.text
            return motte_plan_details(
                struct_size: 0, action: plan.action.number, stored_version: plan.storedVersion,
                declared_version: plan.declaredVersion)
        }
        out.pointee = try makeBuffer(text)
        return .ok
    }
}

extension SchemaPlan.Action {
    fileprivate var number: UInt32 {
        switch self {
        case .nothing: UInt32(MOTTE_PLAN_NOTHING)
        case .create: UInt32(MOTTE_PLAN_CREATE)
        case .add: UInt32(MOTTE_PLAN_ADD)
        case .migrate: UInt32(MOTTE_PLAN_MIGRATE)
        case .reset: UInt32(MOTTE_PLAN_RESET)
        }
    }
}

@_cdecl("motte_file_compact") @implementation
public func motte_file_compact(
    _ config: OpaquePointer?, _ progress: motte_progress_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: motte_free_fn?, _ out_before: UnsafeMutablePointer<UInt64>?,
    _ out_after: UnsafeMutablePointer<UInt64>?
) -> motte_status {
    boundary(calling: userdata, free_userdata) { (bridge) throws(DatabaseError) in
        zero(out_before, out_after)
        let outcome = try Session.compact(try options(config), progress: bridge.progress(progress))
        report(outcome, out_before, out_after)
        return .ok
    }
}

@_cdecl("motte_file_salvage") @implementation
public func motte_file_salvage(
    _ config: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ path_size: Int, _ progress: motte_progress_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ free_userdata: motte_free_fn?,
    _ out_lines: UnsafeMutablePointer<motte_buf>?,
    _ out_report: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary(calling: userdata, free_userdata) { (bridge) throws(DatabaseError) in
        out_lines?.pointee = emptyBuffer
        let out = try required(out_report)
        let options = try options(config)
        let target = try TextTarget(path, path_size, out_lines)
        let report = try target.write { (sink) throws(DatabaseError) in
            try SalvageLines.run(options, progress: bridge.progress(progress), to: &sink)
        }
        do throws(DatabaseError) {
            try Handles.make(ReportBox(report), out)
        } catch {
            motte_buf_dispose(out_lines)
            throw error
        }
        return .ok
    }
}

/// Where text goes: a file, which is there when all of it is, or a buffer of the caller.
struct TextTarget {
    private let path: String?
    private let buffer: UnsafeMutablePointer<motte_buf>?

    init(
        _ path: UnsafePointer<CChar>?, _ size: Int, _ buffer: UnsafeMutablePointer<motte_buf>?
    ) throws(DatabaseError) {
        self.buffer = buffer
        guard try textBytes(path, size) != nil else {
            guard buffer != nil else {
                throw DatabaseError(.nullArgument, "neither a path nor a buffer for the text was given")
            }
            self.path = nil
            return
        }
        self.path = try requiredPath(path, size)
    }

    func write<Result>(
        _ body: (inout ByteSink) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        if let path { return try OutputFile.create(path, body) }
        var sink = ByteSink()
        let result = try body(&sink)
        buffer?.pointee = try sink.bytes.withBytes { bytes throws(DatabaseError) in try makeBuffer(bytes) }
        return result
    }
}
