/// Reading the root slots, and deciding which one counts after nobody had the file open.
import CMotteShim
import MotteValues

package enum RootSlots {
    /// The slots whose checksum is right. A slot that is being written may be missing.
    static func read(_ disk: any Disk, _ image: PageImage) throws(DatabaseError) -> [RootSlot] {
        try look(disk, image).slots
    }

    /// The same, and how many others have something in them.
    static func look(
        _ disk: any Disk, _ image: PageImage
    ) throws(DatabaseError) -> (slots: [RootSlot], unreadable: [Int]) {
        let pageBytes = image.pageBytes
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: TreeFormat.slotCount * pageBytes, alignment: 16)
        defer { buffer.deallocate() }
        let bytes = try disk.read(buffer, at: image.offset(of: TreeFormat.firstSlotPage))
        var slots: [RootSlot] = []
        var unreadable: [Int] = []
        for slot in 0 ..< TreeFormat.slotCount where (slot + 1) * pageBytes <= bytes {
            let page = UnsafeMutableRawBufferPointer(rebasing: buffer[slot * pageBytes ..< (slot + 1) * pageBytes])
            // One that was never used, or made void.
            if page.allSatisfy({ $0 == 0 }) { continue }
            guard RootSlot.hasChecksum(UnsafeRawBufferPointer(page)),
                try image.cipher?.unsealSlot(page, TreeFormat.slotPage(slot)) ?? true
            else {
                unreadable.append(slot)
                continue
            }
            let root = RootSlot(fields: UnsafeRawBufferPointer(page), image.layout, slot: slot)
            if let root { slots.append(root) } else { unreadable.append(slot) }
        }
        return (slots, unreadable)
    }

    /// The version in each slot, unchecked; 0 where there is none.
    static func versions(_ disk: any Disk, _ image: PageImage) throws(DatabaseError) -> [Version] {
        var versions: [Version] = []
        for slot in 0 ..< TreeFormat.slotCount {
            var head = (UInt64(0), UInt64(0), UInt64(0))
            let result: Result<Int, DatabaseError> = withUnsafeMutableBytes(of: &head) { bytes in
                do throws(DatabaseError) {
                    return .success(try disk.read(bytes, at: image.offset(of: TreeFormat.slotPage(slot))))
                } catch {
                    return .failure(error)
                }
            }
            let isThere = try result.get() == 24 && UInt32(truncatingIfNeeded: head.1) == RootSlot.magic
            versions.append(isThere ? Version(UInt64(littleEndian: head.2)) : .zero)
        }
        return versions
    }

    /// Whether the file still begins with these bytes.
    static func begins(with head: [UInt8], _ disk: any Disk) throws(DatabaseError) -> Bool {
        try withUnsafeTemporaryAllocation(byteCount: head.count, alignment: 16) { begin in
            Result { () throws(DatabaseError) in
                try disk.read(begin, at: 0) == head.count && begin.elementsEqual(head)
            }
        }.get()
    }

    /// Whether it does, and has this root where it was written.
    static func isThere(
        _ root: RootSlot, _ head: [UInt8], _ disk: any Disk, _ image: PageImage
    ) throws(DatabaseError) -> Bool {
        guard try begins(with: head, disk) else { return false }
        return try withUnsafeTemporaryAllocation(byteCount: slotHeadBytes, alignment: 16) { slot in
            Result { () throws(DatabaseError) in
                let offset = image.offset(of: TreeFormat.slotPage(root.slot))
                guard try disk.read(slot, at: offset) == slot.count else { return false }
                return UInt32(littleEndian: slot.load(fromByteOffset: 8, as: UInt32.self)) == RootSlot.magic
                    && UInt64(littleEndian: slot.load(fromByteOffset: 16, as: UInt64.self)) == root.version.rawValue
            }
        }.get()
    }

    private static let slotHeadBytes = 24

    /// The newest slot that is whole. One that was flushed before it was written is never passed over: what is missing
    /// there is damage.
    package static func choose(
        _ disk: any Disk, _ image: PageImage
    ) throws(DatabaseError) -> (root: RootSlot, passedOver: PassedOver?) {
        let (slots, unreadable) = try look(disk, image)
        var newer: [(slot: RootSlot, reason: String)] = []
        for slot in slots.sorted(by: { $0.isNewer(than: $1) }) {
            if slot.durable == slot.version {
                try checkSize(slot, image, disk)
            } else if let problem = try problem(of: slot, image, disk) {
                newer.append((slot, problem))
                continue
            }
            newer.removeAll { $0.slot.version == slot.version }
            if newer.isEmpty, unreadable.isEmpty { return (slot, nil) }
            let passedOver = PassedOver(
                opened: slot.version,
                newer: newer.first.map { ($0.slot.version, $0.reason) }, unreadable: unreadable,
                slots: newer.map(\.slot.slot) + unreadable)
            return (slot, passedOver)
        }
        throw .corrupted("none of its roots is whole")
    }

    private static func checkSize(_ slot: RootSlot, _ image: PageImage, _ disk: any Disk) throws(DatabaseError) {
        let bytes = try disk.byteCount()
        guard slot.pageCount <= image.pageCount(in: bytes) else {
            throw .corrupted(
                "it is cut short: it has \(bytes) bytes and should have \(slot.pageCount) pages of \(image.pageBytes)")
        }
    }

    /// Whether everything that was written since the slot's durable version is there.
    package static func isWhole(_ slot: RootSlot, _ image: PageImage, _ disk: any Disk) throws(DatabaseError) -> Bool {
        try problem(of: slot, image, disk) == nil
    }

    private static func problem(
        of slot: RootSlot, _ image: PageImage, _ disk: any Disk
    ) throws(DatabaseError) -> String? {
        guard slot.pageCount <= min(image.pageLimit, image.pageCount(in: try disk.byteCount())) else {
            return "the file ends before its last page"
        }
        do throws(DatabaseError) {
            var walk = Walk(slot, image)
            return try walk.run()
        } catch {
            if error.code == .corrupted { return error.damage }
            throw error
        }
    }

    /// Over what is younger than a slot's durable version. None of it stays in memory, since there may be more than the
    /// budget: after a kill of a process that never flushed it is the whole file.
    private struct Walk: ~Copyable {
        private let slot: RootSlot
        private let image: PageImage
        /// How many pages it may still reach, so that a file that somebody made does not lead the walk to one page on
        /// more ways than anybody can go.
        private var rest: PageCount
        private var scratch = PageScratch()
        /// Copies of the nodes from the root down to the one at hand.
        private var path: [UnsafeMutableRawBufferPointer] = []

        init(_ slot: RootSlot, _ image: PageImage) {
            self.slot = slot
            self.image = image
            rest = slot.pageCount
        }

        deinit { for copy in path { copy.deallocate() } }

        /// What is wrong.
        mutating func run() throws(DatabaseError) -> String? {
            if !slot.tree.isNone { try visit(slot.tree, slot.level) }
            if !slot.checkpoint.isNone, slot.checkpoint.birth > slot.durable {
                try image.check(slot.checkpoint, with: &scratch)
            }
            var log = slot.logPage
            while !log.isNone, log.birth > slot.durable, log.run(image.layout).end <= slot.pageCount.end {
                let bytes = try image.extent(log, with: &scratch)
                guard let base = bytes.baseAddress, bytes.count >= SpaceLog.pageHeader else { return Walk.brokenLog }
                let before = PageRef(at: base)
                guard before.isNone || before.birth < log.birth else { return Walk.brokenLog }
                log = before
            }
            return nil
        }

        private static let brokenLog = "its free-space map is damaged"

        private mutating func visit(_ reference: PageRef, _ level: Int) throws(DatabaseError) {
            guard reference.birth > slot.durable else { return }
            try take(1)
            while path.count <= level { path.append(.allocate(byteCount: image.pageBytes, alignment: 16)) }
            guard let copy = path[level].baseAddress else { return }
            try image.check(reference, level: level, copying: copy)
            let node = TreeNode(copy)
            for index in 0 ..< node.count {
                if level > 0 {
                    try visit(node.reference(index), level - 1)
                } else if node.hasReference(index) {
                    let extent = node.reference(index)
                    guard extent.birth > slot.durable else { continue }
                    try take(extent.pageCount(image.layout))
                    try image.check(extent, with: &scratch)
                }
            }
        }

        private mutating func take(_ count: PageCount) throws(DatabaseError) {
            rest -= count
            guard rest >= 0 else { throw .corrupted("its tree reaches more pages than it has (T6)") }
        }
    }
}
