// Random schemas, queries, key paths and commits: however observed results are brought up to date, on the session's
// thread or ahead of it, each way tells the same, the change sets lead from the old content to the new, and that is
// what a fresh query says. Links, lists, sets, maps, inverse collections, mixed values, embedded objects, DISTINCT,
// SORT, LIMIT and sections.
import MotteLiveObjects
import MotteNotifications
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct RandomSchemaTests {
    /// What every class may have besides.
    private static let more = [
        "peers: set<Alpha>", "best: map<Beta>", "part: link<Part>", "parts: list<Part>", "named: map<Part>",
    ]
    private static let embedded = "embedded Part { weight: int, note: string?, at: link<Alpha>, any: mixed }\n"

    private struct World: QuerySubjects {
        let session: Session

        func type(_ name: String) throws -> ObjectType { try session.schema.type(named: name) }
        func keys(of name: String) -> [Int64] { (try? session.objects(name).allKeys) ?? [] }
        func link(_ name: String, _ key: Int64) throws -> Value {
            .link(ObjectLink(table: try session.tableKey(name), key: ObjectKey(key)))
        }

        func object(_ name: String, _ random: inout SeededRandom) throws -> LiveObject? {
            let objects = try session.objects(name)
            let count = try objects.count()
            return count == 0 ? nil : try objects.object(at: random.below(count))
        }
    }

    /// One query as each session observes it.
    private final class Watched {
        let note: String
        let results: [LiveResults]
        let tokens: [Observation]
        let fresh: () throws -> LiveResults
        var content: [Value] = []

        init(
            _ sessions: [Session], _ name: String, _ query: RandomQueries.Query, _ keyPaths: [String]?
        ) throws {
            let parsed = ParsedQuery(query.predicate, ordering: query.ordering)
            let arguments = Arguments(query.arguments)
            let paths = keyPaths.map { "\($0)" } ?? "all"
            note = "\(name) \(PredicateText.describe(parsed)) \(query.arguments) \(paths)"
            results = try sessions.map { try $0.objects(name).narrowed(by: parsed, arguments) }
            tokens = try results.map { try $0.observe(keyPaths: keyPaths) }
            fresh = { try sessions[0].objects(name).narrowed(by: parsed, arguments) }
        }
    }

    @Test func eachWayTellsWhatChanged() throws {
        var counts = (asked: 0, notified: 0)
        try PropertyTest.run(rounds: 16) { random, comment in
            try run(&random, &counts, comment)
        }
        print("note: \(counts.asked) commits shown, \(counts.notified) notified, seed \(PropertyTest.firstSeed)")
        // Of a few rounds, as when one is repeated, it need not be so.
        if TestScale.factor >= 1 { #expect(counts.notified > counts.asked / 8) }
    }

    private func run(
        _ random: inout SeededRandom, _ counts: inout (asked: Int, notified: Int), _ comment: String
    ) throws {
        let generator = RandomQueries()
        let more = Self.more.filter { _ in random.chance(60) }
        let text = generator.schema(&random, more: more, classes: Self.embedded)
        let store = TestStore(rowGroupSize: random.pick([3, 16]), schema: text)
        let writer = World(session: try store.open())
        var lastNumber = 0
        func write(_ count: Int) throws {
            try writer.session.inWrite {
                for _ in 0 ..< count { try mutate(writer, generator, &lastNumber, &random) }
            }
        }
        try write(150)

        let ways: [ResultsPatching] = [.byCost, .byCost, .each, .bulk, .again]
        let sessions = try ways.map { way in
            let session = try store.open()
            try SessionObservers.of(session).patching = way
            return session
        }
        // The second one is advanced ahead by the notifier, if that is in time.
        let queue = try DeliveryQueue()
        try queue.bind(sessions[1])
        var watched: [Watched] = []
        var sections: [SectionTests.Watched] = []
        for name in generator.classes {
            for _ in 0 ..< 5 {
                let query = try generator.query(writer, name, &random)
                let keyPaths = try keyPaths(writer, name, &random)
                watched.append(try Watched(sessions, name, query, keyPaths))
            }
            let last = try #require(watched.last)
            if let path = try plainPath(writer, name, &random) {
                let sectioned = try last.results[0].sectioned(by: path)
                sections.append(try SectionTests.Watched("\(path) of \(last.note)", sectioned))
            }
        }
        for one in watched {
            for token in one.tokens { #expect(try token.pull()?.isInitial == true) }
            one.content = try one.results[0].allValues
        }
        for one in sections {
            _ = try one.token.pull()
            one.content = try one.sections.contents
        }
        for step in 0 ..< 14 {
            try write(random.chance(25) ? 40 + random.below(60) : random.below(6))
            if random.chance(25) { continue }
            for session in sessions.shuffled(using: &random) { try session.refresh() }
            for one in watched {
                counts.asked += 1
                if try check(one, ways, "\(one.note), step \(step): \(comment)\n\(text)") { counts.notified += 1 }
            }
            for one in sections { try SectionTests().check(one, "\(one.name), step \(step): \(comment)\n\(text)") }
        }
        for session in sessions { try session.close() }
    }

    /// Whether something was notified.
    private func check(_ one: Watched, _ ways: [ResultsPatching], _ comment: String) throws -> Bool {
        let notified = try one.tokens.map { try $0.pull() }
        let keys = try one.results.map { try $0.allKeys }
        for way in ways.indices.dropFirst() {
            #expect(notified[way]?.description == notified[0]?.description, "\(ways[way]): \(comment)")
            #expect(keys[way] == keys[0], "\(ways[way]): \(comment)")
        }
        let now = try one.results[0].allValues
        #expect(try one.fresh().allValues == now, "\(comment)")
        let before = one.content
        one.content = now
        guard let changes = notified[0] else {
            #expect(before == now, "nothing notified: \(comment)")
            return false
        }
        let rebuilt = apply(changes.deletions, changes.insertions, old: before, new: now)
        #expect(rebuilt == now, "\(changes) \(before) \(now) \(comment)")
        #expect(changes.modificationsOld.count == changes.modificationsNew.count, "\(comment)")
        for (old, new) in zip(changes.modificationsOld, changes.modificationsNew) {
            #expect(old < before.count && new < now.count && before[old] == now[new], "\(changes) \(comment)")
        }
        return true
    }

    // MARK: Key paths

    private func keyPaths(_ world: World, _ name: String, _ random: inout SeededRandom) throws -> [String]? {
        switch random.below(4) {
        case 0, 1: return nil
        case 2: return []
        default:
            var paths: [String] = []
            for _ in 0 ..< 1 + random.below(2) {
                var type = try world.type(name)
                var names: [String] = []
                while names.count < 4 {
                    let property = random.pick(type.properties)
                    names.append(property.name)
                    guard let target = property.target, random.chance(60) else { break }
                    type = try world.type(target)
                }
                paths.append(names.joined(separator: "."))
            }
            return paths
        }
    }

    /// To a single value.
    private func plainPath(_ world: World, _ name: String, _ random: inout SeededRandom) throws -> String? {
        let plain = try world.type(name).properties.filter { $0.isStored && !$0.isCollection && $0.target == nil }
        return plain.isEmpty ? nil : random.pick(plain).name
    }

    // MARK: Changes

    private func mutate(
        _ world: World, _ generator: RandomQueries, _ lastNumber: inout Int, _ random: inout SeededRandom
    ) throws {
        let name = random.pick(generator.classes)
        let type = try world.type(name)
        guard random.chance(75), let object = try world.object(name, &random) else {
            if random.chance(25), let object = try world.object(name, &random) { return try object.delete() }
            lastNumber += 1 + random.below(2)
            var values: [String: Value] = [:]
            if let key = type.primaryKey {
                switch key.type {
                case .int: values[key.name] = .int(Int64(lastNumber))
                case .uuid: values[key.name] = .uuid(UUIDBytes(low: UInt64(lastNumber), high: 1))
                default: values[key.name] = .string("key \(lastNumber)")
                }
            }
            try world.session.add(name, values)
            return
        }
        let free = type.properties.filter { $0.isStored && !$0.isPrimaryKey }
        guard !free.isEmpty else { return }
        try change(object, random.pick(free), world, generator, &random)
    }

    private func change(
        _ object: LiveObject, _ property: Property, _ world: World, _ generator: RandomQueries,
        _ random: inout SeededRandom
    ) throws {
        let column = try object.column(named: property.name)
        let key = random.pick(RandomQueries.keys)
        if let target = property.target, try world.type(target).isEmbedded {
            let part: LiveObject?
            if property.isList {
                let list = try object.list(column)
                let count = try list.count()
                switch random.below(4) {
                case 0 where count > 0: return try list.remove(at: random.below(count))
                case 1 where count > 0: part = try list.object(at: random.below(count))
                default: part = try list.embeddedInsert(at: random.below(count + 1))
                }
            } else if property.isMap {
                let map = try object.map(column)
                if random.chance(25) {
                    try map.remove(key)
                    return
                }
                part = try key.withUTF8Bytes { (bytes: UnsafeRawBufferPointer) throws in try map.embeddedPut(bytes) }
            } else if random.chance(20) {
                return try object.set(property.name, to: .null)
            } else {
                let known = try object.object(column)
                part = random.chance(70) && known != nil ? known : try object.embeddedPut(column)
            }
            guard let part, let inner = try part.type.storedProperties.randomElement(using: &random) else { return }
            return try part.set(inner.name, to: generator.value(world, inner, &random))
        }
        var value = generator.value(world, property, &random)
        if property.type == .mixed, random.chance(30),
            let other = try world.object(random.pick(generator.classes), &random)
        {
            value = .link(other)
        }
        let isNullHere = value.isNull && !(property.isNullable && property.type != .link)
        if property.isMap {
            let map = try object.map(column)
            if random.chance(5) { return try map.clear() }
            if random.chance(25) { try map.remove(key) } else if !isNullHere { try map.put(key, value) }
        } else if property.isSet {
            guard !isNullHere, value.kind != .list, value.kind != .map else { return }
            let set = try object.set(column)
            if random.chance(30) { try set.drop(value) } else { try set.put(value) }
        } else if property.isList {
            let list = try object.list(column)
            let count = try list.count()
            switch random.below(8) {
            case 0 where count > 0: try list.remove(at: random.below(count))
            case 1 where count > 0: try list.move(from: random.below(count), to: random.below(count))
            case 2 where count > 0 && !isNullHere:
                let index = random.below(count)
                try value.withView { view throws(DatabaseError) in try list.set(index, to: view) }
            case 3 where random.chance(10): try list.clear()
            default:
                guard !isNullHere else { return }
                let index = random.below(count + 1)
                try value.withView { view throws(DatabaseError) in try list.insert(view, at: index) }
            }
        } else {
            try object.set(property.name, to: value)
        }
    }
}
