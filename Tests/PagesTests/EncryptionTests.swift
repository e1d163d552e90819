// Encrypted files: no plain byte on any disk, nothing read with another key, nothing changed unnoticed, and keys
// changed by copying. That such a file is otherwise a store like any other is what `StoreForm.sealed` is for.
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

@Suite(.serialized) struct EncryptionTests {
    private static let key = TestStore.key
    private static let otherKey = [UInt8](repeating: 7, count: 64)

    private func open(
        _ path: String, _ key: [UInt8]? = Self.key, _ change: (inout PageStoreOptions) -> Void = { _ in }
    ) throws -> PageStore {
        var options = PageStoreOptions(path: path)
        options.encryptionKey = key
        options.durability = .none
        options.mostFileBytes = 64 << 20
        change(&options)
        return try PageStore.open(options)
    }

    private let marks = ["plain-key", "PLAIN-SMALL-VALUE", "PLAIN-LARGE-VALUE"]

    /// Nodes on two levels, values in leaves and on pages of their own, pages freed and used again.
    private func fill(_ store: PageStore, rounds: Int = 4) throws -> Contents {
        var contents: Contents = [:]
        for round in 0 ..< rounds {
            var changes: [(String, [UInt8]?)] = []
            for index in 0 ..< 100 where (index + round) % 3 != 0 || round == 0 {
                let mark = index % 9 == 0 ? marks[2] : marks[1]
                let repeats = index % 9 == 0 ? 300 + index * 3 : 1 + index % 7
                changes.append(("\(marks[0])-\(index)", Array(String(repeating: mark, count: repeats).utf8)))
            }
            for (key, value) in changes { contents[key] = value }
            try store.commitNext(changes)
        }
        return contents
    }

    private func findsPlainText(_ bytes: [UInt8]) -> Bool {
        marks.contains { mark in
            bytes.withUnsafeBytes { bytes in
                guard let base = bytes.baseAddress, bytes.count >= mark.utf8.count else { return false }
                return (0 ... bytes.count - mark.utf8.count).contains { memcmp(base + $0, mark, mark.utf8.count) == 0 }
            }
        }
    }

    @Test func noPlainByteIsInAnyFile() throws {
        let scratch = try Scratch()
        let store = try open(scratch.path())
        let contents = try fill(store)
        let plain = try open(scratch.path("plain.motte"), nil)
        _ = try fill(plain)
        // The search finds what is there to be found.
        #expect(findsPlainText(try scratch.read("plain.motte")))

        try store.copy(try store.snapshot(), to: scratch.path("copy.motte"))
        store.close()
        var options = PageStoreOptions(path: scratch.path("copy.motte"))
        options.encryptionKey = Self.key
        _ = try PageStore.compact(options)
        _ = try PageStore.salvage(scratch.path(), to: scratch.path("saved.motte"), encryptionKey: Self.key)

        let names = Scratch.names(in: scratch.directory)
        #expect(names.contains("test.motte-shared"))
        for name in names where !name.hasPrefix("plain") {
            #expect(!findsPlainText(try scratch.read(name)), "\(name)")
        }
        for name in ["test.motte", "copy.motte", "saved.motte"] {
            let copy = try open(scratch.path(name))
            #expect(try CutRun.contents(try copy.snapshot()) == contents, "\(name)")
            #expect(try copy.check().isEmpty)
        }
    }

    /// A large write of a plain file waits in an unlinked file beside it; that of an encrypted one in memory.
    @Test func writesDoNotWaitInAFile() throws {
        let scratch = try Scratch()
        let store = try open(scratch.path()) { $0.writeMemoryBytes = 0 }
        let spill = SpillFile(store.spillPlan)
        let value = [UInt8](repeating: 1, count: 100_000)
        value.withUnsafeBytes { value in for _ in 0 ..< 40 { _ = spill.add(value, value) } }
        #expect(spill.fileBytes == 0 && spill.heapBytes >= 8_000_000)
        let plain = try open(scratch.path("plain.motte"), nil) { $0.writeMemoryBytes = 0 }
        #expect(plain.spillPlan.folder != nil)
    }

