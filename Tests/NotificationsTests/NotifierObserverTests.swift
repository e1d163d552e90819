// The notifier works out what changed in lists, sets, maps, nested values, inverse collections, sections and objects
// ahead of their sessions, and finds just what a session finds that does it by itself.
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif
import MotteLiveObjects
import MotteNotifications
import MotteStorage
import MotteValues
import Synchronization
import TestSupport
import Testing

@Suite struct NotifierObserverTests {
    /// Changing all fillers is so much that it is the notifier's.
    private static let schema =
        RandomCollectionTests.schema.replacing("rank: int,", with: "rank: int, back: inverse<Node.next>,")
        + "\nFiller { n: int }\n"
    private static let fillers = 220
    private let random = RandomCollectionTests()

    /// One of everything, as a session sees it.
    private final class Listener {
        let session: Session
        private(set) var watched: [(name: String, token: Observation, isThere: () -> Bool)] = []

        init(_ session: Session) throws {
            self.session = session
            let nodes = try session.objects("Node")
            for index in 0 ..< (try nodes.count()) {
                let node = try #require(try nodes.object(at: index))
                for property in RandomCollectionTests.properties {
                    try add("\(property) of \(index)", node.collection(property))
                }
                try add("back of \(index)", node.collection("back"))
                try add("large of \(index)", node.collection("ints").filter("SELF > 4"))
                try add("sorted of \(index)", node.collection("peers").filter("rank > 2 SORT(rank DESC)"))
                try add("keys of \(index)", node.map(node.column(named: "words")).mapKeys())
                watched.append(("node \(index)", try node.observe(), { node.isValid }))
                watched.append(
                    ("path of \(index)", try node.observe(keyPaths: ["next.rank", "any"]), { node.isValid }))
                guard let nested = try node.nested(node.column(named: "any")) else { continue }
                try add("nested of \(index)", nested)
                for inner in 0 ..< (try nested.count()) {
                    if let deeper = try nested.nested(at: inner) { try add("nested \(inner) of \(index)", deeper) }
                }
            }
            try add("sections", nodes.sorted(by: "rank").sectioned(by: "rank"))
            try add("sections of some", nodes.filter("rank > 2").sectioned(by: "next.rank"))
            let one = try nodes.sectioned(by: "rank").section(for: .int(3))
            watched.append(("one section", try one.observe(), { true }))
            for entry in watched { _ = try entry.token.pull() }
        }

        private func add(_ name: String, _ collection: LiveCollection) throws {
            let path: [String]? = name.count % 2 == 0 || collection.target == nil ? nil : []
            watched.append((name, try collection.observe(keyPaths: path), { collection.isValid }))
        }

        private func add(_ name: String, _ sections: LiveSections) throws {
            watched.append((name, try sections.observe(), { sections.base.isValid }))
        }
    }

    private func fill(_ session: Session, _ random: inout SeededRandom) throws {
        try session.inWrite {
            for _ in 0 ..< 8 { try self.random.add(session, &random) }
            for _ in 0 ..< 60 { try self.random.mutate(session, &random) }
            for _ in 0 ..< Self.fillers { try session.add("Filler") }
        }
    }

    private func change(_ session: Session, _ random: inout SeededRandom) throws {
        try session.inWrite {
            for _ in 0 ..< random.below(6) {
                let nodes = try session.objects("Node")
                if random.chance(20), try nodes.count() > 0 {
                    let node = try nodes.object(at: random.below(nodes.count()))
                    let other = try nodes.object(at: random.below(nodes.count()))
                    try node?.set("next", to: other.map { .link($0) } ?? .null)
                }
                try self.random.mutate(session, &random)
            }
            let fillers = try session.objects("Filler")
            for index in 0 ..< Self.fillers { try fillers.object(at: index)?.set("n", to: .int(Int64(index))) }
        }
    }

