/// Gets out of a damaged page file what its intact pages hold, whatever happened to the rest, and writes it to a new
/// file. Nodes say which page and version they are and carry their own checksum, so they are found without any root.
///
/// The newest root that is left is walked. Where a node below it is gone, its keys are taken from older leaves that no
/// longer belong to the tree but are still there: so an entry may come back as it was before, or that was deleted. When
/// all known roots are gone, that is so for every key. When no slot is readable, the node with the highest version and
/// level is the root: every commit of the tree wrote one.
///
/// Records of WALs are found by their checksums too. Those that follow the root one upon the other change what its
/// tree says; those behind a gap do as well, but then any key may be older. For keys of a node that is gone records
/// count like leaves. Chunks that only a damaged leaf led to are found by their checksums
/// (`OrphanChunks`); the free-space map says which pages belong to the newest version.
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package struct PageSalvageReport: Sendable {
    /// Entries of the new file, the header record not counted.
    package var entryCount = 0
    /// Of these, entries that came from older pages.
    package var recoveredCount = 0
    /// Keys whose value could not be read.
    package var lostValueCount = 0
    /// What was wrong, page by page.
    package var problems: [PageProblem] = []
    /// Where keys may be missing that were in the file.
    package var gaps: [KeyGap] = []
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

struct TreeSalvage {
    private let image: PageImage
    private let disk: any Disk
    private let pageCount: PageCount
    private var leaves: [PageRef] = []
    private var top: (reference: PageRef, level: Int)?
    private var visited: Set<PageNumber> = []
    /// Pages of the values that were taken.
    private var keptPages: PageCount = 0
    /// By version.
    private var records: [FoundRecord] = []
    /// Keys of which a record says that they are gone.
    private var deleted: Set<[UInt8]> = []
    /// The tree that is walked is not the newest one: all that it holds may be older.
    private var isOlderTree = false
    /// The newest slot that can be read, whether its root can or not.
    private var newest: RootSlot?
    /// Pages of the newest tree, as far as it could be walked.
    private var reached: [PageRef] = []
    /// Keys whose values may be older.
    private var recovered: Set<[UInt8]> = []
    private(set) var entries: [[UInt8]: [UInt8]] = [:]
    /// Keys without their values.
    fileprivate var lostKeys: [[UInt8]] = []
    var report = PageSalvageReport()

    init(_ disk: any Disk, pageBytes: Int, _ cipher: PageCipher?) throws(DatabaseError) {
        self.disk = disk
        let size = try disk.byteCount()
        pageCount = PageCount(in: size, pageBytes: pageBytes)
        image = try PageImage(
            disk, pageBytes: pageBytes, cipher, byteCount: size, atLeast: max(size, PageImage.smallestBytes))
        try findNodes()
    }

    /// Nodes and records that were found, of whatever version.
    var findCount: Int { leaves.count + (top == nil ? 0 : 1) + records.count }

    /// Every sound node of the file and record of a WAL, leaves and records by version.
    private mutating func findNodes() throws(DatabaseError) {
        guard pageCount > TreeFormat.leastPages else { return }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: image.pageBytes, alignment: 16)
        defer { buffer.deallocate() }
        let run = PageRun(start: TreeFormat.firstPage, count: pageCount - TreeFormat.leastPages)
        for page in run.pages {
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
            if let known = top, (known.reference.birth, known.level) >= (reference.birth, node.level) { continue }
            top = (reference, node.level)
        }
        leaves.sort { $0.birth > $1.birth }
        records.sort { $0.version < $1.version }
    }

    /// `columns`: of the schema in a catalog record, nil if it cannot be read.
    mutating func run(_ columns: ([UInt8]) -> [ChunkColumn]?) throws(DatabaseError) {
        try readTree()
        if !report.gaps.isEmpty {
            try adoptOrphans(entries[[KeySpace.catalog]].flatMap(columns) ?? ChunkColumn.guesses)
        }
        report.recoveredCount = recovered.count
    }

    private mutating func readTree() throws(DatabaseError) {
        let slots = try RootSlots.read(disk, image).sorted { $0.isNewer(than: $1) }
        if slots.isEmpty { note(nil, "no root slot can be read") }
        // A slot whose root is gone would only lead to the same older leaves.
        for slot in slots where !slot.tree.isNone && slot.pageCount <= image.pageLimit {
            if newest == nil { newest = slot }
            if try node(slot.tree, slot.level) != nil {
                try walk(slot.tree, slot.level, [], nil)
                return try applyRecords(after: slot.version)
            }
            note(slot.tree.page, "the root of version \(slot.version.rawValue) is damaged")
            isOlderTree = true
        }
        // Every root that is known of is gone: the highest node left is no root, and any key may be below another one.
        guard let top, !isOlderTree else { return try fillGap([], nil) }
        try walk(top.reference, top.level, [], nil)
        try applyRecords(after: top.reference.birth)
    }

    /// What the WAL changes in the tree of this version.
    private mutating func applyRecords(after root: Version) throws(DatabaseError) {
        // Of a root that is known those of its own WAL, as there may be some that never counted.
        let own = newest.flatMap { $0.version == root ? $0.wal : nil }
        let (following, behind) = FoundRecord.course(
            own.map { own in records.filter { $0.salt == own.salt } } ?? records, after: root)
        for record in following { try apply(record, isCertain: !isOlderTree) }
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
        var changed: Set<[UInt8]> = []
        try record.forEach(image) { key, value in
            entries[key] = value
            changed.insert(key)
            if value == nil { deleted.insert(key) } else { deleted.remove(key) }
            if value == nil || isCertain { recovered.remove(key) } else { recovered.insert(key) }
        }
        let stillLost = lostKeys.filter { !changed.contains($0) }
        report.lostValueCount -= lostKeys.count - stillLost.count
        lostKeys = stillLost
    }

    private mutating func note(_ page: PageNumber?, _ what: String) {
        report.problems.append(PageProblem(page: page?.rawValue, description: what))
    }

    private func node(_ reference: PageRef, _ level: Int) throws(DatabaseError) -> TreeNode? {
        guard reference.page >= TreeFormat.firstPage, reference.page < pageCount.end else { return nil }
        do throws(DatabaseError) {
            return try image.node(reference, level: level)
        } catch {
            guard error.code == .corrupted else { throw error }
            return nil
        }
    }

    private mutating func walk(
        _ reference: PageRef, _ level: Int, _ low: [UInt8], _ high: [UInt8]?
    ) throws(DatabaseError) {
        guard let node = try node(reference, level) else {
            note(reference.page, "page \(reference.page), a node of version \(reference.birth.rawValue), is damaged")
            return try fillGap(low, high)
        }
        // What is below it has been taken.
        guard visited.insert(reference.page).inserted else {
            return note(reference.page, "page \(reference.page) is used twice (T6)")
        }
        if !isOlderTree { reached.append(reference) }
        for index in 0 ..< node.count {
            guard level > 0 else {
                if try keep(node, index), isOlderTree { recovered.insert([UInt8](node.key(index))) }
                if !isOlderTree, node.hasReference(index) { reached.append(node.reference(index)) }
                continue
            }
            let end = index + 1 < node.count ? [UInt8](node.key(index + 1)) : high
            try walk(node.reference(index), level - 1, index > 0 ? [UInt8](node.key(index)) : low, end)
        }
    }

    /// Entries of a leaf; false when the value is gone.
    @discardableResult
    private mutating func keep(_ leaf: TreeNode, _ index: Int) throws(DatabaseError) -> Bool {
        let key = [UInt8](leaf.key(index))
        do throws(DatabaseError) {
            if leaf.hasReference(index) {
                let extent = leaf.reference(index)
                // No two sound values share pages: so together they are no more than the file.
                let run = extent.run(image.layout)
                guard run.end <= pageCount.end, keptPages + run.count <= pageCount else {
                    throw PageImage.damaged(extent)
                }
                keptPages += run.count
            }
            entries[key] = [UInt8](try TreeSnapshot.value(leaf, index, image).bytes)
            return true
        } catch {
            guard error.code == .corrupted else { throw error }
            report.lostValueCount += 1
            lostKeys.append(key)
            note(leaf.hasReference(index) ? leaf.reference(index).page : nil, error.message)
            return false
        }
    }

    /// Keys in `low ..< high` from leaves that are not part of the tree and from records, the youngest first.
    private mutating func fillGap(_ low: [UInt8], _ high: [UInt8]?) throws(DatabaseError) {
        let gap = KeyGap(from: low, to: high)
        report.gaps.append(gap)
        var rest = records
        var gone: Set<[UInt8]> = []
        func fill(from record: FoundRecord) throws(DatabaseError) {
            try record.forEach(image) { key, value in
                if entries[key] != nil || gone.contains(key) || !gap.contains(key) { return }
                guard let value else { return _ = gone.insert(key) }
                entries[key] = value
                recovered.insert(key)
            }
        }
        for reference in leaves where !visited.contains(reference.page) {
            while let record = rest.last, record.version > reference.birth { try fill(from: rest.removeLast()) }
            guard let leaf = try node(reference, 0) else { continue }
            for index in 0 ..< leaf.count {
                let key = [UInt8](leaf.key(index))
                if entries[key] != nil || gone.contains(key) || !gap.contains(key) { continue }
                if try keep(leaf, index) { recovered.insert(key) }
            }
        }
        for record in rest.reversed() { try fill(from: record) }
    }

    /// Chunks that belong where something is missing, or where there is only an older one.
    private mutating func adoptOrphans(_ columns: [ChunkColumn]) throws(DatabaseError) {
        guard image.cipher == nil else { return }
        var isKnown = PageMap(false, pageCount)
        func know(_ run: PageRun) {
            for page in run.pages {
                guard page < pageCount.end else { return }
                isKnown[page] = true
            }
        }
        for reference in reached { know(reference.run(image.layout)) }
        var state: TreeState?
        do throws(DatabaseError) {
            if let newest { state = try TreeState(reading: newest, image) }
        } catch {
            guard error.code == .corrupted else { throw error }
        }
        if let wal = newest?.wal { know(wal.run) }
        if let map = state?.map {
            for run in map.free + map.dead.map(\.run) { know(run) }
            // What is behind its end, where the file is not shorter.
            know(PageRun(start: map.pageCount.end, count: max(0, pageCount - map.pageCount)))
        }
        // Of a version that was not sealed a loss of power may have kept pages from being written: they hold what was
        // there before.
        let isCertain = state != nil && newest?.durable == newest?.version
        try OrphanChunks(disk, image.layout, columns, isKnown: isKnown).forEach { found in
            guard report.gaps.contains(where: { $0.contains(found.key) }), !deleted.contains(found.key) else { return }
            if entries[found.key] != nil, state == nil || !recovered.contains(found.key) { return }
            entries[found.key] = found.bytes
            if isCertain { recovered.remove(found.key) } else { recovered.insert(found.key) }
        }
    }
}

