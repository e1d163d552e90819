// Which commits go to a WAL and which into the tree, what files say of it, and what stays of it for readers.
import MottePages
import MotteValues
import TestSupport
import Testing

@Suite struct WALTests {
    private func open(
        _ scratch: Scratch, walPages: Int, key: [UInt8]? = nil
    ) throws -> PageStore {
        var options = PageStoreOptions(path: scratch.path())
        options.walPages = walPages
        options.encryptionKey = key
        return try PageStore.open(options)
    }

    private func writes(_ store: PageStore, _ body: () throws -> Void) throws -> Int {
        let before = try store.statistics().writeCallCount
        try body()
        return try store.statistics().writeCallCount - before
    }

    private func small(_ number: Int) -> [(String, [UInt8]?)] { [("key-\(number % 7)", [UInt8(number)])] }

    /// One write and one flush; more only for the commit that takes the WAL into the tree.
    @Test(arguments: [nil, TestStore.key]) func aSmallCommitIsOneWriteAndOneFlush(key: [UInt8]?) throws {
        let scratch = try Scratch()
        let store = try open(scratch, walPages: 6, key: key)
        try store.commitNext(small(0))
        for number in 1 ... 30 {
            let flushes = try store.statistics().flushCount
            let count = try writes(store) { try store.commitNext(small(number)) }
            #expect((count == 1) == (number % 7 != 0), "\(number)")
            #expect(try store.statistics().flushCount == flushes + 1)
        }
        #expect(try store.check().isEmpty)
    }

    @Test func largeCommitsGoIntoTheTree() throws {
        let scratch = try Scratch()
        let store = try open(scratch, walPages: 100)
        try store.commitNext(small(0))
        #expect(try writes(store) { try store.commitNext(small(1)) } == 1)
        let large = (0 ..< 9).map { ("large-\($0)", [UInt8](repeating: 1, count: 10_000)) }
        #expect(try writes(store) { try store.commitNext(large) } > 1)
        #expect(try store.snapshot().value("key-1") == [1] && store.snapshot().contents().count == 11)
        #expect(try store.check().isEmpty)
    }

    /// The next process goes on with it, as it was closed.
    @Test(arguments: [nil, TestStore.key]) func aFileWithoutAWALGetsOneAndKeepsIt(key: [UInt8]?) throws {
        let scratch = try Scratch()
        var store = try open(scratch, walPages: 0, key: key)
        for number in 0 ..< 20 { try store.commitNext(small(number)) }
        store.close()
        #expect(try key != nil || scratch.read()[4096 + 156] == 0)

        store = try open(scratch, walPages: 50, key: key)
        try store.commitNext(small(20))
        #expect(try writes(store) { try store.commitNext(small(21)) } == 1)
        store.close()

        for number in 22 ..< 26 {
            store = try open(scratch, walPages: 0, key: key)
            #expect(try store.snapshot().passedOver == nil)
            #expect(try writes(store) { try store.commitNext(small(number)) } == 1, "\(number)")
            #expect(try store.snapshot().value("key-\(number % 7)") == [UInt8(number)] && store.check().isEmpty)
            store.close()
        }
    }

    /// The header record lies in the WAL's part of a version, which commits change in place when nobody shows it
    /// any more: whoever reads the record shows it until then, also when another thread commits in between.
    @Test func theHeaderIsThatOfOneVersion() throws {
        let between = Between()
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.disk = MemoryDisk()
        options.walPages = 40
        options.faults = FaultInjection(willReadHeader: { between.run() })
        let store = try PageStore.open(options)
        defer { store.close() }
        for number in 0 ..< 5 { try store.commitNext(small(number)) }
        #expect(try writes(store) { try store.commitNext(small(5)) } == 1, "it is in the WAL")
        for round in 1 ... 3 {
            let before = try store.latestVersion
            between.commits = { for number in 0 ..< 4 { try store.commitNext(small(number + round)) } }
            let header = try store.header
            #expect(between.commits == nil && between.failure == nil)
            #expect(header.version == before)
            #expect(try store.latestVersion.rawValue == before.rawValue + 4)
            #expect(try store.header.version == store.latestVersion)
        }
    }

