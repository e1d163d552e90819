// Files that are deleted, renamed or replaced while they are open, and sidecar to which the same happens: no commit is
// acknowledged that nobody will find, and no two writers work without seeing each other.
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

@Suite(.serialized) struct MovedFileTests {
    private func isRefused(_ test: TestStore, _ part: String, _ form: StoreForm) throws {
        let error = try failure { try test.store.commitNext([("name", Array("second".utf8))]) }
        #expect(error.code == .fileMoved, "\(form): \(error)")
        #expect(error.message.contains(part), "\(form): \(error)")
        #expect(error.message.contains(test.scratch.path()) && error.message.contains("close"), "\(error)")
        // What there was can be read, and the lock is free again.
        #expect(try test.store.snapshot().value("name") == Array("first".utf8))
        #expect(try failure { try test.store.lockForWriting(timeoutMilliseconds: 0) }.code == .fileMoved)
    }

    @Test(arguments: StoreForm.files) func aDeletedFileTakesNoWrites(_ form: StoreForm) throws {
        let test = try TestStore(form)
        try test.commit([("name", Array("first".utf8))])
        let path = test.scratch.path()
        unlink(path)

        try isRefused(test, "deleted or renamed", form)
        let again = try failure { try PageStore.open(PageStoreOptions(path: path)) }
        #expect(again.code == .fileMoved && again.message.contains("this process"), "\(again)")
        #expect(Scratch.names(in: test.scratch.directory).first { $0 == "test.motte" } == nil)

        test.store.close()
        let new = try PageStore.open(PageStoreOptions(path: path))
        #expect(try new.snapshot().version == Version(0))
        try new.commitNext([("name", Array("new".utf8))])
    }

    @Test(arguments: StoreForm.files) func aRenamedFileTakesNoWrites(_ form: StoreForm) throws {
        let test = try TestStore(form)
        try test.commit([("name", Array("first".utf8))])
        rename(test.scratch.path(), test.scratch.path("other.motte"))

        try isRefused(test, "deleted or renamed", form)
        rename(test.scratch.path("other.motte"), test.scratch.path())
        // Where it was it can be written again.
        try test.commit([("name", Array("second".utf8))])
        #expect(try test.store.snapshot().value("name") == Array("second".utf8))
    }

    enum Harm: CaseIterable { case cutToNothing, cutShort, headOverwritten, replacedByAnOlderCopy }

    @Test(arguments: StoreForm.files, Harm.allCases)
    func aFileThatWasCutOrOverwrittenTakesNoCommit(_ form: StoreForm, _ harm: Harm) throws {
        let test = try TestStore(form)
        try test.commit([("name", Array("first".utf8))])
        let older = try test.scratch.read()
        for number in 0 ..< 12 { try test.commit([("key \(number)", [UInt8](repeating: 3, count: 3000))]) }
        let path = test.scratch.path()
        let whole = try test.scratch.read()
        let descriptor = open(path, O_WRONLY)
        defer { close(descriptor) }
        switch harm {
        case .cutToNothing: #expect(ftruncate(descriptor, 0) == 0)
        case .cutShort: #expect(ftruncate(descriptor, 20_000) == 0)
        case .headOverwritten: #expect(pwrite(descriptor, "no database", 11, 0) == 11)
        case .replacedByAnOlderCopy:
            #expect(pwrite(descriptor, older, older.count, 0) == older.count)
        }
        let harmed = try test.scratch.read()

        for _ in 0 ..< 2 {
            let error = try failure { try test.store.commitNext([("name", Array("second".utf8))]) }
            #expect(error.code == .fileMoved && error.message.contains("overwritten"), "\(error)")
        }
        test.store.close()
        // Closing adds nothing either.
        #expect(try test.scratch.read() == harmed)
        try test.scratch.write(whole)
        let again = try PageStore.open(TestStore.options(path))
        #expect(try again.snapshot().value("name") == Array("first".utf8))
    }

