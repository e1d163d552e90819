/// What is left of a damaged file as a store: in a new file, or read where it lies. The damaged one is only read.
import MotteValues

extension PageStore {
    /// Writes what is left of a damaged file to a new file. The damaged one is only read. Of an
    /// encrypted one its key is needed, and the new file gets the same.
    package static func salvage(
        _ path: String, to target: String, encryptionKey: [UInt8]? = nil
    ) throws(DatabaseError) -> PageSalvageReport {
        let disk = try FileDisk(path, isWritable: false, making: nil)
        defer { disk.close() }
        var salvage = try TreeSalvage.read(disk, encryptionKey, memoryBytes: PageCopy.memoryBytes, at: nil) { _ in nil }
        salvage.report.entryCount = try salvage.write(to: target, path)
        return salvage.report
    }

    /// The same as a store that reads the damaged file, which stays as it is while the store is open. `columns` reads
    /// the schema's record; nil if it cannot. `opened`: the version that the file opens at, if its pages are sound.
    package static func openSalvaged(
        _ path: String, encryptionKey: [UInt8]? = nil, memoryBytes: Int? = nil, at opened: Version? = nil,
        columns: ([UInt8]) -> [ChunkColumn]?
    ) throws(DatabaseError) -> (store: PageStore, report: PageSalvageReport) {
        var options = PageStoreOptions(path: path)
        options.readOnly = true
        options.memoryBytes = memoryBytes
        let disk = try FileDisk(path, isWritable: false, making: nil)
        do throws(DatabaseError) {
            var salvage = try TreeSalvage.read(
                disk, encryptionKey, memoryBytes: try options.chosenMemory(), at: opened, columns)
            salvage.report.entryCount = salvage.entries.keys.reduce(0) { $0 + ($1 == FileHeader.key ? 0 : 1) }
            let pages = SalvagedPages(
                salvage.found, salvage.sortedEntries(withLost: true), try salvage.header(path), encryptionKey)
            pages.beginUse()
            return (PageStore(pages, isReadOnly: true), salvage.report)
        } catch {
            disk.close()
            throw error
        }
    }
}

extension TreeSalvage {
    fileprivate static func read(
        _ disk: FileDisk, _ encryptionKey: [UInt8]?, memoryBytes: Int, at opened: Version?,
        _ columns: ([UInt8]) -> [ChunkColumn]?
    ) throws(DatabaseError) -> TreeSalvage {
        var best: TreeSalvage?
        // Its page size and its key are right, whatever else is left.
        let head = try FileHead.sound(disk)
        if let head {
            best = try TreeSalvage(
                disk, pageBytes: head.pageBytes, try head.cipher(encryptionKey, disk.path), memoryBytes: memoryBytes)
        }
        if best?.findCount ?? 0 == 0 {
            // The first page may be what is damaged: then the page size is the one with which most is found.
            for pageBytes in TreeFormat.pageSizes {
                for cipher in try TreeSalvage.ciphers(disk, pageBytes, encryptionKey) {
                    let salvage = try TreeSalvage(disk, pageBytes: pageBytes, cipher, memoryBytes: memoryBytes)
                    if salvage.findCount > best?.findCount ?? 0 { best = salvage }
                }
            }
        }
        guard var salvage = best else { throw nothingIsLeft(disk.path) }
        try salvage.run(columns, at: opened)
        guard !salvage.entries.isEmpty || !salvage.lostKeys.isEmpty else { throw nothingIsLeft(disk.path) }
        return salvage
    }

    private static func nothingIsLeft(_ path: String) -> DatabaseError {
        DatabaseError(.notAMotteFile, "there is no page of a Motte file left in '\(path)' that can be read", path: path)
    }
}

extension FileHead {
    /// nil where the first page is damaged, or of something else.
    fileprivate static func sound(_ disk: any Disk) throws(DatabaseError) -> FileHead? {
        do throws(DatabaseError) {
            return try TreePages.head(disk)
        } catch {
            guard [.corrupted, .notAMotteFile, .unsupportedFormat].contains(error.code) else { throw error }
            return nil
        }
    }
}

