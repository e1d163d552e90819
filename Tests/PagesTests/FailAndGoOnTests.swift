// One call of the disk fails, in a commit, a log record, a compaction, a check, or while the file is opened; then the
// program goes on: it reads, tries again, opens the file again where it is told to. All that it sees is what a
// dictionary has, and so is what snapshots show that were taken before.
import MottePages
import MotteValues
import TestSupport
import Testing

/// A disk in memory of which one call fails.
final class FailingDisk: Disk, @unchecked Sendable {  // @unchecked: one test, one thread
    enum Call: String, CaseIterable, CustomTestStringConvertible {
        case read, write, halfWrite, flush, resize, length
        var testDescription: String { rawValue }
    }

    let path = ":failing:"
    private let memory = MemoryDisk()
    private var failing: (call: Call, left: Int, code: ErrorCode)?
    private(set) var hasFailed = false

    func fail(_ call: Call, after count: Int, _ code: ErrorCode) { failing = (call, count, code) }
    func heal() { failing = nil }

    private func isFailing(_ call: Call) -> DatabaseError? {
        guard let now = failing, now.call == call else { return nil }
        guard now.left == 0 else {
            failing?.left -= 1
            return nil
        }
        failing = nil
        hasFailed = true
        return DatabaseError(now.code, "the test's disk failed")
    }

    func close() {}
    func byteCount() throws(DatabaseError) -> Int {
        if let error = isFailing(.length) { throw error }
        return memory.byteCount()
    }
    func read(_ target: UnsafeMutableRawBufferPointer, at offset: Int) throws(DatabaseError) -> Int {
        if let error = isFailing(.read) { throw error }
        return memory.read(target, at: offset)
    }
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DatabaseError) {
        if let error = isFailing(.write) { throw error }
        if let error = isFailing(.halfWrite) {
            memory.write(UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)]), at: offset)
            throw error
        }
        memory.write(bytes, at: offset)
    }
    func flush() throws(DatabaseError) {
        if let error = isFailing(.flush) { throw error }
    }
    func resize(to byteCount: Int) throws(DatabaseError) {
        if let error = isFailing(.resize) { throw error }
        memory.resize(to: byteCount)
    }
}

@Suite struct FailAndGoOnTests {
    private typealias Model = [[UInt8]: [UInt8]]

    private final class Run {
        let disk = FailingDisk()
        private let memoryBytes: Int
        private var random: SeededRandom
        private var store: PageStore?
        private var model: Model = [:]
        /// Taken before the failure, with what they showed then.
        private var kept: [(snapshot: PageSnapshot, model: Model)] = []
        private var compaction: OnlineCompaction?

        init(seed: UInt64, memoryBytes: Int) throws {
            self.memoryBytes = memoryBytes
            random = SeededRandom(seed: seed)
            try reopen()
            for _ in 0 ..< 3 { try commit(entries: 60) }
            for _ in 0 ..< 3 { try commit(entries: 2) }
        }

        func reopen() throws {
            kept = []
            compaction = nil
            store?.close()
            store = nil
            var options = PageStoreOptions(location: .memory(identifier: nil))
            options.disk = disk
            options.memoryBytes = memoryBytes
            options.walPages = 24
            store = try PageStore.open(options)
        }

        private func opened() throws -> PageStore {
            if store == nil { try reopen() }
            return try #require(store)
        }

        private func value(_ size: Int) -> [UInt8] {
            let first = UInt8(truncatingIfNeeded: Int.random(in: 0 ..< 256, using: &random))
            return (0 ..< size).map { first &+ UInt8(truncatingIfNeeded: $0 &* 31) }
        }

        private func commit(entries: Int) throws {
            var changes: [(key: [UInt8], value: [UInt8]?)] = []
            for _ in 0 ..< entries {
                let key = Array("key \(Int.random(in: 0 ..< 150, using: &random))".utf8)
                let sizes = [0, 10, 300, 1_900, 2_500, 9_000, 40_000]
                let size = sizes[Int.random(in: 0 ..< (entries > 10 ? sizes.count : 4), using: &random)]
                changes.append((key, Int.random(in: 0 ..< 4, using: &random) == 0 ? nil : value(size)))
            }
            try commit(changes, nil)
        }

