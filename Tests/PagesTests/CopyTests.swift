// Copies and compaction beside what they were made of, with batches of every size: small ones, and the real one, which
// files of more than 16 MB take several of.
import MottePages
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct CopyTests {
    /// Fills a store with entries of all lengths, some of them on pages of their own, until they are `byteCount`.
    private func fill(_ store: PageStore, byteCount: Int, _ random: inout SeededRandom) throws {
        var written = 0
        var number = 0
        while written < byteCount {
            var batch = PageBatch()
            while batch.byteCount < min(byteCount - written, 8 << 20) {
                let length = random.chance(3) ? 4_000 + random.below(60_000) : random.below(400)
                let value = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: length)
                batch.put(Array("\(number % 7) key \(number)".utf8), value)
                number += 1
            }
            written += batch.byteCount
            try store.commitNext(batch)
        }
    }

    /// Lets each copy be changed between its writing and its being compared.
    private func store(_ form: StoreForm, ruining ruin: @escaping @Sendable (String) -> Void) throws -> TestStore {
        try TestStore(form, faults: FaultInjection(willCheckCopy: ruin))
    }

    private func expectCopy(_ path: String, equals contents: [(key: [UInt8], value: [UInt8])]) throws {
        let copy = try PageStore.open(try TestStore.options(path))
        defer { copy.close() }
        let found = try copy.snapshot().contents()
        #expect(found.count == contents.count)
        let isEqual = zip(found, contents).allSatisfy { $0.0 == $1.0 && $0.1 == $1.1 }
        #expect(isEqual)
        #expect(try copy.check().isEmpty)
        let statistics = try copy.statistics()
        #expect(statistics.entryCount == contents.count + 1)
        #expect(statistics.fileBytes == statistics.pageCount * statistics.pageBytes)
    }

    /// 40 MB are three batches of the real size.
    @Test(arguments: StoreForm.files)
    func copiesOfSeveralRealBatchesAreWhole(_ form: StoreForm) throws {
        var random = SeededRandom(seed: 7)
        let test = try TestStore(form)
        try fill(test.store, byteCount: 40 << 20, &random)
        let contents = try test.store.snapshot().contents()
        try test.store.copy(try test.store.snapshot(), to: test.scratch.path("copy.motte"))
        try expectCopy(test.scratch.path("copy.motte"), equals: contents)
        test.store.close()
        _ = try PageStore.compact(try TestStore.options(test.scratch.path()))
        try expectCopy(test.scratch.path(), equals: contents)
    }

    /// The same with batches of a few kilobytes, so that trees of several levels grow by many of them.
    @Test(arguments: StoreForm.allCases)
    func copiesOfManySmallBatchesAreWhole(_ form: StoreForm) throws {
        try PropertyTest.run(rounds: 4) { random, comment in
            let test = try TestStore(form)
            try fill(test.store, byteCount: 100_000 + random.below(2 << 20), &random)
            let contents = try test.store.snapshot().contents()
            let batchBytes = 1 + random.below(random.chance(50) ? 9_000 : 200_000)
            var reports: [PageProgress] = []
            try test.store.copy(
                try test.store.snapshot(), to: test.scratch.path("copy.motte"), batchBytes: batchBytes
            ) { progress in reports.append(progress) }
            try expectCopy(test.scratch.path("copy.motte"), equals: contents)
            #expect(reports.last.map { $0.done == $0.total } == true, "\(comment)")
            #expect(zip(reports, reports.dropFirst()).allSatisfy { $0.done <= $1.done }, "\(comment)")
            guard form.hasFile else { return }
            test.store.close()
            _ = try PageStore.compact(try TestStore.options(test.scratch.path()), batchBytes: batchBytes)
            try expectCopy(test.scratch.path(), equals: contents)
            #expect(Set(Scratch.names(in: test.scratch.directory)).isSubset(of: CopyTests.expectedNames))
        }
    }

    private static let expectedNames: Set<String> = [
        "test.motte", "test.motte-shared", "copy.motte", "copy.motte-shared",
    ]

    /// 40 kB of entries around a batch of exactly as many bytes, one less and one more.
    @Test(arguments: [-1, 0, 1])
    func aBatchThatIsJustFullOrJustNotIsTheSame(_ difference: Int) throws {
        var random = SeededRandom(seed: 11)
        let test = try TestStore(.file)
        try fill(test.store, byteCount: 40_000, &random)
        let contents = try test.store.snapshot().contents()
        let bytes = contents.reduce(0) { $0 + $1.key.count + $1.value.count }
        for part in [bytes, bytes / 2, bytes / 3] {
            let name = "copy\(part).motte"
            try test.store.copy(
                try test.store.snapshot(), to: test.scratch.path(name), batchBytes: part + difference)
            try expectCopy(test.scratch.path(name), equals: contents)
        }
    }

    /// Whatever is wrong with a copy, it never stands in for anything: nothing has its name, nothing was replaced.
    @Test(arguments: [StoreForm.file, .sealed])
    func aCopyThatReadsBackOtherwiseReplacesNothing(_ form: StoreForm) throws {
        var random = SeededRandom(seed: 5)
        let ruins: [@Sendable (String) -> Void] = [
            { path in _ = TemporaryDirectory.write(Array(TemporaryDirectory.read(path).dropLast(30_000)), path) },
            { path in
                var bytes = TemporaryDirectory.read(path)
                for offset in stride(from: bytes.count / 2, to: bytes.count / 2 + 4_096, by: 64) { bytes[offset] ^= 1 }
                _ = TemporaryDirectory.write(bytes, path)
            },
            { path in _ = TemporaryDirectory.write([], path) },
            { path in unlink(path) },
        ]
        for ruin in ruins {
            let test = try store(form, ruining: ruin)
            try fill(test.store, byteCount: 300_000, &random)
            let contents = try test.store.snapshot().contents()
            let error = try failure {
                try test.store.copy(try test.store.snapshot(), to: test.scratch.path("copy.motte"), batchBytes: 50_000)
            }
            #expect(error.code == .inputOutput && error.message.contains("nothing was replaced"), "\(error)")
            #expect(!Scratch.names(in: test.scratch.directory).contains { $0.hasPrefix("copy") })
            test.store.close()
            let before = try test.scratch.read()
            var options = try TestStore.options(test.scratch.path())
            options.faults = FaultInjection(willCheckCopy: ruin)
            #expect(try failure { try PageStore.compact(options, batchBytes: 50_000) }.code == .inputOutput)
            #expect(try test.scratch.read() == before)
            #expect(Set(Scratch.names(in: test.scratch.directory)).isSubset(of: CopyTests.expectedNames))
            try expectCopy(test.scratch.path(), equals: contents)
        }
    }

    /// A sound file with other contents is no copy either.
    @Test func aCopyWithOtherEntriesIsFound() throws {
        for (key, value) in [("1 key 1", Array("other".utf8)), ("zzz", [1]), ("2 key 2", nil)] as [(String, [UInt8]?)] {
            let test = try store(.file) { path in
                do {
                    let copy = try PageStore.open(PageStoreOptions(path: path))
                    try copy.commitNext([(key, value)])
                    copy.close()
                    unlink(path + "-shared")
                } catch {
                    Issue.record(error)
                }
            }
            try test.commit((0 ..< 50).map { ("\($0) key \($0)", Array("value".utf8)) })
            let error = try failure {
                try test.store.copy(try test.store.snapshot(), to: test.scratch.path("copy.motte"))
            }
            #expect(error.code == .inputOutput, "\(error)")
            #expect(!Scratch.names(in: test.scratch.directory).contains { $0.hasPrefix("copy") })
        }
    }

    /// Another file that took the source's name while it was compacted stays.
    @Test func whatTookTheSourcesPlaceIsNotReplaced() throws {
        let scratch = try Scratch()
        let store = try PageStore.open(PageStoreOptions(path: scratch.path()))
        try store.commitNext([("a", [1])])
        store.close()
        let path = scratch.path()
        var options = PageStoreOptions(path: path)
        options.faults = FaultInjection(willCheckCopy: { _ in
            unlink(path)
            _ = TemporaryDirectory.write([7], path)
        })
        #expect(try failure { try PageStore.compact(options) }.code == .busy)
        #expect(try scratch.read() == [7])
    }
}
