/// Any bytes as a node, a root slot, the file's first page, a checkpoint or a log of space: refused, or something that
/// can be read to its end. A sound page is found out after any change of a byte.
///
/// Input: a byte that chooses what it is (0x80: checksums are left as they are), then its bytes.
import CMotteShim
import MottePages
import MotteValues

extension FuzzTarget {
    package static let pageNode = FuzzTarget(name: "pageNode", seeds: PageNodeFuzz.seeds, run: PageNodeFuzz.run)
}

enum PageNodeFuzz {
    private static let pageBytes = 4096
    private static let layout = PageLayout(pageBytes: pageBytes, isSealed: false)
    private static let pageLimit: PageCount = 1000

    @Sendable static func run(_ bytes: UnsafeRawBufferPointer) throws {
        var input = FuzzInput(bytes)
        let choice = input.byte()
        var page = Array(input.rest.prefix(pageBytes))
        switch choice & 7 {
        case 0, 1:
            pad(&page)
            page.store(TreeNode.magic, at: 8)
            try node(&page, bytes.hash)
        case 2:
            pad(&page)
            page.store(RootSlot.magic, at: 8)
            if choice & 0x80 == 0 { seal(&page) }
            try slot(&page, bytes.hash)
        case 3: head(page, isSealed: choice & 0x80 == 0)
        case 4:
            page.asBytes { bytes in
                var map = SpaceMap(pageCount: 50)
                if SpaceLog.replay(bytes, after: Version(3), &map) { use(&map) }
            }
        default:
            page.asBytes { bytes in
                if var map = SpaceLog.decodeCheckpoint(bytes) { use(&map) }
            }
        }
    }

    private static func pad(_ page: inout [UInt8]) {
        page.append(contentsOf: repeatElement(0, count: pageBytes - page.count))
    }

    static func seal(_ page: inout [UInt8]) {
        let sum = page.asBytes { bytes in
            bytes.baseAddress.map { motte_shim_xxh3($0 + 8, bytes.count - 8) } ?? 0
        }
        page.store(UInt32(truncatingIfNeeded: sum), at: 0)
        page.store(UInt32(truncatingIfNeeded: sum >> 32), at: 4)
    }

    /// The first page of a file.
    static func sealHead(_ file: inout [UInt8]) {
        let sum = file.asBytes { motte_shim_xxh3($0.baseAddress, 128) }
        file.store(UInt32(truncatingIfNeeded: sum), at: 128)
        file.store(UInt32(truncatingIfNeeded: sum >> 32), at: 132)
    }

    private static func node(_ page: inout [UInt8], _ hash: UInt64) throws {
        seal(&page)
        let reference = page.asBytes { bytes -> PageRef? in
            guard let base = bytes.baseAddress,
                TreeNode.isWellFormed(base, layout, pageLimit: pageLimit)
            else { return nil }
            read(TreeNode(base))
            let node = TreeNode(base)
            guard node.page < 1 << 44 else { return nil }
            return PageRef(
                page: PageNumber(Int(node.page)), birth: node.birth, checksum: node.checksum, byteCount: 0)
        }
        guard let reference else { return }
        let place = Int(truncatingIfNeeded: hash % UInt64(pageBytes))
        page[place] ^= 1 << UInt8(hash >> 61)
        let level = page.asBytes { $0.baseAddress.map { TreeNode($0).level } ?? 0 }
        let passes = page.asBytes { bytes in
            bytes.baseAddress.map {
                TreeNode.isSound($0, reference, level: level, layout: layout, pageLimit: pageLimit)
            } ?? false
        }
        try Finding.require(!passes, "a node with byte \(place) changed is not found out")
    }

    private static func read(_ node: TreeNode) {
        var sum: UInt64 = 0
        for index in 0 ..< node.count {
            let key = node.key(index)
            sum &+= UInt64(key[0]) &+ UInt64(key[key.count - 1])
            assert(node.lowerBound(key) == index)
            if node.level > 0 { _ = node.child(for: key) }
            if node.hasReference(index) { sum &+= node.reference(index).checksum }
        }
        nodeSum &+= sum
    }

    /// So that reading is not optimised away.
    nonisolated(unsafe) private static var nodeSum: UInt64 = 0  // one thread: a fuzzer's, or that of a test

    private static func slot(_ page: inout [UInt8], _ hash: UInt64) throws {
        guard let slot = page.asBytes({ RootSlot(decoding: $0, layout, slot: 1) }) else { return }
        var map = SpaceMap(pageCount: slot.pageCount)
        if slot.log.asBytes({ SpaceLog.replay($0, after: .zero, &map) }) { use(&map) }
        let again = try slot.encoded(pageBytes: pageBytes)
        let same = again.asBytes { RootSlot(decoding: $0, layout, slot: 1) }
        try Finding.require(same == slot, "a slot that is written again says something else")
        let place = Int(truncatingIfNeeded: hash % UInt64(pageBytes))
        page[place] ^= 1 << UInt8(hash >> 61)
        let passes = page.asBytes { RootSlot(decoding: $0, layout, slot: 1) } != nil
        try Finding.require(!passes, "a slot with byte \(place) changed is not found out")
    }

    private static func head(_ given: [UInt8], isSealed: Bool) {
        var page = given
        while page.count < FileHead.byteCount { page.append(0) }
        if isSealed {
            page.replaceSubrange(0 ..< FileHead.magic.count, with: FileHead.magic)
            sealHead(&page)
        }
        page.asBytes { bytes in _ = try? FileHead(decoding: bytes, path: "fuzz") }
    }

    /// What a writer does with the space it believes to have.
    private static func use(_ map: inout SpaceMap) {
        guard map.problem(used: []) == nil, map.pageCount.rawValue < 1 << 30 else { return }
        for _ in 0 ..< 4 { _ = map.take(atLeast: 1, atMost: 8, wishing: 4) }
        map.dropEnd()
    }

    @Sendable static func seeds() throws -> [[UInt8]] {
        let file = try PageFileFuzz.soundFile()
        var seeds: [[UInt8]] = []
        for start in stride(from: 0, to: file.count, by: pageBytes) {
            let page = Array(file[start ..< start + pageBytes])
            switch page[8 ..< 12].elementsEqual([0x4D, 0x54, 0x4E, 0x44]) {
            case true: seeds.append([0] + page)
            case false where start >= pageBytes && start < 4 * pageBytes: seeds.append([2] + page)
            case false where start == 0: seeds.append([3] + page[..<64])
            case false: break
            }
        }
        var log = SpaceLog(Version(7))
        log.take(PageRun(start: 10, count: 3))
        log.die(PageRun(start: 20, count: 2), birth: Version(4))
        seeds.append([4] + log.bytes)
        var map = SpaceMap(pageCount: 40)
        map.insert([PageRun(start: 6, count: 4), PageRun(start: 20, count: 3)])
        map.die(PageRun(start: 30, count: 2), birth: Version(2), death: Version(5))
        var checkpoint = [UInt8](repeating: 0, count: SpaceLog.checkpointBytes(map.runCount))
        checkpoint.withUnsafeMutableBytes { SpaceLog.encodeCheckpoint(map, $0) }
        seeds.append([5] + checkpoint)
        return seeds
    }
}
