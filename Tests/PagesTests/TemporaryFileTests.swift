// Files that are made beside the one that they are going to be: names that cannot be planted, modes and owners, and
// what is left when their maker dies.
import MottePages
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct TemporaryFileTests {
    private func makeStore(_ scratch: Scratch, _ name: String = "test.motte") throws {
        let store = try PageStore.open(PageStoreOptions(path: scratch.path(name)))
        try store.commitNext([("a", [1, 2, 3])])
        store.close()
    }

    private func mode(_ path: String) throws -> mode_t {
        try #require(TemporaryFile.facts(path)).st_mode & 0o7777
    }

    /// Names that versions before used, and links under them to a file of somebody else.
    @Test func linksThatWerePlantedLeadNowhere() throws {
        let scratch = try Scratch()
        try scratch.write([1, 2, 3], "victim")
        for name in ["test.motte-new", "test.motte.compacting", "copy.motte-new", "copy.motte.copying"] {
            #expect(symlink(scratch.path("victim"), scratch.path(name)) == 0)
        }
        try makeStore(scratch)
        _ = try PageStore.compact(PageStoreOptions(path: scratch.path()))
        let store = try PageStore.open(PageStoreOptions(path: scratch.path()))
        try store.copy(try store.snapshot(), to: scratch.path("copy.motte"))
        store.close()
        #expect(try scratch.read("victim") == [1, 2, 3])
        #expect(try mode(scratch.path("victim")) == 0o644)
    }

    @Test func aLinkForTheSharedFileIsRefused() throws {
        let scratch = try Scratch()
        try scratch.write([1, 2, 3], "victim")
        for target in ["victim", "nothing"] {
            #expect(symlink(scratch.path(target), scratch.path("test.motte-shared")) == 0)
            let error = try failure { try makeStore(scratch) }
            #expect(error.message.contains("test.motte-shared"), "\(error)")
            for left in ["test.motte", "test.motte-shared"] { unlink(scratch.path(left)) }
        }
        #expect(try scratch.read("victim") == [1, 2, 3])
        #expect(!Scratch.names(in: scratch.directory).contains("nothing"))
    }

    /// A link in the way of a copy is something that is there, wherever it leads.
    @Test func aCopyDoesNotFollowALinkThatLeadsNowhere() throws {
        let scratch = try Scratch()
        try makeStore(scratch)
        #expect(symlink(scratch.path("nothing"), scratch.path("copy.motte")) == 0)
        let store = try PageStore.open(PageStoreOptions(path: scratch.path()))
        let error = try failure { try store.copy(try store.snapshot(), to: scratch.path("copy.motte")) }
        #expect(error.code == .invalidArgument)
        #expect(!Scratch.names(in: scratch.directory).contains("nothing"))
    }

    @Test(arguments: [0o600, 0o640, 0o664, 0o444] as [mode_t])
    func copiesHaveTheModeOfTheirSource(_ wanted: mode_t) throws {
        let scratch = try Scratch()
        try makeStore(scratch)
        var options = PageStoreOptions(path: scratch.path())
        if wanted & 0o200 != 0 {
            #expect(chmod(scratch.path(), wanted) == 0)
            _ = try PageStore.compact(options)
            #expect(try mode(scratch.path()) == wanted)
        }
        #expect(chmod(scratch.path(), wanted) == 0)
        options.readOnly = true
        let store = try PageStore.open(options)
        try store.copy(try store.snapshot(), to: scratch.path("copy.motte"))
        try store.copy(try store.snapshot(), to: scratch.path("sealed.motte"), encryption: .key(TestStore.key))
        store.close()
        try PageStore.copySeed(scratch.path(), to: scratch.path("seeded.motte"))
        for name in ["copy.motte", "sealed.motte", "seeded.motte"] {
            #expect(try mode(scratch.path(name)) == wanted | 0o600, "\(name)")
        }
        _ = try PageStore.salvage(scratch.path(), to: scratch.path("saved.motte"))
        #expect(try mode(scratch.path("saved.motte")) == wanted | 0o600)
    }

    @Test(.enabled(if: geteuid() == 0, "only root may give files away"))
    func aFileThatIsReplacedKeepsItsOwner() throws {
        let scratch = try Scratch()
        try makeStore(scratch)
        #expect(chown(scratch.path(), 1_234, 4_321) == 0 && chmod(scratch.path(), 0o660) == 0)
        _ = try PageStore.compact(PageStoreOptions(path: scratch.path()))
        let facts = try #require(TemporaryFile.facts(scratch.path()))
        #expect(facts.st_uid == 1_234 && facts.st_gid == 4_321 && facts.st_mode & 0o7777 == 0o660)
    }

    /// A file that somebody put there, to have it for themselves, stays theirs.
    @Test func anEmptyFileThatBecomesAStoreKeepsItsMode() throws {
        let scratch = try Scratch()
        try scratch.write([])
        #expect(chmod(scratch.path(), 0o600) == 0)
        try makeStore(scratch)
        #expect(try mode(scratch.path()) == 0o600)
    }

    @Test func whatADeadMakerLeftIsRemovedByTheNext() throws {
        let scratch = try Scratch()
        try makeStore(scratch)
        let left = ["copying", "compacting", "making", "salvaging"].map { "test.motte.\($0)-0123456789abcdef" }
        for name in left { try scratch.write([1], name) }
        // Not ours: other digits, another target, a folder, a link.
        let others = [
            "test.motte.compacting-0123456789abcdeg", "test.motte.compacting", "test.motte.copying-1",
            "other.motte.copying-0123456789abcdef",
        ]
        for name in others { try scratch.write([1], name) }
        #expect(symlink(scratch.path("other.motte"), scratch.path("test.motte.copying-aaaaaaaaaaaaaaaa")) == 0)
        // One that is being written.
        let busy = try TemporaryFile(.copying, of: scratch.path(), .new)
        _ = try PageStore.compact(PageStoreOptions(path: scratch.path()))
        var names = Set(Scratch.names(in: scratch.directory))
        #expect(names.isDisjoint(with: left) && names.isSuperset(of: others))
        #expect(names.contains("test.motte.copying-aaaaaaaaaaaaaaaa"))
        #expect(TemporaryFile.isThere(busy.path))
        try scratch.write([1], left[0])
        #expect(try PageStore.deleteFile(PageStoreOptions(path: scratch.path())))
        names = Set(Scratch.names(in: scratch.directory))
        #expect(!names.contains(left[0]) && TemporaryFile.isThere(busy.path))
    }

    @Test func aMakerThatGivesUpLeavesNothing() throws {
        let scratch = try Scratch()
        try makeStore(scratch)
        let store = try PageStore.open(PageStoreOptions(path: scratch.path()))
        let error = try failure {
            try store.copy(try store.snapshot(), to: scratch.path("copy.motte")) { _ throws(DatabaseError) in
                throw DatabaseError(.diskFull, "enough")
            }
        }
        #expect(error.code == .diskFull)
        #expect(!Scratch.names(in: scratch.directory).contains { $0.hasPrefix("copy") })
    }

    /// A name that leaves no room for more behind it.
    @Test func longNamesGetShorterTemporaryOnes() throws {
        let scratch = try Scratch()
        for name in [String(repeating: "n", count: 247), String(repeating: "é", count: 123)] {
            try makeStore(scratch, name)
            _ = try PageStore.compact(PageStoreOptions(path: scratch.path(name)))
            let store = try PageStore.open(PageStoreOptions(path: scratch.path(name)))
            #expect(try store.snapshot().value("a") == [1, 2, 3])
            store.close()
        }
    }

    @Test func namesCannotBeForeseen() throws {
        let scratch = try Scratch()
        var seen: Set<String> = []
        for _ in 0 ..< 20 {
            let file = try TemporaryFile(.making, of: scratch.path(), .new)
            #expect(seen.insert(file.path).inserted)
            #expect(file.path.hasPrefix(scratch.path() + ".making-"))
            #expect(file.path.utf8.count == scratch.path().utf8.count + ".making-".utf8.count + 16)
        }
        #expect(Scratch.names(in: scratch.directory).isEmpty)
    }
}
