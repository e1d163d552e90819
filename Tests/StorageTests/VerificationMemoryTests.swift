// Verifying a class whose chunks are so small that they lie in nodes of the tree, and one with values too long for its
// chunks: of these no more is in memory than the budget says.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct VerificationMemoryTests {
    private static let rows = 24_000
    private static let budget = 64 << 10

    private func open(_ path: String, memory: Int?) throws -> (Database, Snapshot) {
        var options = PageStoreOptions(path: path)
        options.durability = .none
        options.rowGroupSize = 8
        options.memoryBytes = memory
        let database = try Database.open(options)
        return (database, try database.snapshot())
    }

    @Test func nodesAreLetGo() throws {
        let folder = TemporaryDirectory()
        do {
            let (database, snapshot) = try open(folder.file("small.motte"), memory: nil)
            _ = try database.reconcile(try SchemaText.parse("P { a: int, b: int, c: int }"), on: snapshot)
            let type = try snapshot.schema.type(named: "P")
            let table = try #require(type.tableKey), columns = type.properties.compactMap(\.columnKey)
            let write = try database.beginWrite(on: snapshot)
            for row in 0 ..< Self.rows {
                let values = (0 ..< 3).map { ValueView.int(Int64(row &* 7_919 &+ $0)) }
                _ = try values.withUnsafeBufferPointer { values in
                    guard let first = values.baseAddress else { return }
                    _ = try write.insertBatch(table, columns: columns, rows: first, rowCount: 1)
                }
            }
            try write.commit()
        }
        let (database, snapshot) = try open(folder.file("small.motte"), memory: Self.budget)
        #expect(try snapshot.strayPages().isEmpty)
        let statistics = try database.pages.statistics()
        #expect(statistics.fileBytes > 8 * Self.budget)
        #expect(statistics.mostMemoryBytes < 3 * Self.budget, "\(statistics.mostMemoryBytes)")
        #expect(try snapshot.verify().isSound)
        let most = try database.pages.statistics().mostMemoryBytes
        #expect(most < 3 * Self.budget, "\(most)")
    }

    @Test func longValuesAreReadOnceAndLetGo() throws {
        let folder = TemporaryDirectory()
        let budget = 256 << 10
        do {
            let (database, snapshot) = try open(folder.file("long.motte"), memory: nil)
            _ = try database.reconcile(try SchemaText.parse("P { text: string, texts: list<string> }"), on: snapshot)
            let type = try snapshot.schema.type(named: "P")
            let table = try #require(type.tableKey)
            let columns = try ["text", "texts"].map { try #require(type.property(named: $0)?.columnKey) }
            let write = try database.beginWrite(on: snapshot)
            for row in 0 ..< 200 {
                let key = try write.create(table, primaryKey: nil)
                try Value.string(String(repeating: "text \(row)", count: 3_000)).withView {
                    view throws(DatabaseError) in
                    try write.set(table, columns[0], key, to: view)
                    try write.listInsert(table, columns[1], key, at: 0, [view])
                }
            }
            try write.commit()
        }
        let (database, snapshot) = try open(folder.file("long.motte"), memory: budget)
        #expect(try database.pages.statistics().fileBytes > 20 * budget)
        #expect(try snapshot.verify().isSound)
        let most = try database.pages.statistics().mostMemoryBytes
        #expect(most < 4 * budget, "\(most)")
    }
}
