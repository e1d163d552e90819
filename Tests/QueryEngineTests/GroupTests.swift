/// Groups: their text, what they give, and what is refused.
import MotteQueryEngine
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct GroupTests {
    private static func world() throws -> QueryWorld {
        let world = try QueryWorld(
            """
            City { name: string, place: link<City> }
            P {
                name: string?, age: int?, score: double?, on: bool, at: timestamp?, city: link<City>,
                tags: list<string>
            }
            """, rowGroupSize: 3)
        try world.begin()
        let paris = try world.create("City", ["name": .value(.string("Paris"))])
        let rome = try world.create(
            "City", ["name": .value(.string("Rome")), "place": .value(try world.link("City", paris))])
        let rows: [(String?, Int64?, Double?, Int64?, Int64?)] = [
            ("a", 1, 1.5, 0, paris), ("b", 2, nil, 86_400, rome), ("a", 3, -0.0, 31 * 86_400, paris),
            (nil, 4, .nan, nil, nil), ("b", nil, 0.0, 32 * 86_400, rome), ("a", 1, .nan, 60, nil),
        ]
        for (name, age, score, at, city) in rows {
            var cells: [String: QueryWorld.Cell] = [:]
            if let name { cells["name"] = .value(.string(name)) }
            if let age { cells["age"] = .value(.int(age)) }
            if let score { cells["score"] = .value(.double(score)) }
            if let at { cells["at"] = .value(.timestamp(Timestamp(seconds: at, nanoseconds: 5))) }
            if let city { cells["city"] = .value(try world.link("City", city)) }
            try world.create("P", cells)
        }
        try world.commit()
        return world
    }

    private static func rows(_ world: QueryWorld, _ text: String, _ values: [Value] = []) throws -> [[Value]] {
        let table = try world.groups("P", text, values)
        return (0 ..< table.count).map { row in table.columns.indices.map { table.view($0, row).owned } }
    }

    @Test func keysAggregatesAndOrder() throws {
        let world = try Self.world()
        #expect(
            try Self.rows(world, "GROUP(name) COUNT, COUNT(age), SUM(age), AVG(age), MIN(age), MAX(age)") == [
                [.null, .int(1), .int(1), .int(4), .double(4), .int(4), .int(4)],
                [.string("a"), .int(3), .int(3), .int(5), .double(5.0 / 3), .int(1), .int(3)],
                [.string("b"), .int(2), .int(1), .int(2), .double(2), .int(2), .int(2)],
            ])
        #expect(
            try Self.rows(world, "age > 1 GROUP(city.name) COUNT SORT(COUNT DESC, city.name)") == [
                [.null, .int(1)], [.string("Paris"), .int(1)], [.string("Rome"), .int(1)],
            ])
        #expect(
            try Self.rows(world, "GROUP(city.place.name AS up, on) COUNT") == [
                [.null, .bool(false), .int(4)], [.string("Paris"), .bool(false), .int(2)],
            ])
        #expect(try Self.rows(world, "GROUP(name) LIMIT(1)") == [[.null]])
    }

    /// Without keys there is one group, also of nothing.
    @Test func noKeysAreOneGroup() throws {
        let world = try Self.world()
        let text = "GROUP() COUNT, SUM(age), AVG(age), MIN(name), MEDIAN(age), COUNT(DISTINCT name)"
        #expect(
            try Self.rows(world, text) == [
                [.int(6), .int(11), .double(11.0 / 5), .string("a"), .double(2), .int(2)]
            ])
        #expect(
            try Self.rows(world, "age > 9 " + text) == [[.int(0), .int(0), .null, .null, .null, .int(0)]])
        #expect(try Self.rows(world, "age > 9 GROUP(name) COUNT") == [])
    }

    /// All NaN are one key and so are both zeros; NaN is below other numbers.
    @Test func nanAndNegativeZero() throws {
        let world = try Self.world()
        #expect(
            try Self.rows(world, "GROUP(score) COUNT") == [
                [.null, .int(1)], [.double(.nan), .int(2)], [.double(0), .int(2)], [.double(1.5), .int(1)],
            ])
        #expect(
            try Self.rows(world, "GROUP() MIN(score), MAX(score), COUNT(DISTINCT score)") == [
                [.double(.nan), .double(1.5), .int(3)]
            ])
    }

    @Test func timesInBuckets() throws {
        let world = try Self.world()
        func time(_ days: Int64) -> Value { .timestamp(Timestamp(seconds: days * 86_400, nanoseconds: 0)) }
        #expect(
            try Self.rows(world, "GROUP(at BY month) COUNT") == [
                [.null, .int(1)], [time(0), .int(3)], [time(31), .int(2)],
            ])
        #expect(try Self.rows(world, "at != null GROUP(at BY week) COUNT LIMIT(1)") == [[time(-3), .int(3)]])
        let text = "at != null GROUP(at BY year AS y) COUNT HAVING y > T-1:0"
        #expect(try Self.rows(world, text) == [[time(0), .int(5)]])
    }

    @Test func spansOfTheCalendar() {
        func second(_ bucket: TimeBucket, _ at: Int64) -> [Int64] {
            let span = bucket.span(at)
            return [span.start, span.end]
        }
        // 2000-02-29T12:34:56Z and 1969-12-31T23:59:59Z.
        let leap: Int64 = 951_827_696
        #expect(second(.minute, leap) == [951_827_640, 951_827_700])
        #expect(second(.hour, leap) == [951_825_600, 951_829_200])
        #expect(second(.day, leap) == [951_782_400, 951_868_800])
        #expect(second(.week, leap) == [951_696_000, 952_300_800])
        #expect(second(.month, leap) == [949_363_200, 951_868_800])
        #expect(second(.quarter, leap) == [946_684_800, 954_547_200])
        #expect(second(.year, leap) == [946_684_800, 978_307_200])
        #expect(second(.second, -1) == [-1, 0])
        #expect(second(.month, -1) == [-2_678_400, 0])
        #expect(second(.year, -1) == [-31_536_000, 0])
        #expect(second(.week, -1) == [-259_200, 345_600])
        for bucket in TimeBucket.allCases {
            // Ends meet, and the farthest times trap nowhere.
            for at in [Int64.min, -62_135_596_800, -1, 0, leap, 253_402_300_799, .max] {
                let span = bucket.span(at)
                #expect(span.start <= at && (at < span.end || span.end == .max))
                if span.end != .max { #expect(bucket.span(span.end).start == span.end) }
            }
        }
    }

    @Test func conditionsOnGroups() throws {
        let world = try Self.world()
        #expect(
            try Self.rows(world, "GROUP(name) COUNT HAVING COUNT > 1 AND name != 'b'") == [[.string("a"), .int(3)]])
        #expect(try Self.rows(world, "GROUP(name) HAVING SUM(age) > $0", [.int(4)]) == [[.string("a")]])
        #expect(
            try Self.rows(world, "GROUP(name) MAX(age) AS most, MIN(age) AS least HAVING NOT most == least") == [
                [.string("a"), .int(3), .int(1)]
            ])
        #expect(
            try Self.rows(world, "GROUP(name) COUNT AS n HAVING n IN {1, 2} OR name BEGINSWITH[c] 'A' SORT(n DESC)")
                == [[.string("a"), .int(3)], [.string("b"), .int(2)], [.null, .int(1)]])
        #expect(try Self.rows(world, "GROUP(name) HAVING 2 <= COUNT LIMIT($0)", [.int(1)]) == [[.string("a")]])
        #expect(try Self.rows(world, "GROUP(name) HAVING COUNT BETWEEN 2 AND 2") == [[.string("b")]])
    }

    @Test func arithmeticOnColumns() throws {
        let world = try Self.world()
        let sums = try Self.rows(world, "GROUP(name) SUM(age), COUNT")
        func names(_ having: String, _ arguments: [Value] = []) throws -> [Value] {
            try Self.rows(world, "GROUP(name) HAVING \(having)", arguments).map { $0[0] }
        }
        func expected(_ holds: (Int64, Int64) -> Bool) -> [Value] {
            sums.compactMap { row in
                guard case .int(let sum) = row[1], case .int(let count) = row[2] else { return nil }
                return holds(sum, count) ? row[0] : nil
            }
        }
        #expect(try names("SUM(age) / COUNT == 2") == expected { $0 / $1 == 2 })
        #expect(try names("SUM(age) - COUNT > $0 - 1", [.int(2)]) == expected { $0 - $1 > 1 })
        #expect(try names("(SUM(age) + 1) * 2 < 10") == expected { ($0 + 1) * 2 < 10 && $1 > 0 })
        #expect(try names("2 * COUNT == SUM(age) OR COUNT + 0 IN {1 + 1}") == expected { 2 * $1 == $0 || $1 == 2 })
        #expect(try names("COUNT BETWEEN 1 + 1 AND 2 * 2") == expected { (2 ... 4).contains($1) && $0 >= 0 })
        #expect(try names("NOT (SUM(age) + 1 BETWEEN {3, 6})") == expected { !(3 ... 6).contains($0 + 1) && $1 > 0 })
        #expect(try names("SUM(age) / (COUNT - 1) == NULL") == expected { $1 == 1 && $0 >= 0 })
        let error = #expect(throws: DatabaseError.self) { try names("name + 1 == 2") }
        #expect(error?.code == .queryInvalid)
    }

    @Test func leavingOutTheFirstGroups() throws {
        let world = try Self.world()
        let all = try Self.rows(world, "GROUP(at) SORT(at DESC)")
        for offset in [0, 1, all.count - 1, all.count, all.count + 7] {
            #expect(
                try Self.rows(world, "GROUP(at) SORT(at DESC) OFFSET($0)", [.int(Int64(offset))])
                    == Array(all.dropFirst(offset)))
            #expect(
                try Self.rows(world, "GROUP(at) SORT(at DESC) OFFSET(\(offset)) LIMIT(2)")
                    == Array(all.dropFirst(offset).prefix(2)))
            #expect(
                try Self.rows(world, "GROUP(at) SORT(at DESC) LIMIT(3) OFFSET(\(offset))")
                    == Array(all.prefix(3).dropFirst(offset)))
        }
        #expect(try Self.rows(world, "GROUP(at) OFFSET(9223372036854775807) LIMIT(9223372036854775807)").isEmpty)
    }

    /// Clauses before GROUP choose among objects.
    @Test func clausesBeforeGroups() throws {
        let world = try Self.world()
        #expect(
            try Self.rows(world, "SORT(age DESC) LIMIT(2) GROUP(name) COUNT") == [
                [.null, .int(1)], [.string("a"), .int(1)],
            ])
        #expect(try Self.rows(world, "DISTINCT(name) GROUP() COUNT") == [[.int(3)]])
        let executor = try world.executor("P", "")
        let grouping = try world.bindGroups("P", "GROUP(name) COUNT")
        // One that is there twice counts twice.
        let table = try executor.groups(grouping, of: [5, 0, 5])
        #expect(table.count == 1 && table.view(1, 0).intValue == 3)
    }

    @Test func momentsAndPercentiles() throws {
        let world = try Self.world()
        let found = try Self.rows(
            world, "GROUP() PERCENTILE(age, 0), PERCENTILE(age, 1), PERCENTILE(age, 0.25), MEDIAN(age)")
        // 1 2 3 4 1
        #expect(found == [[.double(1), .double(4), .double(1), .double(2)]])
        #expect(
            try Self.rows(world, "age IN {2, 4} GROUP() VAR(age), STDDEV(age)") == [
                [.double(2), .double(2.0.squareRoot())]
            ])
        #expect(try Self.rows(world, "name == 'b' GROUP() VAR(age), MEDIAN(age)") == [[.null, .double(2)]])
        #expect(try Self.rows(world, "age IN {2, 3} GROUP() PERCENTILE(age, 0.9)") == [[.double(2.9)]])
    }

    @Test(arguments: [
        ("GROUP(height) COUNT", 6, ErrorCode.unknownProperty), ("GROUP(tags) COUNT", 6, .queryInvalid),
        ("GROUP(age BY month) COUNT", 6, .queryInvalid), ("GROUP(at BY moon) COUNT", 12, .querySyntax),
        ("GROUP(name) SUM(name)", 12, .queryInvalid), ("GROUP(name) SUM", 12, .querySyntax),
        ("GROUP() ", 8, .querySyntax), ("GROUP(name) COUNT, name", 19, .querySyntax),
        ("GROUP(name) COUNT SORT(age)", 23, .queryInvalid), ("GROUP(name, name)", 0, .queryInvalid),
        ("GROUP(name) COUNT HAVING COUNT == 'a'", 34, .queryInvalid),
        ("GROUP(name) PERCENTILE(age, 2)", 28, .querySyntax),
        ("GROUP(name) COUNT DISTINCT(name)", 18, .querySyntax), ("GROUP(name) COUNT LIMIT($0)", 24, .queryArgument),
        ("GROUP(name) COUNT AND age > 3", 18, .querySyntax), ("GROUP(city) COUNT SORT(city)", -1, .queryInvalid),
    ])
    func mistakes(text: String, offset: Int, code: ErrorCode) throws {
        let world = try Self.world()
        do throws(DatabaseError) {
            _ = try world.bindGroups("P", text)
            Issue.record("\(text) was accepted")
        } catch {
            #expect(error.code == code, "\(error)")
            #expect((error.details.queryOffset ?? -1) == offset, "\(error)")
        }
    }

    @Test func sumsThatOverflow() throws {
        let world = try QueryWorld("P { v: int }")
        try world.begin()
        for _ in 0 ..< 2 { try world.create("P", ["v": .value(.int(.max))]) }
        try world.commit()
        #expect(try Self.rows(world, "GROUP() AVG(v)") == [[.double(0x1p63)]])
        #expect(throws: DatabaseError.self) { try Self.rows(world, "GROUP() SUM(v)") }
    }

    /// Where objects are wanted, groups are an error, and the other way round.
    @Test func groupsAreNoObjects() throws {
        let world = try Self.world()
        #expect(throws: DatabaseError.self) { try world.bind("P", "GROUP(name) COUNT") }
        #expect(throws: DatabaseError.self) { try world.bindGroups("P", "age > 3") }
    }

    @Test func textOfGroups() throws {
        for text in [
            "GROUP(name) COUNT", "age > 3 SORT(age ASC) GROUP(name AS n, at BY month) AVG(age) AS `and`, COUNT",
            "GROUP() PERCENTILE(age, 0.25), COUNT(DISTINCT city.name) AS `group` LIMIT(3)",
            "GROUP(`group`.`sort`) HAVING COUNT > 3 AND NOT SUM(age) == 0 SORT(COUNT DESC, `group`.`sort` ASC) "
                + "LIMIT($0)",
            "GROUP(name) MAX(at) HAVING (SUM(age) + 1) / COUNT > 2 * AVG(age) OR MAX(at) - MIN(at) > 30 AND COUNT == 1 "
                + "SORT(COUNT ASC) OFFSET(2) LIMIT($0)",
        ] {
            let parsed = try ParsedQuery.parse(text)
            #expect(PredicateText.describe(parsed) == text)
            #expect(try ParsedQuery.parse(PredicateText.describe(parsed)).grouping == parsed.grouping)
        }
        // Names that are no keywords anywhere else stay names of properties.
        #expect(try ParsedQuery.parse("group == 3 AND having == count").grouping == nil)
        #expect(try ParsedQuery.parse("GROUP(count) COUNT, SUM(`count`)").grouping?.keys.first?.title == "count")
    }

    @Test func noTextOfGroupsCrashes() throws {
        let words = [
            "GROUP(", ")", "a", "count", "sum(", "count(distinct", "percentile(a,", "0.5", "having", "by", "month",
            "as", "sort(", "limit(1)", "and", "not", "(", ",", "==", "$0", "'x'", "*", ".", "{", "}", "between",
        ]
        try PropertyTest.run(rounds: 3_000) { random, comment in
            var text = "GROUP(a) "
            for _ in 0 ..< random.below(14) { text += random.pick(words) + " " }
            do throws(DatabaseError) {
                let parsed = try ParsedQuery.parse(text)
                let again = try ParsedQuery.parse(PredicateText.describe(parsed))
                #expect(PredicateText.describe(again) == PredicateText.describe(parsed), "\(text); \(comment)")
            } catch {
                let offset = error.details.queryOffset ?? -1
                #expect(offset >= 0 && offset <= text.utf8.count, "\(error) \(text); \(comment)")
            }
        }
    }
}

extension QueryWorld {
    func bindGroups(_ name: String, _ text: String, _ values: [Value] = []) throws(DatabaseError) -> BoundGrouping {
        guard let table = try schema.type(named: name).tableKey else { throw DatabaseError(.unknownClass, name) }
        return try BoundGrouping.bind(
            try ParsedQuery.parse(text), table: table, schema: schema, arguments: Arguments(values))
    }

    func groups(_ name: String, _ text: String, _ values: [Value] = []) throws -> GroupTable {
        let parsed = try ParsedQuery.parse(text)
        let query = try BoundQuery.bind(
            parsed.withoutGroups, table: try table(name), schema: schema, arguments: Arguments(values))
        return try Executor(query, source).groups(try bindGroups(name, text, values))
    }
}
