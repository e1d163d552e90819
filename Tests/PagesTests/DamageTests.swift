// Damaged, hostile and cut page files: each is an error or does no harm, and what is intact can be had.
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

@Suite struct DamageTests {
    private func open(_ path: String, _ change: (inout PageStoreOptions) -> Void = { _ in }) throws -> PageStore {
        var options = PageStoreOptions(path: path)
        options.mostFileBytes = 64 << 20
        change(&options)
        return try PageStore.open(options)
    }

    /// A file of some hundred kilobytes with nodes on two levels, values in leaves and on pages, and free pages.
    private func soundFile(_ scratch: Scratch) throws -> (bytes: [UInt8], contents: Contents) {
        let store = try open(scratch.path())
        var contents: Contents = [:]
        for round in 0 ..< 6 {
            var changes: [(String, [UInt8]?)] = []
            for index in 0 ..< 120 where (index + round) % 3 != 0 || round == 0 {
                let size = index % 9 == 0 ? 4500 : index * 5
                changes.append(("key-\(index)", [UInt8](repeating: UInt8(round * 16 + index % 16), count: size)))
            }
            changes.append(("gone-\(round)", round % 2 == 0 ? [1] : nil))
            for (key, value) in changes { contents[key] = value }
            try store.commitNext(changes)
        }
        store.close()
        return (try scratch.read(), contents)
    }

    /// Nearly all of whose bytes are in use: values fill their pages, and only what the last commits have rewritten
    /// is free.
    private func fullFile(_ scratch: Scratch) throws -> (bytes: [UInt8], contents: Contents) {
        let store = try open(scratch.path()) { $0.walPages = 0 }
        var contents: Contents = [:]
        func commit(_ numbers: Range<Int>) throws {
            var changes: [(String, [UInt8]?)] = []
            for index in numbers {
                let size = index % 4 == 0 ? 8_180 : 60 + index % 3 * 400
                changes.append(("key-\(1000 + index)", [UInt8](repeating: UInt8(index % 251), count: size)))
            }
            for (key, value) in changes { contents[key] = value }
            try store.commitNext(changes)
        }
        try commit(0 ..< 80)
        for index in 80 ..< 90 { try commit(index ..< index + 1) }
        store.close()
        return (try scratch.read(), contents)
    }

    /// What a page begins with; values begin as they like.
    private func kind(_ page: Int, _ bytes: [UInt8]) -> String {
        let start = page * 4096
        if page < 4 { return page == 0 ? "head" : "slot" }
        guard bytes[start + 8 ..< start + 12].elementsEqual("MTND".utf8) else { return "value" }
        return bytes[start + 12] == 0 ? "leaf" : "branch"
    }

    /// What opening and reading all of a file comes to: its contents, or the error.
    private func outcome(_ path: String) throws -> Result<Contents, DatabaseError> {
        do {
            let store = try open(path) { $0.readOnly = true }
            defer { store.close() }
            return .success(try CutRun.contents(try store.snapshot()))
        } catch let error as DatabaseError {
            return .failure(error)
        }
    }

    private let expectedCodes: [ErrorCode] = [.corrupted, .notAMotteFile, .unsupportedFormat]

    /// Through a disk that lies, because a quarter of a million files to open would be too many.
    private func outcome(_ disk: FlippingDisk, _ contents: Contents) throws -> Result<Bool, DatabaseError> {
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.disk = disk
        options.readOnly = true
        options.mostFileBytes = 1 << 20
        do {
            let store = try PageStore.open(options)
            defer { store.close() }
            return .success(try CutRun.holds(try store.snapshot(), contents))
        } catch let error as DatabaseError {
            return .failure(error)
        }
    }

