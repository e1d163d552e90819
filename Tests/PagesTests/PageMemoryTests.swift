// Pages stay in memory within a budget: files larger than it are read whole, what is held is not taken away, what is
// asked for again and again stays, and a process with little address space gets on.
import MottePages
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct PageMemoryTests {
    private static let budget = 256 << 10
    private static let valueBytes = 20_000

    /// A store whose entries are `count` values on pages of their own, closed and opened again.
    private func store(
        _ count: Int, _ scratch: Scratch, memory: Int = Self.budget, sealed: Bool = false
    ) throws -> PageStore {
        var options = PageStoreOptions(path: scratch.path())
        options.memoryBytes = memory
        if sealed { options.encryptionKey = TestStore.key }
        let store = try PageStore.open(options)
        for first in stride(from: 0, to: count, by: 64) {
            var batch = PageBatch()
            for index in first ..< min(first + 64, count) { batch.put(key(index), value(index)) }
            try store.commitNext(batch)
        }
        store.close()
        return try PageStore.open(options)
    }

    private func key(_ index: Int) -> [UInt8] { [5, UInt8(index >> 8), UInt8(index & 0xFF)] }
    private func value(_ index: Int) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: index), count: Self.valueBytes + index % 7)
    }

    /// Its ends and its length, which are quick to look at.
    private func isValue(_ index: Int, _ bytes: UnsafeRawBufferPointer) -> Bool {
        let byte = UInt8(truncatingIfNeeded: index)
        return bytes.count == Self.valueBytes + index % 7 && bytes.first == byte && bytes.last == byte
    }

    @Test(arguments: [false, true]) func aFileOfTwentyBudgetsIsReadWithinOne(sealed: Bool) throws {
        let count = 20 * Self.budget / Self.valueBytes
        let scratch = try Scratch()
        defer { withExtendedLifetime(scratch) {} }
        let store = try store(count, scratch, sealed: sealed)
        defer { store.close() }
        let snapshot = try store.snapshot()
        let hold = try #require(snapshot.hold)
        for _ in 0 ..< 2 {
            for index in 0 ..< count {
                #expect(try snapshot.get(key(index))?.bytes.elementsEqual(value(index)) == true)
                hold.renew()
            }
        }
        let statistics = try store.statistics()
        #expect(statistics.memoryBudgetBytes == Self.budget)
        #expect(statistics.mostMemoryBytes < 2 * Self.budget, "\(statistics.mostMemoryBytes)")
        #expect(try store.check().isEmpty)
        #expect(try store.statistics().mostMemoryBytes < 2 * Self.budget)
    }

    @Test func belowTheBudgetNothingIsGivenUp() throws {
        let scratch = try Scratch()
        defer { withExtendedLifetime(scratch) {} }
        let store = try store(100, scratch, memory: 8 << 20)
        defer { store.close() }
        let snapshot = try store.snapshot()
        let hold = try #require(snapshot.hold)
        let places = try (0 ..< 100).map { try #require(try snapshot.get(key($0))).bytes.baseAddress }
        hold.renew()
        #expect(!hold.isDue)
        for index in 0 ..< 100 { #expect(try snapshot.get(key(index))?.bytes.baseAddress == places[index]) }
        #expect(!hold.isDue)
    }

    /// Of one that is asked all the time, and of one that was asked once and rests.
    @Test(arguments: [false, true]) func whatIsHeldStays(rests: Bool) throws {
        let count = 20 * Self.budget / Self.valueBytes
        let scratch = try Scratch()
        defer { withExtendedLifetime(scratch) {} }
        let store = try store(count, scratch)
        defer { store.close() }
        let holder = try store.snapshot()
        if rests { try #require(holder.hold).mayRest() }
        let held = try (0 ..< 5).map { try #require(try holder.get(key($0))).bytes }
        let other = try store.snapshot()
        try #require(other.hold).mayRest()
        for _ in 0 ..< 3 {
            for index in 0 ..< count {
                #expect(try other.get(key(index))?.bytes.elementsEqual(value(index)) == true)
                other.hold?.renew()
            }
        }
        for index in 0 ..< 5 { #expect(held[index].elementsEqual(value(index))) }
        // Who rests keeps what was there when it was lent something last, and nothing that came later.
        let most = try store.statistics().mostMemoryBytes
        if rests { #expect(most < 3 * Self.budget, "\(most)") } else { #expect(most > 10 * Self.budget, "\(most)") }
        withExtendedLifetime(holder) {}
    }

    /// One that has kept a little for long does not stand for what others were just lent, who take turns.
    @Test func whoTakesTurnsHoldsLittleBesideOneThatRests() throws {
        let count = 20 * Self.budget / Self.valueBytes
        let scratch = try Scratch()
        defer { withExtendedLifetime(scratch) {} }
        let store = try store(count, scratch)
        defer { store.close() }
        let resting = try store.snapshot()
        try #require(resting.hold).mayRest()
        let held = try #require(try resting.get(key(0))).bytes
        let others = [try store.snapshot(), try store.snapshot()]
        for other in others { try #require(other.hold).mayRest() }
        for _ in 0 ..< 2 {
            for index in 0 ..< count {
                for other in others {
                    #expect(try other.get(key(index))?.bytes.elementsEqual(value(index)) == true)
                    other.hold?.renewButLatest()
                }
            }
        }
        #expect(held.elementsEqual(value(0)))
        let most = try store.statistics().mostMemoryBytes
        #expect(most < 3 * Self.budget, "\(most)")
        withExtendedLifetime(resting) {}
    }

    /// More holds than are looked at one by one: what any of them has stays.
    @Test func manyWhoRestKeepWhatTheyWereLent() throws {
        let count = 20 * Self.budget / Self.valueBytes
        let scratch = try Scratch()
        defer { withExtendedLifetime(scratch) {} }
        let store = try store(count, scratch)
        defer { store.close() }
        var resting: [(snapshot: PageSnapshot, bytes: UnsafeRawBufferPointer, index: Int)] = []
        let other = try store.snapshot()
        try #require(other.hold).mayRest()
        for index in 0 ..< count {
            if index % 3 == 0 {
                let snapshot = try store.snapshot()
                try #require(snapshot.hold).mayRest()
                resting.append((snapshot, try #require(try snapshot.get(key(index))).bytes, index))
            }
            #expect(try other.get(key(index))?.bytes.elementsEqual(value(index)) == true)
            other.hold?.renew()
        }
        #expect(resting.count > 64)
        for kept in resting { #expect(kept.bytes.elementsEqual(value(kept.index))) }
        resting.removeAll()
        for index in 0 ..< count {
            #expect(try other.get(key(index)) != nil)
            other.hold?.renew()
        }
        #expect(try store.statistics().memoryBytes < 2 * Self.budget)
    }

    @Test func aScanDoesNotDriveOutWhatIsAskedForAgainAndAgain() throws {
        let count = 40 * Self.budget / Self.valueBytes
        let disk = CountingDisk(MemoryDisk())
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.disk = disk
        options.memoryBytes = Self.budget
        let store = try PageStore.open(options)
        defer { store.close() }
        for first in stride(from: 0, to: count, by: 16) {
            var batch = PageBatch()
            for index in first ..< min(first + 16, count) { batch.put(key(index), value(index)) }
            try store.commitNext(batch)
        }
        let snapshot = try store.snapshot()
        let hold = try #require(snapshot.hold)
        func read(_ index: Int) throws {
            #expect(try snapshot.get(key(index)) != nil)
            hold.renew()
        }
        for _ in 0 ..< 8 { try read(0) }
        var readsOfHot = 0
        for index in 1 ..< count {
            try read(index)
            let before = disk.reads
            try read(0)
            readsOfHot += disk.reads - before
        }
        #expect(readsOfHot <= 4, "\(readsOfHot) of \(count)")
    }

    /// What is given up, taken back and given up again is held by whom has read it in between, whatever the first time
    /// says.
    @Test(arguments: [false, true]) func whatWasTakenBackIsHeld(rests: Bool) throws {
        let count = 120
        let scratch = try Scratch()
        defer { withExtendedLifetime(scratch) {} }
        let store = try store(count, scratch)
        defer { store.close() }
        try PropertyTest.run(rounds: 3) { random, comment in
            let snapshots = try (0 ..< 3).map { _ in try store.snapshot() }
            if rests { for snapshot in snapshots { snapshot.hold?.mayRest() } }
            var held: [[(index: Int, bytes: UnsafeRawBufferPointer)]] = [[], [], []]
            for step in 0 ..< 3_000 {
                let user = random.below(3)
                // Some are asked for again and again, so that they are taken back.
                let index = random.chance(50) ? random.below(10) : random.below(count)
                let found = try #require(try snapshots[user].get(key(index)))
                held[user].append((index, found.bytes))
                guard random.chance(12) else { continue }
                let wrong = held.joined().first { !isValue($0.index, $0.bytes) }
                #expect(wrong == nil, "value \(wrong?.index ?? 0) at step \(step); \(comment)")
                guard wrong == nil else { return }
                snapshots[user].hold?.renew()
                held[user] = []
            }
        }
    }

    /// Threads that read, hold and renew as they like, beside one that commits.
    @Test func threadsReadWithinTheBudget() throws {
        let count = 300
        let scratch = try Scratch()
        defer { withExtendedLifetime(scratch) {} }
        let store = try store(count, scratch)
        defer { store.close() }
        let readers = (0 ..< 3).map { thread in
            ThreadRun { () throws -> Int in
                var random = SeededRandom(seed: UInt64(thread + 1))
                let snapshot = try store.snapshot()
                if thread > 0 { snapshot.hold?.mayRest() }
                var held: [(index: Int, bytes: UnsafeRawBufferPointer)] = []
                var failures = 0
                for _ in 0 ..< 3_000 {
                    let index = random.below(count)
                    guard let found = try snapshot.get(self.key(index)) else { return -1 }
                    held.append((index, found.bytes))
                    guard held.count > 8 else { continue }
                    failures += held.filter { !self.isValue($0.index, $0.bytes) }.count
                    held = []
                    snapshot.hold?.renew()
                }
                return failures
            }
        }
        let writer = ThreadRun { () throws -> Int in
            for step in 0 ..< 50 {
                try store.commitNext([("other", [UInt8](repeating: UInt8(step), count: 9_000))])
            }
            return 0
        }
        for run in readers + [writer] { #expect(try run.join() == 0) }
        #expect(try store.check().isEmpty)
    }

    @Test func aBudgetThatIsTooSmallIsRefused() throws {
        let scratch = try Scratch()
        var options = PageStoreOptions(path: scratch.path())
        options.memoryBytes = 65_535
        #expect(try failure { try PageStore.open(options) }.code == .invalidArgument)
        for text in ["", "much", "64", "63K", "-1G", "99999999999999999999"] {
            #expect(PageStoreOptions.memoryBytes(text) == nil, "\(text)")
        }
        #expect(PageStoreOptions.memoryBytes("64K") == 65_536)
        #expect(PageStoreOptions.memoryBytes("2G") == 2 << 30)
    }

    /// What a file of many budgets leaves behind for each region that was read and given back.
    @Test(arguments: [4096, 32768]) func nothingIsKeptOfEmptyRegions(pageBytes: Int) throws {
        let regions = try #require(PageRegions(pageBytes: pageBytes))
        var occupied: PageCount = 0
        // More than one slab's.
        for number in 0 ..< 200 {
            let run = PageRun(start: PageNumber(number * regions.pageCount), count: PageCount(regions.pageCount))
            #expect(regions.makePlace(for: run) != nil)
            for page in run.pages { regions.set(page, PageState.continued, &occupied) }
        }
        let states = regions.all.map(\.pointee.states)
        func arePresent() -> Int {
            states.count { states in
                var isThere: UInt8 = 0
                return mincore(states, 1, &isThere) == 0 && isThere & 1 != 0
            }
        }
        #expect(arePresent() == 200)
        for number in 0 ..< 200 {
            let run = PageRun(start: PageNumber(number * regions.pageCount), count: PageCount(regions.pageCount))
            for page in run.pages { regions.set(page, PageState.empty, &occupied) }
            regions.giveBack(run)
        }
        #expect(occupied == 0)
        #expect(arePresent() == 0)
        #expect(regions.state(7) == PageState.empty)
    }

    /// A file may grow to 16 TiB, whatever its page size; nothing is reserved for it.
    @Test(arguments: [4096, 32768]) func pagesLieWhereverTheFileHasThem(pageBytes: Int) throws {
        let disk = SparseDisk()
        let image = try PageImage(disk, pageBytes: pageBytes, memoryBytes: 1 << 20)
        #expect(image.byteCount(of: image.pageLimit) == 16 << 40)
        let last = image.pageLimit - 8
        let places: [PageCount] = [
            image.pageCount(in: 16 << 30), image.pageCount(in: 100 << 30) + 1023, image.pageCount(in: 8 << 40), last,
        ]
        for place in places {
            var writer = TreeWriter(
                image, PageAllocator(image, SpaceMap(pageCount: place), wishing: 1, "a test"), version: Version(3))
            let value = (0 ..< 3 * pageBytes).map { UInt8(truncatingIfNeeded: $0 &+ place.rawValue) }
            let reference = try value.withUnsafeBytes { try writer.writeExtent($0) }
            #expect(reference.page == place.end)
            try image.write(writer.unwrittenRuns)
            image.giveBackMemory(of: reference.run(image.layout))
            #expect(try image.extent(reference).elementsEqual(value))
        }
        var full = PageAllocator(image, SpaceMap(pageCount: last), wishing: 1, "a test")
        #expect(try failure { _ = try full.allocate(9) }.code == .mapFull)
    }

    /// A free run may be used again from anywhere in it, by this process or another one: what was there goes as a
    /// whole, since the memory of what is left would be taken with that of what came.
    @Test(arguments: [(100, 1), (100, 3), (113, 1), (113, 3), (128, 1)], [false, true])
    func whatComesIntoAValueEndsAllOfIt(_ place: (page: Int, pages: Int), byAnother: Bool) throws {
        let disk = SparseDisk()
        let image = try PageImage(disk, pageBytes: 4096, memoryBytes: 256 << 10)
        let other = byAnother ? try PageImage(disk, pageBytes: 4096, memoryBytes: 256 << 10) : image
        func written(_ byte: UInt8, pages: Int, at page: Int, by image: PageImage) throws -> PageRef {
            let map = SpaceMap(pageCount: PageCount(page))
            var writer = TreeWriter(image, PageAllocator(image, map, wishing: 1, "a test"), version: Version(3))
            let value = [UInt8](repeating: byte, count: pages * 4096)
            let reference = try value.withUnsafeBytes { try writer.writeExtent($0) }
            #expect(reference.page == PageNumber(page))
            try image.write(writer.unwrittenRuns)
            return reference
        }
        let neighbours = [
            try written(1, pages: 2, at: 98, by: image), try written(2, pages: 2, at: 129, by: image),
        ]
        let former = try written(77, pages: 29, at: 100, by: image)
        #expect(image.isThere(former, level: 0) && image.memory.now == 33 * 4096)
        let next = try written(99, pages: place.pages, at: place.page, by: other)
        #expect(try image.extent(next).allSatisfy { $0 == 99 })
        #expect(!image.isThere(former, level: 0) && image.isThere(next, level: 0))
        #expect(image.memory.now == 4 * 4096 + next.byteCount)
        for neighbour in neighbours { #expect(image.isThere(neighbour, level: 0)) }
    }

    /// Values that cross the ends of regions, and larger than one.
    @Test(arguments: [4096, 32768]) func valuesAcrossRegions(pageBytes: Int) throws {
        let scratch = try Scratch()
        defer { withExtendedLifetime(scratch) {} }
        var options = PageStoreOptions(path: scratch.path())
        options.pageBytes = pageBytes
        options.memoryBytes = 1 << 20
        let store = try PageStore.open(options)
        defer { store.close() }
        let sizes = [3 << 20, 5 << 20, 100_000, 9 << 20, 1 << 20, 3 << 20, 2 << 20, 200_000]
        for (index, size) in sizes.enumerated() {
            try store.commitNext([("\(index)", [UInt8](repeating: UInt8(index + 1), count: size))])
        }
        for _ in 0 ..< 2 {
            let snapshot = try store.snapshot()
            for (index, size) in sizes.enumerated() {
                let bytes = try #require(try snapshot.get(Array("\(index)".utf8))).bytes
                #expect(bytes.count == size && bytes.allSatisfy { $0 == UInt8(index + 1) })
                snapshot.hold?.renew()
            }
        }
        #expect(try store.check().isEmpty)
        try store.checkInvariants()
    }
}

/// Keeps what was written, and zeros everywhere else.
private final class SparseDisk: Disk, @unchecked Sendable {  // @unchecked: one test, one thread
    let path = ":sparse:"
    private var written: [(offset: Int, bytes: [UInt8])] = []

    func byteCount() -> Int { written.map { $0.offset + $0.bytes.count }.max() ?? 0 }
    func close() {}
    func flush() {}
    func resize(to byteCount: Int) {}
    func write(_ source: UnsafeRawBufferPointer, at offset: Int) { written.append((offset, [UInt8](source))) }

    func read(_ target: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        let count = max(0, min(target.count, byteCount() - offset))
        target.initializeMemory(as: UInt8.self, repeating: 0)
        for piece in written {
            let start = max(offset, piece.offset)
            let end = min(offset + count, piece.offset + piece.bytes.count)
            guard start < end else { continue }
            UnsafeMutableRawBufferPointer(rebasing: target[(start - offset) ..< (end - offset)]).copyBytes(
                from: piece.bytes[(start - piece.offset) ..< (end - piece.offset)])
        }
        return count
    }
}

/// How often something was read.
private final class CountingDisk: Disk, @unchecked Sendable {  // @unchecked: one test, one thread
    private let disk: any Disk
    private(set) var reads = 0

    init(_ disk: any Disk) { self.disk = disk }

    var path: String { disk.path }
    func byteCount() throws(DatabaseError) -> Int { try disk.byteCount() }
    func close() { disk.close() }
    func flush() throws(DatabaseError) { try disk.flush() }
    func resize(to byteCount: Int) throws(DatabaseError) { try disk.resize(to: byteCount) }
    func write(_ source: UnsafeRawBufferPointer, at offset: Int) throws(DatabaseError) {
        try disk.write(source, at: offset)
    }
    func read(_ target: UnsafeMutableRawBufferPointer, at offset: Int) throws(DatabaseError) -> Int {
        reads += 1
        return try disk.read(target, at: offset)
    }
}
