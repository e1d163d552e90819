/// Gets out of a damaged page file what its intact pages hold, whatever happened to the rest, and writes it to a new
/// file. Nodes say which page and version they are and carry their own checksum, so they are found without any root.
///
/// The newest root slot that can be read says what the newest version is, and its tree is walked, from the root if that
/// is left. Keys below a node that is gone are looked for in leaves that no intact branch leads to:
///
///     1  Of a version that was sealed the free-space map says which pages belong to it. Leaves on those are the newest
///        version's own, and keys between the first and the last of such a leaf that it does not have are deleted. The
///        slot says how many leaves there are: where all were found, nothing is missing.
///     2  Otherwise leaves of whatever version, the youngest first: so an entry may come back as it was before, or that
///        was deleted. It counts as recovered.
///
/// An older root is never taken for the newest: its leaves are found like others. When no slot is readable, the node
/// with the highest version and level is the root, unless another node shows that it is not: every commit of the tree
/// wrote a root, and every node of a version is below its root.
///
/// Records of WALs are found by their checksums too. Those that follow the root one upon the other change what its
/// tree says; those behind a gap do as well, but then any key may be older. For keys of a node that is gone records
/// count like leaves. Chunks that only a damaged leaf led to are found by their checksums
/// (`OrphanChunks`); the free-space map says which pages belong to the newest version.
///
/// Of each value only its place is kept in memory, and its bytes are read again when somebody asks for them: so the
/// memory does not follow the bytes of the file, only the number of its entries.
import MotteValues

package struct PageSalvageReport: Sendable {
    /// Entries of the new file, the header record not counted.
    package var entryCount = 0
    /// Of these, entries that came from older pages.
    package var recoveredCount: Int { recoveredKeys.count }
    /// Keys whose value could not be read.
    package var lostValueCount = 0
    /// Entries that the newest root counts and that were not found, as far as is known.
    package var missingCount = 0
    /// What was wrong, page by page.
    package var problems: [PageProblem] = []
    /// Where keys may be missing that were in the file.
    package var gaps: [KeyGap] = []
    /// Keys of entries that came from older pages.
    package var recoveredKeys: Set<[UInt8]> = []
}

/// The keys below a node that is gone. Those that no older leaf had either are missing, whatever they were.
package struct KeyGap: Sendable {
    let low: [UInt8]
    /// nil: to the end.
    let high: [UInt8]?

    package init(from low: [UInt8], to high: [UInt8]?) {
        self.low = low
        self.high = high
    }

    package func contains(_ key: [UInt8]) -> Bool {
        if key.lexicographicallyPrecedes(low) { return false }
        guard let high else { return true }
        return key.lexicographicallyPrecedes(high)
    }
}

