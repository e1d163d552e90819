// Commits that change few values of full row groups, which are patched as they are stored: after each of them readers
// see what a plain array says, within the write too, whether the column was patched, went on in a builder, was changed
// within a savepoint that was undone, or was encoded again because its time had come.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct PatchedColumnTests {
    private static let properties = ["name", "note", "age", "score", "active", "at"]
    private static let text = """
        Person { name: string, note: string?, age: int, score: double, active: bool, at: timestamp }
        """

    private static func value(_ name: String, _ random: inout SeededRandom) -> Value {
        switch name {
        case "name": .string("name \(random.below(100_000))")
        case "note": random.chance(20) ? .null : .string(String(repeating: "n", count: random.below(70)))
        // Also far below what a row group had so far.
        case "age": .int(random.chance(5) ? Int64(random.below(1 << 40)) - 1 << 39 : Int64(random.below(100)))
        case "score": .double(Double(random.below(1_000)) / 8)
        case "active": .bool(random.chance(50))
        default:
            .timestamp(
                Timestamp(
                    seconds: random.chance(5) ? Int64(random.below(1 << 40)) - 1 << 39 : Int64(random.below(9_000)),
                    nanoseconds: random.chance(5) ? 5 : 0))
        }
    }

    @Test func smallCommitsAgreeWithAnArray() throws {
        try PropertyTest.run(rounds: 2) { random, comment in
            let folder = TemporaryDirectory()
            var options = PageStoreOptions(path: folder.file("store.motte"))
            options.rowGroupSize = 100
            options.durability = .none
            let lets = random.chance(50) ? 30 : 0
            if lets > 0 { options.memoryBytes = 64 << 10 }
            if random.chance(50) { options.writeMemoryBytes = 0 }
            let database = try Database.open(options)
            let snapshot = try database.snapshot()
            _ = try database.reconcile(try SchemaText.parse(Self.text), on: snapshot)
            let type = try snapshot.schema.type(named: "Person")
            let table = try #require(type.tableKey)
            let columns = try Self.properties.map { try #require(type.property(named: $0)?.columnKey) }
            let count = 450
            var model = (0 ..< count).map { _ in Self.properties.map { Self.value($0, &random) } }
            let filling = try database.beginWrite(on: snapshot)
            for row in 0 ..< count {
                _ = try filling.create(table, primaryKey: nil)
                try set(filling, row, model[row])
            }
            try filling.commit()

            func set(_ write: WriteTransaction, _ row: Int, _ values: [Value]) throws {
                for (column, value) in zip(columns, values) {
                    try value.withView { view throws(DatabaseError) in
                        try write.set(table, column, ObjectKey(Int64(row)), to: view)
                    }
                }
            }
            func change(_ write: WriteTransaction) throws {
                let row = random.below(count), column = random.below(columns.count)
                let value = Self.value(Self.properties[column], &random)
                try value.withView { view throws(DatabaseError) in
                    try write.set(table, columns[column], ObjectKey(Int64(row)), to: view)
                }
                model[row][column] = value
                if random.chance(lets) { write.releaseMemory(butLatest: random.chance(50)) }
                try write.checkInvariants()
                expect(try write.table(table).value(columns[column], ObjectKey(Int64(row))).owned, value)
            }
            func expect(_ found: Value, _ value: Value) { #expect(found == value, "\(comment)") }
            func check(_ source: RowSource) throws {
                let view = try source.table(table)
                for row in 0 ..< count {
                    for (column, value) in zip(columns, model[row]) {
                        expect(try view.value(column, ObjectKey(Int64(row))).owned, value)
                    }
                }
            }
            let follower = try database.snapshot()
            for round in 0 ..< 120 {
                let write = try database.beginWrite(on: snapshot)
                let changes = random.chance(60) ? 1 : 1 + random.below(40)
                for _ in 0 ..< changes { try change(write) }
                if random.chance(20) {
                    let before = model
                    let savepoint = try write.savepoint()
                    for _ in 0 ..< 1 + random.below(4) { try change(write) }
                    _ = try write.rollBack(to: savepoint)
                    model = before
                }
                if random.chance(15) { try check(write) }
                try write.commit()
                if round % 5 == 0 { try check(snapshot) }
                if round % 7 == 0 {
                    _ = try database.advance(follower)
                    try check(follower)
                }
            }
            try check(try database.snapshot())
            #expect(try database.snapshot().verify().problems == [], "\(comment)")
        }
    }

    /// Rows that are not changed are not decoded: the chunk of a commit is the one before, and the text in its place.
    @Test func aPatchedColumnHasNoBuilder() throws {
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.rowGroupSize = 100
        let database = try Database.open(options)
        let snapshot = try database.snapshot()
        _ = try database.reconcile(try SchemaText.parse("Row { name: string }"), on: snapshot)
        let type = try snapshot.schema.type(named: "Row")
        let table = try #require(type.tableKey), name = try #require(type.property(named: "name")?.columnKey)
        let filling = try database.beginWrite(on: snapshot)
        for row in 0 ..< 300 {
            let key = try filling.create(table, primaryKey: nil)
            try Value.string("row \(row)").withView { view throws(DatabaseError) in
                try filling.set(table, name, key, to: view)
            }
        }
        try filling.commit()

        var patched = 0
        for round in 0 ..< 40 {
            let write = try database.beginWrite(on: snapshot)
            try Value.string("changed \(round)").withView { view throws(DatabaseError) in
                try write.set(table, name, ObjectKey(Int64(round)), to: view)
            }
            if case .patched? = try write.writer(table).overlay(0)?.columns[0]?.storage { patched += 1 }
            try write.commit()
        }
        // All but those of every 32nd version.
        #expect((38 ... 39).contains(patched))
        let chunk = try snapshot.table(table).chunk(name, 0)
        for row in 0 ..< 100 {
            #expect(chunk.view(row).owned == .string(row < 40 ? "changed \(row)" : "row \(row)"))
        }
    }
}
