/// SQLite files that others made or damaged: what their tables become, what is said about them, and that a refusal
/// leaves everything as it was.
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct SQLiteFilesTests {
    private let directory = TemporaryDirectory()

    private func made(_ sql: String, _ name: String = "made.sqlite") throws -> String {
        let path = directory.file(name)
        try SQLiteConnection(path, for: .making).execute(sql)
        return path
    }

    @Test func declaredTablesBecomeClasses() throws {
        let path = try made(
            """
            CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL, born DATE, alive BOOLEAN NOT NULL,
                mentor INTEGER REFERENCES author);
            CREATE TABLE book (isbn VARCHAR(20) PRIMARY KEY, author_id INTEGER NOT NULL REFERENCES author(id),
                price REAL, cover BLOB, rating DECIMAL(3, 1), printed DATETIME, code UUID);
            CREATE TABLE tag (book TEXT REFERENCES book, word TEXT);
            CREATE INDEX book_printed ON book (printed);
            INSERT INTO author VALUES (7, 'Ada', '1815-12-10', 0, 3), (3, 'Mary', '1780-11-26', 0, 7),
                (9, 'Bob', NULL, 1, NULL);
            INSERT INTO book VALUES ('a', 7, 1.5, x'00ff', 4.5, '2013-01-01 10:00:00.25',
                '01234567-89ab-cdef-0123-456789abcdef');
            INSERT INTO book VALUES ('b', 3, 2, NULL, 4, '2013-01-01T10:00:00+02:00', NULL);
            INSERT INTO tag VALUES ('b', 'x'), ('a', 'y'), (NULL, 'z');
            """)
        let source = try SQLiteSource(path)

        #expect(
            SchemaText.print(source.schema) == """
                author {
                    id: int key,
                    name: string,
                    born: timestamp?,
                    alive: bool,
                    mentor: link<author>,
                }
                book {
                    isbn: string key,
                    author_id: link<author>,
                    price: double?,
                    cover: data?,
                    rating: double?,
                    printed: timestamp? indexed,
                    code: uuid?,
                }
                tag {
                    book: link<book>,
                    word: string?,
                }

                """)
        #expect(source.notes.isEmpty, "\(source.notes)")
        #expect(source.schemaVersion == nil)
        let session = try imported(path)
        #expect(
            try session.exportJSON("author") == """
                {"id":3,"name":"Mary","born":"1780-11-26T00:00:00Z","alive":false,"mentor":7}
                {"id":7,"name":"Ada","born":"1815-12-10T00:00:00Z","alive":false,"mentor":3}
                {"id":9,"name":"Bob","born":null,"alive":true,"mentor":null}

                """)
        #expect(
            try session.exportJSON("book") == """
                {"isbn":"a","author_id":7,"price":1.5,"cover":"AP8=","rating":4.5,"printed":"2013-01-01T10:00:00.25Z",\
                "code":"01234567-89ab-cdef-0123-456789abcdef"}
                {"isbn":"b","author_id":3,"price":2.0,"cover":null,"rating":4.0,"printed":"2013-01-01T08:00:00Z",\
                "code":null}

                """)
        #expect(try session.exportJSON("tag").contains("{\"$key\":0,\"book\":\"b\",\"word\":\"x\"}"))
    }

    @Test func linksWithoutAPrimaryKeyGoByRows() throws {
        let path = try made(
            """
            CREATE TABLE spot (x INTEGER, y INTEGER, name TEXT UNIQUE, next TEXT REFERENCES spot(name),
                PRIMARY KEY (x, y));
            INSERT INTO spot VALUES (1, 1, 'a', 'c'), (1, 2, 'b', 'a'), (2, 1, 'c', NULL);
            DELETE FROM spot WHERE name = 'zz';
            """)
        let source = try SQLiteSource(path)
        #expect(
            source.notes == [
                "spot: the primary key (x, y) has several columns; they are ordinary properties, unique together"
            ])
        #expect(
            try imported(path).exportJSON("spot") == """
                {"$key":0,"x":1,"y":1,"name":"a","next":{"$key":2}}
                {"$key":1,"x":1,"y":2,"name":"b","next":{"$key":0}}
                {"$key":2,"x":2,"y":1,"name":"c","next":null}

                """)
    }

    @Test func uniqueValuesAndIndexesOfSeveralColumnsAreKept() throws {
        let path = try made(
            """
            CREATE TABLE a (id INTEGER PRIMARY KEY, mail TEXT UNIQUE, "the code" TEXT NOT NULL, n INTEGER, at TIMESTAMP
                UNIQUE, price DECIMAL, data BLOB, any, nick TEXT COLLATE NOCASE UNIQUE, long TEXT UNIQUE,
                real REAL UNIQUE, boss INTEGER UNIQUE REFERENCES a, UNIQUE (n, "the code"), UNIQUE (any, n));
            CREATE INDEX i ON a (n DESC, mail); CREATE INDEX j ON a (mail COLLATE NOCASE);
            CREATE INDEX k ON a (nick, n); CREATE INDEX l ON a (boss, n); CREATE INDEX m ON a (real);
            CREATE UNIQUE INDEX o ON a (mail DESC); CREATE INDEX p ON a (n DESC, mail); CREATE INDEX q ON a (n);
            INSERT INTO a VALUES (1, 'A', 'x', 1, '2013-01-01', 1.5, x'00', 1, 'Al', NULL, 0.0, NULL),
                (2, 'a', 'x', 2, '2013-01-01 00:00:00', 1.5, x'00', 'y', 'bo', NULL, 1.0, 1),
                (3, NULL, 'x', NULL, NULL, 1.5, x'00', 1, NULL, NULL, NULL, NULL),
                (4, NULL, 'x', NULL, NULL, 1.5, x'00', 1, NULL, hex(zeroblob(221)), NULL, 2);
            """)
        let source = try SQLiteSource(path)
        #expect(
            SchemaText.print(source.schema) == """
                a {
                    id: int key,
                    mail: string? unique,
                    `the code`: string,
                    n: int? indexed,
                    at: timestamp? indexed,
                    price: double?,
                    data: data?,
                    any: mixed,
                    nick: string?,
                    long: string? indexed,
                    real: double? unique,
                    boss: link<a>,
                    indexed(nick [c]),
                    unique(n, `the code`),
                    indexed(n desc, mail),
                    indexed(mail [c]),
                    indexed(nick [c], n),
                }

                """, "\(SchemaText.print(source.schema))")
        for note in [
            "a: that at is UNIQUE is not kept: one timestamp may be written in several ways",
            "a: that nick is UNIQUE is not kept: nick is compared by NOCASE",
            "a: that long is UNIQUE is not kept: values are longer than about 440 bytes",
            "a: that (any, n) is UNIQUE is not kept: any is mixed",
            "a: that boss is UNIQUE is not kept: boss is link",
            "a: the index of (boss, n) is not kept: it has a link or a mixed value",
            "a: the index of mail is one without case, [c], of all letters and not of ASCII's alone",
        ] {
            #expect(source.notes.contains(note), "\(note)\n\(source.notes.joined(separator: "\n"))")
        }
        let session = try imported(path)
        #expect(try session.exportJSON("a").contains("\"mail\":\"A\""))
    }

    @Test func nothingIsLostWhereValuesAreOfOtherTypes() throws {
        let path = try made(
            """
            CREATE TABLE t (id TEXT PRIMARY KEY, n INTEGER, b BOOLEAN, d DATE, "two words" , "a.b" TEXT, s TEXT);
            INSERT INTO t VALUES ('1', 'text', 2, 'soon', 1, 'x', x'01'), ('2', 5, 1, '2013-01-01', 'y', NULL, 'é');
            CREATE TABLE k (id REAL PRIMARY KEY, to_t TEXT REFERENCES t, big NUMERIC);
            INSERT INTO k VALUES (1.5, 'none', 9007199254740993), (2.5, '1', 0.5);
            CREATE TABLE n (id TEXT PRIMARY KEY); INSERT INTO n VALUES (NULL), (NULL);
            CREATE VIEW v AS SELECT * FROM t;
            CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END;
            CREATE TABLE c (x INTEGER DEFAULT 5 CHECK (x > 0), y TEXT COLLATE NOCASE, z AS (x + 1));
            INSERT INTO c (y) VALUES ('Y');
            CREATE INDEX i ON c (x, y); CREATE UNIQUE INDEX j ON c (y) WHERE x > 1;
            """)
        let source = try SQLiteSource(path)
        #expect(
            source.notes == [
                "t: n is declared INTEGER and holds other values: mixed",
                "t: b is declared BOOLEAN and holds other values: int",
                "t: d is declared DATE and holds other values: string",
                "t: the column a.b is the property a_b",
                "t: s is declared TEXT and holds other values: mixed",
                "k: the primary key id is double, which no primary key can be; it is an ordinary property",
                "k: big is declared NUMERIC and holds other values: mixed",
                "n: the primary key id is NULL in 2 rows; it is an ordinary property",
                "c: z is computed; its values are kept, the rule is not",
                "k: the foreign key to_t to t is no link: 1 rows refer to rows that are not there",
                "c: the UNIQUE index of (y) is not kept: it is not of all rows by their columns",
                "c: default values are not kept: x", "c: CHECK is not kept", "c: COLLATE is not kept",
                "v: a view is not imported", "t: the trigger g is not kept",
            ], "\(source.notes.joined(separator: "\n"))")
        let session = try imported(path)
        #expect(
            try session.exportJSON("t") == """
                {"id":"1","n":"text","b":2,"d":"soon","two words":1,"a_b":"x","s":{"$binary":"AQ=="}}
                {"id":"2","n":5,"b":1,"d":"2013-01-01","two words":"y","a_b":null,"s":"é"}

                """)
        #expect(try session.exportJSON("k").contains("\"to_t\":\"none\",\"big\":9007199254740993"))
        #expect(try session.exportJSON("c") == "{\"$key\":0,\"x\":5,\"y\":\"Y\",\"z\":6}\n")
    }

    /// A link says neither which of several rows was meant nor how the value was written.
    @Test func foreignKeysThatSayMoreThanALinkAreValues() throws {
        let path = try made(
            """
            CREATE TABLE p (id INTEGER PRIMARY KEY, c TEXT, n TEXT COLLATE NOCASE UNIQUE, u TEXT UNIQUE);
            INSERT INTO p VALUES (1, 'x', 'Ada', 'a'), (2, 'x', 'Bo', 'b'), (3, 'y', 'Cy', 'c');
            CREATE TABLE several (r TEXT REFERENCES p (c)); INSERT INTO several VALUES ('x'), ('y');
            CREATE TABLE folded (r TEXT REFERENCES p (n)); INSERT INTO folded VALUES ('ada'), ('Bo');
            CREATE TABLE written (r TEXT REFERENCES p); INSERT INTO written VALUES ('1'), ('02');
            CREATE TABLE same (r TEXT REFERENCES p (u)); INSERT INTO same VALUES ('b'), (NULL);
            """)
        let source = try SQLiteSource(path)
        for note in [
            "several: the foreign key r to p is no link: c has the same value in several rows of p",
            "folded: the foreign key r to p is no link: 1 rows write the value in another way than the row that they "
                + "refer to",
            "written: the foreign key r to p is no link: 2 rows write the value in another way than the row that they "
                + "refer to",
        ] { #expect(source.notes.contains(note), "\(source.notes.joined(separator: "\n"))") }
        let session = try imported(path)
        func values(_ table: String) throws -> String { try session.exportJSON(table) }
        #expect(try values("several").contains("\"x\"") && values("folded").contains("\"ada\""))
        #expect(try values("written").contains("\"02\"") && values("same").contains("\"r\":2"))
    }

    @Test func wordsOfAStatementAreItsOwn() {
        let sql =
            "CREATE TABLE \"CHECK\" (a TEXT DEFAULT 'COLLATE', [check] int /* CHECK */ -- CHECK\n, b collate nocase)"
        let words = DeclaredTable.words(sql)
        #expect(!words.contains("CHECK") && words.filter { $0 == "COLLATE" }.count == 1)
    }

    // MARK: Refusals

    @Test func aFileThatIsThereStays() throws {
        let session = try TestStore(schema: "P { n: int }").open()
        let path = directory.file("there")
        TemporaryDirectory.write([1, 2, 3], path)

        let error = #expect(throws: DatabaseError.self) { try SQLiteExport.write(session, to: path) }

        #expect(error?.code == .invalidArgument && error?.message.contains("already") == true)
        #expect(TemporaryDirectory.read(path) == [1, 2, 3])
        let missing = #expect(throws: DatabaseError.self) {
            try SQLiteExport.write(session, to: directory.file("no/such/directory.sqlite"))
        }
        #expect(missing?.code == .fileNotFound)
    }

    @Test func aFailedExportLeavesNothing() throws {
        let session = try TestStore(schema: "P { n: int }").open()
        try session.importJSON("P", "{\"n\": 1}")
        let path = directory.file("failed.sqlite")
        #expect(throws: DatabaseError.self) {
            try SQLiteExport.write(session, to: path) { _ throws(DatabaseError) in
                throw DatabaseError(.callback, "enough")
            }
        }
        #expect(TemporaryDirectory.read(path).isEmpty)
        #expect(directory.names.isEmpty, "\(directory.names)")
    }

    @Test func whatIsNoSQLiteFileIsRefused() throws {
        let path = directory.file("text")
        TemporaryDirectory.write(Array("SQLite format 4\u{0} and something".utf8), path)
        #expect(fails(.unsupportedFormat) { try SQLiteSource(path) })
        TemporaryDirectory.write([], path)
        #expect(fails(.unsupportedFormat) { try SQLiteSource(path) })
        TemporaryDirectory.write(Array("SQLite format 3\u{0}".utf8) + [UInt8](repeating: 7, count: 5_000), path)
        #expect(fails(.unsupportedFormat) { try SQLiteSource(path) })
        #expect(fails(.fileNotFound) { try SQLiteSource(directory.file("nowhere")) })
    }

    /// Every byte in turn would take long: some of each page, by the seed.
    @Test func damageEndsInAnErrorOrInData() throws {
        let session = try TestStore(schema: "P { id: int key, name: string, to: link<P>, all: list<mixed> }").open()
        let rows = (0 ..< 400).map { "{\"id\":\($0),\"name\":\"n\($0)\",\"to\":\(399 - $0),\"all\":[1,\"x\",[2]]}\n" }
        try session.importJSON("P", rows.joined())
        let path = directory.file("whole.sqlite")
        try SQLiteExport.write(session, to: path)
        let whole = TemporaryDirectory.read(path)
        let damaged = directory.file("damaged.sqlite")
        var (errors, rounds) = (0, 0)
        try PropertyTest.run(rounds: 120) { random, _ in
            var bytes = whole
            if random.chance(10) { bytes.removeLast(random.below(bytes.count)) }
            for _ in 0 ..< 1 + random.below(3) where !bytes.isEmpty {
                // Heads of pages are where it hurts.
                let page = random.below(max(bytes.count / 4_096, 1)) * 4_096
                let offset = random.chance(50) ? page + random.below(64) : random.below(bytes.count)
                if offset < bytes.count { bytes[offset] ^= UInt8(1 << random.below(8)) }
            }
            TemporaryDirectory.write(bytes, damaged)
            rounds += 1
            do {
                let source = try SQLiteSource(damaged)
                let target = try Session.open(SessionOptions(.memory(RandomStore.freshName()), schema: source.schema))
                try target.inWrite { _ = try SQLiteImport.run(source, target) }
            } catch is DatabaseError { errors += 1 }
        }
        #expect(errors > rounds / 10, "\(errors) errors in \(rounds) rounds")
    }

    @Test func whatWasChangedSinceTheExportIsSaid() throws {
        let session = try TestStore(
            schema: "P { id: int key, n: int8, part: link<Part>, m: mixed } embedded Part { x: int }"
        ).open()
        try session.importJSON("P", #"[{"id": 1, "n": 2, "part": {"x": 3}, "m": 5}]"#)
        func exported(_ sql: String) throws -> String {
            let path = directory.file("\(RandomStore.freshName()).sqlite")
            try SQLiteExport.write(session, to: path)
            try change(path, sql)
            return path
        }

        let added = try SQLiteSource(
            exported("CREATE TABLE more (x); ALTER TABLE P ADD COLUMN y; INSERT INTO Part VALUES (9, 9)"))
        #expect(
            added.notes == [
                "P: the column y was added after the export and is not imported",
                "more: this table was added after the export and is not imported",
                "Part: 1 objects of this embedded class belong to no object and are not imported",
            ])
        let missing = try exported("DROP TABLE Part")
        #expect(fails(.unsupportedFormat) { try SQLiteSource(missing) })
        let newer = try exported("UPDATE motte_schema SET value = 2 WHERE name = 'form'")
        #expect(fails(.unsupportedFormat) { try SQLiteSource(newer) })

        for (sql, says) in [
            ("UPDATE P SET n = 'much'", "table P, row 1: P.n: \"much\" is not int"),
            ("UPDATE P SET n = 3.5", "table P, row 1: P.n: "),
            ("UPDATE P SET part = 77", "P.part: there is no row of table Part"),
            ("UPDATE P SET m_type = 'link:Q'", "P.m: there is no class 'Q'"),
            ("UPDATE P SET m_type = 'list', m = '[1'", "P.m: "),
            ("UPDATE P SET m_type = 'list', m = '[1] , 2'", "P.m: a nested list or map is not JSON"),
            ("UPDATE P SET m_type = 'link:P'", "table P, row 1: P.m: there is no P with the primary key 5"),
        ] {
            let path = try exported(sql)
            let error = #expect(throws: DatabaseError.self) { _ = try imported(path) }
            #expect(error?.message.contains(says) == true, "\(sql): \(error?.message ?? "")")
        }
    }

    private func fails<Result>(_ code: ErrorCode, _ body: () throws -> Result) -> Bool {
        do {
            _ = try body()
            return false
        } catch {
            return (error as? DatabaseError)?.code == code
        }
    }
}

extension TemporaryDirectory {
    /// Of what is in it.
    var names: [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
