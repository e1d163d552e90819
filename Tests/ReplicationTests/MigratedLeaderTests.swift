// A leader whose schema is changed in a way that no batch carries: whoever follows, restores and takes over goes on.
import MotteLiveObjects
import MotteReplication
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite(.serialized) struct MigratedLeaderTests {
    private static let first = "Person { id: int key, name: string, nick: string, friend: link<Dog> } Dog { n: int }"
    /// What may become of it; the rest can be added to the file, and comes along as a batch.
    private static let later = [
        "removed": "Person { id: int key, name: string, friend: link<Dog> } Dog { n: int }",
        "retyped": "Person { id: int key, name: string, nick: int, friend: link<Dog> } Dog { n: int }",
        "optional": "Person { id: int key, name: string?, nick: string, friend: link<Dog> } Dog { n: int }",
        "key moved": "Person { id: int, name: string key, nick: string, friend: link<Dog> } Dog { n: int }",
        "class": "Person { id: int key, name: string, nick: string }",
    ]
    private let folder = TemporaryDirectory()

    private func open(_ schema: String?, version: UInt64? = nil, _ name: String = "leader.motte") throws -> Session {
        var options = SessionOptions(path: folder.file(name))
        options.isDurable = false
        options.rowGroupSize = 3
        if let schema { options.schema = try SchemaText.parse(schema) }
        options.schemaVersion = version
        if version != nil, schema?.contains("Dog") == false { options.migration.deletedTypes = ["Dog"] }
        return try Session.open(options)
    }

    private func write(_ session: Session, _ ids: Range<Int64>) throws {
        let table = try session.tableKey("Person")
        for id in ids {
            try session.inWrite {
                let type = try #require(try session.schema["Person"])
                if type.properties.contains(where: { $0.name == "id" && $0.isPrimaryKey }) {
                    try session.create(table, primaryKey: .int(id)).object.set("name", to: .string("n\(id)"))
                } else {
                    try session.create(table, primaryKey: .string("n\(id)")).object.set("id", to: .int(id))
                }
            }
        }
    }

    private func ship(_ session: Session, _ log: ReplicationLog, asked: Bool = false) throws -> [ShippingStep] {
        var options = ShippingOptions(name: "the leader")
        options.isAsked = asked
        let shipping = try Shipping(session, to: log, options)
        var steps: [ShippingStep] = []
        while true {
            let step = try shipping.step()
            guard step != .nothing else { return steps }
            steps.append(step)
        }
    }

    private func dump(_ name: String) throws -> String {
        let session = try open(nil, name)
        defer { _ = try? session.close() }
        return try StoreDump.text(session)
    }

    /// As `motte follow` does: true where the file had to begin again.
    private func follow(_ name: String, _ log: ReplicationLog) throws -> Bool {
        var options = SessionOptions(path: folder.file(name))
        options.isDurable = false
        let following = try Following(options, from: log)
        let isBehind = try !catchUp(following)
        _ = try following.session.close()
        guard isBehind else { return false }
        #expect(
            try Renewal(
                options, from: log, of: following.leader, stuckAt: following.position.version
            ).run())
        let again = try Following(options, from: log)
        #expect(try catchUp(again))
        _ = try again.session.close()
        return true
    }

    /// False where no batch leads on.
    private func catchUp(_ following: Following) throws(DatabaseError) -> Bool {
        do throws(DatabaseError) {
            while try following.step() != .nothing {}
            return true
        } catch {
            guard error.code == .outOfSequence else { throw error }
            return false
        }
    }

    private func logs() throws -> [ReplicationLog] {
        [try FolderLog(folder.path + "/log", making: true), StreamLog(SimulatedServer(SimulatedNetwork(seed: 1)))]
    }

    @Test(arguments: later.keys.sorted()) func followersAndRestoredFilesGoOn(kind: String) throws {
        let schema = try #require(Self.later[kind])
        for (number, log) in try logs().enumerated() {
            let name = "\(number).motte"
            var session = try open(Self.first, name)
            try write(session, 0 ..< 5)
            #expect(try ship(session, log).count == 1)
            #expect(try !follow("copy-\(name)", log))
            try write(session, 5 ..< 8)
            _ = try session.close()
            session = try open(schema, version: 1, name)
            try write(session, 8 ..< 10)
            let steps = try ship(session, log)
            #expect(steps.contains { if case .snapshot = $0 { true } else { false } }, "\(steps)")
            try write(session, 10 ..< 12)
            _ = try ship(session, log)
            _ = try session.close()
            let expected = try dump(name)
            #expect(try follow("copy-\(name)", log))
            #expect(try dump("copy-\(name)") == expected, "\(kind)")
            _ = try Restoring.run(SessionOptions(path: folder.file("restored-\(name)")), from: log, at: nil)
            #expect(try dump("restored-\(name)") == expected, "\(kind)")
            // And goes on with batches from there.
            session = try open(nil, name)
            try write(session, 12 ..< 14)
            #expect(try ship(session, log).count == 1)
            _ = try session.close()
            #expect(try !follow("copy-\(name)", log))
            #expect(try dump("copy-\(name)") == dump(name))
        }
        World.removeAll(folder.path + "/log")
    }

    /// What is only added needs no snapshot.
    @Test func additionsAreABatch() throws {
        let log = try FolderLog(folder.path + "/log", making: true)
        var session = try open(Self.first)
        try write(session, 0 ..< 5)
        _ = try ship(session, log)
        #expect(try !follow("copy.motte", log))
        _ = try session.close()
        session = try open(Self.first + " Cat { n: int }")
        try write(session, 5 ..< 7)
        let steps = try ship(session, log)
        #expect(steps.count == 1 && steps.allSatisfy { if case .changes = $0 { true } else { false } })
        _ = try session.close()
        #expect(try !follow("copy.motte", log))
        #expect(try dump("copy.motte") == dump("leader.motte"))
        World.removeAll(folder.path + "/log")
    }

    /// A migration is acknowledged, and the commits after it are: the snapshot is made before them.
    @Test func commitsAfterAMigrationAreAcknowledged() throws {
        let log = StreamLog(SimulatedServer(SimulatedNetwork(seed: 2)))
        var session = try open(Self.first)
        try write(session, 0 ..< 3)
        var options = ShippingOptions(name: "the leader")
        options.isAsked = true
        _ = try session.close()
        let schema = try #require(Self.later["removed"])
        do {
            let own = try open(nil)
            let shipping = try Shipping(own, to: log, options)
            while try shipping.step() != .nothing {}
            _ = try own.close()
        }
        session = try open(schema, version: 1)
        let own = try open(nil)
        let shipping = try Shipping(own, to: log, options)
        try session.onCommit { batch throws(DatabaseError) in try shipping.acknowledge(batch) }
        try write(session, 3 ..< 6)
        #expect(try shipping.shipped == session.version)
        try session.onCommit(nil)
        _ = try session.close()
        _ = try own.close()
        #expect(try !follow("copy.motte", log))
        #expect(try dump("copy.motte") == dump("leader.motte"))
    }
}
