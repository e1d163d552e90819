/// A column of a batch in Arrow's layout: a bit per value for what is null, and the values or their texts.
///
/// Numbers, bools, strings, data and times are what they are. A link is the primary key of its target. Everything else
/// is the text that CSV has of it: decimals and identifiers, collections, embedded objects and mixed values as JSON.
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

struct ArrowFileColumn {
    enum Kind {
        case bool
        /// Of 64 bits whatever the property declares: older values may be wider than that.
        case int
        case float, double, string, data
        /// Nanoseconds since 1970, in UTC.
        case time
        /// What CSV writes.
        case text
    }

    let kind: Kind
    let path: ColumnPath
    let isNullable: Bool
    private(set) var nullCount = 0
    private var count = 0
    private var validity: [UInt8] = []
    private var offsets: [Int32] = [0]
    private(set) var data: [UInt8] = []

    init(_ path: ColumnPath, in schema: Schema) {
        self.path = path
        let property = path.property
        kind = Self.kind(property, schema)
        isNullable = property.isNullable || property.type == .link || property.type == .mixed || path.text.contains(".")
    }

    private static func kind(_ property: Property, _ schema: Schema) -> Kind {
        if property.isCollection { return .text }
        if property.type == .link {
            guard let target = property.target.flatMap({ schema[$0] }), target.primaryKey?.type == .int else {
                return .text
            }
            return .int
        }
        return switch property.type {
        case .bool: .bool
        case .int: .int
        case .float: .float
        case .double: .double
        case .string: .string
        case .data: .data
        case .timestamp: .time
        default: .text
        }
    }

    // MARK: Values

    private mutating func mark(isPresent: Bool) {
        if count & 7 == 0 { validity.append(0) }
        if isPresent { validity[count >> 3] |= 1 << UInt8(count & 7) } else { nullCount += 1 }
        count += 1
    }

    private var isText: Bool {
        switch kind {
        case .string, .data, .text: true
        default: false
        }
    }

    mutating func appendNull() {
        switch kind {
        case .bool: if count & 7 == 0 { data.append(0) }
        case .float: data.append(contentsOf: repeatElement(0, count: 4))
        case .int, .double, .time: data.append(contentsOf: repeatElement(0, count: 8))
        case .string, .data, .text: offsets.append(Int32(data.count))
        }
        mark(isPresent: false)
    }

    mutating func append(text: UnsafeRawBufferPointer) {
        data.append(contentsOf: text)
        offsets.append(Int32(data.count))
        mark(isPresent: true)
    }

    mutating func append(_ value: ValueView) throws(DatabaseError) {
        if value.isNull { return appendNull() }
        switch kind {
        case .bool:
            if count & 7 == 0 { data.append(0) }
            if value.boolValue { data[count >> 3] |= 1 << UInt8(count & 7) }
        case .int: put(value.intValue, 8)
        case .float: put(Int64(value.floatValue.bitPattern), 4)
        case .double: put(Int64(bitPattern: value.doubleValue.bitPattern), 8)
        case .time: put(try Self.nanoseconds(value.timestampValue, path), 8)
        case .string, .data, .text: return append(text: value.bytes)
        }
        mark(isPresent: true)
    }

    private mutating func put(_ number: Int64, _ bytes: Int) {
        withUnsafeBytes(of: number.littleEndian) { data.append(contentsOf: $0.prefix(bytes)) }
    }

    private static func nanoseconds(_ time: Timestamp, _ path: ColumnPath) throws(DatabaseError) -> Int64 {
        let exact = Int128(time.seconds) * 1_000_000_000 + Int128(time.nanoseconds)
        guard let nanoseconds = Int64(exactly: exact) else {
            throw DatabaseError(
                .overflow,
                "\(TimeText.text(time)) in column \(path.text) is too far from 1970 for the nanoseconds of Arrow, "
                    + "which end in 2262; write another format", propertyName: path.property.name)
        }
        return nanoseconds
    }

    // MARK: Batches

    /// In the order that Arrow has them; an empty first one: nothing is null.
    var buffers: [[UInt8]] {
        let present = nullCount > 0 ? validity : []
        guard isText else { return [present, data] }
        return [present, offsets.flatMap { offset in withUnsafeBytes(of: offset.littleEndian) { Array($0) } }, data]
    }

    mutating func clear() {
        nullCount = 0
        count = 0
        validity.removeAll(keepingCapacity: true)
        offsets.removeAll(keepingCapacity: true)
        offsets.append(0)
        data.removeAll(keepingCapacity: true)
    }
}