    /// Each 97th byte, begun anywhere; in the optimised build each 7th (`scripts/test.sh fuzz`) or every one (`make
    /// soak`). In parts, so that they run beside each other.
    @Test(arguments: 0 ..< 4) func everyFlippedByteIsFoundOrHarmless(part: Int) throws {
        let (bytes, contents) = try fullFile(try Scratch())
        #expect(bytes.count > 220_000)
        let disk = FlippingDisk(bytes)
        let step = TestScale.factor >= 100 ? 1 : TestScale.factor >= 10 ? 7 : 97
        // Pages in turns, so that each part has some of every kind.
        var tried = 0
        var found: [String: Int] = [:]
        for position in bytes.indices where position / 4096 % 4 == part {
            let first = position % 4096 < 128 && position / 4096 < 4
            guard first || (position + Int(PropertyTest.firstSeed)) % step == 0 else { continue }
            disk.flip = (position, UInt8(1 << (position % 8)))
            tried += 1
            switch try outcome(disk, contents) {
            case .success(let isSame): if !isSame { Issue.record("byte \(position)") }
            case .failure(let error):
                found[kind(position / 4096, bytes), default: 0] += 1
                if !expectedCodes.contains(error.code) { Issue.record("byte \(position): \(error)") }
            }
        }
        let total = found.values.reduce(0, +)
        // Most bytes are in use, in each part.
        #expect(total * 5 > tried * 3, "\(found) of \(tried)")
        let leastKinds = ["value", "leaf"] + (part == 0 ? ["head"] : [])
        for kind in leastKinds { #expect(found[kind, default: 0] > 10, "\(kind): \(found)") }
        print("note: of \(tried) bytes flipped one by one \(total) were found, the others did no harm")
    }

    /// One of each page; the other bytes are the business of the test above.
    @Test func aFlippedByteOfEveryKindOfPageIsFound() throws {
        let (bytes, contents) = try fullFile(try Scratch())
        let disk = FlippingDisk(bytes)
        var found: [String: Int] = [:]
        for page in 0 ..< bytes.count / 4096 {
            disk.flip = (page * 4096 + 60, 1)
            let kind = kind(page, bytes)
            switch try outcome(disk, contents) {
            case .failure: found[kind, default: 0] += 1
            case .success where kind == "slot":
                // There are others; that one cannot be read is said.
                var options = PageStoreOptions(location: .memory(identifier: nil))
                options.disk = disk
                options.readOnly = true
                let store = try PageStore.open(options)
                if try store.snapshot().passedOver != nil { found[kind, default: 0] += 1 }
                store.close()
            case .success: break
            }
        }
        for (kind, least) in [("head", 1), ("slot", 3), ("branch", 1), ("leaf", 9), ("value", 40)] {
            #expect(found[kind, default: 0] >= least, "\(found)")
        }
    }

    @Test func aFileCutAnywhereIsAnError() throws {
        let scratch = try Scratch()
        let (bytes, _) = try soundFile(scratch)
        for size in stride(from: bytes.count - 4096, to: 0, by: -4096) {
            #expect(truncate(scratch.path(), off_t(size)) == 0)
            guard case .failure(let error) = try outcome(scratch.path()) else {
                Issue.record("\(size) of \(bytes.count) bytes pass")
                return
            }
            #expect(error.code == .corrupted, "\(size)")
        }
    }

    /// What a mapped file would make a signal of.
    @Test func aFileCutUnderAReaderIsAnError() throws {
        let scratch = try Scratch()
        let (_, contents) = try soundFile(scratch)
        let store = try open(scratch.path())
        let snapshot = try store.snapshot()
        let first = try #require(try snapshot.get(Array("key-1".utf8)))
        for size in [16 * 4096, 4096, 0] {
            #expect(truncate(scratch.path(), off_t(size)) == 0)
            #expect(try failure { try snapshot.contents() }.code == .corrupted)
            // What was read before stays.
            #expect(first.bytes.elementsEqual(try #require(contents["key-1"])))
        }
    }

    @Test func checkNamesWhatIsWrong() throws {
        let scratch = try Scratch()
        var (bytes, _) = try soundFile(scratch)
        #expect(try open(scratch.path()).check().isEmpty)
        // A page with a large value: its bytes are nowhere else.
        let place = try #require(
            bytes.indices.first { $0 % 4096 == 0 && bytes[$0 ..< $0 + 100].allSatisfy { $0 == 0x50 } })
        bytes[place + 9] ^= 1
        try scratch.write(bytes)

        let problems = try open(scratch.path()).check()

        #expect(problems.count == 1)
        #expect(problems.first?.page == place / 4096)
    }

