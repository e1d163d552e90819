// Page files with pages of every size, on a real disk: opened again, checked, damaged, salvaged without their head. And
// what holds of every page file: its values lie at multiples of 16 bytes, and its sidecar may be lost.
import MottePages
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct PageSizeTests {
    private func open(_ path: String, pageBytes: Int, sealed: Bool = false) throws -> PageStore {
        var options = PageStoreOptions(path: path)
        options.pageBytes = pageBytes
        options.durability = .none
        options.mostFileBytes = 64 << 20
        if sealed { options.encryptionKey = TestStore.key }
        return try PageStore.open(options)
    }

    /// Values in leaves and on pages of their own, up to several, in three versions.
    private func fill(_ store: PageStore) throws -> Contents {
        var contents: Contents = [:]
        for round in 0 ..< 3 {
            let indexes = (0 ..< 150).filter { ($0 + round) % 2 == 0 || round == 0 }
            let changes: [(String, [UInt8]?)] = indexes.map { index in
                let size = index % 10 == 0 ? 20_000 + index * 37 : index * 7
                return ("key-\(index)", [UInt8](repeating: UInt8(round * 80 + index % 80), count: size))
            }
            for (key, value) in changes { contents[key] = value }
            try store.commitNext(changes)
        }
        return contents
    }

    @Test(arguments: [4096, 8192, 16384, 32768]) func filesOfEveryPageSize(pageBytes: Int) throws {
        let scratch = try Scratch()
        let store = try open(scratch.path(), pageBytes: pageBytes)
        let contents = try fill(store)
        store.close()
        let sound = try scratch.read()
        #expect(Int(sound[12]) | Int(sound[13]) << 8 == pageBytes % 65536 && sound.count % pageBytes == 0)

        // Whatever is asked for when it is opened again, a file has the pages that it was made with.
        let again = try open(scratch.path(), pageBytes: 4096)
        #expect(try again.header.pageBytes == pageBytes)
        #expect(try CutRun.contents(try again.snapshot()) == contents)
        #expect(try again.check().isEmpty)
        again.close()

        // A byte of every page: found, or of no consequence.
        var found = 0
        for page in stride(from: 0, to: sound.count, by: pageBytes) {
            var damaged = sound
            damaged[page + (page / pageBytes * 977) % pageBytes] ^= 4
            try scratch.write(damaged)
            do {
                let store = try open(scratch.path(), pageBytes: pageBytes)
                defer { store.close() }
                #expect(try CutRun.contents(try store.snapshot()) == contents, "page \(page / pageBytes)")
            } catch let error as DatabaseError {
                found += 1
                #expect([.corrupted, .notAMotteFile, .unsupportedFormat].contains(error.code))
            }
        }
        #expect(found > 0)

        // The head said how large pages are; nodes say it too.
        var damaged = sound
        for position in 0 ..< 4 * pageBytes { damaged[position] = 0x55 }
        try scratch.write(damaged)
        let report = try PageStore.salvage(scratch.path(), to: scratch.path("saved.motte"))
        #expect(report.lostValueCount == 0)
        #expect(try CutRun.contents(try open(scratch.path("saved.motte"), pageBytes: 4096).snapshot()) == contents)
    }

    @Test(arguments: [(4096, false), (4096, true), (16384, false), (16384, true)])
    func valuesLieAtMultiplesOfSixteen(pageBytes: Int, sealed: Bool) throws {
        let scratch = try Scratch()
        let store = try open(scratch.path(), pageBytes: pageBytes, sealed: sealed)
        _ = try fill(store)
        let snapshot = try store.snapshot()
        let cursor = try snapshot.makeCursor()
        var isThere = try cursor.seek(UnsafeRawBufferPointer(start: nil, count: 0))
        var count = 0
        while isThere {
            count += 1
            #expect(UInt(bitPattern: cursor.value.bytes.baseAddress) % 16 == 0)
            isThere = try cursor.next()
        }
        #expect(count == 151)
    }

    /// Locks, slots of readers and observers and the wake word are beside the file, and no data is.
    @Test(arguments: StoreForm.files) func whatLiesBesideAFileMayBeLost(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let contents = try fill(test.store)
        test.store.close()
        for name in Scratch.names(in: test.scratch.directory) where name != "test.motte" {
            unlink(test.scratch.path(name))
        }
        #expect(Scratch.names(in: test.scratch.directory) == ["test.motte"])
        let again = try PageStore.open(TestStore.options(test.scratch.path()))
        #expect(try CutRun.contents(try again.snapshot()) == contents)
        try again.commitNext([("more", [1])])
        #expect(try again.snapshot().version == Version(4) && again.check().isEmpty)
        again.close()
        // One that is not what it should be is made again as well.
        #expect(TemporaryDirectory.write([UInt8](repeating: 0xEE, count: 70), test.scratch.path("test.motte-shared")))
        let third = try PageStore.open(TestStore.options(test.scratch.path()))
        #expect(try third.snapshot().value("more") == [1])
    }
}
