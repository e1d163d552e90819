// Power cuts: whatever of the unflushed writes arrived, the store opens to a version at least as new as the last
// one that was acknowledged, whole. And the tests are shown to find a flush that is missing, and a page that is
// used again too early.
import MottePages
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

typealias Contents = [String: [UInt8]]

/// A store on a simulated disk, what each of its versions holds, and after which call each was acknowledged.
final class CutRun {
    var disk: SimulatedDisk
    private(set) var store: PageStore?
    private(set) var models: [UInt64: Contents]
    private(set) var acknowledged: [(operation: Int, version: UInt64)]
    private let durability: PageStoreOptions.Durability
    private let faults: FaultInjection?
    private let walPages: Int?

    init(
        _ disk: SimulatedDisk, _ durability: PageStoreOptions.Durability = .full, faults: FaultInjection? = nil,
        walPages: Int? = nil
    ) throws {
        self.disk = disk
        self.durability = durability
        self.faults = faults
        self.walPages = walPages
        let store = try CutRun.open(disk, durability, faults, walPages: walPages)
        self.store = store
        let snapshot = try store.snapshot()
        models = [snapshot.version.rawValue: try CutRun.contents(snapshot)]
        acknowledged = [(disk.operations.count, snapshot.version.rawValue)]
    }

    static func open(
        _ disk: any Disk, _ durability: PageStoreOptions.Durability = .full, _ faults: FaultInjection? = nil,
        sealed: Bool? = nil, pageBytes: Int = 4096, walPages: Int? = nil
    ) throws -> PageStore {
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.disk = disk
        options.pageBytes = pageBytes
        options.durability = durability
        options.faults = faults
        options.walPages = walPages
        options.mostFileBytes = 16 << 20
        let isSealed = try sealed ?? CutRun.isSealed(disk)
        if isSealed { options.encryptionKey = TestStore.key }
        return try PageStore.open(options)
    }

    /// What the head says about a cipher.
    static func isSealed(_ disk: any Disk) throws -> Bool {
        var cipher: UInt8 = 0
        return try withUnsafeMutableBytes(of: &cipher) { try disk.read($0, at: 16) == 1 && $0[0] != 0 }
    }

    /// The bytes of a new store, as every run begins with. With WAL pages it has a WAL.
    static func newStore(
        sealed: Bool = false, pageBytes: Int = 4096, walPages: Int? = nil
    ) throws -> [UInt8] {
        let disk = MemoryDisk()
        let store = try open(disk, sealed: sealed, pageBytes: pageBytes, walPages: walPages)
        if walPages != nil { try store.commitNext([("first", [9])]) }
        store.close()
        return disk.contents
    }

    func commit(_ changes: [(String, [UInt8]?)]) throws {
        guard let store else { return }
        let before = try store.snapshot().version.rawValue
        var model = models[before] ?? [:]
        for (key, value) in changes { model[key] = value }
        // Before the call: after a cut in the middle of it the version may be there.
        models[before + 1] = model
        try store.commitNext(changes)
        acknowledged.append((disk.operations.count, before + 1))
    }

    /// Several commits with one flush: no version but the last is ever found.
    func commitGroup(_ members: [[(String, [UInt8]?)]]) throws {
        guard let store else { return }
        let before = try store.snapshot().version.rawValue
        var model = models[before] ?? [:]
        let group = try PageGroup(store, lock: try store.lockForWriting(timeoutMilliseconds: 0))
        defer { group.release() }
        for (number, changes) in members.enumerated() {
            var batch = PageBatch()
            for (key, value) in changes {
                model[key] = value
                if let value { batch.put(Array(key.utf8), value) } else { batch.delete(Array(key.utf8)) }
            }
            _ = try group.add(&batch, version: Version(before + UInt64(number) + 1))
        }
        let version = before + UInt64(members.count)
        models[version] = model
        try group.flush()
        acknowledged.append((disk.operations.count, version))
    }

    /// The next steps of a compaction, beside commits that change something, or alone.
    func compact(_ compaction: OnlineCompaction, _ changes: [(String, [UInt8]?)]) throws {
        guard let store else { return }
        let before = try store.snapshot().version.rawValue
        var model = models[before] ?? [:]
        var batch = PageBatch()
        for (key, value) in changes {
            model[key] = value
            if let value { batch.put(Array(key.utf8), value) } else { batch.delete(Array(key.utf8)) }
        }
        models[before + 1] = model
        try store.commitNext(batch, compaction)
        acknowledged.append((disk.operations.count, before + 1))
    }

    func reopen() throws {
        store?.close()
        store = try CutRun.open(disk, durability, faults, walPages: walPages)
    }

    func close() {
        store?.close()
        store = nil
    }

