// What a writer does with a file that somebody made, whose checksums are right and whose own figures are not: each
// lie is found out before anything is built on it.
import MottePages
import MotteValues
import TestSupport
import Testing

@Suite struct MadeUpFileTests {
    /// The pages of a small sound file, and its root.
    private func soundFile() throws -> (image: PageImage, root: RootSlot) {
        let disk = MemoryDisk()
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.disk = disk
        options.walPages = 0
        let store = try PageStore.open(options)
        try store.commitNext((0 ..< 9).map { ("key-\($0)", [UInt8($0)]) })
        store.close()
        let image = try PageImage(
            disk, pageBytes: 4096)
        return (image, try RootSlots.choose(disk, image).root)
    }

    /// Puts one entry; these pages are said to be free.
    private func write(_ image: PageImage, _ root: RootSlot, free: PageRun?) throws -> TreeWriter {
        var map = SpaceMap(pageCount: root.pageCount)
        if let free { map.insert([free]) }
        var writer = TreeWriter(image, PageAllocator(image, map, wishing: 1, "made up"), version: root.version.next)
        var batch = PageBatch()
        batch.put(Array("key-5".utf8), [55])
        let entries = batch.entries
        let result: Result<Void, DatabaseError> = entries.withUnsafeBufferPointer { entries in
            do throws(DatabaseError) {
                _ = try writer.apply(entries, to: root.tree, level: root.level)
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
        return writer
    }

    @Test func nodesInUseAreNotBuiltOnWhateverIsSaidToBeFree() throws {
        let (image, root) = try soundFile()
        let sound = try write(image, root, free: nil)
        #expect(sound.leafDelta == 0 && !sound.allocator.used.contains { $0.start == root.tree.page })
        let error = try failure { try write(image, root, free: PageRun(start: root.tree.page, count: 1)) }
        #expect(error.code == .corrupted && error.message.contains("in use and counted as free"))
    }

    @Test func aPageThatIsBeingBuiltIsNotRead() throws {
        let (image, root) = try soundFile()
        let run = PageRun(start: root.tree.page, count: 1)
        try image.beginBuilding(run)
        #expect(try failure { _ = try image.node(root.tree, level: root.level) }.code == .corrupted)
        image.forget(run)
        #expect(try image.node(root.tree, level: root.level).count > 0)
    }

    /// So that going back from page to page ends, whatever they refer to.
    @Test func theAccountOfSpaceGoesBackToOlderPagesOnly() throws {
        let (image, root) = try soundFile()
        var slot = root
        slot.version = Version(20)
        slot.durable = .zero
        func logPage(birth: Version, before: PageRef) throws -> PageRef {
            let map = SpaceMap(pageCount: slot.pageCount)
            var writer = TreeWriter(image, PageAllocator(image, map, wishing: 1, "made up"), version: birth)
            var page = [UInt8](repeating: 0, count: SpaceLog.pageHeader)
            page.withUnsafeMutableBytes { page in
                if let base = page.baseAddress { before.store(at: base) }
            }
            let reference = try page.withUnsafeBytes { try writer.writeExtent($0) }
            slot.pageCount = reference.run(image.layout).end.pagesBefore
            try image.disk.resize(to: image.byteCount(of: slot.pageCount))
            return reference
        }
        let first = try logPage(birth: Version(10), before: .none)
        for (birth, isWhole) in [(UInt64(11), true), (10, false), (9, false)] {
            slot.logPage = try logPage(birth: Version(birth), before: first)
            #expect(try RootSlots.isWhole(slot, image, image.disk) == isWhole, "born in \(birth), upon one of 10")
        }
    }

    @Test func theWALsPagesAreNotFree() {
        var map = SpaceMap(pageCount: 100)
        map.insert([PageRun(start: 40, count: 10)])
        map.die(PageRun(start: 60, count: 5), birth: Version(1), death: Version(2))
        #expect(map.problem(used: []) == nil)
        #expect(map.problem(used: [PageRun(start: 50, count: 10)]) == nil)
        #expect(map.problem(used: [PageRun(start: 49, count: 2)])?.contains("S2") == true)
        #expect(map.problem(used: [PageRun(start: 64, count: 8)])?.contains("S2") == true)
    }

    @Test func versionsHaveALimit() throws {
        let (image, root) = try soundFile()
        func decoded(_ change: (inout RootSlot) -> Void) throws -> RootSlot? {
            var slot = root
            change(&slot)
            return try slot.encoded(pageBytes: 4096).withUnsafeBytes {
                RootSlot(decoding: $0, image.layout, slot: slot.slot)
            }
        }
        #expect(try decoded { $0.version = Version(TreeFormat.versionLimit - 1) } != nil)
        #expect(try decoded { $0.version = Version(TreeFormat.versionLimit) } == nil)
        #expect(try decoded { $0.sequence = .max } == nil)
    }
}
