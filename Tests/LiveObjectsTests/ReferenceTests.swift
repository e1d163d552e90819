// Objects, collections and queries on their way from one session to another of the same file.
import MotteLiveObjects
import MotteQueryEngine
import MotteStorage
import MotteValues
import TestSupport
import Testing

private let schema = """
    Node { id: int key, rank: int, next: link<Node>, all: list<Node>, peers: set<Node>, words: map<string>, any: mixed,
           previous: inverse<Node.next> }
    """

@Suite struct ReferenceTests {
    func open() throws -> (store: TestStore, session: Session, node: LiveObject) {
        let store = TestStore(schema: schema)
        let session = try store.open()
        let node = try session.inWrite {
            let node = try session.add("Node", ["id": .int(1), "rank": .int(5)])
            try node.set("next", to: .link(node))
            try node.list(node.column(named: "all")).append(node)
            try node.set(node.column(named: "peers")).put(.link(node))
            try node.map(node.column(named: "words")).put("a", .string("x"))
            try node.set("any", to: .list([.int(1), .map([MapEntry(key: "k", value: .int(2))])]))
            return node
        }
        return (store, session, node)
    }

    @Test func everythingMovesToAnotherSession() throws {
        let (store, session, node) = try open()
        let other = try store.open()
        #expect(try node.moved(to: other)?.get("rank") == .int(5))
        for name in ["all", "peers", "words", "previous"] {
            let moved = try #require(try node.collection(name).moved(to: other))
            #expect(moved.session === other)
            #expect(try moved.allValues == node.collection(name).allValues)
        }
        let keys = try node.map(node.column(named: "words")).mapKeys()
        #expect(try keys.moved(to: other)?.allValues == [.string("a")])
        let nested = try #require(try node.nested(node.column(named: "any"))?.nested(at: 1))
        #expect(try nested.moved(to: other)?.allValues == [.int(2)])
        let filtered = try session.objects("Node").filter("rank > 3 SORT(rank ASC) LIMIT(3)")
        #expect(try filtered.moved(to: other)?.allKeys == filtered.allKeys)
        let values = try node.collection("words").filter("SELF == 'x'")
        #expect(try values.moved(to: other)?.allValues == [.string("x")])
        #expect(try filtered.snapshot().moved(to: other)?.allKeys == filtered.allKeys)
        let query = try session.query(session.tableKey("Node"), "rank == $0", Arguments([Value.int(5)]))
        #expect(try query.moved(to: other)?.count() == 1)
        let elsewhere = try TestStore(schema: schema).open()
        #expect(try node.moved(to: elsewhere) == nil)
        #expect(try node.collection("all").moved(to: elsewhere) == nil)
    }

    @Test func referencesTravelBetweenThreads() throws {
        let (store, session, node) = try open()
        let object = try LiveReference(node)
        let list = try LiveReference(try node.collection("all"))
        let query = try LiveReference(try session.query(session.tableKey("Node"), "rank > 1"))
        try onAnotherThread {
            let other = try store.open()
            #expect(try object.object(in: other)?.get("rank") == .int(5))
            #expect(try object.object(in: other)?.get("id") == .int(1))
            #expect(try list.collection(in: other)?.count() == 1)
            #expect(try query.query(in: other)?.count() == 1)
            #expect(try query.object(in: other) == nil)
            try other.inWrite { try object.object(in: other)?.delete() }
            #expect(try object.object(in: other) == nil)
            #expect(try list.collection(in: other) == nil)
        }
        // Here it is still there, and nobody moves this session back or on.
        #expect(try object.object(in: session)?.get("rank") == .int(5))
    }

    @Test func anOlderSessionIsBroughtUp() throws {
        let (store, session, _) = try open()
        let other = try store.open()
        let added = try session.inWrite { try session.add("Node", ["id": .int(2)]) }
        let reference = try LiveReference(added)
        #expect(try reference.object(in: other)?.get("id") == .int(2))
        #expect(try other.version == session.version)
    }

    @Test func aNewSessionShowsTheVersionOfTheReference() throws {
        let (store, session, node) = try open()
        let reference = try LiveReference(node)
        try session.inWrite { try node.delete() }
        try onAnotherThread {
            let other = try reference.openSession()
            #expect(try reference.object(in: other)?.get("rank") == .int(5))
            #expect(try other.refresh())
            #expect(try reference.object(in: other) == nil)
        }
        _ = store
    }

