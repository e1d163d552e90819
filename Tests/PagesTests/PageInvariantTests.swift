// That a broken structure of the page file is found, and by which name. Commits as they are meant to be are looked
// after in the model tests, and by debug builds of every other test.
import MottePages
import MotteValues
import TestSupport
import Testing

@Suite struct PageInvariantTests {
    private func message(_ body: () throws -> Void) -> String {
        let error = #expect(throws: DatabaseError.self) { try body() }
        return error?.message ?? ""
    }

    // MARK: Space.

    /// 4 to 9 and 20 to 22 are free, 30 and 31 died and are held.
    private func map() throws -> SpaceMap {
        var map = SpaceMap(pageCount: 100)
        map.insert([PageRun(start: 4, count: 6), PageRun(start: 20, count: 3)])
        map.die(PageRun(start: 30, count: 2), birth: Version(2), death: Version(5))
        map.release(PagePins.Protected(versions: [Version(3)]))
        try map.checkInvariants(used: [PageRun(start: 10, count: 10)])
        return map
    }

    private func broken(_ change: (inout SpaceMap) -> Void) throws -> String {
        var map = try map()
        change(&map)
        return message { try map.checkInvariants(used: [PageRun(start: 10, count: 10)]) }
    }

    @Test func aBrokenFreeSpaceMapIsNamed() throws {
        let touching = try broken { $0.free[0].count = 16 }
        #expect(touching.contains("(S1)"), "\(touching)")
        let empty = try broken { $0.free[1].count = 0 }
        #expect(empty.contains("(S1)"), "\(empty)")
        let unordered = try broken { $0.free.swapAt(0, 1) }
        #expect(unordered.contains("(S1)"), "\(unordered)")
        let outside = try broken { $0.pageCount = 31 }
        #expect(outside.contains("(S1)"), "\(outside)")
        let used = try broken { $0.free[0].count = 7 }
        #expect(used.contains("page 10 is free twice, or in use (S2)"), "\(used)")
        let twice = try broken { $0.die(PageRun(start: 21, count: 1), birth: Version(1), death: Version(4)) }
        #expect(twice.contains("(S2)"), "\(twice)")
        let uncounted = try broken { $0.freePageCount += 1 }
        #expect(uncounted.contains("space-1: "), "\(uncounted)")
        let late = try broken { $0.held[Version(5)] = $0.held.removeValue(forKey: Version(3)) }
        #expect(late.contains("space-2: pages that version"), "\(late)")
    }

    @Test func brokenAllocationsAreNamed() throws {
        let image = try PageImage(
            MemoryDisk(), pageBytes: 4096)
        func broken(_ change: (inout PageAllocator) -> Void) throws -> String {
            var allocator = PageAllocator(image, try map(), wishing: 4, "a test")
            _ = try allocator.allocate(2)
            _ = try allocator.allocate(5)
            allocator.giveBack()
            try allocator.checkInvariants()
            change(&allocator)
            return message { try allocator.checkInvariants() }
        }
        let twice = try broken { $0.used.append(PageRun(start: $0.used[0].start + 1, count: 2)) }
        #expect(twice.contains("space-3: page "), "\(twice)")
        let outside = try broken { $0.used.append(PageRun(start: $0.map.pageCount.end, count: 1)) }
        #expect(outside.contains("space-4: "), "\(outside)")
        let free = try broken { $0.map.insert([PageRun(start: $0.used[0].start, count: 1)]) }
        #expect(free.contains("(S2)"), "\(free)")
    }

    // MARK: The tree.

    private func open(_ disk: MemoryDisk, walPages: Int = 0) throws -> PageStore {
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.disk = disk
        options.walPages = walPages
        return try PageStore.open(options)
    }