extension PageStore {
    /// Whether the checksum of the first page is wrong: then its format number may be what is damaged. Another format
    /// may have its checksum elsewhere, so this is for those who asked for whatever can be read.
    package static func hasDamagedHead(_ path: String) throws(DatabaseError) -> Bool {
        let disk = try FileDisk(path, isWritable: false, making: nil)
        defer { disk.close() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: FileHead.byteCount, alignment: 16)
        defer { buffer.deallocate() }
        let count = try disk.read(buffer, at: 0)
        return count < buffer.count || !FileHead.hasChecksum(UnsafeRawBufferPointer(buffer))
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
        guard let record = entries[FileHeader.key] else { return try newHeader() }
        var header: FileHeader
        do throws(DatabaseError) {
            header = try found.bytes(record).withBytes { bytes throws(DatabaseError) in
                try FileHeader(decoding: bytes, path: path)
            }
        } catch {
            guard error.code == .corrupted || error.code == .notAMotteFile else { throw error }
            return try newHeader()
        }
        // The new file has the version of its header, and of the page size that was found.
        header.version = Version(min(header.version.rawValue, TreeFormat.versionLimit / 2))
        header.pageBytes = image.pageBytes
        return header
    }

    private func newHeader() throws(DatabaseError) -> FileHeader {
        try FileHeader.new(rowGroupSize: try guessedRowGroupSize(), pageBytes: image.pageBytes)
    }

    /// All row groups of a class but its last are full, so the largest tells, if there is any that is not the last.
    private func guessedRowGroupSize() throws(DatabaseError) -> Int {
        var mostRows = 1
        var hasFullRowGroups = false
        for (key, value) in entries where key.first == KeySpace.chunks && key.count == 13 {
            let bytes = try found.bytes(value)
            guard bytes.count >= 8 else { continue }
            mostRows = max(mostRows, Int(bytes[4]) | Int(bytes[5]) << 8 | Int(bytes[6]) << 16)
            if key[9 ..< 13].contains(where: { $0 != 0 }) { hasFullRowGroups = true }
        }
        if !hasFullRowGroups { mostRows = max(mostRows, FileHeader.defaultRowGroupSize) }
        return min(mostRows, FileHeader.mostRowGroupSize)
    }

    /// Keys ascend. `withLost`: what is missing may have a meaning; what is there and empty is damaged for everybody.
    fileprivate func sortedEntries(withLost: Bool) -> [(key: [UInt8], value: FoundValue)] {
        var all = entries.map { (key: $0.key, value: $0.value) }
        if withLost { for key in lostKeys where entries[key] == nil { all.append((key, .bytes([]))) } }
        all.sort { $0.key.lexicographicallyPrecedes($1.key) }
        return all
    }

    /// How many entries there are besides the header record.
    fileprivate func write(to target: String, _ path: String) throws(DatabaseError) -> Int {
        var header = try header(path)
        header.historyEpoch = try .random()
        guard !TemporaryFile.isThere(target) else { throw TemporaryFile.exists(target) }
        let temporary = try TemporaryFile(.salvaging, of: target, .like(path))
        let entries = sortedEntries(withLost: false)
        let key = image.cipher?.userKey
        var copy = try TreeCopy(temporary, header, encryptionKey: key, memoryBytes: PageCopy.memoryBytes)
        defer { copy.close() }
        var batch = PageBatch()
        batch.put(FileHeader.key, header.encoded())
        for entry in entries where entry.key != FileHeader.key {
            batch.put(entry.key, try found.bytes(entry.value))
            guard batch.byteCount >= PageCopy.batchBytes(beside: PageCopy.memoryBytes) else { continue }
            try copy.append(batch)
            batch = PageBatch()
        }
        try copy.append(batch)
        try copy.finish()
        try temporary.flush()
        var check = try CopyCheck(
            temporary.path, of: path, encryptionKey: key, header, memoryBytes: PageCopy.memoryBytes)
        for entry in entries where entry.key != FileHeader.key {
            try entry.key.withBytes { key throws(DatabaseError) in
                try found.bytes(entry.value).withBytes { value throws(DatabaseError) in try check.expect(key, value) }
            }
        }
        try check.finish()
        try temporary.name(target)
        return check.count
    }
}
