/// Random stores of all types: what was exported to a SQLite file, and imported from it, exports the same dump.
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct SQLiteRoundTripTests {
    @Test func filesMakeTheSameStore() throws {
        let directory = TemporaryDirectory()
        try PropertyTest.run(rounds: 30) { random, comment in
            let before = try RandomStore.make(&random)
            let path = directory.file("\(RandomStore.freshName()).sqlite")
            try SQLiteExport.write(before, to: path)

            let after = try imported(path)

            #expect(try after.dumpJSON() == before.dumpJSON(), "\(comment)")
            #expect(try SQLiteSource(path).notes.isEmpty)
        }
    }

    @Test func whatAWriteHasNotCommittedIsExportedToo() throws {
        let session = try TestStore(
            schema: "P { id: int key, name: string, tags: list<string>, by: map<mixed>, to: link<P> }"
        ).open()
        let path = TemporaryDirectory.kept.file("open-write.sqlite")
        try session.importJSON("P", #"{"id": 1, "name": "before"}"#)
        try session.beginWrite()
        let importer = try JSONImport(session, into: try session.tableKey("P"))
        try Array(#"{"id": 2, "name": "within", "tags": ["a", "b"], "by": {"k": [1, "x"], "l": 2}, "to": 1}"#.utf8)
            .withUnsafeBytes { try importer.run($0) }
        let dump = try session.dumpJSON()

        try SQLiteExport.write(session, to: path)

        #expect(try imported(path).dumpJSON() == dump)
        try session.cancel()
    }

    @Test func objectsKeepTheirOrder() throws {
        let session = try TestStore(schema: "P { id: int key } Q { name: string key } R { n: int? key }").open()
        try session.importJSON("P", "[{\"id\": 5}, {\"id\": -1}, {\"id\": 9}, {\"id\": 2}]")
        try session.importJSON("Q", "[{\"name\": \"z\"}, {\"name\": \"a\"}, {\"name\": \"\"}]")
        try session.importJSON("R", "[{\"n\": 3}, {\"n\": null}, {\"n\": 1}]")
        let path = TemporaryDirectory.kept.file("order.sqlite")
        try SQLiteExport.write(session, to: path)

        #expect(try imported(path).dumpJSON() == session.dumpJSON())

        // What somebody adds comes behind.
        try change(path, "INSERT INTO P VALUES (3)")
        #expect(try imported(path).exportJSON("P") == [5, -1, 9, 2, 3].map { "{\"id\":\($0)}\n" }.joined())
    }

    @Test func namesAreQuotedAndDistinct() throws {
        let session = try TestStore(
            schema: """
                select { order: int key, `Order`: string, `a"b`: mixed, `a"b_type`: int, group: list<int>, rowid: int }
                `SELECT` { `x'; DROP TABLE "select"; --`: string, `where`: link<select> }
                sqlite_stat1 { n: int }  motte_schema { n: int }  select_group { n: int, to: set<select_group> }
                """
        ).open()
        try session.importJSON(
            "select",
            #"[{"order": 1, "Order": "x", "a\"b": true, "a\"b_type": 4, "group": [3, 1, 2], "rowid": 9}]"#)
        try session.importJSON("SELECT", #"[{"x'; DROP TABLE \"select\"; --": "'", "where": 1}]"#)
        try session.importJSON("select_group", #"[{"n": 1, "to": []}]"#)
        try session.importJSON("motte_schema", #"[{"n": 1}]"#)
        try session.importJSON("sqlite_stat1", #"[{"n": 7}]"#)
        let path = TemporaryDirectory.kept.file("names.sqlite")
        try SQLiteExport.write(session, to: path)

        #expect(try imported(path).dumpJSON() == session.dumpJSON())
        let file = try SQLiteConnection(path, for: .reading)
        let join = "\"SELECT_2\" AS s JOIN \"select\" AS t ON s.\"where\" = t.\"order\""
        #expect(try file.int("SELECT count(*) FROM \(join)") == 1)
    }

    @Test func theNumberOfTheSchemaIsKept() throws {
        var options = SessionOptions(.memory(RandomStore.freshName()), schema: try SchemaText.parse("P { n: int }"))
        options.schemaVersion = 7
        let session = try Session.open(options)
        let path = TemporaryDirectory.kept.file("version.sqlite")
        try SQLiteExport.write(session, to: path)

        #expect(try SQLiteSource(path).schemaVersion == 7)
        let header = try #require(try Array(session.dumpJSON().utf8).withUnsafeBytes { try StoreDumpHeader($0) })
        #expect(header.schemaVersion == 7)
    }

    @Test func SQLiteReadsValuesAsItsOwn() throws {
        let session = try TestStore(
            schema: """
                P { id: uuid key, at: timestamp, d: double, price: decimal, alive: bool, best: link<P>, any: mixed,
                    tags: list<string>, by: map<P>, part: link<Part> }
                embedded Part { n: int }
                """
        ).open()
        let (a, b) = ("01234567-89ab-cdef-0123-456789abcdef", "11234567-89ab-cdef-0123-456789abcdef")
        let text = """
            [{"id": "\(a)", "at": "2013-01-01T10:00:00.5Z", "d": -0.0, "price": "1.50", "alive": true, "best": "\(b)",
              "any": {"$link": ["P", "\(b)"]}, "tags": ["x", "y"], "by": {"k": "\(a)"}, "part": {"n": 3}},
             {"id": "\(b)", "at": "1969-12-31T23:59:59Z", "d": "NaN", "price": "2", "alive": false, "best": "\(a)",
              "any": [1, {"$date": "2013-01-01T10:00:00Z"}]}]
            """
        try session.importJSON("P", text)
        let path = TemporaryDirectory.kept.file("types.sqlite")
        try SQLiteExport.write(session, to: path)
        let file = try SQLiteConnection(path, for: .reading)
        func shows(_ sql: String, _ text: String, _ place: SourceLocation = #_sourceLocation) throws {
            #expect(try file.text("SELECT \(sql)") == text, sourceLocation: place)
        }

        try shows("group_concat(strftime('%Y %s', at), ',') FROM P", "2013 1357034400,1969 -1")
        try shows("at FROM P ORDER BY at LIMIT 1", "1969-12-31 23:59:59")
        try shows("typeof(d) || CAST(d AS TEXT) || (CAST(d AS REAL) = 0) FROM P WHERE alive", "blob-0.01")
        try shows("typeof(d) || d FROM P WHERE NOT alive", "textNaN")
        try shows("sum(price) FROM P", "3.5")
        try shows("a.id FROM P AS a JOIN P AS b ON a.best = b.id WHERE b.alive = 0", a)
        try shows("any_type FROM P WHERE any = '\(b)'", "link:P")
        try shows("json_extract(any, '$[1].$date') FROM P WHERE any_type = 'list'", "2013-01-01T10:00:00Z")
        try shows("group_concat(value) FROM P_tags WHERE owner = '\(a)'", "x,y")
        try shows("target FROM P_by WHERE key = 'k'", a)
        try shows("n FROM Part JOIN P ON P.part = Part.\"$key\"", "3")
        try shows(
            "group_concat(name) FROM (SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY 1)",
            "P_best_index,P_by_index,P_part_index,sqlite_autoindex_P_1,sqlite_autoindex_motte_schema_1")
    }

    // MARK: Dumps as one document

    @Test func documentsMakeTheSameStore() throws {
        try PropertyTest.run(rounds: 20) { random, comment in
            let before = try RandomStore.make(&random)
            var export = try JSONExport(before)
            var sink = ByteSink()
            try export.store(as: .array, to: &sink)
            let header = try #require(try sink.bytes.withUnsafeBytes { try StoreDumpHeader($0) })

            let after = try Session.open(SessionOptions(.memory(RandomStore.freshName()), schema: header.schema))
            try after.importJSON(nil, sink.string)

            #expect(try after.dumpJSON() == before.dumpJSON(), "\(comment)")
        }
    }

    @Test(
        arguments: [
            (#"{"$motte":1,"schema":"P { n: int }","objects":[{"$class":"P","n":1}]"#, "the text ends where '}'"),
            (#"{"$motte":1,"schema":"P { n: int }","objects":[{"$class":"P","n":1}], "x": 1}"#, "a name follows"),
            (#"{"$motte":1,"schema":"P { n: int }","objects":[]} {}"#, "something follows the document"),
            (#"{"$motte":1,"objects":[],"schema":"P { n: int }"}"#, "stand behind the \"schema\""),
            (#"{"$motte":1,"schema":"P { n: int }","objects":[{"$motte":1}]}"#, "expected \"$class\" first"),
        ])
    func mistakesInDocumentsAreNamed(_ text: String, _ says: String) throws {
        let session = try TestStore(schema: "P { n: int }").open()
        let error = #expect(throws: DatabaseError.self) { try session.importJSON(nil, text) }
        #expect(error?.message.contains(says) == true, "\(error?.message ?? "")")
        #expect(try session.dumpJSON().contains("$class") == false)
    }
}

/// A database in memory that has what a SQLite file has.
func imported(_ path: String, _ options: JSONImport.Options = JSONImport.Options()) throws -> Session {
    let source = try SQLiteSource(path)
    let session = try Session.open(SessionOptions(.memory(RandomStore.freshName()), schema: source.schema))
    try session.inWrite { _ = try SQLiteImport.run(source, session, options) }
    return session
}

/// A file that is there already, by another program.
func change(_ path: String, _ sql: String) throws {
    try SQLiteConnection(path, for: .making).execute(sql)
}

extension TemporaryDirectory {
    /// Until the process ends.
    static let kept = TemporaryDirectory()
}
