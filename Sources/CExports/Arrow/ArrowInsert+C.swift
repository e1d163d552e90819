/// Objects from Arrow streams: reads the structs, which are a caller's and so held against each other, and releases
/// them.
import CMotte
import Glibc
import MotteExchange
import MotteLiveObjects
import MotteValues

@_cdecl("motte_arrow_insert") @implementation
public func motte_arrow_insert(
    _ realm: OpaquePointer?, _ cls: motte_class, _ stream: UnsafeMutablePointer<ArrowArrayStream>?,
    _ options: UnsafePointer<motte_import_options>?, _ out_counts: UnsafeMutablePointer<motte_import_counts>?
) -> motte_status {
    // Released also where nothing else can be done.
    defer { if let stream { stream.pointee.release?(stream) } }
    return boundary { () throws(DatabaseError) in
        guard let stream else { throw DatabaseError(.nullArgument, "the stream is NULL") }
        // Before anything is done that a wrong struct would have to undo.
        if out_counts != nil { try fillStruct(out_counts) { motte_import_counts() } }
        let session = try Handles.realm(realm).box.session
        var policy = UpdatePolicy.error
        var ignoresUnknown = false
        var years = ArrowYears.all
        if let options {
            let given = try readStruct(options, empty: motte_import_options())
            try checkFlags(given.flags, allowed: UInt32(MOTTE_IMPORT_IGNORE_UNKNOWN | MOTTE_IMPORT_YEARS_1_TO_9999))
            ignoresUnknown = given.flags & UInt32(MOTTE_IMPORT_IGNORE_UNKNOWN) != 0
            if given.flags & UInt32(MOTTE_IMPORT_YEARS_1_TO_9999) != 0 { years = .oneTo9999 }
            policy = try UpdatePolicy(createFlags: given.policy)
        }
        _ = try session.schema.type(cls)
        let write = try session.requireWrite()
        let reader = try ArrowStreamReader(stream)
        let outcome = try session.atomically { () throws(DatabaseError) -> (created: Int, updated: Int) in
            let importer = try ArrowImport(
                session, into: TableKey(cls), reader.schema, policy: policy, ignoresUnknown: ignoresUnknown,
                years: years)
            func check() throws(DatabaseError) {
                guard session.write === write, write.isOpen else {
                    throw DatabaseError(
                        .reentrant, "a function of the stream has ended the write: nothing is left of it")
                }
            }
            while try reader.next({ (batch) throws(DatabaseError) in
                try check()
                try importer.insert(batch)
            }) {}
            try check()
            return (importer.created, importer.updated)
        }
        if let out_counts {
            try fillStruct(out_counts) {
                motte_import_counts(
                    struct_size: 0, reserved: 0, created: UInt64(outcome.created), updated: UInt64(outcome.updated))
            }
        }
        return .ok
    }
}

/// Reads a stream that a caller has given.
private struct ArrowStreamReader {
    private let stream: UnsafeMutablePointer<ArrowArrayStream>
    let schema: ArrowInputField

    init(_ stream: UnsafeMutablePointer<ArrowArrayStream>) throws(DatabaseError) {
        self.stream = stream
        guard stream.pointee.release != nil, let getSchema = stream.pointee.get_schema,
            stream.pointee.get_next != nil
        else { throw DatabaseError(.invalidArgument, "the stream has been released, or is none") }
        var schema = ArrowSchema()
        let code = getSchema(stream, &schema)
        guard code == 0 else { throw Self.failure(stream, code) }
        defer { schema.release?(&schema) }
        var reading = ArrowReading()
        self.schema = try reading.field(schema)
    }

    /// False at the end. The batch is released when `body` is done.
    func next(_ body: (ArrowInput) throws(DatabaseError) -> Void) throws(DatabaseError) -> Bool {
        var array = ArrowArray()
        guard let getNext = stream.pointee.get_next else { return false }
        let code = getNext(stream, &array)
        guard code == 0 else { throw Self.failure(stream, code) }
        guard array.release != nil else { return false }
        defer { array.release?(&array) }
        try body(try ArrowReading.array(array, schema))
        return true
    }

    private static func failure(_ stream: UnsafeMutablePointer<ArrowArrayStream>, _ code: Int32) -> DatabaseError {
        let text = stream.pointee.get_last_error?(stream).map { String(cString: $0) }
        return DatabaseError(
            .callback, "the stream failed: " + (text ?? String(cString: strerror(code))), systemError: code)
    }
}

private struct ArrowReading {
    /// Within each other; nobody needs more, and who is wrong would have endlessly many.
    private static let deepest = 64
    /// Of all levels together.
    private static let mostFields = 100_000
    private static let mostBuffers: Int64 = 100_000
    private var fieldCount = 0

    mutating func field(
        _ schema: ArrowSchema, depth: Int = 0, ofCodes note: String? = nil
    ) throws(DatabaseError) -> ArrowInputField {
        fieldCount += 1
        guard depth < Self.deepest, fieldCount <= Self.mostFields, let format = schema.format,
            schema.release != nil || depth > 0, (0 ... Int64(Self.mostFields)).contains(schema.n_children),
            schema.children != nil || schema.n_children == 0
        else { throw Self.malformed() }
        var children: [ArrowInputField] = []
        for index in 0 ..< Int(schema.n_children) {
            guard let child = schema.children[index] else { throw Self.malformed() }
            children.append(try field(child.pointee, depth: depth + 1))
        }
        let note = try Self.note(schema.metadata) ?? note
        let dictionary: ArrowInputField?
        if let own = schema.dictionary {
            // What is noted of the codes is true of what they stand for.
            dictionary = try field(own.pointee, depth: depth + 1, ofCodes: note)
        } else {
            dictionary = nil
        }
        return try ArrowInputField(
            name: schema.name.map { String(cString: $0) } ?? "", format: String(cString: format), children: children,
            dictionary: dictionary, note: note)
    }

