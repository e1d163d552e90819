// Upserts against a dictionary by primary key. Numbers are those of the behaviours in docs.
import MotteLiveObjects
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

/// Views of owned values, for the length of `body`.
func withViews<Result>(_ values: [Value], _ body: (UnsafeBufferPointer<ValueView>) throws -> Result) throws -> Result {
    var views: [ValueView] = []
    func next(_ index: Int) throws -> Result {
        if index == values.count { return try views.withUnsafeBufferPointer(body) }
        return try values[index].withView { (view: ValueView) throws -> Result in
            views.append(view)
            return try next(index + 1)
        }
    }
    return try next(0)
}

extension Session {
    func upsert(_ name: String, _ values: [(String, Value)], _ policy: UpdatePolicy) throws -> (LiveObject, Bool) {
        let table = try tableKey(name)
        let type = try schema.type(named: name)
        let columns = try values.map { try #require(type.property(named: $0.0)?.columnKey) }
        return try withViews(values.map(\.1)) { try upsert(table, columns: columns, values: $0, policy: policy) }
    }
}

@Suite struct UpsertTests {
    static let schema = "Item { id: string? key, count: int, rate: double?, name: string, next: link<Item> }"

    @Test func upserts50RefuseTakenKeysWithErrorPolicy() throws {
        let session = try TestStore(schema: Self.schema).open()
        try session.beginWrite()
        let (item, isNew) = try session.upsert("Item", [("id", .string("a")), ("count", .int(1))], .error)
        #expect(isNew)
        #expect(
            code { _ = try session.upsert("Item", [("id", .string("a")), ("count", .int(2))], .error) }
                == .duplicatePrimaryKey)
        #expect(try item.get("count") == .int(1))
        try session.commit()
    }

    @Test(arguments: [UpdatePolicy.modified, .all])
    func upserts51ChangeOrCreate(policy: UpdatePolicy) throws {
        let session = try TestStore(schema: Self.schema).open()
        try session.beginWrite()
        let (item, _) = try session.upsert("Item", [("id", .null), ("count", .int(1)), ("rate", .int(2))], policy)
        #expect(try item.get("rate") == .double(2))
        let (same, isNew) = try session.upsert(
            "Item", [("count", .int(5)), ("id", .null), ("name", .string("x"))], policy)
        #expect(!isNew && same.key == item.key)
        #expect(try item.get("count") == .int(5) && item.get("rate") == .double(2) && item.get("name") == .string("x"))
        #expect(try session.objects("Item").count() == 1)
        #expect(code { _ = try session.upsert("Item", [("count", .int(5))], policy) } == .invalidArgument)
        try session.commit()
        #expect(code { _ = try session.upsert("Item", [("id", .null)], policy) } == .notInWrite)
    }

    /// In the order of values 1 and true are equal, and so are lists and maps of them.
    @Test func kindsOfNestedValuesAreDifferences() throws {
        let session = try TestStore(schema: "Item { id: int key, any: mixed }").open()
        try session.beginWrite()
        let steps: [Value] = [
            .list([.int(1)]), .list([.bool(true)]), .list([.double(1)]), .map([MapEntry(key: "a", value: .int(1))]),
            .map([MapEntry(key: "a", value: .list([.int(1)]))]),
            .map([MapEntry(key: "a", value: .list([.bool(true)]))]),
        ]
        for value in steps {
            let (item, _) = try session.upsert("Item", [("id", .int(1)), ("any", value)], .modified)
            #expect(try item.get("any").text == value.text)
        }
    }

    /// What reads back otherwise is a difference, though it be equal: the sign of a zero, the digits of a decimal.
    @Test func equalNumbersAreDifferencesWhereTheyReadBackOtherwise() throws {
        let session = try TestStore(
            schema: "Item { id: int key, rate: double, small: float, price: decimal, any: mixed }"
        ).open()
        try session.beginWrite()
        for (zero, digits) in [(0.0, "1"), (-0.0, "1.0"), (0.0, "1.00"), (-0.0, "1")] {
            let price = try #require(Decimal128(parsing: digits))
            let (item, _) = try session.upsert(
                "Item",
                [
                    ("id", .int(1)), ("rate", .double(zero)), ("small", .float(Float(zero))),
                    ("price", .decimal(price)), ("any", .decimal(price)),
                ], .modified)
            guard case .double(let rate) = try item.get("rate"), case .float(let small) = try item.get("small"),
                case .decimal(let one) = try item.get("price"), case .decimal(let other) = try item.get("any")
            else {
                Issue.record("other kinds")
                return
            }
            #expect(rate.sign == zero.sign && small.sign == zero.sign)
            #expect((one.low, one.high) == (price.low, price.high))
            #expect((other.low, other.high) == (price.low, price.high))
        }
        let before = session.viewEpoch
        _ = try session.upsert("Item", [("id", .int(1)), ("rate", .double(-0.0)), ("small", .float(-0.0))], .modified)
        #expect(session.viewEpoch == before)
    }

