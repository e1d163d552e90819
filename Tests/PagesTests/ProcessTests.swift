// What holds between processes: the write lock, its release by death, the wake after a commit, observer slots, fork.
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

@Suite(.serialized) struct ProcessTests {
    @Test(arguments: StoreForm.files)
    func theWriteLockExcludesOtherProcesses(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let helper = try HelperProcess("hold", test.scratch.path())
        #expect(helper.line() == "locked")

        #expect(try failure { try test.store.lockForWriting(timeoutMilliseconds: 0) }.code == .timeout)
        #expect(try failure { try test.store.lockForWriting(timeoutMilliseconds: 30) }.code == .timeout)
        // Opening does not wait for a writer.
        let beside = try TestStore.options(test.scratch.path(), isBeside: true)
        #expect(try PageStore.open(beside).snapshot().version == Version(0))
        helper.goOn()
        try test.store.lockForWriting(timeoutMilliseconds: 10_000).release()
    }

    @Test(arguments: StoreForm.files)
    func theKernelReleasesTheLockOfADeadProcess(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let helper = try HelperProcess("commit-and-die", test.scratch.path())
        #expect(helper.line() == "locked")

        helper.kill()
        let lock = try test.store.lockForWriting(timeoutMilliseconds: 5_000)

        #expect(try test.store.snapshot().value("count") == Array("1".utf8))
        #expect(try test.store.latestVersion == Version(1))
        lock.release()
    }

    @Test(arguments: StoreForm.files)
    func processesCountTogether(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let helpers = try (0 ..< 3).map { _ in try HelperProcess("count", test.scratch.path()) }
        for helper in helpers { #expect(helper.line() == "ready") }

        for helper in helpers { helper.goOn() }
        for helper in helpers { #expect(helper.line() == "done") }

        #expect(try test.store.snapshot().value("count") == Array("150".utf8))
        #expect(try test.store.snapshot().version == Version(150))
    }

    @Test(arguments: StoreForm.files)
    func aCommitOfAnotherProcessWakesWaiters(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let helper = try HelperProcess("count", test.scratch.path())
        #expect(helper.line() == "ready")
        helper.goOn()

        var seen = Version(0)
        while seen < Version(50) {
            seen = try #require(try test.store.signal.wait(after: seen, timeoutMilliseconds: 10_000))
            #expect(try test.store.snapshot().version >= seen)
        }
    }

    @Test(arguments: StoreForm.files)
    func observersAndReadersOfDeadProcessesAreForgotten(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let own = try test.store.claimObserverSlot(at: Version(7))
        let helper = try HelperProcess("observe", test.scratch.path())
        #expect(helper.line() == "observing")
        #expect(try test.store.oldestObservedVersion() == Version(3))
        #expect(try test.store.readers().contains { $0.processID == helper.process })
        let process = helper.process

        helper.kill()

        #expect(try test.store.oldestObservedVersion() == Version(7))
        #expect(try !test.store.readers().contains { $0.processID == process })
        own.move(to: Version(9))
        #expect(try test.store.oldestObservedVersion() == Version(9))
        own.release()
        #expect(try test.store.oldestObservedVersion() == nil)
    }

    /// Sanitizers need more address space than this leaves.
    @Test(.enabled(if: getenv("MOTTE_TEST_SANITIZER") == nil), arguments: StoreForm.files)
    func aFileIsReadInLessAddressSpaceThanItTakes(_ form: StoreForm) throws {
        let test = try TestStore(form)
        for index in UInt8(0) ..< 64 {
            let value = [UInt8](repeating: index, count: 1 << 20)
            try test.store.commitNext([(String(decoding: [5, index], as: UTF8.self), value)])
        }
        let helper = try HelperProcess("limit-memory", test.scratch.path())

        #expect(helper.line() == "read \(64 << 20)")
    }

    @Test(arguments: StoreForm.files)
    func aWriteThatDoesNotFitChangesNothing(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let helper = try HelperProcess("limit-file", test.scratch.path())

        let line = try #require(helper.line())

        #expect(line == "refused diskFull at 0" || line == "refused inputOutput at 0")
        #expect(helper.line() == "at 1")
    }

    @Test(arguments: StoreForm.allCases)
    func aForkedChildIsRefused(_ form: StoreForm) throws {
        let scratch = try Scratch()
        let helper = try HelperProcess("fork", scratch.directory, environment: ["MOTTE_PAGES_FORM=\(form.rawValue)"])

        #expect(helper.line() == "parent 0")
        #expect(helper.line() == "child 7")
        #expect(helper.line() == "1")
        #expect(helper.line() == "done")
    }
}
