/// What the newest version has beyond its root: the records of the WAL so far, taken together in memory, and where
/// the next one goes. A value: each snapshot keeps the changes that it shows.
import MotteValues

package struct WALState {
    /// Of the last record; the root's, while there is none.
    private(set) var version: Version
    /// Pages of the WAL that have records.
    package var usedPages: PageCount = 0
    /// What the next record names as the one before it.
    private(set) var chain: UInt64
    /// Above what the root's tree says.
    private(set) var changes = MemoryTree(largestBlock: 24)
    /// Of the keys of those.
    package var filter = KeyFilter()
    /// Pages behind may hold records that were never acknowledged, or were lost together with what came before them:
    /// then nothing is added, and the next commit takes it all into the tree.
    var mayGrow = true

    /// A root, before its WAL was looked at.
    init(_ root: RootSlot) {
        version = root.version
        chain = root.version.rawValue
    }

    package var isEmpty: Bool { usedPages == 0 }

    private static let fewPages: PageCount = 16
    private static let manyPages: PageCount = 128

    /// After a record of this process.
    mutating func add(_ entries: [PageBatch.Entry], _ version: Version, pages: PageCount, _ checksum: UInt64) {
        change(by: entries)
        usedPages += pages
        chain = checksum
        self.version = version
    }

    /// Reads on from the last record known, up to a version. Ends where the next one is missing, or is not whole.
    mutating func readOn(
        _ place: WALLocation, _ image: PageImage, through limit: Version
    ) throws(DatabaseError) {
        var wanted = WALState.fewPages
        while usedPages < place.run.count, version < limit {
            let count = min(wanted, place.run.count - usedPages)
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: image.byteCount(of: count), alignment: 16)
            defer { buffer.deallocate() }
            let bytes = try image.disk.read(buffer, at: image.offset(of: place.run.start + usedPages))
            let read = image.pageCount(in: bytes)
            let pages = UnsafeMutableRawBufferPointer(rebasing: buffer[..<image.byteCount(of: read)])
            if try take(pages, place, image, through: limit) {
                wanted = min(wanted * 2, WALState.manyPages)
                continue
            }
            // It may be longer than what was read.
            guard read == count, count < place.run.count - usedPages,
                let likely = WALRecord.likelyPageCount(
                    UnsafeRawBufferPointer(pages), salt: place.salt, pageBytes: image.pageBytes),
                likely > count
            else { return }
            wanted = likely
        }
    }

    /// False when not even one record begins there. Decrypts in place.
    private mutating func take(
        _ pages: UnsafeMutableRawBufferPointer, _ place: WALLocation, _ image: PageImage, through limit: Version
    ) throws(DatabaseError) -> Bool {
        var batch = PageBatch()
        var offset = 0
        while offset < pages.count, version < limit {
            let rest = UnsafeMutableRawBufferPointer(rebasing: pages[offset...])
            let bytes = UnsafeRawBufferPointer(rest)
            guard let record = WALRecord(at: bytes, salt: place.salt, pageBytes: image.pageBytes),
                record.version > version, record.version <= limit, WALRecord.follows(chain, bytes),
                try record.unseal(rest, page: place.run.start + usedPages, image.cipher),
                let entries = WALRecord.entries(in: bytes)
            else { break }
            for entry in entries { batch.add(entry) }
            version = record.version
            chain = record.checksum
            usedPages += record.pageCount
            offset += image.byteCount(of: record.pageCount)
        }
        change(by: batch.effectiveEntries())
        return offset > 0
    }

    func checkInvariants(_ place: WALLocation?) throws(DatabaseError) {
        try Invariant.require(
            usedPages <= place?.run.count ?? 0, "wal-1: the records of the write-ahead log lie within its pages")
        try changes.checkInvariants()
        try Invariant.require(
            changes.blocks.joined().allSatisfy { filter.mayHave($0.key) },
            "wal-2: the filter of the write-ahead log knows each of its keys")
    }

    private mutating func change(by entries: [PageBatch.Entry]) {
        changes.apply(entries, rememberingDeletions: true)
        for entry in entries { filter.insert(entry.key) }
    }

    /// Later versions of which something lies behind the last record, as a commit leaves it that was cut short.
    func strayVersions(
        _ place: WALLocation, _ image: PageImage
    ) throws(DatabaseError) -> Set<Version> {
        let pageBytes = image.pageBytes
        var strays: Set<Version> = []
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: image.byteCount(of: WALState.manyPages), alignment: 16)
        defer { buffer.deallocate() }
        var page = usedPages
        while page < place.run.count {
            let count = min(WALState.manyPages, place.run.count - page)
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<image.byteCount(of: count)])
            let read = try image.disk.read(part, at: image.offset(of: place.run.start + page)) / pageBytes
            for index in 0 ..< read {
                let bytes = UnsafeRawBufferPointer(rebasing: part[index * pageBytes ..< (index + 1) * pageBytes])
                let found = WALRecord.trace(in: bytes, salt: place.salt)
                if let found, found > version { strays.insert(found) }
            }
            page += count
        }
        return strays
    }

    /// What has to go into the tree together with a commit's own entries, which win. The batch points into both, and
    /// copies nothing: it is good for as long as this is kept.
    func batch(before later: PageBatch.Changes) -> PageBatch {
        var batch = PageBatch()
        for block in changes.blocks {
            for entry in block where !entry.key.elementsEqual(FileHeader.key) {
                guard let start = entry.key.baseAddress else { continue }
                batch.add(
                    PageBatch.Entry(start, entry.key.count, entry.value.count, isDelete: entry.isDeletion))
            }
        }
        for entry in later.entries { batch.add(entry) }
        batch.note(later.effect, recordBytes: later.recordBytes)
        for spill in later.spills { batch.lends(spill) }
        return batch
    }
}
