// Groups that are observed: what came, went and changed by their keys, beside a naive difference over random histories.
import MotteLiveObjects
import MotteNotifications
import MotteQueryEngine
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

private let schema = """
    City { id: int key, size: int? }
    Item { id: int key, name: string?, rank: int?, price: double, at: timestamp?, city: link<City>, tags: list<int> }
    """

@Suite struct GroupsObserverTests {
    private static let queries = [
        "GROUP(name) COUNT", "GROUP(name, rank) SUM(price)", "GROUP() COUNT, MAX(rank)", "GROUP(city.size) COUNT",
        "rank > 1 GROUP(name) COUNT, AVG(price)", "GROUP(name) COUNT SORT(COUNT DESC)",
        "GROUP(rank) SUM(price) AS s SORT(s DESC, rank) LIMIT(3)", "GROUP(name) SORT(MAX(rank) DESC)",
        "city.size > 2 GROUP(name) COUNT HAVING COUNT > 1", "SORT(rank DESC) LIMIT(4) GROUP(name) COUNT",
        "GROUP(at BY month) COUNT, MEDIAN(rank)", "GROUP(price) COUNT(DISTINCT name)",
        "GROUP(city) COUNT, MIN(price)", "ANY tags > 2 GROUP(name) COUNT",
    ]

    private struct Watched {
        let groups: LiveGroups
        let token: Observation
        var rows: [[Value]] = []
    }

    private static func next(_ token: Observation) throws -> ChangeSet? {
        guard case .changes(let changes) = try token.next() else { return nil }
        return changes
    }

    private static func rows(_ groups: LiveGroups) throws -> [[Value]] {
        let table = try groups.table()
        return (0 ..< table.count).map { row in table.columns.indices.map { table.view($0, row).owned } }
    }

    @Test func randomHistoriesAgreeWithANaiveDifference() throws {
        try PropertyTest.run(rounds: 12) { random, comment in
            let store = TestStore(schema: schema)
            let writer = try store.open(), reader = try store.open()
            try writer.inWrite { for _ in 0 ..< 8 { try change(writer, &random) } }
            try reader.refresh()
            var watched: [Watched] = []
            // One that commits itself, and one that refreshes.
            for (session, query) in Self.queries.flatMap({ query in [(writer, query), (reader, query)] }) {
                let groups = try session.objects("Item").groups(query)
                watched.append(Watched(groups: groups, token: try groups.observe()))
            }
            try writer.refresh()
            try reader.refresh()
            for index in watched.indices {
                guard case .changes(let changes) = try watched[index].token.next(), changes.isInitial else {
                    Issue.record("\(Self.queries[index / 2]) does not begin with an initial state")
                    continue
                }
                watched[index].rows = try Self.rows(watched[index].groups)
            }
            for _ in 0 ..< 12 {
                try writer.inWrite { for _ in 0 ... random.below(3) { try change(writer, &random) } }
                // Now and then several commits are one step.
                if random.chance(70) { try reader.refresh() }
                for index in watched.indices { try check(&watched[index], Self.queries[index / 2] + ", " + comment) }
            }
        }
    }

