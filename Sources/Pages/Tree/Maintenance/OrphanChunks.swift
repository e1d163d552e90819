/// Chunks and open row groups on pages of their own that no intact leaf leads to any more. They do not say where they
/// belong, but their checksum covers the key: so the key that makes it right is theirs. A CRC can be run backwards over
/// four bytes, so the last number of a key (of a chunk the row group, of an open row group the table) follows from the
/// ones before it, and only table and column have to be tried.
import CMotteShim
import MotteValues

/// A column whose chunks are looked for.
package struct ChunkColumn {
    let table: UInt32
    let column: UInt32
    /// The first byte of its chunks; nil where that is not known.
    let kind: UInt8?

    package init(table: UInt32, column: UInt32, kind: UInt8?) {
        self.table = table
        self.column = column
        self.kind = kind
    }

    /// What to try where no schema is left. With more of them a chance hit would be no rarity.
    static let guesses = (1 ... 32).flatMap { table in
        (1 ... 64).map { ChunkColumn(table: table, column: $0, kind: nil) }
    }
}

struct OrphanChunks {
    struct Found {
        var key: [UInt8]
        var bytes: [UInt8]
        var page: PageNumber

        /// For reading it again, since nothing refers to it.
        var reference: PageRef {
            let checksum = bytes.withUnsafeBytes { motte_shim_xxh3($0.baseAddress, $0.count) }
            return PageRef(page: page, birth: .zero, checksum: checksum, byteCount: bytes.count)
        }
    }

    private let disk: any Disk
    private let layout: PageLayout
    private let columns: [ChunkColumn]
    private let tables: Set<UInt32>
    /// Pages that hold nothing to be found.
    private let isKnown: PageMap<Bool>

    init(_ disk: any Disk, _ layout: PageLayout, _ columns: [ChunkColumn], isKnown: PageMap<Bool>) {
        self.disk = disk
        self.layout = layout
        self.columns = columns
        self.isKnown = isKnown
        tables = Set(columns.map(\.table))
    }

    func forEach(_ visit: (Found) -> Void) throws(DatabaseError) {
        var page = TreeFormat.firstPage
        while page < isKnown.count.end {
            let found = isKnown[page] ? nil : try self.find(page)
            if let found { visit(found) }
            page += found.map { layout.pageCount($0.bytes.count) } ?? 1
        }
    }

    private func find(_ page: PageNumber) throws(DatabaseError) -> Found? {
        guard let head = try read(page, layout.pageBytes) else { return nil }
        if let size = Self.chunkSize(head), let bytes = try read(page, size), let key = chunkKey(bytes) {
            return Found(key: key, bytes: bytes, page: page)
        }
        if let size = Self.openGroupSize(head), let bytes = try read(page, size), let key = openGroupKey(bytes) {
            return Found(key: key, bytes: bytes, page: page)
        }
        return nil
    }

    /// nil where pages of it are known to be something else, or are not there.
    private func read(_ page: PageNumber, _ byteCount: Int) throws(DatabaseError) -> [UInt8]? {
        let run = PageRun(start: page, count: layout.pageCount(byteCount))
        guard byteCount > TreeFormat.largestInline(pageBytes: layout.pageBytes), run.end <= isKnown.count.end,
            !run.pages.contains(where: { isKnown[$0] })
        else { return nil }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 16)
        defer { buffer.deallocate() }
        return try disk.read(buffer, at: page.offset(pageBytes: layout.pageBytes)) == byteCount ? Array(buffer) : nil
    }

    // MARK: Chunks

    /// Of bytes that look like the beginning of a chunk.
    private static func chunkSize(_ head: [UInt8]) -> Int? {
        let kind = head[0] & ~ChunkMark.list
        guard head[0] < 0x80, (1 ... 11).contains(kind) || kind == 14, head[1] <= 1, [0, 1, 2, 4, 8].contains(head[2]),
            head[3] < 8, (1 ... FileHeader.mostRowGroupSize).contains(number(head, 4)), head[8] & 7 == 0
        else { return nil }
        return 16 + number(head, 8)
    }

    private func chunkKey(_ bytes: [UInt8]) -> [UInt8]? {
        let state = bytes.withUnsafeBytes { bytes in
            let head = motte_shim_crc32c(0, bytes.baseAddress, 12)
            return bytes.baseAddress.map { motte_shim_crc32c(head, $0 + 16, bytes.count - 16) } ?? head
        }
        let last = Self.stateBefore(UInt32(Self.number(bytes, 12)))
        for column in columns where column.kind == nil || column.kind == bytes[0] {
            let prefix = [KeySpace.chunks] + Self.bigEndian(column.table) + Self.bigEndian(column.column)
            let rowGroup = (last ^ ~motte_shim_crc32c(state, prefix, prefix.count)).littleEndian.byteSwapped
            // Every row group before it takes something as well.
            if Int(rowGroup) < isKnown.count.rawValue { return prefix + Self.bigEndian(rowGroup) }
        }
        return nil
    }

    // MARK: Open row groups

    private static let openGroupHeader = 32

    /// Of bytes that look like the beginning of an open row group, whose directory is in the first page.
    private static func openGroupSize(_ head: [UInt8]) -> Int? {
        let columns = number(head, 4)
        guard (1 ... FileHeader.mostRowGroupSize).contains(number(head, 0)), number(head, 28) == 0, columns > 0,
            openGroupHeader + 16 * columns <= head.count
        else { return nil }
        let entries = (0 ..< columns).map { openGroupHeader + 16 * $0 }
        return entries.map { number(head, $0 + 4) + number(head, $0 + 8) }.max().map { ($0 + 7) & ~7 }
    }

    private func openGroupKey(_ bytes: [UInt8]) -> [UInt8]? {
        let directory = Self.openGroupHeader + 16 * Self.number(bytes, 4)
        guard directory <= bytes.count else { return nil }
        let state = bytes.withUnsafeBytes { bytes in
            let head = motte_shim_crc32c(0, bytes.baseAddress, 24)
            let entries = UnsafeRawBufferPointer(rebasing: bytes[Self.openGroupHeader ..< directory])
            return motte_shim_crc32c(head, entries.baseAddress, entries.count)
        }
        let last = Self.stateBefore(UInt32(Self.number(bytes, 24)))
        let table = (last ^ ~motte_shim_crc32c(state, [KeySpace.openGroups], 1)).littleEndian.byteSwapped
        return tables.contains(table) ? [KeySpace.openGroups] + Self.bigEndian(table) : nil
    }

    // MARK: Numbers

    /// What the register of the CRC held, combined with the last four bytes, before they were run through it.
    private static func stateBefore(_ crc: UInt32) -> UInt32 {
        var state = ~crc
        for _ in 0 ..< 32 {
            // The polynomial's top bit says whether it was added in this step.
            state = state >> 31 == 1 ? (state ^ 0x82F6_3B78) << 1 | 1 : state << 1
        }
        return state
    }

    private static func number(_ bytes: [UInt8], _ offset: Int) -> Int {
        bytes[offset ..< offset + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
