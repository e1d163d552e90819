// Within a write, what is frozen is what was there before it, whatever the write has done since.
import MotteLiveObjects
import MotteQueryEngine
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

@Suite struct FreezingInWritesTests {
    private static let schema = """
        Node { id: int key, any: mixed, tags: list<string>, by: map<int>, near: set<int>, next: link<Node>,
               nodes: list<Node>, list: list<mixed> }
        """

    private func open(_ kind: TestStore.Kind = .memory) throws -> (session: Session, one: LiveObject) {
        let session = try TestStore(kind, schema: Self.schema).open()
        let one = try session.inWrite {
            let one = try session.add("Node", ["id": .int(1)])
            try list("tags", of: one).append(.string("a"))
            let two = try session.add("Node", ["id": .int(2), "next": .link(one)])
            try list("nodes", of: one).append(.link(two))
            return one
        }
        return (session, one)
    }

    private func list(_ name: String, of object: LiveObject) throws -> LiveList {
        try #require(try object.elements(try object.column(named: name)) as? LiveList)
    }

    @Test(arguments: TestStore.Kind.allCases)
    func frozenThingsShowWhatTheWriteBeganWith(kind: TestStore.Kind) throws {
        let (session, one) = try open(kind)
        let nodes = try session.objects("Node")
        let sections = try nodes.sectioned(by: "id")
        let byFunction = nodes.sectioned(
            by: SectionKey { nodes, index throws(DatabaseError) in .int(Int64(try nodes.count() * 10 + index)) })
        let fixed = try nodes.snapshot()
        try session.beginWrite()
        try nodes.filter("id == 2").deleteObjects()
        try list("tags", of: one).append(.string("b"))
        for id in 3 ..< 6 { try session.add("Node", ["id": .int(Int64(id))]) }
        #expect(try nodes.freeze().count() == 2 && nodes.filter("id > 1").freeze().count() == 1)
        #expect(try nodes.count() == 4)
        #expect(try fixed.freeze().object(at: 1)?.get("id") == .int(2))
        #expect(try list("tags", of: one).freeze().count() == 1)
        #expect(try list("nodes", of: one).freeze().count() == 1 && list("nodes", of: one).count() == 0)
        #expect(try sections.freeze().count() == 2 && sections.count() == 4)
        // Its keys are those of what is frozen.
        #expect(try byFunction.freeze().key(at: 1) == .int(21) && byFunction.key(at: 1) == .int(41))
        let frozen = try session.freeze()
        #expect(try frozen.version == session.version && frozen.objects("Node").count() == 2)
        try session.cancel()
        #expect(try one.freeze().elements(one.column(named: "tags")).count() == 1)
        try session.inWrite { try one.delete() }
        #expect(try frozen.objects("Node").count() == 2 && nodes.freeze().count() == 1)
    }

    @Test func whatTheWriteMadeOrDeletedCannotBeFrozen() throws {
        let (session, one) = try open()
        let nodes = try list("nodes", of: one)
        try session.beginWrite()
        let new = try session.add("Node", ["id": .int(9), "any": .list([.int(1)])])
        try list("tags", of: new).append(.string("t"))
        let any = try new.column(named: "any"), next = try new.column(named: "next")
        for freeze in [
            { _ = try new.freeze() }, { _ = try list("tags", of: new).freeze() },
            { _ = try list("tags", of: new).results().freeze() },
            { _ = try new.backlinks(origin: new.table, next).freeze() },
            { _ = try #require(try new.nested(any)).freeze() },
        ] as [() throws -> Void] {
            #expect(code(freeze) == .invalidArgument)
        }
        try one.delete()
        #expect(code { _ = try one.freeze() } == .objectDeleted && code { _ = try nodes.freeze() } == .objectDeleted)
        try session.commit()
        #expect(try new.freeze().get("id") == .int(9))
        #expect(code { _ = try one.freeze() } == .objectDeleted)
    }

    @Test func nestedListsAreFoundWhereTheyWere() throws {
        let (session, one) = try open()
        let any = try one.column(named: "any")
        try session.inWrite { try one.set("any", to: .list([.int(0), .list([.int(1)]), .list([.int(2)])])) }
        let outer = try #require(try one.nested(any)), known = try #require(try outer.nested(at: 2))
        try session.beginWrite()
        let early = try #require(try outer.nested(at: 1))
        try outer.remove(at: 0)
        try outer.insert(.list([.int(3)]), at: 0)
        try known.append(.int(4))
        #expect(try known.freeze().value(at: 0).owned == .int(2) && known.freeze().count() == 1)
        #expect(try early.freeze().value(at: 0).owned == .int(1))
        // Nobody knows where these were before.
        let late = try #require(try outer.nested(at: 2)), made = try #require(try outer.nested(at: 0))
        #expect(code { _ = try late.freeze() } == .invalidArgument)
        #expect(code { _ = try made.freeze() } == .invalidArgument)
        #expect(try one.freeze().get("any") == .list([.int(0), .list([.int(1)]), .list([.int(2)])]))
        try session.commit()
        #expect(try (late.freeze() as? LiveNested)?.contents() == .list([.int(2), .int(4)]))
        #expect(try known.freeze().count() == 2)
    }
}