package struct TreeSalvage {
    let found: FoundPages
    var image: PageImage { found.image }
    private var disk: any Disk { found.image.disk }
    /// Of the file as it is, however many its root slots say.
    private let pageCount: PageCount
    /// That can be read, the newest first.
    private var slots: [RootSlot]
    /// Some slot has something in it that cannot be read.
    private let hasUnreadableSlot: Bool
    /// The youngest first.
    private var leaves: [PageRef] = []
    /// And leaves that may be roots, since they begin with the header's key.
    private var branches: [FoundBranch] = []
    private var visited: Set<PageNumber> = []
    /// Pages of the values that were taken.
    private var keptPages: PageCount = 0
    /// By version.
    private var records: [FoundRecord] = []
    /// Keys of which a record says that they are gone.
    private var deleted: Set<[UInt8]> = []
    /// The newest slot that can be read, whether its root can or not.
    private var newest: RootSlot?
    /// Of the newest slot; nil where its free-space map cannot be read.
    private var state: TreeState?
    /// Pages of the newest tree, as far as it could be walked.
    private var reached: [PageRef] = []
    private var reachedLeafCount = 0
    /// Below nodes that are gone.
    private var openGaps: [KeyGap] = []
    /// How many entries the newest slot counts that were not found.
    private var missingCount = 0
    /// Keys whose values may be older.
    private var recovered: Set<[UInt8]> = []
    package private(set) var entries: [[UInt8]: FoundValue] = [:]
    /// Keys whose values were damaged, with what was wrong.
    private var lost: [[UInt8]: PageProblem] = [:]
    var report = PageSalvageReport()

    private struct FoundBranch {
        var reference: PageRef
        var level: Int
        /// As the first node of each level does.
        var hasHeaderKey: Bool
    }

    package init(_ disk: any Disk, pageBytes: Int, _ cipher: PageCipher?, memoryBytes: Int) throws(DatabaseError) {
        let size = try disk.byteCount()
        pageCount = PageCount(in: size, pageBytes: pageBytes)
        let image = try PageImage(disk, pageBytes: pageBytes, cipher, memoryBytes: memoryBytes)
        found = FoundPages(image, pageCount)
        let (readable, unreadable) = try RootSlots.look(disk, image)
        slots = readable.sorted { $0.isNewer(than: $1) }
        hasUnreadableSlot = !unreadable.isEmpty
        try findNodes()
    }

    /// Nodes, records and root slots that were found, of whatever version.
    var findCount: Int { leaves.count + branches.count + records.count + slots.count }

    /// Keys without their values.
    var lostKeys: [[UInt8]] { Array(lost.keys) }

    /// Every sound node of the file and record of a WAL, leaves and records by version.
    private mutating func findNodes() throws(DatabaseError) {
        guard pageCount.end > TreeFormat.firstPage else { return }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: image.pageBytes, alignment: 16)
        defer { buffer.deallocate() }
        for page in PageRun(start: TreeFormat.firstPage, count: pageCount.end - TreeFormat.firstPage).pages {
            guard try disk.read(buffer, at: image.offset(of: page)) == buffer.count, let base = buffer.baseAddress
            else { continue }
            if let record = try FoundRecord(image, page: page, UnsafeRawBufferPointer(buffer)) {
                records.append(record)
                continue
            }
            if let cipher = image.cipher {
                let unit = PageCipher.Unit(kind: .node, page: page)
                guard try cipher.unseal(unit, base, count: image.pageBytes) else { continue }
            }
            let node = TreeNode(base)
            let reference = PageRef(page: page, birth: node.birth, checksum: node.checksum, byteCount: 0)
            guard
                TreeNode.isSound(
                    base, reference, level: node.level, layout: image.layout, pageLimit: image.pageLimit)
            else { continue }
            if node.level == 0 { leaves.append(reference) }
            let hasHeaderKey = node.key(0).elementsEqual(FileHeader.key)
            if node.level > 0 || hasHeaderKey {
                branches.append(FoundBranch(reference: reference, level: node.level, hasHeaderKey: hasHeaderKey))
            }
        }
        leaves.sort { $0.birth > $1.birth }
        records.sort { $0.version < $1.version }
    }

    /// `columns`: of the schema in a catalog record, nil if it cannot be read. `opened`: the version that the file
    /// opens at, where all of its pages are sound; then newer slots that can be read are of commits that never were
    /// whole.
    package mutating func run(_ columns: ([UInt8]) -> [ChunkColumn]?, at opened: Version?) throws(DatabaseError) {
        if let opened { slots.removeAll { $0.version > opened } }
        try readTree()
        if !report.gaps.isEmpty {
            let catalog = try entries[[KeySpace.catalog]].map { value throws(DatabaseError) in try found.bytes(value) }
            try adoptOrphans(catalog.flatMap(columns) ?? ChunkColumn.guesses)
        }
        lost = lost.filter { entries[$0.key] == nil }
        report.problems += lost.values.sorted { ($0.page ?? 0, $0.description) < ($1.page ?? 0, $1.description) }
        report.lostValueCount = lost.count
        report.recoveredKeys = recovered
        report.missingCount = max(0, missingCount)
        if let newest, missingCount > 0 {
            let all = "of the \(newest.entryCount) entries of version \(newest.version.rawValue)"
            note(nil, "\(all) at least \(missingCount) are lost")
        }
    }

    private mutating func readTree() throws(DatabaseError) {
        newest = slots.first { !$0.tree.isNone }
        if hasUnreadableSlot, let newest, let newer = try wholeRoot(after: newest.version) {
            let version = newer.reference.birth
            note(nil, "the root slot of version \(version.rawValue) cannot be read; its tree was found without it")
            self.newest = nil
            try walk(newer.reference, newer.level, [], nil)
            return try applyRecords(after: version)
        }
        guard let newest else { return try readTreeWithoutSlots() }
        if newest.pageCount > pageCount {
            note(
                nil,
                "the file is cut short: version \(newest.version.rawValue) has \(newest.pageCount) pages, and"
                    + " \(pageCount) of them are there")
        }
        do throws(DatabaseError) {
            if newest.pageCount <= image.pageLimit { state = try TreeState(reading: newest, image) }
        } catch {
            guard error.code == .corrupted else { throw error }
        }
        try walk(newest.tree, newest.level, [], nil)
        try fillGaps()
        if !report.gaps.isEmpty { missingCount = newest.entryCount - entries.count - lost.count }
        try applyRecords(after: newest.version)
    }

    private mutating func readTreeWithoutSlots() throws(DatabaseError) {
        note(nil, "no root slot can be read")
        let top = branches.max { ($0.reference.birth, $0.level) < ($1.reference.birth, $1.level) }
        guard let top, isFirstOfAll(top) else {
            openGaps.append(KeyGap(from: [], to: nil))
            return try fillGaps()
        }
        try walk(top.reference, top.level, [], nil)
        let birth = top.reference.birth
        if try hasOthers(of: birth) {
            note(nil, "the root of version \(max(birth, leaves.first?.birth ?? .zero).rawValue) is not left")
            openGaps.append(KeyGap(from: [], to: nil))
        }
        try fillGaps()
        try applyRecords(after: birth)
    }

    private static let mostRootsTried = 16

    /// The newest root whose slot is gone and whose tree is all there. Every commit of the tree wrote a node with the
    /// header's key on each level.
    private func wholeRoot(after version: Version) throws(DatabaseError) -> FoundBranch? {
        var roots: [Version: FoundBranch] = [:]
        for branch in branches where branch.hasHeaderKey && branch.reference.birth > version {
            if let other = roots[branch.reference.birth], other.level >= branch.level { continue }
            roots[branch.reference.birth] = branch
        }
        for birth in roots.keys.sorted(by: >).prefix(TreeSalvage.mostRootsTried) {
            if let root = roots[birth], try found.isWhole(root.reference, root.level) { return root }
        }
        return nil
    }

    /// Every node that the commit of a root wrote is below it.
    private func hasOthers(of birth: Version) throws(DatabaseError) -> Bool {
        for reference in leaves where reference.birth >= birth && !visited.contains(reference.page) {
            if let leaf = try node(reference, 0), !isInOpenGap([UInt8](leaf.key(0))) { return true }
        }
        return openGaps.isEmpty
            && branches.contains { $0.reference.birth >= birth && !visited.contains($0.reference.page) }
    }

    /// Whether nothing shows that the node has siblings or a parent. Where a tree has lost levels old nodes look like
    /// that too: then older leaves are asked in vain, and the report says more than need be.
    private func isFirstOfAll(_ top: FoundBranch) -> Bool {
        guard top.hasHeaderKey, branches.allSatisfy({ $0.level <= top.level }) else { return false }
        if top.level > 0 { return branches.allSatisfy { $0.level < top.level || $0.hasHeaderKey } }
        return branches.count == leaves.count
    }

    /// What the WAL changes in the tree of this version.
    private mutating func applyRecords(after root: Version) throws(DatabaseError) {
        // Of a root that is known those of its own WAL, as there may be some that never counted.
        let own = newest.flatMap { $0.version == root ? $0.wal : nil }
        let (following, behind) = FoundRecord.course(
            own.map { own in records.filter { $0.salt == own.salt } } ?? records, after: root)
        for record in following { try apply(record, isCertain: true) }
        let last = following.last?.version ?? root
        let end = max(newest?.wal?.sealed ?? .zero, behind.last?.version ?? .zero)
        guard end > last else { return try noteStrays(after: root) }
        note(behind.first?.page, "log records between version \(last.rawValue) and \(end.rawValue) are damaged")
        // What they changed is older now, and what they added is missing.
        recovered.formUnion(entries.keys)
        report.gaps.append(KeyGap(from: [], to: nil))
        for record in behind { try apply(record, isCertain: false) }
    }

    /// A record of which something is left at the end is one that a cut took, or the last commit.
    private mutating func noteStrays(after version: Version) throws(DatabaseError) {
        guard let newest, newest.version == version, let wal = newest.wal else { return }
        var state = WALState(newest)
        try state.readOn(wal, image, through: .max)
        let strays = try state.strayVersions(wal, image)
        guard let stray = strays.max() else { return }
        note(
            wal.run.start + state.usedPages,
            "the record of version \(stray.rawValue) in the write-ahead log is incomplete")
    }

    private mutating func apply(_ record: FoundRecord, isCertain: Bool) throws(DatabaseError) {
        try record.forEach(image) { key, value in
            entries[key] = value.map { .bytes($0) }
            lost.removeValue(forKey: key)
            if value == nil { deleted.insert(key) } else { deleted.remove(key) }
            if value == nil || isCertain { recovered.remove(key) } else { recovered.insert(key) }
        }
    }

    private mutating func note(_ page: PageNumber?, _ what: String) {
        report.problems.append(PageProblem(page: page?.rawValue, description: what))
    }

    private func node(_ reference: PageRef, _ level: Int) throws(DatabaseError) -> TreeNode? {
        try found.node(reference, level)
    }

    private mutating func walk(
        _ reference: PageRef, _ level: Int, _ low: [UInt8], _ high: [UInt8]?
    ) throws(DatabaseError) {
        guard let node = try node(reference, level) else {
            let what = reference == newest?.tree ? "the root" : "a node"
            let why = reference.page < pageCount.end ? "damaged" : "missing"
            note(reference.page, "page \(reference.page), \(what) of version \(reference.birth.rawValue), is \(why)")
            return openGaps.append(KeyGap(from: low, to: high))
        }
        // What is below it has been taken.
        guard visited.insert(reference.page).inserted else {
            return note(reference.page, "page \(reference.page) is used twice (T6)")
        }
        reached.append(reference)
        if level == 0 { reachedLeafCount += 1 }
        for index in 0 ..< node.count {
            guard level > 0 else {
                try keep(node, reference, index)
                if node.hasReference(index) { reached.append(node.reference(index)) }
                continue
            }
            let end = index + 1 < node.count ? [UInt8](node.key(index + 1)) : high
            try walk(node.reference(index), level - 1, index > 0 ? [UInt8](node.key(index)) : low, end)
        }
    }

    /// Entries of a leaf; false when the value is gone.
    @discardableResult
    private mutating func keep(_ leaf: TreeNode, _ reference: PageRef, _ index: Int) throws(DatabaseError) -> Bool {
        let key = [UInt8](leaf.key(index))
        do throws(DatabaseError) {
            if leaf.hasReference(index) {
                let extent = leaf.reference(index)
                // No two sound values share pages: so together they are no more than the file.
                let count = extent.pageCount(image.layout)
                guard extent.page + count <= pageCount.end, keptPages + count <= pageCount else {
                    throw PageImage.damaged(extent)
                }
                try found.check(extent)
                keptPages += count
                entries[key] = .extent(extent)
            } else {
                entries[key] = .inline(reference, index)
            }
            return true
        } catch {
            guard error.code == .corrupted else { throw error }
            // The youngest is what is lost.
            if lost[key] == nil {
                let page = leaf.hasReference(index) ? leaf.reference(index).page.rawValue : nil
                lost[key] = PageProblem(page: page, description: error.message)
            }
            return false
        }
    }

    // MARK: Below nodes that are gone

    /// Whether every page of the newest version is what it was meant to be, or damaged. Of one that was not sealed a
    /// loss of power may have kept pages from being written: they hold what was there before.
    private var isSealed: Bool { newest.map { $0.durable == $0.version } ?? false }

    /// By page: whether it is free in the newest version, or part of its WAL. nil where that is not known.
    private var unusedPages: PageMap<Bool>? {
        guard let newest, let map = state?.map else { return nil }
        var isUnused = PageMap(false, pageCount)
        for run in map.free + map.dead.map(\.run) { mark(run, in: &isUnused) }
        // What is behind its end, where the file is not shorter.
        mark(PageRun(start: map.pageCount.end, count: max(0, pageCount - map.pageCount)), in: &isUnused)
        if let wal = newest.wal { mark(wal.run, in: &isUnused) }
        return isUnused
    }

    /// As far as the file has these pages.
    private func mark(_ run: PageRun, in pages: inout PageMap<Bool>) {
        for page in run.pages {
            guard page < pageCount.end else { return }
            pages[page] = true
        }
    }

    /// Takes what leaves have that no intact branch leads to.
    private mutating func fillGaps() throws(DatabaseError) {
        guard !openGaps.isEmpty else { return }
        let rest = leaves.filter { !visited.contains($0.page) }
        let certain = try takeOwnLeaves(rest)
        if let newest, certain.count > 0, PageCount(reachedLeafCount + certain.count) == newest.leafPageCount { return }
        report.gaps += openGaps
        let own = certain.pages
        try takeOthers(rest.filter { !own.contains($0.page) }, certain)
    }

    /// Leaves of the newest version itself, and what keys they are the last word on.
    private struct OwnLeaves {
        var pages: Set<PageNumber> = []
        /// By the first key; they do not overlap.
        var ranges: [(first: [UInt8], last: [UInt8])] = []
        var count: Int { pages.count }

        func cover(_ key: [UInt8]) -> Bool {
            var (low, high) = (0, ranges.count)
            while low < high {
                let middle = (low + high) / 2
                if key.lexicographicallyPrecedes(ranges[middle].first) { high = middle } else { low = middle + 1 }
            }
            return low > 0 && !ranges[low - 1].last.lexicographicallyPrecedes(key)
        }
    }

    private mutating func takeOwnLeaves(_ rest: [PageRef]) throws(DatabaseError) -> OwnLeaves {
        var own = OwnLeaves()
        guard let newest, isSealed, let isUnused = unusedPages else { return own }
        for reference in rest where !isUnused[reference.page] && reference.birth <= newest.version {
            guard let leaf = try node(reference, 0), isInOpenGap([UInt8](leaf.key(0))) else { continue }
            own.pages.insert(reference.page)
            own.ranges.append(([UInt8](leaf.key(0)), [UInt8](leaf.key(leaf.count - 1))))
            reached.append(reference)
            for index in 0 ..< leaf.count {
                if leaf.hasReference(index) { reached.append(leaf.reference(index)) }
                if entries[[UInt8](leaf.key(index))] == nil { try keep(leaf, reference, index) }
            }
        }
        own.ranges.sort { $0.first.lexicographicallyPrecedes($1.first) }
        return own
    }

    private func isInOpenGap(_ key: [UInt8]) -> Bool { openGaps.contains { $0.contains(key) } }

    /// From leaves of whatever version and from records, the youngest first.
    private mutating func takeOthers(_ others: [PageRef], _ own: OwnLeaves) throws(DatabaseError) {
        var rest = records
        var gone: Set<[UInt8]> = []
        func isOpen(_ key: [UInt8]) -> Bool {
            entries[key] == nil && !gone.contains(key) && !own.cover(key) && isInOpenGap(key)
        }
        func fill(from record: FoundRecord) throws(DatabaseError) {
            try record.forEach(image) { key, value in
                guard isOpen(key) else { return }
                guard let value else { return _ = gone.insert(key) }
                entries[key] = .bytes(value)
                recovered.insert(key)
            }
        }
        for reference in others {
            while let record = rest.last, record.version > reference.birth { try fill(from: rest.removeLast()) }
            guard let leaf = try node(reference, 0) else { continue }
            for index in 0 ..< leaf.count {
                let key = [UInt8](leaf.key(index))
                if isOpen(key), try keep(leaf, reference, index) { recovered.insert(key) }
            }
        }
        for record in rest.reversed() { try fill(from: record) }
        // With the map a chunk of the newest version is known without them.
        if state == nil { deleted.formUnion(gone) }
    }

    /// Chunks that belong where something is missing, or where there is only an older one.
    private mutating func adoptOrphans(_ columns: [ChunkColumn]) throws(DatabaseError) {
        guard image.cipher == nil else { return }
        var isKnown = unusedPages ?? PageMap(false, pageCount)
        for reference in reached { mark(reference.run(image.layout), in: &isKnown) }
        if let wal = newest?.wal { mark(wal.run, in: &isKnown) }
        let isCertain = state != nil && isSealed
        try OrphanChunks(disk, image.layout, columns, isKnown: isKnown).forEach { found in
            guard report.gaps.contains(where: { $0.contains(found.key) }), !deleted.contains(found.key) else { return }
            if entries[found.key] != nil, state == nil || !recovered.contains(found.key) { return }
            let before = entries.updateValue(.extent(found.reference), forKey: found.key)
            if before == nil, lost[found.key] == nil { missingCount -= 1 }
            if isCertain { recovered.remove(found.key) } else { recovered.insert(found.key) }
        }
    }
}
