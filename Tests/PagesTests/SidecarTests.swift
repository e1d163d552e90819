// What processes that open one file at the same moment may take from the words they share: no process is played here,
// only what one leaves in the sidecar that is attached and has yet to open the file, or has died.
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

@Suite struct SidecarTests {
    /// A process that attached and waits for its turn to open the file. The sidecar is as it set it up.
    private final class Attached {
        let descriptor: Int32

        init(_ path: String, claimingSlot: Bool = true, words: [Int: UInt64] = [:]) throws {
            descriptor = open(path + "-shared", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            try #require(motte_shim_lock_byte(descriptor, SidecarLayout.attachByte, Int32(MOTTE_SHIM_SHARED)) == 0)
            var bytes = [UInt8](repeating: 0, count: SidecarLayout.byteCount)
            var words = words
            words[SidecarLayout.magicOffset] = SidecarLayout.magic
            words[SidecarLayout.numberOffset] =
                UInt64(SidecarLayout.number) | UInt64(SidecarLayout.byteCount) << 32
            if claimingSlot {
                // Of a process that is there, whatever runs this.
                words[SidecarLayout.slotOffset(0) + SidecarLayout.slotProcess] = 1
                let slot = SidecarLayout.slotByte(0)
                try #require(motte_shim_lock_byte(descriptor, slot, Int32(MOTTE_SHIM_EXCLUSIVE)) == 0)
            }
            bytes.withUnsafeMutableBytes { bytes in
                for (offset, word) in words { bytes.storeBytes(of: word, toByteOffset: offset, as: UInt64.self) }
            }
            try #require(pwrite(descriptor, bytes, bytes.count, 0) == bytes.count)
        }

        deinit { close(descriptor) }
    }

    /// Without what closing writes.
    private func leaveAsKilled(_ test: TestStore) throws {
        let bytes = try test.scratch.read()
        test.store.close()
        try test.scratch.write(bytes)
    }

    private static let ownForms: [StoreForm] = [.file, .sealed, .withWAL]

    /// Such a process says nothing of the file. Taken for one at work that had announced version 0, it made the next
    /// one open the file as it was when it was made, and write over what had been acknowledged.
    @Test(arguments: ownForms) func whoOnlyWaitsToOpenHasAnnouncedNothing(_ form: StoreForm) throws {
        let test = try TestStore(form)
        try test.store.commitNext([("name", Array("first".utf8))])
        try leaveAsKilled(test)
        let waiting = try Attached(test.scratch.path())

        let store = try PageStore.open(TestStore.options(test.scratch.path()))

        #expect(try store.latestVersion == Version(1))
        #expect(try store.snapshot().value("name") == Array("first".utf8))
        #expect(try store.signal.published == Version(1))
        try store.commitNext([("name", Array("second".utf8))])
        #expect(try store.latestVersion == Version(2))
        store.close()
        withExtendedLifetime(waiting) {}
    }

    /// A process that died between its commit and its announcement: who finds the commit says so, or others would
    /// write over it while this one shows it.
    @Test(arguments: ownForms) func whatIsFoundBeyondTheAnnouncedIsAnnounced(_ form: StoreForm) throws {
        let test = try TestStore(form)
        for number in 1 ... 3 { try test.store.commitNext([("name", [UInt8(number)])]) }
        try leaveAsKilled(test)
        let waiting = try Attached(
            test.scratch.path(), claimingSlot: false,
            words: [SidecarLayout.openedOffset: 1, SidecarLayout.versionOffset: 2])

        let store = try PageStore.open(TestStore.options(test.scratch.path()))

        #expect(try store.snapshot().value("name") == [3])
        #expect(try store.signal.published == Version(3))
        store.close()
        withExtendedLifetime(waiting) {}
    }

    /// Who is alone with a file does not look into it before each write. Once another process was there it does, and
    /// finds a commit that was not announced.
    @Test(arguments: ownForms) func whoWasAloneFindsWhatAnotherDidNotAnnounce(_ form: StoreForm) throws {
        let test = try TestStore(form)
        for number in 1 ... 3 { try test.store.commitNext([("name", [UInt8(number)])]) }
        let helper = try HelperProcess("commit-and-die", test.scratch.path())
        #expect(helper.line() == "locked")
        helper.kill()
        let other = open(test.scratch.path() + "-shared", O_RDWR | O_CLOEXEC)
        defer { close(other) }
        var announced: UInt64 = 3
        #expect(pwrite(other, &announced, 8, off_t(SidecarLayout.versionOffset)) == 8)

        let lock = try test.store.lockForWriting(timeoutMilliseconds: 5_000)

        #expect(try test.store.snapshot().version == Version(4))
        #expect(try test.store.snapshot().value("count") == Array("1".utf8))
        lock.release()
    }

