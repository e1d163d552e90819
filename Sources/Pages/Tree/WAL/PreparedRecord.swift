/// A record's pages, and what the WAL is once they are written.
import MotteValues

struct PreparedRecord: ~Copyable {
    private let buffer: UnsafeMutableRawBufferPointer
    /// Where in the file they go.
    let offset: Int
    let next: WALState

    /// nil where the WAL has no room for it.
    init?(
        _ changes: [PageBatch.Entry], _ header: FileHeader, _ place: WALLocation, _ wal: WALState,
        _ image: PageImage
    ) throws(DatabaseError) {
        // The header record belongs to every commit, and before all other keys.
        var batch = PageBatch()
        batch.put(FileHeader.key, header.encoded())
        let entries = batch.entries + changes
        let count = WALRecord.pageCount(entries, image.layout)
        guard wal.usedPages + count <= place.run.count else { return nil }
        let page = place.run.start + wal.usedPages
        buffer = .allocate(byteCount: image.byteCount(of: count), alignment: 16)
        offset = image.offset(of: page)
        let version = header.version
        let checksum: UInt64
        do throws(DatabaseError) {
            checksum = try WALRecord.encode(
                entries, version, place.salt, after: wal.chain, to: buffer, page: page, image.cipher)
        } catch {
            // What was never whole is not deinitialized.
            buffer.deallocate()
            throw error
        }
        var next = wal
        next.add(entries, version, pages: count, checksum)
        self.next = next
        withExtendedLifetime(batch.count) {}
    }

    deinit {
        buffer.deallocate()
    }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(buffer) }
}