extension PageStore {
    /// Writes what is left of a damaged file to a new file. The damaged one is only read. Of an
    /// encrypted one its key is needed, and the new file gets the same.
    package static func salvage(
        _ path: String, to target: String, encryptionKey: [UInt8]? = nil
    ) throws(DatabaseError) -> PageSalvageReport {
        var salvage = try TreeSalvage.read(path, encryptionKey) { _ in nil }
        salvage.report.entryCount = try salvage.write(to: target, path)
        return salvage.report
    }

    /// The same in memory. `columns` reads the schema's record; nil if it cannot.
    package static func openSalvaged(
        _ path: String, encryptionKey: [UInt8]? = nil, columns: ([UInt8]) -> [ChunkColumn]?
    ) throws(DatabaseError) -> (store: PageStore, report: PageSalvageReport) {
        var salvage = try TreeSalvage.read(path, encryptionKey, columns)
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.rowGroupSize = try salvage.header(path).rowGroupSize
        let store = try PageStore.open(options)
        var batch = salvage.batch()
        salvage.report.entryCount = batch.count
        // What is missing may have a meaning; what is there and empty is damaged for everybody.
        for key in salvage.lostKeys where salvage.entries[key] == nil { batch.put(key, []) }
        let lock = try store.lockForWriting(timeoutMilliseconds: -1)
        defer { lock.release() }
        try store.commit(batch, lock: lock, version: Version(1))
        return (store, salvage.report)
    }
}

