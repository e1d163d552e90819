// Copies out of an open write hold its changes, are sound, and take nothing from the write.
import MotteLiveObjects
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct CopyTests {
    private static let schema = """
        Item { id: int key, text: string indexed, note: string?, long: data, any: mixed, next: link<Item>,
               list: list<string>, set: set<int>, map: map<mixed>, back: inverse<Item.next> }
        """

    @Test(arguments: TestStore.Kind.allCases)
    func copiesOfAWriteHoldItsChanges(_ kind: TestStore.Kind) throws {
        try PropertyTest.run(rounds: 6) { random, comment in
            let store = TestStore(kind, schema: CopyTests.schema)
            let session = try store.open()
            var id = Int64(0)
            for _ in 0 ..< random.below(4) { try session.inWrite { try change(session, &id, &random) } }
            let isInGroup = random.chance(30)
            if isInGroup {
                try session.beginGroup()
                try session.inWrite { try change(session, &id, &random) }
            }
            try session.beginWrite()
            for _ in 0 ..< 3 {
                try change(session, &id, &random)
                let shown = try StoreDump.text(session)
                #expect(try copied(session) == shown, "\(comment)")
                #expect(try StoreDump.text(session) == shown, "\(comment)")
            }
            try change(session, &id, &random)
            let last = try StoreDump.text(session)
            try session.commit()
            if isInGroup { try session.endGroup() }
            #expect(try StoreDump.text(session) == last, "\(comment)")
            #expect(try session.database.snapshot().verify().isSound, "\(comment)")
        }
    }

    /// What a copy shows; it can be written to.
    private func copied(_ session: Session) throws -> String {
        let folder = TemporaryDirectory()
        try session.copy(to: folder.file())
        let copy = try Session.open(SessionOptions(path: folder.file()))
        defer { _ = try? copy.close() }
        #expect(try copy.database.snapshot().verify().isSound)
        let text = try StoreDump.text(copy)
        try copy.inWrite { try copy.add("Item", ["id": .int(-1)]) }
        #expect(try copy.objects("Item").filter("id == -1").count() == 1)
        #expect(try copy.database.snapshot().verify().isSound)
        return text
    }

    private func change(_ session: Session, _ id: inout Int64, _ random: inout SeededRandom) throws {
        if random.chance(5) { try session.deleteAll() }
        for _ in 0 ..< 1 + random.below(12) {
            id += 1
            let long = [UInt8](repeating: UInt8(truncatingIfNeeded: id), count: random.chance(20) ? 9_000 : 3)
            let made = try session.add(
                "Item",
                [
                    "id": .int(id), "text": .string("text \(id % 5)"), "note": .string("some words \(id)"),
                    "long": .data(long), "any": .double(Double(id)),
                ])
            let list = try #require(try made.collection("list") as? LiveList)
            for number in 0 ..< random.below(random.chance(10) ? 1_500 : 4) {
                try list.append(.string("element \(number)"))
            }
            let set = try #require(try made.collection("set") as? LiveSet)
            for number in 0 ..< random.below(4) { try set.put(.int(Int64(number))) }
            if random.chance(30) { try made.set("any", to: .string("mixed")) }
        }
        let keys = try session.objects("Item").allKeys
        let table = try session.tableKey("Item")
        for key in keys where random.chance(15) {
            guard let object = try session.object(table, at: ObjectKey(key)) else { continue }
            if random.chance(40) {
                try object.delete()
            } else {
                try object.set("text", to: .string("changed \(id)"))
                try object.set("next", to: .link(object))
            }
        }
    }
}
