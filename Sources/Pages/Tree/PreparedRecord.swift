/// A record's pages, and what the journal is once they are written.
import MotteValues

struct PreparedRecord: ~Copyable {
    private let buffer: UnsafeMutableRawBufferPointer
    /// Where in the file they go.
    let offset: Int
    let next: JournalState

    /// nil where the journal has no room for it.
    init?(
        _ changes: [PageBatch.Entry], _ header: FileHeader, _ place: JournalPlace, _ journal: JournalState,
        _ image: PageImage
    ) throws(DatabaseError) {
        // The header record belongs to every commit, and before all other keys.
        var batch = PageBatch()
        batch.put(FileHeader.key, header.encoded())
        let entries = batch.entries + changes
        let pageBytes = image.pageBytes
        let count = JournalRecord.pageCount(entries, image.layout)
        guard journal.usedPages + count <= place.run.count else { return nil }
        let page = place.run.start + journal.usedPages
        buffer = .allocate(byteCount: count * pageBytes, alignment: 16)
        offset = page * pageBytes
        let version = header.version.rawValue
        let checksum = try JournalRecord.encode(
            entries, version, place.salt, after: journal.chain, to: buffer, page: page, image.cipher)
        var next = journal
        next.add(entries, version, pages: count, checksum)
        self.next = next
        withExtendedLifetime(batch.count) {}
    }

    deinit {
        buffer.deallocate()
    }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(buffer) }
}
