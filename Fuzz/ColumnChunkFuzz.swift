/// Any bytes as a chunk of any kind, alone or of lists: an error, or values that can all be read, written again and
/// read again. A sound chunk is found out after any change of a byte, and under any other key.
///
/// Input: a byte for kind (low bits) and form (0x40 lists, 0x80: the frame is left as it is), then the chunk. Otherwise
/// the frame is made to fit, since hardly a change would get past the checksum.
import CMotteShim
import MotteColumns
import MotteValues

extension FuzzTarget {
    package static let columnChunk = FuzzTarget(
        name: "columnChunk", seeds: ColumnChunkFuzz.seeds, run: ColumnChunkFuzz.run)
}

enum ColumnChunkFuzz {
    static let key: [UInt8] = [4, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3]
    /// No row group has more rows, and no caller believes a chunk that says so.
    private static let mostRows = 65_536

    @Sendable static func run(_ bytes: UnsafeRawBufferPointer) throws {
        var input = FuzzInput(bytes)
        let choice = input.byte()
        let kind = ColumnKind.allCases[Int(choice & 0x3F) % ColumnKind.allCases.count]
        let isList = choice & 0x40 != 0
        var chunk = Array(input.rest)
        if choice & 0x80 == 0 { seal(&chunk, kind: kind.rawValue | (isList ? 0x40 : 0)) }
        let isSound = try chunk.asBytes { bytes in try check(bytes, kind, isList) }
        guard isSound else { return }
        // Sound as it is; so changed or elsewhere it is not.
        for turn in 0 ..< 4 {
            let place = Int(truncatingIfNeeded: (bytes.hash >> (8 * UInt64(turn))) % UInt64(chunk.count))
            let bit = UInt8(1) << UInt8((bytes.hash >> 40 &+ UInt64(turn)) & 7)
            chunk[place] ^= bit
            let passes = chunk.asBytes { opens($0, kind, isList, key) }
            try Finding.require(!passes, "a chunk with byte \(place) changed is not found out")
            chunk[place] ^= bit
        }
        var other = key
        other[12] ^= 1
        let passes = chunk.asBytes { opens($0, kind, isList, other) }
        try Finding.require(!passes, "a chunk under another key is not found out")
    }

    /// Header and checksum as they should be; of lists those of the elements too.
    static func seal(_ chunk: inout [UInt8], kind: UInt8, key: [UInt8] = key) {
        while chunk.count < 16 || chunk.count & 7 != 0 { chunk.append(0) }
        chunk[0] = kind
        chunk.store(UInt32(truncatingIfNeeded: chunk.count - 16), at: 8)
        let elements = 16 + (chunk.word(at: 4) * 4 + 7) & ~7
        if kind & 0x40 != 0, elements <= chunk.count - 16 {
            var inner = Array(chunk[elements...])
            seal(&inner, kind: kind & 0x3F, key: key)
            chunk.replaceSubrange(elements..., with: inner)
        }
        let crc = chunk.asBytes { bytes in
            var crc = motte_shim_crc32c(0, bytes.baseAddress, 12)
            crc = motte_shim_crc32c(crc, bytes.baseAddress.map { $0 + 16 }, bytes.count - 16)
            return motte_shim_crc32c(crc, key, key.count)
        }
        chunk.store(crc, at: 12)
    }

    private static func opens(
        _ bytes: UnsafeRawBufferPointer, _ kind: ColumnKind, _ isList: Bool, _ key: [UInt8]
    ) -> Bool {
        key.asBytes { key in
            do throws(DatabaseError) {
                if isList {
                    _ = try ListChunk(validating: bytes, elementKind: kind, key: key)
                } else {
                    _ = try ColumnChunk(validating: bytes, kind: kind, key: key)
                }
                return true
            } catch {
                return false
            }
        }
    }

    /// False when it is an error.
    private static func check(_ bytes: UnsafeRawBufferPointer, _ kind: ColumnKind, _ isList: Bool) throws -> Bool {
        try key.asBytes { key in
            if isList {
                guard let chunk = try politely({ try ListChunk(validating: bytes, elementKind: kind, key: key) })
                else { return false }
                for row in 0 ..< min(chunk.count, mostRows) {
                    for element in chunk.range(row) { touch(chunk.elements.view(element)) }
                }
                return true
            }
            guard let chunk = try politely({ try ColumnChunk(validating: bytes, kind: kind, key: key) })
            else { return false }
            guard chunk.count <= mostRows else { return true }
            try read(chunk, key)
            return true
        }
    }

