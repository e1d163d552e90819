// Forms that realm-core 14 does not write any more, or only for values that its interfaces refuse: written by the
// test.
import MotteRealmFile
import MotteValues
import TestSupport
import Testing

@Suite struct OlderFormatTests {
    private func elements(_ file: RealmFile, _ column: Int, _ row: Int, keeping: Bool = true) throws -> [JSONValue] {
        var cursor = try file.tables[0].cursor()
        let cluster = try #require(try cursor.next())
        let property = file.tables[0].columns[column]
        let value = try Written.collection(cluster, column, row, property, keeping: keeping, file)
        return (value[property.collection == .map ? "map" : "list"] ?? value).elements
    }

    private func mixedInts(_ values: [Int64], _ builder: inout RealmBuilder) -> Int {
        let list = Int64(builder.ints(values.map { $0 << 8 | 1 }))
        return builder.refs([list, 0, 0, 0])
    }

    /// Before format 23 a map is a cluster tree whose keys are hashes: two columns, keys and mixed values.
    @Test(arguments: [UInt8(21), 22]) func mapsAreClusterTreesBeforeFormat23(_ format: UInt8) throws {
        var builder = RealmBuilder(format: format)
        let names = (0 ..< 700).map { "key \($0)" }
        let map = builder.clusters(names.indices.map { Int64($0) * 1_000_003 }) { builder, rows in
            let keys = builder.shortStrings(rows.map { names[$0] })
            return [keys, self.mixedInts(rows.map { Int64($0) }, &builder)]
        }
        let column = RealmBuilder.Column(name: "map", type: 0, attributes: 64, keyType: 2)
        let clusters = builder.clusters([0, 1]) { builder, _ in [builder.refs([0, Int64(map)])] }
        let table = builder.table(0, [column], clusters: clusters)
        let file = try RealmFile(bytes: builder.finish([("Old", table)]))

        #expect(file.tables[0].columns[0].collection == .map && file.tables[0].columns[0].type == .int)
        #expect(try elements(file, 0, 0) == [])
        let expected = names.enumerated().map { JSONValue.array([.string($0.element), .int(Int64($0.offset))]) }
        #expect(try elements(file, 0, 1) == expected)
        #expect(try elements(file, 0, 1, keeping: false) == expected)
        var cursor = try file.tables[0].cursor()
        #expect(try cursor.next()?.elementCount(0, 1) == 700)
    }

    /// Type 13, and backlinks in one plain array of any length.
    @Test(arguments: [UInt8(20), 22, 23]) func listsOfLinksAreAType(_ format: UInt8) throws {
        var builder = RealmBuilder(format: format)
        let backKey = RealmBuilder.columnKey(1, RealmBuilder.backlink)
        let listKey = RealmBuilder.columnKey(0, 13, 32)
        let columns = [
            RealmBuilder.Column(name: "friends", type: 13, attributes: 32, opposite: (0, backKey)),
            RealmBuilder.Column(name: "", type: RealmBuilder.backlink, opposite: (0, listKey)),
        ]
        let links = [Int64](repeating: 1, count: 1_500)
        let clusters = builder.clusters([0, 1]) { builder, _ in
            let parts = [builder.ints(Array(links[..<1_000])), builder.ints(Array(links[1_000...]))]
            let list = builder.tree(parts, counts: [1_000, 500], isGeneral: false)
            let back = builder.ints([Int64](repeating: 0, count: 1_500))
            return [builder.refs([Int64(list), 0]), builder.refs([0, Int64(back)])]
        }
        let table = builder.table(0, columns, clusters: clusters)
        let file = try RealmFile(bytes: builder.finish([("Person", table)]))

        #expect(file.tables[0].columns[0].type == .link && file.tables[0].columns[0].target == 0)
        let friend = JSONValue.object([("link", .array([.string("Person"), .int(1)]))])
        #expect(try elements(file, 0, 0) == [JSONValue](repeating: friend, count: 1_500))
        try file.checkBacklinks()
    }

    @Test(arguments: [true, false]) func mapsCanHaveIntsAsKeys(keeping: Bool) throws {
        var builder = RealmBuilder()
        let keys = Int64(builder.ints([-7, 0, 12_345_678_901]))
        let values = Int64(mixedInts([1, 2, 3], &builder))
        let map = builder.refs([keys, values])
        let column = RealmBuilder.Column(name: "map", type: 0, attributes: 64)
        let clusters = builder.clusters([0]) { builder, _ in [builder.refs([Int64(map)])] }
        let table = builder.table(0, [column], clusters: clusters)
        let file = try RealmFile(bytes: builder.finish([("Keyed", table)]))

        #expect(file.tables[0].columns[0].hasIntKeys)
        let expected = [("-7", 1), ("0", 2), ("12345678901", 3)].map {
            JSONValue.array([.string($0.0), .int(Int64($0.1))])
        }
        #expect(try elements(file, 0, 0, keeping: keeping) == expected)
    }

    /// Columns of type 16: two numbers for each value.
    @Test func linksToAnyClassAreMixed() throws {
        var builder = RealmBuilder()
        let column = RealmBuilder.Column(name: "any", type: 16, attributes: 16)
        let clusters = builder.clusters([0, 1, 2]) { builder, _ in [builder.ints([0, 0, 1, 3, 1, -1])] }
        let table = builder.table(0, [column], clusters: clusters)
        let file = try RealmFile(bytes: builder.finish([("Node", table)]))

        #expect(file.tables[0].columns[0].type == nil)
        var cursor = try file.tables[0].cursor()
        let cluster = try #require(try cursor.next())
        let values = try (0 ..< 3).map { Written.value(try cluster.value(0, $0), file) }
        #expect(values == [.null, .object([("link", .array([.string("Node"), .int(2)]))]), .null])
    }

    /// Strings in mixed values above 16 MB, here in small pieces: without the zero behind.
    @Test func stringsInPiecesAreJoined() throws {
        var builder = RealmBuilder()
        let pieces = ["first, ", "second, ", "third"].map { Int64(builder.blob(Array($0.utf8))) }
        let joined = builder.refs(pieces, RealmBuilder.Flag.context)
        let strings = builder.refs([Int64(joined)], RealmBuilder.Flag.context)
        let values = Int64(builder.ints([0 << 8 | 3 << 5 | 3, 0]))
        let mixed = builder.refs([values, 0, 0, Int64(strings)])
        let column = RealmBuilder.Column(name: "any", type: 6, attributes: 16)
        let clusters = builder.clusters([0, 1]) { _, _ in [mixed] }
        let table = builder.table(0, [column], clusters: clusters)
        let file = try RealmFile(bytes: builder.finish([("Any", table)]))

        var cursor = try file.tables[0].cursor()
        let cluster = try #require(try cursor.next())
        #expect(Written.value(try cluster.value(0, 0), file) == .string("first, second, third"))
        // Again, and after its memory was given up.
        #expect(Written.value(try cluster.value(0, 0), file) == .string("first, second, third"))
        cluster.release()
        #expect(Written.value(try cluster.value(0, 0), file) == .string("first, second, third"))
    }
}
