// The notifier moves observed queries on ahead of their sessions, and nobody waits for it.
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif
import MotteLiveObjects
import MotteNotifications
import MottePages
import MotteStorage
import MotteValues
import Synchronization
import TestSupport
import Testing

@Suite struct NotifierTests {
    private static let schema = """
        Node { id: int key, rank: int, name: string, leaf: link<Leaf> }
        Leaf { weight: int }
        """
    /// Patched, sorted, limited, through links, and what has to be re-evaluated.
    private static let queries = [
        "TRUEPREDICATE", "rank >= 20", "rank < 70 SORT(rank ASC)", "rank > 5 SORT(name DESC, rank ASC) LIMIT(30)",
        "leaf.weight > 3", "SORT(leaf.weight ASC)", "SORT(rank DESC) DISTINCT(name)",
        "rank > 1 LIMIT(50) SORT(name ASC)",
    ]
    private static let keyPaths: [[String]?] = [nil, [], ["name"], ["leaf.weight"]]

    private func open(_ kind: TestStore.Kind, rows: Int = 600) throws -> TestStore {
        let store = TestStore(kind, rowGroupSize: 48, schema: Self.schema)
        let session = try store.open()
        try session.inWrite {
            for weight in 0 ..< 20 { try session.add("Leaf", ["weight": .int(Int64(weight))]) }
            let leaves = try session.objects("Leaf")
            for id in 0 ..< rows {
                let leaf = try #require(try leaves.object(at: id % 20))
                try session.add(
                    "Node",
                    [
                        "id": .int(Int64(id)), "rank": .int(Int64(id * 37 % 100)), "name": .string("n\(id % 7)"),
                        "leaf": .link(leaf),
                    ])
            }
        }
        kept.withLock { $0.append(session) }
        return store
    }

    /// Keeps stores in memory.
    private let kept = Locked<[Session]>([])

    /// So many rows that they are the notifier's.
    private static func changeMany(_ session: Session, _ add: Int) throws {
        try session.inWrite {
            let nodes = try session.objects("Node")
            for index in stride(from: 0, to: try nodes.count(), by: 2) {
                try nodes.object(at: index)?.set("rank", to: .int(Int64((index * 13 + add) % 100)))
            }
            try session.objects("Leaf").object(at: add % 20)?.set("weight", to: .int(Int64(add % 9)))
            try nodes.object(at: add % nodes.count())?.delete()
        }
    }

    /// A session with its queue and what its observers received.
    private final class Listener {
        let session: Session
        let queue: DeliveryQueue
        var received: [[ChangeSet]]
        private(set) var tokens: [Observation] = []
        private(set) var results: [LiveCollection] = []

        init(_ store: TestStore, _ queries: [String] = NotifierTests.queries) throws {
            session = try store.open()
            queue = try DeliveryQueue()
            received = queries.map { _ in [] }
            try queue.bind(session)
            for (index, query) in queries.enumerated() {
                let found = try session.objects("Node").filter(query)
                results.append(found)
                tokens.append(
                    try found.observe(keyPaths: NotifierTests.keyPaths[index % NotifierTests.keyPaths.count]) {
                        [unowned self] in received[index].append($0)
                    })
            }
            try queue.dispatch()
        }
    }

