// What conversion refuses, what it notes, and that a failure leaves nothing behind.
import MotteExchange
import MotteLiveObjects
import MotteRealmFile
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

@Suite struct ConversionFailureTests {
    private let directory = TemporaryDirectory()

    private func convert(
        _ source: String, _ change: (inout RealmConversion.Options) -> Void = { _ in }
    ) throws -> RealmSummary {
        var options = RealmConversion.Options()
        change(&options)
        return try RealmConversion.convert(source, to: directory.file(), options)
    }

    /// A fixture with some bytes replaced by as many others, wherever they are.
    private func changed(_ fixture: Fixture, _ from: String, _ to: [UInt8]) throws -> String {
        var bytes = fixture.bytes
        let wanted = Array(from.utf8)
        try #require(wanted.count == to.count)
        var count = 0
        for start in 0 ... bytes.count - wanted.count
        where bytes[start ..< start + wanted.count].elementsEqual(wanted) {
            bytes.replaceSubrange(start ..< start + wanted.count, with: to)
            count += 1
        }
        try #require(count > 0)
        let path = directory.file("source.realm")
        TemporaryDirectory.write(bytes, path)
        return path
    }

    private func expectNothingLeft(_ source: String = "", sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(directory.names.allSatisfy { $0 == source }, "\(directory.names)", sourceLocation: sourceLocation)
    }

    // MARK: Nothing is left

    @Test func aDestinationThatIsThereStays() throws {
        TemporaryDirectory.write(Array("mine".utf8), directory.file())
        let error = #expect(throws: DatabaseError.self) { try convert(Fixture.tiny.path) }
        #expect(error?.code == .invalidArgument)
        #expect(TemporaryDirectory.read(directory.file()) == Array("mine".utf8))
        #expect(directory.names == ["test.motte"])
    }

