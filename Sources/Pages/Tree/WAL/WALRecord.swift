/// The WAL: pages in a row to which small commits append what they change, one record after another, instead of
/// rewriting the tree. A version is a root and the records behind it; now and then a commit takes them into the tree.
///
///     place   u64 first page; u64 version it was made in; u32 pages; u32 zero; u64 salt; u64 sealed version or zero;
///             u64 checksum of that version's record
///     record  u64 checksum of the bytes behind it; u32 "MTJR"; u32 bytes; u64 version; u64 salt;
///             u64 checksum of the record before, of the first one the root's version; u32 entries; u32 zero; entry ...
///     entry   u16 key bytes; u16 1 for a deletion, else 0; u32 value bytes; key; value; zeros to a multiple of 8
///
/// Of an encrypted file a record has as many bytes as its pages do, but for the last 16; the last 32 of them are the
/// random bytes of the nonce and the tag. What comes before the number of entries stays legible, and is authenticated:
/// so a WAL is read, searched for what a cut left, and salvaged in one way, and only the entries need the key.
///
/// A record begins on a page, and the last 16 bytes of its last page are salt and version again: so where something of
/// a record arrived on the disk, it shows. What is between is zero.
///
/// A record belongs to this WAL by its salt, which no WAL before had, and to its place by the checksum of the
/// record before: a record that an older state of the file left behind never passes for a continuation.
import CMotteShim
import MotteValues

