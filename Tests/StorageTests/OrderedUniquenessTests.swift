// Unique indexes against a naive model: batches of any size that collide with themselves, with what the write has
// pending, near and in its spill file, and with what is committed; which row is refused, and that nothing changes then.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct OrderedUniquenessTests {
    private struct World {
        let database: Database
        let snapshot: Snapshot
        let table: TableKey
        let column: ColumnKey

        init() throws {
            var options = PageStoreOptions(location: .memory(identifier: nil))
            options.rowGroupSize = 480
            database = try Database.open(options)
            snapshot = try database.snapshot()
            let code = Property(name: "code", type: .string, isNullable: true)
            _ = try database.reconcile(
                Schema([ObjectType(name: "Item", properties: [code], indexes: [.unique("code")])]), on: snapshot)
            let type = try snapshot.schema.type(named: "Item")
            table = try #require(type.tableKey)
            column = try #require(type.property(named: "code")?.columnKey)
        }

        func insert(_ write: WriteTransaction, _ codes: [String?]) throws {
            var bytes: [UInt8] = []
            var places: [Range<Int>?] = []
            for code in codes {
                let start = bytes.count
                if let code { bytes += Array(code.utf8) }
                places.append(code.map { _ in start ..< bytes.count })
            }
            try bytes.withUnsafeBytes { bytes in
                let cells = places.map { place in
                    place.map { ValueView.string(UnsafeRawBufferPointer(rebasing: bytes[$0])) } ?? .null
                }
                try cells.withUnsafeBufferPointer {
                    _ = try write.insertBatch(table, columns: [column], rows: $0.baseAddress, rowCount: codes.count)
                }
            }
        }

        func set(_ write: WriteTransaction, _ key: Int64, _ code: String?) throws {
            try (code.map { Value.string($0) } ?? .null).withView { view throws(DatabaseError) in
                try write.set(table, column, ObjectKey(key), to: view)
            }
        }
    }

    private static func code(_ random: inout SeededRandom, _ space: Int) -> String? {
        random.chance(5) ? nil : "code \(random.below(space))\(random.chance(10) ? "\u{0}" : "")"
    }

    /// The first row of the batch that somebody has, or that another row before it is.
    private static func refused(_ codes: [String?], _ held: Set<String>) -> Int? {
        var seen = held
        for (row, code) in codes.enumerated() {
            if let code, !seen.insert(code).inserted { return row }
        }
        return nil
    }

    @Test func batchesAreThoseOfTheModel() throws {
        var refusals = 0, acceptances = 0
        try PropertyTest.run(rounds: 6) { random, comment in
            let world = try World()
            var held: [Int64: String] = [:]
            var next: Int64 = 0
            for _ in 0 ..< 5 {
                let write = try world.database.beginWrite(on: world.snapshot)
                let before = held
                for _ in 0 ..< 8 {
                    if random.chance(25), let key = held.keys.sorted().randomElement(using: &random) {
                        if random.chance(50) {
                            try write.delete(world.table, ObjectKey(key))
                            held[key] = nil
                        } else {
                            let code = Self.code(&random, 40_000)
                            let isHeld = held.contains { $0.value == code && $0.key != key }
                            if isHeld {
                                #expect(throws: DatabaseError.self, "\(comment)") {
                                    try world.set(write, key, code)
                                }
                            } else {
                                try world.set(write, key, code)
                                held[key] = code
                            }
                        }
                        continue
                    }
                    let size = random.pick([1, 2, 40, 300, 1_500])
                    let space = size * 60_000
                    var codes = (0 ..< size).map { _ in Self.code(&random, space) }
                    // Values that meet by chance are few.
                    if random.chance(25) { codes[size - 1] = random.chance(50) ? codes[0] : held.values.first }
                    if let row = Self.refused(codes, Set(held.values)) {
                        let error = #expect(throws: DatabaseError.self, "\(comment)") {
                            try world.insert(write, codes)
                        }
                        #expect(error?.code == .duplicateValue, "\(comment)")
                        #expect(error?.details.rowIndex == (size > 1 ? row : nil), "\(comment)")
                        refusals += 1
                    } else {
                        try world.insert(write, codes)
                        for (row, code) in codes.enumerated() { held[next + Int64(row)] = code }
                        next += Int64(size)
                        acceptances += 1
                    }
                    if random.chance(15) { try write.checkInvariants() }
                }
                if random.chance(20) {
                    write.cancel()
                    // No key is given twice.
                    held = before
                } else {
                    try write.commit()
                }
                let view = try world.snapshot.table(world.table)
                let index = try #require(view.usableDeclaredIndexes.first)
                #expect(try view.entryCount(index) == Int(view.liveCount), "\(comment)")
                let report = try world.snapshot.verify()
                #expect(report.isSound, "\(report.text); \(comment)")
            }
        }
        #expect(acceptances > 0 && refusals > 0)
    }

    /// Of values that went to the spill file while the write went on, too.
    @Test func whatIsFarIsStillKnown() throws {
        var changes = OrderedChanges(SpillFile(), mostNear: 500)
        func hash(_ text: String) -> UInt64 { Array(text.utf8).withUnsafeBytes { OrderedHashes.hash($0) } }
        for number in 0 ..< 4_000 {
            // Asked for the first time when a part has gone there.
            let isKnown = number != 700 || changes.mayHave(hash: hash("value 3"))
            #expect(isKnown)
            Array("value \(number)".utf8).withUnsafeBytes { changes.append($0, UInt64(number), isRemoved: false) }
        }
        #expect(changes.nearCount < 500)
        let known = (0 ..< 4_000).filter { changes.mayHave(hash: hash("value \($0)")) }
        #expect(known.count == 4_000)
        let strays = (4_000 ..< 14_000).filter { changes.mayHave(hash: hash("value \($0)")) }
        // Eight runs, of each of which the filter lets about three of a hundred pass.
        #expect(strays.count < 4_000, "\(strays.count)")
    }

    @Test func aBuildFindsTheTwoThatAreTheSame() throws {
        let world = try World()
        var write = try world.database.beginWrite(on: world.snapshot)
        try world.insert(write, (0 ..< 3_000).map { $0 % 5 == 0 ? nil : "code \($0)" })
        try write.commit()
        // Everything again from the rows, in one walk.
        let index = try #require(try world.snapshot.table(world.table).usableDeclaredIndexes.first)
        write = try world.database.beginWrite(on: world.snapshot)
        try write.rebuildIndex(index.key)
        try write.commit()
        #expect(try world.snapshot.verify().isSound)
        write = try world.database.beginWrite(on: world.snapshot)
        #expect(throws: DatabaseError.self) { try world.insert(write, ["new", "code 2001"]) }
        write.cancel()
    }
}
