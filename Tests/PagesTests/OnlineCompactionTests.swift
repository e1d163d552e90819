// Compaction beside others: the file gets as short as what it holds, in steps that are ordinary commits; readers and
// writers go on between them, and what an old version needs stays until nobody shows it.
import MottePages
import MotteValues
import TestSupport
import Testing

@Suite struct OnlineCompactionTests {
    private func value(_ size: Int, _ number: Int) -> [UInt8] {
        (0 ..< size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ number) }
    }

    /// Runs it to its end, with whatever is to happen between two steps.
    @discardableResult
    private func compact(
        _ store: PageStore, _ compaction: OnlineCompaction = OnlineCompaction(),
        _ between: (Int) throws -> Void = { _ in }
    ) throws -> OnlineCompaction.Outcome {
        var steps = 0
        while !compaction.isEnded {
            try store.commitNext(PageBatch(), compaction)
            try between(steps)
            steps += 1
            try #require(steps < 10_000)
        }
        return compaction.outcome
    }

    private func usedBytes(_ store: PageStore) throws -> Int {
        let statistics = try store.statistics()
        let pages = statistics.branchPageCount + statistics.leafPageCount + statistics.overflowPageCount
        return pages * statistics.pageBytes
    }

    /// Values of one to five pages, of which every other goes: no hole is next to another.
    private func fragmented(_ form: StoreForm, _ count: Int, sizes: [Int]) throws -> (TestStore, [String: [UInt8]]) {
        let test = try TestStore(form)
        var model: [String: [UInt8]] = [:]
        for start in stride(from: 0, to: count, by: 100) {
            let part = (start ..< start + 100).map { ("key\($0)", value(sizes[$0 % sizes.count], $0)) }
            try test.commit(part)
            for (key, value) in part { model[key] = value }
        }
        for start in stride(from: 0, to: count, by: 100) {
            try test.commit(stride(from: start, to: start + 100, by: 2).map { ("key\($0)", nil) })
        }
        for number in stride(from: 0, to: count, by: 2) { model["key\(number)"] = nil }
        return (test, model)
    }

    private func holds(_ store: PageStore, _ model: [String: [UInt8]]) throws -> Bool {
        let contents = try store.snapshot().contents()
        return contents.count == model.count
            && contents.allSatisfy { model[String(decoding: $0.key, as: UTF8.self)] == $0.value }
    }

    @Test(arguments: StoreForm.files + [.disk])
    func theFileGetsAsShortAsWhatItHolds(_ form: StoreForm) throws {
        let (test, model) = try fragmented(form, 2000, sizes: [3000, 9000, 5000, 15000, 20000])
        let before = try test.store.statistics().fileBytes

        let outcome = try compact(test.store, OnlineCompaction(stepBytes: 200_000))

        let used = try usedBytes(test.store)
        #expect(outcome.bytesBefore == before && outcome.heldBytes == 0)
        #expect(outcome.bytesAfter <= used + used / 16 + (1 << 18), "\(used) bytes are in use")
        let after = try test.store.statistics()
        #expect(after.fileBytes == outcome.bytesAfter && after.fileBytes == after.pageCount * after.pageBytes)
        #expect(outcome.bytesAfter < before * 3 / 5)
        #expect(try holds(test.store, model))
        #expect(try test.store.check().isEmpty)
        try test.store.checkInvariants()
        // A second one finds nothing to do.
        let again = try compact(test.store)
        #expect(again.movedBytes == 0 && again.bytesAfter <= outcome.bytesAfter)
    }

    /// Values of which none fits into what another has left.
    @Test func valuesLargerThanEveryHoleFindRoom() throws {
        let test = try TestStore(.file)
        for start in stride(from: 0, to: 3000, by: 100) {
            try test.commit((start ..< start + 100).map { ("small\($0)", value(4000, $0)) })
        }
        let large = (0 ..< 40).map { ("large\($0)", value(60_000, $0)) }
        try test.commit(large)
        for start in stride(from: 0, to: 3000, by: 100) {
            try test.commit(stride(from: start, to: start + 100, by: 2).map { ("small\($0)", nil) })
        }
        let before = try test.store.statistics().fileBytes

        let outcome = try compact(test.store)

        let used = try usedBytes(test.store)
        #expect(outcome.bytesAfter <= used + used / 8, "\(used) of \(before) bytes are in use")
        for (key, value) in large { #expect(try test.store.snapshot().value(key) == value) }
        #expect(try test.store.check().isEmpty)
    }

    @Test func eachStepMovesNoMoreThanItIsAllowed() throws {
        let (test, _) = try fragmented(.file, 1000, sizes: [9000])
        let compaction = OnlineCompaction(stepBytes: 100_000)
        var moved = 0
        try compact(test.store, compaction) { _ in
            #expect(compaction.outcome.movedBytes - moved <= 100_000 + 12_288)
            moved = compaction.outcome.movedBytes
            #expect(compaction.progress.done <= compaction.progress.total)
        }
        #expect(moved > 1_000_000)
        #expect(compaction.progress.done == compaction.progress.total)
    }

    /// The end stays for as long as a version needs it, says how much that is, and goes afterwards.
    @Test(arguments: StoreForm.files) func pinnedVersionsStayWhole(_ form: StoreForm) throws {
        let (test, model) = try fragmented(form, 1000, sizes: [9000, 3000])
        var pinned: PageSnapshot? = try test.store.snapshot()
        let before = try test.store.statistics().fileBytes
        let compaction = OnlineCompaction()
        let outcome = try compact(test.store, compaction)
        #expect(outcome.bytesAfter >= before * 9 / 10)
        #expect(outcome.heldBytes > 0)
        let contents = try #require(pinned).contents()
        #expect(contents.count == model.count)
        #expect(contents.allSatisfy { model[String(decoding: $0.key, as: UTF8.self)] == $0.value })

        pinned = nil
        compaction.settleAgain()
        try compact(test.store, compaction)
        #expect(compaction.outcome.heldBytes == 0)
        // What the version needed in the middle of the file is free only now.
        let released = try compact(test.store)
        #expect(released.bytesAfter < before * 3 / 5)
        #expect(try holds(test.store, model))
    }

    /// Others write between the steps, also what is about to be moved.
    @Test func othersWriteBetweenTheSteps() throws {
        try PropertyTest.run(rounds: 6) { random, comment in
            var (test, model) = try fragmented(random.pick(StoreForm.files), 600, sizes: [3000, 9000, 200])
            try compact(test.store, OnlineCompaction(stepBytes: 50_000)) { _ in
                let changes = (0 ..< random.below(4)).map { _ -> (String, [UInt8]?) in
                    let key = "key\(random.below(700))"
                    return (key, random.chance(40) ? nil : value(random.pick([100, 5000, 12000]), random.below(99)))
                }
                for (key, value) in changes { model[key] = value }
                if !changes.isEmpty { try test.store.commitNext(changes) }
                try test.store.checkInvariants()
            }
            #expect(try holds(test.store, model), "\(comment)")
            #expect(try test.store.check().isEmpty, "\(comment)")
        }
    }

    /// A damaged value is not copied as if it were whole: the step fails and nothing has changed.
    @Test func aDamagedValueEndsIt() throws {
        let (test, model) = try fragmented(.file, 400, sizes: [9000])
        test.store.close()
        var bytes = try test.scratch.read()
        // Of the last value that is left.
        let needle = value(9000, 399).prefix(64)
        let place = try #require(
            stride(from: bytes.count - 4096, to: 0, by: -4096).first { bytes[$0 ..< $0 + 64].elementsEqual(needle) })
        bytes[place + 500] ^= 1
        try test.scratch.write(bytes)
        let store = try PageStore.open(TestStore.options(test.scratch.path()))
        let compaction = OnlineCompaction(stepBytes: 1 << 30)
        let version = try store.snapshot().version
        let error = try failure { try store.commitNext(PageBatch(), compaction) }
        #expect(error.code == .corrupted)
        #expect(try store.snapshot().version == version)
        var found = 0
        for (key, value) in model where key != "key399" {
            #expect(try store.snapshot().value(key) == value)
            found += 1
        }
        #expect(found == 199)
    }

    /// By itself it never makes a commit fail that has nothing to do with what is damaged.
    @Test(arguments: [false, true]) func aDamagedValueIsNothingToCommitsOfAFileThatCompactsItself(
        isDamaged: Bool
    ) throws {
        let (test, model) = try fragmented(.file, 1200, sizes: [9000])
        for number in stride(from: 1, to: 1101, by: 100) {
            try test.commit(stride(from: number, to: number + 100, by: 2).map { ("key\($0)", nil) })
        }
        test.store.close()
        var bytes = try test.scratch.read()
        let before = bytes.count
        let needle = value(9000, 1199).prefix(64)
        let place = try #require(
            stride(from: bytes.count - 4096, to: 0, by: -4096).first { bytes[$0 ..< $0 + 64].elementsEqual(needle) })
        if isDamaged { bytes[place + 500] ^= 1 }
        try test.scratch.write(bytes)
        var options = try TestStore.options(test.scratch.path())
        options.compactsAutomatically = true
        let store = try PageStore.open(options)
        for number in 0 ..< 30 { try store.commitNext([("new\(number)", value(100, number))]) }
        #expect(try store.snapshot().value("new29") == value(100, 29))
        #expect(try store.snapshot().value("key1101") == model["key1101"])
        let after = try store.statistics().fileBytes
        #expect(isDamaged ? after > before / 2 : after < before / 4)
    }

    @Test func aDatabaseInMemoryHasNothingToCompact() throws {
        let test = try TestStore(.memory)
        try test.commit([("a", [1])])
        let outcome = try compact(test.store)
        #expect(outcome.movedBytes == 0 && outcome.bytesAfter == 0)
    }
}
