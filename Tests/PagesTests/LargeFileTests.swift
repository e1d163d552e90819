// A file of 100 GB, most of which was never written: opened, read, checked, appended to and used again where it is
// free, with a megabyte of memory for its pages.
import MottePages
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct LargeFileTests {
    private static let far = 100 << 30
    private static let memory = 1 << 20

    private func options(_ path: String) -> PageStoreOptions {
        var options = PageStoreOptions(path: path)
        options.memoryBytes = Self.memory
        // Of smaller ones there are so many that going through them takes its time.
        options.pageBytes = 32_768
        // Each commit builds pages.
        options.walPages = 0
        return options
    }

    private func value(_ index: Int) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: index &* 7 &+ 1), count: 50_000 + index)
    }

    private func key(_ index: Int) -> [UInt8] { [UInt8](String(1_000 + index).utf8) }

    /// Bytes that the file has, and that it takes on the disk.
    private func sizes(_ path: String) -> (length: Int, taken: Int) {
        var status = stat()
        stat(path, &status)
        return (Int(status.st_size), Int(status.st_blocks) * 512)
    }

    private func expect(_ store: PageStore, _ count: Int) throws {
        let snapshot = try store.snapshot()
        for index in 0 ..< count {
            #expect(try snapshot.get(key(index))?.bytes.elementsEqual(value(index)) == true, "\(index)")
            snapshot.hold?.renew()
        }
    }

    @Test func aHundredGigabytes() throws {
        let scratch = try Scratch()
        defer { withExtendedLifetime(scratch) {} }
        let path = scratch.path()
        var store = try PageStore.open(options(path))
        for index in 0 ..< 60 { try store.commitNext([(String(1_000 + index), value(index))]) }
        // As if all up to there had been in use: what comes goes behind it.
        do {
            let pages = try #require(try store.treePages())
            pages.state?.map = SpaceMap(pageCount: pages.image.pageCount(in: Self.far))
        }
        for index in 60 ..< 120 { try store.commitNext([(String(1_000 + index), value(index))]) }
        store.close()
        let (length, taken) = sizes(path)
        guard taken < length / 1_000 else {
            print("note: this file system keeps no holes in files")
            return
        }
        #expect(length > Self.far && taken < 128 << 20, "\(length) \(taken)")

        store = try PageStore.open(options(path))
        #expect(try store.statistics().mostMemoryBytes < Self.memory)
        try expect(store, 120)
        #expect(try store.statistics().mostMemoryBytes < 2 * Self.memory)
        #expect(try store.check().isEmpty)
        // Into the free space, of which there is plenty.
        for index in 120 ..< 180 { try store.commitNext([(String(1_000 + index), value(index))]) }
        #expect(sizes(path).length == length)
        try expect(store, 180)
        #expect(try store.statistics().mostMemoryBytes < 3 * Self.memory)
        store.close()
        store = try PageStore.open(options(path))
        try expect(store, 180)
        #expect(try store.check().isEmpty)
        // What lies at the end goes, and the file with it.
        var batch = PageBatch()
        for index in 60 ..< 120 { batch.delete(key(index)) }
        try store.commitNext(batch)
        for _ in 0 ..< 4 { try store.commitNext([("x", [1])]) }
        store.close()
        store = try PageStore.open(options(path))
        defer { store.close() }
        #expect(try store.snapshot().get(key(60)) == nil && store.snapshot().get(key(179)) != nil)
        #expect(try store.check().isEmpty)
        #expect(sizes(path).taken < 128 << 20)
    }
}
