// Exporting what somebody made: objects that lie within themselves.
import MotteExchange
import MotteLiveObjects
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct HostileExportTests {
    @Test func anEmbeddedObjectThatLiesInItselfIsAnError() throws {
        let schema = "Root { id: int key, first: link<Node> } embedded Node { next: link<Node> }"
        let session = try TestStore(schema: schema).open()
        try session.importJSON("Root", #"{"id": 1, "first": {"next": {"next": null}}}"#)
        #expect(try session.exportJSON("Root") == "{\"id\":1,\"first\":{\"next\":{\"next\":null}}}\n")
        let table = try session.tableKey("Node")
        let column = try #require(try session.schema.type(named: "Node").property(named: "next")?.columnKey)
        try session.beginWrite()
        let write = try #require(session.write)
        let view = try write.table(table)
        let slot = try view.layout.slot(column)
        // No call does this: the inner one of the two is made to hold the outer one.
        let places = try (0 ..< 2).map { ObjectKey($0) }.filter { key in
            try view.value(slot: slot, at: try view.requireLocation(key)).isNull
        }
        let inner = try #require(places.first)
        let outer = ObjectKey(1 - inner.rawValue)
        try write.replaceValue(
            view, slot, try view.requireLocation(inner), inner, old: .null,
            new: .link(ObjectLink(table: table, key: outer)))
        _ = try session.commit()

        let error = #expect(throws: DatabaseError.self) { _ = try session.exportJSON("Root") }

        #expect(error?.code == .corrupted && error?.message.contains("lies in itself") == true)
        // And goes with its parent, once.
        try session.inWrite {
            let root = try #require(try session.find(try session.tableKey("Root"), primaryKey: .int(1)))
            try session.delete(root.link.table, root.key)
        }
        #expect(try session.table(table).liveCount == 0)
    }
}
