// A file of many objects: read whole in a memory that does not depend on it, and objects found in it.
import MotteRealmFile
import MotteValues
import TestSupport
import Testing

@Suite struct LargeFileTests {
    /// As realm-core numbers objects of a class without a primary key.
    private static func key(_ number: Int) -> Int64 { Int64(number % 256 + number / 256 * 65_536) }

    private static func file(_ count: Int) -> [UInt8] {
        var builder = RealmBuilder()
        let clusters = builder.clusters((0 ..< count).map(key)) { builder, rows in
            let numbers = builder.ints(rows.map { Int64($0) * 7 })
            let optional = builder.ints([-1] + rows.map { $0 % 3 == 0 ? -1 : Int64($0) })
            let names = builder.shortStrings(rows.map { "person \($0)" })
            let weights = builder.doubles(rows.map { Double($0) / 2 })
            let flags = builder.ints(rows.map { Int64($0 % 2) })
            let seconds = Int64(builder.ints([0] + rows.map { Int64($0) + 1_000_000_000 }))
            let nanoseconds = Int64(builder.ints(rows.map { Int64($0 % 1_000) }))
            let dates = builder.refs([seconds, nanoseconds])
            var filled: [Int64] = []
            for row in rows { filled.append(row % 4 == 0 ? Int64(builder.ints([Int64(row), 5])) : 0) }
            let lists = builder.refs(filled)
            return [numbers, optional, names, weights, flags, dates, lists]
        }
        let columns = [
            RealmBuilder.Column(name: "number", type: 0),
            RealmBuilder.Column(name: "optional", type: 0, attributes: 16),
            RealmBuilder.Column(name: "name", type: 2),
            RealmBuilder.Column(name: "weight", type: 10),
            RealmBuilder.Column(name: "flag", type: 1),
            RealmBuilder.Column(name: "born", type: 8),
            RealmBuilder.Column(name: "list", type: 0, attributes: 32),
        ]
        let table = builder.table(0, columns, clusters: clusters)
        return builder.finish([("Person", table)])
    }

    @Test func aLargeFileIsReadInLittleMemory() throws {
        let count = TestScale.times(134_000)
        let folder = TemporaryDirectory()
        let path = folder.file("large.realm")
        let bytes = Self.file(count)
        TemporaryDirectory.write(bytes, path)
        let file = try RealmFile(path)
        let table = file.tables[0]
        #expect(table.objectCount == count)

        let clock = ContinuousClock()
        var read = 0
        let whole = try clock.measure { read = try WholeRead(file).objects }
        #expect(read == count)
        var random = SeededRandom(seed: PropertyTest.firstSeed)
        let order = (0 ..< count).shuffled(using: &random).prefix(20_000)
        let finding = try clock.measure {
            for number in order where try table.position(of: Self.key(number)) != number {
                Issue.record("object \(number) is not where it is; repeat with MOTTE_TEST_SEED=\(random.seed)")
            }
        }
        #expect(try table.find(Self.key(count)) == nil)
        print(
            "note: \(count) objects of \(bytes.count) bytes are read in \(whole), \(order.count) found in \(finding)")
    }

    /// Nodes of one cluster at a time, values until they are given up.
    @Test func memoryIsThatOfOneCluster() throws {
        let file = try RealmFile(bytes: Self.file(20_000))
        var cursor = try file.tables[0].cursor()
        var most = 0
        while let cluster = try cursor.next() {
            for column in file.tables[0].columns.indices {
                for row in 0 ..< cluster.count {
                    if file.tables[0].columns[column].collection == .none {
                        _ = try cluster.value(column, row)
                    } else {
                        try cluster.elements(column, row, keeping: false) { _, _ in }
                    }
                }
            }
            most = max(most, cluster.memoryBytes)
            #expect(cluster.heldBytes == 0)
        }
        #expect(most > 0 && most < 200_000, "\(most)")
    }

