/// Reads the numbers, texts and values of a change batch, from bytes that may be anything. Values borrow the batch.
import MotteValues

struct ChangeBatchReader {
    private var log: LogReader

    init(_ bytes: UnsafeRawBufferPointer) { log = LogReader(bytes) }

    var remaining: Int { log.remaining }

    /// What the log's reader says of change records is said of batches.
    @inline(__always)
    private mutating func reading<Result>(
        _ body: (inout LogReader) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        do throws(DatabaseError) { return try body(&log) } catch { throw ChangeBatch.damaged() }
    }

    mutating func byte() throws(DatabaseError) -> UInt8 {
        try reading { reader throws(DatabaseError) in try reader.byte() }
    }

    mutating func position() throws(DatabaseError) -> Int64 {
        try reading { reader throws(DatabaseError) in try reader.position() }
    }

    /// How many things of at least `minimumSize` bytes follow.
    mutating func count(minimumSize: Int = 1) throws(DatabaseError) -> Int {
        try reading { reader throws(DatabaseError) in try reader.count(minimumSize: minimumSize) }
    }

    mutating func run(_ count: Int) throws(DatabaseError) -> UnsafeRawBufferPointer {
        try reading { reader throws(DatabaseError) in try reader.run(count) }
    }

    mutating func content() throws(DatabaseError) -> UnsafeRawBufferPointer {
        try run(Int(clamping: try position()))
    }

    mutating func number32() throws(DatabaseError) -> UInt32 {
        guard let number = UInt32(exactly: try position()) else { throw ChangeBatch.damaged() }
        return number
    }

    mutating func table() throws(DatabaseError) -> TableKey { TableKey(try number32()) }
    mutating func column() throws(DatabaseError) -> ColumnKey { ColumnKey(try number32()) }

    mutating func text() throws(DatabaseError) -> String {
        guard let text = String(validating: try content(), as: UTF8.self) else { throw ChangeBatch.damaged() }
        return text
    }

    /// The next of a series of ascending keys.
    mutating func key(after next: inout Int64) throws(DatabaseError) -> Int64 {
        let key = next + (try position())
        guard key < 1 << 62 else { throw ChangeBatch.damaged() }
        next = key + 1
        return key
    }

    mutating func runs() throws(DatabaseError) -> KeyRuns {
        let count = try self.count(minimumSize: 2)
        var keys = KeyRuns()
        var end: Int64 = 0
        for _ in 0 ..< count {
            let start = end + (try position())
            guard start < 1 << 62 else { throw ChangeBatch.damaged() }
            end = start + (try position())
            guard end < 1 << 62, end > start else { throw ChangeBatch.damaged() }
            keys.append(start ..< end)
        }
        return keys
    }

    @inline(__always)
    mutating func value() throws(DatabaseError) -> ValueView {
        do throws(DatabaseError) { return try Self.value(&log) } catch { throw ChangeBatch.damaged() }
    }

    private static func value(_ log: inout LogReader) throws(DatabaseError) -> ValueView {
        guard let kind = ValueKind(rawValue: UInt32(try log.byte())) else { throw ChangeBatch.damaged() }
        switch kind.form {
        case .null: return .null
        case .bool: return .bool(try log.byte() != 0)
        case .int: return .int(try log.zigzag())
        case .float: return .float(Float(bitPattern: try log.u32()))
        case .double: return .double(Double(bitPattern: try log.u64()))
        case .timestamp:
            let seconds = try log.zigzag()
            let nanoseconds = try log.varint()
            guard nanoseconds < 1_000_000_000 else { throw ChangeBatch.damaged() }
            return .timestamp(Timestamp(seconds: seconds, nanoseconds: UInt32(nanoseconds)))
        case .link:
            let table = try log.varint()
            let key = try log.zigzag()
            guard table <= UInt32.max, 0 ..< 1 << 62 ~= key else { throw ChangeBatch.damaged() }
            return .link(ObjectLink(table: TableKey(UInt32(table)), key: ObjectKey(key)))
        case .decimal, .identifier:
            guard let count = kind.byteCount, let bytes = try log.run(count).baseAddress else {
                throw ChangeBatch.damaged()
            }
            return ValueView(kind, bytes: bytes)
        case .string: return .string(try log.run(Int(try log.position())))
        case .data: return .data(try log.run(Int(try log.position())))
        case .list, .map:
            let document = try log.run(Int(try log.position()))
            try NestedDocument.validate(document, as: kind)
            return kind == .list ? .list(document) : .map(document)
        }
    }

    mutating func values(_ count: Int) throws(DatabaseError) -> [ValueView] {
        var values: [ValueView] = []
        values.reserveCapacity(count)
        for _ in 0 ..< count { values.append(try value()) }
        return values
    }
}