    private static func malformed() -> DatabaseError {
        DatabaseError(
            .invalidArgument,
            "the schema of the stream is malformed, nested deeper than \(deepest) levels, or has more "
                + "than \(mostFields) fields")
    }

    /// What this library has noted, or the name of an extension type.
    private static func note(_ metadata: UnsafePointer<CChar>?) throws(DatabaseError) -> String? {
        guard let metadata else { return nil }
        var place = UnsafeRawPointer(metadata)
        func number() throws(DatabaseError) -> Int {
            let number = place.loadUnaligned(as: Int32.self)
            guard number >= 0, number < 1 << 24 else { throw malformed() }
            place += 4
            return Int(number)
        }
        func text() throws(DatabaseError) -> String {
            let size = try number()
            defer { place += size }
            return String(decoding: UnsafeRawBufferPointer(start: place, count: size), as: UTF8.self)
        }
        var extended: String?
        for _ in 0 ..< (try number()) {
            let key = try text(), value = try text()
            if key == ArrowField.typeKey { return value }
            if key == "ARROW:extension:name" { extended = value }
        }
        return extended
    }

    static func array(_ array: ArrowArray, _ field: ArrowInputField) throws(DatabaseError) -> ArrowInput {
        guard array.n_children == Int64(field.children.count), array.children != nil || array.n_children == 0,
            (0 ... mostBuffers).contains(array.n_buffers), array.buffers != nil || array.n_buffers == 0
        else {
            throw DatabaseError(
                .invalidArgument, "the Arrow column '\(field.name)' differs from its schema", propertyName: field.name)
        }
        var children: [ArrowInput] = []
        for (index, childField) in field.children.enumerated() {
            guard let child = array.children[index], child.pointee.release != nil else {
                throw DatabaseError(
                    .invalidArgument, "the Arrow column '\(childField.name)' has been released",
                    propertyName: childField.name)
            }
            children.append(try self.array(child.pointee, childField))
        }
        var dictionary: ArrowInput?
        if let own = array.dictionary, let ownField = field.dictionary {
            guard own.pointee.release != nil else {
                throw DatabaseError(
                    .invalidArgument, "the dictionary of the Arrow column '\(field.name)' has been released",
                    propertyName: field.name)
            }
            dictionary = try self.array(own.pointee, ownField)
        }
        return try ArrowInput(
            field, length: array.length, nullCount: array.null_count, offset: array.offset,
            buffers: (0 ..< Int(array.n_buffers)).map { array.buffers[$0] }, children: children,
            dictionary: dictionary)
    }
}

// MARK: A stream of one batch

/// The batch, until somebody has taken it.
private final class SingleBatch {
    var schema: ArrowSchema
    var batch: ArrowArray

    init(_ schema: ArrowSchema, _ batch: ArrowArray) {
        self.schema = schema
        self.batch = batch
    }

    deinit {
        schema.release?(&schema)
        batch.release?(&batch)
    }

    static func of(_ stream: UnsafeMutablePointer<ArrowArrayStream>?) -> SingleBatch? {
        stream?.pointee.private_data.map { Unmanaged<SingleBatch>.fromOpaque($0).takeUnretainedValue() }
    }
}

@_cdecl("motte_arrow_stream_of") @implementation
public func motte_arrow_stream_of(
    _ schema: UnsafeMutablePointer<ArrowSchema>?, _ batch: UnsafeMutablePointer<ArrowArray>?,
    _ out_stream: UnsafeMutablePointer<ArrowArrayStream>?
) -> motte_status {
    var taken: SingleBatch?
    if let schema, let batch {
        taken = SingleBatch(schema.pointee, batch.pointee)
        schema.pointee.release = nil
        batch.pointee.release = nil
    }
    return boundary { () throws(DatabaseError) in
        let out = try required(out_stream, zero: ArrowArrayStream())
        guard let taken else { throw DatabaseError(.nullArgument, "a schema and a batch are wanted") }
        guard taken.schema.release != nil, taken.batch.release != nil else {
            throw DatabaseError(.invalidArgument, "the schema or the batch has been released")
        }
        out.pointee = ArrowArrayStream(
            get_schema: { stream, out in
                // Given once: a copy of somebody else's schema would have to be made by hand.
                guard let held = SingleBatch.of(stream), let out, held.schema.release != nil else { return EINVAL }
                out.initialize(to: held.schema)
                held.schema.release = nil
                return 0
            },
            get_next: { stream, out in
                guard let held = SingleBatch.of(stream), let out else { return EINVAL }
                out.initialize(to: held.batch)
                held.batch.release = nil
                return 0
            },
            get_last_error: { _ in nil },
            release: { stream in
                guard let stream, let held = stream.pointee.private_data else { return }
                stream.pointee.private_data = nil
                stream.pointee.release = nil
                Unmanaged<SingleBatch>.fromOpaque(held).release()
            },
            private_data: Unmanaged.passRetained(taken).toOpaque())
        return .ok
    }
}
