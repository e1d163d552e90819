/// A version written out as a page file of its own: sorted entries, so nodes are full and nothing is free.
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

struct TreeCopy {
    private let disk: FileDisk
    private let image: PageImage
    private let header: FileHeader
    private var writer: TreeWriter
    private var root = PageRef.none
    private var level = 0
    private var written = 0

    /// Writes to a file that was just made. `header` is that of the copy.
    init(
        _ temporary: TemporaryFile, _ header: FileHeader, encryptionKey: [UInt8]?, memoryBytes: Int
    ) throws(DatabaseError) {
        let cipher: PageCipher? = if let encryptionKey { try PageCipher.new(encryptionKey) } else { nil }
        disk = try FileDisk(temporary.path, isWritable: true, making: temporary)
        self.header = header
        do throws(DatabaseError) {
            image = try PageImage(disk, pageBytes: header.pageBytes, cipher, memoryBytes: memoryBytes)
        } catch {
            disk.close()
            throw error
        }
        let allocator = PageAllocator(
            image, SpaceMap(pageCount: TreeFormat.leastPages), wishing: TreeCommit.mostPagesInOneFlush, temporary.path)
        writer = TreeWriter(image, allocator, version: header.version)
    }

    /// Batches ascend, and the header record is in the first.
    mutating func append(_ batch: borrowing PageBatch) throws(DatabaseError) {
        let entries = batch.effectiveEntries()
        let (root, level) = (self.root, self.level)
        let result: Result<(root: PageRef, level: Int), DatabaseError> = entries.withUnsafeBufferPointer { entries in
            do throws(DatabaseError) {
                return .success(try writer.apply(entries, to: root, level: level))
            } catch {
                return .failure(error)
            }
        }
        (self.root, self.level) = try result.get()
        try writer.settle()
    }

    /// Writes it all. Whoever made the file flushes it.
    mutating func finish() throws(DatabaseError) {
        var slot = RootSlot()
        slot.version = header.version
        slot.durable = slot.version
        slot.tree = root
        slot.level = level
        slot.entryCount = writer.entryDelta
        slot.branchPageCount = writer.branchDelta
        slot.leafPageCount = writer.leafDelta
        slot.extentPageCount = writer.extentDelta
        // The few nodes that the last batches made again are free.
        writer.allocator.giveBack()
        let unused = writer.freed.map(\.run) + writer.allocator.spare
        let bound = SpaceLog.checkpointBytes(
            writer.allocator.map.runCount + unused.count + 4, of: writer.allocator.map.pageCount)
        var content = [UInt8](repeating: 0, count: bound)
        let page = try writer.allocator.allocate(image.layout.pageCount(bound))
        writer.allocator.giveBack()
        var map = writer.allocator.map
        map.insert(writer.freed.map(\.run) + writer.allocator.spare)
        map.dropEnd()
        content.withUnsafeMutableBytes { SpaceLog.encodeCheckpoint(map, $0) }
        slot.checkpoint = try content.withBytes { bytes throws(DatabaseError) in try writer.fillExtent(page, bytes) }
        slot.pageCount = map.pageCount
        try image.write(writer.unwrittenRuns)
        let byteCount = image.byteCount(of: slot.pageCount)
        // Where it was written in small pieces the disk has grown ahead of them.
        if try disk.byteCount() != byteCount { try disk.resize(to: byteCount) }
        try image.write(slot)
        try disk.fillHoles(in: image.slotBytes)
        try image.writeHead(header.fileUUID)
    }

    func close() { disk.close() }
}
