/// Queries on the types beyond the first ones, and on sets, maps and what mixed values hold: each behaviour by itself.
import MotteQueryEngine
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct MixedQueryTests {
    private static let schema = """
        Item { id: int key, price: decimal?, code: objectId? indexed, token: uuid? indexed, any: mixed indexed,
               seen: set<int>, names: map<string>, parts: map<Item>, bag: list<mixed> }
        """
    private static let token = "123e4567-e89b-12d3-a456-426614174000"
    private static let code = "507f1f77bcf86cd799439011"

    private static func decimal(_ text: String) -> Value { .decimal(Decimal128(parsing: text) ?? .nan) }

    /// Seven items; 0 has nothing.
    private static func world() throws -> QueryWorld {
        let world = try QueryWorld(schema, rowGroupSize: 3)
        try world.begin()
        for id in 0 ..< 7 { try world.create("Item", ["id": .value(.int(Int64(id)))]) }
        let anys: [Value] = [
            .int(3), .double(3), decimal("3.00"), .string("3"),
            .list([.int(1), .map([MapEntry(key: "k", value: .string("deep"))])]),
            .map([MapEntry(key: "k", value: .int(7)), MapEntry(key: "l", value: .list([.null, .bool(true)]))]),
        ]
        for (index, any) in anys.enumerated() { try world.set("Item", Int64(index) + 1, "any", .value(any)) }
        for (key, text) in [(1, "1.50"), (2, "0.1"), (3, "NaN"), (4, "1E400")] as [(Int64, String)] {
            try world.set("Item", key, "price", .value(decimal(text)))
        }
        try world.set("Item", 1, "code", .value(.objectID(try #require(ObjectID(parsing: code)))))
        try world.set("Item", 2, "token", .value(.uuid(try #require(UUIDBytes(parsing: token)))))
        try world.set("Item", 1, "seen", .list([.int(1), .int(5)]))
        try world.set("Item", 2, "seen", .list([.int(9)]))
        let names = [MapEntry(key: "", value: .string("nobody")), MapEntry(key: "de", value: .string("eins"))]
        try world.set("Item", 1, "names", .map(names))
        try world.set("Item", 2, "names", .map([MapEntry(key: "en", value: .string("one"))]))
        try world.set("Item", 3, "parts", .map([MapEntry(key: "left", value: try world.link("Item", 1))]))
        try world.set("Item", 4, "bag", .list([.int(1), .string("a"), decimal("2.5"), .null]))
        try world.commit()
        return world
    }

    static let found: [(String, [Int64])] = [
        // Decimals by their value; NaN equals itself and orders with nothing.
        ("price == 1.5", [1]), ("price == decimal(1.500)", [1]), ("price == 0.1", [2]), ("price > 1", [1, 4]),
        ("price == nan", [3]), ("price < 1e308", [1, 2]), ("price BETWEEN {0, 2}", [1, 2]),
        ("price IN {0.1, 1.5, 7, 8, 9}", [1, 2]), ("price == null", [0, 5, 6]), ("price <= null", [0, 5, 6]),
        // Identifiers, by their index and without it.
        ("code == oid(507f1f77bcf86cd799439011)", [1]), ("code != oid(507f1f77bcf86cd799439011)", [0, 2, 3, 4, 5, 6]),
        ("code > oid(507f1f77bcf86cd799439010)", [1]), ("code < oid(507f1f77bcf86cd799439011)", []),
        ("token == uuid(123e4567-e89b-12d3-a456-426614174000)", [2]),
        ("token IN {null, uuid(123e4567-e89b-12d3-a456-426614174000)}", [0, 1, 2, 3, 4, 5, 6]),
        // Numbers in mixed values meet, whatever their kind; others stay among themselves.
        ("any == 3", [1, 2, 3]), ("any == 3.0", [1, 2, 3]), ("any == decimal(3)", [1, 2, 3]), ("any == '3'", [4]),
        ("any != 3", [0, 4, 5, 6]), ("any > 2", [1, 2, 3]), ("any > '2'", [4]), ("any == null", [0]),
        ("any <= null", [0]), ("any IN {'3', 3}", [1, 2, 3, 4]), ("any BETWEEN {2, 4}", [1, 2, 3]),
        ("any == true", []), ("any BEGINSWITH '3'", [4]), ("any LIKE '?'", [4]), ("any ==[c] '3'", [4]),
        // Into them.
        ("any['k'] == 7", [6]), ("any[1]['k'] ==[c] 'DEEP'", [5]), ("any[0] == 1", [5]),
        ("any[LAST]['k'] != null", [5]),
        ("any['none'] == null", [0, 1, 2, 3, 4, 5, 6]), ("ANY any[*] == 7", [6]), ("ANY any[*][*] == true", [6]),
        ("NONE any[*] == 7", [0, 1, 2, 3, 4, 5]), ("any.@count == 2", [5, 6]), ("any['l'].@count == 2", [6]),
        ("any.@count == null", [0, 1, 2, 3, 4]), ("any.@type == 'map'", [6]), ("any.@type IN {'int', 'null'}", [0, 1]),
        ("any['k'].@type == 'int'", [6]), ("any[0].@type == 'int'", [5]),
        // Sets.
        ("ANY seen == 5", [1]), ("ALL seen > 4", [0, 2, 3, 4, 5, 6]), ("seen.@count == 2", [1]), ("seen.@sum > 6", [2]),
        ("5 IN seen", [1]), ("seen[0] == 1", [1]),
        // Maps: values, keys, entries.
        ("ANY names == 'one'", [2]), ("ANY names.@values BEGINSWITH 'no'", [1]), ("ANY names.@keys == 'de'", [1]),
        ("ANY names.@keys == ''", [1]), ("names[''] == 'nobody'", [1]), ("names['en'] == 'one'", [2]),
        ("names['en'] == null", [0, 1, 3, 4, 5, 6]), ("names.@count > 1", [1]), ("names.@keys.@count > 1", [1]),
        ("ANY parts.any == 3", [3]), ("ANY parts.@keys == 'left'", [3]), ("parts.@count > 0", [3]),
        // Mixed elements: of the aggregates only numbers are part.
        ("ANY bag == 2.5", [4]), ("ANY bag == 'a'", [4]), ("bag.@sum == 3.5", [4]), ("bag.@max == 2.5", [4]),
        ("bag[1] == 'a'", [4]), ("ANY bag.@type == 'decimal'", [4]),
        ("any == id", [3]), ("any > id", [1, 2]),
    ]

    @Test func findsWhatItShould() throws {
        let world = try Self.world()
        for (text, expected) in Self.found { #expect(try world.keys("Item", text) == expected, "\(text)") }
    }

    /// Below null there is null where one value is asked for, and nothing where all are: behind null links too.
    @Test func behindANullLinkIsWhatIsBelowNull() throws {
        let world = try QueryWorld("Item { id: int key, any: mixed, to: link<Item> }", rowGroupSize: 3)
        try world.begin()
        for id in 0 ..< 4 { try world.create("Item", ["id": .value(.int(Int64(id)))]) }
        try world.set("Item", 0, "any", .value(.map([MapEntry(key: "k", value: .list([.int(7)]))])))
        try world.set("Item", 2, "to", .value(try world.link("Item", 1)))
        try world.set("Item", 3, "to", .value(try world.link("Item", 0)))
        try world.commit()
        for (text, expected) in [
            ("ALL to.any['k'][*] == 7", [3]), ("ALL to.any['k'][*] == null", [0, 1, 2]),
            ("ALL to.any[*] == 7", [0, 1, 2]),
            ("NONE to.any['k'][*] == 7", [0, 1, 2]), ("ANY to.any['k'][*] == 7", [3]), ("ANY to.any[*][*] == 7", [3]),
            ("ANY to.any['k'][*] == null", [0, 1, 2]), ("to.any['k'] == null", [0, 1, 2]),
        ] as [(String, [Int64])] {
            #expect(try world.keys("Item", text) == expected, "\(text)")
        }
    }

    @Test func keysAndPlacesCanBeArguments() throws {
        let world = try Self.world()
        #expect(try world.keys("Item", "any[$0] == $1", [.string("k"), .int(7)]) == [6])
        #expect(try world.keys("Item", "any[$0] == $1", [.int(0), .int(1)]) == [5])
        #expect(try world.keys("Item", "names[$0] == $1", [.string("en"), .string("one")]) == [2])
        #expect(
            try world.keys(
                "Item", "any == $0",
                [
                    .list([
                        .double(1),
                        .map([
                            MapEntry(key: "k", value: .string("deep"))
                        ]),
                    ])
                ]) == [5])
        #expect(try world.keys("Item", "parts['left'] == $0", [try world.link("Item", 1)]) == [3])
    }

    @Test func mixedValuesSortByKindAndExactly() throws {
        let world = try Self.world()
        #expect(try world.keys("Item", "SORT(any, id)") == [0, 1, 2, 3, 4, 5, 6])
        #expect(try world.keys("Item", "SORT(any DESC, id DESC)") == [6, 5, 4, 3, 2, 1, 0])
        #expect(try world.keys("Item", "price != null SORT(price)") == [3, 2, 1, 4])
        #expect(try world.keys("Item", "SORT(names['en'] DESC, id) LIMIT(1)") == [2])
    }

    @Test func indexesAnswerEqualityOfTheNewTypes() throws {
        let world = try Self.world()
        for text in ["any == 3", "any IN {'3', 3}", "code == oid(\(Self.code))", "token == uuid(\(Self.token))"] {
            #expect(try world.executor("Item", text).plan().usesIndex, "\(text)")
        }
    }

    @Test(arguments: [
        "names[0] == 'x'", "seen['k'] == 1", "id['k'] == 1", "id.@keys == 1", "code == 'text'", "token == oid(00)",
        "price == 'x'", "names.@sum > 1", "any[*] == 1", "ANY any['k'] == 1",
    ])
    func refusesWhatDoesNotFit(text: String) throws {
        let world = try QueryWorld(Self.schema)
        #expect(throws: DatabaseError.self) { _ = try world.bind("Item", text) }
    }

    @Test func aMapReadByAQueryIsWatchedWhole() throws {
        let world = try Self.world()
        let names = try #require(try world.type("Item").property(named: "names")?.columnKey)
        for text in ["ANY names.@keys == 'a'", "names['a'] == 'b'", "ANY names == 'b'"] {
            #expect(try world.bind("Item", text).dependencies.map(\.column) == [names], "\(text)")
        }
    }
}
