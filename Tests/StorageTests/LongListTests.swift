// Long lists beside a plain array: random edits, commits, cancelled and failing commits, with blocks so small that the
// tree is several levels deep; what an edit of a list of a million reads and writes; what is left of a deleted one.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct LongListTests {
    static let small = LongListShape(leafElements: 4, leafBytes: 60, fanout: 3, inlineLimit: 6, returnLimit: 3)

    static func schema(_ type: String) throws -> Schema {
        try SchemaText.parse("Row { number: int, items: list<\(type)> }")
    }

    struct Store {
        let database: Database
        let snapshot: Snapshot
        let table: TableKey
        let items: ColumnKey
        let faults = FaultInjection()

        init(_ type: String, rowGroupSize: Int) throws {
            var options = PageStoreOptions(location: .memory(identifier: nil))
            options.rowGroupSize = rowGroupSize
            options.faults = faults
            database = try Database.open(options)
            snapshot = try database.snapshot()
            _ = try database.reconcile(try LongListTests.schema(type), on: snapshot)
            let row = try snapshot.schema.type(named: "Row")
            table = try #require(row.tableKey)
            items = try #require(row.property(named: "items")?.columnKey)
        }

        func write(_ shape: LongListShape) throws -> WriteTransaction {
            let write = try database.beginWrite(on: snapshot)
            write.listShape = shape
            return write
        }

        /// The keys and values of all nodes of long lists.
        func nodes(in snapshot: Snapshot) throws -> [[UInt8]: [UInt8]] {
            let cursor = try snapshot.pages.makeCursor()
            var nodes: [[UInt8]: [UInt8]] = [:]
            var found = try cursor.seek([KeySpace.longLists])
            while found, cursor.key.first == KeySpace.longLists {
                nodes[[UInt8](cursor.key)] = [UInt8](cursor.value.bytes)
                found = try cursor.next()
            }
            return nodes
        }
    }

    // MARK: Random edits

    @Test(arguments: ["int", "string?"], [true, false])
    func randomEditsAgreeWithAnArray(type: String, isSmall: Bool) throws {
        try PropertyTest.run(rounds: 3) { random, comment in
            let store = try Store(type, rowGroupSize: isSmall ? 3 : 480)
            let shape = isSmall ? Self.small : .standard
            let setup = try store.write(shape)
            let keys = try (0 ..< 4).map { _ in try setup.create(store.table, primaryKey: nil) }
            try setup.commit()
            var model: [ObjectKey: [Value]] = [:]
            for _ in 0 ..< 25 {
                let write = try store.write(shape)
                var edited = model
                let beforeLists = model
                for _ in 0 ..< random.below(40) {
                    let key = random.pick(keys)
                    var list = edited[key] ?? []
                    try Self.edit(&list, write, store, key, type, isSmall ? 12 : 300, &random)
                    edited[key] = list
                    #expect(try write.table(store.table).listCount(store.items, key) == list.count, "\(comment)")
                }
                for key in keys { try Self.check(edited[key] ?? [], write, store, key, &random, comment) }
                switch random.below(6) {
                case 0: write.cancel()
                case 1 where write.hasChanges:
                    store.faults.failCommit(1)
                    #expect(throws: DatabaseError.self) { try write.commit() }
                    for key in keys { try Self.check(edited[key] ?? [], write, store, key, &random, comment) }
                    fallthrough
                default:
                    let before = store.snapshot.version
                    try write.commit()
                    model = edited
                    let changes = try store.database.changes(from: before, to: store.snapshot)
                    for key in keys {
                        let edits = changes?.tables.first?.list(store.items, key.rawValue)?.operations ?? []
                        Self.replay(edits, from: beforeLists[key] ?? [], to: model[key] ?? [], comment)
                    }
                }
                for key in keys { try Self.check(model[key] ?? [], store.snapshot, store, key, &random, comment) }
                try Self.checkNodes(store, model)
            }
            let last = try store.write(shape)
            for key in keys { try last.delete(store.table, key) }
            try last.commit()
            #expect(try store.nodes(in: store.snapshot).isEmpty, "\(comment)")
        }
    }

    private static func randomValue(_ type: String, _ random: inout SeededRandom) -> Value {
        if type == "int" { return .int(Int64(random.below(1_000_000))) }
        if random.below(6) == 0 { return .null }
        return .string(String(repeating: "ab", count: random.below(12)) + "\(random.below(100))")
    }

    private static func edit(
        _ list: inout [Value], _ write: WriteTransaction, _ store: Store, _ key: ObjectKey, _ type: String,
        _ most: Int, _ random: inout SeededRandom
    ) throws {
        let table = store.table
        let items = store.items
        switch random.below(12) {
        case 0 ... 2:
            let values = (0 ..< random.below(most) + 1).map { _ in randomValue(type, &random) }
            let index = random.below(3) == 0 ? list.count : random.below(list.count + 1)
            try withViews(values) { try write.listInsert(table, items, key, at: index, $0) }
            list.insert(contentsOf: values, at: index)
        case 3, 4:
            let value = randomValue(type, &random)
            let index = random.below(list.count + 1)
            try withViews([value]) { try write.listInsert(table, items, key, at: index, $0) }
            list.insert(value, at: index)
        case 5 where !list.isEmpty:
            let index = random.below(list.count)
            let value = randomValue(type, &random)
            try withViews([value]) { try write.listSet(table, items, key, at: index, $0[0]) }
            list[index] = value
        case 6 where !list.isEmpty:
            let from = random.below(list.count)
            let to = random.below(list.count)
            try write.listMove(table, items, key, from: from, to: to)
            list.insert(list.remove(at: from), at: to)
        case 7 where !list.isEmpty:
            let first = random.below(list.count)
            let second = random.below(list.count)
            try write.listSwap(table, items, key, first, second)
            list.swapAt(first, second)
        case 8 where !list.isEmpty:
            let start = random.below(list.count)
            let count = random.below(list.count - start + 1)
            let values = (0 ..< random.below(5)).map { _ in randomValue(type, &random) }
            try withViews(values) {
                try write.listSplice(table, items, key, at: start, removing: count, inserting: $0)
            }
            list.replaceSubrange(start ..< start + count, with: values)
        case 9 where random.below(4) == 0:
            try write.listClear(table, items, key)
            list.removeAll()
        case 10 where !list.isEmpty:
            // A list may be given its own elements.
            let index = random.below(list.count)
            let place = random.below(list.count + 1)
            let view = try write.table(table).listElement(items, key, index)
            try write.listInsert(table, items, key, at: place, [view])
            list.insert(list[index], at: place)
        default:
            guard !list.isEmpty else { return }
            let start = random.below(list.count)
            let count = random.below(min(list.count - start, most)) + 1
            try write.listRemove(table, items, key, at: start, count: count)
            list.removeSubrange(start ..< start + count)
        }
    }

    private static func check(
        _ expected: [Value], _ source: RowSource, _ store: Store, _ key: ObjectKey, _ random: inout SeededRandom,
        _ comment: String
    ) throws {
        let view = try source.table(store.table)
        var all: [Value] = []
        try view.listValues(store.items, key) { chunk, range in
            for index in range { all.append(chunk.view(index).owned) }
        }
        #expect(all == expected, "\(comment)")
        guard all == expected, !expected.isEmpty else { return }
        for _ in 0 ..< 5 {
            let index = random.below(expected.count)
            let limit = random.below(expected.count)
            #expect(try view.listElement(store.items, key, index).owned == expected[index], "\(comment)")
            var part: [Value] = []
            try view.listValues(store.items, key, from: index, limit: limit) { chunk, range in
                for index in range { part.append(chunk.view(index).owned) }
            }
            #expect(part == Array(expected[index...].prefix(limit)), "\(comment)")
        }
        #expect(throws: DatabaseError.self) { try view.listElement(store.items, key, expected.count) }
        #expect(throws: DatabaseError.self) { try view.listElement(store.items, key, -1) }
    }

    /// Elements that the log does not call new have to be those that were there.
    static func replay(
        _ operations: [ListOperation], from old: [Value], to new: [Value], _ comment: String
    ) {
        var list: [Value?] = old
        for operation in operations {
            let index = operation.index
            let count = operation.count
            switch operation.kind {
            case .insert: list.insert(contentsOf: [Value?](repeating: nil, count: count), at: index)
            case .remove: list.removeSubrange(index ..< index + count)
            case .set: for position in index ..< index + count { list[position] = nil }
            case .move: list.insert(list.remove(at: index), at: operation.destination)
            case .clear: list.removeAll()
            }
        }
        #expect(list.count == new.count, "\(comment)")
        for (logged, value) in zip(list, new) { if let logged { #expect(logged == value, "\(comment)") } }
    }

    /// No node is left behind, and none is out of bounds.
    private static func checkNodes(_ store: Store, _ model: [ObjectKey: [Value]]) throws {
        var reachable = 0
        let directory = try store.snapshot.directory(store.table)
        for (key, list) in model {
            let reader = directory.makeLongListReader(1, key)
            guard !(try reader.storedKeys().isEmpty) else { continue }
            let root = try reader.inner(0, level: nil)
            #expect(root.total == list.count)
            reachable += 1 + (try count(root, reader))
        }
        #expect(try store.nodes(in: store.snapshot).count == reachable)
    }

    private static func count(_ node: LongListInner, _ reader: LongListReader) throws -> Int {
        guard node.level > 1 else { return node.childCount }
        return try (0 ..< node.childCount).reduce(node.childCount) { sum, child in
            sum + (try count(try reader.inner(node.id(of: child), level: node.level - 1), reader))
        }
    }

    static func withViews<T>(_ values: [Value], _ body: ([ValueView]) throws -> T) throws -> T {
        func lend(_ index: Int, _ views: [ValueView]) throws -> T {
            guard index < values.count else { return try body(views) }
            var result: T?
            var failure: (any Error)?
            values[index].withView { view in
                do { result = try lend(index + 1, views + [view]) } catch { failure = error }
            }
            if let failure { throw failure }
            return try #require(result)
        }
        return try lend(0, [])
    }

    // MARK: A million

    @Test func anEditOfAMillionTouchesOnePath() throws {
        let store = try Store("int", rowGroupSize: 480)
        let fill = try store.write(.standard)
        let key = try fill.create(store.table, primaryKey: nil)
        try fill.listInsert(store.table, store.items, key, at: 0, (0 ..< 1_000_000).map { .int($0) })
        try fill.commit()
        let full = try store.nodes(in: store.snapshot)
        #expect(full.count < 1_000_000 / 512 + 20)

        let edits: [(String, Int, (WriteTransaction) throws -> Void)] = [
            ("insert", 5, { try $0.listInsert(store.table, store.items, key, at: 700_000, [.int(7)]) }),
            ("remove", 4, { try $0.listRemove(store.table, store.items, key, at: 300_000) }),
            ("set", 1, { try $0.listSet(store.table, store.items, key, at: 500_000, .int(8)) }),
            ("move", 7, { try $0.listMove(store.table, store.items, key, from: 10, to: 900_000) }),
            ("swap", 2, { try $0.listSwap(store.table, store.items, key, 20, 800_000) }),
            (
                "splice", 5,
                {
                    try $0.listSplice(store.table, store.items, key, at: 400_000, removing: 3, inserting: [.int(9)])
                }
            ),
        ]
        for (name, most, edit) in edits {
            let before = try store.nodes(in: store.snapshot)
            let write = try store.write(.standard)
            let decoded = store.database.counters.read().chunksDecoded
            try edit(write)
            let opened = store.database.counters.read().chunksDecoded - decoded
            try write.commit()
            let after = try store.nodes(in: store.snapshot)
            let changed = after.filter { before[$0.key] != $0.value }.count
            #expect(changed >= 1 && changed <= most, "\(name) wrote \(changed) nodes")
            #expect(opened <= 10, "\(name) read \(opened) nodes")
        }

        let decoded = store.database.counters.read().chunksDecoded
        #expect(try store.database.snapshot().table(store.table).listElement(store.items, key, 654_321).intValue > 0)
        #expect(store.database.counters.read().chunksDecoded - decoded <= 4)

        let delete = try store.write(.standard)
        try delete.delete(store.table, key)
        try delete.commit()
        #expect(try store.nodes(in: store.snapshot).isEmpty)
    }

    @Test func manyEditsInOneWriteStayFast() throws {
        let store = try Store("int", rowGroupSize: 480)
        let write = try store.write(.standard)
        let key = try write.create(store.table, primaryKey: nil)
        var random = SeededRandom(seed: PropertyTest.firstSeed)
        let count = TestScale.times(100_000)
        var sum: Int64 = 0
        for number in 0 ..< count {
            try write.listInsert(store.table, store.items, key, at: random.below(number + 1), [.int(Int64(number))])
            sum += Int64(number)
        }
        try write.commit()
        var found: Int64 = 0
        try store.snapshot.table(store.table).listValues(store.items, key) { chunk, range in
            for index in range { found += chunk.int(index) }
        }
        #expect(found == sum)
        #expect(try store.snapshot.table(store.table).listCount(store.items, key) == count)
    }

    // MARK: Damage

    /// A list of 60 of which the root was replaced, or the first node below it, in a store of its own.
    private func store(
        belowRoot: Bool = false, replacing change: (inout [(id: UInt32, count: Int)], inout UInt32) -> Void
    ) throws -> (store: Store, key: ObjectKey, snapshot: Snapshot) {
        let store = try Store("int", rowGroupSize: 480)
        let fill = try store.write(Self.small)
        let key = try fill.create(store.table, primaryKey: nil)
        try fill.listInsert(store.table, store.items, key, at: 0, (0 ..< 60).map { .int($0) })
        try fill.commit()
        let reader = try store.snapshot.directory(store.table).makeLongListReader(1, key)
        let root = try reader.inner(0, level: nil)
        #expect(root.level > 1)
        let id = belowRoot ? root.id(of: 0) : 0
        let node = try reader.inner(id, level: nil)
        var children = (0 ..< node.childCount).map { (id: node.id(of: $0), count: node.elements(of: $0)) }
        var nextID = node.nextID
        change(&children, &nextID)
        let nodeKey = reader.key(id)
        var batch = PageBatch()
        batch.put(
            nodeKey, LongListInner.encode(level: node.level, nextID: nextID, children: children, key: nodeKey))
        let lock = try store.database.pages.lockForWriting(timeoutMilliseconds: 0)
        defer { lock.release() }
        let version = Version(try store.database.latestVersion().rawValue + 1)
        try store.database.pages.commit(batch, lock: lock, version: version)
        return (store, key, try store.database.snapshot().copy())
    }

    /// Readers and writers alike: each has its own way to the root and from there.
    @Test(arguments: [false, true]) func nodesWithOtherThanTheListsElementsAreAnError(belowRoot: Bool) throws {
        let (store, key, snapshot) = try store(belowRoot: belowRoot) { children, _ in children.removeLast() }
        let what = belowRoot ? "has a wrong count" : "has a wrong number of elements"
        let view = try snapshot.table(store.table)
        #expect(try view.listCount(store.items, key) == 60)
        let write = try store.database.beginWrite(on: snapshot)
        write.listShape = Self.small
        for body in [
            { try view.listValues(store.items, key) { _, _ in } }, { _ = try view.listElement(store.items, key, 0) },
            { try write.listInsert(store.table, store.items, key, at: 0, [.int(1)]) },
            { try write.listSet(store.table, store.items, key, at: 3, .int(1)) },
            { try write.listRemove(store.table, store.items, key, at: 3) },
        ] as [() throws -> Void] {
            let error = try #require(throws: DatabaseError.self) { try body() }
            #expect(error.code == .corrupted && error.message.contains(what), "\(error)")
        }
        write.cancel()
        let problems = try snapshot.verify().problems
        #expect(problems.contains { $0.contains(what) }, "\(problems)")
    }

    /// After more edits than numbers for nodes the list is refused, and the way out that the message names is one.
    @Test func aListThatHasNoMoreNumbersCanBeClearedAndRefilled() throws {
        let limit = UInt32.max - 1 << 24
        let (store, key, snapshot) = try store { _, nextID in nextID = limit }
        func insert(_ write: WriteTransaction) throws {
            try write.listInsert(store.table, store.items, key, at: 30, [.int(7)])
        }
        let write = try store.database.beginWrite(on: snapshot)
        write.listShape = Self.small
        let error = try #require(throws: DatabaseError.self) { try insert(write) }
        #expect(error.code == .valueTooLarge && error.message.contains("clear and refill it"), "\(error)")
        #expect(try write.table(store.table).listCount(store.items, key) == 60)
        // Changing and removing makes no nodes.
        try write.listSet(store.table, store.items, key, at: 0, .int(5))
        try write.listClear(store.table, store.items, key)
        try write.listInsert(store.table, store.items, key, at: 0, (0 ..< 40).map { .int($0) })
        try insert(write)
        try write.commit()
        let again = try store.database.beginWrite(on: snapshot)
        again.listShape = Self.small
        try insert(again)
        try again.commit()
        var found: [Int64] = []
        try snapshot.table(store.table).listValues(store.items, key) { chunk, range in
            for index in range { found.append(chunk.int(index)) }
        }
        #expect(found == Array(0 ..< 30) + [7, 7] + Array(30 ..< 40))
        // The log knows nothing of the version that this test made.
        let problems = try snapshot.verify().problems.filter { !$0.contains("log") }
        #expect(problems == [])
    }

    /// The numbers of its nodes are given out again: what they meant before must not be counted twice, nor come back.
    @Test(arguments: [false, true]) func aClearedListKeepsAccountOfItsLongValues(goesBack: Bool) throws {
        let store = try Store("string", rowGroupSize: 480)
        func text(_ letter: String, _ number: Int) -> Value {
            .string(String(repeating: letter, count: 6_000 + number))
        }
        func refill(_ write: WriteTransaction, _ key: ObjectKey, _ letter: String) throws {
            try write.listClear(store.table, store.items, key)
            try Self.withViews((0 ..< 12).map { text(letter, $0) }) {
                try write.listInsert(store.table, store.items, key, at: 0, $0)
            }
        }
        let setup = try store.write(Self.small)
        let key = try setup.create(store.table, primaryKey: nil)
        try refill(setup, key, "a")
        try setup.commit()
        for letter in ["b", "c"] {
            let write = try store.write(Self.small)
            if goesBack {
                let savepoint = try write.savepoint()
                try refill(write, key, "x")
                _ = try write.rollBack(to: savepoint)
                try Self.withViews([text("y", 0)]) { try write.listInsert(store.table, store.items, key, at: 5, $0) }
                try write.listRemove(store.table, store.items, key, at: 5)
            }
            try refill(write, key, letter)
            try write.listRemove(store.table, store.items, key, at: 2, count: 7)
            try write.commit()
            var found: [Value] = []
            try store.snapshot.table(store.table).listValues(store.items, key) { chunk, range in
                for index in range { found.append(chunk.view(index).owned) }
            }
            #expect(found == [0, 1, 9, 10, 11].map { text(letter, $0) })
            #expect(try store.snapshot.verify().problems == [])
        }
    }

    @Test func damagedNodesAreErrors() throws {
        let store = try Store("int", rowGroupSize: 480)
        let fill = try store.write(Self.small)
        let key = try fill.create(store.table, primaryKey: nil)
        try fill.listInsert(store.table, store.items, key, at: 0, (0 ..< 60).map { .int($0) })
        try fill.commit()
        let reader = try store.snapshot.directory(store.table).makeLongListReader(1, key)
        let rootKey = reader.key(0)
        let root = try #require(try store.nodes(in: store.snapshot)[rootKey])
        var random = SeededRandom(seed: PropertyTest.firstSeed)
        for _ in 0 ..< TestScale.times(2_000) {
            var damaged = root
            switch random.below(3) {
            case 0: damaged[random.below(20)] ^= UInt8(1 << random.below(8))
            case 1: damaged.removeLast(random.below(damaged.count) + 1)
            default: damaged[20 + random.below(damaged.count - 20)] ^= UInt8(1 << random.below(8))
            }
            guard Array(damaged.prefix(20) + damaged.dropFirst(24)) != Array(root.prefix(20) + root.dropFirst(24))
            else { continue }
            #expect(throws: DatabaseError.self) {
                try damaged.withUnsafeBytes { bytes in
                    try rootKey.withUnsafeBytes { _ = try LongListInner(validating: bytes, key: $0) }
                }
            }
        }
        #expect(throws: DatabaseError.self) {
            try root.withUnsafeBytes { bytes in
                try reader.key(1).withUnsafeBytes { _ = try LongListInner(validating: bytes, key: $0) }
            }
        }
    }
}
