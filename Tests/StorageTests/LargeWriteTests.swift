// Writes larger than the memory they may keep: full row groups lie in a spill file, can be read and changed there,
// survive a commit that fails, and the write stays within its bound.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct LargeWriteTests {
    private struct World {
        let folder = TemporaryDirectory()
        let database: Database
        let snapshot: Snapshot
        let table: TableKey
        let name: ColumnKey
        let number: ColumnKey
        let score: ColumnKey

        init(
            rowGroupSize: Int = 480, memoryBytes: Int, rows: Int = 0, maySpill: Bool = true,
            faults: FaultInjection? = nil
        ) throws {
            var options = PageStoreOptions(path: folder.file())
            options.rowGroupSize = rowGroupSize
            options.writeMemoryBytes = memoryBytes
            options.maySpill = maySpill
            options.faults = faults
            database = try Database.open(options)
            snapshot = try database.snapshot()
            let schema = try SchemaText.parse("Row { name: string, number: int, score: double }")
            _ = try database.reconcile(schema, on: snapshot)
            let type = try snapshot.schema.type(named: "Row")
            table = try #require(type.tableKey)
            name = try #require(type.property(named: "name")?.columnKey)
            number = try #require(type.property(named: "number")?.columnKey)
            score = try #require(type.property(named: "score")?.columnKey)
            guard rows > 0 else { return }
            let write = try database.beginWrite(on: snapshot)
            try insert(write, first: 0, count: rows)
            try write.commit()
        }

        /// Rows with number = first ..., name "row <number>" and score = number / 2, as typed arrays.
        func insert(_ write: WriteTransaction, first: Int, count: Int) throws {
            let numbers = (first ..< first + count).map(Int64.init)
            let scores = numbers.map { Double($0) / 2 }
            var heap: [UInt8] = []
            var offsets: [Int64] = [0]
            for number in numbers {
                heap.append(contentsOf: "row \(number)".utf8)
                offsets.append(Int64(heap.count))
            }
            _ = try heap.withUnsafeBytes { heap in
                try offsets.withUnsafeBufferPointer { offsets in
                    try numbers.withUnsafeBufferPointer { numbers in
                        try scores.withUnsafeBufferPointer { scores in
                            try write.insertColumns(
                                table, columns: [number, name, score],
                                sources: [
                                    .ints(try #require(numbers.baseAddress)),
                                    .texts(
                                        try #require(heap.baseAddress), offsets: try #require(offsets.baseAddress)),
                                    .doubles(try #require(scores.baseAddress)),
                                ], rowCount: count)
                        }
                    }
                }
            }
        }

        func check(_ source: RowSource, _ row: Int, number expected: Int64) throws {
            let view = try source.table(table)
            let key = ObjectKey(Int64(row))
            #expect(try view.value(number, key).intValue == expected)
            #expect(try view.value(name, key).owned == .string("row \(row)"))
            #expect(try view.value(score, key).doubleValue == Double(row) / 2)
        }
    }

    @Test(arguments: [3, 480])
    func spilledRowsAreReadAndChangedLikeOthers(_ rowGroupSize: Int) throws {
        try PropertyTest.run(rounds: 3) { random, _ in
            let world = try World(rowGroupSize: rowGroupSize, memoryBytes: 1 << 16)
            let count = rowGroupSize == 3 ? 3_000 : 60_000
            let write = try world.database.beginWrite(on: world.snapshot)
            var expected: [Int: Int64] = [:]
            var gone: Set<Int> = []
            var next = 0
            while next < count {
                let size = 1 + random.below(count / 10)
                try world.insert(write, first: next, count: size)
                next += size
                for _ in 0 ..< 5 {
                    let row = random.below(next)
                    guard !gone.contains(row) else { continue }
                    if random.chance(20) {
                        try write.delete(world.table, ObjectKey(Int64(row)))
                        gone.insert(row)
                    } else {
                        try world.check(write, row, number: expected[row] ?? Int64(row))
                        try write.set(world.table, world.number, ObjectKey(Int64(row)), to: .int(Int64(-row)))
                        expected[row] = Int64(-row)
                    }
                }
            }
            try write.commit()
            let after = try world.database.snapshot()
            #expect(try after.table(world.table).liveCount == next - gone.count)
            for row in 0 ..< next where random.chance(5) || expected[row] != nil {
                if gone.contains(row) {
                    #expect(try after.table(world.table).locate(ObjectKey(Int64(row))) == nil)
                } else {
                    try world.check(after, row, number: expected[row] ?? Int64(row))
                }
            }
        }
    }

    /// In order a write holds a few row groups, however many it changes.
    @Test func whatChangesEverythingKeepsFewRowGroupsOpen() throws {
        let count = 50_000
        let world = try World(memoryBytes: 1 << 16, rows: count)
        let write = try world.database.beginWrite(on: world.snapshot)
        var most = 0
        for row in 0 ..< count {
            let key = ObjectKey(Int64(row))
            try write.set(world.table, world.number, key, to: .int(Int64(-row)))
            if row % 7 == 0 { try world.check(write, row / 2, number: Int64(-(row / 2))) }
            most = max(most, write.opened.bytes)
        }
        #expect(most > 0 && most < 1 << 17)
        try write.checkInvariants()
        try write.commit()
        let after = try world.database.snapshot()
        for row in 0 ..< count { try world.check(after, row, number: Int64(-row)) }
        #expect(try after.verify().isSound)
    }

    /// Columns that are opened again and again may stay open after all: nothing is encoded for ever.
    @Test func changesAllOverATableAreNotEncodedOverAndOver() throws {
        try PropertyTest.run(rounds: 1) { random, comment in
            let count = 50_000
            let world = try World(memoryBytes: 1 << 16, rows: count)
            let write = try world.database.beginWrite(on: world.snapshot)
            var expected: [Int: Int64] = [:]
            for number in 0 ..< 20_000 {
                let row = random.below(count)
                try write.set(world.table, world.number, ObjectKey(Int64(row)), to: .int(Int64(number)))
                expected[row] = Int64(number)
            }
            // All of the column once is 400 KB.
            let spilled = write.spill.heapBytes + write.spill.fileBytes
            #expect(spilled < 8 << 20, "\(spilled), \(comment)")
            try write.commit()
            let after = try world.database.snapshot()
            for row in 0 ..< count { try world.check(after, row, number: expected[row] ?? Int64(row)) }
        }
    }

    @Test func aFullDiskAtCommitLosesNothing() throws {
        let faults = FaultInjection()
        let world = try World(memoryBytes: 1 << 16, faults: faults)
        let write = try world.database.beginWrite(on: world.snapshot)
        try world.insert(write, first: 0, count: 20_000)
        faults.failCommit(1)
        faults.failCommit(2)
        for _ in 0 ..< 2 {
            do {
                try write.commit()
                Issue.record("the commit did not fail")
            } catch { #expect(error.code == .inputOutput) }
            #expect(write.isOpen)
            try world.check(write, 19_999, number: 19_999)
            #expect(try world.database.snapshot().table(world.table).liveCount == 0)
        }
        // Room has been made: more work, and the same write commits.
        try world.insert(write, first: 20_000, count: 5_000)
        try write.set(world.table, world.number, ObjectKey(7), to: .int(-7))
        try write.commit()
        let after = try world.database.snapshot()
        #expect(try after.table(world.table).liveCount == 25_000)
        try world.check(after, 7, number: -7)
        try world.check(after, 24_999, number: 24_999)
    }

    @Test func cancellingForgetsWhatWasSpilled() throws {
        let world = try World(memoryBytes: 0)
        let write = try world.database.beginWrite(on: world.snapshot)
        try world.insert(write, first: 0, count: 50_000)
        #expect(write.spill.fileBytes > 0)
        write.cancel()
        #expect(try world.database.snapshot().table(world.table).liveCount == 0)
    }

    @Test func memoryOnlyStoresMakeNoFile() throws {
        let world = try World(memoryBytes: 0, maySpill: false)
        let write = try world.database.beginWrite(on: world.snapshot)
        try world.insert(write, first: 0, count: 50_000)
        #expect(write.spill.fileBytes == 0 && write.spill.heapBytes > 0)
        try write.commit()
        try world.check(try world.database.snapshot(), 49_999, number: 49_999)
    }

    /// What a write of any length keeps in memory of its own: the spill file's limit and a little for each row group.
    /// Ten million rows under MOTTE_TEST_SCALE=10.
    @Test func aLongWriteKeepsLittleInMemory() throws {
        let world = try World(memoryBytes: 4 << 20)
        let write = try world.database.beginWrite(on: world.snapshot)
        // Less is not long enough to see a bound, and a sanitizer's own memory would be counted.
        let isSanitized = getenv("MOTTE_TEST_SANITIZER") != nil
        let rows = max(isSanitized ? 3 : 10, TestScale.times(10)) * 100_000
        try world.insert(write, first: 0, count: 100_000)
        let before = anonymousBytes()
        for first in stride(from: 100_000, to: rows, by: 100_000) {
            try world.insert(write, first: first, count: 100_000)
        }
        #expect(write.spill.heapBytes <= 8 << 20)
        #expect(write.spill.fileBytes > 0 && write.spill.heapBytes + write.spill.fileBytes > rows * 18)
        // 100 MB of arrays that this test makes, and 16 bytes a row: a fifth of what the rows take.
        if before > 0, !isSanitized { #expect(anonymousBytes() - before < (100 << 20) + rows * 16) }
        try write.commit()
        #expect(try world.database.snapshot().table(world.table).liveCount == rows)
    }

    /// Anonymous memory of this process, other tests included; 0 where the system does not say.
    private func anonymousBytes() -> Int {
        guard let file = fopen("/proc/self/status", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard text.hasPrefix("RssAnon:") else { continue }
            return (Int(text.filter(\.isNumber)) ?? 0) << 10
        }
        return 0
    }
}
