// Space of a page file: reused, also between pinned versions; mapped to the page; returned at the end.
import MottePages
import MotteValues
import TestSupport
import Testing

@Suite struct SpaceTests {
    private func value(_ size: Int, _ byte: Int) -> [UInt8] { [UInt8](repeating: UInt8(byte & 0xFF), count: size) }

    /// Pages of the file that hold the newest version.
    private func used(_ store: PageStore) throws -> Int {
        let statistics = try store.statistics()
        return statistics.branchPageCount + statistics.leafPageCount + statistics.overflowPageCount
    }

    @Test func smallCommitsDoNotGrowTheFile() throws {
        let test = try TestStore(.file)
        try test.commit((0 ..< 300).map { ("k\($0)", value($0 % 7 == 0 ? 5000 : 60, $0)) })
        for round in 0 ..< 50 { try test.commit([("k\(round)", value(100, round))]) }
        let before = try test.store.statistics().pageCount

        for round in 0 ..< TestScale.times(2000) { try test.commit([("k\(round % 300)", value(round % 90, round))]) }

        #expect(try test.store.statistics().pageCount <= before + 20)
        #expect(try test.store.check().isEmpty)
    }

    /// Values that stay among those that every commit replaces would leave free space in pieces, and commits with it.
    @Test func valuesThatStayDoNotSplitTheSpaceOfSmallCommits() throws {
        let test = try TestStore(.file)
        var random = SeededRandom(seed: 1)
        try test.commit((0 ..< 400).map { ("k\($0)", value(4000, $0)) })
        func commit(_ round: Int) throws {
            try test.commit(
                [("a", value(3000, round)), ("b", value(2500, round))] + [
                    ("k\(random.below(400))", value(4000, round))
                ])
        }
        for round in 0 ..< 600 { try commit(round) }
        let before = try test.store.statistics()
        for round in 0 ..< 400 { try commit(round) }
        let after = try test.store.statistics()

        // One for what dies with the next commit, one for the value that stays, one for the root; seldom another.
        let writes = Double(after.writeCallCount - before.writeCallCount) / 400
        #expect(writes < 3.3)
        #expect(after.pageCount <= before.pageCount + 20)
        #expect(try test.store.check().isEmpty)
    }

    /// What a process remembers of pages goes when nobody can need them, not only when it closes the file.
    @Test func memoryOfFreePagesIsGivenBack() throws {
        let scratch = try Scratch()
        let helper = try HelperProcess("memory", scratch.path())
        let written = try #require(helper.line().flatMap { Int($0) })
        let before = try #require(helper.line().flatMap { Int($0) })
        let after = try #require(helper.line().flatMap { Int($0) })
        #expect(before > 64_000 && after < before - 50_000)
        // A large commit does not remember what it has written.
        #expect(written < before - 40_000)
    }

    /// The size under one pinned reader stays below three times the live data, however many commits there are.
    @Test func spaceBehindAPinnedReaderIsUsedAgain() throws {
        let test = try TestStore(.file)
        try test.commit((0 ..< 400).map { ("k\($0)", value($0 % 5 == 0 ? 4000 : 100, $0)) })
        let pinned = try test.store.snapshot()
        let contents = try CutRun.contents(pinned)

        for round in 0 ..< TestScale.times(5000) {
            try test.commit([("k\(round * 7 % 400)", value(round % 5 == 0 ? 4000 : 100, round))])
        }

        let statistics = try test.store.statistics()
        #expect(statistics.pageCount < 3 * (try used(test.store)) + 40)
        print(
            "note: \(TestScale.times(5000)) commits under a pinned reader, \(statistics.pageCount) pages for "
                + "\(try used(test.store)) with data")
        #expect(try CutRun.contents(pinned) == contents)
        #expect(try test.store.readers().contains { $0.version == Version(1) })
        #expect(try test.store.check().isEmpty)
    }

    /// Between two pinned versions too, and what the older one alone held is free when it goes.
    @Test func spaceBetweenPinnedVersionsIsUsedAgain() throws {
        let test = try TestStore(.file)
        try test.commit((0 ..< 200).map { ("k\($0)", value(4000, $0)) })
        var pinned = [try test.store.snapshot()]
        for round in 0 ..< 400 { try test.commit([("k\(round % 200)", value(4000, round))]) }
        pinned.append(try test.store.snapshot())
        let middle = try test.store.statistics().pageCount
        for round in 0 ..< 400 { try test.commit([("k\(round % 20)", value(4000, round + 1))]) }

        #expect(try test.store.statistics().pageCount < middle + 60)
        pinned.removeFirst()
        for round in 0 ..< 400 { try test.commit([("k\(round % 200)", value(4000, round + 2))]) }
        #expect(try test.store.statistics().pageCount < middle + 60)
        #expect(try test.store.check().isEmpty)
    }

    @Test func theEndOfTheFileIsGivenBack() throws {
        let scratch = try Scratch()
        let options = PageStoreOptions(path: scratch.path())
        let store = try PageStore.open(options)
        for batch in 0 ..< 8 { try store.commitNext((0 ..< 100).map { ("k\(batch)-\($0)", value(9000, $0)) }) }
        let large = try store.statistics().fileBytes
        for batch in 0 ..< 8 { try store.commitNext((0 ..< 100).map { ("k\(batch)-\($0)", nil) }) }
        for round in 0 ..< 6 { try store.commitNext([("a", [UInt8(round)])]) }

        #expect(try store.statistics().fileBytes < large / 4)
        #expect(try store.check().isEmpty)
        #expect(try store.snapshot().value("a") == [5])
    }