    /// Also one that comes while the conversion is at work.
    @Test func aDestinationThatComesMeanwhileStays() throws {
        let error = #expect(throws: DatabaseError.self) {
            try convert(Fixture.tiny.path) { options in
                options.willCompare = { _ in TemporaryDirectory.write(Array("mine".utf8), directory.file()) }
            }
        }
        #expect(error?.code == .invalidArgument)
        #expect(TemporaryDirectory.read(directory.file()) == Array("mine".utf8))
        #expect(directory.names == ["test.motte"])
    }

    @Test func aStopLeavesNothing() throws {
        let total = 2 * (try convert(Fixture.collections.path).objects)
        #expect(try Session.deleteFile(SessionOptions(path: directory.file())))
        for stop in [0, 1, 40, total / 2, total / 2 + 1, total - 1] {
            let error = #expect(throws: DatabaseError.self) {
                try convert(Fixture.collections.path) { options in
                    options.commitEvery = 10
                    options.progress = { (done, total) throws(DatabaseError) in
                        if done > stop { throw DatabaseError(.callback, "enough") }
                    }
                }
            }
            #expect(error?.code == .callback)
            expectNothingLeft()
        }
    }

    @Test func whatAKilledConversionLeftIsRemoved() throws {
        let left = directory.file("test.motte.converting-0123456789abcdef")
        try Session.open(SessionOptions(path: left, schema: try SchemaText.parse("A { n: int }"))).close()
        _ = try convert(Fixture.tiny.path)
        #expect(directory.names == ["test.motte"])
    }

    @Test func aSourceThatChangesMeanwhileIsRefused() throws {
        let path = directory.file("source.realm")
        TemporaryDirectory.write(Fixture.tiny.bytes, path)
        let error = #expect(throws: DatabaseError.self) {
            try convert(path) { options in
                options.willCompare = { _ in
                    // The other of the two states of a header counts now.
                    guard let file = fopen(path, "r+") else { return }
                    fseek(file, 23, SEEK_SET)
                    fputc(Int32(Fixture.tiny.bytes[23] ^ 1), file)
                    fclose(file)
                }
            }
        }
        #expect(error?.code == .busy)
        expectNothingLeft("source.realm")
    }

    /// Every cut, and flipped bits everywhere: an error that leaves nothing, or a file that was compared whole.
    @Test func damagedSourcesLeaveNothing() throws {
        let path = directory.file("source.realm")
        let bytes = Fixture.tiny.bytes
        var random = SeededRandom(seed: PropertyTest.firstSeed)
        var refused = 0
        for round in 0 ..< 400 {
            var damaged = bytes
            if round % 4 == 0 {
                damaged.removeLast(1 + random.below(bytes.count - 1))
            } else {
                damaged[random.below(2_048)] ^= 1 << UInt8(random.below(8))
            }
            TemporaryDirectory.write(damaged, path)
            do {
                _ = try convert(path)
                #expect(try Session.deleteFile(SessionOptions(path: directory.file())))
            } catch {
                refused += 1
            }
            expectNothingLeft("source.realm")
        }
        #expect(refused > 40, "repeat with MOTTE_TEST_SEED=\(random.seed)")
    }

    // MARK: The comparison

    /// Somebody else's value in each kind of property is found before the file gets its name.
    @Test(arguments: ["name", "age", "weight", "any", "toys", "owner"])
    func aDifferenceIsFound(_ property: String) throws {
        let error = #expect(throws: DatabaseError.self) {
            try convert(Fixture.tiny.path) { options in
                options.willCompare = { path in
                    Self.change(path) { session in try Self.spoil(property, session) }
                }
            }
        }
        #expect(error?.code == .inputOutput)
        #expect(error?.details.className == "Dog")
        #expect(error?.details.propertyName == property)
        expectNothingLeft()
    }

    private static func change(_ path: String, _ body: (Session) throws -> Void) {
        do {
            let session = try Session.open(SessionOptions(path: path))
            defer { _ = try? session.close() }
            try session.inWrite { try body(session) }
        } catch { Issue.record(error) }
    }

    private static func spoil(_ name: String, _ session: Session) throws {
        let type = try session.schema.type(named: "Dog")
        let table = try #require(type.tableKey)
        let property = try type.requiredProperty(named: name)
        let column = try #require(property.columnKey)
        switch name {
        case "toys": try session.requireWrite().listRemove(table, column, ObjectKey(2), at: 0)
        case "any": try session.set(table, column, ObjectKey(2), to: .float(2.5))
        case "weight": try session.set(table, column, ObjectKey(0), to: .double(0.5.nextUp))
        case "name":
            try Value.string("rex").withView { try session.set(table, column, ObjectKey(2), to: $0) }
        default: try session.set(table, column, ObjectKey(2), to: .null)
        }
    }

    @Test func anObjectTooManyIsFound() throws {
        let error = #expect(throws: DatabaseError.self) {
            try convert(Fixture.tiny.path) { options in
                options.willCompare = { path in
                    Self.change(path) { session in
                        let table = try session.schema.type(named: "Dog").tableKey
                        if let table { _ = try session.requireWrite().create(table, primaryKey: nil) }
                    }
                }
            }
        }
        #expect(error?.code == .inputOutput)
        expectNothingLeft()
    }

    // MARK: What cannot be kept

    @Test func textThatIsNoUTF8IsNoted() throws {
        let path = try changed(.tiny, "Lassie", [0x4C, 0x61, 0xFF, 0x73, 0x69, 0x65])
        let summary = try convert(path)

        #expect(summary.notes.count == 1)
        let note = try #require(summary.notes.first)
        #expect(note.className == "Dog" && note.propertyName == "name" && note.count == 1 && note.firstKey == 1)
        #expect(note.text.contains("UTF-8"))
        let session = try Session.open(SessionOptions(path: directory.file()))
        let type = try session.schema.type(named: "Dog")
        let value = try session.value(
            try #require(type.tableKey), try #require(type.property(named: "name")?.columnKey), ObjectKey(1))
        #expect(value.owned == .string("La\u{FFFD}sie"))

        let error = #expect(throws: DatabaseError.self) {
            _ = try RealmConversion.convert(
                path, to: directory.file("strict.motte"),
                {
                    var options = RealmConversion.Options()
                    options.isStrict = true
                    return options
                }())
        }
        #expect(error?.code == .invalidUTF8)
        #expect(error?.details.className == "Dog" && error?.details.propertyName == "name")
    }

    @Test func textInListsAndMixedIsNotedToo() throws {
        let listed = try convert(try changed(.tiny, "stick", [0x73, 0x74, 0xC3, 0x63, 0x6B]))
        #expect(listed.notes.map(\.propertyName) == ["toys"])
        #expect(listed.notes.first?.count == 2)
        #expect(try Session.deleteFile(SessionOptions(path: directory.file())))
        let mixed = try convert(try changed(.tiny, "bone", [0x62, 0xFF, 0xFF, 0x65]))
        #expect(mixed.notes.map(\.propertyName) == ["any"])
    }

    @Test func namesThatQueriesCannotNameAreChanged() throws {
        let summary = try convert(try changed(.tiny, "toys", Array("to.s".utf8)))
        #expect(summary.notes.map(\.text).first?.contains("to_s") == true)
        let session = try Session.open(SessionOptions(path: directory.file()))
        #expect(try session.schema.type(named: "Dog").property(named: "to_s") != nil)
    }

    @Test func keysOfMapsAreEncodedWhereTheyMustBe() throws {
        let summary = try convert(try changed(.collections, "a key that is longer", Array("a.key that is longer".utf8)))
        let notes = summary.notes.filter { $0.reason.contains("percent-encoded") }
        #expect(!notes.isEmpty && notes.allSatisfy { $0.className == "Holder" })
        let session = try Session.open(SessionOptions(path: directory.file()))
        let type = try session.schema.type(named: "Holder")
        let table = try #require(type.tableKey)
        let column = try #require(type.property(named: "map_int")?.columnKey)
        let view = try session.table(table)
        let keys = try (0 ..< view.nextKey).map { ObjectKey($0) }.flatMap { key in
            try (0 ..< view.listCount(column, key)).map {
                String(decoding: try view.mapKey(column, key, $0), as: UTF8.self)
            }
        }
        #expect(keys.contains("a%2Ekey that is longer than 15"))
    }

    // MARK: Schemas

    @Test func aSchemaAddsWhatAFileHasNot() throws {
        let summary = try convert(Fixture.tiny.path) { options in
            options.schema = try? SchemaText.parse(
                """
                Person { id: int key, born: timestamp?, dogs: inverse<Dog.owner>, nick: string? }
                Dog { name: string indexed, age: int?, weight: double, any: mixed, toys: list<string>,
                      owner: link<Person> }
                Later { n: int }
                """)
        }
        #expect(summary.notes.isEmpty)
        let session = try Session.open(SessionOptions(path: directory.file()))
        let schema = try session.schema
        #expect(schema["Later"] != nil)
        #expect(schema["Dog"]?.property(named: "name")?.isIndexed == true)
        let person = try #require(schema["Person"])
        #expect(person.property(named: "nick") != nil)
        let inverse = try #require(person.property(named: "dogs"))
        #expect(inverse.type == .linkingObjects)
        #expect(try session.schemaVersion == 1)
    }

    @Test func aSchemaThatDoesNotFitIsRefusedWithAllThatDoesNot() throws {
        let error = #expect(throws: DatabaseError.self) {
            try convert(Fixture.tiny.path) { options in
                options.schema = try? SchemaText.parse(
                    """
                    Person { id: int, born: timestamp }
                    Dog { name: string, age: string?, weight: double, any: mixed, toys: set<string>,
                          owner: link<Dog> }
                    """)
            }
        }
        #expect(error?.code == .schemaMismatch)
        for name in ["Person.id", "Person.born", "Dog.age", "Dog.toys", "Dog.owner"] {
            #expect(error?.message.contains(name) == true, "\(name)")
        }
        #expect(error?.message.contains("Dog.name") == false)
        expectNothingLeft()
    }

    @Test func aDatabaseWithoutTheClassesIsRefused() throws {
        let session = try Session.open(
            SessionOptions(path: directory.file(), schema: try SchemaText.parse("Dog { name: string }")))
        try session.beginWrite()
        let error = #expect(throws: DatabaseError.self) {
            try RealmImport.run(Fixture.tiny.path, key: nil, into: session)
        }
        #expect(error?.code == .schemaMismatch)
        #expect(error?.message.contains("Dog.toys") == true)
        #expect(error?.message.contains("class Person") == true)
    }
}