    /// A slot of a dead process that is tested, then taken by a new one, then cleared: the new one lost its pins. Its
    /// process may have the same id, as in another container.
    @Test(arguments: [UInt64(77), 78]) func aSlotTakenSinceItWasTestedIsNotCleared(process: UInt64) throws {
        let scratch = try Scratch()
        let path = scratch.path() + "-shared"
        func attach() throws -> Sidecar {
            motte_shim_open_files_lock()
            defer { motte_shim_open_files_unlock() }
            return try Sidecar(attaching: path, .ofOwner, timeoutMilliseconds: 1_000)
        }
        func detach(_ sidecar: Sidecar) {
            motte_shim_open_files_lock()
            defer { motte_shim_open_files_unlock() }
            sidecar.detach()
        }
        let sidecar = try attach()
        let other = open(path, O_RDWR | O_CLOEXEC)
        defer { close(other) }
        func store(_ word: UInt64, _ offset: Int) {
            var word = word
            #expect(pwrite(other, &word, 8, off_t(offset)) == 8)
        }
        let slot = 5
        store(77 | 1 << 32, SidecarLayout.slotOffset(slot))
        let tested = sidecar.claim(slot)
        #expect(motte_shim_test_byte(other, SidecarLayout.slotByte(slot)) == 0)

        // Another process clears and claims it, and pins version 41.
        store(process | 2 << 32, SidecarLayout.slotOffset(slot))
        #expect(motte_shim_lock_byte(other, SidecarLayout.slotByte(slot), Int32(MOTTE_SHIM_EXCLUSIVE)) == 0)
        store(42, SidecarLayout.pinRowOffset(slot))
        sidecar.clear(slot, ifStill: tested)

        #expect(sidecar.otherSlots() == [slot])
        #expect(PagePins(sidecar).protected(and: []).versions == [Version(41)])
        // Its death is found by the next test.
        #expect(motte_shim_lock_byte(other, SidecarLayout.slotByte(slot), Int32(MOTTE_SHIM_UNLOCK)) == 0)
        #expect(PagePins(sidecar).protected(and: []).versions == [])
        #expect(sidecar.otherSlots() == [])
        // Two claims of one process differ.
        let first = sidecar.claim(sidecar.ownSlot)
        #expect(sidecar.process(sidecar.ownSlot) == getpid())
        #expect(motte_shim_lock_byte(other, SidecarLayout.attachByte, Int32(MOTTE_SHIM_SHARED)) == 0)
        detach(sidecar)
        let again = try attach()
        #expect(again.claim(again.ownSlot) != first)
        detach(again)
    }

    // MARK: Databases that could not be made

    private func names(_ scratch: Scratch) -> [String] { Scratch.names(in: scratch.directory) }

    /// Whether the disk has no room for the sidecar or, where that is there already, none for the database.
    @Test(arguments: [false, true]) func whatCouldNotBeMadeLeavesNothingBehind(hasSidecar: Bool) throws {
        let scratch = try Scratch()
        if hasSidecar {
            let store = try PageStore.open(PageStoreOptions(path: scratch.path()))
            store.close()
            unlink(scratch.path())
            #expect(names(scratch) == ["test.motte-shared"])
        }
        let helper = try HelperProcess("make-without-space", scratch.path())
        let answer = try #require(helper.line())
        helper.join()
        #expect(answer.hasPrefix("error "), "\(answer)")
        #expect(names(scratch) == [], "\(answer)")
        // There is room again.
        let store = try PageStore.open(PageStoreOptions(path: scratch.path()))
        try store.commitNext([("a", [1])])
        store.close()
    }

    private func options(_ path: String, _ change: (inout PageStoreOptions) -> Void = { _ in }) -> PageStoreOptions {
        var options = PageStoreOptions(path: path)
        // What no file can be made with.
        options.pageBytes = 1_000
        change(&options)
        return options
    }

    @Test func aSidecarStaysWhereOthersUseItOrThereIsADatabase() throws {
        let scratch = try Scratch()
        func requireFailure(_ options: PageStoreOptions) throws {
            #expect(try failure { try PageStore.open(options) }.code == .invalidArgument)
        }
        try requireFailure(options(scratch.path()))
        #expect(names(scratch) == [])
        // An empty file that somebody put there stays.
        try scratch.write([])
        try requireFailure(options(scratch.path()))
        #expect(names(scratch) == ["test.motte"])
        unlink(scratch.path())
        // Another process waits to open it.
        let waiting = try Attached(scratch.path())
        try requireFailure(options(scratch.path()))
        #expect(names(scratch) == ["test.motte-shared"])
        withExtendedLifetime(waiting) {}
        // With a directory of its own for what is shared.
        let locks = scratch.path("locks")
        mkdir(locks, 0o700)
        defer {
            for name in Scratch.names(in: locks) { unlink(locks + "/" + name) }
            rmdir(locks)
        }
        try requireFailure(options(scratch.path("other")) { $0.lockDirectory = locks })
        #expect(Scratch.names(in: locks) == [])
        // A database that is there and cannot be opened keeps what is beside it.
        let path = scratch.path("third")
        let store = try PageStore.open(options(path) { $0.pageBytes = 4096 })
        store.close()
        let key = TestStore.key
        #expect(throws: DatabaseError.self) { try PageStore.open(options(path) { $0.encryptionKey = key }) }
        #expect(names(scratch).contains("third-shared"))
    }

    /// Between two looks at a path another process may have made the file, or what a link leads to; that is no link
    /// that leads nowhere.
    @Test func aFileThatCameToBeSinceIsThere() throws {
        let scratch = try Scratch()
        let file = scratch.path("file"), link = scratch.path("link"), dangling = scratch.path("dangling")
        try scratch.write([], "file")
        symlink(file, link)
        symlink(scratch.path("nothing"), dangling)

        #expect(try FileLocation.isThere(file))
        #expect(try FileLocation.isThere(link))
        #expect(try !FileLocation.isThere(scratch.path("nothing")))
        #expect(try failure { try FileLocation.isThere(dangling) }.code == .fileNotFound)
        #expect(try failure { try FileLocation(dangling, PageStoreOptions(path: dangling)) }.code == .fileNotFound)
    }
}
