// Sizes at which a page file does something else: one below, exactly there, one above; each store is read back,
// checked, reopened, copied and compacted, and all of it is compared with what was put in. docs/testing.md lists
// them.
import MottePages
import MotteValues
import TestSupport
import Testing

@Suite struct ThresholdTests {
    private typealias Entry = (String, [UInt8])

    private func value(_ number: Int, _ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        bytes.withUnsafeMutableBufferPointer { bytes in
            for index in 0 ..< count { bytes[index] = UInt8(truncatingIfNeeded: index &* 31 &+ number) }
        }
        return bytes
    }

    /// Commits, one after the other, over a first one of a hundred small entries; then everything that walks the file.
    private func expectAllThere(
        _ commits: [[Entry]], _ form: StoreForm, pageBytes: Int = 4_096, memory: Int? = nil, _ comment: Comment
    ) throws {
        let scratch = try Scratch()
        var options = PageStoreOptions(path: scratch.path())
        options.pageBytes = pageBytes
        options.memoryBytes = memory
        options.durability = .none
        options.walPages = form == .withWAL ? 128 : 0
        if form == .sealed { options.encryptionKey = TestStore.key }
        var model: [String: [UInt8]] = [:]
        let store = try PageStore.open(options)
        for commit in [(0 ..< 100).map { ("a\($0)", value($0, 20)) }] + commits {
            try store.commitNext(commit.map { ($0.0, $0.1) })
            for (key, value) in commit { model[key] = value }
        }
        let expected = model.map { (key: Array($0.key.utf8), value: $0.value) }
            .sorted { $0.key.lexicographicallyPrecedes($1.key) }
        func expect(_ store: PageStore, _ what: String) throws {
            let found = try store.snapshot().contents()
            let isSame = found.elementsEqual(expected) { $0.key == $1.key && $0.value == $1.value }
            #expect(isSame && found.count == expected.count, "\(comment), \(what)")
            #expect(try store.check().isEmpty, "\(comment), \(what)")
        }
        try expect(store, "written")
        try store.copy(try store.snapshot(), to: scratch.path("copy.motte"))
        store.close()
        let again = try PageStore.open(options)
        try expect(again, "opened again")
        again.close()
        _ = try PageStore.compact(options)
        for name in ["test.motte", "copy.motte"] {
            options.location = .file(scratch.path(name))
            let copy = try PageStore.open(options)
            try expect(copy, name)
            copy.close()
        }
    }

    /// Values within a node and on pages of their own: half a page less 64 bytes; and values that fill whole pages, of
    /// which a tag of 16 bytes is a part in encrypted files.
    @Test(arguments: [4_096, 8_192, 16_384, 32_768], [StoreForm.file, .sealed, .withWAL])
    func valuesAroundPages(_ pageBytes: Int, _ form: StoreForm) throws {
        let sizes = [pageBytes / 2 - 64, pageBytes - 16, pageBytes, 2 * pageBytes - 16, 2 * pageBytes, 3 * pageBytes]
        let entries = sizes.flatMap { size in
            (-1 ... 1).map { ("value \(size + $0)", value(size, size + $0)) }
        }
        try expectAllThere([entries], form, pageBytes: pageBytes, "together")
        try expectAllThere(entries.map { [$0] }, form, pageBytes: pageBytes, "one by one")
    }

    /// Nodes that are just full, and keys of which few fit one: 1 to 511 bytes.
    @Test(arguments: [StoreForm.file, .sealed])
    func nodesAroundTheirFill(_ form: StoreForm) throws {
        for keyCount in [1, 2, 255, 510, 511] {
            for count in [1, 2, 6, 7, 8, 9, 55, 56, 57, 111, 112, 113] {
                let entries = (0 ..< count).map { number -> Entry in
                    let digits = String(number)
                    let padding = String(repeating: "k", count: max(0, keyCount - digits.utf8.count))
                    return (padding + digits, value(number, number % 40))
                }
                try expectAllThere([entries], form, "\(count) keys of \(keyCount) bytes")
            }
        }
    }