    /// What is wrong after a cut behind the first `end` calls that left `bytes`; nil when all is well.
    func complaint(_ bytes: [UInt8], cutAt end: Int, goesOn: Bool = true) -> String? {
        let least = durability == .full ? acknowledged.last { $0.operation <= end }?.version ?? 0 : 0
        do {
            let disk = MemoryDisk(bytes)
            let store = try CutRun.open(disk, walPages: walPages)
            defer { store.close() }
            let snapshot = try store.snapshot()
            let version = snapshot.version.rawValue
            guard version >= least else { return "version \(version) after \(least) was acknowledged" }
            guard let model = models[version] else { return "version \(version), which never was" }
            guard try CutRun.holds(snapshot, model) else { return "version \(version) is not what was committed" }
            let problems = try store.check()
            if let problem = problems.first { return "version \(version): \(problem)" }
            guard goesOn else { return nil }
            return try goOn(store, disk, model, version)
        } catch let error as DatabaseError {
            return "\(error.code): \(error.message)"
        } catch {
            return "\(error)"
        }
    }

    /// The next commits build on what was found, and none of what the cut left comes to count with them.
    private func goOn(
        _ store: PageStore, _ disk: MemoryDisk, _ model: Contents, _ version: UInt64
    ) throws -> String? {
        var model = model
        for number in 0 ..< (walPages == nil ? 1 : 3) {
            model["after"] = [UInt8(number)]
            try store.commitNext([("after", [UInt8(number)])])
            if let problem = try store.check().first { return "after version \(version): \(problem)" }
            guard try CutRun.holds(store.snapshot(), model) else { return "a commit after the cut is not there" }
        }
        guard walPages != nil else { return nil }
        let again = try CutRun.open(MemoryDisk(disk.contents), walPages: walPages)
        defer { again.close() }
        return try CutRun.holds(again.snapshot(), model) ? nil : "opened again it is not what was committed"
    }

    /// Whether this is what it holds; without copying, because it is asked most.
    static func holds(_ snapshot: PageSnapshot, _ model: Contents) throws -> Bool {
        let cursor = try snapshot.makeCursor()
        var count = 0
        var found = try cursor.seek([])
        while found {
            if !cursor.key.elementsEqual(FileHeader.key) {
                count += 1
                let value = cursor.value.bytes
                guard let expected = model[String(decoding: cursor.key, as: UTF8.self)],
                    expected.count == value.count,
                    value.isEmpty || value.baseAddress.map({ memcmp($0, expected, value.count) == 0 }) ?? false
                else { return false }
            }
            found = try cursor.next()
        }
        return count == model.count
    }

    static func contents(_ snapshot: PageSnapshot) throws -> Contents {
        var found: Contents = [:]
        for entry in try snapshot.contents() { found[String(decoding: entry.key, as: UTF8.self)] = entry.value }
        return found
    }
}

@Suite struct CutTests {
    private static let large = [UInt8](repeating: 7, count: 5000)

    /// A small alphabet that has what commits are made of: values in leaves and on pages, replaced, removed, many.
    private static let alphabet: [[(String, [UInt8]?)]] = [
        [("a", [1])],
        [("a", large), ("z", [2])],
        [("a", nil)],
        [("b", [UInt8](repeating: 3, count: 9000)), ("a", [4])],
        (0 ..< 9).map { ("m\($0)", [UInt8](repeating: UInt8($0), count: 900)) },
        [],
    ]

    /// Without a WAL, and with one that is full after one commit, or many.
    @Test(arguments: [nil, 3, 12]) func everyCutOfEveryShortSequence(walPages: Int?) throws {
        let start = try CutRun.newStore(walPages: walPages)
        let letters = CutTests.alphabet.count
        var cuts = 0
        // Under a sanitizer the longest sequences take longer than they are worth.
        let isSlow = getenv("MOTTE_TEST_SANITIZER") != nil || TestScale.factor < 0.5
        for length in 1 ... (isSlow ? 2 : 3) {
            for number in 0 ..< (0 ..< length).reduce(1, { product, _ in product * letters }) {
                var sequence: [Int] = []
                var rest = number
                for _ in 0 ..< length {
                    sequence.append(rest % letters)
                    rest /= letters
                }
                let run = try CutRun(SimulatedDisk(start), walPages: walPages)
                for letter in sequence {
                    // The empty letter is closing and opening again.
                    if CutTests.alphabet[letter].isEmpty {
                        try run.reopen()
                    } else {
                        try run.commit(CutTests.alphabet[letter])
                    }
                }
                // Cuts before the last commit are those of shorter sequences.
                let first = run.acknowledged.dropLast().last?.operation ?? 0
                for end in first ... run.disk.operations.count {
                    for bytes in run.disk.outcomes(at: end) {
                        cuts += 1
                        // Going on is tried on some, which ones does not matter.
                        let complaint = run.complaint(bytes, cutAt: end, goesOn: cuts % 5 == 0)
                        #expect(complaint == nil, "letters \(sequence), cut after \(end) calls")
                        if complaint != nil { return }
                    }
                }
                run.close()
            }
        }
        // Commits with a WAL make fewer calls.
        #expect(cuts > (isSlow ? 100 : walPages == nil ? 3000 : 1000))
        print("note: \(cuts) cuts of every short sequence of commits survived")
    }

