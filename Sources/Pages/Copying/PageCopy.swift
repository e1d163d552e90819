/// A version written out as a file of its own: sorted keys in full pages one after the other, none of them free. Others
/// go on writing to the source meanwhile.
///
/// A copy has a history of its own (a new epoch), so the change log stays behind, with what says for whom it is kept.
/// It is made under a temporary name, read back from the disk and compared with its source, and only then gets the name
/// wanted.
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// How far a copy or a walk over all pages is; `total` is an estimate until the end.
package struct PageProgress: Sendable {
    package var done: Int
    package var total: Int

    package init(done: Int, total: Int) {
        self.done = done
        self.total = total
    }
}

/// Called with the progress; what it throws stops the work.
package typealias PageProgressHandler = (PageProgress) throws(DatabaseError) -> Void

/// What key a copy has.
package enum CopyEncryption: Sendable {
    /// That of its source, or none.
    case same
    case plain
    case key([UInt8])
}

struct PageCopy {
    /// Bytes of entries that go to the copy together, beside so many that pages of the source may take. A batch is in
    /// memory twice: as entries, and as the pages made of them.
    static func batchBytes(beside memoryBytes: Int) -> Int { min(16 << 20, max(1 << 20, memoryBytes / 32)) }
    /// The most for pages of a file that nobody else reads.
    static let memoryBytes = 32 << 20
    /// For pages of the copy while it is compared with its source.
    static func checkBytes(beside memoryBytes: Int) -> Int { min(PageCopy.memoryBytes, max(2 << 20, memoryBytes / 16)) }

    private let source: PageSnapshot
    private let sourcePath: String
    /// Of the copy.
    private var header: FileHeader
    private let encryptionKey: [UInt8]?
    /// Entries of the source, as far as it knows.
    private let entryCount: Int
    private let batchBytes: Int
    private let progress: PageProgressHandler?

    /// `header` is that of the source.
    init(
        of source: PageSnapshot, at path: String, _ header: FileHeader, encryptionKey: [UInt8]?, entries: Int,
        batchBytes: Int?, progress: PageProgressHandler?
    ) throws(DatabaseError) {
        self.source = source
        sourcePath = path
        self.header = header
        self.header.historyEpoch = try .random()
        self.encryptionKey = encryptionKey
        entryCount = entries
        self.batchBytes = batchBytes ?? PageCopy.batchBytes(beside: source.memoryBytes)
        self.progress = progress
    }

    /// Writes the copy, durably, and compares what the disk then has with the source.
    mutating func write(to temporary: TemporaryFile, _ faults: FaultInjection?) throws(DatabaseError) {
        let written = try writeTree(temporary)
        try temporary.flush()
        faults?.willCheckCopy?(temporary.path)
        try compare(temporary.path, after: written)
    }

    private mutating func writeTree(_ temporary: TemporaryFile) throws(DatabaseError) -> Int {
        if !TreeFormat.pageSizes.contains(header.pageBytes) { header.pageBytes = TreeFormat.defaultPageBytes }
        var tree = try TreeCopy(
            temporary, header, encryptionKey: encryptionKey, memoryBytes: max(source.memoryBytes / 8, batchBytes))
        defer { tree.close() }
        let header = header
        let written = try forEachBatch { batch, isFirst throws(DatabaseError) in
            if isFirst { batch.put(FileHeader.key, header.encoded()) }
            try tree.append(batch)
        }
        try tree.finish()
        return written
    }

    /// All entries that belong into the copy but the header record, in batches that ascend; the first may be empty.
    /// Answers how many entries the source has.
    private func forEachBatch(
        _ body: (inout PageBatch, _ isFirst: Bool) throws(DatabaseError) -> Void
    ) throws(DatabaseError) -> Int {
        var cursor = try source.makeCursor()
        var found = try cursor.seek(FileHeader.key)
        var done = 0
        var isFirst = true
        while found || isFirst {
            var batch = PageBatch()
            while found, batch.byteCount < batchBytes {
                if PageCopy.isCopied(cursor.key) { batch.put(cursor.key, cursor.value.bytes) }
                done += 1
                found = try cursor.next()
            }
            try body(&batch, isFirst)
            isFirst = false
            if found { try giveBackMemory(&cursor) }
            // Reading back takes the other half.
            try progress?(PageProgress(done: done, total: 2 * max(done, entryCount)))
        }
        return done
    }

