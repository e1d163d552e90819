// Imports into databases that are there: in parts, resumed, over objects with the same primary keys.
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

@Suite struct RealmImportTests {
    private let directory = TemporaryDirectory()

    private func open(_ fixture: Fixture, _ name: String = "test.motte") throws -> Session {
        let schema = try RealmSchema(fixture.open())
        var options = SessionOptions(path: directory.file(name), schema: schema.schema)
        options.rowGroupSize = 7
        options.isDurable = false
        return try Session.open(options)
    }

    private func run(
        _ fixture: Fixture, _ session: Session, _ change: (inout RealmImport.Options) -> Void = { _ in }
    ) throws -> RealmSummary {
        var options = RealmImport.Options()
        change(&options)
        return try RealmImport.run(fixture.path, key: try fixture.key(), into: session, options)
    }

    @Test(arguments: Fixture.allCases) func aRowAtATimeIsTheSame(_ fixture: Fixture) throws {
        let session = try open(fixture)
        try session.beginWrite()
        _ = try run(fixture, session) { options in
            options.heldBytes = 0
            options.commitEvery = 1
        }
        try session.commit()
        let json = try fixture.json()
        #expect(try Converted(session, json).compare(json) > 0)
        #expect(try session.committedSnapshot().verify().isSound)
    }

    /// Objects that are there already stay, and those that come get keys behind theirs.
    @Test func objectsAreAppended() throws {
        let fixture = Fixture.mixed
        let session = try open(fixture)
        let schema = try session.schema
        try session.inWrite {
            for type in schema.objectTypes {
                let table = try #require(type.tableKey)
                for _ in 0 ..< 5 { _ = try session.requireWrite().create(table, primaryKey: nil) }
            }
        }
        try session.inWrite { _ = try run(fixture, session) }
        for type in schema.objectTypes {
            let table = try #require(type.tableKey)
            try session.inWrite { for key in 0 ..< 5 { try session.delete(table, ObjectKey(Int64(key))) } }
        }
        let json = try fixture.json()
        #expect(try Converted(session, json, firstKey: 5).compare(json) > 0)
    }

    @Test(arguments: [Fixture.collections, .mixed, .enumerated, .scalars])
    func importsInPartsAreResumed(_ fixture: Fixture) throws {
        let json = try fixture.json()
        let session = try open(fixture)
        var stops = 0
        var stop = 30
        while true {
            try session.beginWrite()
            do {
                let summary = try run(fixture, session) { options in
                    options.commitEvery = 1
                    options.resumes = stops > 0
                    options.heldBytes = 0
                    options.progress = { (done, total) throws(DatabaseError) in
                        if done > stop, done < total { throw DatabaseError(.callback, "enough") }
                    }
                }
                try session.commit()
                #expect(summary.objects >= summary.created)
                break
            } catch let error as DatabaseError {
                try #require(error.code == .callback, "\(error)")
                if session.isInWrite { try session.cancel() }
                stops += 1
                stop += 290
            }
        }
        #expect(stops > 0)
        #expect(try Converted(session, json).compare(json) > 0)
        // Once more, there is nothing to do.
        try session.inWrite {
            let summary = try run(fixture, session) { $0.resumes = true }
            #expect(summary.created == 0)
        }
        #expect(try Converted(session, json).compare(json) > 0)
        #expect(try session.committedSnapshot().verify().isSound)
    }

