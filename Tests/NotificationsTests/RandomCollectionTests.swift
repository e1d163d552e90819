// Sets, maps, embedded objects and nested values under random commits of two sessions: every change set turns what was
// remembered into what is there now, and what a fresh look shows is the same.
import MotteLiveObjects
import MotteNotifications
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

@Suite struct RandomCollectionTests {
    static let schema = """
        Node { id: int key, rank: int, next: link<Node>, ints: set<int>, peers: set<Node>, words: map<string>,
               best: map<Node>, any: mixed, part: link<Part>, parts: list<Part>, named: map<Part> }
        embedded Part { weight: int, at: link<Node> }
        """
    static let properties = ["ints", "peers", "words", "best", "parts", "named"]
    static let queries = [
        "rank > 4", "part.weight > 4", "ANY parts.weight > 6", "parts.@count > 1", "part.at.rank > 3 SORT(rank DESC)",
    ]

    final class Watched {
        let name: String
        let collection: LiveCollection
        let token: Observation
        var content: [Value] = []
        var details: [String] = []
        var keys: [String] = []
        var ended = false

        init(_ name: String, _ collection: LiveCollection) throws {
            self.name = name
            self.collection = collection
            token = try collection.observe()
        }

        func mapKeys() throws -> [String] {
            if let map = collection as? LiveMap { return try (0 ..< map.count()).map { try map.keyText(at: $0) } }
            guard let nested = collection as? LiveNested, nested.isMap else { return [] }
            return try (0 ..< nested.count()).map { String(decoding: try nested.mapKey(at: $0), as: UTF8.self) }
        }
    }

    @Test(arguments: TestStore.Kind.allCases)
    func changeSetsLeadFromOldToNew(kind: TestStore.Kind) throws {
        try PropertyTest.run(rounds: kind == .file ? 3 : 10) { random, comment in
            let store = TestStore(kind, schema: Self.schema)
            let session = try store.open()
            let other = try store.open()
            try session.inWrite {
                for _ in 0 ..< 8 { try add(session, &random) }
                for _ in 0 ..< 40 { try mutate(session, &random) }
            }
            try other.refresh()
            let nodes = try session.objects("Node")
            var watched = [try Watched("all", nodes)]
            for query in Self.queries { watched.append(try Watched(query, nodes.filter(query))) }
            for index in 0 ..< (try nodes.count()) where index % 3 == 0 {
                guard let node = try nodes.object(at: index) else { continue }
                for property in Self.properties {
                    watched.append(try Watched("\(property) of \(index)", node.collection(property)))
                }
                watched.append(try Watched("large of \(index)", node.collection("ints").filter("SELF > 4")))
                guard let nested = try node.nested(node.column(named: "any")) else { continue }
                watched.append(try Watched("nested of \(index)", nested))
                for inner in 0 ..< (try nested.count()) {
                    guard let deeper = try nested.nested(at: inner) else { continue }
                    watched.append(try Watched("nested \(inner) of \(index)", deeper))
                }
            }
            for step in 0 ..< 25 {
                let writer = random.chance(50) ? session : other
                try writer.beginWrite()
                for _ in 0 ..< random.below(6) { try mutate(writer, &random) }
                if random.chance(10) { try writer.cancel() } else { try writer.commit() }
                if random.chance(60) { try session.refresh() }
                guard random.chance(50) else { continue }
                try session.refresh()
                for one in watched { try check(one, session, "step \(step), \(one.name): \(comment)") }
            }
        }
    }

    func add(_ session: Session, _ random: inout SeededRandom) throws {
        try session.add(
            "Node",
            [
                "id": .int(Int64.random(in: 0 ..< 1 << 40, using: &random)), "rank": .int(Int64(random.below(10))),
                "any": value(&random, depth: 2),
            ])
    }

    /// A list or map, with others in it.
    func value(_ random: inout SeededRandom, depth: Int) -> Value {
        if depth == 0 || random.chance(30) { return .int(Int64(random.below(5))) }
        let count = random.below(4)
        if random.chance(50) { return .list((0 ..< count).map { _ in value(&random, depth: depth - 1) }) }
        return .map((0 ..< count).map { MapEntry(key: "k\($0)", value: value(&random, depth: depth - 1)) })
    }

