/// The record that makes a commit: the root of the tree and of the free-space map, in one page that is written last.
///
///       0  u64 checksum of the rest of the page         64  PageRef  checkpoint of space, or zero
///       8  u32 "MTRT"                                   88  PageRef  newest page of the space log, or zero
///      12  u16 level of the root node                  112  u64 entries      120  u64 branch pages
///      14  u16 bytes of the space log in this page     128  u64 leaf pages   136  u64 pages of extents
///      16  u64 version                                 144  u64 sequence number
///      24  u64 durable version when this was written   152  u32 bytes of the space log's pages so far
///      32  u64 page count: where the file ends         156  u32 bytes of the WAL's part, 0 or 48
///      40  PageRef  root node, or zero                 160  the newest part of the space log
///
/// Of an encrypted file what comes before 32 stays legible, so that it shows which slot is written next; the page ends
/// with the file's salt, the random bytes of the nonce and the tag. The checksum is over what is in the file.
///
/// Where the file has a WAL, the number at 156 is 48, and what `WALLocation` says stands at 160, before the log;
/// else it is zero.
///
/// A slot counts when its checksum is right and every page born after its durable version, as far as it reaches any, is
/// sound: references carry checksums, so the walk over just these proves the commit whole. A commit that was flushed
/// before its slot was written, and a slot that is written again when a file is closed, say so by a durable version
/// equal to their own: then damage behind them is damage, and not a commit that a power cut kept from happening.
/// Slots are used in turn, never the one with the last durable version. Of two with one version the later sequence
/// counts.
import CMotteShim
import MotteValues

