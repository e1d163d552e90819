// Ordered indexes against a naive model: random histories with savepoints, every question in every order, from within
// writes and of commits; many blocks and runs; unique ones; damaged and hostile blocks.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct OrderedIndexTests {
    private static let properties = [
        Property(name: "name", type: .string, isNullable: true), Property(name: "age", type: .int),
        Property(name: "score", type: .double, isNullable: true),
    ]

    private static func ordered(_ properties: [String], _ parameters: [UInt8] = []) -> IndexDeclaration {
        IndexDeclaration(kind: "ordered", properties: properties, parameters: parameters)
    }

    private static let indexes = [
        ordered(["name"]), ordered(["age", "name"], [0, 1, 0]), ordered(["score"]),
        ordered(["name", "age"], [0, 1, 1]),
    ]

    private static func open(
        _ indexes: [IndexDeclaration] = indexes, rowGroupSize: Int = 3
    ) throws -> (Database, Snapshot) {
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.rowGroupSize = rowGroupSize
        let database = try Database.open(options)
        let snapshot = try database.snapshot()
        let type = ObjectType(name: "Person", properties: properties, indexes: indexes)
        _ = try database.reconcile(Schema([type]), on: snapshot)
        return (database, snapshot)
    }

    private struct Row {
        let name: Value
        let age: Int64
        let score: Value
    }

    private struct Rows {
        let table: TableKey
        let columns: [ColumnKey]

        init(_ source: RowSource) throws {
            let type = try source.schema.type(named: "Person")
            table = try #require(type.tableKey)
            columns = try ["name", "age", "score"].map { try #require(type.property(named: $0)?.columnKey) }
        }

        @discardableResult
        func insert(_ write: WriteTransaction, _ rows: [Row]) throws -> ObjectKey {
            try withViews(rows.flatMap { [$0.name, .int($0.age), $0.score] }) { cells in
                try cells.withUnsafeBufferPointer {
                    try write.insertBatch(table, columns: columns, rows: $0.baseAddress, rowCount: rows.count)
                }
            }
        }

        /// Texts in one place, so that any number of them can be viewed at once.
        private func withViews<Answer>(_ values: [Value], _ body: ([ValueView]) throws -> Answer) throws -> Answer {
            var bytes: [UInt8] = []
            var places: [Range<Int>] = []
            for value in values {
                let start = bytes.count
                if case .string(let text) = value { bytes += Array(text.utf8) }
                places.append(start ..< bytes.count)
            }
            return try bytes.withUnsafeBytes { bytes in
                try body(
                    zip(values, places).map { value, place in
                        switch value {
                        case .string: .string(UnsafeRawBufferPointer(rebasing: bytes[place]))
                        case .int(let int): .int(int)
                        case .double(let double): .double(double)
                        default: .null
                        }
                    })
            }
        }

        func set(_ write: WriteTransaction, _ slot: Int, _ key: Int64, _ value: Value) throws {
            try value.withView { view throws(DatabaseError) in
                try write.set(table, columns[slot], ObjectKey(key), to: view)
            }
        }

        func keys(_ source: RowSource) throws -> [Int64] {
            let view = try source.table(table)
            return try (0 ..< view.nextKey).filter { try view.locate(ObjectKey($0)) != nil }
        }

        func all(_ source: RowSource) throws -> [(key: Int64, values: [Value])] {
            let view = try source.table(table)
            return try keys(source).map { key in
                (key, try columns.map { try view.value($0, ObjectKey(key)).owned })
            }
        }
    }

    // MARK: The model

    private static func compare(_ left: Value, _ right: Value) -> Int {
        left.withView { left in right.withView { ValueOrdering.compare(left, $0) } }
    }

    private static func order(
        _ left: (key: Int64, values: [Value]), _ right: (key: Int64, values: [Value]), _ index: [(Int, Bool)]
    ) -> Bool {
        for (slot, isDescending) in index {
            let order = compare(left.values[slot], right.values[slot])
            if order != 0 { return isDescending ? order > 0 : order < 0 }
        }
        return left.key < right.key
    }

    private static let shapes: [[(Int, Bool)]] = [
        [(0, false)], [(1, true), (0, false)], [(2, false)], [(0, true), (1, true)],
    ]

    private static func check(_ source: RowSource, _ rows: Rows, _ random: inout SeededRandom, _ comment: String) throws
    {
        let view = try source.table(rows.table)
        let all = try rows.all(source)
        let indexes = view.usableDeclaredIndexes
        try #require(indexes.count == 4)
        for (index, shape) in zip(indexes, shapes) {
            #expect(try view.entryCount(index) == all.count, "\(index.text) \(comment)")
            let sorted = all.sorted { order($0, $1, shape) }
            var questions: [(IndexQuestion, ([Value]) -> Bool)] = [(.all, { _ in true })]
            let sample = all.isEmpty ? [Value.string("a"), .int(1), .double(1)] : random.pick(all).values
            let other = all.isEmpty ? [Value.null, .int(2), .null] : random.pick(all).values
            let leading = Array(shape.map { sample[$0.0] }.prefix(1 + random.below(shape.count)))
            questions.append(
                (.equal(leading), { values in zip(shape, leading).allSatisfy { compare(values[$0.0], $1) == 0 } }))
            let first = shape[0].0
            let (isLow, isHigh) = (random.chance(50), random.chance(50))
            if sample[first] != .null, other[first] != .null {
                questions.append(
                    (
                        .range(
                            [], lower: IndexBound(sample[first], isIncluded: isLow),
                            upper: IndexBound(other[first], isIncluded: isHigh)),
                        { values in
                            let value = values[first]
                            let (low, high) = (compare(value, sample[first]), compare(value, other[first]))
                            return value != .null && (isLow ? low >= 0 : low > 0) && (isHigh ? high <= 0 : high < 0)
                        }
                    ))
                questions.append(
                    (
                        .range([], lower: nil, upper: IndexBound(sample[first], isIncluded: isHigh)),
                        { values in
                            let order = compare(values[first], sample[first])
                            return values[first] != .null && (isHigh ? order <= 0 : order < 0)
                        }
                    ))
            }
            if case .string(let text) = sample[0], first == 0 {
                let prefix = Array(text.utf8.prefix(random.below(4)))
                questions.append(
                    (
                        .prefix([], prefix),
                        { values in
                            if case .string(let text) = values[0] { return Array(text.utf8).starts(with: prefix) }
                            return false
                        }
                    ))
            }
            for (question, passes) in questions {
                let wanted = sorted.filter { passes($0.values) }
                let note: Comment = "\(index.text) \(question) \(comment)"
                let estimate = try #require(try view.estimate(index, question), note)
                #expect(estimate.rows == wanted.count && estimate.isCounted && estimate.isExact, note)
                var keys: [Int64] = []
                try view.keys(index, question, into: &keys)
                #expect(keys == wanted.map(\.key).sorted(), note)
                let limit = random.chance(50) ? Int.max : random.below(5)
                keys = []
                try view.keys(index, question, order: .ascending, limit: limit, into: &keys)
                #expect(keys == Array(wanted.map(\.key).prefix(limit)), note)
                keys = []
                try view.keys(index, question, order: .descending, limit: limit, into: &keys)
                let backwards = wanted.sorted { left, right in
                    for (slot, isDescending) in shape {
                        let order = compare(left.values[slot], right.values[slot])
                        if order != 0 { return isDescending ? order < 0 : order > 0 }
                    }
                    return left.key < right.key
                }
                #expect(keys == Array(backwards.map(\.key).prefix(limit)), note)
            }
        }
    }

    private static func row(_ random: inout SeededRandom) -> Row {
        let names: [Value] = [
            .null, .string(""), .string("a"), .string("ab"), .string("a\u{0}"), .string("a\u{0}b"), .string("b\u{FF}"),
            .string("name \(random.below(40))"),
            .string(String(repeating: "long and ", count: 9) + "\(random.below(3))"),
        ]
        let scores: [Value] = [
            .null, .double(0), .double(-0.0), .double(-1.5), .double(.infinity), .double(-.infinity),
        ]
        return Row(name: random.pick(names), age: Int64(random.below(9)) - 4, score: random.pick(scores))
    }

    private static func step(_ write: WriteTransaction, _ rows: Rows, _ random: inout SeededRandom) throws {
        let all = try rows.keys(write)
        let key = all.isEmpty ? nil : random.pick(all)
        let row = row(&random)
        switch random.below(10) {
        case 0 ... 3: try rows.insert(write, (0 ..< (random.chance(20) ? 60 : 1)).map { _ in Self.row(&random) })
        case 4: if let key { try rows.set(write, 0, key, row.name) }
        case 5: if let key { try rows.set(write, 1, key, .int(row.age)) }
        case 6: if let key { try rows.set(write, 2, key, row.score) }
        case 7 ... 8: if let key { try write.delete(rows.table, ObjectKey(key)) }
        default: if random.chance(15) { try write.deleteAll(rows.table) }
        }
    }

    private static func undone(
        _ write: WriteTransaction, _ rows: Rows, _ random: inout SeededRandom, depth: Int
    ) throws {
        let savepoint = try write.savepoint()
        for _ in 0 ..< random.below(8) { try step(write, rows, &random) }
        if depth < 2, random.chance(40) { try undone(write, rows, &random, depth: depth + 1) }
        if random.chance(60) { _ = try write.rollBack(to: savepoint) } else { try write.release(savepoint) }
        try write.checkInvariants()
    }

    @Test(arguments: [3, 480]) func historiesAreThoseOfTheModel(rowGroupSize: Int) throws {
        try PropertyTest.run(rounds: 3) { random, comment in
            let (database, snapshot) = try Self.open(rowGroupSize: rowGroupSize)
            let rows = try Rows(snapshot)
            let follower = try database.snapshot()
            for round in 0 ..< 10 {
                let write = try database.beginWrite(on: snapshot)
                for _ in 0 ..< 1 + random.below(3) {
                    for _ in 0 ..< random.below(12) { try Self.step(write, rows, &random) }
                    try Self.undone(write, rows, &random, depth: 0)
                    try write.checkInvariants()
                }
                try Self.check(write, rows, &random, comment)
                if random.chance(20) { write.cancel() } else { try write.commit() }
                try Self.check(snapshot, rows, &random, comment)
                if round % 3 == 1 {
                    _ = try database.advance(follower)
                    try Self.check(follower, rows, &random, comment)
                }
                if round % 4 == 3 {
                    let report = try snapshot.verify()
                    #expect(report.isSound, "\(report.text); \(comment)")
                }
            }
        }
    }

    // MARK: Many

    @Test func manyEntriesComeAndGo() throws {
        try PropertyTest.run(rounds: 1) { random, comment in
            let (database, snapshot) = try Self.open(rowGroupSize: 480)
            let rows = try Rows(snapshot)
            for _ in 0 ..< 3 {
                let write = try database.beginWrite(on: snapshot)
                try rows.insert(
                    write,
                    (0 ..< 3_000).map { number in
                        Row(
                            name: .string("name \(number % 700) \(random.below(4) == 0 ? "x" : "")"), age: 7,
                            score: .double(Double(random.below(2_000))))
                    })
                try write.commit()
            }
            try Self.check(snapshot, rows, &random, comment)
            #expect(try snapshot.verify().isSound)
            for _ in 0 ..< 3 {
                let write = try database.beginWrite(on: snapshot)
                for key in try rows.keys(write) where random.chance(70) { try write.delete(rows.table, ObjectKey(key)) }
                try write.commit()
                try Self.check(snapshot, rows, &random, comment)
                let report = try snapshot.verify()
                #expect(report.isSound, "\(report.text); \(comment)")
            }
        }
    }

    /// Runs and their texts that lie in the spill file answer and commit as those in memory.
    @Test func changesThatSpillAreMerged() throws {
        let spill = SpillFile()
        var changes = OrderedChanges(spill, mostNear: 100)
        var expected: Set<String> = []
        var random = SeededRandom(seed: 7)
        for number in 0 ..< 2_000 {
            let text = "text \(random.below(5_000))"
            if expected.contains(text) { continue }
            expected.insert(text)
            // Ended, as all bytes of values are.
            (Array(text.utf8) + [0, 0]).withUnsafeBytes {
                changes.append($0, UInt64(number), isRemoved: false)
            }
        }
        try changes.checkInvariants()
        var found: [String] = []
        try changes.forEach { change throws(DatabaseError) in
            found.append(String(decoding: change.bytes.dropLast(2), as: UTF8.self))
        }
        #expect(found == expected.sorted())
        let span = OrderedSpan(low: Array("text 2".utf8), high: Array("text 3".utf8))
        let within = changes.changes(in: span).map { String(decoding: $0.bytes.dropLast(2), as: UTF8.self) }
        #expect(within == expected.filter { $0.hasPrefix("text 2") }.sorted())
    }

    @Test func longTextsShareWhatIsKeptOfThem() throws {
        let (database, snapshot) = try Self.open([Self.ordered(["name"])])
        let rows = try Rows(snapshot)
        let long = String(repeating: "x", count: 600)
        let write = try database.beginWrite(on: snapshot)
        try rows.insert(
            write, ["1", "2", "1"].map { Row(name: .string(long + $0), age: 0, score: .null) })
        try write.commit()
        let view = try snapshot.table(rows.table)
        let index = try #require(view.usableDeclaredIndexes.first)
        let estimate = try #require(try view.estimate(index, .equal([.string(long + "1")])))
        #expect(estimate.rows == 3 && !estimate.isExact)
        #expect(try view.estimate(index, .prefix([], Array("xxx".utf8)))?.isExact == true)
        #expect(try snapshot.verify().isSound)
    }

    // MARK: Unique

    private static func uniqueWorld() throws -> (Database, Snapshot, Rows) {
        let (database, snapshot) = try open([.unique("name")])
        return (database, snapshot, try Rows(snapshot))
    }

    private static func named(_ names: [String?]) -> [Row] {
        names.map { Row(name: $0.map { .string($0) } ?? .null, age: 0, score: .null) }
    }

    @Test func aUniqueValueIsRefusedBeforeAnythingChanges() throws {
        let (database, snapshot, rows) = try Self.uniqueWorld()
        #expect(snapshot.schema["Person"]?.property(named: "name")?.isUnique == true)
        var write = try database.beginWrite(on: snapshot)
        try rows.insert(write, Self.named(["a", "b", nil, nil]))
        let cases: [([String?], Int?, String)] = [
            (["b"], nil, "object 1"), (["c", "b"], 1, "object 1"), (["c", "d", "c"], 2, "row 0 of this call"),
        ]
        for isCommitted in [false, true] {
            if isCommitted {
                try write.commit()
                write = try database.beginWrite(on: snapshot)
            }
            for (names, row, other) in cases {
                let error = #expect(throws: DatabaseError.self) { try rows.insert(write, Self.named(names)) }
                #expect(error?.code == .duplicateValue && error?.details.rowIndex == row, "\(names)")
                #expect(error?.message.contains("Person.name") == true && error?.message.contains(other) == true)
            }
            let error = #expect(throws: DatabaseError.self) { try rows.set(write, 0, 2, .string("a")) }
            #expect(error?.message.contains("object 2") == true && error?.message.contains("object 0") == true)
            // What it has already, and null any number of times.
            try rows.set(write, 0, 0, .string("a"))
            try rows.set(write, 0, 2, .null)
            #expect(try rows.keys(write) == [0, 1, 2, 3])
        }
        // A value that was given up or deleted is free.
        try rows.set(write, 0, 0, .string("z"))
        try rows.set(write, 0, 2, .string("a"))
        try write.delete(rows.table, ObjectKey(1))
        try rows.set(write, 0, 3, .string("b"))
        let savepoint = try write.savepoint()
        try rows.set(write, 0, 0, .string("y"))
        _ = try write.rollBack(to: savepoint)
        #expect(throws: DatabaseError.self) { try rows.insert(write, Self.named(["z"])) }
        try rows.insert(write, Self.named(["y"]))
        let long = #expect(throws: DatabaseError.self) {
            try rows.insert(write, Self.named([String(repeating: "x", count: 500)]))
        }
        #expect(long?.code == .valueTooLarge)
        try write.commit()
        #expect(try snapshot.verify().isSound)
    }

    @Test func aDuplicateKeepsAClassFromBecomingUnique() throws {
        let (database, snapshot) = try Self.open([])
        let rows = try Rows(snapshot)
        var write = try database.beginWrite(on: snapshot)
        try rows.insert(write, Self.named(["a", "b", nil, nil, "a"]))
        try write.commit()
        var unique = Self.properties
        unique[0].isUnique = true
        let declared = Schema([ObjectType(name: "Person", properties: unique)])
        let error = #expect(throws: DatabaseError.self) { _ = try database.reconcile(declared, on: snapshot) }
        #expect(error?.code == .duplicateValue, "\(String(describing: error))")
        #expect(error?.message.contains("object 4") == true && error?.message.contains("object 0") == true)
        #expect(snapshot.schema["Person"]?.property(named: "name")?.isUnique == false)
        write = try database.beginWrite(on: snapshot)
        try rows.set(write, 0, 4, .string("c"))
        try write.commit()
        #expect(try database.reconcile(declared, on: snapshot))
        #expect(snapshot.schema["Person"]?.property(named: "name")?.isUnique == true)
        write = try database.beginWrite(on: snapshot)
        #expect(throws: DatabaseError.self) { try rows.set(write, 0, 4, .string("a")) }
        write.cancel()
        // The rule is the file's: who does not declare it keeps it.
        #expect(
            try !database.reconcile(Schema([ObjectType(name: "Person", properties: Self.properties)]), on: snapshot))
        #expect(snapshot.schema["Person"]?.property(named: "name")?.isUnique == true)
    }

    // MARK: Damage

    private static func blocks(_ snapshot: Snapshot) throws -> [(key: [UInt8], value: [UInt8])] {
        let cursor = try snapshot.pages.makeCursor()
        var found: [(key: [UInt8], value: [UInt8])] = []
        var isThere = try cursor.seek([7])
        while isThere, cursor.key.first == 7 {
            found.append(([UInt8](cursor.key), [UInt8](cursor.value.bytes)))
            isThere = try cursor.next()
        }
        return found
    }

    private static func replace(_ database: Database, _ key: [UInt8], _ value: [UInt8]?) throws {
        var batch = PageBatch()
        if let value { batch.put(key, value) } else { batch.delete(key) }
        let lock = try database.pages.lockForWriting(timeoutMilliseconds: 0)
        defer { lock.release() }
        try database.pages.commit(batch, lock: lock, version: Version(try database.latestVersion().rawValue + 1))
    }

    @Test func anyChangedByteOfABlockIsFound() throws {
        let (database, snapshot) = try Self.open([Self.ordered(["name"])])
        let rows = try Rows(snapshot)
        let write = try database.beginWrite(on: snapshot)
        try rows.insert(write, Self.named((0 ..< 40).map { $0 % 7 == 0 ? nil : "name \($0 % 11)" }))
        try write.commit()
        let (key, sound) = try #require(try Self.blocks(snapshot).first)
        for place in sound.indices {
            var damaged = sound
            damaged[place] ^= 1 << UInt8(place % 8)
            #expect(throws: DatabaseError.self, "byte \(place)") {
                try damaged.withUnsafeBytes { value in
                    try key.withUnsafeBytes { _ = try OrderedBlock(validating: value, pageKey: $0) }
                }
            }
        }
        // Where the checksum fits, reading ends and stays within the block, and verification sees what is wrong.
        try PropertyTest.run(rounds: 1) { random, comment in
            for _ in 0 ..< 400 {
                var hostile = sound
                for _ in 0 ..< 1 + random.below(3) { hostile[random.below(hostile.count)] = UInt8(random.below(256)) }
                hostile[0] = OrderedBlock.kind
                hostile[1] = OrderedBlock.format
                hostile.withUnsafeMutableBytes { IndexBlock.seal($0, key) }
                hostile.withUnsafeBytes { value in
                    key.withUnsafeBytes { key in
                        guard let block = try? OrderedBlock(validating: value, pageKey: key) else { return }
                        let items = OrderedItems()
                        items.append(block)
                        #expect(items.count == block.entryCount, "\(comment)")
                    }
                }
            }
        }
        for damaged in [nil, Array(sound.dropLast())] as [[UInt8]?] {
            try Self.replace(database, key, damaged)
            #expect(try database.snapshot().verify().text.contains("ordered index of name"))
            try Self.replace(database, key, sound)
            #expect(try !database.snapshot().verify().text.contains("ordered index of name"))
        }
        // Entries of rows that are not so.
        let wrong = OrderedItems()
        wrong.append(UnsafeRawBufferPointer(start: nil, count: 0), 3)
        var batch = PageBatch()
        OrderedEncoder(prefix: Array(key.prefix(5))).put(wrong, bound: [], into: &batch)
        let lock = try database.pages.lockForWriting(timeoutMilliseconds: 0)
        try database.pages.commit(batch, lock: lock, version: Version(try database.latestVersion().rawValue + 1))
        lock.release()
        let report = try database.snapshot().verify()
        #expect(!report.isSound && report.text.contains("ordered index of name of Person lacks 40"), "\(report.text)")
    }
}