    /// Of versions of one WAL and of several, while their pages would be used again.
    @Test(arguments: [nil, TestStore.key]) func pinnedVersionsStayAcrossCommitsOfTheTree(key: [UInt8]?) throws {
        let scratch = try Scratch()
        let store = try open(scratch, walPages: 3, key: key)
        var pinned: [(snapshot: PageSnapshot, contents: Contents)] = []
        var model: Contents = [:]
        for number in 0 ..< 80 {
            let changes = number % 5 == 3 ? [("key-\(number % 7)", nil)] : small(number)
            for (key, value) in changes { model[key] = value }
            try store.commitNext(changes)
            if number % 3 == 0 { pinned.append((try store.snapshot(), model)) }
            if number % 11 == 10 { pinned.removeFirst(3) }
        }
        for (snapshot, contents) in pinned { #expect(try CutRun.contents(snapshot) == contents) }
        #expect(try store.check().isEmpty)
        pinned = []
        let pages = try store.statistics().pageCount
        for number in 0 ..< 80 { try store.commitNext(small(number)) }
        #expect(try store.statistics().pageCount <= pages && store.check().isEmpty)
    }

    @Test func theFilterHasEveryKeyAndFewOthers() {
        var filter = KeyFilter()
        func key(_ number: Int) -> [UInt8] { Array("key \(number)".utf8) }
        for number in 0 ..< 300 { key(number).withUnsafeBytes { filter.insert($0) } }
        #expect((0 ..< 300).allSatisfy { number in key(number).withUnsafeBytes { filter.mayHave($0) } })
        let others = (300 ..< 10_300).filter { number in key(number).withUnsafeBytes { filter.mayHave($0) } }
        #expect(others.count < 1_500, "of which a random one of its bits would let 700 pass")
    }

    /// A slot that was passed over would name a version that comes to be: so commits write over it first.
    @Test func nothingIsAppendedWhileASlotIsBroken() throws {
        let disk = MemoryDisk()
        var store = try CutRun.open(disk, walPages: 20)
        for number in 0 ..< 4 { try store.commitNext(small(number)) }
        // The tree's next version, as a cut leaves it: a slot that is there, and a page that is not.
        let before = disk.contents
        let large = (0 ..< 9).map { ("large-\($0)", [UInt8](repeating: 1, count: 10_000)) }
        try store.commitNext(large)
        let slots = [4096, 8192, 12288]
        var bytes = before
        let slot = try #require(slots.first { disk.contents[$0 ..< $0 + 4096] != before[$0 ..< $0 + 4096] })
        bytes += [UInt8](repeating: 0, count: disk.contents.count - bytes.count)
        bytes.replaceSubrange(slot ..< slot + 4096, with: disk.contents[slot ..< slot + 4096])
        store.close()

        let cut = MemoryDisk(bytes)
        store = try CutRun.open(cut, walPages: 20)
        #expect(try store.snapshot().version == Version(4) && store.snapshot().passedOver != nil)
        #expect(try writes(store) { try store.commitNext(small(5)) } > 1)
        #expect(cut.contents[slot ..< slot + 4096] != bytes[slot ..< slot + 4096])
        #expect(try writes(store) { try store.commitNext(small(6)) } == 1)
        store.close()
        let again = try CutRun.open(cut, walPages: 20)
        #expect(try again.snapshot().version == Version(6) && again.snapshot().passedOver == nil)
        again.close()
    }
}

/// What is to happen once, and the error that it met.
private final class Between: @unchecked Sendable {  // @unchecked: one test, one thread
    var commits: (() throws -> Void)?
    private(set) var failure: (any Error)?

    func run() {
        guard let commits else { return }
        self.commits = nil
        do { try commits() } catch { failure = error }
    }
}