    @Test(arguments: TestStore.Kind.allCases)
    func aDispatchFindsTheAnswerReady(kind: TestStore.Kind) throws {
        let store = try open(kind)
        let listener = try Listener(store)
        let alone = try store.open()
        try SessionObservers.of(alone).patching = .again
        let compared = try Self.queries.enumerated().map { index, query in
            try alone.objects("Node").filter(query).observe(keyPaths: Self.keyPaths[index % Self.keyPaths.count])
        }
        for token in compared { _ = try token.pull() }
        for round in 1 ..< 6 {
            try onAnotherThread { try Self.changeMany(store.open(), round * 11) }
            #expect(try listener.queue.wait(timeoutMilliseconds: -1))
            let before = listener.session.counters.read().movesTaken
            try listener.queue.dispatch()
            #expect(listener.session.counters.read().movesTaken - before == UInt64(Self.queries.count))
            try alone.refresh()
            for (index, query) in Self.queries.enumerated() {
                let notified = listener.received[index].last
                let expected = try compared[index].pull()
                if let expected { #expect(notified?.description == expected.description, "\(query)") }
                #expect(try listener.results[index].allKeys == alone.objects("Node").filter(query).allKeys, "\(query)")
            }
        }
        try listener.session.close()
    }

    /// One row at a time is left to the session, which is faster.
    @Test func whoMovesFirstNeedsNobody() throws {
        let store = try open(.memory)
        let listener = try Listener(store, ["rank >= 20 SORT(rank ASC)"])
        let writer = try store.open()
        for round in 0 ..< 40 {
            try Self.changeMany(writer, round)
            try listener.session.refresh()
            let fresh = try writer.objects("Node").filter("rank >= 20 SORT(rank ASC)")
            #expect(try listener.results[0].allKeys == fresh.allKeys)
            // Registered while the notifier may be busy, and in a callback.
            let late = try writer.objects("Node").filter("rank < \(round)").observe()
            #expect(try late.pull()?.isInitial == true)
        }
        #expect(listener.received[0].count == 41)
        try listener.session.close()
    }

    @Test(arguments: TestStore.Kind.allCases)
    func aSlowObserverDelaysNobody(kind: TestStore.Kind) throws {
        let store = try open(kind)
        let entered = Gate(), release = Gate()
        let rounds = 12
        let slow = ThreadRun {
            let session = try store.open()
            let queue = try DeliveryQueue()
            try queue.bind(session)
            var inserted = 0
            var isFirst = true
            let token = try session.objects("Node").observe { changes in
                inserted += changes.insertions.count
                if changes.isInitial || !isFirst { return }
                isFirst = false
                entered.open()
                release.pass()
            }
            try queue.dispatch()
            entered.open()
            while inserted < rounds, try queue.wait(timeoutMilliseconds: -1) { try queue.dispatch() }
            withExtendedLifetime(token) {}
            try session.close()
            return inserted
        }
        entered.pass()
        let quick = try Listener(store)
        func commit(_ round: Int) throws {
            try onAnotherThread {
                let session = try store.open()
                try session.inWrite { try session.add("Node", ["id": .int(Int64(10_000 + round))]) }
                if round > 0 { try Self.changeMany(session, round) }
            }
        }
        try commit(0)
        // From here on it sits in its callback, and both of these go on.
        entered.pass()
        for round in 1 ..< rounds {
            try commit(round)
            let version = try kept.withLock { try $0[0].latestVersion }
            while try quick.session.version < version, try quick.queue.wait(timeoutMilliseconds: -1) {
                try quick.queue.dispatch()
            }
        }
        #expect(quick.received[0].reduce(0) { $0 + $1.insertions.count } == rounds)
        release.open()
        #expect(try slow.join() == rounds)
        try quick.session.close()
    }

    /// Sessions of several threads fall behind and catch up while others write: their change sets always lead from what
    /// they showed to what they show.
    @Test(arguments: TestStore.Kind.allCases)
    func manySessionsStayRight(kind: TestStore.Kind) throws {
        try PropertyTest.run(rounds: 2) { random, comment in
            let store = try open(kind, rows: 300)
            let seeds = (0 ..< 4).map { _ in UInt64.random(in: 0 ... .max, using: &random) }
            let isWritten = Atomic<Bool>(false)
            let ready = Gate()
            let readers = seeds[..<3].map { seed in
                ThreadRun { () throws -> [String] in
                    var random = SeededRandom(seed: seed)
                    let listener = try Listener(store)
                    var contents = try listener.results.map { try $0.allKeys }
                    var wrong: [String] = []
                    listener.received = Self.queries.map { _ in [] }
                    ready.open()
                    while true {
                        let isLast = isWritten.load(ordering: .acquiring)
                        if !isLast { _ = try listener.queue.wait(timeoutMilliseconds: 20) }
                        let before = try listener.session.version
                        if random.chance(20) {
                            try Self.changeMany(listener.session, random.below(200))
                        } else if random.chance(20) {
                            try listener.session.refresh()
                        } else {
                            try listener.queue.dispatch()
                        }
                        for (index, query) in Self.queries.enumerated() {
                            var content = contents[index]
                            let now = try listener.results[index].allKeys
                            let sets = listener.received[index]
                            // A write moves twice: to the newest version and to its own.
                            for (place, changes) in sets.enumerated() where place + 1 < sets.count {
                                content = changes.deletions.reversed().reduce(into: content) { $0.remove(at: $1) }
                                changes.insertions.forEach { content.insert(-1, at: $0) }
                            }
                            if let last = sets.last {
                                let rebuilt = apply(last.deletions, last.insertions, old: content, new: now)
                                content = rebuilt ?? []
                            }
                            let isSame = zip(content, now).allSatisfy { $0 == $1 || $0 == -1 }
                            if !isSame || content.count != now.count {
                                wrong.append("\(query) from \(before): \(sets)")
                            }
                            contents[index] = now
                        }
                        listener.received = Self.queries.map { _ in [] }
                        if isLast { break }
                    }
                    try listener.session.close()
                    return wrong
                }
            }
            for _ in readers { ready.pass() }
            var written = SeededRandom(seed: seeds[3])
            let writer = try store.open()
            for _ in 0 ..< 25 {
                try Self.changeMany(writer, written.below(250))
                if written.chance(30) {
                    try writer.inWrite { try writer.objects("Node").object(at: 3)?.set("name", to: .string("x")) }
                }
            }
            isWritten.store(true, ordering: .releasing)
            for reader in readers { #expect(try reader.join() == [], "\(comment)") }
        }
    }

    /// Whoever closes while the notifier computes gets the file closed.
    @Test func closingEndsIt() throws {
        for round in 0 ..< 10 {
            let store = TestStore(.file, schema: Self.schema)
            let session = try store.open()
            let queue = try DeliveryQueue()
            try queue.bind(session)
            let token = try session.objects("Node").filter("SORT(rank DESC) DISTINCT(name)").observe()
            _ = try token.pull()
            try onAnotherThread {
                let other = try store.open()
                try other.inWrite {
                    for id in 0 ..< 400 { try other.add("Node", ["id": .int(Int64(id)), "rank": .int(Int64(id % 9))]) }
                }
                try other.close()
            }
            if round & 1 == 1 { try queue.dispatch() }
            weak let database = try session.database
            try session.close()
            #expect(database == nil)
            withExtendedLifetime((queue, token)) {}
        }
    }

    /// A notifier that could not look at the file when it began tries again until it can, and what was committed until
    /// then arrives.
    @Test(.timeLimit(.minutes(1))) func aFirstLookThatFailedIsRepeated() throws {
        let here = pthread_self()
        let looks = Atomic<Int>(0), isFailing = Atomic<Bool>(true)
        let faults = FaultInjection(willLook: { () throws(DatabaseError) in
            // Of the notifier's thread.
            guard pthread_equal(pthread_self(), here) == 0, isFailing.load(ordering: .acquiring) else { return }
            looks.add(1, ordering: .relaxed)
            throw DatabaseError(.inputOutput, "looking was made to fail by the test")
        })
        let store = TestStore(.file, schema: Self.schema)
        guard case .file(let path) = try store.options.location else { return }
        var options = PageStoreOptions(path: path)
        options.faults = faults
        options.durability = .none
        options.rowGroupSize = store.rowGroupSize
        // Who opens it first says what fails for all of this process.
        let database = try Database.open(options)
        let session = try store.open(), writer = try store.open()
        let queue = try DeliveryQueue()
        try queue.bind(session)
        var received: [ChangeSet] = []
        let token = try session.objects("Node").observe { received.append($0) }
        try queue.dispatch()
        #expect(received.count == 1)
        while looks.load(ordering: .relaxed) < 2 { usleep(1_000) }
        try writer.inWrite { try writer.add("Node", ["id": .int(7)]) }
        #expect(try !queue.wait(timeoutMilliseconds: 0))

        isFailing.store(false, ordering: .releasing)
        #expect(try queue.wait(timeoutMilliseconds: 20_000))
        try queue.dispatch()
        #expect(received.last?.insertions == [0])
        // From then on as always.
        try writer.inWrite { try writer.add("Node", ["id": .int(8)]) }
        #expect(try queue.wait(timeoutMilliseconds: 20_000))
        try queue.dispatch()
        #expect(received.count == 3 && received.last?.insertions == [1])
        try session.close()
        withExtendedLifetime((token, database)) {}
    }

    /// Each file has a notifier, one queue is notified of all.
    @Test(arguments: TestStore.Kind.allCases)
    func manyFilesAreFollowedAtOnce(kind: TestStore.Kind) throws {
        let stores = try (0 ..< 16).map { _ in try open(kind, rows: 260) }
        let queue = try DeliveryQueue()
        let query = "rank >= 20 SORT(rank ASC)"
        var (sessions, tokens): ([Session], [Observation]) = ([], [])
        var results: [LiveCollection] = []
        for store in stores {
            let session = try store.open()
            try queue.bind(session)
            let found = try session.objects("Node").filter(query)
            sessions.append(session)
            results.append(found)
            for _ in 0 ..< 2 { tokens.append(try found.observe { _ in }) }
            tokens.append(try session.objects("Node").object(at: 0).map { try $0.observe { _ in } } ?? tokens[0])
        }
        try queue.dispatch()
        // Four commits each.
        let last = try sessions.map { Version(try $0.version.rawValue + 4) }
        let writer = ThreadRun {
            for round in 1 ..< 5 {
                for store in stores { try Self.changeMany(store.open(), round * 7) }
            }
        }
        for (session, last) in zip(sessions, last) {
            while try session.version < last { if try queue.wait(timeoutMilliseconds: -1) { try queue.dispatch() } }
        }
        try writer.join()
        for (session, found) in zip(sessions, results) {
            try SessionObservers.of(session).patching = .again
            #expect(try found.allKeys == session.objects("Node").filter("\(query) LIMIT(100000)").allKeys)
            #expect(!found.isFrozen)
        }
        // In any order, while others go on.
        for session in sessions.shuffled() { try session.close() }
        withExtendedLifetime(tokens) {}
    }

    /// No delivery that begins after a token was stopped calls its callback, whatever thread has stopped it.
    @Test func tokensAreStoppedFromAnyThread() throws {
        let store = try open(.memory, rows: 20)
        let session = try store.open()
        let queue = try DeliveryQueue()
        try queue.bind(session)
        var wrong = 0
        for round in 0 ..< 100 {
            let isStopped = Flag()
            var wasStopped = false
            let token = try session.objects("Node").observe { _ in
                if wasStopped { wrong += 1 }
            }
            try queue.dispatch()
            let stopping = ThreadRun {
                token.stop()
                isStopped.value.store(true, ordering: .releasing)
            }
            for step in 0 ..< 3 {
                try session.inWrite {
                    // A write notifies what it has changed.
                    wasStopped = isStopped.value.load(ordering: .acquiring)
                    try session.add("Node", ["id": .int(Int64(1_000 + round * 10 + step))])
                }
                wasStopped = isStopped.value.load(ordering: .acquiring)
                try queue.dispatch()
            }
            try stopping.join()
            wasStopped = true
            try session.inWrite { try session.objects("Node").object(at: 0)?.set("rank", to: .int(Int64(round))) }
            #expect(token.isStopped)
        }
        #expect(wrong == 0)
        #expect(try SessionObservers.of(session).tokenCount == 0)
        try session.close()
    }

    private final class Flag: Sendable {
        let value = Atomic<Bool>(false)
    }

    /// A session without a queue is followed once it was seen that it takes long to find out what others changed.
    @Test(arguments: TestStore.Kind.allCases)
    func sessionsWithoutAQueueAreFollowedToo(kind: TestStore.Kind) throws {
        let store = try open(kind)
        let session = try store.open()
        let found = try Self.queries.map { try session.objects("Node").filter($0) }
        let tokens = try found.map { try $0.observe() }
        for token in tokens { _ = try token.pull() }
        let counters = session.counters
        let before = counters.read().movesTaken
        // The notifier may be late however long it is given, so that this takes as many rounds as it takes.
        var round = 0
        while counters.read().movesTaken == before {
            round += 1
            let number = round
            try onAnotherThread { try Self.changeMany(store.open(), number) }
            #expect(try session.waitForChange(timeoutMilliseconds: -1))
            if round > 3 { usleep(useconds_t(min(round, 100) * 1_000)) }
            try session.refresh()
            let fresh = try store.open()
            for (index, query) in Self.queries.enumerated() {
                _ = try tokens[index].pull()
                #expect(try found[index].allKeys == fresh.objects("Node").filter(query).allKeys, "\(query)")
            }
        }
        try session.close()
    }

    /// Versions that only the notifier looks at are not counted against anybody: it does not look where they count.
    @Test func aLimitOfVersionsIsTheSessions() throws {
        let store = try open(.file)
        kept.withLock { $0 = [] }
        let listener = try Listener(store)
        var options = try store.options
        options.maximumLiveVersions = 2
        let writer = try Session.open(options)
        for round in 0 ..< 20 {
            try Self.changeMany(writer, round)
            try listener.session.refresh()
        }
        let before = writer.counters.read().movesTaken
        try Self.changeMany(writer, 20)
        #expect(try listener.queue.wait(timeoutMilliseconds: -1))
        try listener.queue.dispatch()
        #expect(writer.counters.read().movesTaken == before)
        try listener.session.close()
    }
}

/// Opened as often as it is passed; who passes waits.
private final class Gate: Sendable {
    private struct Semaphore: @unchecked Sendable {
        let value: UnsafeMutablePointer<sem_t>
    }
    private let semaphore: Semaphore

    init() {
        semaphore = Semaphore(value: .allocate(capacity: 1))
        semaphore.value.initialize(to: sem_t())
        sem_init(semaphore.value, 0, 0)
    }

    deinit {
        sem_destroy(semaphore.value)
        semaphore.value.deallocate()
    }

    func open() { sem_post(semaphore.value) }
    func pass() { while sem_wait(semaphore.value) != 0 {} }
}