    /// What a group of writes or an open write shows lies on a version of the file, whose problems are its own: also
    /// those of values that it has replaced, which the file still has.
    @Test func changesInMemoryPassOnWhatIsWrongBelow() throws {
        let scratch = try Scratch()
        var (bytes, _) = try soundFile(scratch)
        let newest = Version(6)
        // Root slots, the newest first, and a page with a large value.
        let slots = (1 ... 3).map { $0 * 4096 }.sorted { bytes[$0 + 144] > bytes[$1 + 144] }
        let value = try #require(
            bytes.indices.first { $0 % 4096 == 0 && bytes[$0 ..< $0 + 100].allSatisfy { $0 == 0x50 } })
        bytes[value + 9] ^= 1
        func layers(on base: PageSnapshot) throws -> [PageSnapshot] {
            var first = PageBatch(), second = PageBatch()
            first.put(Array("key-1".utf8), [1])
            for index in stride(from: 0, to: 120, by: 9) { second.put(Array("key-\(index)".utf8), [2]) }
            let lower = try base.with(first, as: Version(7))
            return [lower, try lower.with(second, as: Version(8))]
        }
        try scratch.write(bytes)
        do {
            let store = try open(scratch.path())
            let base = try store.snapshot()
            #expect(try base.version == newest && base.pageProblems().map(\.page) == [value / 4096])
            for layer in try layers(on: base) {
                #expect(try layer.pageProblems() == base.pageProblems() && layer.passedOver == nil)
            }
            let top = try layers(on: base)[1]
            // Read from memory, where nothing is wrong with it.
            #expect(try top.value("key-0") == [2] && top.value("key-1") == [1])
            store.close()
        }
        bytes[slots[2] + 200] ^= 1
        try scratch.write(bytes)
        let store = try open(scratch.path())
        let base = try store.snapshot()
        let passed = try #require(base.passedOver)
        for layer in try layers(on: base) {
            #expect(layer.passedOver == passed)
            #expect(try layer.pageProblems() == base.pageProblems())
            #expect(try layer.pageProblems().contains { $0.page == value / 4096 })
        }
        // Of a database in memory there is nothing to say.
        let none = try layers(on: try TestStore(.memory).store.snapshot())
        #expect(try none.allSatisfy { try $0.pageProblems().isEmpty && $0.passedOver == nil })
    }

    /// What a bug would leave: each page is what its reference says, only the whole is not right.
    @Test(arguments: ["T5", "T6", "T7", "S3"]) func checkNamesInvariantsThatDoNotHold(invariant: String) throws {
        let scratch = try Scratch()
        var (bytes, _) = try soundFile(scratch)
        let slots = [4096, 8192, 12288].filter { place in bytes[place ..< place + 4096].contains { $0 != 0 } }
        // Of leaves of the newest version, by the places of their entries.
        func entries(_ page: Int) -> [(key: Int, reference: Int?)] {
            var entries: [(key: Int, reference: Int?)] = []
            for index in 0 ..< Int(bytes[page + 14]) {
                let low = Int(bytes[page + 32 + 2 * index]), high = Int(bytes[page + 33 + 2 * index])
                let key = page + low + high * 256 + 4
                let isReference = bytes[key - 1] == 0xFF
                entries.append((key, isReference ? key + Int(bytes[key - 4]) : nil))
            }
            return entries
        }
        var leaves: [Int] = []
        for page in stride(from: 4 * 4096, to: bytes.count, by: 4096) {
            let isNode = bytes[page + 8 ..< page + 12].elementsEqual("MTND".utf8)
            if isNode, bytes[page + 12] == 0, bytes[page + 24] == 6 { leaves.append(page) }
        }
        switch invariant {
        case "T5":
            // Not the first leaf, whose keys may be as small as they like.
            let leaf = try #require(leaves.last { bytes[entries($0)[0].key] == UInt8(ascii: "k") })
            let place = entries(leaf)[0].key
            bytes[place] = UInt8(ascii: "a")
            HostileFile.resign(&bytes, from: leaf)
        case "T6":
            let leaf = try #require(leaves.first { entries($0).count { $0.reference != nil } > 1 })
            let references = entries(leaf).compactMap(\.reference)
            for offset in 0 ..< 24 { bytes[references[1] + offset] = bytes[references[0] + offset] }
            HostileFile.resign(&bytes, from: leaf)
        case "T7": for slot in slots { bytes[slot + 112] &+= 1 }
        default:
            for slot in slots { bytes[slot + 32] &+= 1 }
            bytes += [UInt8](repeating: 0, count: 4096)
        }
        for slot in slots { HostileFile.sealSlot(&bytes, slot) }
        try scratch.write(bytes)

        let problems = try open(scratch.path()) { $0.readOnly = true }.check().map(\.description)

        #expect(problems.contains { $0.contains("(\(invariant))") }, "\(problems)")
    }

    @Test func nodesOfSomebodyElseAreCheckedBeforeUse() throws {
        let scratch = try Scratch()
        let (bytes, contents) = try soundFile(scratch)
        try PropertyTest.run(rounds: 400) { random, comment in
            var hostile = bytes
            // Any bytes in any node, with a checksum that fits: only the walk up to the root would find the others.
            let pages = stride(from: 4096 * 4, to: bytes.count, by: 4096).filter {
                hostile[$0 + 8 ..< $0 + 12].elementsEqual(Array("MTND".utf8))
            }
            let page = random.pick(pages)
            for _ in 0 ..< 1 + random.below(4) {
                let place = random.chance(50) ? 12 + random.below(60) : 12 + random.below(4084)
                hostile[page + place] = UInt8(truncatingIfNeeded: random.next())
            }
            HostileFile.resign(&hostile, from: page)
            try scratch.write(hostile)
            switch try outcome(scratch.path()) {
            case .success(let read): #expect(read.count <= contents.count * 2, "\(comment)")
            case .failure(let error): #expect(expectedCodes.contains(error.code), "\(comment): \(error)")
            }
            // A writer meets it too, and neither may end the process. The file's header is an entry like others.
            do {
                let store = try open(scratch.path())
                defer { store.close() }
                try store.commitNext([("key-5", [1]), ("new", [2]), ("key-90", nil)])
                _ = try store.check()
            } catch let error as DatabaseError {
                #expect((expectedCodes + [.mapFull]).contains(error.code), "\(comment): \(error)")
            }
        }
    }

    /// What a cut could have left opens quietly but not silently; what no cut leaves is called damage.
    @Test(arguments: [false, true]) func aVersionPassedOverIsSaid(isDamage: Bool) throws {
        let scratch = try Scratch()
        var (bytes, _) = try soundFile(scratch)
        let whole = bytes
        let newest = UInt8(6)
        // The root that was sealed when the file was closed, and a leaf of the last commit.
        let slots = (1 ... 3).map { $0 * 4096 }.sorted { bytes[$0 + 144] > bytes[$1 + 144] }
        #expect(slots.prefix(2).allSatisfy { bytes[$0 + 16] == newest })
        let sealed = slots[0] ..< slots[0] + 4096
        if isDamage { bytes[sealed.lowerBound + 200] ^= 1 } else { for place in sealed { bytes[place] = 0 } }
        let pages = stride(from: 4 * 4096, to: bytes.count, by: 4096)
        func isNewLeaf(_ place: Int) -> Bool {
            let isNode = bytes[place + 8 ..< place + 12].elementsEqual("MTND".utf8)
            return isNode && bytes[place + 12] == 0 && bytes[place + 24] == newest
        }
        let leaf = try #require(pages.first(where: isNewLeaf))
        bytes[leaf + 1000] ^= 1
        try scratch.write(bytes)

        let store = try open(scratch.path())
        let passed = try #require(try store.snapshot().passedOver)
        #expect(try store.snapshot().version == Version(5))
        #expect(passed.isDamage == isDamage)
        #expect(passed.description.hasPrefix("opened version 5 and not 6, because page \(leaf / 4096) is not the node"))
        #expect(passed.description.contains("a root slot cannot be read") == isDamage)
        #expect(try store.firstWarning() == passed)
        #expect(try store.firstWarning() == nil)
        // Commits write over what was passed over.
        try store.commitNext([("key-1", [1])])
        try store.commitNext([("key-1", [2])])
        store.close()
        #expect(try open(scratch.path()).snapshot().passedOver == nil)
        try scratch.write(whole)
        #expect(try open(scratch.path()).snapshot().passedOver == nil)
    }

    /// Also when the header record is gone.
    @Test func salvageGuessesTheRowsOfARowGroupWithoutAHeaderRecord() throws {
        let scratch = try Scratch()
        let store = try open(scratch.path()) { $0.rowGroupSize = 7 }
        // Of a row group that is not the first.
        let lists: [UInt8] = [0x45, 0, 1, 0, 7, 0, 0, 0]
        let keyOfLists = "\u{4}" + String(repeating: "\u{0}", count: 11) + "\u{1}"
        try store.commitNext([(keyOfLists, lists)])
        try store.commitNext((0 ..< 200).map { ("\u{2}\($0)", [UInt8](repeating: 7, count: 60)) })
        store.close()
        var bytes = try scratch.read()
        for page in stride(from: 4 * 4096, to: bytes.count, by: 4096) {
            let magic = Array("MOTTE\0".utf8)
            let found = (page ..< page + 4090).first { bytes[$0 ..< $0 + 6].elementsEqual(magic) }
            if let found { bytes[found] ^= 1 }
        }
        try scratch.write(bytes)
        _ = try PageStore.salvage(scratch.path(), to: scratch.path("saved.motte"))
        let saved = try open(scratch.path("saved.motte"))
        #expect(try saved.snapshot().value(keyOfLists) == lists)
        #expect(try saved.header.rowGroupSize == 7, "guessed, because no header record is left")
    }

    @Test func salvageGetsWhatIsIntact() throws {
        let scratch = try Scratch()
        let (bytes, contents) = try soundFile(scratch)
        var damaged = bytes
        // Head and all roots gone: everything is still there.
        for position in 0 ..< 4 * 4096 { damaged[position] = 0xAA }
        try scratch.write(damaged)
        #expect(try failure { try open(scratch.path()) }.code == .notAMotteFile)

        let report = try PageStore.salvage(scratch.path(), to: scratch.path("saved.motte"))

        #expect(report.lostValueCount == 0 && report.entryCount == contents.count)
        #expect(try CutRun.contents(try open(scratch.path("saved.motte")).snapshot()) == contents)
        #expect(try open(scratch.path("saved.motte")).check().isEmpty)
    }

    /// Whatever roots and accounts say of pages that are gone.
    @Test func whatIsLeftOfAFileCutAnywhereIsSalvaged() throws {
        let scratch = try Scratch()
        let (bytes, contents) = try soundFile(scratch)
        var saved = 0
        for size in stride(from: bytes.count - 4096, to: 0, by: -4096) {
            #expect(truncate(scratch.path(), off_t(size)) == 0)
            unlink(scratch.path("saved.motte"))
            do {
                _ = try PageStore.salvage(scratch.path(), to: scratch.path("saved.motte"))
                let found = try CutRun.contents(try open(scratch.path("saved.motte")).snapshot())
                saved += found.count { contents[$0.key] == $0.value }
            } catch let error as DatabaseError {
                #expect(error.code == .notAMotteFile && size < 16 * 4096, "\(size): \(error)")
            }
        }
        #expect(saved > 0)
    }

    /// What a cut took is said, and what it left is found.
    @Test func aFileThatWasCutIsNeverSalvagedAsSound() throws {
        let scratch = try Scratch()
        let (bytes, contents) = try soundFile(scratch)
        for size in stride(from: bytes.count - 4096, through: 16 * 4096, by: -4096) {
            #expect(truncate(scratch.path(), off_t(size)) == 0)
            unlink(scratch.path("saved.motte"))
            let report = try PageStore.salvage(scratch.path(), to: scratch.path("saved.motte"))
            let saved = try CutRun.contents(try open(scratch.path("saved.motte")).snapshot())
            let pages = "has \(bytes.count / 4096) pages, and \(size / 4096) of them are there"
            #expect(report.problems.first?.description == "the file is cut short: version 6 \(pages)")
            let wrong = contents.count { saved[$0.key] != $0.value }
            let said = report.recoveredCount + report.lostValueCount + report.missingCount
            #expect(wrong <= said, "\(size): \(wrong), \(report.problems.map(\.description))")
            // The header is an entry as well.
            #expect(saved.count + report.lostValueCount + report.missingCount >= contents.count, "\(size)")
        }
    }

    /// Three levels, by one commit or several, the last of which deletes what older leaves still have.
    private func highFile(_ scratch: Scratch, commits: Int) throws -> (bytes: [UInt8], unsealed: [UInt8], Contents) {
        let store = try open(scratch.path()) { $0.walPages = 0 }
        var contents: Contents = [:]
        let long = String(repeating: "long", count: 100)
        for commit in 0 ..< commits {
            var changes: [(String, [UInt8]?)] = []
            for index in 0 ..< 120 where index % commits == commit {
                let size = index % 10 == 3 ? 3_000 : 8
                changes.append(("key-\(1_000 + index)-\(long)", [UInt8](repeating: UInt8(index), count: size)))
                if index > 40 + commit, index % 7 == 0 { changes.append(("key-\(1_000 + index - 37)-\(long)", nil)) }
            }
            changes.sort { $0.0 < $1.0 }
            for (key, value) in changes { contents[key] = value }
            try store.commitNext(changes)
        }
        let unsealed = try scratch.read()
        store.close()
        return (try scratch.read(), unsealed, contents)
    }

    /// The leaves are all there, and the map and the root slot say which of them count.
    @Test(arguments: [1, 5]) func aDamagedBranchLosesNothing(commits: Int) throws {
        let scratch = try Scratch()
        let (bytes, unsealed, contents) = try highFile(scratch, commits: commits)
        func salvage(_ damaged: [UInt8]) throws -> (report: PageSalvageReport, contents: Contents) {
            try scratch.write(damaged)
            unlink(scratch.path("saved.motte"))
            let report = try PageStore.salvage(scratch.path(), to: scratch.path("saved.motte"))
            return (report, try CutRun.contents(try open(scratch.path("saved.motte")).snapshot()))
        }
        let branches = (4 ..< bytes.count / 4096).filter { kind($0, bytes) == "branch" }
        #expect(Set(branches.map { bytes[$0 * 4096 + 12] }).count > 1)
        for page in branches {
            var damaged = bytes
            for position in page * 4096 ..< (page + 1) * 4096 { damaged[position] = 0 }
            let (report, saved) = try salvage(damaged)
            #expect(saved == contents, "page \(page): \(report.problems.map(\.description))")
            #expect(report.recoveredCount == 0 && report.lostValueCount == 0 && report.gaps.isEmpty)
            // As a process that was killed leaves it the map may be of pages that were never written.
            damaged.replaceSubrange(4096 ..< 4 * 4096, with: unsealed[4096 ..< 4 * 4096])
            let (_, found) = try salvage(damaged)
            #expect(contents.allSatisfy { found[$0.key] == $0.value }, "page \(page)")
            // No root slot: what is taken for the root may be another node.
            for position in 4096 ..< 4 * 4096 { damaged[position] = 0 }
            let (rootless, rest) = try salvage(damaged)
            #expect(contents.allSatisfy { rest[$0.key] == $0.value }, "page \(page)")
            #expect(rest == contents || !rootless.gaps.isEmpty && rootless.recoveredCount > 0, "page \(page)")
        }
        // A leaf as well: nothing comes back that was deleted from another.
        let root = try #require(branches.max { bytes[$0 * 4096 + 12] < bytes[$1 * 4096 + 12] })
        for page in 4 ..< bytes.count / 4096 where kind(page, bytes) == "leaf" {
            var damaged = bytes
            damaged[root * 4096 + 100] ^= 1
            damaged[page * 4096 + 1_000] ^= 1
            let (report, saved) = try salvage(damaged)
            let lost = contents.count { saved[$0.key] == nil }
            let back = saved.count { contents[$0.key] == nil }
            #expect(lost <= report.missingCount + back && lost <= 12, "page \(page)")
            #expect(saved.count { contents[$0.key] != $0.value } <= report.recoveredCount && back <= 12, "page \(page)")
        }
    }

    /// The head says page size and key, the slot which version there was: what they lead to is gone.
    @Test func aFileWithoutAnyNodeIsSalvagedByItsRootSlot() throws {
        let scratch = try Scratch()
        let (bytes, contents) = try soundFile(scratch)
        var damaged = bytes
        for page in 4 ..< bytes.count / 4096 { damaged[page * 4096 + 9] ^= 1 }
        try scratch.write(damaged)
        let error = try failure { try PageStore.salvage(scratch.path(), to: scratch.path("saved.motte")) }
        #expect(error.code == .notAMotteFile && error.message.contains("can be read"))
        // One leaf that is left is not all.
        let leaf = try #require((4 ..< bytes.count / 4096).first { kind($0, bytes) == "leaf" })
        damaged[leaf * 4096 + 9] ^= 1
        try scratch.write(damaged)
        let report = try PageStore.salvage(scratch.path(), to: scratch.path("saved.motte"))
        #expect(report.entryCount + report.lostValueCount + report.missingCount >= contents.count)
        #expect(!report.gaps.isEmpty && report.missingCount > 0)
    }

    @Test func salvageLosesOnlyWhatIsDamaged() throws {
        let scratch = try Scratch()
        let (bytes, contents) = try soundFile(scratch)
        try PropertyTest.run(rounds: 10) { random, comment in
            var damaged = bytes
            for _ in 0 ..< 3 { damaged[4096 * 4 + random.below(bytes.count - 4096 * 4)] ^= 0x10 }
            try scratch.write(damaged)
            unlink(scratch.path("saved.motte"))
            let report = try PageStore.salvage(scratch.path(), to: scratch.path("saved.motte"))
            let saved = try CutRun.contents(try open(scratch.path("saved.motte")).snapshot())
            let lost = contents.filter { saved[$0.key] == nil }
            // Three pages: at worst three leaves and what they held.
            #expect(lost.count <= report.lostValueCount + 3 * 40, "\(comment)")
            let changed = saved.filter { contents[$0.key] != $0.value }
            #expect(changed.count <= report.recoveredCount, "\(comment)")
        }
    }
}