    /// A full disk must not stay full of what could not be committed: then the smallest commit would fail for ever.
    @Test(arguments: [0, 8]) func aFailedCommitGivesItsSpaceBack(walPages: Int) throws {
        let disk = SimulatedDisk(try CutRun.newStore(walPages: walPages))
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.disk = disk
        options.walPages = walPages
        let store = try PageStore.open(options)
        defer { store.close() }
        try store.commitNext([("small", value(100, 1))])
        let before = disk.byteCount()
        disk.failing = (disk.callCount, .shortWrite)
        let error = try failure { try store.commitNext([("large", value(1 << 20, 2))]) }
        #expect(error.code == .diskFull)
        let ends = disk.operations.map { if case .write(let place, let bytes) = $0 { place + bytes.count } else { 0 } }
        #expect((ends.max() ?? 0) > before + 1 << 18, "the failed commit did not grow the file")
        #expect(disk.byteCount() <= before)
        disk.failing = nil
        try store.commitNext([("small", value(100, 3))])
        #expect(try store.snapshot().value("small") == value(100, 3))
        #expect(try store.check().isEmpty)
    }

    @Test func theEndThatAnotherProcessLeftIsGivenBack() throws {
        let scratch = try Scratch()
        let options = PageStoreOptions(path: scratch.path())
        let store = try PageStore.open(options)
        try store.commitNext([("a", [1])])
        let helper = try HelperProcess("fill-and-empty", scratch.path())
        #expect(helper.line() == "done")
        helper.join()
        #expect(try store.statistics().fileBytes > 8_000_000)
        for round in 0 ..< 4 { try store.commitNext([("a", [UInt8(round)])]) }
        #expect(try store.statistics().fileBytes < 3_000_000)
        #expect(try store.check().isEmpty)
    }

    /// A new WAL may need a longer file than another process has left.
    @Test func aWALBehindAnEndThatAnotherProcessCutIsWhole() throws {
        let scratch = try Scratch()
        var options = PageStoreOptions(path: scratch.path())
        options.walPages = 400
        let store = try PageStore.open(options)
        var batch = PageBatch()
        for number in 0 ..< 200 { batch.put([9, UInt8(number)], [UInt8](repeating: 1, count: 40_000)) }
        try store.commitNext(batch)
        #expect(try store.statistics().fileBytes > 8_000_000)
        let helper = try HelperProcess("empty", scratch.path(), environment: ["MOTTE_WAL_PAGES=0"])
        #expect(helper.line() == "done")
        helper.join()
        #expect(try store.statistics().fileBytes < 3_000_000)
        for round in 0 ..< 4 { try store.commitNext([("a", [UInt8(round)])]) }
        let statistics = try store.statistics()
        #expect(statistics.pageCount > 400 && statistics.fileBytes >= statistics.pageCount * 4096)
        store.close()
        let again = try PageStore.open(options)
        #expect(try again.snapshot().value("a") == [3] && again.snapshot().passedOver == nil && again.check().isEmpty)
    }

    /// More pins than a process has words for: nothing is lost, only space is kept longer.
    @Test func moreVersionsThanPinsStayWhole() throws {
        let test = try TestStore(.file)
        var pinned: [(PageSnapshot, [UInt8])] = []
        for round in 0 ..< 200 {
            try test.commit([("a", value(50, round)), ("b", value(4000, round))])
            pinned.append((try test.store.snapshot(), value(4000, round)))
        }
        for (snapshot, expected) in pinned { #expect(try snapshot.value("b") == expected) }
        #expect(try test.store.readers().count > 60)
        pinned = []
        for round in 0 ..< 50 { try test.commit([("b", value(4000, round))]) }
        #expect(try test.store.check().isEmpty)
        #expect(try test.store.readers().isEmpty || test.store.liveVersionCount() == 1)
    }

    @Test(arguments: [4096, 16384])
    func theAccountAgreesWithThePagesAfterRandomCommits(_ pageBytes: Int) throws {
        try PropertyTest.run(rounds: 6) { random, comment in
            let disk = MemoryDisk()
            func open() throws -> PageStore {
                var options = PageStoreOptions(location: .memory(identifier: nil))
                options.disk = disk
                options.pageBytes = pageBytes
                options.mostFileBytes = 64 << 20
                return try PageStore.open(options)
            }
            var store = try open()
            var pinned: [PageSnapshot] = []
            for _ in 0 ..< 60 {
                let count = random.below(random.chance(15) ? 300 : 8)
                try store.commitNext(
                    (0 ..< count).map { _ in
                        let key = "k\(random.below(400))"
                        let size = random.pick([0, 30, 300, 1900, 4096, 20_000])
                        return (key, random.chance(40) ? nil : value(size, random.below(256)))
                    })
                if random.chance(20) { pinned.append(try store.snapshot()) }
                if random.chance(20), !pinned.isEmpty { pinned.remove(at: random.below(pinned.count)) }
                if random.chance(20) {
                    pinned = []
                    store.close()
                    store = try open()
                }
                let problems = try store.check()
                #expect(problems.isEmpty, "\(comment)")
                if !problems.isEmpty { return }
                try store.checkInvariants()
            }
        }
    }

    @Test func aSmallCommitIsFewPagesAndOneFlush() throws {
        let scratch = try Scratch()
        let options = PageStoreOptions(path: scratch.path())
        let store = try PageStore.open(options)
        try store.commitNext((0 ..< 3000).map { ("k\($0)", value(40, $0)) })
        try store.commitNext([("k7", [1])])
        let before = try store.statistics()

        for round in 0 ..< 20 { try store.commitNext([("k1500", [UInt8(round)])]) }

        let after = try store.statistics()
        #expect(after.flushCount - before.flushCount == 20)
        // Two leaves (the header record is in the first), a branch for each level above, and the slot.
        #expect((after.writtenBytes - before.writtenBytes) / 20 <= 4096 * 6)
    }
}
