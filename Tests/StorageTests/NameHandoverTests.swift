// Files that followed one leader go on with another, which calls the objects by names of its own: random histories over
// two takeovers, what is refused, and bytes that may be anything.
import CMotteShim
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct NameHandoverTests {
    private typealias Store = ChangeBatchTests.Store

    private static func write(_ store: Store, _ body: (WriteTransaction) throws -> Void) throws {
        let write = try store.database.beginWrite(on: store.snapshot, asFollower: true)
        do {
            try body(write)
            try write.commit()
        } catch {
            write.cancel()
            throw error
        }
    }

    /// Applies what another file has, which it follows.
    private static func follow(_ store: Store, _ leader: Store) throws {
        let position = try store.snapshot.replicaPosition(try leader.database.origin())?.version ?? Version(0)
        guard position < leader.version else { return }
        let batch = try leader.batch(from: position)
        try write(store) { (write: WriteTransaction) throws -> Void in
            let outcome = try write.apply(batch)
            #expect(outcome == .applied)
        }
    }

    private static func handover(_ leader: Store, of former: Store) throws -> NameHandover {
        let found = try leader.database.handover(of: try former.database.origin(), leader.snapshot)
        return try NameHandover(decoding: try #require(found).bytes)
    }

    private static func take(_ store: Store, _ handover: NameHandover) throws {
        let leader = FollowedLeader(origin: handover.position.origin, name: "next", source: "test")
        try write(store) { try $0.take(handover, leader) }
        #expect(try store.snapshot.leader() == leader)
        #expect(try store.snapshot.replicaPosition(leader.origin)?.version == handover.position.version)
    }

    @Test(arguments: [3, 480]) func randomHistoriesGoOnOverTakeovers(rowGroupSize: Int) throws {
        try PropertyTest.run(rounds: 4) { random, comment in try history(rowGroupSize, &random, comment) }
    }

    /// The first one goes on as what the next one applies, so that this one has changes to hand on under its own names.
    private func history(_ rowGroupSize: Int, _ random: inout SeededRandom, _ comment: String) throws {
        let first = try Store(EverythingModel.text, rowGroupSize: rowGroupSize)
        let files = [first] + (try (0 ..< 3).map { _ in try Store(rowGroupSize: random.chance(50) ? 3 : 480) })
        try first.write { try $0.keepChanges(since: Version(1)) }
        var model = try EverythingModel(first.snapshot.schema)
        for reign in 0 ..< 3 {
            for round in 0 ..< 6 {
                if reign == 1, round == 3 {
                    _ = try first.database.reconcile(try SchemaText.parse(EverythingModel.later), on: first.snapshot)
                }
                try first.write { write in
                    try model.steps(write, below: 80, &random)
                }
                // In groups of their own, so that keys differ; the last one in a reign is for all.
                for (number, file) in files.enumerated().dropFirst() where random.chance(50) || round == 5 {
                    try Self.follow(file, files[min(number - 1, reign)])
                }
            }
            let expected = try ChangeBatchTests.dump(first.snapshot)
            for file in files.dropFirst() {
                ChangeBatchTests.compare(try ChangeBatchTests.dump(file.snapshot), expected, "\(reign); \(comment)")
                let report = try file.snapshot.verify()
                #expect(report.isSound, "\(report.text); \(comment)")
                #expect(try file.database.strayPages() == [], "\(comment)")
            }
            guard reign < 2 else { break }
            let (former, next) = (files[reign], files[reign + 1])
            try Self.write(next) { try $0.keepChanges(since: next.version) }
            let handover = try Self.handover(next, of: former)
            for file in files.dropFirst(reign + 2) {
                try Self.take(file, handover)
                // Nothing of it is changed by that.
                ChangeBatchTests.compare(try ChangeBatchTests.dump(file.snapshot), expected, "\(reign); \(comment)")
            }
        }
    }

    // MARK: What is refused

    private static let people = "Person { id: int key, name: string } Note { text: string, about: link<Person> }"

    /// Two files that follow a third one, and have what it has.
    private func followers(_ count: Int = 20) throws -> (leader: Store, next: Store, other: Store) {
        let leader = try Store(Self.people)
        let (next, other) = (try Store(), try Store())
        try leader.write { try $0.keepChanges(since: Version(0)) }
        for id in 0 ..< count {
            try add(leader, Int64(id))
            if id % 3 == 0 { try Self.follow(next, leader) }
            if id % 4 == 0 { try Self.follow(other, leader) }
            if id % 5 == 4 { try remove(leader, Int64(id - 1)) }
        }
        try Self.follow(next, leader)
        try Self.follow(other, leader)
        return (leader, next, other)
    }

    private func add(_ store: Store, _ id: Int64) throws {
        let table = try #require(store.snapshot.schema["Person"]?.tableKey)
        try store.write { _ = try $0.create(table, primaryKey: .int(id)) }
    }

    private func remove(_ store: Store, _ id: Int64) throws {
        let table = try #require(store.snapshot.schema["Person"]?.tableKey)
        let column = try #require(store.snapshot.schema["Person"]?.primaryKey?.columnKey)
        let view = try store.snapshot.table(table)
        let found = try ChangeBatchTests.liveKeys(view).first { try view.value(column, $0).owned == .int(id) }
        let key = try #require(found)
        try store.write { try $0.delete(table, key) }
    }

    private func code(_ store: Store, _ handover: NameHandover) -> ErrorCode? {
        do { try Self.take(store, handover) } catch { return (error as? DatabaseError)?.code }
        return nil
    }

    @Test func onlyWhoIsAtTheSameVersionTakesIt() throws {
        let (leader, next, other) = try followers()
        #expect(try other.database.handover(of: ChangeOrigin(high: 1, low: 2), other.snapshot) == nil)
        let handover = try Self.handover(next, of: leader)
        let stranger = try Store(Self.people)
        #expect(code(stranger, handover) == .outOfSequence)
        #expect(code(leader, handover) == .outOfSequence)
        try add(leader, 100)
        try Self.follow(other, leader)
        #expect(code(other, handover) == .outOfSequence)
        #expect(try other.snapshot.leader() == nil)
    }

    @Test func aFileThatHasChangedOtherwiseIsRefused() throws {
        let (leader, next, other) = try followers()
        try add(other, 1_000)
        let handover = try Self.handover(next, of: leader)
        #expect(code(other, handover) == .historyForked)
        try remove(other, 1_000)
        #expect(code(other, handover) == nil)
    }

    @Test func otherBytesAreErrors() throws {
        let (leader, next, other) = try followers()
        let bytes = try Self.handover(next, of: leader).bytes
        for place in bytes.indices {
            var changed = bytes
            changed[place] ^= 1 << UInt8(place % 8)
            #expect(throws: DatabaseError.self) { _ = try NameHandover(decoding: changed) }
        }
        for count in 0 ..< bytes.count {
            #expect(throws: DatabaseError.self) { _ = try NameHandover(decoding: Array(bytes.prefix(count))) }
        }
        // With a checksum that is right: an error, or something to go on with, and objects stay as they are.
        let before = try ChangeBatchTests.dump(other.snapshot)
        var random = SeededRandom(seed: 21)
        var refused = 0
        for _ in 0 ..< 3_000 {
            var changed = bytes
            for _ in 0 ... random.below(3) { changed[8 + random.below(bytes.count - 8)] = UInt8(random.below(256)) }
            let crc = changed[8...].withUnsafeBytes { motte_shim_crc32c(0, $0.baseAddress, $0.count) }
            changed.store(u32: crc, at: 4)
            do {
                let found = try NameHandover(decoding: changed)
                #expect(found.bytes == changed)
                try Self.take(other, found)
            } catch { refused += 1 }
        }
        #expect(refused > 2_000)
        #expect(try ChangeBatchTests.dump(other.snapshot) == before)
    }
}
