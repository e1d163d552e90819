/// A version written out as a file of its own: sorted keys appended to a fresh LMDB file, so that it has no free pages
/// and its pages are full. The source goes on being written meanwhile.
///
/// A copy has a history of its own (a new epoch), so the change log stays behind. It is made under a passing name and
/// gets the one wanted when it is complete and on disk.
import CLMDB
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

/// Told how far work is; what it throws stops the work.
package typealias PageProgressHandler = (PageProgress) throws(DatabaseError) -> Void

/// What key a copy has.
package enum CopyEncryption: Sendable {
    /// That of its source, or none.
    case same
    case plain
    case key([UInt8])
}

enum PageCopy {
    private static let batchBytes = 16 << 20
    private static let spareMapBytes = 64 << 20

    /// What a copy becomes. Only our own files have keys.
    enum Form {
        case lmdb
        case own(encryptionKey: [UInt8]?)
    }

    /// Writes `snapshot` to a new file at `temporary`, durably. `header` is that of the source.
    static func write(
        _ snapshot: PageSnapshot, _ header: FileHeader, entries total: Int, bytes: Int, to temporary: String,
        as form: Form, mode: mode_t, progress: PageProgressHandler?
    ) throws(DatabaseError) {
        unlink(temporary)
        do throws(DatabaseError) {
            if case .own(let key) = form {
                try writeTree(snapshot, header, total, bytes, temporary, key, mode, progress)
                return
            }
            let environment = try LMDBEnvironment(
                temporary, isWritable: true, sidecar: nil, mode: mode, mapSizeBytes: bytes * 2 + spareMapBytes,
                durability: .none)
            defer { environment.close() }
            var copied = header
            copied.historyEpoch = try .random()
            copied.pageBytes = environment.pageBytes
            try fill(environment, snapshot, copied, total, progress)
            try environment.flush()
        } catch {
            unlink(temporary)
            throw error
        }
    }

    private static func writeTree(
        _ snapshot: PageSnapshot, _ header: FileHeader, _ total: Int, _ bytes: Int, _ temporary: String,
        _ key: [UInt8]?, _ mode: mode_t, _ progress: PageProgressHandler?
    ) throws(DatabaseError) {
        var copied = header
        copied.historyEpoch = try .random()
        if !TreeFormat.pageSizes.contains(copied.pageBytes) { copied.pageBytes = TreeFormat.defaultPageBytes }
        var tree = try TreeCopy(
            temporary, mode: mode, copied, encryptionKey: key, atMost: bytes * 2 + spareMapBytes)
        defer { tree.close() }
        let cursor = try snapshot.makeCursor()
        var batch = PageBatch()
        batch.put(FileHeader.key, copied.encoded())
        var done = 0
        var found = try FileHeader.key.withBytes { key throws(DatabaseError) in try cursor.seek(key) }
        while found || !batch.isEmpty {
            while found, batch.byteCount < batchBytes {
                switch cursor.key.first {
                case KeySpace.header, KeySpace.changeLog: break
                default: batch.put(cursor.key, cursor.value.bytes)
                }
                done += 1
                found = try cursor.next()
            }
            try tree.append(batch)
            batch = PageBatch()
            try progress?(PageProgress(done: done, total: max(done, total)))
        }
        try tree.finish()
    }

    private static func fill(
        _ environment: LMDBEnvironment, _ snapshot: PageSnapshot, _ header: FileHeader, _ total: Int,
        _ progress: PageProgressHandler?
    ) throws(DatabaseError) {
        let cursor = try snapshot.makeCursor()
        var found = try FileHeader.key.withBytes { key throws(DatabaseError) in try cursor.seek(key) }
        var done = 0
        var isFirst = true
        while found || isFirst {
            isFirst = false
            var batch = PageBatch()
            while found, batch.byteCount < batchBytes {
                switch cursor.key.first {
                case KeySpace.header, KeySpace.changeLog: break
                default: batch.put(cursor.key, cursor.value.bytes)
                }
                done += 1
                found = try cursor.next()
            }
            let transaction = try environment.begin(0)
            do throws(DatabaseError) {
                try LMDBWriter.apply(batch.effectiveEntries(), header, transaction, environment.path)
            } catch {
                mdb_txn_abort(transaction)
                throw error
            }
            try environment.checkCommit(mdb_txn_commit(transaction), batch.byteCount)
            try progress?(PageProgress(done: done, total: max(done, total)))
        }
    }

