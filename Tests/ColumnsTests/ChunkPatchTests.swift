// Patches of chunks beside a plain array of values: what a patch takes is there when its bytes are read back, when a
// builder goes on from it, and when it is looked at; what it does not take is left alone.
import MotteColumns
import MotteValues
import TestSupport
import Testing

@Suite struct ChunkPatchTests {
    @Test(arguments: ColumnKind.allCases, [true, false])
    func patchesMatchAnArrayOfValues(kind: ColumnKind, nullable: Bool) throws {
        try PropertyTest.run(rounds: 60) { random, comment in
            let spread = random.below(6)
            let isDiverse = random.chance(60)
            func value() -> Value {
                if nullable, random.chance(10) { return .null }
                return isDiverse ? Self.diverse(kind, &random) : KernelTests.randomValue(kind, &random, spread: spread)
            }
            var model = (0 ..< 1 + random.below(300)).map { _ in value() }
            let builder = ChunkBuilder(kind: kind, nullable: nullable, capacity: 0)
            for value in model { value.withView { builder.append($0) } }
            try decode(builder.kind, TestKey.use { builder.encode(key: $0) }) { chunk in
                guard let patch = ChunkPatch(chunk) else {
                    #expect(chunk.isDictionary, "\(comment)")
                    return
                }
                let row = random.below(model.count)
                model[row].withView { own in
                    #expect(patch.takes(row, own, longLimit: .max) == !model[row].isNull, "\(comment)")
                }
                for _ in 0 ..< 1 + random.below(12) {
                    let row = random.below(model.count)
                    // Its own views may be handed back.
                    let new = random.chance(20) ? model[random.below(model.count)] : value()
                    new.withView { view in
                        guard patch.takes(row, view, longLimit: .max) else { return }
                        patch.set(row, view)
                        model[row] = new
                    }
                    try patch.checkInvariants()
                }
                for row in model.indices { #expect(patch.view(row).owned == model[row], "\(comment)") }
                try expect(patch, model, nullable, comment)
            }
        }
    }

    /// Of which hardly two are equal, so that chunks have no dictionary.
    private static func diverse(_ kind: ColumnKind, _ random: inout SeededRandom) -> Value {
        let number = Int64(truncatingIfNeeded: random.next() >> 20)
        switch kind {
        case .string, .mixed: return .string("\(number)".suffix(random.below(20)).description)
        case .data: return .data(Array("\(number)".utf8.suffix(random.below(20))))
        case .decimal: return .decimal(Decimal128(number))
        case .objectID: return .objectID(ObjectID(low: random.next(), high: random.next() & 0xFFFF_FFFF))
        case .uuid: return .uuid(UUIDBytes(low: random.next(), high: random.next()))
        default: return KernelTests.randomValue(kind, &random, spread: 3)
        }
    }

    /// Read back from its bytes and from a builder that took it over.
    private func expect(_ patch: ChunkPatch, _ model: [Value], _ nullable: Bool, _ comment: String) throws {
        try decode(patch.base.kind, encoded(patch)) { chunk in
            #expect(chunk.count == model.count, "\(comment)")
            #expect(chunk.hasSoundFrame, "\(comment)")
            for row in 0 ..< min(chunk.count, model.count) {
                #expect(chunk.view(row).owned == model[row], "row \(row): \(comment)")
            }
        }
        let builder = ChunkBuilder(kind: patch.base.kind, nullable: nullable, capacity: 0)
        patch.load(into: builder)
        for row in model.indices { #expect(builder.view(row).owned == model[row], "row \(row): \(comment)") }
    }

    private func encoded(_ patch: ChunkPatch) -> [UInt8] {
        var bytes = [UInt8](repeating: 0xFF, count: patch.size)
        TestKey.use { key in
            bytes.withUnsafeMutableBytes { if let start = $0.baseAddress { patch.write(to: start, key: key) } }
        }
        return bytes
    }

    private func decode(_ kind: ColumnKind, _ bytes: [UInt8], _ body: (ColumnChunk) throws -> Void) throws {
        try bytes.withUnsafeBytes { bytes in
            try TestKey.use { try body(try ColumnChunk(validating: bytes, kind: kind, key: $0)) }
        }
    }

    /// A patch that changes nothing has the bytes of its chunk, padding included.
    @Test(arguments: ColumnKind.allCases)
    func withoutEditsTheBytesAreTheSame(kind: ColumnKind) throws {
        try PropertyTest.run(rounds: 20) { random, comment in
            let builder = ChunkBuilder(kind: kind, nullable: true, capacity: 0)
            for _ in 0 ..< random.below(200) {
                let value = random.chance(10) ? .null : KernelTests.randomValue(kind, &random, spread: 4)
                value.withView { builder.append($0) }
            }
            let bytes = TestKey.use { builder.encode(key: $0) }
            try decode(kind, bytes) { chunk in
                guard let patch = ChunkPatch(chunk) else { return }
                #expect(encoded(patch) == bytes, "\(comment)")
            }
        }
    }

    @Test func whatChangesTheFormOfAChunkIsNotTaken() throws {
        func patch(_ kind: ColumnKind, _ values: [Value], _ body: (ChunkPatch) -> Void) throws {
            let builder = ChunkBuilder(kind: kind, nullable: true, capacity: 0)
            for value in values { value.withView { builder.append($0) } }
            try decode(kind, TestKey.use { builder.encode(key: $0) }) { body(try #require(ChunkPatch($0))) }
        }
        func takes(_ patch: ChunkPatch, _ row: Int, _ value: Value, longLimit: Int = .max) -> Bool {
            var isTaken = false
            value.withView { isTaken = patch.takes(row, $0, longLimit: longLimit) }
            return isTaken
        }
        try patch(.int, [.int(10), .null, .int(200)]) { ints in
            #expect(takes(ints, 0, .int(10)) && takes(ints, 0, .int(265)))
            #expect(!takes(ints, 0, .int(9)) && !takes(ints, 0, .int(266)) && !takes(ints, 0, .int(.min)))
            #expect(!takes(ints, 0, .null) && !takes(ints, 1, .int(10)) && !takes(ints, 3, .int(10)))
        }
        try patch(.int, [.int(.min), .int(.max)]) { ints in #expect(takes(ints, 0, .int(.max))) }
        try patch(.timestamp, [.timestamp(Timestamp(seconds: 5, nanoseconds: 0))]) { times in
            #expect(takes(times, 0, .timestamp(Timestamp(seconds: 5, nanoseconds: 0))))
            #expect(!takes(times, 0, .timestamp(Timestamp(seconds: 5, nanoseconds: 1))))
        }
        try patch(.string, [.string("a"), .string("b")]) { texts in
            #expect(takes(texts, 0, .string("abcd"), longLimit: 4) && !takes(texts, 0, .string("abcde"), longLimit: 4))
            let most = String(repeating: "x", count: 0xFFFE)
            #expect(takes(texts, 0, .string(most)) && !takes(texts, 0, .string(most + "x")))
            for row in 0 ..< 2 { Value.string("").withView { texts.set(row, $0) } }
            #expect(takes(texts, 0, .string(most + "x")))
        }
        try patch(.bool, (0 ..< 9).map { _ in .bool(false) }) { bools in
            for row in 0 ..< 8 { Value.bool(true).withView { bools.set(row, $0) } }
            #expect(takes(bools, 3, .bool(false)) && !takes(bools, 8, .bool(true)))
        }
    }
}