    /// Commits of 256 pages are flushed once, larger ones twice.
    @Test(arguments: [StoreForm.file, .sealed])
    func commitsAroundOneFlush(_ form: StoreForm) throws {
        for pages in form == .file ? Array(248 ... 258) : [251, 256, 257] {
            let values = (0 ..< pages).map { ("p\($0)", value($0, 4_000)) }
            try expectAllThere([values], form, memory: 256 << 20, "\(pages) pages")
        }
        for (memory, most) in [(1 << 20, 256), (32 << 20, 512)] {
            for pages in [most - 1, most, most + 1, 4 * most + 1] {
                let values = (0 ..< pages).map { ("p\($0)", value($0, 4_000)) }
                try expectAllThere([values], form, memory: memory, "\(pages) pages within \(memory) bytes")
            }
        }
    }

    /// Beyond 4,096 pages, or a sixteenth of the budget if that is less, values go to the file before the commit is
    /// complete.
    @Test(arguments: [StoreForm.file, .sealed])
    func commitsAroundEarlyValues(_ form: StoreForm) throws {
        for pages in form == .file ? [4_095, 4_096, 4_097, 8_193] : [4_096, 4_097] {
            let values = (0 ..< pages).map { ("p\($0)", value($0, 4_000)) }
            try expectAllThere([values], form, memory: 256 << 20, "\(pages) pages")
        }
        for (memory, most) in [(1 << 20, 256), (32 << 20, 512)] {
            for pages in [most - 1, most, most + 1, 4 * most + 1] {
                let values = (0 ..< pages).map { ("p\($0)", value($0, 4_000)) }
                try expectAllThere([values], form, memory: memory, "\(pages) pages within \(memory) bytes")
            }
        }
    }

    /// A record of the WAL has 96 entries and 16 pages at most; 128 pages of WAL are full after a few such.
    @Test func recordsAroundTheirLargest() throws {
        for count in [95, 96, 97] {
            let commits = (0 ..< 4).map { commit in
                (0 ..< count).map { ("r\(commit) \($0)", value($0, 50)) }
            }
            try expectAllThere(commits, .withWAL, "\(count) entries")
        }
        for bytes in [-200, -100, -60, -40, -20, -10, -1, 0, 1, 10, 100] {
            let commits = (0 ..< 12).map { [("r\($0)", value($0, 16 * 4_096 + bytes))] }
            try expectAllThere(commits, .withWAL, "records of 16 pages and \(bytes) bytes")
        }
    }

    /// Segments of a batch: the first has 16 kB, the largest 4 MB.
    @Test func batchesAroundTheirSegments() throws {
        for size in [16 << 10, 4 << 20] {
            for difference in [-9, -8, -1, 0, 1, 8] {
                try expectAllThere(
                    [[("a", value(1, size + difference)), ("b", value(2, 10))]], .file, "\(size) and \(difference)")
            }
        }
    }

    /// A member of a group that has 4 MB goes to the file by itself; a group of 16 MB is full.
    @Test(arguments: [StoreForm.file, .sealed])
    func groupsAroundTheirLargestMember(_ form: StoreForm) throws {
        for difference in [-1, 0, 1] {
            let test = try TestStore(form)
            let group = try PageGroup(test.store, lock: try test.store.lockForWriting(timeoutMilliseconds: 0))
            let size = (4 << 20) + difference
            var model: [String: [UInt8]] = [:]
            for number in 1 ... 9 {
                // Every second one is large; the key is part of the bytes.
                let entry = ("\(number)", value(number, number.isMultiple(of: 2) ? size - 1 : 10))
                var batch = PageBatch()
                batch.put(Array(entry.0.utf8), entry.1)
                model[entry.0] = entry.1
                let shown = try group.add(&batch, version: Version(UInt64(number)))
                #expect(try shown.contents().count == number)
                #expect(group.flushed.rawValue == (difference < 0 ? 0 : UInt64(number / 2 * 2)))
                let waiting = difference < 0 ? (number / 2) * (4 << 20) : 0
                #expect(group.isFull == (waiting >= 16 << 20))
            }
            try group.flush()
            group.release()
            let found = try test.store.snapshot().contents()
            #expect(found.count == 9 && found.allSatisfy { model[String(decoding: $0.key, as: UTF8.self)] == $0.value })
            #expect(try test.store.check().isEmpty)
        }
    }
}