    @Test func classesWithoutPrimaryKeyAreNotUpserted() throws {
        let session = try TestStore(schema: "Plain { count: int }").open()
        try session.beginWrite()
        #expect(code { _ = try session.upsert("Plain", [("count", .int(5))], .modified) } == .noPrimaryKey)
        #expect(try session.upsert("Plain", [("count", .int(5))], .error).1)
    }

    @Test func batchesAreAllOrNothing() throws {
        let session = try TestStore(schema: Self.schema).open()
        let table = try session.tableKey("Item")
        try session.beginWrite()
        let (old, _) = try session.upsert("Item", [("id", .string("a")), ("count", .int(1))], .error)
        let type = try session.schema.type(named: "Item")
        let columns = try ["id", "count"].map { try #require(type.property(named: $0)?.columnKey) }
        let rows: [Value] = [.string("b"), .int(2), .string("a"), .int(3), .string("c"), .bool(true)]
        for policy in [UpdatePolicy.modified, .all] {
            let error = #expect(throws: DatabaseError.self) {
                try withViews(rows) {
                    try session.upsertBatch(table, columns: columns, rows: $0.baseAddress, rowCount: 3, policy: policy)
                }
            }
            #expect(error?.code == .wrongType && error?.details.rowIndex == 2)
            #expect(try session.objects("Item").count() == 1 && old.get("count") == .int(1))
        }
        // A row that updates does not fit either.
        let error = #expect(throws: DatabaseError.self) {
            try withViews([.string("b"), .int(2), .string("a"), .null]) {
                try session.upsertBatch(table, columns: columns, rows: $0.baseAddress, rowCount: 2, policy: .all)
            }
        }
        #expect(error?.code == .nullNotAllowed && error?.details.rowIndex == 1)
        #expect(try session.objects("Item").count() == 1)
    }

    @Test(arguments: TestStore.Kind.allCases)
    func batchesBehaveLikeADictionary(kind: TestStore.Kind) throws {
        struct Row: Equatable {
            var count = Value.int(0), rate = Value.null, name = Value.string("")
        }
        try PropertyTest.run(rounds: kind == .file ? 3 : 12) { random, comment in
            let session = try TestStore(kind, schema: Self.schema).open()
            let table = try session.tableKey("Item")
            let type = try session.schema.type(named: "Item")
            let names = ["count", "rate", "id", "name"]
            let columns = try names.map { try #require(type.property(named: $0)?.columnKey) }
            var model: [Value: Row] = [:]
            for _ in 0 ..< 10 {
                let before = model
                try session.beginWrite()
                for _ in 0 ..< 3 {
                    let count = random.below(12)
                    var rows: [Value] = []
                    var ids: [Value] = []
                    for _ in 0 ..< count {
                        let id: Value = random.chance(5) ? .null : .string("i\(random.below(20))")
                        let row = Row(
                            count: .int(Int64(random.below(4))), rate: random.chance(30) ? .null : .double(0.5),
                            name: .string(String(repeating: "n", count: random.below(3))))
                        rows += [row.count, row.rate, id, row.name]
                        ids.append(id)
                        model[id] = row
                    }
                    var keys = [Int64](repeating: -1, count: count)
                    let policy: UpdatePolicy = random.chance(50) ? .all : .modified
                    let outcome = try withViews(rows) {
                        try session.upsertBatch(
                            table, columns: columns, rows: $0.baseAddress, rowCount: count, policy: policy, keys: &keys)
                    }
                    #expect(outcome.created + outcome.updated == count, "\(comment)")
                    for (id, key) in zip(ids, keys) {
                        #expect(try session.find(table, primaryKey: id)?.key == ObjectKey(key), "\(comment)")
                    }
                }
                if random.chance(20) {
                    try session.cancel()
                    model = before
                } else {
                    try session.commit()
                }
                let all = try session.objects("Item")
                #expect(try all.count() == model.count, "\(comment)")
                for index in 0 ..< (try all.count()) {
                    let item = try #require(try all.object(at: index))
                    let row = Row(count: try item.get("count"), rate: try item.get("rate"), name: try item.get("name"))
                    #expect(try row == model[item.get("id")], "\(comment)")
                }
            }
        }
    }

    @Test func links53AreSetByUpserts() throws {
        let session = try TestStore(schema: Self.schema).open()
        try session.beginWrite()
        let (first, _) = try session.upsert("Item", [("id", .string("a"))], .modified)
        let (second, _) = try session.upsert("Item", [("id", .string("b")), ("next", .link(first))], .modified)
        #expect(try second.object(second.column(named: "next"))?.key == first.key)
        _ = try session.upsert("Item", [("id", .string("b")), ("next", .null)], .modified)
        #expect(try second.get("next") == .null)
        let table = try session.tableKey("Item")
        #expect(try first.backlinks(origin: table, second.column(named: "next")).count() == 0)
    }
}
