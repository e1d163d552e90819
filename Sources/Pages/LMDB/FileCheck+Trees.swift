/// The parts of LMDB's trees that are read before LMDB is: the way down to the header record, and the list of free
/// pages of a file that ends early.
///
///     page:   u64 number, u16, u16 flags (1 branch, 2 leaf), u16 lower, u16 upper; u16 node offsets up to `lower`
///     node:   u16 low, u16 high, u16 flags, u16 key bytes; key; value
///     branch: child page = low | high << 16 | flags << 32      leaf: value bytes = low | high << 16; flag 1: the value
///             is on overflow pages, here is the number of the first
import MotteValues
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension FileCheck {
    private static let branchFlag: UInt16 = 1
    private static let leafFlag: UInt16 = 2
    private static let bigValueFlag: UInt16 = 1
    private static let pageHeader = 16
    private static let nodeHeader = 8

    struct Node {
        var keyStart: Int
        var keyCount: Int
        var valueStart: Int
        var valueCount: Int
        var isBig: Bool
        var child: UInt64
    }

    /// The first entry of the map must be our header record, in a format we read.
    func checkHeader(_ meta: Meta) throws(DatabaseError) {
        if meta.mainRoot == FileCheck.noPage {
            // LMDB made the file and its maker got no further: it can still become ours.
            guard meta.number == 0 else { throw notOurs }
            return
        }
        var number = meta.mainRoot
        for _ in 0 ... FileCheck.deepestTree {
            let page = try page(number, meta)
            guard let first = try nodes(page, meta).first else { throw .corrupted("page \(number) is empty") }
            if FileCheck.flags(page) & FileCheck.leafFlag == 0 {
                number = first.child
                continue
            }
            let key = page[first.keyStart ..< first.keyStart + first.keyCount]
            guard key.elementsEqual(FileHeader.key), !first.isBig else { throw notOurs }
            let record = Array(page[first.valueStart ..< first.valueStart + first.valueCount])
            let path = path
            _ = try record.withBytes { bytes throws(DatabaseError) in try FileHeader(decoding: bytes, path: path) }
            return
        }
        throw .corrupted("its tree has no bottom")
    }

    /// Pages at the end that were given back within the commit that took them are counted but never written; so a file
    /// may be shorter than its meta page says, if every missing page is free.
    func areFree(from firstMissing: UInt64, _ meta: Meta) throws(DatabaseError) -> Bool {
        guard meta.freeRoot != FileCheck.noPage, firstMissing > 2 else { return false }
        var free = Set<UInt64>()
        var waiting = [meta.freeRoot]
        var visited = 0
        while let number = waiting.popLast() {
            visited += 1
            // Each page of a sound tree comes once.
            guard visited <= sizeBytes / meta.pageBytes else { throw badFreeList }
            guard number < firstMissing else { return false }
            let page = try page(number, meta)
            let isLeaf = FileCheck.flags(page) & FileCheck.leafFlag != 0
            for node in try nodes(page, meta) {
                guard isLeaf else {
                    waiting.append(node.child)
                    continue
                }
                try collect(node, page, from: firstMissing, meta, into: &free)
            }
        }
        return UInt64(free.count) == meta.lastPage + 1 - firstMissing
    }

    private func collect(
        _ node: Node, _ page: [UInt8], from firstMissing: UInt64, _ meta: Meta, into free: inout Set<UInt64>
    ) throws(DatabaseError) {
        var list = Array(page[node.valueStart ..< node.valueStart + (node.isBig ? 8 : node.valueCount)])
        if node.isBig {
            let first = list.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
            guard first >= 2, first < firstMissing, node.valueCount <= sizeBytes else { throw badFreeList }
            list = try read(node.valueCount, at: Int(first) * meta.pageBytes + FileCheck.pageHeader)
        }
        guard list.count >= 8 else { throw badFreeList }
        try list.withBytes { list throws(DatabaseError) in
            let count = list.loadUnaligned(as: UInt64.self)
            guard count <= UInt64(list.count / 8 - 1) else { throw badFreeList }
            for index in 0 ..< Int(count) {
                let number = list.loadUnaligned(fromByteOffset: 8 + 8 * index, as: UInt64.self)
                if number >= firstMissing, number <= meta.lastPage { free.insert(number) }
            }
        }
    }

    private func page(_ number: UInt64, _ meta: Meta) throws(DatabaseError) -> [UInt8] {
        guard number >= 2, number <= meta.lastPage else {
            throw .corrupted("it points to page \(number), which it does not have")
        }
        return try read(meta.pageBytes, at: Int(number) * meta.pageBytes)
    }

    private func nodes(_ page: [UInt8], _ meta: Meta) throws(DatabaseError) -> [Node] {
        try page.withBytes { bytes throws(DatabaseError) in
            func half(_ offset: Int) -> Int { Int(bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self)) }
            let flags = UInt16(half(10)) & 0x7F, lower = half(12)
            guard flags == FileCheck.branchFlag || flags == FileCheck.leafFlag,
                lower >= FileCheck.pageHeader, lower <= bytes.count
            else { throw .corrupted("a page of its tree is none") }
            var nodes: [Node] = []
            for slot in stride(from: FileCheck.pageHeader, to: lower, by: 2) {
                guard slot + 2 <= lower else { break }
                let start = half(slot)
                guard start >= lower, start + FileCheck.nodeHeader <= bytes.count else { throw badNode }
                let low = half(start), high = half(start + 2), nodeFlags = half(start + 4), keyCount = half(start + 6)
                let keyStart = start + FileCheck.nodeHeader, isLeaf = flags == FileCheck.leafFlag
                let isBig = isLeaf && UInt16(nodeFlags) & FileCheck.bigValueFlag != 0
                let valueCount = isLeaf ? low | high << 16 : 0
                guard keyStart + keyCount + (isBig ? 8 : valueCount) <= bytes.count else { throw badNode }
                nodes.append(
                    Node(
                        keyStart: keyStart, keyCount: keyCount, valueStart: keyStart + keyCount, valueCount: valueCount,
                        isBig: isBig, child: UInt64(low | high << 16) | UInt64(nodeFlags) << 32))
            }
            return nodes
        }
    }

    private static func flags(_ page: [UInt8]) -> UInt16 {
        page.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 10, as: UInt16.self) }
    }

    private func read(_ count: Int, at offset: Int) throws(DatabaseError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = bytes.withUnsafeMutableBytes { bytes in
                pread(descriptor, bytes.baseAddress.map { $0 + filled }, count - filled, off_t(offset + filled))
            }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw SystemError.error(errno, "read", path) }
            guard got > 0 else { throw .corrupted("it ends before a page it points to; it was cut short") }
            filled += got
        }
        return bytes
    }

    private var notOurs: DatabaseError {
        DatabaseError(.notAMotteFile, "'\(path)' is an LMDB file, but not a Motte file", path: path)
    }
    private var badNode: DatabaseError { .corrupted("an entry of its tree reaches out of its page") }
    private var badFreeList: DatabaseError { .corrupted("its list of free pages is broken") }
}
