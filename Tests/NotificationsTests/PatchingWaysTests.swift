// Observed results are patched row by row, in passes over all keys, or re-evaluated: each way tells the same changes.
import MotteLiveObjects
import MotteNotifications
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct PatchingWaysTests {
    private static let queries = [
        "TRUEPREDICATE", "rank > 5", "rank BETWEEN {3, 6} AND name != 'b'", "next.rank > 5", "leaf.weight > 4",
        "ANY all.rank > 7", "all.@count > 1", "previous.@count > 0", "ANY words == 'a'", "leaf.nodes.@count > 2",
        "rank < 8 SORT(rank ASC, name DESC)", "rank > 1 SORT(name ASC) LIMIT(5)", "SORT(leaf.weight ASC)",
        "leaf.weight > 2 SORT(next.rank DESC)", "name != 'd' SORT(name ASC, rank ASC) LIMIT(9)",
    ]
    private static let keyPaths: [[String]?] = [nil, [], ["name"], ["leaf.weight"]]

    @Test func eachWayTellsTheSame() throws {
        let mutations = RandomNotificationTests()
        try PropertyTest.run(rounds: 4) { random, comment in
            let store = TestStore(schema: RandomNotificationTests.schema)
            let writer = try store.open()
            try writer.inWrite { for _ in 0 ..< 60 { try mutations.mutate(writer, &random) } }
            let ways: [ResultsPatching] = [.each, .bulk, .again, .byCost]
            var observed: [(session: Session, results: [LiveCollection], tokens: [Observation])] = []
            for way in ways {
                let session = try store.open()
                try SessionObservers.of(session).patching = way
                let results = try Self.queries.map { try session.objects("Node").filter($0) }
                let tokens = try results.enumerated().map { index, results in
                    try results.observe(keyPaths: Self.keyPaths[index % Self.keyPaths.count])
                }
                for token in tokens { #expect(try token.pull()?.isInitial == true) }
                observed.append((session, results, tokens))
            }
            for step in 0 ..< 10 {
                let many = random.chance(30)
                try writer.inWrite {
                    for _ in 0 ..< random.below(many ? 60 : 5) { try mutations.mutate(writer, &random) }
                }
                if random.chance(30) { continue }
                for one in observed { try one.session.refresh() }
                for (index, query) in Self.queries.enumerated() {
                    let notified = try observed.map { try $0.tokens[index].pull()?.description }
                    let keys = try observed.map { try $0.results[index].allKeys }
                    for (way, other) in notified.enumerated() {
                        #expect(other == notified[0], "\(ways[way]), \(query), step \(step): \(comment)")
                        #expect(keys[way] == keys[0], "\(ways[way]), \(query), step \(step): \(comment)")
                    }
                    let fresh = try observed[0].session.objects("Node").filter(query).allValues
                    #expect(try observed[0].results[index].allValues == fresh, "\(query), step \(step): \(comment)")
                }
            }
        }
    }

    /// So many rows that the cost decides for passes over all keys, or against them.
    @Test func manyChangesAreNotifiedAsFewAre() throws {
        let store = TestStore(schema: RandomNotificationTests.schema)
        let writer = try store.open()
        try writer.inWrite {
            for id in 0 ..< 200 { try writer.add("Leaf", ["weight": .int(Int64(id % 9))]) }
            let leaves = try writer.objects("Leaf")
            for id in 0 ..< 600 {
                let leaf = try #require(try leaves.object(at: id * 7 % 200))
                try writer.add("Node", ["id": .int(Int64(id)), "rank": .int(Int64(id * 31 % 97)), "leaf": .link(leaf)])
            }
        }
        var tokens: [Observation] = []
        let sessions = [try store.open(), try store.open()]
        try SessionObservers.of(sessions[0]).patching = .each
        for session in sessions {
            for (query, paths) in [("rank > 5 SORT(rank ASC)", nil), ("leaf.weight < 7", ["leaf.weight"])] {
                let token = try session.objects("Node").filter(query).observe(keyPaths: paths)
                #expect(try token.pull()?.isInitial == true)
                tokens.append(token)
            }
        }
        func change(every step: Int, _ add: Int64) throws -> [String?] {
            try writer.inWrite {
                let (nodes, leaves) = (try writer.objects("Node"), try writer.objects("Leaf"))
                for index in stride(from: 0, to: try nodes.count(), by: step) {
                    let node = try #require(try nodes.object(at: index))
                    try node.set("rank", to: .int((Int64(index) * 13 + add) % 97))
                }
                for index in 0 ..< 180 {
                    try leaves.object(at: index)?.set("weight", to: .int((Int64(index) + add) % 9))
                }
                try nodes.object(at: 5)?.delete()
            }
            for session in sessions { try session.refresh() }
            return try tokens.map { try $0.pull()?.description }
        }
        for (step, add) in [(4, 3), (1, 5), (3, 4), (2, 8)] {
            let notified = try change(every: step, Int64(add))
            #expect(
                notified[0] != nil && notified[1] != nil && notified[0] == notified[2]
                    && notified[1] == notified[3])
        }
    }

    /// Of many objects, who links to them is found by one walk over the links.
    @Test func walkingFindsTheLinksThatLookingUpDoes() throws {
        try PropertyTest.run(rounds: 2) { random, comment in
            let store = TestStore(schema: RandomNotificationTests.schema)
            let session = try store.open()
            try session.inWrite {
                for _ in 0 ..< 300 { try session.add("Leaf", ["weight": .int(1)]) }
                let leaves = try session.objects("Leaf")
                for id in 0 ..< 900 {
                    let node = try session.add("Node", ["id": .int(Int64(id))])
                    if random.chance(20) { continue }
                    try node.set("leaf", to: .link(try #require(try leaves.object(at: random.below(300)))))
                }
                for _ in 0 ..< 40 { try session.objects("Node").object(at: random.below(600))?.delete() }
            }
            let (node, leaf) = (try session.tableKey("Node"), try session.tableKey("Leaf"))
            let column = try #require(try session.schema["Node"]?.property(named: "leaf")?.columnKey)
            func compare() throws {
                let view = try session.source().table(leaf)
                let keys = (0 ..< Int64(300)).filter { _ in random.chance(60) }.shuffled(using: &random)
                var one: [Int64] = []
                for key in keys { try view.backlinks(origin: node, column, ObjectKey(key), into: &one) }
                var all: [Int64] = []
                try view.backlinks(origin: node, column, of: keys, into: &all)
                #expect(all.sorted() == one.sorted() && !all.isEmpty, "\(comment)")
                #expect(all == all.sorted(), "\(comment)")
            }
            try compare()
            try session.inWrite {
                for _ in 0 ..< 30 { try session.objects("Leaf").object(at: random.below(200))?.delete() }
                for _ in 0 ..< 30 { try session.objects("Node").object(at: random.below(800))?.set("leaf", to: .null) }
                try compare()
            }
        }
    }
}
