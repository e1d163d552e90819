// The shape that commits leave a tree in, and which of several versions of a node salvage believes.
import MottePages
import MotteValues
import TestSupport
import Testing

@Suite struct TreeShapeTests {
    private func open(_ disk: MemoryDisk) throws -> PageStore {
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.disk = disk
        options.walPages = 0
        return try PageStore.open(options)
    }

    private func key(_ number: Int) -> String { "key-\(1000 + number)" }

    /// The leaves of the newest version in their order, with their keys.
    private func leaves(_ disk: MemoryDisk) throws -> [(page: PageNumber, keys: [String])] {
        let image = try PageImage(
            disk, pageBytes: 4096)
        let root = try RootSlots.choose(disk, image).root
        var found: [(page: PageNumber, keys: [String])] = []
        func visit(_ reference: PageRef, _ level: Int) throws {
            let node = try image.node(reference, level: level)
            guard level == 0 else {
                for index in 0 ..< node.count { try visit(node.reference(index), level - 1) }
                return
            }
            found.append((reference.page, (0 ..< node.count).map { String(decoding: node.key($0), as: UTF8.self) }))
        }
        try visit(root.tree, root.level)
        return found
    }

    /// Whichever it is, the last one too, behind which there is none to take in.
    @Test func aLeafThatShrinksIsNotLeftSmall() throws {
        let disk = MemoryDisk()
        var store = try open(disk)
        var count = 280
        try store.commitNext((0 ..< count).map { (key($0), [UInt8](repeating: 7, count: 100)) })
        store.close()
        var before = try leaves(disk)
        let most = try #require(before.map(\.keys.count).max())
        // The last one becomes as full as is needed for this.
        while try #require(before.last).keys.count < most / 2 {
            store = try open(disk)
            try store.commitNext([(key(count), [UInt8](repeating: 7, count: 100))])
            store.close()
            count += 1
            before = try leaves(disk)
        }
        #expect(before.count > 5)
        let start = disk.contents
        for (number, leaf) in before.enumerated() {
            let disk = MemoryDisk(start)
            let store = try open(disk)
            let gone = leaf.keys.filter { $0.hasPrefix("key-") }.dropFirst()
            try store.commitNext(gone.map { ($0, nil) })
            #expect(try store.check().isEmpty)
            store.close()
            let after = try leaves(disk)
            #expect(after.flatMap(\.keys) == before.flatMap(\.keys).filter { !gone.contains($0) })
            let least = try #require(after.map(\.keys.count).min())
            #expect(least >= most / 4, "leaf \(number) of \(before.count): \(after.map(\.keys.count))")
        }
    }

    /// All versions of one leaf are still in the file, and the newest of them is damaged.
    @Test func salvagePrefersTheYoungestOfOlderLeaves() throws {
        let disk = MemoryDisk()
        let store = try open(disk)
        try store.commitNext((0 ..< 200).map { (key($0), [UInt8](repeating: 7, count: 100)) })
        var pinned = [try store.snapshot()]
        for round in UInt8(1) ... 5 {
            try store.commitNext([(key(100), [round])])
            pinned.append(try store.snapshot())
        }
        let newest = try leaves(disk)
        #expect(newest.count > 3)
        let leaf = try #require(newest.first { $0.keys.contains(key(100)) })
        var bytes = disk.contents
        bytes[leaf.page.offset(pageBytes: 4096) + 2000] ^= 1
        pinned = []
        store.close()

        let scratch = try Scratch()
        try scratch.write(bytes)
        let report = try PageStore.salvage(scratch.path(), to: scratch.path("saved.motte"))

        #expect(report.recoveredCount == leaf.keys.count && report.lostValueCount == 0)
        let saved = try PageStore.open(PageStoreOptions(path: scratch.path("saved.motte")))
        #expect(try saved.snapshot().value(key(100)) == [4])
        #expect(try saved.snapshot().contents().count == 200)
    }
}