    func mutate(_ session: Session, _ random: inout SeededRandom) throws {
        let nodes = try session.objects("Node")
        let count = try nodes.count()
        guard count > 0, let node = try nodes.object(at: random.below(count)),
            let peer = try nodes.object(at: random.below(count))
        else { return try add(session, &random) }
        let key = "k\(random.below(5))"
        let number = Value.int(Int64(random.below(10)))
        func set(_ name: String) throws -> LiveSet { try node.set(node.column(named: name)) }
        func map(_ name: String) throws -> LiveMap { try node.map(node.column(named: name)) }
        switch random.below(16) {
        case 0: try add(session, &random)
        case 1: if count > 5 { try node.delete() }
        case 2: try node.set("rank", to: number)
        case 3, 4: if random.chance(60) { try set("ints").put(number) } else { try set("ints").drop(number) }
        case 5: if random.chance(60) { try set("peers").put(.link(peer)) } else { try set("peers").drop(.link(peer)) }
        case 6, 7:
            if random.chance(70) { try map("words").put(key, .string(key)) } else { try map("words").remove(key) }
        case 8: if random.chance(70) { try map("best").put(key, .link(peer)) } else { try map("best").remove(key) }
        case 9:
            let part = try node.embeddedPut(node.column(named: "part"))
            try part.set("weight", to: number)
            try part.set("at", to: .link(peer))
        case 10: try node.object(node.column(named: "part"))?.set("weight", to: number)
        case 11, 12: try edit(try node.list(node.column(named: "parts")), number, &random)
        case 13:
            if random.chance(30) { return try map("named").clear() }
            try key.withUTF8Bytes { (bytes: UnsafeRawBufferPointer) throws in
                _ = try map("named").embeddedPut(bytes)
            }
        default:
            if random.chance(8) { return try node.set("any", to: value(&random, depth: 2)) }
            guard let nested = try node.nested(node.column(named: "any")) else { return }
            try edit(nested, &random, depth: 2)
        }
    }

    func edit(_ parts: LiveList, _ number: Value, _ random: inout SeededRandom) throws {
        let count = try parts.count()
        switch random.below(6) {
        case 0, 1: try parts.embeddedInsert(at: random.below(count + 1)).set("weight", to: number)
        case 2: if count > 0 { try parts.remove(at: random.below(count)) }
        case 3: if count > 0 { try parts.move(from: random.below(count), to: random.below(count)) }
        case 4: if count > 0 { _ = try parts.embeddedSet(at: random.below(count)) }
        default: if count > 0 { try parts.object(at: random.below(count))?.set("weight", to: number) }
        }
    }

    func edit(_ nested: LiveNested, _ random: inout SeededRandom, depth: Int) throws {
        let count = try nested.count()
        if count > 0, depth > 0, random.chance(50), let inner = try nested.nested(at: random.below(count)) {
            return try edit(inner, &random, depth: depth - 1)
        }
        if random.chance(5) { return try nested.clear() }
        if nested.isMap {
            let key = "k\(random.below(5))"
            if random.chance(65) { try nested.put(key, value(&random, depth: 1)) } else { try nested.remove(key) }
            return
        }
        switch random.below(4) {
        case 0, 1: try nested.insert(value(&random, depth: 1), at: random.below(count + 1))
        case 2: if count > 0 { try nested.remove(at: random.below(count)) }
        default: if count > 0 { try nested.set(random.below(count), to: value(&random, depth: 1)) }
        }
    }

    func check(_ one: Watched, _ session: Session, _ comment: String) throws {
        if one.ended { return }
        let isGone = one.collection.kind != .results && !one.collection.isValid
        let now = isGone ? [] : try one.collection.allValues
        let keys = isGone ? [] : try one.mapKeys()
        let details = try now.map { try detail($0, session) }
        if Self.queries.contains(one.name) {
            #expect(try session.objects("Node").filter(one.name).allValues == now, "\(comment)")
        }
        defer { (one.content, one.details, one.keys) = (now, details, keys) }
        guard let changes = try one.token.pull() else {
            #expect(one.content == now && one.details == details && one.keys == keys, "nothing notified: \(comment)")
            return
        }
        if changes.isInitial { return }
        var rebuilt = apply(changes.deletions, changes.insertions, old: one.content, new: now)
        for (_, new) in zip(changes.modificationsOld, changes.modificationsNew) { rebuilt?[new] = now[new] }
        #expect(rebuilt == now, "\(changes) \(one.content) \(now) \(comment)")
        #expect(changes.isSourceDeleted == (isGone || changes.isSourceDeleted && now.isEmpty), "\(comment)")
        if changes.isSourceDeleted { one.ended = true }
        if isGone { return }
        let map = PositionMap(changes)
        let modified = Set(changes.modificationsNew)
        for (old, detail) in one.details.enumerated() {
            guard let new = map.new(ofOld: old), new < details.count, detail != details[new] else { continue }
            #expect(modified.contains(new), "\(changes) \(detail) \(details[new]) \(comment)")
        }
        guard !keys.isEmpty || !one.keys.isEmpty else { return }
        #expect(changes.keyDeletions == changes.deletions.map { one.keys[$0] }, "\(changes) \(comment)")
        #expect(changes.keyInsertions == changes.insertions.map { keys[$0] }, "\(changes) \(comment)")
        #expect(changes.keyModifications == changes.modificationsNew.map { keys[$0] }, "\(changes) \(comment)")
    }

    /// The single properties of an object, and values themselves, as text.
    func detail(_ value: Value, _ session: Session) throws -> String {
        guard case .link(let link) = value, let object = try session.object(link.table, at: link.key) else {
            return "\(value)"
        }
        return try object.type.storedProperties.filter { !$0.isCollection }.map { "\(try object.get($0.name))" }
            .joined(separator: " ")
    }
}