    @Test func whatIsNotOfTheFileIsNotResumed() throws {
        let session = try open(.collections)
        try session.inWrite { _ = try run(.collections, session) }
        let pet = try session.schema.type(named: "Pet")
        try session.inWrite {
            let column = try #require(pet.property(named: "age")?.columnKey)
            try session.set(try #require(pet.tableKey), column, ObjectKey(3), to: .int(-77))
        }
        try session.beginWrite()
        let error = #expect(throws: DatabaseError.self) { try run(.collections, session) { $0.resumes = true } }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("Pet") == true)
    }

    /// With a primary key objects are found again; those without one come a second time.
    @Test(arguments: [UpdatePolicy.modified, .all])
    func objectsWithPrimaryKeysAreUpdated(_ policy: UpdatePolicy) throws {
        let session = try open(.tiny)
        let person = try session.schema.type(named: "Person")
        let table = try #require(person.tableKey)
        let id = try #require(person.property(named: "id")?.columnKey)
        let born = try #require(person.property(named: "born")?.columnKey)
        try session.inWrite {
            try [ValueView.int(3), .null, .int(7), .null].withUnsafeBufferPointer { rows in
                _ = try session.insertBatch(table, columns: [id, born], rows: rows.baseAddress, rowCount: 2)
            }
        }
        let summary = try session.inWrite { try run(.tiny, session) { $0.policy = policy } }
        #expect(summary.created == 3 && summary.updated == 1)
        #expect(try session.table(table).liveCount == 2)
        #expect(try !session.value(table, born, ObjectKey(1)).isNull)
        let dog = try session.schema.type(named: "Dog")
        let owner = try #require(dog.property(named: "owner")?.columnKey)
        let link = try session.value(try #require(dog.tableKey), owner, ObjectKey(0))
        #expect(link.kind == .link && link.linkValue == ObjectLink(table: table, key: ObjectKey(1)))

        try session.beginWrite()
        let error = #expect(throws: DatabaseError.self) { try run(.tiny, session) }
        #expect(error?.code == .duplicatePrimaryKey)
        #expect(error?.message.contains("object with the key 0") == true)
    }

    @Test func everythingWithAPrimaryKeyIsUpdatedInPlace() throws {
        let session = try open(.scalars)
        try session.inWrite { _ = try run(.scalars, session) }
        let counts = try session.schema.objectTypes.map { try session.table(try #require($0.tableKey)).liveCount }
        let summary = try session.inWrite { try run(.scalars, session) { $0.policy = .modified } }
        for (type, count) in zip(try session.schema.objectTypes, counts) {
            let expected = type.primaryKey == nil ? 2 * count : count
            #expect(try session.table(try #require(type.tableKey)).liveCount == expected, "\(type.name)")
        }
        #expect(summary.updated > 0)
    }

    // MARK: Opening

    @Test func openingSaysWhatItIs() throws {
        for fixture in [Fixture.tiny, .copied] {
            let error = #expect(throws: DatabaseError.self) { try Session.open(SessionOptions(path: fixture.path)) }
            #expect(error?.code == .notAMotteFile)
            #expect(error?.message.contains("Realm file (format 24)") == true)
            #expect(error?.message.contains("motte import") == true)
        }
        var options = SessionOptions(path: Fixture.encrypted.path)
        options.encryptionKey = try Fixture.encrypted.key()
        let error = #expect(throws: DatabaseError.self) { try Session.open(options) }
        #expect(error?.code == .notAMotteFile)
        #expect(error?.message.contains("encrypted Realm file") == true)
    }

    @Test(arguments: [Fixture.tiny, .encrypted]) func theFirstOpeningConverts(_ fixture: Fixture) throws {
        let path = directory.file("app.realm")
        TemporaryDirectory.write(fixture.bytes, path)
        var options = SessionOptions(path: path)
        options.encryptionKey = try fixture.key()
        let json = try fixture.json()

        let (first, summary) = try RealmFileOpening.prepare(options)
        #expect(first.name == directory.file("app.motte"))
        #expect((summary?.objects ?? 0) > 0)
        #expect(try Converted(try Session.open(first), json).compare(json) > 0)
        #expect(TemporaryDirectory.read(path) == fixture.bytes)

        // Later openings go to the new file, also without the old one.
        let (second, again) = try RealmFileOpening.prepare(options)
        #expect(second.name == first.name && again == nil)
        unlink(path)
        #expect(try RealmFileOpening.prepare(options).options.name == first.name)
    }

    @Test func aRealmFileThatWasChangedAfterItsConversionIsAnError() throws {
        let path = directory.file("app.realm")
        TemporaryDirectory.write(Fixture.tiny.bytes, path)
        _ = try RealmFileOpening.prepare(SessionOptions(path: path))
        TemporaryDirectory.write(Fixture.renamed.bytes, path)
        let error = #expect(throws: DatabaseError.self) { try RealmFileOpening.prepare(SessionOptions(path: path)) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("app.motte") == true)
        // Whoever deletes what remembers it goes on with the Motte file.
        unlink(directory.file("app.motte-source"))
        #expect(try RealmFileOpening.prepare(SessionOptions(path: path)).options.name == directory.file("app.motte"))
    }

    @Test func everythingElseIsOpenedAsItIs() throws {
        let plain = SessionOptions(path: directory.file(), schema: try SchemaText.parse("A { n: int }"))
        #expect(try RealmFileOpening.prepare(plain).options.name == directory.file())
        try Session.open(plain).close()
        #expect(try RealmFileOpening.prepare(plain).options.name == directory.file())
        #expect(try RealmFileOpening.prepare(SessionOptions(.memory("none"))).options.name == "none")
        var reading = SessionOptions(path: Fixture.tiny.path)
        reading.isReadOnly = true
        #expect(try RealmFileOpening.prepare(reading).options.name == Fixture.tiny.path)
    }
}