    /// A chain of nested inner nodes, a node twice: what would make reading endless is damage.
    @Test func aTreeThatLeadsToItselfIsDamage() throws {
        var builder = RealmBuilder()
        let leaf = builder.ints([1, 2, 3])
        let tree = builder.tree([leaf, leaf], counts: [3, 3], isGeneral: false)
        let clusters = builder.clusters([0]) { builder, _ in [builder.refs([Int64(tree)])] }
        let table = builder.table(
            0, [RealmBuilder.Column(name: "list", type: 0, attributes: 32)], clusters: clusters)
        let bytes = builder.finish([("Loop", table)])
        do {
            _ = try WholeRead(try RealmFile(bytes: bytes))
            Issue.record("nothing was noticed")
        } catch let error as DatabaseError {
            #expect(error.message.contains("Loop.list of the object with key 0: a node is referred to twice"))
        }
    }

    /// Two objects with one list: many of them would be a small file with more elements than anybody can read.
    @Test func aListThatBelongsToTwoObjectsIsDamage() throws {
        var builder = RealmBuilder()
        let list = Int64(builder.ints([1, 2, 3]))
        let clusters = builder.clusters([0, 1]) { builder, _ in [builder.refs([list, list])] }
        let table = builder.table(
            0, [RealmBuilder.Column(name: "list", type: 0, attributes: 32)], clusters: clusters)
        let file = try RealmFile(bytes: builder.finish([("Shared", table)]))
        var cursor = try file.tables[0].cursor()
        let cluster = try #require(try cursor.next())
        var count = 0
        // The same again is none.
        for _ in 0 ..< 3 { try cluster.elements(0, 0) { _, _ in count += 1 } }
        #expect(count == 9)
        #expect(throws: DatabaseError.self) { try cluster.elements(0, 1) { _, _ in } }
    }

    /// Embedded objects that contain others of their class: a read begins within another one of the same cluster.
    @Test(arguments: [true, false]) func readsCanBeWithinEachOther(keeping: Bool) throws {
        var builder = RealmBuilder()
        let clusters = builder.clusters([0, 1]) { builder, _ in
            var lists: [Int64] = []
            for start in [0, 10_000] {
                var leaves: [Int] = []
                for part in 0 ..< 3 {
                    leaves.append(builder.ints((0 ..< 1_000).map { Int64(start + part * 1_000 + $0) }))
                }
                lists.append(Int64(builder.tree(leaves, counts: [1_000, 1_000, 1_000], isGeneral: true)))
            }
            return [builder.refs(lists)]
        }
        let column = RealmBuilder.Column(name: "list", type: 0, attributes: 32)
        let table = builder.table(0, [column], clusters: clusters)
        let file = try RealmFile(bytes: builder.finish([("Nested", table)]))
        let cluster = try #require(try file.tables[0].find(0)?.cluster)

        var outer: [Int64] = []
        var inner: [Int64] = []
        var counts: [Int] = []
        try cluster.elements(0, 0, keeping: keeping) { (_, value) throws(DatabaseError) in
            if outer.count % 1_500 == 700 {
                counts.append(try cluster.elementCount(0, 1))
                try cluster.elements(0, 1, keeping: keeping) { _, value in inner.append(value.intValue) }
            }
            outer.append(value.intValue)
        }
        #expect(counts == [3_000, 3_000])
        #expect(outer == Array(0 ..< 3_000))
        #expect(inner == Array(10_000 ..< 13_000) + Array(10_000 ..< 13_000))
    }

    @Test func anErrorOfTheCallerComesBackAsItIs() throws {
        let file = try RealmFile(bytes: Self.file(10))
        var cursor = try file.tables[0].cursor()
        let cluster = try #require(try cursor.next())
        do throws(DatabaseError) {
            try cluster.elements(6, 0) { (_, _) throws(DatabaseError) in throw DatabaseError(.corrupted, "mine") }
            Issue.record("it did not come back")
        } catch {
            #expect(error.message == "mine")
        }
        var count = 0
        try cluster.elements(6, 0) { _, _ in count += 1 }
        #expect(count == 2)
        for call in [(7, 0), (0, 10), (-1, 0), (0, -1)] {
            #expect(throws: DatabaseError.self) { try cluster.value(call.0, call.1) }
            #expect(throws: DatabaseError.self) { try cluster.elementCount(call.0, call.1) }
        }
        #expect(throws: DatabaseError.self) { try cluster.value(6, 0) }
        #expect(throws: DatabaseError.self) { try cluster.elementCount(0, 0) }
    }
}
