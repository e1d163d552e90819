// Elements that changed their place, of sorted results, of a window of them and of lists: from one commit, and from
// several of two sessions together.
import MotteLiveObjects
import MotteNotifications
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct MovesTests {
    private struct Watched {
        let name: String
        let collection: LiveCollection
        let token: Observation
        var keys: [Int64]

        init(_ name: String, _ collection: LiveCollection) throws {
            self.name = name
            self.collection = collection
            token = try collection.observe()
            keys = try Self.keys(of: collection)
        }

        static func keys(of collection: LiveCollection) throws -> [Int64] {
            try (0 ..< collection.count()).compactMap { try collection.object(at: $0)?.key.rawValue }
        }
    }

    @Test(arguments: TestStore.Kind.allCases)
    func movesAreDeletionsThatAreInsertions(kind: TestStore.Kind) throws {
        var found = 0
        try PropertyTest.run(rounds: kind == .file ? 3 : 10) { random, comment in
            let store = TestStore(kind, schema: kennelSchema)
            let session = try store.open()
            let other = try store.open()
            var next: Int64 = 0
            func addPerson(_ writer: Session) throws {
                try writer.add("Person", ["id": .int(next), "age": .int(Int64(random.below(50)))])
                next += 1
            }
            try session.inWrite { for _ in 0 ..< 30 { try addPerson(session) } }
            let people = try session.objects("Person")
            let owner = try #require(try people.object(at: 0))
            let list = try #require(try owner.collection("friends") as? LiveList)
            try session.inWrite {
                for index in 1 ..< 12 {
                    let friend = try #require(try people.object(at: index))
                    try list.append([.link(friend.link)])
                }
            }
            try other.refresh()
            let sorted = try people.sorted(by: "age")
            var watched = [
                try Watched("sorted", sorted), try Watched("window", sorted.limited(to: 8)),
                try Watched("list", list), try Watched("sorted list", list.sorted(by: "age")),
            ]
            try session.refresh()
            for one in watched { _ = try one.token.pull() }
            for _ in 0 ..< 12 {
                for _ in 0 ... random.below(3) {
                    let writer = random.chance(50) ? session : other
                    try writer.inWrite {
                        let all = try writer.objects("Person")
                        let mine = try #require(try all.object(at: 0)?.collection("friends") as? LiveList)
                        for _ in 0 ... random.below(4) {
                            let person = try #require(try all.object(at: random.below(all.count())))
                            try person.set("age", to: .int(Int64(random.below(50))))
                        }
                        if random.chance(30) { try addPerson(writer) }
                        let count = try mine.count()
                        try mine.move(from: random.below(count), to: random.below(count))
                    }
                }
                try session.refresh()
                for index in watched.indices {
                    let one = watched[index]
                    let keys = try Watched.keys(of: one.collection)
                    watched[index].keys = keys
                    guard let changes = try one.token.pull() else { continue }
                    let came = Dictionary(
                        changes.insertions.map { (keys[$0], $0) }, uniquingKeysWith: { first, _ in first })
                    let expected = changes.deletions.compactMap { old in
                        came[one.keys[old]].map { ChangeSet.Move(old: old, new: $0) }
                    }
                    #expect(changes.moves == expected, "\(one.name) \(comment)")
                    found += expected.count
                }
            }
        }
        #expect(found > 0)
    }

    /// What stands in a slot that was set is another element than the one that was moved there, or from there.
    @Test(arguments: [false, true])
    func aSlotThatIsSetHoldsAnotherElement(inTwoCommits: Bool) throws {
        let session = try TestStore(schema: "Item { list: list<int> }").open()
        let item = try session.inWrite { try session.add("Item") }
        let list = try item.list(item.column(named: "list"))
        let token = try list.observe()
        let move = { try list.move(from: 0, to: 2) }
        let set = { (slot: Int) in { try list.set(slot, to: .int(79)) } }
        let moved = [ChangeSet.Move(old: 0, new: 2)]
        let cases: [(edits: [() throws -> Void], moves: [ChangeSet.Move])] = [
            ([move, set(2)], []), ([set(0), move], []), ([move, set(0)], moved), ([set(1), move], moved),
        ]
        for (index, each) in cases.enumerated() {
            try session.inWrite {
                try list.clear()
                try list.append([.int(1), .int(2), .int(3)])
            }
            _ = try token.pull()
            if inTwoCommits {
                for edit in each.edits { try session.inWrite { try edit() } }
            } else {
                try session.inWrite { for edit in each.edits { try edit() } }
            }
            let changes = try #require(try token.pull())
            #expect(changes.deletions == [0] && changes.insertions == [2], "\(index)")
            #expect(changes.moves == each.moves, "\(index)")
        }
    }

    @Test func aChangeOfTheSchemaIsNotLostWithTheCommitThatIsSkipped() throws {
        let store = TestStore(schema: kennelSchema)
        let session = try store.open()
        let other = try store.open()
        let token = try session.observe()
        _ = try other.addSchema(try SchemaText.parse("Bird { name: string }"))
        try session.beginWrite()
        try session.add("Cat", ["name": .string("Tom")])
        try session.commit(skipping: [token])
        let changes = try #require(try token.pull())
        #expect(changes.hasNewSchema)
        #expect(try token.pull() == nil)
    }
}
