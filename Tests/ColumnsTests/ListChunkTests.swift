// Lists of a row group: random rows beside an array of arrays.
import MotteColumns
import MotteValues
import TestSupport
import Testing

@Suite struct ListChunkTests {
    @Test(arguments: ColumnKind.allCases)
    func listsMatchArrays(kind: ColumnKind) throws {
        try PropertyTest.run(rounds: 15) { random, comment in
            let builder = ListChunkBuilder(elementKind: kind, nullable: true, capacity: 4)
            var model: [[Value]] = []
            var external: [Int: Int] = [:]
            for row in 0 ..< random.below(60) {
                builder.appendRow()
                model.append([])
                if random.chance(10) {
                    external[row] = 1_000 + row
                    builder.setExternal(row, count: 1_000 + row)
                    continue
                }
                for _ in 0 ..< (random.chance(50) ? 0 : random.below(9)) {
                    let value = random.chance(10) ? Value.null : KernelTests.randomValue(kind, &random, spread: 1)
                    let at = random.below(model[row].count + 1)
                    value.withView { builder.cell(row).insert($0, at: at) }
                    model[row].insert(value, at: at)
                }
            }
            let reloaded = ListChunkBuilder(elementKind: kind, nullable: true, capacity: 0)
            try expectSame(builder, kind, model, external, comment) { reloaded.load($0) }
            try expectSame(reloaded, kind, model, external, comment) { _ in }
        }
    }

    /// Lengths take as many bytes as the longest needs, and always four in open row groups and beside external lists.
    @Test func lengthsAreNarrow() throws {
        func encoded(longest: Int, external: Bool = false, isPacked: Bool = true) throws -> [UInt8] {
            let builder = ListChunkBuilder(elementKind: .bool, nullable: false, capacity: 8)
            builder.appendRows(8)
            for _ in 0 ..< longest { Value.bool(true).withView { builder.cell(3).insert($0, at: 0) } }
            if external { builder.setExternal(5, count: 9) }
            let bytes = TestKey.use { builder.encode(key: $0, isPacked: isPacked) }
            try bytes.withUnsafeBytes { bytes in
                let chunk = try TestKey.use { try ListChunk(validating: bytes, elementKind: .bool, key: $0) }
                #expect(chunk.range(3) == 0 ..< longest && chunk.range(4).isEmpty && chunk.elementCount(2) == 0)
                #expect(chunk.isExternal(5) == external && chunk.elementCount(5) == (external ? 9 : 0))
            }
            return bytes
        }
        func size(_ lengths: Int, _ longest: Int) -> Int { 16 + lengths + 16 + (longest + 63) / 64 * 8 }
        for longest in [0, 1, 255] { #expect(try encoded(longest: longest).count == size(8, longest)) }
        #expect(try encoded(longest: 256).count == size(16, 256))
        #expect(try encoded(longest: 255, isPacked: false).count == size(32, 255))
        #expect(try encoded(longest: 255, external: true).count == size(32, 255))
        var odd = try encoded(longest: 5)
        odd[2] = 3
        Checksum.seal(&odd, isList: true)
        odd.withUnsafeBytes { odd in
            _ = #expect(throws: DatabaseError.self) {
                try TestKey.use { _ = try ListChunk(validating: odd, elementKind: .bool, key: $0) }
            }
        }
    }

    private func expectSame(
        _ builder: ListChunkBuilder, _ kind: ColumnKind, _ model: [[Value]], _ external: [Int: Int], _ comment: String,
        then body: (ListChunk) -> Void
    ) throws {
        let bytes = TestKey.use { builder.encode(key: $0) }
        try bytes.withUnsafeBytes { bytes in
            let chunk = try TestKey.use { try ListChunk(validating: bytes, elementKind: kind, key: $0) }
            #expect(chunk.count == model.count && builder.count == model.count, "\(comment)")
            for (row, values) in model.enumerated() {
                #expect(chunk.isExternal(row) == (external[row] != nil), "\(comment)")
                #expect(chunk.elementCount(row) == external[row] ?? values.count, "\(comment)")
                #expect(builder.elementCount(row) == external[row] ?? values.count, "\(comment)")
                let found = chunk.range(row).map { chunk.elements.view($0).owned }
                #expect(found == values, "\(comment)")
            }
            body(chunk)
        }
    }
}