    private func check(_ watched: inout Watched, _ query: String) throws {
        let old = watched.rows
        guard case .changes(let changes) = try watched.token.next() else {
            // Nothing is pending, so that nothing may be another.
            if try watched.groups.session.version == watched.groups.session.latestVersion {
                #expect(try Self.rows(watched.groups) == old, "\(query)")
            }
            return
        }
        let new = try Self.rows(watched.groups)
        watched.rows = new
        let keyCount = try watched.groups.table().keyCount
        let keys = { (row: [Value]) in Array(row.prefix(keyCount)) }
        // Replayed, it gives the new groups.
        let deleted = Set(changes.deletions), inserted = Set(changes.insertions)
        let stayedOld = old.indices.filter { !deleted.contains($0) }
        let stayedNew = new.indices.filter { !inserted.contains($0) }
        #expect(stayedOld.map { keys(old[$0]) } == stayedNew.map { keys(new[$0]) }, "\(query)")
        // What stayed is modified where it differs, and nowhere else.
        let differing = zip(stayedOld, stayedNew).filter { old[$0] != new[$1] }
        #expect(differing.map(\.0) == changes.modificationsOld, "\(query)")
        #expect(differing.map(\.1) == changes.modificationsNew, "\(query)")
        // What came and went did, unless it was moved.
        let oldKeys = Set(old.map(keys)), newKeys = Set(new.map(keys))
        let moved = Set(changes.moves.map(\.old))
        for position in changes.deletions {
            #expect(moved.contains(position) == newKeys.contains(keys(old[position])), "\(query)")
        }
        for move in changes.moves { #expect(keys(old[move.old]) == keys(new[move.new]), "\(query)") }
        #expect(changes.insertions.count { oldKeys.contains(keys(new[$0])) } == changes.moves.count, "\(query)")
        #expect(!changes.deletions.isEmpty || !changes.insertions.isEmpty || !differing.isEmpty, "\(query)")
        if !query.contains(" SORT(") || query.hasPrefix("SORT") { #expect(changes.moves.isEmpty, "\(query)") }
    }

    private func change(_ session: Session, _ random: inout SeededRandom) throws {
        let items = try session.objects("Item"), cities = try session.objects("City")
        let names: [Value] = [.null, .string("a"), .string("b"), .string("c")]
        let count = try items.count(), cityCount = try cities.count()
        switch random.below(count < 3 ? 2 : 8) {
        case 0, 1:
            let id = Int64(random.below(1_000_000))
            guard try session.find(try session.tableKey("Item"), primaryKey: .int(id)) == nil else { return }
            let item = try session.add(
                "Item",
                [
                    "id": .int(id), "name": random.pick(names), "rank": .int(Int64(random.below(4))),
                    "price": .double(Double(random.below(3))),
                    "at": .timestamp(Timestamp(seconds: Int64(random.below(4)) * 2_000_000, nanoseconds: 0)),
                ])
            if cityCount > 0, random.chance(60), let city = try cities.object(at: random.below(cityCount)) {
                try item.set("city", to: .link(city.link))
            }
        case 2: if let item = try items.object(at: random.below(count)) { try item.set("name", to: random.pick(names)) }
        case 3:
            let rank: Value = random.chance(20) ? .null : .int(Int64(random.below(4)))
            if let item = try items.object(at: random.below(count)) { try item.set("rank", to: rank) }
        case 4: _ = try session.delete(try session.tableKey("Item"), [try items.keys()[random.below(count)]])
        case 5:
            if cityCount < 3 {
                let id = Int64(random.below(1_000_000))
                guard try session.find(try session.tableKey("City"), primaryKey: .int(id)) == nil else { return }
                try session.add("City", ["id": .int(id), "size": .int(Int64(random.below(5)))])
            } else if random.chance(30) {
                _ = try session.delete(try session.tableKey("City"), [try cities.keys()[random.below(cityCount)]])
            } else if let city = try cities.object(at: random.below(cityCount)) {
                try city.set("size", to: .int(Int64(random.below(5))))
            }
        case 6:
            guard let item = try items.object(at: random.below(count)) else { return }
            try item.set("price", to: .double(Double(random.below(3))))
        default:
            guard let item = try items.object(at: random.below(count)) else { return }
            try item.list(try item.column(named: "tags")).append(.int(Int64(random.below(5))))
        }
    }

    @Test func whatTheyDoNotReadCostsNothing() throws {
        let session = try TestStore(schema: schema).open()
        try session.inWrite {
            for id in 0 ..< 30 { try session.add("Item", ["id": .int(Int64(id)), "name": .string("\(id % 3)")]) }
        }
        let groups = try session.objects("Item").groups("rank == null GROUP(name) COUNT")
        let token = try groups.observe()
        try session.refresh()
        _ = try token.next()
        let before = session.counters.read().rowsEvaluated
        try session.inWrite { try session.objects("Item").object(at: 3)?.set("price", to: .double(7)) }
        #expect(try Self.next(token) == nil)
        // Also the groups themselves are known to be what they were.
        #expect(try groups.count() == 3)
        #expect(session.counters.read().rowsEvaluated == before)
        try session.inWrite { try session.objects("Item").object(at: 3)?.set("rank", to: .int(7)) }
        let changes = try #require(try Self.next(token))
        #expect(changes.modificationsNew == [0])
    }

    @Test func ofAListThatGoesEverythingGoes() throws {
        let session = try TestStore(
            schema: "Owner { id: int key, items: list<Item> } Item { id: int key, name: string }"
        ).open()
        try session.inWrite {
            let owner = try session.add("Owner", ["id": .int(1)])
            for id in 0 ..< 4 {
                let item = try session.add("Item", ["id": .int(Int64(id)), "name": .string("\(id % 2)")])
                try owner.list(try owner.column(named: "items")).append(.link(item.link))
            }
        }
        let owner = try #require(try session.objects("Owner").first())
        let groups = try owner.list(try owner.column(named: "items")).groups("GROUP(name) COUNT")
        let token = try groups.observe()
        try session.refresh()
        _ = try token.next()
        try session.inWrite { try owner.list(try owner.column(named: "items")).remove(at: 1) }
        let first = try #require(try Self.next(token))
        #expect(first.modificationsNew == [1] && first.deletions.isEmpty)
        try session.inWrite { try session.objects("Owner").deleteObjects() }
        let last = try #require(try Self.next(token))
        #expect(last.isSourceDeleted && last.deletions == [0, 1])
        guard case .end = try token.next() else {
            Issue.record("something follows")
            return
        }
        #expect(errorCode { _ = try groups.observe() } == .objectDeleted)
        #expect(errorCode { _ = try session.freeze().objects("Item").groups("GROUP() COUNT").observe() } == .frozen)
    }
}
