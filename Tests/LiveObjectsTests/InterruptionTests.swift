/// Queries end by an interruption, by time and by what is asked meanwhile, and leave everything as it was.
import MotteLiveObjects
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct InterruptionTests {
    static let schema = """
        P { id: int key, name: string, age: int?, boss: link<P>, friends: list<P>, tags: list<string> }
        """

    private func withSession(_ body: (Session) throws -> Void) throws {
        let session = try TestStore(rowGroupSize: 100, schema: Self.schema).open()
        try fill(session, 3_000)
        try body(session)
    }

    private func fill(_ session: Session, _ count: Int) throws {
        try session.inWrite {
            for number in 0 ..< count {
                try session.add(
                    "P",
                    [
                        "id": .int(Int64(number)), "name": .string("name \(number % 97)"),
                        "age": .int(Int64(number % 50)),
                    ])
            }
        }
    }

    /// Each kind of query, as something that is asked again each time.
    private static var queries: [(name: String, ask: (Session) throws -> Int)] {
        [
            ("count", { try $0.query(try $0.tableKey("P"), "age > 3").count() }),
            ("first", { Int(try $0.query(try $0.tableKey("P"), "age > 3").first()?.key.rawValue ?? -1) }),
            ("find", { try $0.objects("P").filter("name CONTAINS 'e 1'").keys().count }),
            ("filter of a filter", { try $0.objects("P").filter("age > 3 LIMIT(5)").filter("age < 9").keys().count }),
            ("sort", { try $0.objects("P").sorted(by: "name").keys().count }),
            ("sort by link", { try $0.objects("P").sorted(by: "boss.name").keys().count }),
            ("first of an order", { try $0.objects("P").filter("SORT(name) LIMIT(3)").keys().count }),
            ("distinct", { try $0.objects("P").distinct(by: ["name"]).keys().count }),
            ("link", { try $0.objects("P").filter("boss.age > 3").count() }),
            ("subquery", { try $0.objects("P").filter("SUBQUERY(friends, $f, $f.age > 3).@count == 0").count() }),
            ("arithmetic", { try $0.objects("P").filter("age * 2 > id").count() }),
            ("sum", { try total($0, "age > 3") }),
            ("sum of a limit", { try total($0, "LIMIT(9)") }),
            ("groups", { try $0.objects("P").groups("GROUP(name) COUNT, AVG(age)").count() }),
            ("groups of a limit", { try $0.objects("P").groups("LIMIT(99) GROUP(name) COUNT").count() }),
            (
                "column",
                { session in
                    var values = [Int64](repeating: 0, count: 3_000)
                    return try session.objects("P").readInts(
                        column(session, "age"), first: 0, count: 3_000, into: &values, validity: nil)
                }
            ),
        ]
    }

    private static func total(_ session: Session, _ query: String) throws -> Int {
        guard case .int(let sum) = try session.objects("P").filter(query).aggregate(.sum, column(session, "age")) else {
            return -1
        }
        return Int(sum)
    }

    private static func column(_ session: Session, _ name: String) throws -> ColumnKey {
        try #require(try session.schema["P"]?.property(named: name)?.columnKey)
    }

    @Test func everyQueryEndsWhenItsTimeIsUp() throws {
        try withSession { session in
            let whole = try Self.queries.map { try $0.ask(session) }
            session.queryControl.timeoutMilliseconds = 0
            for query in Self.queries {
                let error = #expect(throws: DatabaseError.self, "\(query.name)") { try query.ask(session) }
                #expect(error?.code == .interrupted, "\(query.name)")
            }
            session.queryControl.timeoutMilliseconds = 600_000
            #expect(try Self.queries.map { try $0.ask(session) } == whole)
        }
    }

    @Test func anInterruptionConcernsWhatRuns() throws {
        try withSession { session in
            let whole = try Self.queries.map { try $0.ask(session) }
            for query in Self.queries {
                QueryScope.run(session, timeoutMilliseconds: -1) { _ in
                    session.queryControl.interrupt()
                    let error = #expect(throws: DatabaseError.self, "\(query.name)") { try query.ask(session) }
                    #expect(error?.code == .interrupted, "\(query.name)")
                }
            }
            session.queryControl.interrupt()
            #expect(try Self.queries.map { try $0.ask(session) } == whole)
        }
    }

    @Test func frozenSessionsAreInterruptedByThemselves() throws {
        try withSession { session in
            session.queryControl.timeoutMilliseconds = 0
            let frozen = try session.freeze()
            let results = try frozen.objects("P").filter("age > 3")
            #expect(throws: DatabaseError.self) { try results.keys() }
            frozen.queryControl.timeoutMilliseconds = -1
            // What was ended left nothing behind.
            #expect(try results.keys().count == 2_760)
            #expect(throws: DatabaseError.self) { try session.objects("P").filter("age > 3").keys() }
        }
    }

    @Test func whatIsFrozenHasTheLimitOfTheMoment() throws {
        try withSession { session in
            let all = try session.objects("P")
            var frozen: [LiveCollection] = []
            for limit in [0, -1, 0, 600_000] as [Int64] {
                session.queryControl.timeoutMilliseconds = limit
                frozen.append(try all.freeze())
            }
            for (index, each) in frozen.enumerated() {
                let results = try #require(each as? LiveResults)
                if index.isMultiple(of: 2) {
                    #expect(throws: DatabaseError.self) { try results.filter("age > 3").keys() }
                } else {
                    #expect(try results.filter("age > 3").keys().count == 2_760)
                }
            }
        }
    }

    @Test func anotherThreadInterrupts() throws {
        try withSession { session in
            let control = session.queryControl
            let isDone = Locked(false)
            let other = ThreadRun {
                while !isDone.withLock({ $0 }) {
                    control.interrupt()
                    usleep(200)
                }
            }
            var failure: DatabaseError?
            // Sooner or later one is interrupted while it runs.
            for _ in 0 ..< 1_000_000 where failure == nil {
                do { _ = try session.objects("P").sorted(by: "name").keys() } catch let error as DatabaseError {
                    failure = error
                }
            }
            isDone.withLock { $0 = true }
            try other.join()
            #expect(failure?.code == .interrupted)
            #expect(try session.objects("P").sorted(by: "name").keys().count == 3_000)
        }
    }

    @Test func aWriteInWhichAQueryEndedStaysWhole() throws {
        try withSession { session in
            try session.beginWrite()
            let first = try #require(try session.query(try session.tableKey("P"), "id == 7").first())
            try first.set("age", to: .int(1_000))
            session.queryControl.timeoutMilliseconds = 0
            for query in Self.queries { #expect(throws: DatabaseError.self) { try query.ask(session) } }
            #expect(throws: DatabaseError.self) { try session.objects("P").filter("age > 3").deleteObjects() }
            session.queryControl.timeoutMilliseconds = -1
            #expect(try session.objects("P").filter("age == 1000").count() == 1)
            #expect(try session.objects("P").count() == 3_000)
            try session.commit()
            #expect(try session.objects("P").filter("age == 1000").keys() == [7])
        }
    }

    @Test func whoIsAskedMeanwhileCanEndAQueryAndNothingElse() throws {
        try withSession { session in
            session.queryProgressNanoseconds = 0
            var calls = 0
            try session.onQueryProgress { () throws(DatabaseError) in
                calls += 1
                do throws(DatabaseError) {
                    _ = try session.objects("P")
                    Issue.record("a session can be used while it is asked for its progress")
                } catch { #expect(error.code == .reentrant) }
                do throws(DatabaseError) {
                    _ = try session.close()
                    Issue.record("a session can be closed while it is asked for its progress")
                } catch { #expect(error.code == .reentrant) }
            }
            #expect(try session.objects("P").filter("age > 3").keys().count == 2_760)
            #expect(calls > 0)
            try session.onQueryProgress { () throws(DatabaseError) in throw DatabaseError(.callback, "enough") }
            let error = #expect(throws: DatabaseError.self) { try session.objects("P").filter("age > 4").keys() }
            #expect(error?.message == "enough")
            try session.onQueryProgress(nil)
            #expect(try session.objects("P").filter("age > 4").keys().count == 2_700)
            let frozen = try session.freeze()
            #expect(throws: DatabaseError.self) { try frozen.onQueryProgress(nil) }
        }
    }

    @Test func whereNothingCanBeThrownQueriesEndInScopesAlone() throws {
        var options = try TestStore(schema: Self.schema).options
        options.queriesEndInScopesOnly = true
        let session = try Session.open(options)
        try fill(session, 100)
        session.queryControl.timeoutMilliseconds = 0
        #expect(try session.objects("P").filter("age > 3").keys().count == 92)
        let error = #expect(throws: DatabaseError.self) {
            try QueryScope.run(session, timeoutMilliseconds: 0) { _ in
                try session.objects("P").filter("age > 4").keys()
            }
        }
        #expect(error?.code == .interrupted)
        #expect(QueryScope.current == nil)
    }
}
