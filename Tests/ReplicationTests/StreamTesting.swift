// What tests of one leader, a stream and its followers have together.
import MotteLiveObjects
import MotteReplication
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

protocol StreamTesting {
    var folder: TemporaryDirectory { get }
    var network: SimulatedNetwork { get }
}

extension StreamTesting {
    func log(patience: Int64 = 100) -> StreamLog {
        let log = StreamLog(SimulatedServer(network), patienceMilliseconds: patience)
        log.temporaryFolder = folder.path
        return log
    }

    func open(_ name: String) throws -> Session {
        var options = SessionOptions(path: folder.file(name))
        options.isDurable = false
        options.rowGroupSize = 3
        options.schema = try SchemaText.parse("Person { id: int key, name: string, tags: list<string> }")
        return try Session.open(options)
    }

    func write(_ session: Session, _ ids: Range<Int64>) throws {
        let table = try session.tableKey("Person")
        for id in ids {
            try session.inWrite {
                let object = try session.create(table, primaryKey: .int(id)).object
                try object.set("name", to: .string("n\(id)"))
                try (try object.collection("tags") as? LiveList)?.append(.string("t"))
            }
        }
    }

    func shipping(
        _ session: Session, _ log: ReplicationLog, _ change: (inout ShippingOptions) -> Void = { _ in }
    ) throws -> Shipping {
        var options = ShippingOptions(name: "the leader")
        change(&options)
        let shipping = try Shipping(session, to: log, options)
        while try shipping.step() != .nothing {}
        return shipping
    }

    func dump(_ name: String) throws -> String {
        let session = try open(name)
        defer { _ = try? session.close() }
        return try StoreDump.text(session)
    }

    func failure(_ body: () throws -> Void) -> DatabaseError? {
        do { try body() } catch { return error as? DatabaseError }
        return nil
    }

    func follower(_ name: String) throws -> Following {
        var options = SessionOptions(path: folder.file(name))
        options.isDurable = false
        let following = try Following(options, from: log())
        while try following.step() != .nothing {}
        return following
    }

    func acknowledgeOutOfSight(_ writer: Session, _ own: Shipping) throws {
        try writer.onCommit { batch throws(DatabaseError) in
            try own.acknowledge(batch)
            throw DatabaseError(.outcomeUnknown, "says the test")
        }
    }

    func rename(_ session: Session, _ id: Int64) throws {
        let table = try session.tableKey("Person")
        try session.inWrite {
            let found = try #require(try session.find(table, primaryKey: .int(id)))
            try found.set("name", to: .string("renamed"))
        }
    }
}