    /// A copy is kept as its source is, unless something else is said; what is in memory becomes a file as any new one
    /// does.
    static func form(
        of snapshot: PageSnapshot, _ pager: PageStoreOptions.Pager?, _ key: [UInt8]?
    ) throws(DatabaseError) -> Form {
        guard key == nil else {
            guard pager != .lmdb else {
                throw DatabaseError(.unsupported, "a file of the LMDB form cannot be encrypted; ask for the own form")
            }
            return .own(encryptionKey: key)
        }
        let snapshot = (snapshot as? LayeredSnapshot)?.bottom ?? snapshot
        var wanted = pager
        if wanted == nil, snapshot is TreeSnapshot { wanted = .own }
        if wanted == nil, snapshot is LMDBSnapshot { wanted = .lmdb }
        if wanted == nil { wanted = try PageStoreOptions.Pager.chosen() }
        return wanted == .own ? .own(encryptionKey: nil) : .lmdb
    }

    /// Gives a finished file its name; `.invalidArgument` when there is something already.
    static func name(_ temporary: String, _ path: String) throws(DatabaseError) {
        // A second name rather than a rename, which would replace what somebody else has just made.
        guard link(temporary, path) == 0 else {
            let number = errno
            unlink(temporary)
            guard number == EEXIST else { throw SystemError.error(number, "write", path) }
            throw exists(path)
        }
        unlink(temporary)
        flushDirectory(of: path)
    }

    /// Puts a finished file in the place of another.
    static func replace(_ path: String, by temporary: String) throws(DatabaseError) {
        guard rename(temporary, path) == 0 else {
            let number = errno
            unlink(temporary)
            throw SystemError.error(number, "replace", path)
        }
        flushDirectory(of: path)
    }

    static func exists(_ path: String) -> DatabaseError {
        DatabaseError(.invalidArgument, "there is a file '\(path)' already; a copy replaces nothing", path: path)
    }

    private static func flushDirectory(of path: String) {
        let bytes = Array(path.utf8)
        let directory =
            bytes.lastIndex(of: UInt8(ascii: "/")).map { $0 == 0 ? "/" : String(decoding: bytes[..<$0], as: UTF8.self) }
            ?? "."
        let descriptor = open(directory, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}

extension PageStore {
    /// Writes a version of this store to a new file, while others go on reading and writing. Without another wish it
    /// has the source's form and key.
    package func copy(
        _ snapshot: PageSnapshot, to path: String, as pager: PageStoreOptions.Pager? = nil,
        encryption: CopyEncryption = .same, progress: PageProgressHandler? = nil
    ) throws(DatabaseError) {
        // The header as that version has it.
        guard let record = try snapshot.get(FileHeader.key) else { throw .corrupted("the header record is missing") }
        var header = try FileHeader(decoding: record.bytes, path: path)
        // Of what is not in the file yet the header knows nothing.
        header.version = snapshot.version
        let statistics = try self.statistics()
        guard access(path, F_OK) != 0 else { throw PageCopy.exists(path) }
        let temporary = "\(path).copying-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        let key: [UInt8]? =
            switch encryption {
            case .same: try encryptionKey
            case .plain: nil
            case .key(let key): key
            }
        if let key { try PageCipher.checkKey(key) }
        let form = try PageCopy.form(of: snapshot, pager, key)
        let bytes = statistics.fileBytes + ((snapshot as? LayeredSnapshot)?.layerBytes ?? 0)
        try PageCopy.write(
            snapshot, header, entries: statistics.entryCount, bytes: bytes, to: temporary, as: form, mode: 0o644,
            progress: progress)
        try PageCopy.name(temporary, path)
    }

    /// Copies the newest version of the file at `seed` to `path` if there is nothing there yet. The seed may lie where
    /// nothing can be written. With a key the copy is encrypted, and the seed has that key or none.
    package static func copySeed(
        _ seed: String, to path: String, encryptionKey: [UInt8]? = nil
    ) throws(DatabaseError) {
        guard access(path, F_OK) != 0 else { return }
        var options = PageStoreOptions(path: seed)
        options.readOnly = true
        if try isEncrypted(seed) { options.encryptionKey = encryptionKey }
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
