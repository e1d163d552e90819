// What a file's pages in memory are filled from: nothing is asked of a disk that it cannot have, and what memory still
// holds of an earlier occupant never stands for what the disk has lost.
import MottePages
import MotteValues
import TestSupport
import Testing

@Suite struct PageImageTests {
    /// Writes a value to pages of its own behind the pages that the disk has.
    private func write(_ value: [UInt8], _ image: PageImage) throws -> PageRef {
        let map = SpaceMap(pageCount: image.pageCount(in: try image.disk.byteCount()))
        var writer = TreeWriter(image, PageAllocator(image, map, wishing: 1, "a test"), version: Version(7))
        let reference = try value.withUnsafeBytes { try writer.writeExtent($0) }
        let count = image.byteCount(of: reference.pageCount(image.layout))
        try image.disk.write(
            UnsafeRawBufferPointer(start: try #require(image.builtBytes(reference.run(image.layout))), count: count),
            at: image.offset(of: reference.page))
        return reference
    }

    private func image(_ disk: any Disk) throws -> PageImage {
        try PageImage(disk, pageBytes: 4096)
    }

    /// Wherever it is said to begin: on pages that nobody has read, on read ones, behind the end.
    @Test(arguments: [4, 9, 200]) func aValueLongerThanTheFileIsNotAskedFor(page: Int) throws {
        let disk = MeteredDisk(16 * 4096)
        let image = try image(disk)
        for byteCount in [1 << 20, 16 << 20, 1 << 29] {
            let reference = PageRef(page: PageNumber(page), birth: Version(1), checksum: 1, byteCount: byteCount)
            let error = try failure { _ = try image.extent(reference) }
            #expect(error.code == .corrupted && error.message.contains("ends before page"), "\(error)")
        }
        #expect(disk.largestRead == 0)
        // One that fits is read, and is not the value.
        let short = PageRef(page: 5, birth: Version(1), checksum: 1, byteCount: 100)
        #expect(try failure { _ = try image.extent(short) }.message.contains("page 5 is not the value"))
        #expect((4096 ... 4096 * 16).contains(disk.largestRead))
    }

    @Test func whatTheDiskHasLostIsNotTakenFromMemory() throws {
        let disk = MemoryDisk([UInt8](repeating: 0, count: 8 * 4096))
        let image = try image(disk)
        let value = (0 ..< 10_000).map { UInt8(truncatingIfNeeded: $0) }
        let reference = try write(value, image)
        let run = reference.run(image.layout)
        image.forget(run)
        #expect(try image.extent(reference).elementsEqual(value), "read again")
        image.forget(run)
        for pages in [1, 0] as [PageCount] {
            disk.resize(to: image.offset(of: reference.page + pages))
            for _ in 0 ..< 2 {
                let error = try failure { _ = try image.extent(reference) }
                #expect(error.code == .corrupted && error.message.contains("ends before page"), "\(error)")
            }
        }
    }
}

/// Zeros, and how much was asked of them at once.
private final class MeteredDisk: Disk, @unchecked Sendable {  // @unchecked: one test, one thread
    let path = ":metered:"
    private let count: Int
    private(set) var largestRead = 0

    init(_ count: Int) { self.count = count }

    func byteCount() -> Int { count }
    func close() {}
    func flush() {}
    func write(_ source: UnsafeRawBufferPointer, at offset: Int) throws(DatabaseError) {
        throw DatabaseError(.readOnly, "the test's disk is for reading")
    }
    func resize(to byteCount: Int) throws(DatabaseError) {
        throw DatabaseError(.readOnly, "the test's disk is for reading")
    }

    func read(_ target: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        largestRead = max(largestRead, target.count)
        let arrived = max(0, min(target.count, count - offset))
        UnsafeMutableRawBufferPointer(rebasing: target[..<arrived]).initializeMemory(as: UInt8.self, repeating: 0)
        return arrived
    }
}
