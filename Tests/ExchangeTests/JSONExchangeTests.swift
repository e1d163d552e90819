/// JSON in and out of a store: forms, links, policies, mistakes and where they are, transactions.
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

@Suite struct JSONExchangeTests {
    private let schema = """
        Person { id: int key, name: string?, age: int, score: double, friend: link<Person>, pets: list<Dog>,
            tags: list<string> }
        Dog { name: string, born: timestamp?, owner: link<Person>, mother: link<Dog>, persons: inverse<Person.pets> }
        """

    @Test func objectsKeepTheirValues() throws {
        let session = try TestStore(schema: schema).open()
        try session.importJSON(
            "Person",
            #"""
            [{"id": 1, "name": "Ad\u0061 \"A\" \n\u00e9", "age": -5, "score": 0.1, "tags": ["x", ""]},
             {"score": 3, "id": 2, "friend": 1, "name": null}]
            """#)
        #expect(
            try session.exportJSON("Person") == #"""
                {"id":1,"name":"Ada \"A\" \né","age":-5,"score":0.1,"friend":null,"pets":[],"tags":["x",""]}
                {"id":2,"name":null,"age":0,"score":3.0,"friend":1,"pets":[],"tags":[]}

                """#)
    }

    @Test func linksForwardAndInCircles() throws {
        let session = try TestStore(schema: schema).open()
        try session.importJSON(
            "Person",
            """
            {"id": 1, "friend": 2, "pets": [{"name": "Rex", "$key": 7, "mother": {"$key": 8}}, {"$key": 7},
              {"name": "Mia", "$key": 8, "owner": 3}]}
            {"id": 2, "friend": {"$link": ["Person", 1]}}
            {"id": 3, "friend": 3, "pets": [{"$key": 8}]}
            """)
        #expect(
            try session.exportJSON("Person", links: .references) == """
                {"id":1,"name":null,"age":0,"score":0.0,"friend":2,"pets":[{"$key":0},{"$key":0},{"$key":1}],"tags":[]}
                {"id":2,"name":null,"age":0,"score":0.0,"friend":1,"pets":[],"tags":[]}
                {"id":3,"name":null,"age":0,"score":0.0,"friend":3,"pets":[{"$key":1}],"tags":[]}

                """)
        #expect(
            try session.exportJSON("Dog") == """
                {"$key":0,"name":"Rex","born":null,"owner":null,"mother":{"$key":1}}
                {"$key":1,"name":"Mia","born":null,"owner":3,"mother":null}

                """)
        // Nested, a circle ends in a reference.
        let nested = try session.exportJSON("Person", links: .nested)
        #expect(nested.contains(#"{"id":2,"name":null,"age":0,"score":0.0,"friend":1,"pets":[],"tags":[]}"#))
    }

    @Test func nestedObjectsFollowThePolicy() throws {
        let session = try TestStore(schema: schema).open()
        try session.importJSON("Person", #"{"id": 1, "name": "A", "friend": {"id": 2, "name": "B"}}"#)
        #expect(throws: DatabaseError.self) {
            try session.importJSON("Person", #"{"id": 3, "friend": {"id": 2}}"#)
        }
        #expect(try session.objects("Person").count() == 2)
        let outcome = try session.importJSON(
            "Person", #"[{"id": 1, "age": 9}, {"id": 3, "friend": {"id": 2, "age": 7}}, {"id": 1, "tags": ["t"]}]"#,
            policy: .modified)
        #expect(outcome == ImportOutcome(created: 1, updated: 2))
        #expect(
            try session.exportJSON("Person") == """
                {"id":1,"name":"A","age":9,"score":0.0,"friend":2,"pets":[],"tags":["t"]}
                {"id":2,"name":"B","age":7,"score":0.0,"friend":null,"pets":[],"tags":[]}
                {"id":3,"name":null,"age":0,"score":0.0,"friend":2,"pets":[],"tags":[]}

                """)
    }

    @Test(arguments: [
        (#"{"id": 1, "age": 1.5}"#, "line 1: Person.age: 1.5 is not an int of 64 bits"),
        (#"{"id": 1, "age": "3"}"#, "line 1: Person.age: expected int, found a string"),
        ("{\"id\": 1}\n{\"id\": 2, \"agee\": 3}", "line 2: Person has no property 'agee'; did you mean 'age'?"),
        ("{\"id\": 1}\n{\"id\": 2}\n{\"id\": 1}", "line 3: Person already has an object with the primary key 1"),
        ("{\"id\": 1}\n\n{\"id\": 2, \"age\": null}", "line 3: Person.age "),
        (#"{"id": 1, "friend": 7}"#, "line 1: Person.friend: there is no Person with the primary key 7"),
        (#"{"id": 1, "pets": [3]}"#, "line 1: Person.pets: expected a link to Dog, which has no primary key"),
        (#"{"id": 1, "id": 1}"#, "line 1, column 16: Person.id is given twice"),
        ("[{\"id\": 1},\n {\"id\": 2,, }]", "line 2, column 11: expected a name in double quotes"),
        (#"{"name": "x"}"#, "line 1: Person"),
        (#"{"id": 1, "tags": [1]}"#, "line 1: Person.tags: expected string, found a number"),
        (#"{"id": 1, "tags": "x"}"#, "line 1: Person.tags: expected an array of string, found a string"),
        ("[{\"id\": 1}] 3", "line 1, column 13: something follows the array"),
        ("3", "line 1, column 1: expected an object"),
    ])
    func mistakesSayWhereAndNothingIsKept(_ text: String, _ message: String) throws {
        let session = try TestStore(schema: schema).open()
        let error = #expect(throws: DatabaseError.self) { try session.importJSON("Person", text) }
        #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
        #expect(try session.objects("Person").count() == 0)
    }

    @Test func linesArriveInParts() throws {
        let whole = (1 ... 50).map { "{\"id\": \($0), \"name\": \"n\\u00e9 \($0)\", \"friend\": \(51 - $0)}" }
            .joined(separator: "\n")
        for size in [1, 7, 64, 1_000] {
            let session = try TestStore(schema: schema).open()
            try session.inWrite {
                let importer = try JSONImport(session, into: try session.tableKey("Person"))
                let bytes = Array(whole.utf8)
                for start in stride(from: 0, to: bytes.count, by: size) {
                    try bytes[start ..< min(start + size, bytes.count)].withUnsafeBytes { try importer.feed($0) }
                }
                try importer.finish()
                #expect(importer.outcome.created == 50)
            }
            #expect(try session.find(try session.tableKey("Person"), primaryKey: .int(3))?.get("friend").kind == .link)
        }
    }

    @Test func commitsInBetweenKeepWhatCameBefore() throws {
        let session = try TestStore(schema: schema).open()
        var options = JSONImport.Options()
        options.batchRows = 10
        options.commitEvery = 20
        let text = (1 ... 55).map { "{\"id\": \($0)}" }.joined(separator: "\n") + "\n{\"id\": 1}"
        #expect(throws: DatabaseError.self) { try session.importJSON("Person", text, options) }
        #expect(try session.objects("Person").count() == 40)
    }
}

extension Session {
    @discardableResult
    func importJSON(_ name: String?, _ text: String, policy: UpdatePolicy) throws -> ImportOutcome {
        var options = JSONImport.Options()
        options.policy = policy
        return try importJSON(name, text, options)
    }

    @discardableResult
    func importJSON(
        _ name: String?, _ text: String, _ options: JSONImport.Options = JSONImport.Options()
    ) throws -> ImportOutcome {
        let importer = try JSONImport(self, into: try name.map { try tableKey($0) }, options)
        try inWrite {
            var text = text
            try text.withUTF8 { try importer.run(UnsafeRawBufferPointer($0)) }
        }
        return importer.outcome
    }

    func exportJSON(_ name: String, links: JSONExport.Links = .references) throws -> String {
        var options = JSONExport.Options()
        options.links = links
        var export = try JSONExport(self, options)
        var sink = ByteSink()
        try export.collection(try objects(name), form: .lines, to: &sink)
        return sink.string
    }

    func dumpJSON() throws -> String {
        var export = try JSONExport(self)
        var sink = ByteSink()
        try export.store(to: &sink)
        return sink.string
    }
}