    @Test(arguments: TestStore.Kind.allCases)
    func aDispatchFindsTheAnswerReady(kind: TestStore.Kind) throws {
        try PropertyTest.run(rounds: kind == .file ? 2 : 4) { random, comment in
            let store = TestStore(kind, schema: Self.schema)
            let writer = try store.open()
            try fill(writer, &random)
            let notified = try Listener(try store.open())
            let alone = try Listener(try store.open())
            let queue = try DeliveryQueue()
            try queue.bind(notified.session)
            for step in 0 ..< 25 {
                let wasThere = notified.watched.map { $0.isThere() }
                try change(writer, &random)
                #expect(try queue.wait(timeoutMilliseconds: -1))
                let before = writer.counters.read().movesTaken
                try queue.dispatch()
                let taken = writer.counters.read().movesTaken - before
                let stays = zip(notified.watched, wasThere).count { $1 && $0.isThere() }
                // Queries count besides: those that sections are made over.
                #expect(taken >= stays, "step \(step): \(comment)")
                try alone.session.refresh()
                for (one, other) in zip(notified.watched, alone.watched) {
                    #expect(
                        try one.token.pull()?.description == other.token.pull()?.description,
                        "step \(step), \(one.name): \(comment)")
                }
            }
            try notified.session.close()
        }
    }

    /// Sessions that move when they like, some before the notifier is done and some after it, get the same in sum.
    @Test(arguments: TestStore.Kind.allCases)
    func whoeverIsFirst(kind: TestStore.Kind) throws {
        try PropertyTest.run(rounds: 2) { random, comment in
            let store = TestStore(kind, schema: Self.schema)
            let first = try store.open()
            try fill(first, &random)
            let isWritten = Atomic<Bool>(false)
            let seeds = (0 ..< 3).map { _ in UInt64.random(in: 0 ... .max, using: &random) }
            let readers = seeds.map { seed in
                ThreadRun { () throws -> [String] in
                    var random = SeededRandom(seed: seed)
                    let session = try store.open()
                    let queue = try DeliveryQueue()
                    try queue.bind(session)
                    let nodes = try session.objects("Node")
                    var watched: [RandomCollectionTests.Watched] = []
                    for index in 0 ..< (try nodes.count()) {
                        guard let node = try nodes.object(at: index) else { continue }
                        for property in RandomCollectionTests.properties {
                            watched.append(try .init("\(property) of \(index)", node.collection(property)))
                        }
                        if let nested = try node.nested(node.column(named: "any")) {
                            watched.append(try .init("nested of \(index)", nested))
                        }
                    }
                    for one in watched { try self.random.check(one, session, "at the beginning") }
                    while true {
                        let isLast = isWritten.load(ordering: .acquiring)
                        if !isLast { _ = try queue.wait(timeoutMilliseconds: 20) }
                        if random.chance(20) {
                            try change(session, &random)
                        } else if random.chance(20) {
                            try session.refresh()
                        } else {
                            try queue.dispatch()
                        }
                        if isLast { try session.refresh() }
                        for one in watched { try self.random.check(one, session, comment) }
                        if isLast { break }
                    }
                    try session.close()
                    return []
                }
            }
            for _ in 0 ..< 40 { try change(first, &random) }
            isWritten.store(true, ordering: .releasing)
            for reader in readers { #expect(try reader.join() == [], "\(comment)") }
        }
    }

    /// A function says on the session's thread which section an element is in.
    @Test func functionsStayWhereTheyAre() throws {
        var random = SeededRandom(seed: 1)
        let store = TestStore(.memory, schema: Self.schema)
        let writer = try store.open()
        try fill(writer, &random)
        let session = try store.open()
        let queue = try DeliveryQueue()
        try queue.bind(session)
        let here = thisThread()
        let elsewhere = Atomic<Int>(0)
        let sections = try session.objects("Node").sectioned(
            by: SectionKey { collection, index throws(DatabaseError) in
                if thisThread() != here { elsewhere.add(1, ordering: .relaxed) }
                return .int(try collection.key(at: index).rawValue % 3)
            })
        let inside = sections.section(for: .int(1)).results()
        let tokens = [try sections.observe(), try inside.observe(), try inside.sectioned(by: "rank").observe()]
        for token in tokens { _ = try token.pull() }
        for _ in 0 ..< 5 {
            try change(writer, &random)
            #expect(try queue.wait(timeoutMilliseconds: -1))
            try queue.dispatch()
            for token in tokens { _ = try token.pull() }
        }
        #expect(elsewhere.load(ordering: .relaxed) == 0)
        try session.close()
    }
}

/// Tells threads apart.
private func thisThread() -> UInt { UInt(pthread_self()) }