    /// Its sidecar would be written over that database, and deleted with it.
    @Test func aDatabaseNamedAsASidecarIsNotTouched() throws {
        let scratch = try Scratch()
        let path = scratch.path("b.motte")
        let other = path + "-shared"
        let first = try PageStore.open(PageStoreOptions(path: other))
        try first.commitNext([("name", Array("first".utf8))])
        first.close()
        let before = try scratch.read("b.motte-shared")
        let error = try failure { try PageStore.open(PageStoreOptions(path: path)) }
        #expect(error.code == .lockFailed && error.message.contains("is a database"), "\(error)")
        #expect(rename(other, path) == 0)
        let moved = try PageStore.open(PageStoreOptions(path: path))
        moved.close()
        // One that came to the name later.
        #expect(TemporaryDirectory.write(before, other))
        #expect(try failure { try PageStore.open(PageStoreOptions(path: path)) }.code == .lockFailed)
        #expect(try failure { try PageStore.deleteFile(PageStoreOptions(path: path)) }.code == .lockFailed)
        #expect(
            try failure { try PageStore.compact(PageStoreOptions(path: path)) { _, _ in true } }.code == .lockFailed)
        #expect(try scratch.read("b.motte-shared") == before)
    }

    /// By an older copy of itself, which has the same identifiers inside.
    @Test(arguments: StoreForm.files) func aReplacedFileTakesNoWrites(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let path = test.scratch.path()
        try test.store.commitNext([])
        let older = try test.scratch.read()
        try test.commit([("name", Array("first".utf8))])
        try test.scratch.write(older, "older.motte")
        rename(test.scratch.path("older.motte"), path)

        try isRefused(test, "replaced", form)
        #expect(try failure { try PageStore.open(TestStore.options(path)) }.code == .fileMoved)
        let helper = try HelperProcess("count", path)
        #expect(helper.line()?.hasPrefix("error fileMoved") == true)

        test.store.close()
        #expect(try PageStore.open(TestStore.options(path)).snapshot().value("name") == nil)
    }

    @Test(arguments: StoreForm.files) func aFileDeletedInTheMiddleOfAWriteTakesNoCommit(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let lock = try test.store.lockForWriting(timeoutMilliseconds: 1_000)
        var batch = PageBatch()
        batch.put([9], [1])
        unlink(test.scratch.path())

        for _ in 0 ..< 2 {
            #expect(try failure { try test.store.commit(batch, lock: lock, version: Version(1)) }.code == .fileMoved)
        }
        lock.release()
        #expect(try test.store.snapshot().version == Version(0))
    }

    /// A sidecar that is only renamed leaves the writer alone, and others out.
    @Test(arguments: StoreForm.files) func whoFindsNoSideFileMakesNoSecondOne(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let path = test.scratch.path()
        rename(path + "-shared", test.scratch.path("away"))
        try test.commit([("name", Array("first".utf8))])
        let helper = try HelperProcess("count", path)
        #expect(helper.line()?.hasPrefix("error fileMoved") == true)
        helper.join()
        try test.commit([("name", Array("second".utf8))])
        test.store.close()
        #expect(try PageStore.open(TestStore.options(path)).snapshot().value("name") == Array("second".utf8))
    }

    /// A process that another thread is starting has all descriptors until it runs its program, and locks of open file
    /// descriptions live as long as any of them.
    @Test(arguments: StoreForm.files) func closingEndsLocksThatOthersHaveDescriptorsOf(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let path = test.scratch.path()
        try test.commit([("name", Array("first".utf8))])
        let copies = descriptors(of: [path, path + "-shared"]).map { dup($0) }
        defer { copies.forEach { close($0) } }
        #expect(copies.count >= 2)

        test.store.close()
        unlink(path + "-shared")
        let store = try PageStore.open(TestStore.options(path))
        #expect(try store.snapshot().value("name") == Array("first".utf8))
        try store.commitNext([("name", Array("second".utf8))])
    }

    private func descriptors(of paths: [String]) -> [Int32] {
        (0 ..< 4_096).filter { descriptor in
            var name = [CChar](repeating: 0, count: 4_096)
            let count = readlink("/proc/self/fd/\(descriptor)", &name, name.count)
            guard count > 0 else { return false }
            return paths.contains(String(decoding: name[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self))
        }
    }

    /// Two writers with a lock each: the commits of one were gone, in a file that verified as sound.
    @Test(arguments: StoreForm.files) func withoutTheSideFileThereIsNoSecondWriter(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let path = test.scratch.path()
        try test.commit([("name", Array("first".utf8))])
        unlink(path + "-shared")

        try isRefused(test, "test.motte-shared", form)
        let helper = try HelperProcess("count", path)
        let line = helper.line() ?? ""
        #expect(line.hasPrefix("error fileMoved") && line.contains("-shared"), "\(form): \(line)")
        // Compaction would put another file in its place.
        #expect(try failure { _ = try PageStore.compact(try TestStore.options(path)) }.code == .busy)
        helper.join()

        test.store.close()
        let store = try PageStore.open(TestStore.options(path))
        #expect(try store.snapshot().value("name") == Array("first".utf8))
        try store.commitNext([("name", Array("second".utf8))])
    }

    /// Each name has a sidecar of its own, each lock directory too.
    @Test(arguments: StoreForm.files) func whoDoesNotShareTheSideFileIsRefused(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let path = test.scratch.path(), other = test.scratch.path("other.motte")
        try test.commit([("name", Array("first".utf8))])
        try #require(link(path, other) == 0)

        let helper = try HelperProcess("count", other)
        let line = helper.line() ?? ""
        #expect(line.hasPrefix("error fileMoved") && line.contains("another name"), "\(form): \(line)")
        helper.join()
        // In this process it is the file that is open.
        let same = try PageStore.open(TestStore.options(other, isBeside: true))
        #expect(try same.sharedIdentity == test.store.sharedIdentity)
        try test.commit([("name", Array("second".utf8))])
        same.close()
        test.store.close()

        var options = try TestStore.options(other)
        let alone = try PageStore.open(options)
        #expect(try alone.snapshot().value("name") == Array("second".utf8))
        alone.close()
        let locks = try Scratch()
        options.lockDirectory = locks.directory
        let elsewhere = try PageStore.open(options)
        let beside = try HelperProcess("count", other)
        #expect(beside.line()?.hasPrefix("error fileMoved") == true)
        beside.join()
        elsewhere.close()
    }

    @Test(arguments: StoreForm.files)
    func aFileDeletedWhileAnotherProcessHasItOpenIsNotMadeAgain(_ form: StoreForm) throws {
        let scratch = try Scratch()
        let path = scratch.path()
        let first = try TestStore(form)
        first.store.close()
        let bytes = try first.scratch.read()
        try scratch.write(bytes)
        let helper = try HelperProcess("hold", path)
        #expect(helper.line() == "locked")
        unlink(path)

        let options = PageStoreOptions(path: path)
        let error = try failure { try PageStore.open(options) }
        #expect(error.code == .fileMoved && error.message.contains("another process"), "\(error)")
        #expect(!Scratch.names(in: scratch.directory).contains("test.motte"))

        helper.kill()
        #expect(try PageStore.open(options).snapshot().version == Version(0))
    }

    /// Waiting for another process holds up neither other files nor a fork.
    @Test func openingWaitsAsLongAsItMayAndHoldsUpNobody() throws {
        let test = try TestStore(.file)
        test.store.close()
        let path = test.scratch.path()
        let other = open(path + "-shared", O_RDWR | O_CLOEXEC)
        try #require(motte_shim_lock_byte(other, SidecarLayout.attachByte, Int32(MOTTE_SHIM_EXCLUSIVE)) == 0)
        var options = PageStoreOptions(path: path)
        options.openTimeoutMilliseconds = 0
        let began = motte_shim_monotonic_ms()
        #expect(try failure { try PageStore.open(options) }.code == .busy)
        options.openTimeoutMilliseconds = 50
        #expect(try failure { try PageStore.open(options) }.code == .busy)
        let took = motte_shim_monotonic_ms() - began
        #expect(took >= 50 && took < 5_000)

        options.openTimeoutMilliseconds = -1
        let endless = options
        let opened = Locked<Result<Version, DatabaseError>?>(nil)
        let thread = ThreadRun {
            do throws(DatabaseError) {
                let version = try PageStore.open(endless).snapshot().version
                opened.withLock { $0 = .success(version) }
            } catch {
                opened.withLock { $0 = .failure(error) }
            }
        }
        usleep(20_000)
        let beside = try TestStore(.file)
        try beside.commit([("name", [1])])
        beside.store.close()
        #expect(opened.withLock { $0 == nil })
        close(other)
        try thread.join()
        #expect(try opened.withLock { try $0?.get() } == Version(0))
    }
}