    @Test func referencesMadeInAWriteWaitForItsCommit() throws {
        let (store, session, _) = try open()
        let other = try store.open()
        try session.beginWrite()
        let kept = try LiveReference(try session.add("Node", ["id": .int(2)]))
        #expect(try kept.object(in: other) == nil)
        try session.commit()
        #expect(try kept.object(in: other)?.get("id") == .int(2))
        try session.beginWrite()
        let lost = try LiveReference(try session.add("Node", ["id": .int(3)]))
        try session.cancel()
        try session.inWrite { try session.add("Node", ["id": .int(4)]) }
        try other.refresh()
        #expect(try lost.object(in: other) == nil)
        #expect(try lost.object(in: session) == nil)
    }

    /// Keys are given once in a process, but for writes that hide them; another process gives those of what was undone
    /// again.
    @Test(arguments: [true, false])
    func whatWasUndoneInAWriteIsNeverFound(isWhole: Bool) throws {
        let (store, session, node) = try open()
        let other = try store.open()
        let all = try node.column(named: "all")
        try session.beginWrite()
        session.write?.hidesKeys = true
        if !isWhole { try session.add("Node", ["id": .int(2)]) }
        let savepoint = try session.savepoint()
        let undone = try session.add("Node", ["id": .int(3), "rank": .int(1)])
        let list = try undone.list(all)
        try list.append(undone)
        let previous = try undone.collection("previous")
        let object = try LiveReference(undone)
        var collections: [LiveCollection] = [
            list, previous, try undone.map(undone.column(named: "words")).mapKeys(), try list.filter("rank >= 0"),
            try previous.filter("TRUEPREDICATE"), try list.filter("rank >= 0").sorted(by: "rank"),
        ]
        collections.append(try list.sectioned(by: "rank").section(for: .int(1)).results())
        let references = try collections.map { try LiveReference($0) }
        try session.rollBack(to: savepoint)
        let kept = try session.add("Node", ["id": .int(4), "rank": .int(1)])
        try kept.set("next", to: .link(kept))
        try kept.list(all).append(kept)
        let reference = try LiveReference(kept)
        let keptList = try LiveReference(kept.list(all))
        try session.commit()
        // After a write that began again another object has the key of the undone one.
        #expect(!isWhole || kept.key == undone.key)
        for asked in [session, other] {
            #expect(try reference.object(in: asked)?.get("id") == .int(4))
            #expect(try keptList.collection(in: asked)?.count() == 1)
            #expect(try object.object(in: asked) == nil)
            for (index, reference) in references.enumerated() {
                #expect(try reference.collection(in: asked) == nil, "\(index)")
            }
        }
    }

    /// The reference of an object that the write had before the part that was undone.
    @Test func whatWasThereBeforeAnUndonePartIsFound() throws {
        let (store, session, node) = try open()
        let other = try store.open()
        try session.beginWrite()
        let first = try session.add("Node", ["id": .int(2)])
        let references = try [LiveReference(first), LiveReference(node)]
        let savepoint = try session.savepoint()
        try session.add("Node", ["id": .int(3)])
        let late = try LiveReference(first)
        try session.rollBack(to: savepoint)
        try session.commit()
        for reference in references + [late] { #expect(try reference.object(in: other) != nil) }
    }

    @Test func nestedCollectionsAreFoundWhereTheyMovedTo() throws {
        let (store, session, node) = try open()
        let list = try #require(try node.nested(node.column(named: "any")))
        let reference = try LiveReference(try #require(try list.nested(at: 1)))
        try session.inWrite { try list.insert(.int(0), at: 0) }
        let other = try store.open()
        #expect(try reference.collection(in: other)?.allValues == [.int(2)])
        try session.inWrite { try list.remove(at: 2) }
        try other.refresh()
        #expect(try reference.collection(in: other) == nil)
    }

    @Test func whatIsGoneCannotBeReferredTo() throws {
        let (_, session, node) = try open()
        let list = try node.collection("all")
        try session.inWrite { try node.delete() }
        #expect(throws: DatabaseError.self) { try LiveReference(node) }
        #expect(throws: DatabaseError.self) { try LiveReference(list) }
    }
}
