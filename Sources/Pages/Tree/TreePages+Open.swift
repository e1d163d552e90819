/// From a path to an open file: what it is, who else has it open, which root counts; and the first version of a new
/// one.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension TreePages {
    private static func firstBytes(_ disk: any Disk) throws(DatabaseError) -> [UInt8] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: FileHead.byteCount, alignment: 16)
        defer { buffer.deallocate() }
        let count = try disk.read(buffer, at: 0)
        return Array(buffer[..<count])
    }

    /// Called holding the open-files lock.
    static func open(_ place: FileLocation, _ options: PageStoreOptions) throws(DatabaseError) -> TreePages {
        if options.immutable { return try openUnshared(place, options) }
        // Before anything is made beside a file that may be somebody else's.
        if place.sizeBytes > 0 {
            do throws(DatabaseError) { try checkHead(place) } catch {
                throw options.encryptionKey == nil ? error : ForeignFile.withKey(error)
            }
        }
        try place.checkFileSystem()
        let sidecar = try Sidecar(
            attaching: place.sidecarPath, place.sharing, timeoutMilliseconds: options.openTimeoutMilliseconds)
        do throws(DatabaseError) {
            // One process at a time opens: so none meets a file that another is still making.
            guard try sidecar.lockForOpening(Deadline(milliseconds: options.openTimeoutMilliseconds)) else {
                throw DatabaseError(
                    .timeout, "another process is opening '\(place.path)' for too long", path: place.path,
                    systemError: EAGAIN)
            }
            defer { sidecar.unlockForOpening() }
            return try open(place, sidecar, options)
        } catch {
            // A database that could not be made leaves nothing behind.
            if place.isThereNow { sidecar.detach() } else { sidecar.removeAndDetach() }
            throw error
        }
    }

    /// For who has the file to itself: no locks, nothing shared, not in the registry.
    static func openUnshared(_ place: FileLocation, _ options: PageStoreOptions) throws(DatabaseError) -> TreePages {
        let disk = try FileDisk(place.path, isWritable: false, making: nil)
        return try open(disk, nil, try identity(place), isWritable: false, nil, options)
    }

    static func checkHead(_ place: FileLocation) throws(DatabaseError) {
        let disk = try FileDisk(place.path, isWritable: false, making: nil)
        defer { disk.close() }
        _ = try head(disk)
    }

    private static func open(
        _ given: FileLocation, _ sidecar: Sidecar, _ options: PageStoreOptions
    ) throws(DatabaseError) -> TreePages {
        var place = try given.refreshed(options)
        if place.sizeBytes == 0 {
            guard !sidecar.isFileOpenElsewhere() else {
                throw .formerFileIsOpen(place.path, inThisProcess: false)
            }
            try make(place, options)
            place = try given.refreshed(options)
            sidecar.adopt(place.sharing)
        }
        let isWritable = place.isWritable
        let identity = try identity(place)
        let disk = try FileDisk(place.path, isWritable: isWritable, making: nil)
        let presence: FilePresence
        do throws(DatabaseError) {
            presence = try FilePresence(place.path, sidecar.identity, sidecarPath: sidecar.path)
        } catch {
            disk.close()
            throw error
        }
        do throws(DatabaseError) {
            return try open(disk, sidecar, identity, isWritable: isWritable, presence, options)
        } catch {
            presence.close()
            throw error
        }
    }

    private static func identity(_ place: FileLocation) throws(DatabaseError) -> FileIdentity {
        guard let identity = place.identity else { throw SystemError.error(ENOENT, "open", place.path) }
        return identity
    }

    /// A disk that nobody else uses, as tests do. An empty one is made into a store.
    static func open(_ disk: any Disk, _ options: PageStoreOptions) throws(DatabaseError) -> TreePages {
        if try disk.byteCount() == 0 { try format(disk, options) }
        return try open(disk, nil, nil, isWritable: !options.readOnly, nil, options)
    }

    /// Takes over the disk, also when it throws; the sidecar only when it does not.
    private static func open(
        _ disk: any Disk, _ sidecar: Sidecar?, _ identity: FileIdentity?, isWritable: Bool,
        _ presence: FilePresence?, _ options: PageStoreOptions
    ) throws(DatabaseError) -> TreePages {
        do throws(DatabaseError) {
            var options = options
            options.walPages = try chosenWALPages(options)
            let bytes = try firstBytes(disk)
            let head = try head(bytes, disk.path)
            // Replaced between two looks at its path; the next attempt finds one file.
            if let presence, presence.identity != identity {
                throw DatabaseError(
                    .busy, "'\(disk.path)' is being replaced; open it again", path: disk.path, systemError: EAGAIN)
            }
            if let sidecar, !sidecar.checkFile(head.uuid, identity) {
                throw .formerFileIsOpen(disk.path, inThisProcess: false)
            }
            let cipher = try head.cipher(options.encryptionKey, disk.path)
            let size = try disk.byteCount()
            let image = try PageImage(
                disk, pageBytes: head.pageBytes, cipher, memoryBytes: try options.chosenMemory())
            let hold = PageHold(image)
            defer { withExtendedLifetime(hold) {} }
            let isOpenElsewhere = sidecar?.isFileOpenElsewhere() ?? false
            let others = isOpenElsewhere ? sidecar : nil
            let (newest, passedOver, header) = try newestVersionAndHeader(disk, image, others)
            guard header.fileUUID == head.uuid, header.pageBytes == head.pageBytes,
                header.version == newest.version
            else { throw .corrupted("its header record belongs to another file") }
            let versions = try RootSlots.versions(disk, image)
            return TreePages(
                Parts(
                    disk: disk, image: image, newest: newest, passedOver: passedOver, header: header, head: bytes,
                    byteCount: size, slotVersions: versions, sidecar: sidecar, presence: presence,
                    isOpenElsewhere: isOpenElsewhere,
                    identity: identity, isWritable: isWritable), options)
        } catch {
            disk.close()
            throw error
        }
    }

    static func head(_ disk: any Disk) throws(DatabaseError) -> FileHead { try head(firstBytes(disk), disk.path) }

    private static func head(_ bytes: [UInt8], _ path: String) throws(DatabaseError) -> FileHead {
        try bytes.withBytes { bytes throws(DatabaseError) in try FileHead(decoding: bytes, path: path) }
    }

    /// The header is read without a pin, so others may commit over it; then there is a newer one.
    private static func newestVersionAndHeader(
        _ disk: any Disk, _ image: PageImage, _ others: Sidecar?
    ) throws(DatabaseError) -> (TreeVersion, PassedOver?, FileHeader) {
        let announced = others?.makeSignal()
        while true {
            let (newest, passedOver) = try newestVersion(disk, image, others)
            do throws(DatabaseError) {
                return (newest, passedOver, try FileHeader(reading: newest, image, disk.path))
            } catch {
                guard error.code == .corrupted, let announced, announced.published > newest.version
                else { throw error }
            }
        }
    }

    /// Where others are at work the newest root is the one they announced; it is whole, and would not hold still for a
    /// walk. Where nobody is, the file has to say itself what it holds. What is passed over is so for all.
    private static func newestVersion(
        _ disk: any Disk, _ image: PageImage, _ others: Sidecar?
    ) throws(DatabaseError) -> (TreeVersion, PassedOver?) {
        if let others {
            let announced = others.makeSignal()
            for _ in 0 ..< 10_000 {
                let published = announced.published
                let slots = try RootSlots.read(disk, image).filter { $0.version <= published }
                guard let root = slots.max(by: { $1.isNewer(than: $0) }) else { continue }
                var newest = TreeVersion(root)
                guard try newest.readOn(image, through: published) else { continue }
                let found = try passedOver(beside: &newest, others, disk, image)
                return (newest, found)
            }
        }
        let (root, passedOver) = try RootSlots.choose(disk, image)
        var newest = TreeVersion(root)
        _ = try newest.readOn(image, through: .max)
        let found = try newest.checkEnd(passedOver, image)
        return (newest, found)
    }

    /// What is behind the announced version. A commit that others are making looks the same, until they announce it;
    /// so nothing is said while somebody writes.
    private static func passedOver(
        beside newest: inout TreeVersion, _ others: Sidecar, _ disk: any Disk, _ image: PageImage
    ) throws(DatabaseError) -> PassedOver? {
        let announced = others.makeSignal()
        for attempt in 0 ..< 3 {
            if attempt > 0 { usleep(2_000) }
            guard !others.isLockedForWriting() else { continue }
            let (slots, unreadable) = try RootSlots.look(disk, image)
            var newer: [RootSlot] = []
            // The commit of one that was killed before it announced it is taken in by whoever writes next.
            for slot in slots where slot.version > newest.version {
                if try !RootSlots.isWhole(slot, image, disk) { newer.append(slot) }
            }
            var found =
                newer.isEmpty && unreadable.isEmpty
                ? nil
                : PassedOver(
                    opened: newest.version, newer: newer.first.map { ($0.version, "it is not whole") },
                    unreadable: unreadable, slots: newer.map(\.slot) + unreadable)
            var (version, ahead) = (newest, newest)
            _ = try ahead.readOn(image, through: .max)
            if ahead.version == newest.version { found = try version.checkEnd(found, image) }
            guard announced.published == newest.version else { return nil }
            if found == nil || !others.isLockedForWriting() {
                newest = version
                return found
            }
        }
        return nil
    }

    // MARK: New files.

    /// Under another name first: so a file is there whole or not at all.
    private static func make(_ place: FileLocation, _ options: PageStoreOptions) throws(DatabaseError) {
        guard !options.noCreate, !options.readOnly, place.isWritable else {
            throw DatabaseError(.notAMotteFile, "'\(place.path)' is not a Motte file", path: place.path)
        }
        // An empty file that somebody put there has the mode and the owner that they want.
        let empty = place.identity == nil ? nil : TemporaryFile.facts(place.path)
        let temporary = try TemporaryFile(.making, of: place.path, empty.map { .replacing($0) } ?? .new)
        let disk = try FileDisk(place.path, isWritable: true, making: temporary)
        defer { disk.close() }
        try format(disk, options)
        // The file itself is lost neither with `full` nor with `relaxed` durability; its bytes were flushed above.
        let isLasting = options.durability != .none
        if let identity = place.identity {
            try temporary.replace(place.path, identity, isLasting: isLasting)
        } else {
            try temporary.name(place.path, isLasting: isLasting)
        }
    }

    /// Head, root and one leaf with the header record.
    static func format(_ disk: any Disk, _ options: PageStoreOptions) throws(DatabaseError) {
        guard TreeFormat.pageSizes.contains(options.pageBytes) else {
            throw DatabaseError(
                .invalidArgument, "the size of a page is \(options.pageBytes); 4096, 8192, 16384 or 32768 are possible")
        }
        let header = try FileHeader.new(
            rowGroupSize: options.rowGroupSize ?? FileHeader.defaultRowGroupSize,
            pageBytes: options.pageBytes)
        let cipher: PageCipher? =
            if let key = options.encryptionKey { try PageCipher.new(key) } else { nil }
        let image = try PageImage(
            disk, pageBytes: options.pageBytes, cipher)
        var batch = PageBatch()
        batch.put(FileHeader.key, header.encoded())
        let allocator = PageAllocator(image, SpaceMap(pageCount: TreeFormat.leastPages), wishing: 1, disk.path)
        var writer = TreeWriter(image, allocator, version: .zero)
        let entries = batch.entries
        let result: Result<(root: PageRef, level: Int), DatabaseError> = entries.withUnsafeBufferPointer { entries in
            do throws(DatabaseError) {
                return .success(try writer.apply(entries, to: .none, level: 0))
            } catch {
                return .failure(error)
            }
        }
        withExtendedLifetime(batch.count) {}
        var slot = RootSlot()
        slot.tree = try result.get().root
        slot.entryCount = 1
        slot.leafPageCount = 1
        slot.pageCount = (slot.tree.page + 1).pagesBefore
        try image.write([PageRun(start: slot.tree.page, count: 1)])
        try image.write(slot)
        try disk.fillHoles(in: image.slotBytes)
        try image.writeHead(header.fileUUID)
        if options.durability != .none { try disk.flush() }
    }
}

extension FileHeader {
    /// The header record of a version.
    init(reading version: TreeVersion, _ image: PageImage, _ path: String) throws(DatabaseError) {
        let inWAL = FileHeader.key.withUnsafeBytes { version.wal.changes.entry(for: $0) }
        if let inWAL, !inWAL.isDeletion {
            try self.init(decoding: inWAL.value, path: path)
            return
        }
        let root = version.root
        var reference = root.tree
        guard !reference.isNone else { throw .corrupted("the header record is missing") }
        for level in stride(from: root.level, to: 0, by: -1) {
            reference = try image.node(reference, level: level).reference(0)
        }
        let leaf = try image.node(reference, level: 0)
        guard leaf.key(0).elementsEqual(FileHeader.key) else { throw .corrupted("the header record is missing") }
        try self.init(decoding: try TreeSnapshot.value(leaf, 0, image).bytes, path: path)
    }
}
