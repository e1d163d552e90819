/// What several threads give is what one gives, to the last bit of a sum; and they end together.
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif
import MottePages
import MotteQueryEngine
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct ParallelScanTests {
    private static let conditions = [
        "TRUEPREDICATE", "age > 50", "age > 50 AND on == true", "name == \"name 7\" OR score < 3.5",
        "NOT age IN {1, 2, 3, 4, 5}",
        "name CONTAINS[c] \"ME 1\"", "age * 2 > score", "age > 90 AND on == true AND name CONTAINS \"1\"",
        "age > 90 AND on == true AND name CONTAINS[c] \"ME 1\"", "age < 5 AND name > \"name 5\"",
        "age < 5 AND name IN {\"name 1\", \"x\"}", "length(name) > 6 AND age > 3", "lower(name) == \"name 3\"",
        "at > 1970-01-01T00:10:00Z AND name != null", "age == 1000",
        "f >= 2.5 AND name BEGINSWITH \"name 1\"", "city.name == \"Rome\" AND age < 30", "long ENDSWITH \"!\"",
    ]
    private static let groupings = [
        "GROUP(name) COUNT, AVG(score), MAX(age), MIN(f)", "GROUP(age) SUM(score), STDDEV(score), MEDIAN(f)",
        "GROUP(on, name) COUNT(age), SUM(age), VAR(f)", "GROUP(at BY hour) COUNT(DISTINCT name), AVG(f)",
        "GROUP() COUNT, SUM(score), AVG(f), MIN(score), MAX(score)", "GROUP(id) COUNT, SUM(score)",
        "GROUP(long) COUNT(DISTINCT age) HAVING COUNT > 3 SORT(COUNT DESC) LIMIT(5)", "GROUP(city.name) SUM(score)",
        "GROUP(score, f, on) COUNT", "GROUP(link) COUNT, AVG(score)",
    ]

    private static func world(_ random: inout SeededRandom, rows: Int = 1_200) throws -> QueryWorld {
        let world = try QueryWorld(
            """
            City { name: string }
            P {
                id: int, name: string?, age: int?, score: double?, f: float?, on: bool, at: timestamp, long: string,
                city: link<City>, link: link<City>
            }
            """, rowGroupSize: 5)
        try world.begin()
        let rome = try world.link("City", try world.create("City", ["name": .value(.string("Rome"))]))
        let text = String(repeating: "a long text that lies in a page of its own ", count: 120)
        for id in 0 ..< rows {
            var cells: [String: QueryWorld.Cell] = [
                "id": .value(.int(Int64(id))), "on": .value(.bool(random.chance(50))),
                "at": .value(.timestamp(Timestamp(seconds: Int64(random.below(90_000)), nanoseconds: 0))),
                "long": .value(.string(random.chance(1) ? text + "!" : "short \(random.below(4))")),
            ]
            if random.chance(90) { cells["name"] = .value(.string("name \(random.below(20))")) }
            if random.chance(90) { cells["age"] = .value(.int(Int64(random.below(100)))) }
            if random.chance(90) { cells["score"] = .value(.double(Double(random.below(1_000_000)) / 997)) }
            if random.chance(90) { cells["f"] = .value(.float(random.pick([.nan, -0.0, 1.1, 2.7, 1e30]))) }
            if random.chance(50) { cells["city"] = .value(rome) }
            if random.chance(50) { cells["link"] = .value(rome) }
            try world.create("P", cells)
        }
        for key in 0 ..< Int64(rows) where random.chance(10) { try world.delete("P", key) }
        try world.commit()
        return world
    }

    /// Every call is asked of a copy with one thread and of one with several.
    private static func both<T>(_ world: QueryWorld, _ ask: (Snapshot) throws -> T) throws -> (T, T) {
        let one = world.snapshot.copy(), several = world.snapshot.copy()
        several.queryThreads = QueryThreads(3, leastWork: 0)
        return (try ask(one), try ask(several))
    }

    @Test func severalThreadsGiveWhatOneGives() throws {
        try PropertyTest.run(rounds: 2) { random, comment in
            let world = try Self.world(&random)
            let table = try world.table("P")
            let type = try world.type("P")
            for text in Self.conditions {
                let note: Comment = "\(text); \(comment)"
                let (keys, sameKeys) = try Self.both(world) { try Executor(try world.bind("P", text), $0).keys() }
                #expect(keys == sameKeys, note)
                let (count, sameCount) = try Self.both(world) { try Executor(try world.bind("P", text), $0).count() }
                #expect(count == keys.count && sameCount == count, note)
                for order in ["SORT(score DESC) LIMIT(7)", "SORT(name ASC, f DESC) LIMIT(20)", "SORT(at) LIMIT(1)"] {
                    let (first, same) = try Self.both(world) {
                        try Executor(try world.bind("P", "\(text) \(order)"), $0).keys()
                    }
                    #expect(first == same, "\(order) \(note)")
                }
                for name in ["age", "score", "f", "at"] {
                    let property = try #require(type.property(named: name))
                    let column = try #require(property.columnKey)
                    for function in Predicate.CollectionOperator.allCases
                    where name != "at" || (function != .sum && function != .avg) {
                        let (value, same) = try Self.both(world) {
                            Self.bits(try Executor(try world.bind("P", text), $0).aggregate(function, column))
                        }
                        #expect(value == same, "\(function) of \(name), \(note)")
                    }
                }
                for grouping in Self.groupings {
                    let (groups, same) = try Self.both(world) {
                        try Self.groups(world, $0, table, "\(text) \(grouping)")
                    }
                    #expect(groups == same, "\(grouping), \(note)")
                }
            }
        }
    }

    /// Values that are equal bit by bit.
    private static func bits(_ value: Value) -> String {
        switch value {
        case .double(let number): "double \(number.bitPattern)"
        case .float(let number): "float \(number.bitPattern)"
        default: "\(value)"
        }
    }

    private static func groups(
        _ world: QueryWorld, _ source: RowSource, _ table: TableKey, _ text: String
    ) throws -> [[String]] {
        let parsed = try ParsedQuery.parse(text)
        let arguments = Arguments([Argument]())
        let grouping = try BoundGrouping.bind(parsed, table: table, schema: world.schema, arguments: arguments)
        let objects = try BoundQuery.bind(
            parsed.withoutGroups, table: table, schema: world.schema, arguments: arguments)
        let groups = try Executor(objects, source).groups(grouping)
        return (0 ..< groups.count).map { row in groups.columns.indices.map { bits(groups.view($0, row).owned) } }
    }

    /// What is compared above was worked out by several.
    @Test func scansOfManyRowGroupsGoOutToThreads() throws {
        var random = SeededRandom(seed: 1)
        let world = try Self.world(&random, rows: 400)
        func threads(_ text: String, on source: RowSource) throws -> Int {
            let executor = Executor(try world.bind("P", text), source)
            _ = try executor.count()
            return executor.threadsUsed
        }
        let several = world.snapshot.copy()
        several.queryThreads = QueryThreads(3, leastWork: 0)
        #expect(try threads("age > 50", on: several) == 3)
        #expect(try threads("city.name == \"Rome\"", on: several) == 1)
        #expect(try threads("age > 50", on: world.snapshot) == 1)
        // Few rows are not worth a thread.
        several.queryThreads = QueryThreads(3)
        #expect(try threads("age > 50", on: several) == 1)
        try world.begin()
        #expect(try threads("age > 50", on: world.source) == 1)
        try world.commit()
    }

    /// A file beyond its budget of memory is gone through by one thread, which stays within it. One that fits is
    /// shared, also when a later version does not: from when memory is wanted, each thread has a source of its own.
    @Test func aBudgetOfMemoryIsKept() throws {
        let budget = 1 << 20
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.disk = MemoryDisk()
        options.memoryBytes = budget
        let world = try QueryWorld("P { id: int, text: string, score: double }", options, rowGroupSize: 60)
        func write(_ range: Range<Int>) throws {
            try world.begin()
            for id in range {
                try world.create(
                    "P",
                    [
                        "id": .value(.int(Int64(id))), "score": .value(.double(Double(id) / 7)),
                        "text": .value(.string(String(repeating: "text \(id) ", count: 60))),
                    ])
            }
            try world.commit()
        }
        let score = try #require(try world.type("P").property(named: "score")?.columnKey)
        func answers(_ threads: Int, of source: Snapshot, used: Int) throws -> [String] {
            source.queryThreads = QueryThreads(threads, leastWork: 0)
            var found: [String] = []
            for text in ["text ENDSWITH \"1 \" AND score > 12", "text != \"\""] {
                let executor = Executor(try world.bind("P", text), source)
                found.append("\(try executor.count()) \(try executor.keys().reduce(0, +))")
                found.append(Self.bits(try executor.aggregate(.sum, score)))
                #expect(executor.threadsUsed == used)
            }
            return found
        }
        try write(0 ..< 1_000)
        let small = try world.database.snapshot()
        try write(1_000 ..< 8_000)
        let large = try world.database.snapshot()
        #expect(!small.exceedsMemory && large.exceedsMemory)
        let alone = try answers(1, of: small.copy(), used: 1)
        #expect(try answers(4, of: large, used: 1) == answers(1, of: large, used: 1))
        // Pages have been given up for those of the large one. The small one is two pieces of a scan.
        #expect(small.isMemoryWanted)
        #expect(try answers(4, of: small, used: 2) == alone)
        // An opening of its own, in which nothing was in memory before.
        let database = try Database.open(world.options)
        _ = try answers(4, of: try database.snapshot(), used: 1)
        let most = try database.pages.statistics().mostMemoryBytes
        #expect(most < 4 * budget, "\(most) of \(budget)")
    }

    private static func expect(_ code: ErrorCode, _ body: () throws(DatabaseError) -> Void) {
        do throws(DatabaseError) {
            try body()
            Issue.record("a query that was to end came to its end")
        } catch {
            #expect(error.code == code)
        }
    }

    /// Asked meanwhile is the thread that asks, and what it throws ends all of them, once.
    @Test func whatEndsAQueryEndsItsThreads() throws {
        var random = SeededRandom(seed: 2)
        let world = try Self.world(&random)
        let several = world.snapshot.copy()
        several.queryThreads = QueryThreads(4, leastWork: 0)
        let control = QueryControl()
        let asker = pthread_self()
        var calls = 0
        let watch = QueryWatch(control, every: 0) { () throws(DatabaseError) in
            #expect(pthread_equal(pthread_self(), asker) != 0)
            calls += 1
            throw DatabaseError(.invalidArgument, "enough")
        }
        let query = try world.bind("P", "name CONTAINS \"e 1\" AND age > 3")
        Self.expect(.invalidArgument) { () throws(DatabaseError) in
            _ = try Executor(query, several, watch).keys()
        }
        #expect(calls == 1)
        let ended = QueryWatch(control, timeoutMilliseconds: 0)
        Self.expect(.interrupted) { () throws(DatabaseError) in _ = try Executor(query, several, ended).count() }
        let interrupted = QueryWatch(control)
        control.interrupt()
        Self.expect(.interrupted) { () throws(DatabaseError) in
            _ = try Executor(query, several, interrupted).count()
        }
        // Nothing of that stays.
        #expect(try Executor(query, several).count() == Executor(query, world.snapshot).count())
    }
}
