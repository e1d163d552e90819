/// A value as the change log keeps it: whole, or, when it is long, only its length and hash.
///
///     u8: kind (low four bits), 0x80 if abbreviated
///     bool u8 | int zigzag | float u32 | double u64 | string, data: length, bytes | timestamp: seconds, nanoseconds
///     link: table, key | decimal, uuid: 16 bytes | objectId: 12 bytes | list, map: length, document
///     abbreviated: length, IndexHash u64                               numbers without a width are variable-length
import MotteValues

package enum LoggedValue: Hashable, Sendable {
    case whole(Value)
    /// A string, data, list or map too long to be kept.
    case abbreviated(kind: ValueKind, byteCount: Int, hash: UInt64)

    private static let abbreviatedBit: UInt8 = 0x80

    static func append(_ view: ValueView, longest: Int, to bytes: inout [UInt8]) {
        let kind = UInt8(truncatingIfNeeded: view.kindNumber)
        switch view.form {
        case .null, nil: bytes.append(0)
        case .bool:
            bytes.append(kind)
            bytes.append(view.boolValue ? 1 : 0)
        case .int:
            bytes.append(kind)
            bytes.append(zigzag: view.intValue)
        case .float:
            bytes.append(kind)
            bytes.append(u32: view.floatValue.bitPattern)
        case .double:
            bytes.append(kind)
            bytes.append(u64: view.doubleValue.bitPattern)
        case .timestamp:
            bytes.append(kind)
            bytes.append(zigzag: view.timestampValue.seconds)
            bytes.append(varint: UInt64(view.timestampValue.nanoseconds))
        case .link:
            bytes.append(kind)
            bytes.append(varint: UInt64(view.linkValue.table.rawValue))
            bytes.append(zigzag: view.linkValue.key.rawValue)
        case .decimal, .identifier:
            bytes.append(kind)
            view.withOwnBytes { bytes.append(contentsOf: $0) }
        case .string, .data, .list, .map:
            let content = view.bytes
            guard content.count > longest else {
                bytes.append(kind)
                bytes.append(varint: content.count)
                bytes.append(contentsOf: content)
                return
            }
            bytes.append(kind | abbreviatedBit)
            bytes.append(varint: content.count)
            bytes.append(u64: IndexHash.hash(content))
        }
    }

    static func read(_ reader: inout LogReader) throws(DatabaseError) -> LoggedValue {
        let tag = try reader.byte()
        guard tag & 0x70 == 0, let kind = ValueKind(rawValue: UInt32(tag & 0x0F)) else { throw unknownKind() }
        if tag & abbreviatedBit != 0 {
            guard kind == .string || kind == .data || kind == .list || kind == .map else { throw unknownKind() }
            let count = try reader.position()
            return .abbreviated(kind: kind, byteCount: Int(count), hash: try reader.u64())
        }
        switch kind.form {
        case .null: return .whole(.null)
        case .bool: return .whole(.bool(try reader.byte() != 0))
        case .int: return .whole(.int(try reader.zigzag()))
        case .float: return .whole(.float(Float(bitPattern: try reader.u32())))
        case .double: return .whole(.double(Double(bitPattern: try reader.u64())))
        case .timestamp: return .whole(.timestamp(try readTimestamp(&reader)))
        case .link: return .whole(.link(try readLink(&reader)))
        case .decimal, .identifier:
            guard let count = kind.byteCount, let bytes = try reader.run(count).baseAddress else { throw unknownKind() }
            return .whole(ValueView(kind, bytes: bytes).owned)
        case .list, .map:
            let document = try readContent(&reader)
            try NestedDocument.validate(document, as: kind)
            return .whole(NestedDocument.value(.list(document)))
        case .data: return .whole(.data([UInt8](try readContent(&reader))))
        case .string:
            guard let text = String(validating: try readContent(&reader), as: UTF8.self) else {
                throw notText()
            }
            return .whole(.string(text))
        }
    }

    /// Checks the values of `count` keys, two of each, without making them; answers where each key's begin.
    static func passPairs(_ count: Int, _ reader: inout LogReader) throws(DatabaseError) -> [Int] {
        let passing = Passing()
        var starts: [Int] = []
        starts.reserveCapacity(count)
        for _ in 0 ..< count {
            starts.append(reader.offset)
            try passing.pass(&reader)
            try passing.pass(&reader)
        }
        return starts
    }

    /// The kinds that commits of many changes are made of, as they are written.
    private struct Passing {
        let int = UInt8(truncatingIfNeeded: ValueKind.int.rawValue)
        let string = UInt8(truncatingIfNeeded: ValueKind.string.rawValue)
        let data = UInt8(truncatingIfNeeded: ValueKind.data.rawValue)

        @inline(__always)
        func pass(_ reader: inout LogReader) throws(DatabaseError) {
            let kind = reader.peek()
            if kind == string {
                _ = try reader.byte()
                guard UTF8Validation.isValid(try readContent(&reader)) else { throw notText() }
            } else if kind == int {
                _ = try reader.byte()
                _ = try reader.varint()
            } else if kind == data {
                _ = try reader.byte()
                _ = try readContent(&reader)
            } else {
                _ = try read(&reader)
            }
        }
    }

    private static func notText() -> DatabaseError { .corrupted("a change record has text that is not UTF-8") }

    private static func readTimestamp(_ reader: inout LogReader) throws(DatabaseError) -> Timestamp {
        let seconds = try reader.zigzag()
        let nanoseconds = try reader.varint()
        guard nanoseconds < 1_000_000_000 else { throw .corrupted("a change record has an impossible timestamp") }
        return Timestamp(seconds: seconds, nanoseconds: UInt32(nanoseconds))
    }

    private static func readLink(_ reader: inout LogReader) throws(DatabaseError) -> ObjectLink {
        let table = try reader.varint()
        guard table <= UInt32.max else { throw .corrupted("a change record has an impossible link") }
        return ObjectLink(table: TableKey(UInt32(table)), key: ObjectKey(try reader.zigzag()))
    }

    @inline(__always)
    private static func readContent(_ reader: inout LogReader) throws(DatabaseError) -> UnsafeRawBufferPointer {
        let count = try reader.position()
        return try reader.run(Int(count))
    }

    private static func unknownKind() -> DatabaseError { .corrupted("a change record has a value of unknown kind") }
}