    @Test func aNewStoreIsThereWholeOrNotAtAll() throws {
        let disk = SimulatedDisk()
        let run = try CutRun(disk)
        for end in 0 ... disk.operations.count {
            for bytes in disk.outcomes(at: end) where end == disk.operations.count {
                #expect(run.complaint(bytes, cutAt: end) == nil)
            }
        }
    }

    /// A batch of a few random changes, now and then of many.
    private func batch(_ random: inout SeededRandom) -> [(String, [UInt8]?)] {
        (0 ..< random.below(random.chance(10) ? 60 : 6)).map { _ in
            let key = "k\(random.below(random.chance(50) ? 8 : 60))"
            if random.chance(30) { return (key, nil) }
            let size = random.pick([0, 10, 200, 1900, 3000, 4096, 9000])
            return (key, [UInt8](repeating: UInt8(truncatingIfNeeded: random.next()), count: size))
        }
    }

    /// Answers what went wrong, if anything.
    func randomRun(
        _ random: inout SeededRandom, _ start: [UInt8], _ durability: PageStoreOptions.Durability = .full,
        faults: FaultInjection? = nil, ignoring: SimulatedDisk.Flushes = .none, walPages: Int? = nil
    ) throws -> String? {
        let disk = SimulatedDisk(start)
        disk.ignored = ignoring
        let run = try CutRun(disk, durability, faults: faults, walPages: walPages)
        defer { run.close() }
        var pinned: [(snapshot: PageSnapshot, contents: Contents)] = []
        var compaction = OnlineCompaction(stepBytes: 1 + random.below(20_000), slackPages: random.below(3))
        // Few runs are long: what goes wrong goes wrong early, and of many short ones there can be more.
        for _ in 0 ..< 3 + random.below(random.chance(10) ? 20 : 6) {
            if random.chance(30) {
                if compaction.isEnded {
                    compaction = OnlineCompaction(stepBytes: 1 + random.below(20_000), slackPages: random.below(3))
                }
                for _ in 0 ... random.below(3) {
                    try run.compact(compaction, random.chance(40) ? batch(&random) : [])
                }
            } else if random.chance(25) {
                try run.commitGroup((0 ... random.below(5)).map { _ in batch(&random) })
            } else {
                try run.commit(batch(&random))
            }
            if random.chance(10), pinned.isEmpty { try run.reopen() }
            guard let store = run.store else { break }
            if random.chance(25) {
                let snapshot = try store.snapshot()
                pinned.append((snapshot, run.models[snapshot.version.rawValue] ?? [:]))
            }
            if random.chance(25), !pinned.isEmpty { pinned.remove(at: random.below(pinned.count)) }
        }
        for (snapshot, contents) in pinned where try !CutRun.holds(snapshot, contents) {
            return "the pinned version \(snapshot.version.rawValue) has changed"
        }
        for _ in 0 ..< 2 {
            let end = random.below(disk.operations.count + 1)
            let bytes = disk.outcome(at: end, &random)
            if let complaint = run.complaint(bytes, cutAt: end) { return "cut after \(end) calls: \(complaint)" }
        }
        return nil
    }

    /// In parts, so that they run beside each other; 30,000 together in `scripts/test.sh fuzz`, 200,000 in `make soak`.
    @Test(arguments: 0 ..< 4) func randomRunsSurviveRandomCuts(part: Int) throws {
        let start = try CutRun.newStore()
        try PropertyTest.run(rounds: 75, part: part) { random, comment in
            let complaint = try randomRun(&random, start)
            if let complaint { Issue.record("\(complaint); \(comment)") }
        }
        print(
            "note: \(TestScale.times(75)) random runs survive cuts, "
                + "from seed \(PropertyTest.firstSeed(part: part))")
    }

    /// With WALs that are full after one commit, or many.
    @Test(arguments: 0 ..< 4) func withWALRunsSurviveRandomCuts(part: Int) throws {
        let starts = try [2, 4, 9, 30].map { (pages: $0, start: try CutRun.newStore(walPages: $0)) }
        try PropertyTest.run(rounds: 75, part: part) { random, comment in
            let (pages, start) = random.pick(starts)
            let complaint = try randomRun(&random, start, walPages: pages)
            if let complaint { Issue.record("\(complaint); \(pages) pages of WAL; \(comment)") }
        }
        print(
            "note: \(TestScale.times(75)) random with a WAL runs survive cuts, "
                + "from seed \(PropertyTest.firstSeed(part: part))")
    }