    /// A tree of two levels with a value on pages of its own, and a commit to it that is built and not written.
    private func broken(_ change: (inout TreeCommit, TreeNode) throws -> Void) throws -> String {
        let store = try open(MemoryDisk())
        defer { store.close() }
        try store.commitNext((0 ..< 200).map { ("key-\(1000 + $0)", [UInt8](repeating: 7, count: 100)) })
        try store.checkInvariants()
        let pages = try #require(try store.treePages())
        let root = pages.shown.withLock { $0.known.root }
        #expect(root.level == 1)
        var state = try TreeState(reading: root, pages.image)
        let wal = TreeCommit.WALRequest(isDone: false, pageCount: 0, salt: 0)
        var commit = TreeCommit(pages, &state, root.version.next, byteCount: 6000, wal)
        var batch = PageBatch()
        batch.put(Array("key-1100".utf8), [UInt8](repeating: 8, count: 6000))
        batch.put(Array("key-1101".utf8), [1])
        let header = try store.header.advanced(to: root.version.next)
        try commit.build(batch.changes, header)
        try commit.checkInvariants()
        defer { commit.abandon() }
        try change(&commit, try node(pages.image, commit.next.root.tree))
        return message { try commit.checkInvariants() }
    }

    /// The child of the new root that the commit has made, besides the first, which has the header record.
    private func newChild(_ commit: TreeCommit, _ root: TreeNode) throws -> Int {
        try #require((1 ..< root.count).first { root.reference($0).birth == commit.version })
    }

    private func leaf(_ commit: TreeCommit, _ root: TreeNode) throws -> TreeNode {
        try node(commit.image, root.reference(try newChild(commit, root)))
    }

