// Random batches on a store and on a dictionary: after each commit they agree, as do the snapshots still pinned.
import MottePages
import MotteValues
import TestSupport
import Testing

@Suite struct PageModelTests {
    private typealias Model = [[UInt8]: [UInt8]]

    @Test(arguments: StoreForm.allCases)
    func randomBatchesAgreeWithADictionary(_ form: StoreForm) throws {
        try PropertyTest.run(rounds: 4) { random, comment in
            let test = try TestStore(form)
            var store = test.store
            var model: Model = [:]
            var pinned: [(PageSnapshot, Model)] = []
            var compaction = OnlineCompaction(stepBytes: 1 + random.below(100_000), slackPages: random.below(20))
            for _ in 0 ..< 30 {
                var batch = PageBatch()
                for _ in 0 ..< random.below(random.chance(20) ? 800 : 40) { change(&batch, &model, &random) }
                if compaction.isEnded, random.chance(10) {
                    compaction = OnlineCompaction(stepBytes: 1 + random.below(100_000), slackPages: random.below(20))
                }
                let version = try store.commitNext(batch, random.chance(30) ? compaction : nil)

                let snapshot = try store.snapshot()
                #expect(snapshot.version == version, "\(comment)")
                try store.checkInvariants()
                try agree(snapshot, model, &random, comment)
                if random.chance(30) { pinned.append((snapshot, model)) }
                if random.chance(20), !pinned.isEmpty { pinned.remove(at: random.below(pinned.count)) }
                if form.hasFile, random.chance(20) {
                    // Opening again runs the checks of the file, deletions at its end included.
                    pinned = []
                    store.close()
                    store = try PageStore.open(TestStore.options(test.scratch.path()))
                }
            }
            for (snapshot, model) in pinned { try agree(snapshot, model, &random, comment) }
        }
    }

    private func change(_ batch: inout PageBatch, _ model: inout Model, _ random: inout SeededRandom) {
        let key: [UInt8] = [1] + Array("\(random.below(random.chance(50) ? 30 : 2000))".utf8)
        if random.chance(35) {
            batch.delete(key)
            model[key] = nil
        } else {
            let size = random.pick([0, 1, 50, 300, 1900, 2040, 2041, 4000, 9000])
            let value = [UInt8](repeating: UInt8(truncatingIfNeeded: random.next()), count: size)
            batch.put(key, value)
            model[key] = value
        }
    }

    private func agree(
        _ snapshot: PageSnapshot, _ model: Model, _ random: inout SeededRandom, _ comment: String
    ) throws {
        let expected = model.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        let contents = try snapshot.contents()
        #expect(contents.map(\.key) == expected.map(\.key), "\(comment)")
        #expect(contents.map(\.value) == expected.map(\.value), "\(comment)")
        let cursor = try snapshot.makeCursor()
        for _ in 0 ..< 6 {
            let key: [UInt8] = [1] + Array("\(random.below(2000))".utf8)
            #expect(try snapshot.get(key).map { [UInt8]($0.bytes) } == model[key], "\(comment)")
            let atOrAfter = expected.first { !$0.key.lexicographicallyPrecedes(key) }
            let found = try cursor.seek(key)
            #expect(found == (atOrAfter != nil), "\(comment)")
            if let atOrAfter { #expect(cursor.key.elementsEqual(atOrAfter.key), "\(comment)") }
            let atOrBefore = expected.last { !key.lexicographicallyPrecedes($0.key) }
            #expect(try cursor.seekLast(atMost: key), "\(comment)")  // the header record is before all
            #expect(cursor.key.elementsEqual(atOrBefore?.key ?? FileHeader.key), "\(comment)")
        }
    }
}
