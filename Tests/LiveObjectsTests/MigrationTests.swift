// Migrations at open: what is kept, what is lost, what the step can do, what is refused, and that a failure changes
// nothing.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

/// A store that is opened again and again with other schemas. One session keeps a database in memory alive.
final class EvolvingStore {
    private let store: TestStore
    private let keeper: Session

    init(_ kind: TestStore.Kind = .memory, _ schema: String, _ fill: (Session) throws -> Void = { _ in }) throws {
        store = TestStore(kind, schema: schema)
        keeper = try store.open()
        try keeper.inWrite { try fill(keeper) }
    }

    func options(_ schema: String, version: UInt64?) throws -> SessionOptions {
        var options = try store.options
        options.schema = try SchemaText.parse(schema)
        options.schemaVersion = version
        return options
    }

    func open(
        _ schema: String, version: UInt64? = nil, _ change: (inout SessionOptions) -> Void = { _ in }
    ) throws -> Session {
        var options = try options(schema, version: version)
        change(&options)
        return try Session.open(options)
    }

    /// With the file's own schema.
    func open() throws -> Session {
        var options = try store.options
        options.schema = nil
        return try Session.open(options)
    }

    func dump() throws -> String { try StoreDump.text(try open()) }
}

@Suite struct MigrationTests {
    let first = "Person { id: int, name: string, age: int, note: string?, tags: list<string>, friend: link<Person> }"

    func people(_ kind: TestStore.Kind = .memory) throws -> EvolvingStore {
        try EvolvingStore(kind, first) { session in
            var previous: LiveObject?
            for number in 0 ..< 10 {
                let person = try session.add(
                    "Person",
                    ["id": .int(Int64(number)), "name": .string("P\(number)"), "age": .int(Int64(20 + number))])
                if number % 2 == 0 { try person.set("note", to: .string("n\(number)")) }
                let tags = try #require(try person.collection("tags") as? LiveList)
                for tag in 0 ..< number { try tags.append(.string("t\(tag)")) }
                if let previous { try person.set("friend", to: .link(previous)) }
                previous = person
            }
        }
    }

    func ages(_ session: Session, _ name: String = "age") throws -> [Value] {
        try session.objects("Person").allKeys.map { key in
            let person = try #require(try session.object(session.tableKey("Person"), at: ObjectKey(key)))
            return try person.get(name)
        }
    }

    // MARK: Versions

    @Test func theStepRunsOnceForAHigherVersion() throws {
        let store = try people()
        let calls = Locked<[UInt64]>([])
        let second = first.replacing("age: int", "age: int?")
        for _ in 0 ..< 2 {
            let session = try store.open(second, version: 3) {
                $0.migration.step = step { migration in
                    calls.withLock { $0.append(migration.oldVersion) }
                    #expect(migration.newVersion == 3)
                }
            }
            #expect(try ages(session) == (0 ..< 10).map { .int(20 + $0) })
            #expect(try session.schemaVersion == 3)
        }
        #expect(calls.withLock { $0 } == [0])
    }

    @Test func aLowerVersionIsRefusedNamingBoth() throws {
        let store = try people()
        _ = try store.open(first, version: 7)
        let error = #expect(throws: DatabaseError.self) { try store.open(first, version: 5) }
        #expect(error?.code == .schemaMismatch)
        #expect(error?.message.contains("version 5 is lower than 7") == true)
    }

