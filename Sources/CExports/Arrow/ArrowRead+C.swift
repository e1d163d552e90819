/// Collections as Arrow streams, in the structs of the C data and stream interfaces.
import CMotte
import CMotteShim
import Glibc
import MotteExchange
import MotteLiveObjects
import MotteValues

@_cdecl("motte_arrow_read") @implementation
public func motte_arrow_read(
    _ coll: OpaquePointer?, _ options: UnsafePointer<motte_arrow_options>?,
    _ out_stream: UnsafeMutablePointer<ArrowArrayStream>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_stream, zero: ArrowArrayStream())
        let coll = try Handles.collection(coll)
        try coll.box.check()
        ArrowStream.make(try ArrowExport(coll.box.collection, try settings(options)), out)
        return .ok
    }
}

@_cdecl("motte_arrow_schema") @implementation
public func motte_arrow_schema(
    _ coll: OpaquePointer?, _ options: UnsafePointer<motte_arrow_options>?,
    _ out_schema: UnsafeMutablePointer<ArrowSchema>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_schema, zero: ArrowSchema())
        let coll = try Handles.collection(coll)
        try coll.box.check()
        let schema = try ArrowExport.schema(of: coll.box.collection, try settings(options))
        ArrowStructs.fill(out, schema)
        return .ok
    }
}

@_cdecl("motte_groups_arrow") @implementation
public func motte_groups_arrow(
    _ groups: OpaquePointer?, _ options: UnsafePointer<motte_arrow_options>?,
    _ out_stream: UnsafeMutablePointer<ArrowArrayStream>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_stream, zero: ArrowArrayStream())
        let groups = try Handles.groups(groups)
        ArrowStream.make(try ArrowExport.groups(groups.box.groups, options: try settings(options)), out)
        return .ok
    }
}

private func settings(
    _ options: UnsafePointer<motte_arrow_options>?
) throws(DatabaseError) -> ArrowExport.Options {
    var settings = ArrowExport.Options()
    guard let options else { return settings }
    let given = try readStruct(options, empty: motte_arrow_options())
    try checkFlags(given.flags, allowed: UInt32(MOTTE_ARROW_TEXT_VIEWS) | UInt32(MOTTE_ARROW_UNIT))
    settings.textViews = given.flags & UInt32(MOTTE_ARROW_TEXT_VIEWS) != 0
    if given.flags & UInt32(MOTTE_ARROW_UNIT) != 0 { settings.unitsPerSecond = try TimeUnit(given.unit).perSecond }
    settings.columns = try optionalTexts(given.columns, given.column_count, "a column")
    settings.titles = try optionalTexts(given.titles, given.title_count, "a title")
    if given.batch_rows != 0 {
        // One above Int.max arrives negative; more than there are rows are as many as there are.
        settings.batchRows = given.batch_rows < 0 ? 1 << 30 : min(given.batch_rows, 1 << 30)
    }
    return settings
}

/// What stands behind a stream that was handed out.
private final class ArrowStream {
    private let export: ArrowExport
    private var message: UnsafeMutablePointer<CChar>?
    private let forkGeneration = motte_shim_fork_generation()

    private init(_ export: ArrowExport) { self.export = export }
    deinit { free(message) }

    static func make(_ export: ArrowExport, _ out: UnsafeMutablePointer<ArrowArrayStream>) {
        out.pointee = ArrowArrayStream(
            get_schema: { stream, out in
                ArrowStream.of(stream) { stream throws(DatabaseError) in
                    guard let out else { throw DatabaseError(.nullArgument, "a required output is NULL") }
                    ArrowStructs.fill(out, stream.export.schema)
                }
            },
            get_next: { stream, out in
                ArrowStream.of(stream) { stream throws(DatabaseError) in
                    guard let out else { throw DatabaseError(.nullArgument, "a required output is NULL") }
                    out.pointee = ArrowArray()
                    // A struct without release is the end.
                    if let batch = try stream.export.next() { ArrowStructs.fill(out, batch) }
                }
            },
            get_last_error: { stream in
                guard let held = stream?.pointee.private_data else { return nil }
                return UnsafePointer(Unmanaged<ArrowStream>.fromOpaque(held).takeUnretainedValue().message)
            },
            release: { stream in
                guard let stream, let held = stream.pointee.private_data else { return }
                stream.pointee.private_data = nil
                stream.pointee.release = nil
                let box = Unmanaged<ArrowStream>.fromOpaque(held)
                // A child of fork touches nothing that it inherited.
                if box._withUnsafeGuaranteedRef({ $0.isInherited }) { return }
                box.release()
            },
            private_data: Unmanaged.passRetained(ArrowStream(export)).toOpaque())
    }

    private var isInherited: Bool { motte_shim_fork_generation() != forkGeneration }

    /// Runs a call of a stream; errors are numbers of errno there, and a text that is asked for.
    private static func of(
        _ stream: UnsafeMutablePointer<ArrowArrayStream>?, _ body: (ArrowStream) throws(DatabaseError) -> Void
    ) -> Int32 {
        guard let held = stream?.pointee.private_data else { return EINVAL }
        let box = Unmanaged<ArrowStream>.fromOpaque(held).takeUnretainedValue()
        do throws(DatabaseError) {
            if box.isInherited {
                throw DatabaseError(.forked, "the stream was made before fork(); open the file again in the child")
            }
            try body(box)
            return 0
        } catch {
            free(box.message)
            box.message = copyCString(Wording.ofC(error.message))
            switch error.code {
            case .outOfMemory: return ENOMEM
            case .corrupted, .inputOutput: return EIO
            default: return EINVAL
            }
        }
    }
}
