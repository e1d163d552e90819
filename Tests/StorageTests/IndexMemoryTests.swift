// Building an index over a class that is larger than the budget of memory: what is in memory meanwhile is a fraction of
// the file, every row is in the index, and what the write lent before stays where it is.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct IndexMemoryTests {
    private static let rows = 12_000
    private static let budget = 512 << 10

    private static func text(_ row: Int) -> String { "\(row * 7919 % rows) " + String(repeating: "x", count: 300) }

    private func open(_ path: String, memory: Int?) throws -> (Database, Snapshot) {
        var options = PageStoreOptions(path: path)
        options.durability = .none
        options.memoryBytes = memory
        let database = try Database.open(options)
        return (database, try database.snapshot())
    }

    private func fill(_ path: String) throws {
        let (database, snapshot) = try open(path, memory: nil)
        _ = try database.reconcile(try SchemaText.parse("Note { text: string }"), on: snapshot)
        let type = try snapshot.schema.type(named: "Note")
        let table = try #require(type.tableKey), text = try #require(type.property(named: "text")?.columnKey)
        let write = try database.beginWrite(on: snapshot)
        for row in 0 ..< Self.rows {
            _ = try Self.text(row).withUTF8Bytes { bytes in
                try withUnsafePointer(to: ValueView.string(bytes)) {
                    try write.insertBatch(table, columns: [text], rows: $0, rowCount: 1)
                }
            }
        }
        try write.commit()
    }

    @Test(arguments: ["text: string indexed", "text: string, indexed(text desc)", "text: string, indexed(text [c])"])
    func rowGroupsAreLetGo(property: String) throws {
        let folder = TemporaryDirectory()
        try fill(folder.file("notes.motte"))
        let (database, snapshot) = try open(folder.file("notes.motte"), memory: Self.budget)
        let schema = try SchemaText.parse("Note { \(property) }")
        _ = try database.reconcile(schema, on: snapshot)
        let statistics = try database.pages.statistics()
        #expect(statistics.fileBytes > 3_600_000)
        // The blocks that are built are in memory until they are written.
        let built = try #require(try database.spaceStatistics().classes.first).indexBytes
        #expect(
            statistics.mostMemoryBytes < 3 * Self.budget + built,
            "\(statistics.mostMemoryBytes), of which \(built) are built")
        let report = try snapshot.verify()
        #expect(report.isSound && report.objects == Self.rows)
    }

    /// Entries that wait in the spill file of a write are read where they lie; what was read is let go.
    @Test func mergingLetsGoOfWhatItHasRead() throws {
        let folder = TemporaryDirectory()
        let spill = SpillFile(SpillPlan(memoryBytes: 0, folder: folder.path))
        var pending = PendingEntries(isHashed: false, spill: spill, mostNear: 1 << 16)
        var random = SeededRandom(seed: 7)
        let count = 1_000_000
        for key in 0 ..< count { pending.append(IndexEntry(value: UInt64(random.below(1 << 40)), key: UInt64(key))) }
        #expect(spill.fileBytes > 14 << 20)
        spill.letGo()
        var most = 0
        var merged = 0
        var isAscending = true
        try pending.merging { (merge) throws(DatabaseError) in
            var before = IndexEntry.lowest
            while merge.first != nil {
                var window: ContiguousArray<IndexEntry> = []
                merge.append(1 << 16, to: &window)
                merged += window.count
                for entry in window {
                    if entry < before { isAscending = false }
                    before = entry
                }
                var resident = 0
                for mapping in spill.mapped { resident += try ResidentMemory.bytes(in: mapping) }
                most = max(most, resident)
            }
        }
        #expect(merged == count && isAscending)
        #expect(most > 0 && most < 8 << 20)
    }
}