/// A disk of which one byte is not what it was.
final class FlippingDisk: Disk, @unchecked Sendable {  // @unchecked: one test, one thread
    let path = ":flipping:"
    private let bytes: [UInt8]
    var flip = (position: 0, mask: UInt8(0))

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func byteCount() -> Int { bytes.count }
    func close() {}
    func flush() {}
    func write(_ source: UnsafeRawBufferPointer, at offset: Int) throws(DatabaseError) {
        throw DatabaseError(.readOnly, "the test's disk is for reading")
    }
    func resize(to byteCount: Int) throws(DatabaseError) {
        throw DatabaseError(.readOnly, "the test's disk is for reading")
    }

    func read(_ target: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        let count = max(0, min(target.count, bytes.count - offset))
        bytes.withUnsafeBytes { bytes in
            if count > 0 { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset ..< offset + count])) }
        }
        if offset <= flip.position, flip.position < offset + count { target[flip.position - offset] ^= flip.mask }
        return count
    }
}

/// Makes checksums fit again from a changed node up to the root, as somebody with bad intentions would.
enum HostileFile {
    static func resign(_ bytes: inout [UInt8], from page: Int) {
        var page = page
        for _ in 0 ..< 4 {
            let old = Array(bytes[page ..< page + 8])
            let new = checksum(Array(bytes[page + 8 ..< page + 4096]))
            bytes.replaceSubrange(page ..< page + 8, with: new)
            // Whoever points at it: a parent, or the slots.
            var parent: Int?
            for candidate in stride(from: 4096, to: bytes.count, by: 4096) {
                for offset in candidate + 8 ..< candidate + 4096 - 8 where bytes[offset] == old[0] {
                    guard bytes[offset ..< offset + 8].elementsEqual(old) else { continue }
                    bytes.replaceSubrange(offset ..< offset + 8, with: new)
                    if candidate >= 4 * 4096 { parent = candidate } else { sealSlot(&bytes, candidate) }
                }
            }
            guard let next = parent else { return }
            page = next
        }
    }

    static func sealSlot(_ bytes: inout [UInt8], _ slot: Int) {
        bytes.replaceSubrange(slot ..< slot + 8, with: checksum(Array(bytes[slot + 8 ..< slot + 4096])))
    }

    static func sealHead(_ bytes: inout [UInt8]) {
        bytes.replaceSubrange(128 ..< 136, with: checksum(Array(bytes[..<128])))
    }

    static func checksum(_ bytes: [UInt8]) -> [UInt8] {
        let sum = motte_shim_xxh3(bytes, bytes.count)
        return (0 ..< 8).map { UInt8(truncatingIfNeeded: sum >> (8 * UInt64($0))) }
    }
}