    /// The cursor stays where it is.
    private func giveBackMemory(_ cursor: inout PageCursor) throws(DatabaseError) {
        guard let hold = source.hold, hold.isDue else { return }
        cursor = try source.makeCursor(at: cursor) { hold.renew() }
    }

    private static func isCopied(_ key: UnsafeRawBufferPointer) -> Bool {
        key.first != KeySpace.header && key.first != KeySpace.changeLog && !key.elementsEqual(KeySpace.keptChanges)
    }

    private func compare(_ path: String, after written: Int) throws(DatabaseError) {
        var check = try CopyCheck(
            path, of: sourcePath, encryptionKey: encryptionKey, header,
            memoryBytes: PageCopy.checkBytes(beside: source.memoryBytes))
        var cursor = try source.makeCursor()
        var found = try cursor.seek(FileHeader.key)
        var done = 0
        var bytes = 0
        while found {
            if PageCopy.isCopied(cursor.key) {
                try check.expect(cursor.key, cursor.value.bytes)
                bytes += cursor.key.count + cursor.value.bytes.count
            }
            done += 1
            found = try cursor.next()
            if bytes >= batchBytes {
                bytes = 0
                if found { try giveBackMemory(&cursor) }
                try progress?(PageProgress(done: written + done, total: 2 * written))
            }
        }
        try check.finish()
        try progress?(PageProgress(done: 2 * written, total: 2 * written))
    }
}

extension PageStore {
    /// Writes a version of this store to a new file, while others go on reading and writing. Without another wish it
    /// has the source's key. Whoever may read the source may read the copy.
    package func copy(
        _ snapshot: PageSnapshot, to path: String, encryption: CopyEncryption = .same, batchBytes: Int? = nil,
        progress: PageProgressHandler? = nil
    ) throws(DatabaseError) {
        // The header as that version has it.
        guard let record = try snapshot.get(FileHeader.key) else { throw .corrupted("the header record is missing") }
        var header = try FileHeader(decoding: record.bytes, path: path)
        // Of what is not in the file yet the header knows nothing.
        header.version = snapshot.version
        let statistics = try self.statistics()
        guard !TemporaryFile.isThere(path) else { throw TemporaryFile.exists(path) }
        let key: [UInt8]? =
            switch encryption {
            case .same: try encryptionKey
            case .plain: nil
            case .key(let key): key
            }
        if let key { try Libcrypto.checkKey(key) }
        let source = try pages()
        let temporary = try TemporaryFile(
            .copying, of: path, source.fileIdentity == nil ? .new : .like(source.path))
        var copy = try PageCopy(
            of: snapshot, at: source.path, header, encryptionKey: key, entries: statistics.entryCount,
            batchBytes: batchBytes, progress: progress)
        try copy.write(to: temporary, source.faults)
        try temporary.name(path)
    }

    /// Copies the newest version of the file at `seed` to `path` if there is nothing there yet. The seed may lie where
    /// nothing can be written. With a key the copy is encrypted, and the seed has that key or none.
    package static func copySeed(
        _ seed: String, to path: String, encryptionKey: [UInt8]? = nil, mustBeEncrypted: Bool = false
    ) throws(DatabaseError) {
        guard access(path, F_OK) != 0 else { return }
        var options = PageStoreOptions(path: seed)
        options.readOnly = true
        // Not asked of the file where it must be: it may be another one a moment later.
        let isSealed = mustBeEncrypted ? true : try isEncrypted(seed)
        if isSealed { options.encryptionKey = encryptionKey }
        var opened: PageStore
        do throws(DatabaseError) {
            opened = try PageStore.open(options)
        } catch {
            guard error.code == .permissionDenied else { throw error }
            options.immutable = true
            opened = try PageStore.open(options)
        }
        defer { opened.close() }
        do throws(DatabaseError) {
            try opened.copy(
                try opened.snapshot(), to: path, encryption: encryptionKey.map { .key($0) } ?? .same)
        } catch {
            // Another process was faster with the same seed.
            guard error.code == .invalidArgument, access(path, F_OK) == 0 else { throw error }
        }
    }

    /// Whether a file says that it is encrypted; false for anything that cannot be looked at.
    package static func isEncrypted(_ path: String) throws(DatabaseError) -> Bool {
        guard access(path, R_OK) == 0 else { return false }
        let disk = try FileDisk(path, isWritable: false, making: nil)
        defer { disk.close() }
        do throws(DatabaseError) {
            return try TreePages.head(disk).sealing != nil
        } catch {
            return false
        }
    }
}
