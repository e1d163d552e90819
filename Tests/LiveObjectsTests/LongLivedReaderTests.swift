// Sessions that are opened first and read everything, by every path, before and after each step of others: on the
// writer's thread, on another thread, and frozen. Before they move they show what they showed; afterwards what a
// session shows that is opened only then, and so has nothing in memory. Steps are commits, writes that are cancelled
// or go back to a savepoint, changes of the schema, and compactions beside the readers and without them.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct LongLivedReaderTests {
    private static let schema = """
        Item {
            id: int key, rank: int indexed, text: string indexed, data: data?, any: mixed, friend: link<Item>,
            texts: list<string>, numbers: set<int>, marks: map<string>, part: link<Part>, parts: list<Part>,
            friends: list<Item>, indexed(rank, text)
        }
        embedded Part { text: string, any: mixed, item: link<Item> }
        """

    /// A session of a thread of its own.
    private final class Elsewhere: Sendable {
        private enum Order: Sendable { case read, refresh, end }

        private let orders = LockedSignal<Order?>(nil)
        private let answers = LockedSignal<Swift.Result<String, any Error>?>(nil)
        private let thread: Locked<ThreadRun<Void>?> = Locked(nil)

        init(_ store: @escaping @Sendable () throws -> Session) throws {
            let (orders, answers) = (orders, answers)
            let run = ThreadRun { () throws -> Void in
                let opened = Swift.Result { try store() }
                while true {
                    let order = orders.wait(until: { $0 != nil }) { order in
                        defer { order = nil }
                        return order
                    }
                    if order == .end {
                        try opened.get().close()
                        return
                    }
                    let answer = Swift.Result { () throws -> String in
                        let session = try opened.get()
                        if order == .refresh { _ = try session.refresh() }
                        return try WholeRead.check(session, "another thread")
                    }
                    answers.change { $0 = answer }
                }
            }
            thread.withLock { $0 = run }
            // It shows the version from before the first step only if it is open by then.
            _ = try read(refreshing: false)
        }

        func read(refreshing: Bool) throws -> String {
            orders.change { $0 = refreshing ? .refresh : .read }
            let answer = answers.wait(until: { $0 != nil }) { answer in
                defer { answer = nil }
                return answer
            }
            return try answer?.get() ?? ""
        }

        func end() throws {
            orders.change { $0 = .end }
            try thread.withLock { $0 }?.join()
        }
    }

    private final class World {
        private var options: SessionOptions
        private var writers: [Session]
        private(set) var reader: Session
        private var elsewhere: Elsewhere
        private var frozen: [(session: Session, text: String)] = []
        /// What those show that do not move.
        private var text: String
        private var nextID = 0
        private var additions = 0
        /// What has really been done.
        private(set) var counts = Counts()

        struct Counts {
            /// Reads of sessions that had not moved while the newest version shows something else.
            var oldReads = 0
            var onlineSteps = 0
            var movedBytes = 0
            var bytesSaved = 0
            /// How often pages have left memory.
            var givenUp: UInt64 = 0
        }

        init(_ rowGroupSize: Int) throws {
            let store = TestStore(.file, rowGroupSize: rowGroupSize, schema: LongLivedReaderTests.schema)
            var options = try store.options
            // Pages are given up all the time, and what a write keeps goes to a file.
            options.memoryBytes = 64 << 10
            self.options = options
            let made = options
            writers = [try Session.open(made), try Session.open(made)]
            reader = try Session.open(made)
            elsewhere = try Elsewhere { try Session.open(made) }
            text = try WholeRead.check(reader, "at the beginning")
            frozen = [(try reader.freeze(), text)]
        }

        /// Nobody has the file open any more.
        func close() throws {
            try elsewhere.end()
            for (session, _) in frozen { try session.close() }
            frozen = []
            for session in writers + [reader] { try session.close() }
        }

        /// As at the beginning.
        private func reopen() throws {
            let made = options
            writers = [try Session.open(made), try Session.open(made)]
            reader = try Session.open(made)
            elsewhere = try Elsewhere { try Session.open(made) }
            frozen = [(try reader.freeze(), text)]
        }

        func freeze() throws {
            if frozen.count > 2 { frozen.removeFirst() }
            frozen.append((try reader.freeze(), text))
        }

        // MARK: Steps

        private func long(_ random: inout SeededRandom) -> String {
            String(repeating: random.pick(["a", "é", "z"]), count: random.pick([1, 5, 300, 1_200, 5_000]))
        }

        func add(_ session: Session, _ random: inout SeededRandom) throws {
            let item = try session.add(
                "Item",
                [
                    "id": .int(Int64(nextID)), "rank": .int(Int64(random.below(9))), "text": .string(long(&random)),
                    "any": random.chance(50) ? .list([.string(long(&random)), .int(1)]) : .int(2),
                ])
            nextID += 1
            for _ in 0 ..< random.below(4) { try edit(session, item, &random) }
        }

        private func edit(_ session: Session, _ item: LiveObject, _ random: inout SeededRandom) throws {
            let others = try session.objects("Item").allKeys
            let other = ObjectLink(table: item.table, key: ObjectKey(random.pick(others)))
            switch random.below(12) {
            case 0: try item.set("rank", to: .int(Int64(random.below(9))))
            case 1: try item.set("text", to: .string(long(&random)))
            case 2: try item.set("data", to: random.chance(20) ? .null : .data(Array(long(&random).utf8)))
            case 3: try item.set("friend", to: .link(other))
            case 4: try item.set("any", to: random.chance(50) ? .link(other) : .list([.link(other), .string("x")]))
            case 5:
                let list = try item.list(item.column(named: "texts"))
                for _ in 0 ..< random.pick([1, 1, 2, 700]) {
                    try list.append(.string(random.chance(3) ? long(&random) : "t"))
                }
            case 6:
                let list = try item.list(item.column(named: "texts"))
                if try list.count() > 0 { try list.remove(at: 0, count: 1 + random.below(try list.count())) }
            case 7: try item.set(item.column(named: "numbers")).put(.int(Int64(random.below(20))))
            case 8: try item.map(item.column(named: "marks")).put(random.pick(["a", "b"]), .string(long(&random)))
            case 9:
                let part = try item.embeddedPut(item.column(named: "part"))
                try part.set("text", to: .string(long(&random)))
                try part.set("item", to: .link(other))
            case 10: _ = try item.list(item.column(named: "parts")).embeddedAppend()
            default: try item.list(item.column(named: "friends")).append([.link(other)])
            }
        }

        private func change(_ session: Session, _ count: Int, _ random: inout SeededRandom) throws {
            for _ in 0 ..< count {
                let keys = try session.objects("Item").allKeys
                if keys.count < 5 || random.chance(20) {
                    try add(session, &random)
                } else if random.chance(15) {
                    _ = try session.delete(try session.tableKey("Item"), [random.pick(keys), random.pick(keys)])
                } else if let item = try session.object(try session.tableKey("Item"), at: ObjectKey(random.pick(keys)))
                {
                    try edit(session, item, &random)
                }
            }
        }

        static let kindCount = 10

        func step(_ kind: Int, _ random: inout SeededRandom, _ comment: String) throws {
            let session = random.pick(writers)
            switch kind {
            case 0, 1, 2: try session.inWrite { try change(session, 1 + random.below(30), &random) }
            case 3:
                try session.inWrite {
                    _ = try session.deleteAll(try session.tableKey("Item"))
                    for _ in 0 ..< random.pick([2, 20, 70]) { try add(session, &random) }
                }
            case 4:
                try session.beginWrite()
                try change(session, 1 + random.below(30), &random)
                if random.chance(50) { _ = try session.deleteAll(try session.tableKey("Item")) }
                try session.cancel()
            case 5:
                try session.inWrite {
                    try change(session, 5, &random)
                    let savepoint = try session.savepoint()
                    try change(session, 20, &random)
                    if random.chance(50) { _ = try session.deleteAll(try session.tableKey("Item")) }
                    for _ in 0 ..< 5 { try add(session, &random) }
                    try session.rollBack(to: savepoint)
                    try change(session, 5, &random)
                }
            case 6: try makeHoles(session)
            case 7: try compactBeside(session, &random, comment)
            case 8: try compactAlone(session, comment)
            default:
                // A class and a property come.
                additions += 1
                options.schema = try SchemaText.parse(
                    LongLivedReaderTests.schema.replacing("id: int key", with: "id: int key, added\(additions): int")
                        + "\nAdded\(additions) { name: string }")
                let other = try Session.open(options)
                try other.inWrite { try other.add("Added\(additions)", ["name": .string("new")]) }
                try other.close()
            }
        }

        /// More than a write keeps in memory, and most of what it puts into the file goes with the next.
        private func makeHoles(_ session: Session) throws {
            try session.inWrite {
                for _ in 0 ..< 20 {
                    let item = try session.add("Item", ["id": .int(Int64(nextID))])
                    nextID += 1
                    try item.set("data", to: .data([UInt8](repeating: 7, count: 100_000)))
                }
                for key in try session.objects("Item").allKeys.suffix(5) {
                    _ = try session.delete(try session.tableKey("Item"), [key])
                }
            }
            try session.inWrite {
                let keys = try session.objects("Item").allKeys.suffix(15).prefix(13)
                _ = try session.delete(try session.tableKey("Item"), Array(keys))
            }
        }

        /// Others keep their versions and read them between the steps, and one commits.
        private func compactBeside(_ session: Session, _ random: inout SeededRandom, _ comment: String) throws {
            try makeHoles(session)
            try readAfter("before the compaction, \(comment)")
            // What is frozen at older versions may keep all that there is to gain.
            try compactOnce(session, &random, "old versions are kept, \(comment)")
            try makeHoles(session)
            try readAfter("between the compactions, \(comment)")
            for (old, _) in frozen { try old.close() }
            frozen = [(try reader.freeze(), text)]
            try compactOnce(session, &random, "the latest version is kept, \(comment)")
        }

        private func compactOnce(_ session: Session, _ random: inout SeededRandom, _ comment: String) throws {
            let other = try #require(writers.first { $0 !== session })
            var choices = SeededRandom(seed: random.next())
            var steps = 0
            let outcome = try session.compactOnline(stepBytes: 100_000) { (_) throws(DatabaseError) in
                steps += 1
                try typed {
                    if steps < 4 { try other.inWrite { try self.change(other, 3, &choices) } }
                    if steps < 5 { try self.readBefore("after \(steps) steps of the compaction, \(comment)") }
                }
            }
            counts.onlineSteps += steps
            counts.movedBytes += outcome.movedBytes
            try readBefore("after the compaction, \(comment)")
            try readAfter("after the compaction, \(comment)")
        }

        /// With nobody else, which is refused before.
        private func compactAlone(_ session: Session, _ comment: String) throws {
            try makeHoles(session)
            let error = #expect(throws: DatabaseError.self, "\(comment)") { try session.compact() }
            #expect(error?.code == .busy, "\(comment)")
            try readBefore("after a compaction was refused, \(comment)")
            try readAfter("before the compaction, \(comment)")
            try elsewhere.end()
            for (frozen, _) in frozen { try frozen.close() }
            frozen = []
            for other in writers + [reader] where other !== session { try other.close() }
            let outcome = try session.compact()
            counts.bytesSaved += outcome.bytesBefore - outcome.bytesAfter
            expectSame(try WholeRead.check(session, comment), text, "the one that compacted, \(comment)")
            try session.close()
            try reopen()
        }

        // MARK: Reading

        /// Says where two differ; whole they are long.
        private func expectSame(_ found: String, _ expected: String, _ comment: String) {
            guard found != expected else { return }
            let lines = found.split(separator: "\n"), others = expected.split(separator: "\n")
            let index = zip(lines, others).enumerated().first { $1.0 != $1.1 }?.offset ?? min(lines.count, others.count)
            let line = index < lines.count ? lines[index] : "nothing"
            let other = index < others.count ? others[index] : "nothing"
            Issue.record("line \(index): \(line.prefix(1_000)), not \(other.prefix(1_000)); \(comment)")
        }

        func readBefore(_ comment: String) throws {
            expectSame(try WholeRead.check(reader, comment), text, "\(comment)")
            expectSame(try elsewhere.read(refreshing: false), text, "another thread, \(comment)")
            for (session, text) in frozen {
                expectSame(try WholeRead.check(session, comment), text, "frozen, \(comment)")
            }
        }

        func readAfter(_ comment: String) throws {
            for session in writers + [reader] { _ = try session.refresh() }
            let old = text
            let opened = try Session.open(try fresh())
            text = try WholeRead.check(opened, "opened, \(comment)")
            try opened.close()
            if text != old { counts.oldReads += 1 }
            counts.givenUp = max(counts.givenUp, try reader.committedSnapshot().memoryClock?.now ?? 0)
            for session in writers + [reader] { expectSame(try WholeRead.check(session, comment), text, comment) }
            expectSame(try elsewhere.read(refreshing: true), text, "another thread, \(comment)")
        }

        /// With the schema that is in the file.
        private func fresh() throws -> SessionOptions {
            var options = options
            options.schema = nil
            return options
        }
    }

    @Test(arguments: [3, 480])
    func everySessionShowsWhatItsVersionHolds(_ rowGroupSize: Int) throws {
        try PropertyTest.run(rounds: 2) { random, comment in
            let world = try World(rowGroupSize)
            let kinds = Array(0 ..< World.kindCount).shuffled(using: &random)
            for (number, kind) in kinds.enumerated() {
                let comment = "step \(number) of kind \(kind); \(comment)"
                try world.step(kind, &random, comment)
                try world.readBefore(comment)
                try world.readAfter(comment)
                if random.chance(25) { try world.freeze() }
            }
            let report = try world.reader.committedSnapshot().verify()
            #expect(report.isSound, "\(report.text); \(comment)")
            try world.close()
            let counts = world.counts
            #expect(counts.oldReads > 5 && counts.onlineSteps > 3 && counts.givenUp > 0, "\(counts); \(comment)")
            #expect(counts.movedBytes > 0 && counts.bytesSaved > 500_000, "\(counts); \(comment)")
        }
    }
}
