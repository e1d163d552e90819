/// How the tree points at pages: where they are, in which version they were written, and the checksum of what must be
/// there. So a page that is old, torn, moved or somebody else's never passes for the one meant, and whoever holds a
/// root holds the checksum of everything below it.
///
///     24 bytes: u64 checksum, u48 first page, u48 version of birth, u32 byte count (0: a node, one page)
import MotteValues

package struct PageRef: Equatable {
    package var page: PageNumber
    /// The version's number: a reference is read for each node on the way to a key, and making a `Version` is a call.
    private var birthNumber: UInt64
    package var checksum: UInt64
    /// Bytes of an extent; 0 for a node.
    package var byteCount: Int

    package var birth: Version {
        get { Version(birthNumber) }
        set { birthNumber = newValue.rawValue }
    }

    package static var none: PageRef { PageRef() }
    package static let encodedCount = 24

    /// Its pages.
    package func run(_ layout: PageLayout) -> PageRun { PageRun(start: page, count: pageCount(layout)) }

    var isNone: Bool { page == 0 }

    private init() {
        page = 0
        birthNumber = 0
        checksum = 0
        byteCount = 0
    }

    package init(page: PageNumber, birth: Version, checksum: UInt64, byteCount: Int) {
        self.page = page
        birthNumber = birth.rawValue
        self.checksum = checksum
        self.byteCount = byteCount
    }

    /// A page number no file has stands for one too large for us.
    init(at start: UnsafeRawPointer) {
        checksum = UInt64(littleEndian: start.loadUnaligned(as: UInt64.self))
        let page = UInt64(littleEndian: start.loadUnaligned(fromByteOffset: 8, as: UInt64.self)) & PageRef.lowest48
        self.page = PageNumber(page < 1 << 44 ? Int(page) : 1 << 44)
        birthNumber = UInt64(littleEndian: start.loadUnaligned(fromByteOffset: 12, as: UInt64.self)) >> 16
        byteCount = Int(UInt32(littleEndian: start.loadUnaligned(fromByteOffset: 20, as: UInt32.self)))
    }

    package func store(at start: UnsafeMutableRawPointer) {
        start.storeBytes(of: checksum.littleEndian, as: UInt64.self)
        start.storeBytes(
            of: (UInt64(page.rawValue) | birthNumber << 48).littleEndian, toByteOffset: 8, as: UInt64.self)
        start.storeBytes(
            of: UInt32(truncatingIfNeeded: birthNumber >> 16).littleEndian, toByteOffset: 16, as: UInt32.self)
        start.storeBytes(of: UInt32(byteCount).littleEndian, toByteOffset: 20, as: UInt32.self)
    }

    package func pageCount(_ layout: PageLayout) -> PageCount { byteCount == 0 ? 1 : layout.pageCount(byteCount) }

    /// What the memory image remembers about a page it has checked: this reference and no other. The kind is exact, so
    /// that bytes checked as a value are never taken for a node.
    @inline(__always)
    func identity(level: Int) -> UInt64 {
        // The version is in it: the same bytes may come to the same pages again after others were there.
        (checksum &+ birthNumber &* 0x9E37_79B9_7F4A_7C15) << 8 | UInt64(byteCount == 0 ? level + 1 : 0)
            | PageState.mark
    }

    private static let lowest48: UInt64 = 0xFFFF_FFFF_FFFF
}

/// Where things are in every file, whatever its page size. Page 0 is the header, the next ones the root slots.
package enum TreeFormat {
    package static let slotCount = 3
    static var firstSlotPage: PageNumber { 1 }
    static func slotPage(_ slot: Int) -> PageNumber { firstSlotPage + PageCount(slot) }
    /// Behind the root slots.
    package static var firstPage: PageNumber { slotPage(slotCount) }
    /// Of a file that has nothing else.
    static var leastPages: PageCount { firstPage.pagesBefore }
    /// References have so many bits for versions. More than anybody commits, and less than overflows.
    package static let versionLimit: UInt64 = 1 << 48
    static let defaultPageBytes = 4096
    static let pageSizes = [4096, 8192, 16384, 32768]
    /// More levels than 2^44 pages can fill.
    package static let mostLevels = 24
    /// A value of more bytes than this gets pages of its own.
    static func largestInline(pageBytes: Int) -> Int { pageBytes / 2 - 64 }
}