    @Test func theSameVersionListsEveryDifference() throws {
        let store = try people()
        let before = try store.dump()
        let error = #expect(throws: DatabaseError.self) {
            try store.open("Person { id: int key, name: data, age: int?, more: int }", version: 0)
        }
        #expect(error?.code == .schemaMismatch)
        #expect(error?.message.contains("Person.id is declared as the primary key and is not in the file") == true)
        #expect(error?.message.contains("Person.name is string in the file and declared data") == true)
        #expect(error?.message.contains("Person.age is int in the file and declared int?") == true)
        #expect(try store.dump() == before)
    }

    @Test func aNewFileTakesItsVersionWithoutAStep() throws {
        var options = SessionOptions(.memory("fresh-\(UInt64.random(in: 0 ... .max))"))
        options.schema = try SchemaText.parse(first)
        options.schemaVersion = 9
        options.migration.step = step { _ in Issue.record("a new file has nothing to migrate") }
        options.firstOpen = { (session) throws(DatabaseError) in
            let made = try session.create(try session.tableKey("Person")).object
            try made.set("name", to: .string("first"))
        }
        let session = try Session.open(options)
        #expect(try session.schemaVersion == 9)
        #expect(try session.objects("Person").count() == 1)
        _ = try Session.open(options)
        #expect(try session.objects("Person").count() == 1)
    }

    // MARK: What happens to values

    @Test(arguments: TestStore.Kind.allCases)
    func becomingOptionalKeepsValues(kind: TestStore.Kind) throws {
        let store = try people(kind)
        // A column younger than its rows has no chunks; its zeros must not turn into nulls.
        _ = try store.open(first.replacing("note:", "young: int, note:"))
        let session = try store.open(
            first.replacing("age: int", "age: int?").replacing("note:", "young: int?, note:"), version: 1)
        #expect(try ages(session) == (0 ..< 10).map { .int(20 + $0) })
        #expect(try ages(session, "young") == Array(repeating: .int(0), count: 10))
        try session.inWrite {
            try session.add("Person")
            try session.object(session.tableKey("Person"), at: ObjectKey(3))?.set("young", to: .null)
        }
        #expect(try ages(session, "young")[3] == .null)
        #expect(try ages(session, "young")[10] == .null)
        #expect(try ages(session, "young")[4] == .int(0))
    }

    @Test func becomingRequiredResetsUnlessFilled() throws {
        let store = try people()
        let session = try store.open(first.replacing("note: string?", "note: string"), version: 1)
        #expect(try ages(session, "note") == Array(repeating: .string(""), count: 10))
        let other = try people()
        let filled = try other.open(first.replacing("note: string?", "note: string"), version: 1) {
            $0.migration.step = step { migration in
                try migration.pairs("Person") { old, new in
                    guard let old, let new, case .string(let text) = try old.get("note") else { return }
                    try new.set("note", to: .string(text))
                }
            }
        }
        #expect(try ages(filled, "note")[4] == .string("n4"))
        #expect(try ages(filled, "note")[5] == .string(""))
    }

    @Test func anotherTypeResetsAndOldValuesCanBeConverted() throws {
        let store = try people()
        let session = try store.open(
            first.replacing("age: int", "age: string indexed").replacing("tags: list<string>", "tags: list<int>"),
            version: 1
        ) {
            $0.migration.step = step { migration in
                try migration.pairs("Person") { old, new in
                    guard let old, let new, case .int(let age) = try old.get("age") else { return }
                    try new.set("age", to: .string("\(age) years"))
                    #expect(throws: DatabaseError.self) { try old.set("age", to: .int(1)) }
                }
            }
        }
        #expect(try ages(session)[7] == .string("27 years"))
        let table = try session.tableKey("Person")
        #expect(try session.objects("Person").filter("age == '27 years'").count() == 1)
        let person = try #require(try session.object(table, at: ObjectKey(9)))
        #expect(try person.collection("tags").count() == 0)
    }

    @Test(arguments: [true, false])
    func renamedPropertiesKeepTheirColumn(beforehand: Bool) throws {
        let store = try people()
        let column = try #require(try store.open().schema["Person"]?.property(named: "age")?.columnKey)
        let session = try store.open(
            first.replacing("age: int", "years: int?").replacing("friend:", "mate:"), version: 1
        ) {
            if beforehand {
                $0.migration.renames.renameProperty(of: "Person", from: "age", to: "years")
                $0.migration.renames.renameProperty(of: "Person", from: "friend", to: "mate")
            } else {
                $0.migration.step = step { migration in
                    try migration.renameProperty(of: "Person", from: "age", to: "years")
                    try migration.renameProperty(of: "Person", from: "friend", to: "mate")
                }
            }
        }
        #expect(try ages(session, "years") == (0 ..< 10).map { .int(20 + $0) })
        #expect(try session.schema["Person"]?.property(named: "years")?.columnKey == column)
        #expect(try session.objects("Person").filter("mate.years > 26").count() == 2)
    }

    @Test func renamingAfterChangesCopiesTheValues() throws {
        let store = try people()
        let session = try store.open(
            first.replacing("age: int", "years: int").replacing("tags:", "marks:"), version: 1
        ) {
            $0.migration.step = step { migration in
                try migration.pairs("Person") { _, new in try new?.set("name", to: .string("x")) }
                try migration.renameProperty(of: "Person", from: "age", to: "years")
                try migration.renameProperty(of: "Person", from: "tags", to: "marks")
            }
        }
        #expect(try ages(session, "years") == (0 ..< 10).map { .int(20 + $0) })
        #expect(try ages(session, "name")[2] == .string("x"))
        let person = try #require(try session.object(session.tableKey("Person"), at: ObjectKey(3)))
        #expect(try person.collection("marks").allValues == [.string("t0"), .string("t1"), .string("t2")])
    }

    @Test(arguments: [
        ("gone", "years", "no such property"),
        ("age", "missing", "not declared"),
        ("age", "name2", "keeps the type"),
        ("note", "years", "a rename keeps"),
        ("id", "years", "still declared"),
        ("age", "tags", "has such a property already"),
    ])
    func badRenamesSayWhy(from: String, to: String, text: String) throws {
        let store = try people()
        let before = try store.dump()
        let error = #expect(throws: DatabaseError.self) {
            try store.open(
                "Person { id: int, years: int, name2: string, tags: list<string>, friend: link<Person> }", version: 1
            ) { $0.migration.step = step { try $0.renameProperty(of: "Person", from: from, to: to) } }
        }
        #expect(error?.message.contains(text) == true, "\(error?.message ?? "")")
        #expect(try store.dump() == before)
    }

    @Test func renamedClassesKeepTheirObjects() throws {
        let store = try people()
        let session = try store.open(
            "Human { name: string, age: int, friend: link<Human>, friends: inverse<Human.friend> }", version: 1
        ) {
            $0.migration.step = step { migration in
                try migration.renameType("Person", to: "Human")
                var pairs = 0
                try migration.pairs("Human") { old, new in
                    guard let old, let new else { return }
                    let id = try old.get("id")
                    #expect(id == .int(new.key.rawValue))
                    pairs += 1
                }
                #expect(pairs == 10)
            }
        }
        #expect(try session.schema["Person"] == nil)
        #expect(try session.objects("Human").count() == 10)
        #expect(try session.objects("Human").filter("friend.name == 'P3'").count() == 1)
        let human = try #require(try session.object(session.tableKey("Human"), at: ObjectKey(3)))
        #expect(try human.collection("friends").allKeys == [4])
    }

    // MARK: Classes

    @Test(arguments: [true, false])
    func dataOfAClassThatIsGoneGoesWhenAsked(late: Bool) throws {
        let schema =
            "Old { name: string, boss: link<Old>, list: list<int> } User { old: link<Old>, x: int } Other { x: int }"
        let store = try EvolvingStore(.file, schema) { session in
            var last: LiveObject?
            for number in 0 ..< 20 {
                let object = try session.add("Old", ["name": .string("o\(number)")])
                if let last { try object.set("boss", to: .link(last)) }
                last = object
                if let last { try session.add("User", ["old": .link(last), "x": .int(Int64(number))]) }
            }
        }
        // User is not declared either and stays, without its link.
        let session = try store.open("Other { x: int } New { name: string }", version: 2) {
            $0.migration.step = step { migration in
                if late {
                    try migration.pairs("Old") { old, new in
                        guard let old else { return }
                        #expect(new != nil)
                        let made = try migration.new.create(migration.new.tableKey("New")).object
                        try made.set("name", to: try old.get("name"))
                    }
                }
                #expect(try migration.deleteData(ofType: "Old"))
                #expect(try !migration.deleteData(ofType: "Nothing"))
            }
        }
        #expect(try session.schema["Old"] == nil)
        #expect(try session.objects("New").count() == (late ? 20 : 0))
        let dump = try store.dump()
        #expect(dump.contains("User: x: int\n"))
        #expect(dump.contains("#19 x=19"))
        // Nothing of the class is left in the file.
        #expect(try store.open().database.strayPages().isEmpty)
    }

    @Test func dataOfADeclaredClassGoesAndTheClassStays() throws {
        let store = try people()
        let session = try store.open(first, version: 1) {
            $0.migration.step = step { migration in
                let deleted = try migration.deleteData(ofType: "Person")
                #expect(deleted)
            }
        }
        #expect(try session.objects("Person").count() == 0)
        #expect(try session.schema["Person"] != nil)
    }

    @Test func undeclaredClassesStay() throws {
        let store = try people()
        let session = try store.open("Dog { name: string }", version: 1)
        #expect(try session.objects("Person").count() == 10)
        #expect(try ages(session)[3] == .int(23))
    }

    // MARK: Failing

    @Test(arguments: TestStore.Kind.allCases)
    func aStepThatThrowsLeavesTheFileAsItWas(kind: TestStore.Kind) throws {
        let store = try people(kind)
        let before = try store.dump()
        let version = try store.open().version
        let error = #expect(throws: DatabaseError.self) {
            try store.open("Person { name: int } Dog { x: int }", version: 4) {
                $0.migration.step = step { migration in
                    _ = try migration.new.create(migration.new.tableKey("Dog"))
                    try migration.pairs("Person") { _, new in try new?.delete() }
                    throw DatabaseError(.callback, "no")
                }
            }
        }
        #expect(error?.message == "no")
        #expect(try store.dump() == before)
        #expect(try store.open().version == version)
        // The lock is free again.
        let session = try store.open(first)
        try session.beginWrite(timeoutMilliseconds: 1000)
        try session.cancel()
    }

    @Test func theStepCannotEndTheWriteOrKeepIt() throws {
        let store = try people()
        let kept = Locked<Kept>(Kept())
        _ = try store.open(first, version: 1) {
            $0.migration.step = step { migration in
                #expect(code { try migration.new.commit() } == .reentrant)
                #expect(code { try migration.new.cancel() } == .reentrant)
                #expect(code { try migration.new.close() } == .reentrant)
                #expect(code { try migration.new.refresh() } == .alreadyInWrite)
                #expect(code { _ = try migration.new.freeze() } == .reentrant)
                let made = try migration.new.add("Person", ["name": .string("late")])
                kept.withLock { $0 = Kept(object: made, session: migration.old) }
            }
        }
        #expect(kept.withLock { kept in code { _ = try kept.object?.get("name") } } == .closed)
        #expect(kept.withLock { kept in code { _ = try kept.session?.objects("Person").count() } } == .closed)
        #expect(try store.open(first).objects("Person").count() == 11)
    }

    private struct Kept: @unchecked Sendable {  // Used by one thread.
        var object: LiveObject?
        var session: Session?
    }

    // MARK: Instead of migrating

    @Test func deletingInsteadOfMigrating() throws {
        let store = try people(.file)
        let unneeded = try store.open(first + " Dog { x: int }", version: 1) {
            $0.migration.deletesInsteadOfMigrating = true
        }
        #expect(try unneeded.objects("Person").count() == 10)
        let session = try store.open("Person { name: int } Cat { y: int }", version: 2) {
            $0.migration.deletesInsteadOfMigrating = true
            $0.migration.step = step { _ in Issue.record("there is nothing left to migrate") }
        }
        #expect(try session.objects("Person").count() == 0)
        #expect(try session.schema["Dog"] == nil)
        #expect(try session.schemaVersion == 2)
        try session.inWrite { try session.add("Person", ["name": .int(5)]) }
        #expect(try session.database.strayPages().isEmpty)
    }

    @Test func aPlanChangesNothing() throws {
        let store = try people()
        let before = try store.dump()
        var options = try store.options(
            """
            Person { id: int key, name: string?, age: string, alias: string?, boss: link<Person>, young: int }
            Dog { x: int }
            """, version: 2)
        options.migration.renames.renameProperty(of: "Person", from: "note", to: "alias")
        let plan = try Session.schemaPlan(options)
        #expect(
            plan.text == """
                migration from schema version 0 to 2
                  Person.note is renamed to alias
                  class Dog is added
                  Person.boss is added: link<Person>
                  Person.young is added: int
                  Person.id becomes the primary key
                  Person.name changes from string to string?: keeps its values
                  Person.age changes from int to string: its values become defaults
                  Person.tags is removed with its values
                  Person.friend is removed with its values
                """)
        #expect(try store.dump() == before)
        #expect(try Session.schemaPlan(try store.options(first, version: 0)).action == .nothing)
        #expect(
            try Session.schemaPlan(try store.options(first + " Dog { x: int }", version: nil)).text == """
                schema version 0: additions
                  class Dog is added
                """)
    }

    @Test func progressIsReported() throws {
        let store = try people()
        let reports = Locked<[MigrationProgress]>([])
        _ = try store.open(first.replacing("age: int", "age: int indexed"), version: 1) {
            $0.migration.progress = { report in reports.withLock { $0.append(report) } }
            $0.migration.step = step { try $0.pairs("Person") { _, _ in } }
        }
        let seen = reports.withLock { $0 }
        #expect(seen.contains { $0.phase == .objects && $0.done == 10 && $0.total == 10 })
        #expect(seen.contains { $0.phase == .indexes && $0.done == 10 && $0.total == 10 })
        #expect(seen.last?.phase == .commit)
    }

    // MARK: Other sessions

    @Test func othersNoticeAChangeThatConcernsThem() throws {
        let store = try people()
        let concerned = try store.open(first)
        let indifferent = try store.open("Person { id: int, name: string }")
        let dynamic = try store.open()
        _ = try store.open(first.replacing("age: int", "age: string"), version: 1)
        #expect(code { try concerned.refresh() } == .schemaChanged)
        #expect(code { try concerned.beginWrite() } == .schemaChanged)
        #expect(code { try dynamic.refresh() } == .schemaChanged)
        // It goes on showing what it showed.
        #expect(try ages(concerned)[2] == .int(22))
        #expect(try indifferent.refresh())
        #expect(try ages(indifferent, "name")[2] == .string("P2"))
        try indifferent.inWrite { try indifferent.add("Person", ["name": .string("new")]) }
        #expect(code { try concerned.refresh() } == .schemaChanged)
    }

    @Test func additionsAndIndexesDisturbNobody() throws {
        let store = try people()
        let session = try store.open(first)
        let results = try session.objects("Person").filter("age >= 25")
        #expect(try results.count() == 5)
        _ = try store.open(first.replacing("age: int", "age: int indexed, more: int") + " Dog { x: int }", version: 1)
        #expect(try session.refresh())
        #expect(try results.count() == 5)
        _ = try store.open(first + " Dog { x: int }", version: 2)
        #expect(try session.refresh())
        #expect(try results.count() == 5)
        try session.inWrite { try session.add("Person", ["age": .int(99)]) }
        #expect(try results.count() == 6)
    }
}

extension String {
    func replacing(_ part: String, _ other: String) -> String {
        var text = self
        while let range = text.firstRange(of: part) {
            guard !other.contains(part) else {
                return String(text[..<range.lowerBound]) + other + String(text[range.upperBound...])
            }
            text.replaceSubrange(range, with: other)
        }
        return text
    }
}
