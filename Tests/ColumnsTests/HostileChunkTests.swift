// Bytes that no writer made: any change is found by the checksum, and bytes that have a right checksum and are nonsense
// otherwise are refused or can be read without leaving them (run under the address sanitizer to see it).
import MotteColumns
import MotteValues
import TestSupport
import Testing

@Suite struct HostileChunkTests {
    @Test func everyFlippedBitAndEveryTruncationIsFound() throws {
        try PropertyTest.run(rounds: 10) { random, comment in
            let kind = random.pick(ColumnKind.allCases)
            let isList = random.chance(30)
            let bytes = isList ? Self.lists(kind, &random) : Self.values(kind, &random)
            for position in bytes.indices {
                var damaged = bytes
                damaged[position] ^= 1 << UInt8(random.below(8))
                #expect(!Self.opens(damaged, kind, isList: isList), "byte \(position): \(comment)")
            }
            for size in 0 ..< bytes.count {
                #expect(!Self.opens(Array(bytes[..<size]), kind, isList: isList), "\(comment)")
            }
            #expect(!Self.opens(bytes + [0, 0, 0, 0, 0, 0, 0, 0], kind, isList: isList), "\(comment)")
            #expect(Self.opens(bytes, kind, isList: isList), "\(comment)")
        }
    }

    @Test func anotherKeyIsFound() throws {
        var random = SeededRandom(seed: 1)
        let bytes = Self.values(.int, &random)
        let key: [UInt8] = [4, 0, 0, 1, 8]
        #expect(throws: DatabaseError.self) {
            try bytes.withUnsafeBytes { bytes in
                try key.withUnsafeBytes { _ = try ColumnChunk(validating: bytes, kind: .int, key: $0) }
            }
        }
    }

    @Test func nonsenseUnderARightChecksumIsRefusedOrHarmless() throws {
        try PropertyTest.run(rounds: 300) { random, comment in
            let kind = random.pick(ColumnKind.allCases)
            let isList = random.chance(20)
            var bytes = isList ? Self.lists(kind, &random) : Self.values(kind, &random)
            for _ in 0 ... random.below(4) {
                // Headers, frames and offsets are the interesting places.
                let position = random.chance(60) ? random.below(min(64, bytes.count)) : random.below(bytes.count)
                bytes[position] = random.chance(50) ? UInt8(random.below(256)) : random.pick([0, 1, 2, 4, 8, 0xFF])
            }
            if random.chance(30) { bytes.removeLast(random.below(bytes.count / 8) * 8) }
            if !isList { bytes[0] = kind.rawValue }
            // Copied to an allocation of its exact size, so that a sanitizer sees a read past the end.
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 2)
            defer { copy.deallocate() }
            Checksum.seal(&bytes, isList: isList)
            copy.copyBytes(from: bytes)
            Self.readEverything(UnsafeRawBufferPointer(copy), kind, isList: isList)
        }
    }

    // MARK: Making chunks

    private static func values(_ kind: ColumnKind, _ random: inout SeededRandom) -> [UInt8] {
        let builder = ChunkBuilder(kind: kind, nullable: true, capacity: 8)
        fill(builder, &random, 20 + random.below(100))
        return TestKey.use { builder.encode(key: $0) }
    }

    private static func lists(_ kind: ColumnKind, _ random: inout SeededRandom) -> [UInt8] {
        let builder = ListChunkBuilder(elementKind: kind, nullable: true, capacity: 8)
        for row in 0 ..< 20 {
            builder.appendRow()
            if random.chance(50) { fill(builder.cell(row), &random, 4) }
        }
        return TestKey.use { builder.encode(key: $0) }
    }

    private static func fill(_ builder: ChunkBuilder, _ random: inout SeededRandom, _ count: Int) {
        let spread = random.below(5), nulls = random.chance(50)
        for _ in 0 ..< count {
            let isNull = nulls && random.chance(20)
            let value = isNull ? .null : KernelTests.randomValue(builder.kind, &random, spread: spread)
            value.withView { builder.append($0) }
        }
    }

    // MARK: Reading them

    private static func opens(_ bytes: [UInt8], _ kind: ColumnKind, isList: Bool) -> Bool {
        do {
            try bytes.withUnsafeBytes { bytes in
                try TestKey.use { key in
                    if isList {
                        _ = try ListChunk(validating: bytes, elementKind: kind, key: key)
                    } else {
                        _ = try ColumnChunk(validating: bytes, kind: kind, key: key)
                    }
                }
            }
            return true
        } catch { return false }
    }

    private static func readEverything(_ bytes: UnsafeRawBufferPointer, _ kind: ColumnKind, isList: Bool) {
        TestKey.use { key in
            if isList {
                guard let chunk = try? ListChunk(validating: bytes, elementKind: kind, key: key) else { return }
                for row in 0 ..< chunk.count {
                    for element in chunk.range(row) { touch(chunk.elements.view(element)) }
                }
            } else if let chunk = try? ColumnChunk(validating: bytes, kind: kind, key: key) {
                readEverything(chunk)
            }
        }
    }

    private static func readEverything(_ chunk: ColumnChunk) {
        // Constants take no space, so a damaged count may be any number; a row group compares it with its own.
        guard chunk.count < 100_000 else { return }
        let words = SelectionWords.allocate(capacity: Selection.wordCount(chunk.count) + 1)
        defer { words.deallocate() }
        let guardWord: UInt64 = 0x5AA5_5AA5_5AA5_5AA5
        words[Selection.wordCount(chunk.count)] = guardWord
        for row in 0 ..< chunk.count { touch(chunk.view(row)) }
        ComparisonKernels.selectPresent(chunk, into: words)
        if chunk.count > 0 {
            chunk.view(0).owned.withView { view in
                for op in ComparisonOperator.allCases { KernelTests.select(chunk, op, view.owned, into: words) }
            }
        }
        if chunk.kind == .string {
            let matcher = "an".withUTF8Bytes { TextMatcher(.contains, $0, [.ignoresCase, .ignoresDiacritics]) }
            TextKernels.select(chunk, matching: matcher, into: words)
        }
        let loaded = ChunkBuilder(kind: chunk.kind, nullable: true, capacity: 0)
        loaded.load(chunk)
        #expect(loaded.count == chunk.count)
        #expect(words[Selection.wordCount(chunk.count)] == guardWord)
    }

    private static func touch(_ view: ValueView) {
        if view.kind == .string || view.kind == .data {
            var sum: UInt8 = 0
            for byte in view.bytes { sum &+= byte }
            #expect(sum == sum)
        }
    }
}

/// CRC-32C, bit by bit, for sealing damaged chunks.
enum Checksum {
    static func seal(_ bytes: inout [UInt8], isList: Bool) {
        guard bytes.count >= 16 else { return }
        bytes[8 ..< 12] = littleEndian(UInt32(bytes.count - 16))[...]
        bytes[12 ..< 16] = littleEndian(TestKey.use { of(bytes[..<12], bytes[16...], $0) })[...]
    }

    private static func littleEndian(_ value: UInt32) -> [UInt8] {
        (0 ..< 4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    private static func of(
        _ header: ArraySlice<UInt8>, _ payload: ArraySlice<UInt8>, _ key: UnsafeRawBufferPointer
    ) -> UInt32 {
        var crc = ~UInt32(0)
        for byte in Array(header) + Array(payload) + Array(key) {
            crc ^= UInt32(byte)
            for _ in 0 ..< 8 { crc = (crc >> 1) ^ (crc & 1 != 0 ? 0x82F6_3B78 : 0) }
        }
        return ~crc
    }
}