    /// Two machines that were restored from one snapshot may draw the same random bits.
    @Test func equalRandomBitsMakeDifferentNoncesForDifferentContents() throws {
        let cipher = try PageCipher([UInt8](repeating: 7, count: 64), salt: [UInt8](repeating: 1, count: 32))
        let random = [UInt8](repeating: 9, count: PageCipher.randomBytes)
        func sealed(_ byte: UInt8) throws -> [UInt8] {
            var bytes = [UInt8](repeating: byte, count: 4_096)
            try bytes.withUnsafeMutableBytes { bytes in
                guard let base = bytes.baseAddress else { return }
                try cipher.seal(
                    .init(kind: .slot, page: 1), base, count: bytes.count, to: base, random: random[...])
            }
            return bytes
        }
        let nonce = (4_096 - PageCipher.trailerBytes) ..< (4_096 - PageCipher.trailerBytes + PageCipher.randomBytes)
        #expect(try sealed(1)[nonce] != sealed(2)[nonce])
        #expect(try sealed(1)[nonce] == sealed(1)[nonce])
    }

    /// What a commit has built that then fails, because the file is full, is not written by the next one over its own.
    @Test(arguments: [0, TestStore.walPages])
    func aFailedCommitLeavesNothingToBeWritten(walPages: Int) throws {
        let scratch = try Scratch()
        let limited = try open(scratch.path()) {
            $0.mostFileBytes = 1 << 20
            $0.walPages = walPages
        }
        try limited.commitNext([("a", [UInt8](repeating: 1, count: 100))])
        let many = (0 ..< 100).map { ("big-\(1_000 + $0)", [UInt8](repeating: UInt8($0), count: 9_000 + $0 * 40)) }
        #expect(try failure { try limited.commitNext(many) }.code == .mapFull)
        let fewer = (0 ..< 30).map { ("k-\(1_000 + $0)", [UInt8](repeating: UInt8($0), count: 6_000)) }
        try limited.commitNext(fewer)
        try limited.commitNext([("a", [2])])
        limited.close()
        let again = try open(scratch.path())
        #expect(try again.check().isEmpty)
        let snapshot = try again.snapshot()
        #expect(try snapshot.contents().count == 31 && snapshot.value("a") == [2])
        for (key, value) in fewer { #expect(try snapshot.value(key) == value) }
    }

    @Test func aWrongKeyIsAnError() throws {
        let scratch = try Scratch()
        let contents = try { () in
            let store = try open(scratch.path())
            defer { store.close() }
            return try fill(store)
        }()
        let before = try scratch.read()

        let other = try failure { try open(scratch.path(), Self.otherKey) }
        #expect(other.code == .wrongKey && other.message.contains("the key is not the one"))
        let none = try failure { try open(scratch.path(), nil) }
        #expect(none.code == .wrongKey && none.message.contains("is encrypted"))
        let short = try failure { try open(scratch.path(), [1, 2, 3]) }
        #expect(short.code == .invalidArgument && short.message.contains("64 bytes"))
        // The same while the file is open here.
        let store = try open(scratch.path())
        #expect(try failure { try open(scratch.path(), Self.otherKey) }.code == .wrongKey)
        #expect(try failure { try open(scratch.path(), nil) }.code == .wrongKey)
        #expect(try open(scratch.path()).sharedIdentity == store.sharedIdentity)
        #expect(try CutRun.contents(try store.snapshot()) == contents)
        store.close()

        #expect(try scratch.read() == before)
    }

    @Test func aKeyForAPlainFileIsAnError() throws {
        let scratch = try Scratch()
        let store = try open(scratch.path(), nil)
        try store.commitNext([("a", [1])])
        #expect(try failure { try open(scratch.path()) }.code == .wrongKey)
        store.close()
        let error = try failure { try open(scratch.path()) }
        #expect(error.code == .wrongKey && error.message.contains("motte copy"))
        var compacting = PageStoreOptions(path: scratch.path())
        compacting.encryptionKey = Self.key
        #expect(try failure { try PageStore.compact(compacting) }.code == .wrongKey)
        var memory = PageStoreOptions(location: .memory(identifier: nil))
        memory.encryptionKey = Self.key
        #expect(try failure { try PageStore.open(memory) }.code == .invalidArgument)
    }

    @Test func everyFlippedByteIsFoundOrHarmless() throws {
        let scratch = try Scratch()
        let store = try open(scratch.path())
        let contents = try fill(store)
        store.close()
        let bytes = try scratch.read()
        #expect(bytes.count > 150_000)
        let descriptor = Glibc.open(scratch.path(), O_RDWR)
        defer { close(descriptor) }
        var found = 0
        // A byte of every page, wherever in it; many of each in `make soak`; over night each one.
        let step = TestScale.factor >= 100 ? 1 : TestScale.factor >= 10 ? 23 : 509
        var tried = 0
        for position in stride(from: Int(PropertyTest.firstSeed) % step, to: bytes.count, by: step) {
            var flipped = bytes[position] ^ UInt8(1 << (position % 8))
            pwrite(descriptor, &flipped, 1, off_t(position))
            tried += 1
            do {
                let store = try open(scratch.path()) { $0.readOnly = true }
                defer { store.close() }
                #expect(try CutRun.contents(try store.snapshot()) == contents, "byte \(position)")
            } catch let error as DatabaseError {
                found += 1
                let isExpected = [.corrupted, .notAMotteFile, .unsupportedFormat, .wrongKey].contains(error.code)
                #expect(isExpected, "byte \(position): \(error)")
            }
            var original = bytes[position]
            pwrite(descriptor, &original, 1, off_t(position))
        }
        #expect(found > bytes.count / step / 4)
        print("note: of \(tried) encrypted bytes flipped one by one \(found) were found, the others did no harm")
    }

    /// Sound units of the same file in another place, or of the same place from another time.
    @Test func movedAndOldPagesAreFound() throws {
        let scratch = try Scratch()
        let store = try open(scratch.path())
        _ = try fill(store, rounds: 1)
        store.close()
        let old = try scratch.read()
        let again = try open(scratch.path())
        _ = try fill(again, rounds: 3)
        again.close()
        let new = try scratch.read()
        var found = 0
        for page in 4 ..< new.count / 4096 {
            var moved = new
            let other = page == 4 ? 5 : page - 1
            moved.replaceSubrange(page * 4096 ..< (page + 1) * 4096, with: new[other * 4096 ..< (other + 1) * 4096])
            found += try outcome(moved, scratch, equal: new)
            guard (page + 1) * 4096 <= old.count else { continue }
            var replayed = new
            replayed.replaceSubrange(page * 4096 ..< (page + 1) * 4096, with: old[page * 4096 ..< (page + 1) * 4096])
            found += try outcome(replayed, scratch, equal: new)
        }
        #expect(found > new.count / 4096 / 4)
    }

    /// 1 for an error; else what is read must be what it was.
    private func outcome(_ bytes: [UInt8], _ scratch: Scratch, equal sound: [UInt8]) throws -> Int {
        if bytes == sound { return 0 }
        try scratch.write(bytes, "changed.motte")
        do {
            let store = try open(scratch.path("changed.motte")) { $0.readOnly = true }
            defer { store.close() }
            let whole = try open(scratch.path()) { $0.readOnly = true }
            defer { whole.close() }
            #expect(try CutRun.contents(try store.snapshot()) == CutRun.contents(try whole.snapshot()))
            return 0
        } catch let error as DatabaseError {
            #expect(error.code == .corrupted, "\(error)")
            return 1
        }
    }

    /// Two copies of one file get the same change, and so does one that is set back: no page has the same bytes again,
    /// and no nonce occurs twice.
    @Test(arguments: [0, 20]) func whatIsWrittenAgainIsEncryptedAgain(walPages: Int) throws {
        let start = try CutRun.newStore(sealed: true, walPages: walPages)
        let value = [UInt8](repeating: 7, count: 9_000)
        let written = try (0 ..< 3).map { _ in
            let disk = MemoryDisk(start)
            let store = try CutRun.open(disk, walPages: walPages)
            try store.commitNext([("large", value), ("small", [1])])
            store.close()
            return disk.contents
        }
        var changed = 0
        for page in stride(from: 4096, to: written[0].count, by: 4096) {
            let pages = written.map { Array($0[page ..< min(page + 4096, $0.count)]) }
            let before = page + 4096 <= start.count ? Array(start[page ..< page + 4096]) : pages[0].map { _ in 0 }
            guard pages[0] != before else { continue }
            changed += 1
            #expect(Set(pages).count == 3, "page \(page / 4096)")
            // Where a unit ends there, these are the random bytes of its nonce.
            #expect(Set(pages.map { Array($0[4064 ..< 4080]) }).count == 3, "page \(page / 4096)")
        }
        #expect(changed >= 4)
    }

    /// What of a root slot is not encrypted is authenticated, whatever the checksum says.
    @Test func theLegiblePartOfASlotIsAuthenticated() throws {
        let disk = MemoryDisk()
        var store = try CutRun.open(disk, sealed: true, walPages: 0)
        var models: [UInt64: Contents] = [:]
        for number in 0 ..< 3 {
            try store.commitNext([("key-\(number)", [UInt8(number)])])
            models[try store.snapshot().version.rawValue] = try CutRun.contents(store.snapshot())
        }
        store.close()
        let sound = disk.contents
        let slots = [4096, 8192, 12288].filter { sound[$0 + 16] == 3 }
        #expect(!slots.isEmpty)
        for offset in 12 ..< 32 {
            var bytes = sound
            for slot in slots {
                bytes[slot + offset] ^= 1
                HostileFile.sealSlot(&bytes, slot)
            }
            do {
                store = try CutRun.open(MemoryDisk(bytes), sealed: true, walPages: 0)
                defer { store.close() }
                let snapshot = try store.snapshot()
                #expect(snapshot.version.rawValue < 3 && snapshot.passedOver != nil, "\(offset)")
                #expect(try CutRun.contents(snapshot) == models[snapshot.version.rawValue] ?? [:], "\(offset)")
            } catch let error as DatabaseError {
                #expect(error.code == .corrupted, "\(offset): \(error)")
            }
        }
    }

    @Test func keysChangeByCopying() throws {
        let scratch = try Scratch()
        let store = try open(scratch.path())
        let contents = try fill(store)
        try store.copy(try store.snapshot(), to: scratch.path("other.motte"), encryption: .key(Self.otherKey))
        try store.copy(try store.snapshot(), to: scratch.path("plain.motte"), encryption: .plain)

        let copies = [("other", Self.otherKey), ("plain", nil)]
        for (name, key) in copies {
            let copy = try open(scratch.path("\(name).motte"), key)
            #expect(try CutRun.contents(try copy.snapshot()) == contents, "\(name)")
            copy.close()
        }
        #expect(try failure { try open(scratch.path("other.motte")) }.code == .wrongKey)
        // And from a plain file to an encrypted one.
        let plain = try open(scratch.path("plain.motte"), nil)
        try plain.copy(try plain.snapshot(), to: scratch.path("back.motte"), encryption: .key(Self.key))
        #expect(try CutRun.contents(try open(scratch.path("back.motte")).snapshot()) == contents)
    }

    /// What a seed is made of may be plain or have the same key; what is made of it is encrypted.
    @Test func seedsAreEncrypted() throws {
        let scratch = try Scratch()
        let plain = try open(scratch.path("seed.motte"), nil)
        try plain.commitNext([("a", [1])])
        plain.close()
        for (seed, target) in [("seed", "first"), ("first", "second")] {
            try PageStore.copySeed(
                scratch.path("\(seed).motte"), to: scratch.path("\(target).motte"), encryptionKey: Self.key)
            let store = try open(scratch.path("\(target).motte")) { $0.noCreate = true }
            #expect(try store.snapshot().value("a") == [1])
            store.close()
        }
    }

    /// The salt is in every root slot too.
    @Test func salvageWorksWithoutTheFirstPage() throws {
        let scratch = try Scratch()
        let store = try open(scratch.path())
        let contents = try fill(store)
        store.close()
        var bytes = try scratch.read()
        for position in 0 ..< 4096 { bytes[position] = 0xAA }
        try scratch.write(bytes)

        let report = try PageStore.salvage(scratch.path(), to: scratch.path("saved.motte"), encryptionKey: Self.key)

        #expect(report.lostValueCount == 0 && report.entryCount == contents.count)
        #expect(try CutRun.contents(try open(scratch.path("saved.motte")).snapshot()) == contents)
        let error = try failure {
            try PageStore.salvage(scratch.path(), to: scratch.path("no.motte"), encryptionKey: Self.otherKey)
        }
        #expect(error.code == .notAMotteFile)
    }

    @Test func withoutLibcryptoAKeyIsAnErrorThatSaysSo() throws {
        let scratch = try Scratch()
        let helper = try HelperProcess("seal", scratch.path(), environment: ["MOTTE_LIBCRYPTO=/no/such/libcrypto.so"])
        let line = try #require(helper.line())
        #expect(line.hasPrefix("error unsupported") && line.contains("libssl3"), "\(line)")
        #expect(!Scratch.names(in: scratch.directory).contains("test.motte"))
    }

    /// Encrypted files keep what plain ones promise about power cuts.
    @Test func randomRunsSurviveRandomCuts() throws {
        let start = try CutRun.newStore(sealed: true)
        try PropertyTest.run(rounds: 60) { random, comment in
            let complaint = try CutTests().randomRun(&random, start)
            #expect(complaint == nil, "\(comment)")
        }
    }
}
