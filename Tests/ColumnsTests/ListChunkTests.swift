// Lists of a cluster: random rows beside an array of arrays.
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
