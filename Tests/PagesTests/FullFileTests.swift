// A file that has reached its limit: what makes it no fuller may pass the limit, and what it leaves is used again.
import Glibc
import MottePages
import MotteValues
import TestSupport
import Testing

@Suite struct FullFileTests {
    private func value(_ number: Int, _ size: Int) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: number &* 31 &+ size), count: size)
    }

    private func open(_ path: String, _ change: (inout PageStoreOptions) -> Void) throws -> PageStore {
        var options = PageStoreOptions(path: path)
        options.durability = .none
        change(&options)
        return try PageStore.open(options)
    }

    /// False where the file is full.
    private func commit(_ store: PageStore, _ changes: [(Int, Int?)], _ effect: PageBatch.Effect) throws -> Bool {
        var batch = PageBatch()
        for (number, size) in changes {
            if let size {
                batch.put(Array("\(number)".utf8), value(number, size))
            } else {
                batch.delete(Array("\(number)".utf8))
            }
        }
        batch.effect = effect
        do {
            try store.commitNext(batch)
            return true
        } catch let error as DatabaseError where error.code == .mapFull {
            return false
        }
    }

    /// Values of 1 to 60 pages that become shorter, and go, and come.
    @Test(arguments: StoreForm.files) func valuesOfAllSizesBecomeShorterAndGo(_ form: StoreForm) throws {
        try PropertyTest.run(rounds: 2) { random, comment in
            let scratch = try Scratch()
            let store = try open(scratch.path()) {
                $0.mostFileBytes = 2 << 20
                $0.walPages = form == .withWAL ? TestStore.walPages : 0
                if form == .sealed { $0.encryptionKey = TestStore.key }
            }
            var sizes: [Int: Int] = [:]
            var next = 0
            var most = 0
            for _ in 0 ..< 12 {
                while true {
                    let size = random.below(100) < 70 ? 200 + random.below(12_000) : 4_096 + random.below(59 * 4_096)
                    guard try commit(store, [(next, size)], .adds) else { break }
                    sizes[next] = size
                    next += 1
                }
                most = max(most, sizes.values.reduce(0, +))
                // What was added stays within the limit, whatever has passed it before.
                #expect(sizes.values.reduce(0, +) < 2 << 20, "\(comment)")
                for _ in 0 ..< 25 where !sizes.isEmpty {
                    let number = random.pick(sizes.keys.sorted())
                    guard let size = sizes[number] else { continue }
                    let less = random.chance(70) && size > 300 ? size - random.below(200) : nil
                    // Of one that is no shorter by a page nobody says that it takes away.
                    #expect(try commit(store, [(number, less)], less == nil ? .deletes : .changes), "\(comment)")
                    sizes[number] = less
                }
            }
            #expect(most > 1_000_000, "\(comment)")
            let snapshot = try store.snapshot()
            for number in 0 ..< next {
                let found = try snapshot.get(Array("\(number)".utf8)).map { [UInt8]($0.bytes) }
                #expect(found == sizes[number].map { value(number, $0) }, "\(comment)")
            }
            #expect(try store.statistics().fileBytes <= 10 << 20)
            try store.checkInvariants()
        }
    }

    /// Its limit is what it may grow to, not what it may have.
    @Test func aFileIsLargerThanTheLimitItIsOpenedWith() throws {
        let scratch = try Scratch()
        let first = try open(scratch.path()) { _ in }
        for number in 0 ..< 400 { #expect(try commit(first, [(number, 10_000)], .adds)) }
        first.close()

        let store = try open(scratch.path()) { $0.mostFileBytes = 1 << 20 }
        #expect(try !commit(store, [(400, 10_000)], .adds))
        #expect(try commit(store, [(0, 9_000)], .changes), "no fuller than before")
        for number in 1 ..< 350 { #expect(try commit(store, [(number, nil)], .deletes)) }
        #expect(try commit(store, [(400, 10_000)], .adds))
        try store.checkInvariants()
        #expect(try store.statistics().mostFileBytes == 1 << 20)
    }

    /// What changed values may have beyond the limit is there once, however often the file is opened.
    @Test func openingAgainGivesNoMoreRoom() throws {
        let scratch = try Scratch()
        var sizes = [Int](repeating: 1_000, count: 200)
        for number in sizes.indices {
            let store = try open(scratch.path()) { $0.mostFileBytes = 1 << 20 }
            if number == 0 { for number in sizes.indices { #expect(try commit(store, [(number, 1_000)], .adds)) } }
            while try commit(store, [(number, sizes[number] + 6_000)], .changes) { sizes[number] += 6_000 }
            #expect(sizes.reduce(0, +) < (1 << 20) + (300 << 10))
            store.close()
        }
        let store = try open(scratch.path()) { $0.mostFileBytes = 1 << 20 }
        #expect(sizes.reduce(0, +) > 1 << 20)
        for (number, size) in sizes.enumerated() {
            #expect(try store.snapshot().value("\(number)") == value(number, size))
        }
        try store.checkInvariants()
    }

    /// Of a file that was larger than its limit, what has gone since counts no more.
    @Test func whatHasGoneCountsNoMore() throws {
        let scratch = try Scratch()
        let first = try open(scratch.path()) { _ in }
        for number in 0 ..< 400 { #expect(try commit(first, [(number, 10_000)], .adds)) }
        first.close()
        let store = try open(scratch.path()) { $0.mostFileBytes = 1 << 20 }
        for number in 1 ..< 400 { #expect(try commit(store, [(number, nil)], .deletes)) }
        var size = 10_000
        while try commit(store, [(0, size + 50_000)], .changes) { size += 50_000 }
        #expect(size > 900_000 && size < (1 << 20) + (256 << 10))
        try store.checkInvariants()
    }

    /// Where the file has its first hole from there on, or ends.
    private func firstHole(_ path: String, from start: Int = 0) throws -> Int {
        let file = Glibc.open(path, O_RDONLY)
        try #require(file >= 0)
        defer { Glibc.close(file) }
        // SEEK_HOLE.
        return Int(lseek(file, off_t(start), 4))
    }

    /// What a commit writes in place, the log and the root slots, must not be the first that needs those blocks: the
    /// disk may be full by then.
    @Test(arguments: [0, 8, 64], [nil, TestStore.key]) func aFileHasNoHole(walPages: Int, key: [UInt8]?) throws {
        let scratch = try Scratch()
        func open(_ path: String) throws -> PageStore {
            try self.open(path) {
                $0.walPages = walPages
                $0.encryptionKey = key
            }
        }
        let store = try open(scratch.path("first"))
        var random = SeededRandom(seed: 5)
        for _ in 0 ..< 100 {
            let size = random.chance(30) ? 20_000 + random.below(200_000) : 100
            #expect(try commit(store, [(random.below(40), size)], .adds))
            try #require(try firstHole(scratch.path("first")) == store.statistics().fileBytes)
            try store.checkInvariants()
        }
        try store.copy(try store.snapshot(), to: scratch.path("copy"), encryption: .same)
        let copy = try open(scratch.path("copy"))
        #expect(try firstHole(scratch.path("copy")) == copy.statistics().fileBytes)
    }

    /// A copy that another program made has holes wherever there were zeros.
    @Test(arguments: [nil, TestStore.key], [4096, 16384]) func holesOfASparseCopyAreFilled(
        key: [UInt8]?, pageBytes: Int
    ) throws {
        let scratch = try Scratch()
        func open(_ path: String) throws -> PageStore {
            try self.open(path) {
                $0.walPages = 64
                $0.encryptionKey = key
                $0.pageBytes = pageBytes
            }
        }
        let first = try open(scratch.path("first"))
        for number in 0 ..< 40 { #expect(try commit(first, [(number, 10_000)], .adds)) }
        for number in 0 ..< 5 { #expect(try commit(first, [(number, 100)], .changes)) }
        let contents = try first.snapshot().contents()
        first.close()

        let bytes = TemporaryDirectory.read(scratch.path("first"))
        let file = Glibc.open(scratch.path("sparse"), O_RDWR | O_CREAT, 0o600)
        #expect(ftruncate(file, off_t(bytes.count)) == 0)
        for start in stride(from: 0, to: bytes.count, by: 4096) {
            let block = Array(bytes[start ..< min(start + 4096, bytes.count)])
            if block.contains(where: { $0 != 0 }) { #expect(pwrite(file, block, block.count, off_t(start)) > 0) }
        }
        Glibc.close(file)
        #expect(try firstHole(scratch.path("sparse")) < bytes.count)
        let store = try open(scratch.path("sparse"))
        #expect(try store.snapshot().contents().elementsEqual(contents) { $0.key == $1.key && $0.value == $1.value })
        #expect(try commit(store, [(7, 100)], .changes))
        // The head is before the slots, and no commit writes it.
        #expect(try firstHole(scratch.path("sparse"), from: pageBytes) >= 4 * pageBytes, "the slots")
        #expect(try store.snapshot().value("8") == value(8, 10_000))
        #expect(try store.snapshot().value("3") == value(3, 100))
        try store.checkInvariants()
    }

    /// Such a copy on a full disk: its log has no blocks, but what the tree leaves free has.
    @Test func aLogWithoutBlocksIsNotAppendedTo() throws {
        let disk = DiskWithHoles()
        func open() throws -> PageStore {
            var options = PageStoreOptions(location: .memory(identifier: nil))
            options.disk = disk
            options.walPages = 64
            return try PageStore.open(options)
        }
        let first = try open()
        for number in 0 ..< 40 { #expect(try commit(first, [(number, 10_000)], .adds)) }
        for number in 20 ..< 30 { #expect(try commit(first, [(number, nil)], .deletes)) }
        first.close()
        disk.makeHoles(from: 3 * 4096)
        disk.isFull = true
        #expect(disk.holeCount > 0)
        let store = try open()
        #expect(try commit(store, [(7, nil)], .deletes))
        #expect(try commit(store, [(8, 100)], .changes))
        #expect(disk.refusedCount > 0)
        let snapshot = try store.snapshot()
        for number in 0 ..< 40 {
            let size = number == 7 || 20 ..< 30 ~= number ? nil : number == 8 ? 100 : 10_000
            let found = try snapshot.get(Array("\(number)".utf8)).map { [UInt8]($0.bytes) }
            #expect(found == size.map { value(number, $0) })
        }
        disk.isFull = false
        for number in 50 ..< 90 { #expect(try commit(store, [(number, 100)], .adds)) }
        try store.checkInvariants()
    }

    /// What is flushed together takes away if each part does.
    @Test func aGroupOfDeletionsPassesTheLimit() throws {
        let scratch = try Scratch()
        let store = try open(scratch.path()) {
            $0.mostFileBytes = 1 << 20
            $0.walPages = 0
        }
        var count = 0
        while try commit(store, [(count, 3_000)], .adds) { count += 1 }
        #expect(count > 200)
        // Each also leaves a record, as deletions do that are followed.
        let group = try PageGroup(store, lock: try store.lockForWriting(timeoutMilliseconds: 0))
        var version = try store.newestVersion().rawValue
        for number in stride(from: 0, to: count, by: 2) {
            var batch = PageBatch()
            batch.delete(Array("\(number)".utf8))
            batch.put(Array("record-\(number)".utf8), value(number, 4_000))
            batch.effect = .deletes
            version += 1
            _ = try group.add(&batch, version: Version(version))
        }
        try group.flush()
        group.release()
        #expect(try store.newestVersion().rawValue == version)
        #expect(try store.statistics().fileBytes > 1 << 20)
        #expect(try !commit(store, [(count, 100_000)], .adds))
        try store.checkInvariants()
    }
}

/// A disk in memory on which blocks of zeros may have no room.
private final class DiskWithHoles: Disk, @unchecked Sendable {  // @unchecked: one test, one thread
    let path = ":holes:"
    private let memory = MemoryDisk()
    private var holes: Set<Int> = []
    var isFull = false
    private(set) var refusedCount = 0

    private static let block = 4096
    var holeCount: Int { holes.count }

    func makeHoles(from start: Int) {
        var block = [UInt8](repeating: 0, count: Self.block)
        for number in start / Self.block ..< memory.byteCount() / Self.block {
            _ = block.withUnsafeMutableBytes { memory.read($0, at: number * Self.block) }
            if block.allSatisfy({ $0 == 0 }) { holes.insert(number) }
        }
    }

    func close() {}
    func byteCount() throws(DatabaseError) -> Int { memory.byteCount() }
    func read(_ target: UnsafeMutableRawBufferPointer, at offset: Int) throws(DatabaseError) -> Int {
        memory.read(target, at: offset)
    }
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DatabaseError) {
        let blocks = offset / Self.block ... max(offset, offset + bytes.count - 1) / Self.block
        if isFull, blocks.contains(where: { holes.contains($0) || $0 >= memory.byteCount() / Self.block }) {
            refusedCount += 1
            throw DatabaseError(.diskFull, "the test's disk is full")
        }
        holes.subtract(blocks)
        memory.write(bytes, at: offset)
    }
    func firstHole(in range: Range<Int>) throws(DatabaseError) -> Range<Int>? {
        let found = holes.sorted().first { range.overlaps($0 * Self.block ..< ($0 + 1) * Self.block) }
        return found.map { ($0 * Self.block ..< ($0 + 1) * Self.block).clamped(to: range) }
    }
    func flush() throws(DatabaseError) {}
    func resize(to byteCount: Int) throws(DatabaseError) {
        if isFull, byteCount > memory.byteCount() { throw DatabaseError(.diskFull, "the test's disk is full") }
        memory.resize(to: byteCount)
    }
}