/// Where a root's WAL is, and how far it is known to be whole.
package struct WALLocation: Equatable {
    var run: PageRun
    var birth: Version
    var salt: UInt64
    /// Nothing up to this version may be missing; 0 where that is not known.
    var sealed = Version.zero
    /// The checksum of that version's record.
    var sealedChain: UInt64 = 0

    package static let encodedCount = 48

    init(run: PageRun, birth: Version, salt: UInt64) {
        self.run = run
        self.birth = birth
        self.salt = salt
    }

    init(at start: UnsafeRawPointer) {
        func word(_ offset: Int) -> UInt64 {
            UInt64(littleEndian: start.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        // A page number no file has stands for one too large for us.
        run = PageRun(
            start: PageNumber(Int(min(word(0), 1 << 44))), count: PageCount(Int(word(16) & 0xFFFF_FFFF)))
        birth = Version(word(8))
        salt = word(24)
        sealed = Version(word(32))
        sealedChain = word(40)
    }

    func store(at start: UnsafeMutableRawPointer) {
        let words = [
            UInt64(run.start.rawValue), birth.rawValue, UInt64(run.count.rawValue), salt, sealed.rawValue, sealedChain,
        ]
        for (index, word) in words.enumerated() {
            start.storeBytes(of: word.littleEndian, toByteOffset: index * 8, as: UInt64.self)
        }
    }

    /// More pages than any WAL has; so that reading one asks for no more memory.
    static let mostPages = PageCount(1 << 14)

    func isWithin(_ pageCount: PageCount) -> Bool {
        (1 ... WALLocation.mostPages).contains(run.count) && run.start >= TreeFormat.firstPage
            && run.end <= pageCount.end
    }
}

/// What was read from, or goes to, one record.
package struct WALRecord {
    package static let magic: UInt32 = 0x524A_544D  // "MTJR", little-endian
    package static let headerBytes = 48
    /// What is not encrypted, the checksum included.
    private static let clearBytes = 40
    /// Of the last page: salt and version.
    private static let endBytes = 16
    private static let entryHeader = 8

    let version: Version
    let byteCount: Int
    let pageCount: PageCount
    /// What the next record names as the one before it.
    let checksum: UInt64

    static func byteCount(_ entries: [PageBatch.Entry]) -> Int {
        entries.reduce(headerBytes) { $0 + size(Int($1.keyCount), $1.valueCount) }
    }

    private static func size(_ keyCount: Int, _ valueCount: Int) -> Int {
        (entryHeader + keyCount + valueCount + 7) & ~7
    }

    package static func pageCount(_ byteCount: Int, pageBytes: Int) -> PageCount {
        PageCount((byteCount + endBytes + pageBytes - 1) / pageBytes)
    }

    /// Of a record with these entries.
    static func pageCount(_ entries: [PageBatch.Entry], _ layout: PageLayout) -> PageCount {
        pageCount(byteCount(entries) + layout.trailerBytes, pageBytes: layout.pageBytes)
    }

    /// Fills whole pages. Answers the checksum.
    static func encode(
        _ entries: [PageBatch.Entry], _ version: Version, _ salt: UInt64, after previous: UInt64,
        to pages: UnsafeMutableRawBufferPointer, page: PageNumber, _ cipher: PageCipher?
    ) throws(DatabaseError) -> UInt64 {
        guard let base = pages.baseAddress else { return 0 }
        func store(_ value: UInt64, _ offset: Int) {
            base.storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt64.self)
        }
        let end = encode(entries, to: pages)
        let byteCount = cipher == nil ? end : pages.count - endBytes
        base.storeBytes(of: magic.littleEndian, toByteOffset: 8, as: UInt32.self)
        base.storeBytes(of: UInt32(byteCount).littleEndian, toByteOffset: 12, as: UInt32.self)
        store(version.rawValue, 16)
        store(salt, 24)
        store(previous, 32)
        store(UInt64(entries.count), 40)
        store(salt, pages.count - 16)
        store(version.rawValue, pages.count - 8)
        if let cipher {
            let random = try PageCipher.drawRandom(1)
            try cipher.seal(
                unit(page, version, byteCount), base + clearBytes, count: byteCount - clearBytes,
                to: base + clearBytes, random: random[...], clear: clear(base))
        }
        let checksum = motte_shim_xxh3(base + 8, byteCount - 8)
        store(checksum, 0)
        return checksum
    }

    /// Where the entries end.
    private static func encode(_ entries: [PageBatch.Entry], to pages: UnsafeMutableRawBufferPointer) -> Int {
        guard let base = pages.baseAddress else { return 0 }
        var offset = headerBytes
        for entry in entries {
            let keyCount = Int(entry.keyCount), count = keyCount + entry.valueCount
            base.storeBytes(of: UInt16(keyCount).littleEndian, toByteOffset: offset, as: UInt16.self)
            base.storeBytes(of: UInt16(entry.isDelete ? 1 : 0).littleEndian, toByteOffset: offset + 2, as: UInt16.self)
            base.storeBytes(of: UInt32(entry.valueCount).littleEndian, toByteOffset: offset + 4, as: UInt32.self)
            (base + offset + entryHeader).copyMemory(from: entry.start, byteCount: keyCount)
            if entry.valueCount > 0 {
                (base + offset + entryHeader + keyCount).copyMemory(
                    from: entry.valueStart, byteCount: entry.valueCount)
            }
            let end = offset + entryHeader + count
            offset += size(keyCount, entry.valueCount)
            (base + end).initializeMemory(as: UInt8.self, repeating: 0, count: offset - end)
        }
        (base + offset).initializeMemory(as: UInt8.self, repeating: 0, count: pages.count - offset)
        return offset
    }

    // MARK: Encryption.

    private static func unit(_ page: PageNumber, _ version: Version, _ byteCount: Int) -> PageCipher.Unit {
        PageCipher.Unit(kind: .record, page: page, birth: version, byteCount: byteCount)
    }

    private static func clear(_ base: UnsafeMutableRawPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base + 8, count: clearBytes - 8)
    }

    /// Decrypts the entries in place, where the file is encrypted. False: the record is not what was written there.
    func unseal(
        _ bytes: UnsafeMutableRawBufferPointer, page: PageNumber, _ cipher: PageCipher?
    ) throws(DatabaseError) -> Bool {
        guard let cipher, let base = bytes.baseAddress else { return true }
        guard byteCount >= WALRecord.headerBytes + PageCipher.trailerBytes else { return false }
        return try cipher.unseal(
            WALRecord.unit(page, version, byteCount), base + WALRecord.clearBytes,
            count: byteCount - WALRecord.clearBytes, clear: WALRecord.clear(base))
    }

    /// The record that begins here; nil where none does, or it goes beyond the bytes given.
    init?(at bytes: UnsafeRawBufferPointer, salt: UInt64, pageBytes: Int) {
        guard let base = bytes.baseAddress, bytes.count >= WALRecord.headerBytes,
            WALRecord.word(base, 24) == salt, WALRecord.half(base, 8) == WALRecord.magic
        else { return nil }
        byteCount = Int(WALRecord.half(base, 12))
        pageCount = WALRecord.pageCount(byteCount, pageBytes: pageBytes)
        guard byteCount >= WALRecord.headerBytes, pageCount.byteCount(pageBytes: pageBytes) <= bytes.count
        else { return nil }
        version = Version(WALRecord.word(base, 16))
        checksum = WALRecord.word(base, 0)
        guard version.rawValue < TreeFormat.versionLimit, checksum == motte_shim_xxh3(base + 8, byteCount - 8)
        else { return nil }
    }

    /// Whether it follows the record with this checksum.
    static func follows(_ previous: UInt64, _ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.baseAddress.map { word($0, 32) } == previous
    }

    /// How many pages a record that seems to begin here has; nil where none does.
    static func likelyPageCount(_ bytes: UnsafeRawBufferPointer, salt: UInt64, pageBytes: Int) -> PageCount? {
        guard let base = bytes.baseAddress, bytes.count >= headerBytes, word(base, 24) == salt,
            half(base, 8) == magic
        else { return nil }
        return pageCount(Int(half(base, 12)), pageBytes: pageBytes)
    }

    /// The version of a record that has left something in this page.
    static func trace(in page: UnsafeRawBufferPointer, salt: UInt64) -> Version? {
        guard let base = page.baseAddress, page.count >= headerBytes else { return nil }
        if word(base, 24) == salt, half(base, 8) == magic { return Version(word(base, 16)) }
        return word(base, page.count - 16) == salt ? Version(word(base, page.count - 8)) : nil
    }

    /// The entries of a record whose checksum was right and that was decrypted, lying in its bytes; nil where they
    /// contradict themselves, since files may come from anywhere.
    static func entries(in bytes: UnsafeRawBufferPointer) -> [PageBatch.Entry]? {
        guard let base = bytes.baseAddress, bytes.count >= headerBytes else { return nil }
        let end = Int(half(base, 12))
        let count = Int(half(base, 40))
        guard end <= bytes.count, count <= (end - headerBytes) / (entryHeader + 1) else { return nil }
        var entries: [PageBatch.Entry] = []
        entries.reserveCapacity(count)
        var offset = headerBytes
        for _ in 0 ..< count {
            guard offset + entryHeader <= end else { return nil }
            let keyCount = Int(UInt16(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
            let kind = UInt16(littleEndian: base.loadUnaligned(fromByteOffset: offset + 2, as: UInt16.self))
            let valueCount = Int(half(base, offset + 4))
            let size = size(keyCount, valueCount)
            guard keyCount > 0, keyCount <= KeySpace.longestKey, kind <= 1, offset + size <= end else { return nil }
            entries.append(
                PageBatch.Entry(base + offset + entryHeader, keyCount, valueCount, isDelete: kind == 1))
            offset += size
        }
        // Of an encrypted record what is behind them is what fills its last page.
        return bytes[offset ..< end].allSatisfy { $0 == 0 } ? entries : nil
    }

    private static func word(_ base: UnsafeRawPointer, _ offset: Int) -> UInt64 {
        UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    private static func half(_ base: UnsafeRawPointer, _ offset: Int) -> UInt32 {
        UInt32(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}
