/// A list or map inside a mixed value, as bytes: any depth of them in one run that can be read without unpacking.
///
///     u8 kind (12 list, 13 map) | u8 x 3 zero | u32 count | count x u32 end of each entry | entries
///     entry of a list: u8 kind, payload       entry of a map: u32 key bytes, key, u8 kind, payload
///     payload: nothing for null, else bool u8, int i64, float u32, double u64, string and data their bytes,
///              timestamp i64 u32, link u32 i64, decimal 16 bytes, objectId 12, uuid 16, list and map a document
///
/// Ends count from the first entry on. Keys of a map ascend by their bytes without duplicates. A payload ends where its
/// entry does. `validate` checks everything once; the readers after it trust what it has seen.
package struct NestedDocument {
    package static let deepest = 100
    private static let headerSize = 8

    package let bytes: UnsafeRawBufferPointer
    package let isMap: Bool
    package let count: Int

    /// Of bytes that `validate` has seen, or that `encode` made.
    package init(trusted bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        isMap = !bytes.isEmpty && bytes[0] == UInt8(ValueKind.map.rawValue)
        count =
            bytes.count >= Self.headerSize
            ? Int(bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self).littleEndian) : 0
    }

    // MARK: Reading

    private func end(_ index: Int) -> Int {
        index < 0
            ? 0 : Int(bytes.loadUnaligned(fromByteOffset: Self.headerSize + index * 4, as: UInt32.self).littleEndian)
    }

    private func entry(_ index: Int) -> UnsafeRawBufferPointer {
        let base = Self.headerSize + count * 4
        return UnsafeRawBufferPointer(rebasing: bytes[base + end(index - 1) ..< base + end(index)])
    }

    /// The element, or the value of the entry; borrows the document's bytes.
    package func value(at index: Int) -> ValueView {
        let entry = entry(index)
        let start = isMap ? 4 + Int(entry.loadUnaligned(as: UInt32.self).littleEndian) : 0
        return Self.entry(UnsafeRawBufferPointer(rebasing: entry[start...]))
    }

    /// The value of one entry: its kind byte and its payload.
    package static func entry(_ bytes: UnsafeRawBufferPointer) -> ValueView {
        view(bytes[0], UnsafeRawBufferPointer(rebasing: bytes[1...]))
    }

    package func key(at index: Int) -> UnsafeRawBufferPointer {
        let entry = entry(index)
        let size = Int(entry.loadUnaligned(as: UInt32.self).littleEndian)
        return UnsafeRawBufferPointer(rebasing: entry[4 ..< 4 + size])
    }

    /// Where the key is, or where it would be.
    package func find(_ key: UnsafeRawBufferPointer) -> (index: Int, isThere: Bool) {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            let order = ValueOrdering.compareBytes(self.key(at: middle), key)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
    }

    private static func view(_ kind: UInt8, _ payload: UnsafeRawBufferPointer) -> ValueView {
        func word(_ offset: Int = 0) -> UInt64 {
            payload.loadUnaligned(fromByteOffset: offset, as: UInt64.self).littleEndian
        }
        func half(_ offset: Int = 0) -> UInt32 {
            payload.loadUnaligned(fromByteOffset: offset, as: UInt32.self).littleEndian
        }
        let type = ValueKind(rawValue: UInt32(kind))
        switch type?.form {
        case .bool: return .bool(payload[0] != 0)
        case .int: return .int(Int64(bitPattern: word()))
        case .float: return .float(Float(bitPattern: half()))
        case .double: return .double(Double(bitPattern: word()))
        case .string: return .string(payload)
        case .data: return .data(payload)
        case .timestamp:
            return .timestamp(Timestamp(seconds: Int64(bitPattern: word()), nanoseconds: half(8)))
        case .link:
            return .link(ObjectLink(table: TableKey(half()), key: ObjectKey(Int64(bitPattern: word(4)))))
        case .decimal: return .decimal(Decimal128(low: word(), high: word(8)))
        case .identifier:
            guard let type, let base = payload.baseAddress else { return .null }
            return ValueView(type, bytes: base)
        case .list: return .list(payload)
        case .map: return .map(payload)
        case .null, nil: return .null
        }
    }

    // MARK: Checking

    /// Any bytes: a document of a list or of a map, as the value with them says, or an error.
    package static func validate(
        _ bytes: UnsafeRawBufferPointer, as kind: ValueKind, depth: Int = 1
    ) throws(DatabaseError) {
        guard depth <= deepest, bytes.count >= headerSize, bytes[1] | bytes[2] | bytes[3] == 0,
            bytes[0] == UInt8(kind.rawValue), kind == .list || kind == .map
        else { throw broken() }
        let document = NestedDocument(trusted: bytes)
        let room = bytes.count - headerSize
        guard document.count <= room / 4 else { throw broken() }
        let heap = room - document.count * 4
        var start = 0
        for index in 0 ..< document.count {
            let end = document.end(index)
            guard end >= start, end <= heap else { throw broken() }
            try document.validateEntry(index, depth: depth)
            start = end
        }
        guard start == heap else { throw broken() }
    }

    private func validateEntry(_ index: Int, depth: Int) throws(DatabaseError) {
        let entry = entry(index)
        var start = 0
        if isMap {
            guard entry.count >= 4 else { throw Self.broken() }
            let size = Int(entry.loadUnaligned(as: UInt32.self).littleEndian)
            guard size < entry.count - 4 else { throw Self.broken() }
            start = 4 + size
            let key = UnsafeRawBufferPointer(rebasing: entry[4 ..< start])
            guard UTF8Validation.isValid(key) else { throw Self.broken() }
            if index > 0, ValueOrdering.compareBytes(self.key(at: index - 1), key) >= 0 { throw Self.broken() }
        }
        try Self.validate(entry: UnsafeRawBufferPointer(rebasing: entry[start...]), depth: depth)
    }

    /// Any bytes: the kind byte and the payload of a value, or an error. `depth` is that of the list or map around it.
    package static func validate(entry: UnsafeRawBufferPointer, depth: Int = 0) throws(DatabaseError) {
        guard let kind = entry.first else { throw broken() }
        let payload = UnsafeRawBufferPointer(rebasing: entry[1...])
        let type = ValueKind(rawValue: UInt32(kind))
        switch type?.form {
        case .null: try Self.require(payload.count == 0)
        case .bool: try Self.require(payload.count == 1 && payload[0] <= 1)
        case .float: try Self.require(payload.count == 4)
        case .int, .double: try Self.require(payload.count == 8)
        case .timestamp:
            try Self.require(payload.count == 12)
            try Self.require(
                payload.loadUnaligned(fromByteOffset: 8, as: UInt32.self).littleEndian < 1_000_000_000)
        case .link: try Self.require(payload.count == 12)
        case .decimal, .identifier: try Self.require(payload.count == type?.byteCount)
        case .string: try Self.require(UTF8Validation.isValid(payload))
        case .data: break
        case .list: try Self.validate(payload, as: .list, depth: depth + 1)
        case .map: try Self.validate(payload, as: .map, depth: depth + 1)
        case nil: throw Self.broken()
        }
    }

    private static func require(_ condition: Bool) throws(DatabaseError) {
        guard condition else { throw broken() }
    }

    private static func broken() -> DatabaseError { .corrupted("a nested list or map is malformed") }

    // MARK: Values

    /// An owned copy of a list or map.
    package static func value(_ view: ValueView) -> Value {
        let document = NestedDocument(trusted: view.bytes)
        if document.isMap {
            return .map(
                (0 ..< document.count).map {
                    MapEntry(
                        key: String(decoding: document.key(at: $0), as: UTF8.self), value: document.value(at: $0).owned)
                })
        }
        return .list((0 ..< document.count).map { document.value(at: $0).owned })
    }

    /// Of a list or map; entries of a map are sorted, and of equal keys the last one counts. Anything else is an empty
    /// list.
    package static func encode(_ value: Value) -> [UInt8] {
        var output: [UInt8] = []
        append(value, to: &output)
        return output
    }

    private static func append(_ value: Value, to output: inout [UInt8]) {
        switch value {
        case .map(let entries):
            var sorted: [(key: [UInt8], value: Value)] = []
            for entry in entries.map({ (key: Array($0.key.utf8), value: $0.value) }).enumerated().sorted(by: {
                $0.element.key == $1.element.key
                    ? $0.offset < $1.offset : $0.element.key.lexicographicallyPrecedes($1.element.key)
            }) {
                if sorted.last?.key == entry.element.key { sorted.removeLast() }
                sorted.append(entry.element)
            }
            appendDocument(.map, sorted.count, to: &output) { index, output in
                append(UInt32(sorted[index].key.count), to: &output)
                output.append(contentsOf: sorted[index].key)
                appendEntry(sorted[index].value, to: &output)
            }
        case .list(let elements):
            appendDocument(.list, elements.count, to: &output) { index, output in
                appendEntry(elements[index], to: &output)
            }
        default: appendDocument(.list, 0, to: &output) { _, _ in }
        }
    }

    private static func appendDocument(
        _ kind: ValueKind, _ count: Int, to output: inout [UInt8], _ entry: (Int, inout [UInt8]) -> Void
    ) {
        output.append(contentsOf: [UInt8(kind.rawValue), 0, 0, 0])
        append(UInt32(count), to: &output)
        let ends = output.count
        output.append(contentsOf: repeatElement(0, count: count * 4))
        let start = output.count
        for index in 0 ..< count {
            entry(index, &output)
            let end = UInt32(output.count - start).littleEndian
            output.withUnsafeMutableBytes { $0.storeBytes(of: end, toByteOffset: ends + index * 4, as: UInt32.self) }
        }
    }

    /// The kind byte and the payload of a value.
    package static func encodeEntry(_ view: ValueView) -> [UInt8] {
        var output: [UInt8] = []
        switch view.kind {
        case .string, .data, .list, .map:
            output.reserveCapacity(view.bytes.count + 1)
            output.append(UInt8(truncatingIfNeeded: view.kindNumber))
            output.append(contentsOf: view.bytes)
        default: appendEntry(view.owned, to: &output)
        }
        return output
    }

    private static func appendEntry(_ value: Value, to output: inout [UInt8]) {
        output.append(UInt8(value.kind.rawValue))
        switch value {
        case .null: break
        case .bool(let value): output.append(value ? 1 : 0)
        case .int(let value): append(value, to: &output)
        case .float(let value): append(value.bitPattern, to: &output)
        case .double(let value): append(value.bitPattern, to: &output)
        case .string(let value): output.append(contentsOf: value.utf8)
        case .data(let value): output.append(contentsOf: value)
        case .timestamp(let value):
            append(value.seconds, to: &output)
            append(value.nanoseconds, to: &output)
        case .link(let value):
            append(value.table.rawValue, to: &output)
            append(value.key.rawValue, to: &output)
        case .decimal(let value):
            append(value.low, to: &output)
            append(value.high, to: &output)
        case .objectID(let value): value.withBytes { output.append(contentsOf: $0) }
        case .uuid(let value): value.withBytes { output.append(contentsOf: $0) }
        case .list, .map: append(value, to: &output)
        }
    }

    private static func append<T: FixedWidthInteger>(_ value: T, to output: inout [UInt8]) {
        withUnsafeBytes(of: value.littleEndian) { output.append(contentsOf: $0) }
    }
}