extension TreeSalvage {
    fileprivate static func read(
        _ path: String, _ encryptionKey: [UInt8]?, _ columns: ([UInt8]) -> [ChunkColumn]?
    ) throws(DatabaseError) -> TreeSalvage {
        let disk = try FileDisk(path, isWritable: false, making: nil)
        defer { disk.close() }
        var best: TreeSalvage?
        // The first page may be what is damaged: then the page size is the one with which most is found.
        for pageBytes in TreeFormat.pageSizes {
            for cipher in try TreeSalvage.ciphers(disk, pageBytes, encryptionKey) {
                let salvage = try TreeSalvage(disk, pageBytes: pageBytes, cipher)
                if salvage.findCount > best?.findCount ?? 0 { best = salvage }
            }
        }
        guard var salvage = best else {
            throw DatabaseError(.notAMotteFile, "there is no page of a Motte file left in '\(path)'", path: path)
        }
        try salvage.run(columns)
        return salvage
    }
}

extension TreeSalvage {
    /// What the pages may be sealed with: the salt is in the head and in every root slot.
    fileprivate static func ciphers(
        _ disk: any Disk, _ pageBytes: Int, _ key: [UInt8]?
    ) throws(DatabaseError) -> [PageCipher?] {
        guard let key else { return [nil] }
        var salts: [[UInt8]] = []
        let places =
            [FileHead.saltOffset]
            + (0 ..< TreeFormat.slotCount).map {
                TreeFormat.slotPage($0).offset(pageBytes: pageBytes) + PageCipher.saltOffset(pageBytes: pageBytes)
            }
        for place in places {
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: PageCipher.saltBytes, alignment: 16)
            defer { buffer.deallocate() }
            guard try disk.read(buffer, at: place) == buffer.count else { continue }
            let salt = Array(buffer)
            if !salts.contains(salt) { salts.append(salt) }
        }
        var ciphers: [PageCipher?] = []
        for salt in salts { ciphers.append(try PageCipher(key, salt: salt)) }
        return ciphers
    }

    /// The header record that was found, or a new one.
    fileprivate func header(_ path: String) throws(DatabaseError) -> FileHeader {
        guard let record = entries[FileHeader.key] else {
            return try FileHeader.new(rowGroupSize: guessedRowGroupSize, pageBytes: image.pageBytes)
        }
        var header: FileHeader
        do throws(DatabaseError) {
            header = try record.withBytes { bytes throws(DatabaseError) in try FileHeader(decoding: bytes, path: path) }
        } catch {
            guard error.code == .corrupted || error.code == .notAMotteFile else { throw error }
            return try FileHeader.new(rowGroupSize: guessedRowGroupSize, pageBytes: image.pageBytes)
        }
        // The new file has the version of its header, and of the page size that was found.
        header.version = Version(min(header.version.rawValue, TreeFormat.versionLimit / 2))
        header.pageBytes = image.pageBytes
        return header
    }

    /// All row groups of a class but its last are full, so the largest tells, if there is any that is not the last.
    private var guessedRowGroupSize: Int {
        var mostRows = 1
        var hasFullRowGroups = false
        for (key, value) in entries where key.first == KeySpace.chunks && key.count == 13 && value.count >= 8 {
            mostRows = max(mostRows, Int(value[4]) | Int(value[5]) << 8 | Int(value[6]) << 16)
            if key[9 ..< 13].contains(where: { $0 != 0 }) { hasFullRowGroups = true }
        }
        if !hasFullRowGroups { mostRows = max(mostRows, FileHeader.defaultRowGroupSize) }
        return min(mostRows, FileHeader.mostRowGroupSize)
    }

    /// Everything but the header record.
    fileprivate func batch() -> PageBatch {
        var batch = PageBatch()
        for (key, value) in entries where key != FileHeader.key { batch.put(key, value) }
        return batch
    }

    /// How many entries there are besides the header record.
    fileprivate func write(to target: String, _ path: String) throws(DatabaseError) -> Int {
        var header = try header(path)
        header.historyEpoch = try .random()
        guard !TemporaryFile.isThere(target) else { throw TemporaryFile.exists(target) }
        let temporary = try TemporaryFile(.salvaging, of: target, .like(path))
        var batch = batch()
        let bytes = batch.byteCount
        batch.put(FileHeader.key, header.encoded())
        let key = image.cipher?.userKey
        var copy = try TreeCopy(temporary, header, encryptionKey: key, atMost: bytes * 4 + (64 << 20))
        defer { copy.close() }
        try copy.append(batch)
        try copy.finish()
        try temporary.flush()
        var check = try CopyCheck(temporary.path, of: path, encryptionKey: key, header)
        for entry in batch.effectiveEntries() where !entry.key.elementsEqual(FileHeader.key) {
            try check.expect(entry.key, entry.value)
        }
        try check.finish()
        try temporary.name(target)
        return batch.count - 1
    }
}
