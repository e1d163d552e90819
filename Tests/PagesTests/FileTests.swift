// Opening what is there, what is not, and what is something else.
import CMotteShim
import MottePages
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct FileTests {
    private func open(_ path: String, _ change: (inout PageStoreOptions) -> Void = { _ in }) throws -> PageStore {
        var options = PageStoreOptions(path: path)
        options.durability = .none
        change(&options)
        return try PageStore.open(options)
    }

    /// The bytes of a sound file with some hundred entries.
    private func soundFile(_ scratch: Scratch) throws -> [UInt8] {
        let store = try open(scratch.path()) { $0.walPages = 0 }
        for round in 0 ..< 5 {
            try store.commitNext((0 ..< 60).map { ("k\($0)", [UInt8](repeating: UInt8(round), count: $0 * 70)) })
        }
        store.close()
        return try scratch.read()
    }

    /// A new file may get the number of one that is being deleted.
    @Test func filesAreMadeWhileOthersAreDeleted() throws {
        let scratch = try Scratch()
        defer { withExtendedLifetime(scratch) {} }
        let runs = (0 ..< 3).map { thread in
            ThreadRun { () throws -> Int in
                for round in 0 ..< 60 {
                    let path = scratch.path("\(thread)-\(round).motte")
                    let store = try self.open(path)
                    try store.commitNext([("a", [1])])
                    store.close()
                    guard try PageStore.deleteFile(PageStoreOptions(path: path)) else { return 1 }
                }
                return 0
            }
        }
        for run in runs { #expect(try run.join() == 0) }
    }

    @Test func reopeningFindsEverything() throws {
        let scratch = try Scratch()
        let first = try open(scratch.path()) { $0.rowGroupSize = 3 }
        try first.commitNext([("a", [1])])
        let header = try first.header
        first.close()

        let second = try open(scratch.path())

        #expect(try second.header == header)
        #expect(header.rowGroupSize == 3)
        #expect(try second.latestVersion == Version(1))
        #expect(try second.snapshot().value("a") == [1])
        #expect(Scratch.names(in: scratch.directory) == ["test.motte", "test.motte-shared"])
    }

    @Test func oneFileIsOpenOncePerProcess() throws {
        let scratch = try Scratch()
        let first = try open(scratch.path())
        symlink(scratch.path(), scratch.path("other-name"))

        let second = try open(scratch.path("other-name"))
        let third = try open(scratch.directory + "/./test.motte")

        #expect(try first.sharedIdentity == second.sharedIdentity)
        #expect(try first.sharedIdentity == third.sharedIdentity)
        first.close()
        try second.commitNext([("a", [1])])
        #expect(try third.snapshot().value("a") == [1])
    }

    @Test func aSnapshotOutlivesTheHandlesAndReopening() throws {
        let scratch = try Scratch()
        var store = try open(scratch.path())
        try store.commitNext([("a", [1])])
        let snapshot = try store.snapshot()
        store.close()
        store = try open(scratch.path())
        try store.commitNext([("a", [2])])

        #expect(try snapshot.value("a") == [1])
        #expect(try store.snapshot().value("a") == [2])
    }

    @Test func whatIsMissingIsNotMade() throws {
        let scratch = try Scratch()

        #expect(try failure { try open(scratch.path()) { $0.noCreate = true } }.code == .fileNotFound)
        #expect(try failure { try open(scratch.path()) { $0.readOnly = true } }.code == .fileNotFound)
        #expect(try failure { try open(scratch.path("no/such/x.motte")) }.code == .fileNotFound)
        #expect(try failure { try open("") }.code == .invalidArgument)
        #expect(try failure { try open("a\0b") }.code == .invalidArgument)
        #expect(Scratch.names(in: scratch.directory).isEmpty)
    }

    @Test func whatIsNoFileOfOursIsLeftAlone() throws {
        let scratch = try Scratch()
        try scratch.write(Array("plain text, and rather longer than a page header".utf8), "text")
        try scratch.write([UInt8](repeating: 0, count: 20_000), "zeros")
        try scratch.write([7], "short")
        // As a data file of LMDB begins.
        let magic = [UInt8](repeating: 0, count: 16) + [0xDE, 0xC0, 0xEF, 0xBE, 1, 0, 0, 0]
        try scratch.write(magic + [UInt8](repeating: 0, count: 20_000), "other")
        mkfifo(scratch.path("fifo"), 0o600)
        let before = Scratch.names(in: scratch.directory)

        for name in ["text", "zeros", "short", "other", "fifo"] {
            #expect(try failure { try open(scratch.path(name)) }.code == .notAMotteFile, "\(name)")
        }
        #expect(try failure { try open(scratch.directory) }.code == .notAMotteFile)
        #expect(try failure { try open(scratch.directory + "/") }.code == .notAMotteFile)

        #expect(Scratch.names(in: scratch.directory) == before)
    }

    @Test func anEmptyFileBecomesAStore() throws {
        let scratch = try Scratch()
        try scratch.write([])

        #expect(try failure { try open(scratch.path()) { $0.noCreate = true } }.code == .notAMotteFile)
        try open(scratch.path()).commitNext([("a", [1])])

        #expect(try open(scratch.path()).snapshot().value("a") == [1])
    }

    @Test func readersDoNotWrite() throws {
        let scratch = try Scratch()
        _ = try soundFile(scratch)
        for change: (inout PageStoreOptions) -> Void in [{ $0.readOnly = true }, { $0.immutable = true }] {
            let store = try open(scratch.path(), change)

            #expect(try failure { try store.lockForWriting(timeoutMilliseconds: 0) }.code == .readOnly)
            #expect(try store.snapshot().version == Version(5))
            store.close()
        }
        unlink(scratch.path("test.motte-shared"))
        try open(scratch.path()) { $0.immutable = true }.close()
        #expect(Scratch.names(in: scratch.directory) == ["test.motte"])
    }

    @Test(.enabled(if: geteuid() != 0, "root may open everything"))
    func withoutPermissionThereIsAnError() throws {
        let scratch = try Scratch()
        _ = try soundFile(scratch)
        chmod(scratch.path(), 0o444)
        #expect(try failure { try open(scratch.path()) }.code == .permissionDenied)
        chmod(scratch.path(), 0)
        #expect(try failure { try open(scratch.path()) { $0.readOnly = true } }.code == .permissionDenied)
    }

    @Test func aFullMapNamesTheOption() throws {
        let scratch = try Scratch()
        let store = try open(scratch.path()) { $0.mostFileBytes = 1 << 20 }
        var batch = PageBatch()
        for index in 0 ..< 100 { batch.put([1, UInt8(index)], [UInt8](repeating: 1, count: 20_000)) }

        let error = try failure { try store.commitNext(batch) }

        #expect(error.code == .mapFull)
        #expect(error.message.contains("max_file_size"))
        #expect(try store.snapshot().version == Version(0))
        try store.commitNext([("a", [1])])
        store.close()
        try open(scratch.path()).commitNext(batch)
    }

    /// Deleting is the way out of a full file: commit for commit, also where a log is on, and in any order.
    @Test(arguments: [0, 8, 64], [(300, 1), (3_000, 1), (10_000, 7)])
    func aFullFileTakesDeletions(walPages: Int, _ values: (size: Int, step: Int)) throws {
        let scratch = try Scratch()
        let store = try open(scratch.path()) {
            $0.mostFileBytes = 2 << 20
            $0.walPages = walPages
        }
        func key(_ number: Int) -> String { "\(number * 7_919 % 10_007)" }
        func value(_ number: Int) -> [UInt8] {
            [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: values.size)
        }
        var count = 0
        while count < 10_000 {
            do {
                try store.commitNext([(key(count), value(count))])
            } catch let error as DatabaseError {
                try #require(error.code == .mapFull, "\(error)")
                break
            }
            count += 1
        }
        try #require(count * values.size > 700_000)
        #expect(try failure { try store.commitNext([(key(count), value(count))]) }.code == .mapFull)

        var gone: Set<Int> = []
        for index in 0 ..< count / 2 {
            let number = index * values.step % count
            guard gone.insert(number).inserted else { continue }
            var batch = PageBatch()
            batch.delete(Array(key(number).utf8))
            batch.effect = .deletes
            try store.commitNext(batch)
        }
        // There is room again.
        for number in count ..< count + gone.count / 2 { try store.commitNext([(key(number), value(number))]) }
        store.close()
        let again = try open(scratch.path()).snapshot()
        for number in 0 ..< count + gone.count / 2 {
            #expect(try again.value(key(number)) == (gone.contains(number) ? nil : value(number)))
        }
    }

    /// The pages that did not fit any more lie behind the memory that describes pages: nothing of them is to be undone.
    @Test(arguments: [(8, 1 << 20), (9, 1 << 20), (12, 1 << 20), (40, 1 << 20), (1, 9 << 20), (9_000, 1_000)])
    func aFullMapLeavesEverythingAsItWas(_ count: Int, _ size: Int) throws {
        let scratch = try Scratch()
        let store = try open(scratch.path()) { $0.mostFileBytes = 8 << 20 }
        try store.commitNext([("a", [1])])
        var batch = PageBatch()
        for index in 0 ..< count {
            batch.put([1, UInt8(index >> 8), UInt8(index & 0xFF)], [UInt8](repeating: 1, count: size))
        }
        for _ in 0 ..< 3 {
            let error = try failure { try store.commitNext(batch) }
            #expect(error.code == .mapFull)
            #expect(try store.snapshot().version == Version(1))
        }
        try store.commitNext([("b", [2])])
        #expect(try store.snapshot().version == Version(2))
        store.close()
    }

    @Test(arguments: StoreForm.files)
    func aSecondCopyOfTheLibraryIsFound(_ form: StoreForm) throws {
        let scratch = try Scratch()
        func open() throws -> PageStore {
            try self.open(scratch.path()) { $0.encryptionKey = form == .sealed ? TestStore.key : nil }
        }
        try open().close()
        // What another copy in this process would hold: the shared attach lock, and a slot with our process in it.
        let other = try #require(fopen(scratch.path("test.motte-shared"), "r+"))
        let descriptor = fileno(other)
        #expect(motte_shim_lock_byte(descriptor, 2, Int32(MOTTE_SHIM_SHARED)) == 0)
        #expect(motte_shim_lock_byte(descriptor, 256, Int32(MOTTE_SHIM_EXCLUSIVE)) == 0)
        var slot = [UInt64(getpid()), motte_shim_process_start(getpid()), motte_shim_image_nonce() ^ 1, 0]
        pwrite(descriptor, &slot, 32, 128)

        #expect(try failure { try open() }.code == .secondCopy)
        fclose(other)
        try open().close()
    }
}
