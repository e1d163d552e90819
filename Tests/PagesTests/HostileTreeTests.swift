// Files that somebody made whose checksums are right: roots that miscount, keys between branches that contradict those
// in leaves, one page below many others, values longer than the file. Each is an error or data, within a few steps and
// little memory. Whole files changed field by field are the business of the fuzz target `storeFields`.
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

@Suite struct HostileTreeTests {
    private static let pageBytes = 4096

    private func open(_ bytes: [UInt8], _ mostFileBytes: Int = 8 << 20) throws -> PageStore {
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.disk = MemoryDisk(bytes)
        options.walPages = 0
        options.mostFileBytes = mostFileBytes
        return try PageStore.open(options)
    }

    /// Two levels and values on pages of their own.
    private func soundFile() throws -> [UInt8] {
        let disk = MemoryDisk()
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.disk = disk
        options.walPages = 0
        let store = try PageStore.open(options)
        try store.commitNext((0 ..< 200).map { ("key-\(1000 + $0)", [UInt8](repeating: 7, count: 100)) })
        try store.commitNext((0 ..< 4).map { ("long-\($0)", [UInt8](repeating: 9, count: 5000)) })
        store.close()
        return disk.contents
    }

    private func edit(_ bytes: inout [UInt8], _ place: Int, _ value: UInt64, _ count: Int = 8) {
        for index in 0 ..< count { bytes[place + index] = UInt8(truncatingIfNeeded: value >> UInt64(8 * index)) }
    }

    private func slots(_ bytes: [UInt8]) -> [Int] {
        [4096, 8192, 12288].filter { bytes[$0 + 8 ..< $0 + 12].elementsEqual("MTRT".utf8) }
    }

    /// Where pages of nodes of a level begin.
    private func nodes(of level: UInt8, _ bytes: [UInt8]) -> [Int] {
        var found: [Int] = []
        for page in stride(from: 4 * 4096, to: bytes.count, by: 4096) where bytes[page + 12] == level {
            if bytes[page + 8 ..< page + 12].elementsEqual("MTND".utf8) { found.append(page) }
        }
        return found
    }

    // MARK: Keys within a node

