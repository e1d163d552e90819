// A file that has reached its limit: what makes it no fuller may pass the limit, and what it leaves is used again.
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

    /// A commit that is appended to the log must not be the first that needs its blocks: the disk may be full by then.
    @Test(arguments: [8, 64]) func aLogHasNoHole(walPages: Int) throws {
        let scratch = try Scratch()
        let store = try open(scratch.path()) { $0.walPages = walPages }
        var random = SeededRandom(seed: 5)
        for _ in 0 ..< 100 {
            let size = random.chance(30) ? 20_000 + random.below(200_000) : 100
            #expect(try commit(store, [(random.below(40), size)], .adds))
            try store.checkInvariants()
        }
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
