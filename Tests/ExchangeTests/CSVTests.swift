/// CSV in and out: strict reading, inferred types, nulls, links, mistakes with their lines.
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

@Suite struct CSVTests {
    private func records(_ text: String, delimiter: UInt8 = 0x2C) throws -> [[String]] {
        try Array(text.utf8).withUnsafeBytes { bytes in
            var reader = CSVReader(bytes, delimiter: delimiter)
            var fields: [CSVField] = []
            var records: [[String]] = []
            while try reader.next(&fields) { records.append(fields.map(\.string)) }
            return records
        }
    }

    @Test func fieldsAreReadByTheBook() throws {
        #expect(try records("a,b\r\n1,\"x \"\"y\"\"\nz\"\r\n,\n") == [["a", "b"], ["1", "x \"y\"\nz"], ["", ""]])
        #expect(try records("\u{FEFF}a;\"b;\"", delimiter: UInt8(ascii: ";")) == [["a", "b;"]])
        #expect(try records("a,") == [["a", ""]])
        #expect(try records("") == [])
    }

    @Test(arguments: ["\"a", "\"a\"b", "a\"b", "a,\"b\" ,c", "\"a\"\"\n"])
    func otherQuotesAreMistakes(_ text: String) throws {
        let error = #expect(throws: DatabaseError.self, "\(text)") { try records(text) }
        #expect(error?.message.hasPrefix("line 1: ") == true)
    }

    private func inferred(_ text: String, key: String? = nil, rows: Int = 0) throws -> String {
        try Array(text.utf8).withUnsafeBytes { bytes in
            let type = try CSVInference.objectType(
                named: "T", bytes, CSVImport.Options(), key: key, rows: rows)
            return type.properties.map(SchemaText.print).joined(separator: ", ")
        }
    }