    @Test func keysOfANodeAscendStrictly() throws {
        let bytes = try soundFile()
        let disk = MemoryDisk(bytes)
        let image = try PageImage(
            disk, pageBytes: Self.pageBytes)
        for node in nodes(of: 0, bytes) + nodes(of: 1, bytes) {
            var page = Array(bytes[node ..< node + Self.pageBytes])
            func isWellFormed() -> Bool {
                page.withUnsafeBytes { page in
                    guard let base = page.baseAddress else { return false }
                    return TreeNode.isWellFormed(base, image.layout, pageLimit: image.pageLimit)
                }
            }
            #expect(isWellFormed())
            let keys = page.withUnsafeBytes { page -> [[UInt8]] in
                guard let base = page.baseAddress else { return [] }
                return (0 ..< TreeNode(base).count).map { [UInt8](TreeNode(base).key($0)) }
            }
            guard let twin = keys.indices.dropFirst(2).first(where: { keys[$0].count == keys[$0 - 1].count })
            else { continue }
            // Its place is where its bytes are found last: keys of a node differ.
            let place = try #require(
                page.indices.last { page[$0...].starts(with: keys[twin]) }, "the key is somewhere in its node")
            page.replaceSubrange(place ..< place + keys[twin].count, with: keys[twin - 1])
            #expect(!isWellFormed(), "two equal keys")
        }
    }

    // MARK: Counts of the root

    @Test(arguments: [112, 120, 128, 136] as [Int], [0, 1, 0xFFF_FFFF_FFFF] as [UInt64])
    func rootsThatMiscountAreAnErrorOfTheCommit(offset: Int, count: UInt64) throws {
        var bytes = try soundFile()
        for slot in slots(bytes) {
            edit(&bytes, slot + offset, count)
            HostileFile.sealSlot(&bytes, slot)
        }
        let store = try open(bytes, 256 << 20)
        #expect(try store.snapshot().contents().count == 204)
        #expect(try store.check().map(\.description).contains { $0.contains("(T7)") } == (offset != 120 || count != 1))
        // Deletes far more than one of each.
        var changes: [(String, [UInt8]?)] = []
        for index in 0 ..< 200 { changes.append(("key-\(1000 + index)", nil)) }
        for index in 0 ..< 4 { changes.append(("long-\(index)", nil)) }
        guard count < 2 else {
            // Too many are only too many: until there are more than any file has.
            for index in 0 ..< 600 {
                changes.append(("new-\(index)", [UInt8](repeating: 1, count: index % 10 == 0 ? 5000 : 1000)))
            }
            let error = try failure { try store.commitNext(changes) }
            #expect(error.code == .corrupted && error.message.contains("more entries or pages"), "\(error)")
            return
        }
        // There is one branch, and after the commit there is none; one entry is left, the header.
        let fits = count == 1 && offset == 120
        do {
            try store.commitNext(changes)
            #expect(fits)
        } catch let error as DatabaseError {
            #expect(!fits && error.code == .corrupted && error.message.contains("(T7)"), "\(error)")
        }
    }

    /// Its successor would be no slot.
    @Test func sequenceNumbersEnd() throws {
        var bytes = try soundFile()
        for slot in slots(bytes) {
            edit(&bytes, slot + 144, TreeFormat.versionLimit - 1)
            HostileFile.sealSlot(&bytes, slot)
        }
        let store = try open(bytes)
        #expect(try failure { try store.commitNext([("a", [1])]) }.code == .corrupted)
        #expect(try store.snapshot().contents().count == 204)
    }

    // MARK: Keys between branches

    /// Each byte of each separator changed. Going through all keys, on and back, and looking for each next key as those
    /// do who skip, ends after no more steps than there are entries.
    @Test func walksEndWhateverBranchesSay() throws {
        let sound = try soundFile()
        let branch = try #require(nodes(of: 1, sound).max { sound[$0 + 24] < sound[$1 + 24] })
        let (entryCount, childCount) = (205, Int(sound[branch + 14]))
        #expect(childCount > 4)
        var errors = 0
        for index in 1 ..< childCount {
            let entry = branch + Int(sound[branch + 32 + 2 * index]) + 256 * Int(sound[branch + 33 + 2 * index])
            for place in 0 ..< Int(sound[entry]) {
                for byte in [0, 0xFF, sound[entry + 4 + place] &+ 1, sound[entry + 4 + place] &- 1] {
                    var bytes = sound
                    bytes[entry + 4 + place] = byte
                    let checksum = HostileFile.checksum(Array(bytes[branch + 8 ..< branch + 4096]))
                    bytes.replaceSubrange(branch ..< branch + 8, with: checksum)
                    // It is the root.
                    for slot in slots(bytes) where bytes[slot + 16] == 2 {
                        bytes.replaceSubrange(slot + 40 ..< slot + 48, with: checksum)
                        HostileFile.sealSlot(&bytes, slot)
                    }
                    do {
                        let store = try open(bytes)
                        for walk in [forward, backward, skipping] {
                            #expect(try walk(try store.snapshot()) <= entryCount, "entry \(index), byte \(place)")
                        }
                    } catch let error as DatabaseError {
                        errors += 1
                        #expect(error.code == .corrupted, "entry \(index), byte \(place): \(error)")
                    }
                }
            }
        }
        #expect(errors > 20)
    }

    private let mostSteps = 1_000

    private func forward(_ snapshot: PageSnapshot) throws -> Int {
        let cursor = try snapshot.makeCursor()
        var count = 0
        var found = try cursor.seek([])
        while found, count < mostSteps {
            count += 1
            found = try cursor.next()
        }
        return count
    }

    private func backward(_ snapshot: PageSnapshot) throws -> Int {
        let cursor = try snapshot.makeCursor()
        var count = 0
        var found = try cursor.seekLast(atMost: [0xFF])
        while found, count < mostSteps {
            count += 1
            found = try cursor.previous()
        }
        return count
    }

    private func skipping(_ snapshot: PageSnapshot) throws -> Int {
        let cursor = try snapshot.makeCursor()
        var count = 0
        var next: [UInt8] = []
        while count < mostSteps, try cursor.seek(next) {
            count += 1
            next = Array(cursor.key) + [0]
        }
        return count
    }

    // MARK: One page below many

    /// Branches upon branches, each with nothing but the one before it as all of its children: more ways down than
    /// anybody can go.
    private func ladder(isSealed: Bool, levels: Int = TreeFormat.mostLevels) throws -> [UInt8] {
        let sound = try soundFile()
        let disk = MemoryDisk(sound)
        let image = try PageImage(
            disk, pageBytes: 4096)
        var root = try RootSlots.choose(disk, image).root
        var bytes = sound
        root.version = root.version.next
        root.sequence += 5
        func add(_ level: Int, _ entries: [(key: [UInt8], value: [UInt8]?, child: PageRef?)]) -> PageRef {
            var page = [UInt8](repeating: 0, count: 4096)
            var top = 4096
            for (index, entry) in entries.enumerated() {
                let size = 4 + entry.key.count + (entry.value?.count ?? PageRef.encodedCount)
                top -= size
                edit(&page, 32 + 2 * index, UInt64(top), 2)
                edit(&page, top, UInt64(entry.key.count), 2)
                edit(&page, top + 2, entry.value.map { UInt64($0.count) } ?? 0xFFFF, 2)
                page.replaceSubrange(top + 4 ..< top + 4 + entry.key.count, with: entry.key)
                if let value = entry.value {
                    page.replaceSubrange(top + 4 + entry.key.count ..< top + size, with: value)
                } else {
                    page.withUnsafeMutableBytes { entry.child?.store(at: $0.baseAddress! + top + 4 + entry.key.count) }
                }
            }
            let number = bytes.count / 4096
            edit(&page, 8, UInt64(TreeNode.magic), 4)
            edit(&page, 12, UInt64(level), 2)
            edit(&page, 14, UInt64(entries.count), 2)
            edit(&page, 16, UInt64(number))
            edit(&page, 24, root.version.rawValue)
            page.replaceSubrange(0 ..< 8, with: HostileFile.checksum(Array(page[8...])))
            bytes += page
            let checksum = page.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
            return PageRef(page: PageNumber(number), birth: root.version, checksum: checksum, byteCount: 0)
        }
        let store = try open(sound)
        var header = try store.header
        header.version = root.version
        var child = add(0, [([0], header.encoded(), nil)])
        for level in 1 ..< levels {
            child = add(level, (0 ..< 8).map { ([UInt8($0)], nil, child) })
            root.level = level
        }
        root.tree = child
        root.pageCount = image.pageCount(in: bytes.count)
        root.slot = 0
        root.durable = isSealed ? root.version : .zero
        let slot = try root.encoded(pageBytes: 4096)
        // No other one to turn to.
        for page in 1 ... 3 {
            let content = page == 1 ? slot : [UInt8](repeating: 0, count: 4096)
            bytes.replaceSubrange(page * 4096 ..< (page + 1) * 4096, with: content)
        }
        return bytes
    }

    @Test func whatLiesBelowManyPagesIsLookedAtOnce() throws {
        let store = try open(try ladder(isSealed: true))
        #expect(try failure { _ = try forward(store.snapshot()) }.message.contains("(T5)"))
        #expect(try failure { _ = try skipping(store.snapshot()) }.message.contains("(T5)"))
        #expect(try failure { _ = try backward(store.snapshot()) }.message.contains("(T5)"))
        #expect(try store.check().map(\.description).contains { $0.contains("used twice (T6)") })
        // Opening walks what was written after the durable version.
        let error = try failure { _ = try open(try ladder(isSealed: false)) }
        #expect(error.code == .corrupted && error.message.contains("none of its roots is whole"))
        let scratch = try Scratch()
        try scratch.write(try ladder(isSealed: true))
        let report = try PageStore.salvage(scratch.path(), to: scratch.path("saved.motte"))
        #expect(report.problems.contains { $0.description.contains("used twice (T6)") })
    }

    /// The same, so low that going all ways ends: what is said then is said once of each page, and that it is too many.
    @Test func aLowLadderIsLookedAtOnceToo() throws {
        let levels = 4
        func twice(_ problems: [PageProblem]) -> Int { problems.count { $0.description.contains("used twice (T6)") } }
        // Of eight ways to each page below the root seven are one too many; below those nothing is looked at.
        let expected = 7 * (levels - 1)
        #expect(twice(try open(try ladder(isSealed: true, levels: levels)).check()) == expected)
        let scratch = try Scratch()
        try scratch.write(try ladder(isSealed: true, levels: levels))
        let report = try PageStore.salvage(scratch.path(), to: scratch.path("saved.motte"))
        #expect(twice(report.problems) == expected)
        let error = try failure { _ = try open(try ladder(isSealed: false, levels: levels)) }
        #expect(error.code == .corrupted && error.message.contains("none of its roots is whole"), "\(error)")
    }

    // MARK: Sizes

    /// The most memory that this process has had.
    private func peakBytes() throws -> Int {
        var usage = rusage()
        #expect(getrusage(0, &usage) == 0)
        return usage.ru_maxrss << 10
    }

    /// All that a reference can say: four gigabytes in a file of a few pages.
    @Test func valuesLongerThanTheFileTakeNoMemory() throws {
        let sound = try soundFile()
        let store = try open(sound)
        func last(_ page: Int) -> TreeNodeLocation { TreeNodeLocation(sound, page, Int(sound[page + 14]) - 1) }
        let leaf = try #require(nodes(of: 0, sound).last { sound[$0 + 24] == 2 && last($0).isReference })
        let place = last(leaf).value
        store.close()
        for count in [UInt64(0xFFFF_FFF0), 1 << 30, UInt64(sound.count)] {
            var bytes = sound
            edit(&bytes, place + 20, count, 4)
            HostileFile.resign(&bytes, from: leaf)
            let before = try peakBytes()
            let hostile = try open(bytes, 64 << 30)
            #expect(try failure { _ = try hostile.snapshot().contents() }.code == .corrupted)
            #expect(try !hostile.check().isEmpty)
            // Others run beside this.
            #expect(try peakBytes() - before < 512 << 20)
        }
    }
}

/// Where an entry of a node is in a file's bytes.
private struct TreeNodeLocation {
    let key: Int
    let value: Int
    let isReference: Bool

    init(_ bytes: [UInt8], _ page: Int, _ index: Int) {
        func half(_ place: Int) -> Int { Int(bytes[place]) | Int(bytes[place + 1]) << 8 }
        let entry = page + half(page + 32 + 2 * index)
        key = entry + 4
        value = key + half(entry)
        isReference = half(entry + 2) == 0xFFFF
    }
}
