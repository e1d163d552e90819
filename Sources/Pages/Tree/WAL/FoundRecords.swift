/// Records of WALs that salvage finds without a root, by their checksums, and in which order they count.
import MotteValues

struct FoundRecord {
    let page: PageNumber
    let version: Version
    let salt: UInt64
    /// The checksum of the record before it; of the first one its root's version.
    let previous: UInt64
    let checksum: UInt64
    let byteCount: Int

    /// No commit writes so long a one; what only looks like a record is not read for nothing.
    private static let mostBytes = 16 << 20

    /// The record that begins with this page; nil where none does.
    init?(_ image: PageImage, page: PageNumber, _ head: UnsafeRawBufferPointer) throws(DatabaseError) {
        func word(_ offset: Int) -> UInt64 {
            UInt64(littleEndian: head.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        guard head.count >= WALRecord.headerBytes, UInt32(truncatingIfNeeded: word(8)) == WALRecord.magic
        else { return nil }
        let pageBytes = head.count
        self.page = page
        byteCount = Int(word(8) >> 32)
        salt = word(24)
        previous = word(32)
        guard byteCount <= FoundRecord.mostBytes else { return nil }
        let count = WALRecord.pageCount(byteCount, pageBytes: pageBytes)
        guard let found = try FoundRecord.read(image, page, count, salt, { record, _ in record }) else { return nil }
        version = found.version
        checksum = found.checksum
    }

    /// Every entry, with its value or, where it deletes, nil.
    func forEach(
        _ image: PageImage, _ visit: (_ key: [UInt8], _ value: [UInt8]?) -> Void
    ) throws(DatabaseError) {
        let count = WALRecord.pageCount(byteCount, pageBytes: image.pageBytes)
        _ = try FoundRecord.read(image, page, count, salt) { _, entries in
            for entry in entries { visit(Array(entry.key), entry.isDelete ? nil : Array(entry.value)) }
        }
    }

    /// nil where there is no sound record, or none that the file's key fits.
    private static func read<Answer>(
        _ image: PageImage, _ page: PageNumber, _ count: PageCount, _ salt: UInt64,
        _ body: (WALRecord, [PageBatch.Entry]) -> Answer
    ) throws(DatabaseError) -> Answer? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: image.byteCount(of: count), alignment: 16)
        defer { buffer.deallocate() }
        let bytes = UnsafeRawBufferPointer(buffer)
        guard try image.disk.read(buffer, at: image.offset(of: page)) == buffer.count,
            let record = WALRecord(at: bytes, salt: salt, pageBytes: image.pageBytes),
            try record.unseal(buffer, page: page, image.cipher), let entries = WALRecord.entries(in: bytes)
        else { return nil }
        return body(record, entries)
    }

    /// Of records in the order of their versions: those that follow a root one upon the other, and what lies behind a
    /// gap in them.
    static func course(
        _ records: [FoundRecord], after root: Version
    ) -> (following: [FoundRecord], behind: [FoundRecord]) {
        var following: [FoundRecord] = []
        var (version, chain) = (root, root.rawValue)
        for record in records where record.version > version && record.previous == chain {
            following.append(record)
            (version, chain) = (record.version, record.checksum)
        }
        return (following, records.filter { $0.version > version })
    }
}