        private func commit(_ changes: [(key: [UInt8], value: [UInt8]?)], _ compaction: OnlineCompaction?) throws {
            try goingOn { store in
                let before = try store.snapshot()
                var batch = PageBatch()
                for change in changes {
                    if let value = change.value { batch.put(change.key, value) } else { batch.delete(change.key) }
                }
                let lock = try store.lockForWriting(timeoutMilliseconds: 0)
                defer { lock.release() }
                let version = Version(before.version.rawValue + 1)
                do {
                    try store.commit(batch, lock: lock, version: version, compaction: compaction)
                } catch {
                    // Nothing has changed for who looks now.
                    #expect(try store.snapshot().version == before.version)
                    throw error
                }
            }
            for change in changes { model[change.key] = change.value }
        }

        /// Does something; after the failure once more, on a file that is opened again if that is asked for.
        private func goingOn(_ body: (PageStore) throws -> Void) throws {
            for attempt in 0 ..< 3 {
                do {
                    return try body(try opened())
                } catch let error as DatabaseError {
                    let asksForMore = error.message.contains("open it again")
                    #expect(disk.hasFailed, "\(error)")
                    if attempt == 2 || attempt == 1 && !asksForMore { throw error }
                    try checkAll()
                    if asksForMore { try reopen() }
                }
            }
        }

        private func contents(_ snapshot: PageSnapshot) throws -> Model {
            var found: Model = [:]
            let cursor = try snapshot.makeCursor()
            var isThere = try cursor.seek([])
            while isThere {
                if cursor.key.first != KeySpace.header { found[[UInt8](cursor.key)] = [UInt8](cursor.value.bytes) }
                isThere = try cursor.next()
            }
            return found
        }

        /// With a disk that works.
        func checkAll() throws {
            disk.heal()
            let store = try opened()
            #expect(try contents(try store.snapshot()) == model)
            for kept in kept { #expect(try contents(kept.snapshot) == kept.model) }
        }

        func step(_ number: Int) throws {
            switch number % 8 {
            case 0: try goingOn { kept.append((try $0.snapshot(), model)) }
            case 1, 2: try commit(entries: 2)
            case 3: try commit(entries: 40)
            case 4:
                // Much becomes free.
                try commit(model.keys.sorted { $0.lexicographicallyPrecedes($1) }.prefix(60).map { ($0, nil) }, nil)
            case 5:
                let running = compaction.flatMap { $0.isEnded ? nil : $0 } ?? OnlineCompaction(stepBytes: 60_000)
                compaction = running
                try commit([], running)
            case 6:
                try goingOn { store in
                    let problems = try store.check()
                    #expect(problems.isEmpty)
                }
            default:
                store?.close()
                store = nil
                kept = []
                compaction = nil
                try goingOn { store in
                    let found = try self.contents(try store.snapshot())
                    #expect(found == self.model)
                }
            }
        }

        func end() throws {
            try checkAll()
            try reopen()
            try checkAll()
            let store = try opened()
            #expect(try store.check().isEmpty)
            try store.checkInvariants()
            store.close()
        }
    }

    @Test(arguments: FailingDisk.Call.allCases) func aFailedCallChangesNothing(call: FailingDisk.Call) throws {
        let codes: [ErrorCode] = call == .read || call == .flush ? [.inputOutput] : [.inputOutput, .diskFull]
        var failed = 0
        for code in codes {
            for memoryBytes in [64 << 10, 16 << 20] {
                for number in 0 ..< 5 {
                    let run = try Run(seed: UInt64(number), memoryBytes: memoryBytes)
                    // Of reads there are hundreds.
                    run.disk.fail(call, after: call == .read ? number * 37 : number * 4, code)
                    for step in 0 ..< 9 { try run.step(step) }
                    try run.end()
                    if run.disk.hasFailed { failed += 1 }
                }
            }
        }
        // A file is seldom cut, and its length seldom asked for.
        #expect(failed > 0 || call == .resize || call == .length)
    }
}
