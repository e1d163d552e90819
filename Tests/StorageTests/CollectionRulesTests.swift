// What collections, mixed values and embedded objects refuse and promise, one rule at a time.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct CollectionRulesTests {
    struct Store {
        let database: Database
        let snapshot: Snapshot
        let write: WriteTransaction

        init(_ text: String) throws {
            database = try Database.open(PageStoreOptions(location: .memory(identifier: nil)))
            snapshot = try database.snapshot()
            _ = try database.reconcile(try SchemaText.parse(text), on: snapshot)
            write = try database.beginWrite(on: snapshot)
        }

        func table(_ name: String) throws -> TableKey { try #require(try snapshot.schema.type(named: name).tableKey) }

        func column(_ name: String, _ property: String) throws -> ColumnKey {
            try #require(try snapshot.schema.type(named: name).property(named: property)?.columnKey)
        }
    }

    private func code(_ body: () throws -> Void) -> ErrorCode? {
        do {
            try body()
            return nil
        } catch { return (error as? DatabaseError)?.code }
    }

    private static let everything = """
        Row { map: map<int>, any: mixed, anys: list<mixed>, anyMap: map<mixed>, anySet: set<mixed>, texts: list<string>,
              textSet: set<string>, textMap: map<string>, datas: list<data>, ints: set<int>, text: string, data: data,
              part: link<Part>, parts: list<Part>, partMap: map<Part>, other: link<Row> }
        embedded Part { inner: link<Part>, name: string }
        """

    @Test func mapKeysFollowTheirRules() throws {
        let store = try Store(Self.everything)
        let table = try store.table("Row")
        let map = try store.column("Row", "map")
        let any = try store.column("Row", "any")
        let key = try store.write.create(table, primaryKey: nil)
        for name in ["a.b", ".", "$a", "$"] {
            let thrown = #expect(throws: DatabaseError.self) {
                try name.withUTF8Bytes { bytes throws(DatabaseError) in
                    try store.write.mapPut(table, map, key, bytes, .int(1))
                }
            }
            #expect(thrown?.code == .invalidArgument)
            #expect(thrown?.message.contains("percent-encoding") == true)
            // The same in a nested map.
            #expect(
                code {
                    try Value.map([MapEntry(key: name, value: .null)]).withView { view throws(DatabaseError) in
                        try store.write.set(table, any, key, to: view)
                    }
                } == .invalidArgument)
        }
        for name in ["", "a$", "a%2Eb", "é"] {
            #expect(
                try name.withUTF8Bytes { bytes throws(DatabaseError) in
                    try store.write.mapPut(table, map, key, bytes, .int(1))
                })
        }
        let notText: [UInt8] = [0xFF]
        #expect(
            code {
                try notText.withBytes { bytes throws(DatabaseError) in
                    _ = try store.write.mapPut(table, map, key, bytes, .int(1))
                }
            } == .invalidUTF8)
        #expect(try store.write.table(table).listCount(map, key) == 4)
        #expect(try store.write.table(table).mapKey(map, key, 0).isEmpty)
    }

    @Test func sizeLimitsHoldEverywhere() throws {
        let store = try Store(Self.everything)
        let write = store.write
        let table = try store.table("Row")
        let key = try write.create(table, primaryKey: nil)
        let longest = [UInt8](repeating: 0x61, count: 16_777_199)
        let tooLong = longest + [0x61]
        let data = longest + [1]
        let tooMuch = data + [1]
        func put(_ property: String, _ value: Value) throws {
            let column = try store.column("Row", property)
            try value.withView { view throws(DatabaseError) in
                switch property {
                case "text", "data", "any": try write.set(table, column, key, to: view)
                case "texts", "datas", "anys": try write.listInsert(table, column, key, at: 0, [view])
                case "textSet", "anySet": _ = try write.setInsert(table, column, key, view)
                default:
                    _ = try "k".withUTF8Bytes { bytes throws(DatabaseError) in
                        try write.mapPut(table, column, key, bytes, view)
                    }
                }
            }
        }
        let text = String(decoding: tooLong, as: UTF8.self)
        for property in ["text", "any", "texts", "anys", "textSet", "anySet", "textMap", "anyMap"] {
            #expect(code { try put(property, .string(text)) } == .valueTooLarge, "\(property)")
        }
        for property in ["data", "datas", "any", "anys", "anyMap"] {
            #expect(code { try put(property, .data(tooMuch)) } == .valueTooLarge, "\(property)")
        }
        for property in ["any", "anys", "anyMap"] {
            let nested = Value.list([.map([MapEntry(key: "a", value: .list([.data(tooMuch)]))])])
            #expect(code { try put(property, nested) } == .valueTooLarge, "\(property)")
        }
        #expect(
            code {
                try tooLong.withBytes { bytes throws(DatabaseError) in
                    _ = try write.mapPut(table, try store.columnOrThrow("textMap"), key, bytes, .null)
                }
            } == .valueTooLarge)
        try put("text", .string(String(decoding: longest, as: UTF8.self)))
        try put("datas", .data(data))
        try write.commit()
        let view = try store.snapshot.table(table)
        #expect(try view.value(try store.column("Row", "text"), key).bytes.count == 16_777_199)
        #expect(try view.listElement(try store.column("Row", "datas"), key, 0).bytes.count == 16_777_200)
    }

    @Test func mixedValuesNestToAHundredLevels() throws {
        let store = try Store(Self.everything)
        let table = try store.table("Row")
        let any = try store.column("Row", "any")
        let key = try store.write.create(table, primaryKey: nil)
        func nested(_ depth: Int) -> Value {
            (1 ..< depth).reduce(Value.list([])) { value, level in
                level % 2 == 0 ? .list([value]) : .map([MapEntry(key: "a", value: value)])
            }
        }
        try nested(100).withView { view throws(DatabaseError) in try store.write.set(table, any, key, to: view) }
        #expect(try store.write.table(table).value(any, key).owned == nested(100))
        let path = (0 ..< 99).map { level in (98 - level) % 2 == 1 ? NestedStep.index(0) : .key("a") }
        #expect(code { _ = try store.write.nestedEdit(table, any, key, path: path, edit: .append(.list([]))) } != nil)
        #expect(try store.write.nestedEdit(table, any, key, path: path, edit: .append(.int(1))))
        #expect(
            code {
                try nested(101).withView { view throws(DatabaseError) in
                    try store.write.set(table, any, key, to: view)
                }
            } == .invalidArgument)
    }

    @Test func setsHoldEqualNumbersOnce() throws {
        let store = try Store(Self.everything)
        let table = try store.table("Row")
        let set = try store.column("Row", "anySet")
        let key = try store.write.create(table, primaryKey: nil)
        let values: [(Value, Bool)] = [
            (.int(1), true), (.double(1), false), (.decimal(Decimal128(Int64(1))), false), (.bool(true), true),
            (.string("a"), true), (.data([0x61]), true), (.string("a"), false), (.null, true), (.null, false),
        ]
        for (value, isNew) in values {
            let result = try value.withView { view throws(DatabaseError) in
                try store.write.setInsert(table, set, key, view)
            }
            #expect(result.inserted == isNew, "\(value)")
        }
        let view = try store.write.table(table)
        #expect(try view.listCount(set, key) == 5)
        #expect(try view.setFind(set, key, .float(1)) == 2)
        #expect(try view.setFind(set, key, .int(2)) == nil)
        // Positions are not for sets.
        #expect(code { try store.write.listInsert(table, set, key, at: 0, [.int(9)]) } == .wrongType)
        #expect(code { try store.write.listMove(table, set, key, from: 0, to: 1) } == .wrongType)
        #expect(code { try store.write.mapClear(table, set, key) } == .wrongType)
        #expect(code { try store.write.setClear(table, try store.columnOrThrow("anys"), key) } == .wrongType)
    }

    // MARK: Embedded objects

    @Test func embeddedObjectsHaveOneParent() throws {
        let store = try Store(Self.everything)
        let write = store.write
        let table = try store.table("Row")
        let part = try store.table("Part")
        let single = try store.column("Row", "part")
        let list = try store.column("Row", "parts")
        let map = try store.column("Row", "partMap")
        let inner = try store.column("Part", "inner")
        let key = try write.create(table, primaryKey: nil)
        let other = try write.create(table, primaryKey: nil)
        #expect(code { _ = try write.create(part, primaryKey: nil) } == .invalidArgument)

        let first = try write.embeddedPut(table, single, key)
        let nested = try write.embeddedPut(part, inner, first)
        let owner = try #require(try write.table(part).owner(ofEmbedded: nested))
        #expect(owner == (part, inner, first))
        let link = ValueView.link(ObjectLink(table: part, key: first))
        #expect(code { try write.set(table, single, other, to: link) } == .invalidArgument)
        #expect(code { try write.listInsert(table, list, other, at: 0, [link]) } == .invalidArgument)
        #expect(code { try write.set(table, try store.columnOrThrow("any"), other, to: link) } == .invalidArgument)
        #expect(
            code {
                _ = try "k".withUTF8Bytes { bytes throws(DatabaseError) in
                    try write.mapPut(table, map, other, bytes, link)
                }
            } == .invalidArgument)
        // The same object in the same place stays.
        try write.set(table, single, key, to: link)
        #expect(try write.table(part).locate(first) != nil)

        // Overwriting deletes, and with it what was inside.
        let second = try write.embeddedPut(table, single, key)
        #expect(try write.table(part).locate(first) == nil)
        #expect(try write.table(part).locate(nested) == nil)
        let listed = try (0 ..< 3).map { try write.embeddedInsert(table, list, key, at: $0) }
        try write.listMove(table, list, key, from: 0, to: 2)
        #expect(try write.table(part).locate(listed[0]) != nil)
        let replaced = try write.embeddedSet(table, list, key, at: 0)
        #expect(try write.table(part).locate(listed[1]) == nil)
        try write.listRemove(table, list, key, at: 0)
        #expect(try write.table(part).locate(replaced) == nil)
        let mapped = try "k".withUTF8Bytes { bytes throws(DatabaseError) in
            try write.embeddedMapPut(table, map, key, bytes)
        }
        // A child that is deleted itself leaves its place, and a map keeps the key.
        try write.delete(part, mapped)
        #expect(try write.table(table).listElement(map, key, 0).isNull)
        try write.delete(part, second)
        #expect(try write.table(table).value(single, key).isNull)
        try write.delete(table, key)
        #expect(try write.table(part).liveCount == 0)
        try write.commit()
        #expect(try store.snapshot.table(part).liveCount == 0)
    }

    @Test func aLongChainOfEmbeddedObjectsGoesWithItsParent() throws {
        let store = try Store(Self.everything)
        let write = store.write
        let part = try store.table("Part")
        let inner = try store.column("Part", "inner")
        let key = try write.create(try store.table("Row"), primaryKey: nil)
        var last = try write.embeddedPut(try store.table("Row"), try store.column("Row", "part"), key)
        for _ in 0 ..< 20_000 { last = try write.embeddedPut(part, inner, last) }
        #expect(try write.table(part).liveCount == 20_001)
        try write.delete(try store.table("Row"), key)
        #expect(try write.table(part).liveCount == 0)
    }

    // MARK: Nested edits

    @Test func nestedEditsAgreeWithAModelAndTheLog() throws {
        try PropertyTest.run(rounds: 4) { random, comment in
            let store = try Store(Self.everything)
            let table = try store.table("Row")
            let key = try store.write.create(table, primaryKey: nil)
            let any = try store.column("Row", "any")
            let list = try store.column("Row", "anys")
            let map = try store.column("Row", "anyMap")
            let start = Value.list([.map([]), .list([.int(1)])])
            try start.withView { view throws(DatabaseError) in
                try store.write.set(table, any, key, to: view)
                try store.write.listInsert(table, list, key, at: 0, [view, view])
                _ = try "m".withUTF8Bytes { bytes throws(DatabaseError) in
                    try store.write.mapPut(table, map, key, bytes, view)
                }
            }
            try store.write.commit()
            var models: [ColumnKey: Value] = [
                any: start, list: .list([start, start]), map: .map([MapEntry(key: "m", value: start)]),
            ]
            for _ in 0 ..< 20 {
                let write = try store.database.beginWrite(on: store.snapshot)
                let before = models
                for _ in 0 ..< random.below(12) {
                    let column = random.pick([any, list, map])
                    try NestedModel.step(
                        &models[column, default: .null], column == any, write, table, column, key, &random)
                }
                let version = store.snapshot.version
                try write.commit()
                let view = try store.snapshot.table(table)
                #expect(try view.value(any, key).owned == models[any], "\(comment)")
                let elements = try (0 ..< 2).map { try view.listElement(list, key, $0).owned }
                #expect(Value.list(elements) == models[list], "\(comment)")
                let value = try view.listElement(map, key, 0).owned
                #expect(Value.map([MapEntry(key: "m", value: value)]) == models[map], "\(comment)")
                let changes = try #require(try store.database.changes(from: version, to: store.snapshot)).table(table)
                for column in [any, list, map] {
                    let edits = changes?.nested(column, key.rawValue)?.operations ?? []
                    NestedModel.replay(edits, from: before[column] ?? .null, to: models[column] ?? .null, comment)
                    if before[column] != models[column] {
                        #expect(changes?.column(column)?.contains(key.rawValue) == true, "\(comment)")
                    }
                }
            }
        }
    }

    @Test func nestedEditsSayWhatIsWrong() throws {
        let store = try Store(Self.everything)
        let write = store.write
        let table = try store.table("Row")
        let any = try store.column("Row", "any")
        let key = try write.create(table, primaryKey: nil)
        #expect(code { _ = try write.nestedEdit(table, any, key, path: [], edit: .append(.null)) } == .invalidArgument)
        try Value.list([.int(1)]).withView { view throws(DatabaseError) in try write.set(table, any, key, to: view) }
        #expect(code { _ = try write.nestedEdit(table, any, key, path: [], edit: .set(at: 1, .null)) } == .outOfBounds)
        #expect(code { _ = try write.nestedEdit(table, any, key, path: [], edit: .put("a", .null)) } == .wrongType)
        #expect(code { _ = try write.nestedEdit(table, any, key, path: [.index(0)], edit: .clear) } == .invalidArgument)
        #expect(code { _ = try write.nestedEdit(table, any, key, path: [.index(7)], edit: .clear) } == .outOfBounds)
        let text = try store.column("Row", "text")
        #expect(code { _ = try write.nestedEdit(table, text, key, path: [], edit: .clear) } == .wrongType)
        let gone = Value.link(ObjectLink(table: table, key: ObjectKey(77)))
        #expect(
            code { _ = try write.nestedEdit(table, any, key, path: [], edit: .append(.list([gone]))) } == .objectDeleted
        )
        #expect(try write.table(table).value(any, key).owned == .list([.int(1)]))
    }
}

extension CollectionRulesTests.Store {
    fileprivate func columnOrThrow(_ property: String) throws(DatabaseError) -> ColumnKey {
        guard let key = try snapshot.schema.type(named: "Row").property(named: property)?.columnKey else {
            throw DatabaseError(.internal, "no property \(property)")
        }
        return key
    }
}