    private static func read(_ chunk: ColumnChunk, _ key: UnsafeRawBufferPointer) throws {
        let rows = 0 ..< chunk.count
        let builder = ChunkBuilder(kind: chunk.kind, nullable: true, capacity: chunk.count)
        for row in rows {
            let view = chunk.view(row)
            touch(view)
            builder.append(view)
        }
        bulk(chunk)
        let again = builder.encode(key: key)
        try again.asBytes { bytes in
            let copy = try ColumnChunk(validating: bytes, kind: chunk.kind, key: key)
            try Finding.require(copy.count == chunk.count, "\(chunk.count) rows became \(copy.count)")
            for row in rows {
                let (old, new) = (chunk.view(row), copy.view(row))
                try Finding.require(isSame(old, new), "row \(row): \(old.owned) became \(new.owned)")
            }
        }
    }

    /// Bit for bit: of floating numbers there are several zeros and not-numbers.
    private static func isSame(_ left: ValueView, _ right: ValueView) -> Bool {
        guard left.kindNumber == right.kindNumber, left.aux == right.aux else { return false }
        switch left.kind {
        case .string, .data, .list, .map: return left.bytes.elementsEqual(right.bytes)
        default: return left.low == right.low && left.high == right.high
        }
    }

    private static func bulk(_ chunk: ColumnChunk) {
        let ints = UnsafeMutablePointer<Int64>.allocate(capacity: chunk.count + 1)
        defer { ints.deallocate() }
        switch chunk.kind {
        case .int, .link: chunk.decodeInts(into: ints)
        case .timestamp:
            let times = UnsafeMutablePointer<Timestamp>.allocate(capacity: chunk.count + 1)
            defer { times.deallocate() }
            chunk.decodeTimestamps(0 ..< chunk.count, into: times)
        case .float, .double:
            ints.withMemoryRebound(to: Double.self, capacity: chunk.count + 1) { chunk.decodeDoubles(into: $0) }
        case .bool:
            ints.withMemoryRebound(to: UInt8.self, capacity: chunk.count + 1) {
                chunk.decodeBools(0 ..< chunk.count, into: $0)
            }
        case .string, .data, .decimal, .objectID, .uuid, .mixed: break
        }
    }

    private static func touch(_ view: ValueView) {
        switch view.kind {
        case .string, .data: sum = view.bytes.reduce(sum) { $0 &+ Int($1) }
        default: if case .null = view.owned { sum &+= 1 }
        }
    }

    /// So that reading is not optimised away.
    nonisolated(unsafe) private static var sum = 0  // one thread: a fuzzer's, or that of a serialized test

    // MARK: Seeds

    static func values(_ kind: ColumnKind) -> [Value] {
        switch kind {
        case .bool: [.bool(true), .bool(false), .null]
        case .int: [.int(1), .int(-300), .int(70_000), .int(.max)]
        case .float: [.float(1.5), .float(-0.0)]
        case .double: [.double(2.5), .null]
        case .string: [.string("a"), .string("Grüße"), .null, .string(String(repeating: "x", count: 30))]
        case .data: [.data([1, 2, 3]), .data([])]
        case .timestamp:
            [.timestamp(Timestamp(seconds: 5, nanoseconds: 0)), .timestamp(Timestamp(seconds: -9, nanoseconds: 7))]
        case .link: [.link(ObjectLink(table: TableKey(1), key: ObjectKey(9))), .null]
        case .decimal: [.decimal(Decimal128(Int64(12))), .null]
        case .objectID: [.objectID(ObjectID(low: 3, high: 4))]
        case .uuid: [.uuid(UUIDBytes(low: 5, high: 6)), .uuid(UUIDBytes(low: 5, high: 7))]
        case .mixed:
            [
                .null, .int(3), .string("mixed"), .list([.int(1), .list([])]),
                .map([MapEntry(key: "k", value: .bool(true)), MapEntry(key: "l", value: .null)]),
            ]
        }
    }

    static func chunk(_ kind: ColumnKind, repeating count: Int, key: [UInt8] = key) -> [UInt8] {
        let builder = ChunkBuilder(kind: kind, nullable: true, capacity: 8)
        for _ in 0 ..< count { for value in values(kind) { value.withView { builder.append($0) } } }
        return key.asBytes { builder.encode(key: $0) }
    }

    @Sendable static func seeds() throws -> [[UInt8]] {
        var seeds: [[UInt8]] = []
        for (number, kind) in ColumnKind.allCases.enumerated() {
            let choice = UInt8(truncatingIfNeeded: number)
            // Values that come back are kept as a dictionary.
            for count in [1, 12] { seeds.append([choice] + chunk(kind, repeating: count)) }
            let lists = ListChunkBuilder(elementKind: kind, nullable: true, capacity: 4)
            lists.appendRows(3)
            let elements = ChunkBuilder(kind: kind, nullable: true, capacity: 4)
            for value in values(kind) { value.withView { elements.append($0) } }
            lists.setInline(1, elements)
            lists.setExternal(2, count: 1000)
            seeds.append([choice | 0x40] + key.asBytes { lists.encode(key: $0) })
        }
        return seeds
    }
}