package struct RootSlot: Equatable {
    package var version = Version.zero
    package var durable = Version.zero
    package var pageCount = TreeFormat.leastPages
    package var tree = PageRef.none
    package var level = 0
    var checkpoint = PageRef.none
    package var logPage = PageRef.none
    var logPageBytes = 0
    var entryCount = 0
    var branchPageCount: PageCount = 0
    var leafPageCount: PageCount = 0
    var extentPageCount: PageCount = 0
    /// Of the tree and of its values.
    var treePageCount: PageCount { branchPageCount + leafPageCount + extentPageCount }
    package var sequence: UInt64 = 0
    package var log: [UInt8] = []
    /// Where small commits on top of this root are; nil where the file has none.
    var wal: WALLocation?
    /// Which slot it was read from, or is written to.
    package var slot = 0

    package static let magic: UInt32 = 0x5452_544D  // "MTRT", little-endian
    private static let fixedBytes = 160
    /// What is not encrypted, the checksum included.
    static let clearBytes = 32
    static let countLimit = 1 << 44
    /// Where the newest part of the space log begins.
    var logOffset: Int { RootSlot.fixedBytes + (wal == nil ? 0 : WALLocation.encodedCount) }

    package func encoded(pageBytes: Int, _ cipher: PageCipher? = nil) throws(DatabaseError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: pageBytes)
        let number = TreeFormat.slotPage(slot)
        let result: Result<Void, DatabaseError> = bytes.withUnsafeMutableBytes { page in
            encode(to: page)
            do throws(DatabaseError) {
                try cipher?.sealSlot(page, number)
            } catch {
                return .failure(error)
            }
            page.storeBytes(
                of: RootSlot.checksum(UnsafeRawBufferPointer(page)).littleEndian, toByteOffset: 0, as: UInt64.self)
            return .success(())
        }
        try result.get()
        return bytes
    }

    /// All but the checksum.
    private func encode(to page: UnsafeMutableRawBufferPointer) {
        guard let base = page.baseAddress else { return }
        func store(_ value: UInt64, _ offset: Int) {
            base.storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt64.self)
        }
        base.storeBytes(of: RootSlot.magic.littleEndian, toByteOffset: 8, as: UInt32.self)
        store(version.rawValue, 16)
        store(durable.rawValue, 24)
        store(UInt64(pageCount.rawValue), 32)
        tree.store(at: base + 40)
        checkpoint.store(at: base + 64)
        logPage.store(at: base + 88)
        store(UInt64(entryCount), 112)
        store(UInt64(branchPageCount.rawValue), 120)
        store(UInt64(leafPageCount.rawValue), 128)
        store(UInt64(extentPageCount.rawValue), 136)
        base.storeBytes(of: UInt16(level).littleEndian, toByteOffset: 12, as: UInt16.self)
        base.storeBytes(of: UInt16(log.count).littleEndian, toByteOffset: 14, as: UInt16.self)
        base.storeBytes(of: UInt32(logPageBytes).littleEndian, toByteOffset: 152, as: UInt32.self)
        store(sequence, 144)
        if let wal {
            base.storeBytes(
                of: UInt32(WALLocation.encodedCount).littleEndian, toByteOffset: 156, as: UInt32.self)
            wal.store(at: base + RootSlot.fixedBytes)
        }
        log.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(rebasing: page[logOffset...]).copyMemory(from: bytes)
        }
    }

    private static func checksum(_ page: UnsafeRawBufferPointer) -> UInt64 {
        page.baseAddress.map { motte_shim_xxh3($0 + 8, page.count - 8) } ?? 0
    }

    /// Whether a page is a slot as it was written, encrypted or not.
    static func hasChecksum(_ page: UnsafeRawBufferPointer) -> Bool {
        page.count >= 512
            && UInt32(littleEndian: page.loadUnaligned(fromByteOffset: 8, as: UInt32.self)) == RootSlot.magic
            && UInt64(littleEndian: page.loadUnaligned(as: UInt64.self)) == checksum(page)
    }

    /// nil when the page is no sound slot of a plain file.
    package init?(decoding page: UnsafeRawBufferPointer, _ layout: PageLayout, slot: Int) {
        guard RootSlot.hasChecksum(page) else { return nil }
        self.init(fields: page, layout, slot: slot)
    }

    /// Of a page whose checksum was right and that was decrypted.
    init?(fields page: UnsafeRawBufferPointer, _ layout: PageLayout, slot: Int) {
        guard let base = page.baseAddress else { return nil }
        func word(_ offset: Int) -> UInt64 {
            UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        func half(_ offset: Int) -> Int {
            Int(UInt16(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
        }
        version = Version(word(16))
        durable = Version(word(24))
        tree = PageRef(at: base + 40)
        level = half(12)
        checkpoint = PageRef(at: base + 64)
        logPage = PageRef(at: base + 88)
        logPageBytes = Int(UInt32(littleEndian: base.loadUnaligned(fromByteOffset: 152, as: UInt32.self)))
        sequence = word(144)
        self.slot = slot
        // A sound checksum does not make a number sensible: files may come from anywhere.
        let counts = [word(32), word(112), word(120), word(128), word(136)]
        let walBytes = Int(UInt32(littleEndian: base.loadUnaligned(fromByteOffset: 156, as: UInt32.self)))
        let logOffset = RootSlot.fixedBytes + walBytes
        guard counts.allSatisfy({ $0 < UInt64(RootSlot.countLimit) }), level < TreeFormat.mostLevels,
            durable <= version, max(version.rawValue, sequence) < TreeFormat.versionLimit,
            walBytes == 0 || walBytes == WALLocation.encodedCount,
            logOffset + half(14) <= page.count - layout.slotTrailerBytes
        else { return nil }
        if walBytes > 0 { wal = WALLocation(at: base + RootSlot.fixedBytes) }
        pageCount = PageCount(Int(counts[0]))
        entryCount = Int(counts[1])
        branchPageCount = PageCount(Int(counts[2]))
        leafPageCount = PageCount(Int(counts[3]))
        extentPageCount = PageCount(Int(counts[4]))
        log = Array(page[logOffset ..< logOffset + half(14)])
        let references = [tree, checkpoint, logPage].filter { !$0.isNone }
        guard pageCount >= TreeFormat.leastPages, tree.byteCount == 0,
            references.allSatisfy({
                $0.page >= TreeFormat.firstPage && $0.run(layout).end <= pageCount.end
            }), wal?.isWithin(pageCount) ?? true
        else { return nil }
    }

    init() {}

    /// Of two sound slots, which one is the later.
    func isNewer(than other: RootSlot) -> Bool { (version, sequence) > (other.version, other.sequence) }
}