    /// Commits of more than 256 pages, which are flushed before their root slot is written: who opens the file after a
    /// cut does not look at each of their pages.
    @Test(arguments: [nil, 9]) func largeCommitsSurviveRandomCuts(walPages: Int?) throws {
        let start = try CutRun.newStore(walPages: walPages)
        try PropertyTest.run(rounds: 3) { random, comment in
            let disk = SimulatedDisk(start)
            let run = try CutRun(disk, walPages: walPages)
            defer { run.close() }
            try run.commit([("small", [1])])
            let begin = disk.operations.count
            let sizes = (0 ..< 130 + random.below(40)).map { _ in 4_200 + random.below(3_000) }
            try run.commit(sizes.enumerated().map { ("v\($0)", [UInt8](repeating: UInt8($0 & 0xFF), count: $1)) })
            for end in begin ... disk.operations.count {
                for _ in 0 ..< 6 {
                    let complaint = run.complaint(disk.outcome(at: end, &random), cutAt: end)
                    guard let complaint else { continue }
                    Issue.record("cut after \(end) calls: \(complaint); \(comment)")
                    return
                }
            }
        }
    }

    @Test func runsWithLargePagesSurviveRandomCuts() throws {
        let start = try CutRun.newStore(pageBytes: 16384)
        #expect(start.count == 5 * 16384)
        try PropertyTest.run(rounds: 60) { random, comment in
            let complaint = try randomRun(&random, start)
            #expect(complaint == nil, "\(comment)")
        }
    }

    /// Without flushes commits may be lost, but what is found is some version, whole.
    @Test(arguments: [nil, 3, 16]) func relaxedRunsSurviveRandomCutsAsSomeVersion(walPages: Int?) throws {
        let start = try CutRun.newStore(walPages: walPages)
        try PropertyTest.run(rounds: 60) { random, comment in
            let complaint = try randomRun(&random, start, .relaxed, walPages: walPages)
            #expect(complaint == nil, "\(comment)")
        }
    }

    @Test func aMissingFlushIsFound() throws {
        let start = try CutRun.newStore()
        var random = SeededRandom(seed: 1)
        let found = try (0 ..< 60).contains { _ in try randomRun(&random, start, ignoring: .all) != nil }
        #expect(found)
    }

    @Test func aRecordOfTheWALWithoutItsFlushIsFound() throws {
        let start = try CutRun.newStore(walPages: 30)
        var random = SeededRandom(seed: 1)
        let found = try (0 ..< 60).contains { _ in
            try randomRun(&random, start, ignoring: .behindOneWrite, walPages: 30) != nil
        }
        #expect(found)
    }

    @Test(arguments: [nil, 3]) func aPageUsedAgainTooEarlyIsFound(walPages: Int?) throws {
        let start = try CutRun.newStore(walPages: walPages)
        var random = SeededRandom(seed: 1)
        let faults = FaultInjection(reusesPagesTooEarly: true)
        var found = false
        for _ in 0 ..< 60 where !found {
            do {
                found = try randomRun(&random, start, faults: faults, walPages: walPages) != nil
            } catch is DatabaseError {
                // Damaged before the cut.
                found = true
            }
        }
        #expect(found)
    }

    /// Each call of a commit fails in each way: the store goes on or says that it must be reopened, and either way
    /// what was acknowledged is there.
    @Test(arguments: [nil, 8]) func failingCallsLoseNothing(walPages: Int?) throws {
        let start = try CutRun.newStore(walPages: walPages)
        var failures = 0
        var refusals = 0
        for fault in SimulatedDisk.Fault.allCases {
            for call in 0 ..< 14 {
                let disk = SimulatedDisk(start)
                disk.failing = (call, fault)
                let run = try CutRun(disk, walPages: walPages)
                for letter in [1, 0, 4, 3, 0] {
                    do {
                        try run.commit(CutTests.alphabet[letter])
                    } catch let error as DatabaseError {
                        #expect([.inputOutput, .diskFull].contains(error.code))
                        failures += 1
                        let version = try #require(try run.store?.snapshot().version.rawValue)
                        #expect(version == run.acknowledged.last?.version, "\(fault) at \(call)")
                        do {
                            try run.commit(CutTests.alphabet[letter])
                        } catch let error as DatabaseError {
                            #expect(error.message.contains("open it again"))
                            refusals += 1
                            try run.reopen()
                        }
                    }
                }
                run.close()
                let end = disk.operations.count
                for bytes in disk.outcomes(at: end) {
                    let complaint = run.complaint(bytes, cutAt: end)
                    #expect(complaint == nil, "\(fault) at call \(call)")
                }
            }
        }
        #expect(failures > 20 && refusals > 5)
    }
}