    private func node(_ image: PageImage, _ reference: PageRef) throws -> TreeNode {
        TreeNode(try #require(image.builtBytes(reference.run(image.layout))))
    }

    private func store(_ reference: PageRef, _ node: TreeNode, _ index: Int) {
        let entry = UnsafeMutableRawPointer(mutating: node.entry(index))
        reference.store(at: entry + TreeNode.entryHeader + node.key(index).count)
    }

    @Test func brokenNodesAreNamed() throws {
        let level = try broken { commit, root in
            let base = UnsafeMutableRawPointer(mutating: try leaf(commit, root).base)
            base.storeBytes(of: 1, toByteOffset: 12, as: UInt16.self)
        }
        #expect(level.contains("tree-1: page "), "\(level)")
        let other = try broken { commit, root in
            var reference = root.reference(try newChild(commit, root))
            reference.checksum ^= 1
            store(reference, root, try newChild(commit, root))
        }
        #expect(other.contains("tree-1: page "), "\(other)")
        let entries = try broken { commit, root in
            let leaf = try leaf(commit, root)
            let base = UnsafeMutableRawPointer(mutating: leaf.base)
            let first = base.load(fromByteOffset: TreeNode.headerBytes, as: UInt16.self)
            base.storeBytes(of: first - 8, toByteOffset: TreeNode.headerBytes, as: UInt16.self)
        }
        #expect(entries.contains("tree-2: entries fill page "), "\(entries)")
        let order = try broken { commit, root in
            let last = try leaf(commit, root)
            UnsafeMutableRawPointer(mutating: last.entry(1) + TreeNode.entryHeader).storeBytes(of: 0, as: UInt8.self)
        }
        #expect(order.contains("tree-2: entries fill page "), "\(order)")
        let low = try broken { commit, root in
            let first = try leaf(commit, root)
            UnsafeMutableRawPointer(mutating: first.entry(0) + TreeNode.entryHeader).storeBytes(of: 0, as: UInt8.self)
        }
        #expect(low.contains("tree-3: the keys of page "), "\(low)")
        let high = try broken { commit, root in
            let leaf = try leaf(commit, root)
            let last = leaf.entry(leaf.count - 1) + TreeNode.entryHeader
            UnsafeMutableRawPointer(mutating: last).storeBytes(of: 0xFE, as: UInt8.self)
        }
        #expect(high.contains("tree-3: the keys of page "), "\(high)")
    }

    @Test func brokenReferencesAreNamed() throws {
        let twice = try broken { commit, root in
            store(root.reference(try newChild(commit, root)), root, root.count - 1)
        }
        #expect(twice.contains("tree-4: new page "), "\(twice)")
        let left = try broken { commit, root in
            var reference = root.reference(root.count - 1)
            reference.page = try #require(commit.writer.freed.first).run.start
            reference.birth = Version(1)
            store(reference, root, root.count - 1)
        }
        #expect(left.contains("tree-5: page "), "\(left)")
        let foreign = try broken { commit, root in
            var reference = root.reference(try newChild(commit, root))
            reference.birth = .zero
            store(reference, root, try newChild(commit, root))
        }
        #expect(foreign.contains("tree-6: what is on page "), "\(foreign)")
        let unused = try broken { commit, _ in
            _ = try commit.writer.allocator.allocate(1)
            commit.writer.allocator.giveBack()
        }
        #expect(unused.contains("tree-7: something refers to each page"), "\(unused)")
        let free = try broken { commit, _ in
            commit.next.map.insert([PageRun(start: commit.next.root.tree.page, count: 1)])
        }
        #expect(free.contains("(S2)"), "\(free)")
    }

    #if DEBUG
    /// Pages in use are counted as free: the commit that would take them is refused, and nothing is lost.
    @Test func aCommitThatBreaksTheTreeIsNotWritten() throws {
        let disk = MemoryDisk()
        let store = try open(disk)
        try store.commitNext((0 ..< 2000).map { ("key-\(10_000 + $0)", [UInt8](repeating: 7, count: 100)) })
        try store.checkInvariants()
        let pages = try #require(try store.treePages())
        let known = pages.shown.withLock { $0.known.root }
        let root = try pages.image.node(known.tree, level: known.level)
        let leaves = (root.count - 30 ..< root.count).map { root.reference($0).page }
        #expect(known.level == 1 && zip(leaves, leaves.dropFirst()).allSatisfy { $0 + 1 == $1 })
        pages.state?.map.insert([PageRun(start: leaves[0], count: PageCount(leaves.count))])
        let before = disk.contents

        let error = try failure { try store.commitNext([("key-10000", [1])]) }

        #expect(error.code == .corrupted && error.message.contains("tree-6: what is on page "), "\(error)")
        #expect(disk.contents == before)
        try store.commitNext([("key-10000", [1])])
        try store.checkInvariants()
        #expect(try store.snapshot().contents().count == 2000 && store.snapshot().value("key-10000") == [1])
    }
    #endif

    // MARK: What a process remembers.

    @Test func aMapThatIsNotTheFilesIsNamed() throws {
        let store = try open(MemoryDisk())
        defer { store.close() }
        for round in 0 ..< 5 { try store.commitNext([("a", [UInt8](repeating: UInt8(round), count: 9000))]) }
        try store.checkInvariants()
        let pages = try #require(try store.treePages())
        let end = try #require(pages.state).map.pageCount.end
        pages.state?.map.insert([PageRun(start: end, count: 2)])
        pages.state?.map.pageCount += 2
        let longer = message { try store.checkInvariants() }
        #expect(longer.contains("space-5: the map in memory"), "\(longer)")
    }

    @Test func aBrokenWALIsNamed() throws {
        func broken(_ change: (inout WALState) -> Void) throws -> String {
            let store = try open(MemoryDisk(), walPages: 8)
            defer { store.close() }
            for round in 0 ..< 4 { try store.commitNext([("key-\(round)", [UInt8(round)])]) }
            let pages = try #require(try store.treePages())
            #expect(pages.shown.withLock { !$0.known.wal.isEmpty })
            try store.checkInvariants()
            pages.shown.withLock { change(&$0.known.wal) }
            return message { try store.checkInvariants() }
        }
        let long = try broken { $0.usedPages = 9 }
        #expect(long.contains("wal-1: "), "\(long)")
        let unknown = try broken { $0.filter = KeyFilter() }
        #expect(unknown.contains("wal-2: "), "\(unknown)")
    }

    @Test func aBrokenMapInMemoryIsNamed() throws {
        func broken(_ change: (inout MemoryTree) -> Void) throws -> String {
            var tree = MemoryTree()
            for number in 0 ..< 300 { tree.put(Array("key-\(1000 + number)".utf8), [1]) }
            try tree.checkInvariants()
            change(&tree)
            return message { try tree.checkInvariants() }
        }
        let empty = try broken { $0.blocks.append([]) }
        #expect(empty.contains("memory-1: "), "\(empty)")
        let order = try broken { $0.blocks.swapAt(0, 1) }
        #expect(order.contains("memory-2: "), "\(order)")
        let count = try broken { $0.blocks[0].removeLast() }
        #expect(count.contains("memory-3: "), "\(count)")
    }
}
