// Many kinds of observed things under random commits of two sessions: every change set turns the remembered content
// into the present one, and what the observed collection shows equals what a fresh query says.
import MotteLiveObjects
import MotteNotifications
import MotteQueryEngine
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

@Suite struct RandomNotificationTests {
    static let schema = """
        Node { id: int key, rank: int indexed, name: string, next: link<Node>, all: list<Node>, words: list<string>,
               previous: inverse<Node.next>, holders: inverse<Node.all>, leaf: link<Leaf> }
        Leaf { weight: int, nodes: inverse<Node.leaf> }
        """

    /// One observed thing with its content as the change sets have it.
    final class Watched {
        let name: String
        let collection: LiveCollection
        let token: Observation
        var content: [Value] = []
        /// Content by value of each element, to see that silent ones did not change.
        var details: [String] = []
        var ended = false

        init(_ name: String, _ collection: LiveCollection) throws {
            self.name = name
            self.collection = collection
            token = try collection.observe()
        }
    }

    static let queries = [
        "TRUEPREDICATE", "rank > 5", "rank BETWEEN {3, 6} AND name != 'b'", "next.rank > 5", "leaf.weight > 4",
        "ANY all.rank > 7", "all.@count > 1", "previous.@count > 0", "ANY holders.name == 'a'", "next.next.name == 'a'",
        "rank < 8 SORT(rank ASC, name DESC)", "DISTINCT(name)", "SORT(rank DESC) DISTINCT(name) LIMIT(4)",
        "rank > 1 LIMIT(5) SORT(name ASC)", "DISTINCT(leaf.weight) SORT(rank ASC)",
        "rank > 2 SORT(rank DESC) LIMIT(4)", "TRUEPREDICATE LIMIT(5)",
        "TRUEPREDICATE SORT(leaf.weight ASC) LIMIT(6)", "ANY words == 'a'", "leaf.nodes.@count > 2",
    ]

    @Test(arguments: TestStore.Kind.allCases)
    func patchedEqualsAgain(kind: TestStore.Kind) throws {
        try PropertyTest.run(rounds: kind == .file ? 4 : 12) { random, comment in
            let store = TestStore(kind, schema: Self.schema)
            let session = try store.open()
            let other = try store.open()
            try session.inWrite { for _ in 0 ..< 15 { try mutate(session, &random) } }
            try other.refresh()
            let nodes = try session.objects("Node")
            var watched: [Watched] = [try Watched("all", nodes)]
            for query in Self.queries { watched.append(try Watched(query, nodes.filter(query))) }
            // Of the same queries, by a session that moves at other times.
            let elsewhere = try Self.queries.map { try Watched($0, other.objects("Node").filter($0)) }
            watched.append(try Watched("twice", nodes.filter("rank > 2 SORT(rank ASC) LIMIT(6)").filter("name != 'c'")))
            for index in 0 ..< (try nodes.count()) where index % 5 == 0 {
                guard let node = try nodes.object(at: index) else { continue }
                for property in ["all", "words", "previous", "holders"] {
                    watched.append(try Watched("\(property) of \(index)", node.collection(property)))
                }
                watched.append(try Watched("filtered list of \(index)", node.collection("all").filter("rank > 3")))
            }
            for step in 0 ..< 25 {
                let writer = random.chance(50) ? session : other
                let isGroup = random.chance(25)
                if isGroup { try writer.beginGroup() }
                for _ in 0 ..< (isGroup ? random.below(4) : 1) {
                    try writer.beginWrite()
                    for _ in 0 ..< random.below(5) { try mutate(writer, &random) }
                    if random.chance(10) { try writer.cancel() } else { try writer.commit() }
                }
                if isGroup { try writer.endGroup() }
                if random.chance(60) { try session.refresh() }
                if random.chance(30) {
                    try other.refresh()
                    for one in elsewhere { try check(one, other, "step \(step), elsewhere \(one.name): \(comment)") }
                }
                if random.chance(50) {
                    try session.refresh()
                    for one in watched { try check(one, session, "step \(step), \(one.name): \(comment)") }
                }
            }
        }
    }

