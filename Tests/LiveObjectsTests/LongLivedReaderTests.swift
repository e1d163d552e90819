// Sessions that are opened first and read everything, by every path, before and after each step of others: on the
// writer's thread, on another thread, and frozen. Before they move they show what they showed; afterwards what a
// session shows that is opened only then, and so has nothing in memory.
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

        private struct Talk {
            var order: Order?
            var answer: Swift.Result<String, any Error>?
        }

        private let talk = LockedSignal(Talk())
        private let answers = LockedSignal<Swift.Result<String, any Error>?>(nil)
        private let thread: Locked<ThreadRun<Void>?> = Locked(nil)

        init(_ store: @escaping @Sendable () throws -> Session) {
            let (talk, answers) = (talk, answers)
            let run = ThreadRun { () throws -> Void in
                let session = try? store()
                while true {
                    let order = talk.wait(until: { $0.order != nil }) { talk in
                        defer { talk.order = nil }
                        return talk.order
                    }
                    if order == .end { return }
                    let answer = Swift.Result { () throws -> String in
                        guard let session else { throw DatabaseError(.internal, "there is no session") }
                        if order == .refresh { _ = try session.refresh() }
                        return try WholeRead.check(session, "another thread")
                    }
                    answers.change { $0 = answer }
                }
            }
            thread.withLock { $0 = run }
        }

        func read(refreshing: Bool) throws -> String {
            talk.change { $0.order = refreshing ? .refresh : .read }
            let answer = answers.wait(until: { $0 != nil }) { answer in
                defer { answer = nil }
                return answer
            }
            return try answer?.get() ?? ""
        }

        func end() throws {
            talk.change { $0.order = .end }
            try thread.withLock { $0 }?.join()
        }
    }

    private final class World {
        var options: SessionOptions
        let writers: [Session]
        let reader: Session
        let elsewhere: Elsewhere
        var frozen: [(session: Session, text: String)] = []
        /// What those show that do not move.
        var text: String
        private var nextID = 0
        private var additions = 0

        init(_ rowGroupSize: Int) throws {
            let store = TestStore(.file, rowGroupSize: rowGroupSize, schema: LongLivedReaderTests.schema)
            var options = try store.options
            // Pages are given up all the time, and what a write keeps goes to a file.
            options.memoryBytes = 64 << 10
            self.options = options
            let made = options
            writers = [try Session.open(made), try Session.open(made)]
            reader = try Session.open(made)
            elsewhere = Elsewhere { try Session.open(made) }
            text = try WholeRead.check(reader, "at the beginning")
            frozen = [(try reader.freeze(), text)]
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

        func step(_ kind: Int, _ random: inout SeededRandom) throws {
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
            case 6:
                // More than a write keeps in memory.
                try session.inWrite {
                    for _ in 0 ..< 20 {
                        let item = try session.add("Item", ["id": .int(Int64(nextID))])
                        nextID += 1
                        try item.set("data", to: .data([UInt8](repeating: 7, count: 100_000)))
                    }
                    for key in try session.objects("Item").allKeys.suffix(18) {
                        _ = try session.delete(try session.tableKey("Item"), [key])
                    }
                }
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

        // MARK: Reading

        func readBefore(_ comment: String) throws {
            for session in [reader] {
                #expect(try WholeRead.check(session, comment) == text, "\(comment)")
            }
            #expect(try elsewhere.read(refreshing: false) == text, "another thread, \(comment)")
            for (session, text) in frozen {
                #expect(try WholeRead.check(session, comment) == text, "frozen, \(comment)")
            }
        }

        func readAfter(_ comment: String) throws {
            for session in writers + [reader] { _ = try session.refresh() }
            text = try WholeRead.check(try Session.open(try fresh()), "opened, \(comment)")
            for session in writers + [reader] { #expect(try WholeRead.check(session, comment) == text, "\(comment)") }
            #expect(try elsewhere.read(refreshing: true) == text, "another thread, \(comment)")
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
        try PropertyTest.run(rounds: 1) { random, comment in
            let world = try World(rowGroupSize)
            let kinds = Array(0 ..< 8).shuffled(using: &random)
            for (number, kind) in kinds.enumerated() {
                let comment = "step \(number) of kind \(kind); \(comment)"
                try world.step(kind, &random)
                try world.readBefore(comment)
                try world.readAfter(comment)
                if random.chance(25) {
                    if world.frozen.count > 2 { world.frozen.removeFirst() }
                    world.frozen.append((try world.reader.freeze(), world.text))
                }
            }
            let report = try world.reader.committedSnapshot().verify()
            #expect(report.isSound, "\(report.text); \(comment)")
            try world.elsewhere.end()
        }
    }
}