    @Test func typesAreTheNarrowestThatFit() throws {
        #expect(try inferred("id,n,x\n1,NA,1.5\n2,3,7\n", key: "id") == "id: int key, n: int?, x: double?")
        #expect(
            try inferred("a,b,c\nTrue,2013-01-01,\nfalse,2013-01-01T10:00:00Z,\n")
                == "a: bool?, b: timestamp?, c: string?")
        #expect(try inferred("a\n01234567-89ab-cdef-0123-456789abcdef\n") == "a: uuid?")
        #expect(try inferred("a\n1\n2\nx\n", rows: 2) == "a: int?")
        #expect(try inferred("a\n1\n2\nx\n") == "a: string")
    }

    @Test(arguments: ["00501", "0x1F", "1,5", "nan", "inf", "1e999", "+1", "1.", "12:30", "2013-13-01", "1_000", " 1"])
    func whatWouldNotComeBackStaysText(_ text: String) throws {
        #expect(try inferred("a\n\"\(text)\"\n") == "a: string")
    }

    @Test func integersOf64BitsAndMore() throws {
        #expect(try inferred("a\n9223372036854775807\n") == "a: int?")
        // A double would round these, where later rows make a double of the column too.
        for number in ["9223372036854775808", "12345678901234567890", "0.1234567890123456789", "1e-400"] {
            #expect(try inferred("a\n\(number)\n") == "a: string", "\(number)")
        }
        #expect(try inferred("a\n1\n9007199254740993\n2.5\n") == "a: string")
        #expect(try inferred("a\n1\n9007199254740992\n2.5\n") == "a: double?")
        #expect(try inferred("a\n2.5\n3.5\n0.12345678901234567\n") == "a: string")
        #expect(try inferred("a\n2.5\n0.1234567890123456\n1e+300\n5e-324\n-0.0\n") == "a: double?")
        // Which an export writes in another way.
        #expect(try inferred("a\n2.5\n1e300\n") == "a: string")
    }

    private let schema = """
        Person { id: int key, name: string?, note: string, age: int?, score: double?, data: data?, born: timestamp?,
            friend: link<Person>, dog: link<Dog>, tags: list<string> }
        Dog { name: string key, n: int }
        """

    @discardableResult
    private func read(
        _ session: Session, _ text: String, policy: UpdatePolicy = .error, commitEvery: Int = 0
    ) throws -> ImportOutcome {
        var options = CSVImport.Options()
        options.policy = policy
        options.batchRows = 2
        options.commitEvery = commitEvery
        let importer = try CSVImport(session, into: try session.tableKey("Person"), options)
        try session.inWrite { try Array(text.utf8).withUnsafeBytes { try importer.run($0) } }
        return importer.outcome
    }

    private func written(_ session: Session, _ columns: [String]? = nil) throws -> String {
        let schema = try session.schema
        let type = try schema.type(named: "Person")
        let paths = try columns?.map { try ColumnPath($0, of: type, in: schema) } ?? ColumnPath.stored(of: type)
        var export = try CSVExport(session, paths)
        var sink = ByteSink()
        try export.collection(try session.objects("Person"), to: &sink)
        return sink.string
    }

    @Test func whatIsWrittenIsReadAgain() throws {
        let session = try TestStore(schema: schema).open()
        try session.importJSON("Dog", ##"[{"name": "Rex, the \"dog\""}, {"name": "#1"}]"##)
        let text =
            [
                #"id,name,note,age,score,data,born,friend,dog,tags"#,
                #"1,,"",3,NaN,AQI=,2013-01-01T10:00:00.5Z,2,"Rex, the ""dog""",[]"#,
                ##"2,"","NA",,-0.0,"",,2,#1,"[""a"",""b,c""]""##,
                "3,é,\"two\nlines\",-1,1e+300,,,1,,[]",
            ].joined(separator: "\n") + "\n"
        #expect(try read(session, text) == ImportOutcome(created: 3))
        #expect(try written(session) == text)
        #expect(
            try written(session, ["name", "friend.friend.id", "friend.dog.name"])
                == ["name,friend.friend.id,friend.dog.name", ",2,#1", "\"\",2,#1", #"é,2,"Rex, the ""dog""""#, ""]
                .joined(separator: "\n"))
    }

    @Test func updatesNameOnlySomeColumns() throws {
        let session = try TestStore(schema: schema).open()
        try read(session, "id,age,note\n1,1,a\n2,2,b\n")
        let outcome = try read(session, "id,age\n2,20\n3,30\n", policy: .modified)
        #expect(outcome == ImportOutcome(created: 1, updated: 1))
        #expect(try written(session, ["id", "age", "note"]) == "id,age,note\n1,1,a\n2,20,b\n3,30,\"\"\n")
    }

    @Test(arguments: [
        ("id,age\n1,2\n2,many\n", "line 3: 'many' in column age is not int"),
        ("id,age\n1,2\n2\n", "line 3: 1 fields where the header has 2"),
        ("id,agee\n", "line 1: Person has no property 'agee'; did you mean 'age'?"),
        ("id,id\n", "line 1: there are two columns 'id'"),
        ("id\n1\n2\n1\n", "line 4: Person already has an object with the primary key 1"),
        ("id,friend\n1,7\n", "line 2: Person.friend: there is no Person with the primary key 7"),
        ("id,data\n1,AQ\n", "line 2: 'AQ' in column data is not data"),
        ("id,note\n1,\"x\ny\"\n,z\n", "line 4: '' in column id is not int"),
        ("", "line 1: there is no header line"),
        ("age\n1\n", ""),
    ])
    func mistakesSayWhereAndNothingIsKept(_ text: String, _ message: String) throws {
        let session = try TestStore(schema: schema).open()
        let error = #expect(throws: DatabaseError.self) { try read(session, text) }
        #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
        #expect(try session.objects("Person").count() == 0)
    }

    @Test func commitsInBetweenKeepWhatCameBefore() throws {
        let session = try TestStore(schema: schema).open()
        #expect(throws: DatabaseError.self) {
            try read(session, "id\n1\n2\n3\n4\n5\n1\n", commitEvery: 2)
        }
        #expect(try session.objects("Person").count() == 4)
    }

    /// Opens with one more class, and fills that in the write that adds it.
    private func addClass(_ store: TestStore, _ text: String) throws -> Session {
        var options = try store.options
        options.schema = try SchemaText.parse("Person { id: int key } T { id: int key, n: string }")
        options.fillsAdditions = true
        let bytes = Array(text.utf8)
        options.firstOpen = { (session) throws(DatabaseError) in
            let importer = try CSVImport(session, into: try session.tableKey("T"))
            try bytes.withBytes { bytes throws(DatabaseError) in try importer.run(bytes) }
        }
        return try Session.open(options)
    }

    /// A class that an import adds to a file comes with its rows, or not at all.
    @Test func aClassComesWithItsRows() throws {
        let store = TestStore(.file, schema: "Person { id: int key }")
        let before = try store.open()
        #expect(throws: DatabaseError.self) { try self.addClass(store, "id,n\n1,x\n1,y\n") }
        #expect(try store.open().schema["T"] == nil)
        let after = try addClass(store, "id,n\n1,x\n2,y\n")
        #expect(try after.objects("T").count() == 2)
        try before.close()
    }
}
