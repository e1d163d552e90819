// Writes that are refused: the session stays where it was, or its observers are notified of where it went.
import MotteLiveObjects
import MotteNotifications
import MotteStorage
import MotteValues
import TestSupport
import Testing

private let schema = """
    Item { id: int key, rank: int, list: list<int>, set: set<int>, map: map<int>, any: mixed, next: link<Item>,
           previous: inverse<Item.next> }
    """

@Suite struct RefusedWriteTests {
    private func open(_ change: (inout SessionOptions) -> Void = { _ in }) throws -> (Session, Session, LiveObject) {
        let store = TestStore(schema: schema)
        var options = try store.options
        change(&options)
        let session = try Session.open(options)
        let item = try session.inWrite {
            let item = try session.add("Item", ["id": .int(0)])
            try item.list(item.column(named: "list")).append([.int(1), .int(2), .int(3)])
            try item.set("any", to: .list([.int(1), .int(2)]))
            return item
        }
        return (session, try store.open(), item)
    }

    /// The same object elsewhere.
    private func item(_ session: Session) throws -> LiveObject {
        try #require(try session.find(session.tableKey("Item"), primaryKey: .int(0)))
    }

    private func list(_ session: Session) throws -> LiveList {
        let item = try item(session)
        return try item.list(item.column(named: "list"))
    }

    /// The version that a session leaves may be the one too many, so that this is known when it has moved.
    @Test func tooManyLiveVersionsAreToldWithTheMove() throws {
        let (session, other, _) = try open { $0.maximumLiveVersions = 2 }
        let versions = try session.observe()
        let early = try list(session).observe()
        try session.refresh()
        _ = try early.pull()
        let first = try other.freeze()
        try other.inWrite {
            try list(other).remove(at: 0)
            try list(other).append([.int(4)])
        }
        let second = try other.freeze()
        try other.inWrite { try item(other).set("rank", to: .int(1)) }
        for _ in 0 ..< 2 { #expect(errorCode { try session.beginWrite() } == .busy) }
        #expect(try session.version == other.version)
        #expect(try versions.pull()?.toVersion == session.version)
        #expect(try early.pull()?.short == "-[0] +[2]")
        let late = try list(session).observe()
        var mirror = try list(session).allValues
        #expect(try late.pull()?.isInitial == true)
        try first.close()
        try second.close()
        try other.inWrite { try list(other).append([.int(9)]) }
        try session.refresh()
        let changes = try #require(try late.pull())
        let now = try list(session).allValues
        for position in changes.deletions.reversed() { mirror.remove(at: position) }
        for position in changes.insertions { mirror.insert(now[position], at: position) }
        #expect(mirror == now && changes.short == "+[3]")
        try session.inWrite {}
    }

    @Test(arguments: [false, true])
    func aFollowersSessionStaysWhereItWas(inGroup: Bool) throws {
        let (session, other, _) = try open()
        let versions = try session.observe()
        let before = try session.version
        try other.beginWrite(asFollower: true)
        try other.write?.follow(FollowedLeader(origin: ChangeOrigin(high: 1, low: 2), name: "leader", source: "there"))
        try list(other).append([.int(4)])
        try other.commit()
        let epoch = session.viewEpoch
        let error = errorCode { if inGroup { try session.beginGroup() } else { try session.beginWrite() } }
        #expect(error == .readOnly)
        #expect(try session.version == before && session.viewEpoch == epoch)
        #expect(try list(session).count() == 3 && versions.pull() == nil)
        let late = try list(session).observe()
        _ = try late.pull()
        try session.refresh()
        #expect(try late.pull()?.short == "+[3]")
        #expect(try versions.pull()?.fromVersion == before)
    }

    /// Whatever has moved a session without a delivery: what begins to observe then is not told of edits before that.
    @Test func whatBeginsLateKnowsOnlyLaterEdits() throws {
        let (session, other, item) = try open()
        let first = try session.observe()
        let edit = { (id: Int64) throws in
            let item = try self.item(other)
            try item.list(item.column(named: "list")).insert([.int(id)], at: 0)
            try item.set(item.column(named: "set")).put(.int(id))
            try item.map(item.column(named: "map")).put("\(id)", .int(id))
            try #require(try item.nested(item.column(named: "any"))).insert(.int(id), at: 0)
            let new = try other.add("Item", ["id": .int(id)])
            try new.set("next", to: .link(item))
            try item.set("rank", to: .int(id))
        }
        try other.inWrite { try edit(1) }
        #expect(try session.database.advance(session.committedSnapshot()))
        let late = try session.observe()
        let object = try item.observe()
        let watched: [LiveCollection] = [
            try item.collection("list"), try item.collection("set"), try item.collection("map"),
            try #require(try item.nested(item.column(named: "any"))), try item.collection("previous"),
            try session.objects("Item"), try item.collection("list").sorted(by: "self"),
        ]
        let sections = try session.objects("Item").sectioned(by: "rank").observe()
        let tokens = try watched.map { try $0.observe() }
        let counts = try watched.map { try $0.count() }
        for token in tokens + [sections] { #expect(try token.pull()?.isInitial == true) }
        try session.refresh()
        for token in tokens + [sections, object, late] { #expect(try token.pull() == nil) }
        #expect(try first.pull() != nil)
        try other.inWrite { try edit(2) }
        try session.refresh()
        for (index, token) in tokens.enumerated() {
            let changes = try #require(try token.pull(), "\(index)")
            #expect(changes.isInitial == false && changes.failure == nil, "\(index)")
            #expect(changes.insertions.count == (try watched[index].count() - counts[index]), "\(index)")
        }
        #expect(try object.pull()?.properties.contains { $0.name == "rank" } == true)
    }

    /// Nobody knows then what linked to an object: whoever observes starts over.
    @Test func backlinksStartOverWithoutTheVersionBefore() throws {
        let (session, other, item) = try open()
        try other.inWrite { try other.add("Item", ["id": .int(1), "next": .link(self.item(other))]) }
        try session.refresh()
        let token = try item.collection("previous").observe()
        #expect(try token.pull()?.isInitial == true)
        try other.inWrite { try other.find(other.tableKey("Item"), primaryKey: .int(1))?.delete() }
        try session.beginGroup()
        session.forgetPrevious()
        try session.beginWrite()
        #expect(try token.pull()?.isInitial == true)
        #expect(try item.collection("previous").count() == 0)
        try session.cancel()
        try session.endGroup()
    }

    /// The same where the next delivery brings more commits.
    @Test func whatBeginsLateStartsOverWithTheNextDelivery() throws {
        let (session, other, item) = try open()
        _ = try session.observe()
        try other.inWrite { try list(other).remove(at: 0) }
        #expect(try session.database.advance(session.committedSnapshot()))
        let token = try list(session).observe()
        let object = try item.observe()
        #expect(try token.pull()?.isInitial == true)
        try other.inWrite { try list(other).append([.int(9)]) }
        try session.refresh()
        let changes = try #require(try token.pull())
        #expect(changes.isInitial && changes.failure == nil)
        #expect(try object.pull()?.failure == nil)
        try other.inWrite { try list(other).append([.int(10)]) }
        try session.refresh()
        #expect(try token.pull()?.short == "+[3]")
    }
}