    func mutate(_ session: Session, _ random: inout SeededRandom) throws {
        let nodes = try session.objects("Node")
        let leaves = try session.objects("Leaf")
        let count = try nodes.count()
        let leafCount = try leaves.count()
        func node() throws -> LiveObject? { count > 0 ? try nodes.object(at: random.below(count)) : nil }
        func leaf() throws -> LiveObject? { leafCount > 0 ? try leaves.object(at: random.below(leafCount)) : nil }
        let names = ["a", "b", "c", "d"]
        switch random.below(14) {
        case 0, 1, 2:
            try session.add(
                "Node",
                [
                    "id": .int(Int64.random(in: 0 ..< 1 << 40, using: &random)), "rank": .int(Int64(random.below(10))),
                    "name": .string(random.pick(names)),
                ])
        case 3: try session.add("Leaf", ["weight": .int(Int64(random.below(10)))])
        case 4: if count > 4 { try node()?.delete() }
        case 5: if random.chance(40) { try leaf()?.delete() }
        case 6: try leaf()?.set("weight", to: .int(Int64(random.below(10))))
        case 7: try node()?.set("rank", to: .int(Int64(random.below(10))))
        case 8: try node()?.set("name", to: .string(random.pick(names)))
        case 9: try node()?.set("next", to: random.chance(20) ? .null : try node().map(Value.link) ?? .null)
        case 10: try node()?.set("leaf", to: random.chance(20) ? .null : try leaf().map(Value.link) ?? .null)
        case 11:
            guard let list = try node()?.collection("words") as? LiveList else { return }
            try list.append(.string(random.pick(names)))
        default:
            guard let list = try node()?.collection("all") as? LiveList else { return }
            let size = try list.count()
            switch random.below(5) {
            case 0, 1: if let one = try node() { try list.insert(.link(one.link), at: random.below(size + 1)) }
            case 2: if size > 0 { try list.remove(at: random.below(size)) }
            case 3: if size > 0 { try list.move(from: random.below(size), to: random.below(size)) }
            default: if size > 0, let one = try node() { try list.set(random.below(size), to: .link(one.link)) }
            }
        }
    }

    func check(_ one: Watched, _ session: Session, _ comment: String) throws {
        if one.ended { return }
        let isGone = (one.collection.kind == .list || one.collection.kind == .backlinks) && !one.collection.isValid
        let now = isGone ? [] : try one.collection.allValues
        let details = isGone ? [] : try now.map { try detail($0, session) }
        // What a fresh look says.
        if one.collection.kind == .results, let target = one.collection.target {
            let fresh = try session.objects(target)
            if one.name == "all" { #expect(try fresh.allValues == now, "\(comment)") }
            if Self.queries.contains(one.name) { #expect(try fresh.filter(one.name).allValues == now, "\(comment)") }
        }
        if let changes = try one.token.pull() {
            if changes.isInitial {
                one.content = now
            } else {
                var rebuilt = apply(changes.deletions, changes.insertions, old: one.content, new: now)
                for (old, new) in zip(changes.modificationsOld, changes.modificationsNew) {
                    // A slot of a list can be given another element.
                    if one.collection.kind == .list { rebuilt?[new] = now[new] }
                    #expect(one.content[old] == now[new] || one.collection.kind == .list, "\(changes) \(comment)")
                }
                #expect(rebuilt == now, "\(changes) \(one.content) \(now) \(comment)")
                // Whoever stayed and looks different was mentioned.
                let map = PositionMap(changes)
                let modified = Set(changes.modificationsNew)
                for (old, detail) in one.details.enumerated() {
                    guard let new = map.new(ofOld: old), new < details.count else { continue }
                    if detail != details[new] {
                        #expect(modified.contains(new), "\(changes) \(detail) \(details[new]) \(comment)")
                    }
                }
                #expect(changes.isSourceDeleted == isGone, "\(comment)")
                if changes.isSourceDeleted { one.ended = true }
            }
        } else {
            #expect(one.content == now && one.details == details, "nothing notified: \(one.content) \(now) \(comment)")
        }
        one.content = now
        one.details = details
    }

    /// The properties of an object itself, as text.
    func detail(_ value: Value, _ session: Session) throws -> String {
        guard case .link(let link) = value, let object = try session.object(link.table, at: link.key) else {
            return "\(value)"
        }
        return try object.type.storedProperties.map { property in
            property.isList ? "\(try object.collection(property.name).allValues)" : "\(try object.get(property.name))"
        }.joined(separator: " ")
    }
}
