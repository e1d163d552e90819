// Two properties, classes or databases whose names look alike stay two: in an index that is added later, in batches of
// changes, in a difference of two files and in memory.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct NamesByBytesTests {
    private static let composed = "\u{E9}"
    private static let decomposed = "e\u{301}"

    /// With marks behind the types of both properties.
    private func schema(_ first: String = "", _ second: String = "") -> String {
        "Row { id: int key, \(Self.composed): int\(first), \(Self.decomposed): int\(second) }"
    }

    private func open(_ path: String, _ schema: String) throws -> Session {
        var options = SessionOptions(.file(path), schema: try SchemaText.parse(schema))
        options.rowGroupSize = 3
        options.isDurable = false
        return try Session.open(options)
    }

    private func add(_ session: Session, _ id: Int64, _ first: Int64, _ second: Int64) throws {
        try session.inWrite {
            let row = try session.add("Row", ["id": .int(id)])
            try row.set(Self.composed, to: .int(first))
            try row.set(Self.decomposed, to: .int(second))
        }
    }

    private func values(_ session: Session) throws -> [[Value]] {
        let rows = try session.objects("Row")
        return try (0 ..< rows.count()).map { index in
            let row = try #require(try rows.object(at: index))
            return try ["id", Self.composed, Self.decomposed].map { try row.get($0) }
        }
    }

    private func count(_ session: Session, _ name: String, _ value: Int) throws -> Int {
        try session.query(try session.tableKey("Row"), "\(name) == \(value)").count()
    }

    private func expectSound(_ session: Session) throws {
        let report = try session.committedSnapshot().verify()
        #expect(report.isSound, "\(report.text)")
    }

    @Test(arguments: [true, false]) func anIndexThatIsAddedIsOfItsOwnProperty(ofFirst: Bool) throws {
        let directory = TemporaryDirectory()
        let path = directory.file()
        let before = try open(path, schema())
        for id in 0 ..< 7 { try add(before, Int64(id), 10 + Int64(id), 20 + Int64(id)) }
        _ = try before.close()
        let marked = ofFirst ? schema(" indexed") : schema("", " indexed")

        let session = try open(path, marked)
        let type = try session.schema.type(named: "Row")
        #expect(type.property(named: Self.composed)?.isIndexed == ofFirst)
        #expect(type.property(named: Self.decomposed)?.isIndexed == !ofFirst)
        try expectSound(session)
        let indexed = try session.version
        try session.inWrite {
            let row = try #require(try session.objects("Row").object(at: 2))
            try row.set(Self.composed, to: .int(112))
            try row.set(Self.decomposed, to: .int(122))
        }
        try add(session, 7, 12, 22)
        for (name, old, new) in [(Self.composed, 12, 112), (Self.decomposed, 22, 122)] {
            #expect(try count(session, name, old) == 1)
            #expect(try count(session, name, new) == 1)
        }
        #expect(try count(session, Self.composed, 22) == 0)
        try expectSound(session)
        let last = try session.version
        #expect(last.rawValue == indexed.rawValue + 2)
        _ = try session.close()

        // Nothing is left to be done.
        let again = try open(path, marked)
        #expect(try again.version == last)
        withExtendedLifetime(directory) {}
    }

    @Test func aUniquePropertyThatIsAddedLater() throws {
        let directory = TemporaryDirectory()
        let path = directory.file()
        let before = try open(path, schema())
        // Equal where nobody asks.
        try add(before, 1, 7, 1)
        try add(before, 2, 7, 2)
        _ = try before.close()

        let session = try open(path, schema("", " unique"))
        try add(session, 3, 7, 3)
        let error = #expect(throws: DatabaseError.self) { try add(session, 4, 8, 1) }
        #expect(error?.code == .duplicateValue)
        try expectSound(session)
        withExtendedLifetime(directory) {}
    }

    @Test func batchesOfChangesAreFollowed() throws {
        let leader = try TestStore(schema: schema()).open()
        try leader.keepChanges(since: try leader.version)
        try add(leader, 1, 1, 2)
        let first = try leader.changeBatch(since: Version(0))
        let before = try leader.version
        try add(leader, 2, 10, 20)
        try leader.inWrite {
            let row = try #require(try leader.objects("Row").object(at: 0))
            try row.set(Self.composed, to: .int(111))
            try row.set(Self.decomposed, to: .int(222))
        }
        let second = try leader.changeBatch(since: before)

        let follower = try TestStore(schema: schema()).open()
        _ = try follower.apply(first)
        #expect(try values(follower) == [[.int(1), .int(1), .int(2)]])
        _ = try follower.apply(second)
        #expect(try values(follower) == values(leader))
        try expectSound(follower)
    }

    @Test func aDifferenceOfTwoFiles() throws {
        let before = try TestStore(schema: schema()).open()
        try add(before, 1, 1, 2)
        let after = try TestStore(schema: schema()).open()
        try add(after, 1, 3, 4)

        _ = try before.apply(try before.changeBatch(to: after))

        #expect(try values(before) == [[.int(1), .int(3), .int(4)]])
        try expectSound(before)
    }

    @Test func inversesOfPropertiesThatLookAlike() throws {
        func text(_ origin: String) -> String {
            """
            Row { id: int key, a: link<Row>, b: link<Row>, \(Self.composed): inverse<Row.a>,
                  \(Self.decomposed): inverse<Row.\(origin)> }
            """
        }
        let directory = TemporaryDirectory()
        let path = directory.file()
        _ = try open(path, text("a")).close()

        // Only the second is replaced.
        let session = try open(path, text("b"))
        let type = try session.schema.type(named: "Row")
        #expect(type.property(named: Self.composed)?.origin == "a")
        #expect(type.property(named: Self.decomposed)?.origin == "b")
        withExtendedLifetime(directory) {}
    }

    @Test func databasesInMemory() throws {
        let number = UInt64.random(in: 0 ... .max)
        func open(_ name: String) throws -> Session {
            try Session.open(
                SessionOptions(.memory("\(number) \(name)"), schema: try SchemaText.parse("Row { id: int key }")))
        }
        let (one, other) = (try open(Self.composed), try open(Self.decomposed))
        try one.inWrite { try one.add("Row", ["id": .int(1)]) }
        #expect(try other.objects("Row").count() == 0)
    }
}
