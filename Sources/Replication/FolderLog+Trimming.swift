/// Removing from a folder what is not needed to restore a time: what is before a snapshot, of whoever led then, and of
/// those who led before that one.
import MotteLiveObjects
import MotteStorage
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension FolderLog {
    /// Behind the name of a file that has been opened.
    private static let shared = "-shared"

    package func trim(before base: LogSnapshot) throws(DatabaseError) {
        guard let former = try ledBefore(base) else { return }
        let own = try folder(base.origin)
        let contents = try LogContents(of: own)
        let hasMore = (contents.snapshots + contents.changes).contains { $0 < base.info.version }
        guard hasMore || !former.isEmpty, try isWhole(base) else { return }
        for folder in former {
            try remove(LogContents(of: folder), before: nil, folder)
            Self.removeEmpty(folder)
        }
        try remove(contents, before: base.info.version, own)
    }

    /// Those who led before the one whose snapshot it is, as the snapshot says; nil where it cannot be read.
    private func ledBefore(_ base: LogSnapshot) throws(DatabaseError) -> [LogFolder]? {
        let led = try reading(base) { session throws(DatabaseError) in try session.replicaPositions().map(\.origin) }
        guard let led else { return nil }
        var found: [LogFolder] = []
        for origin in led where origin != base.origin && origin != record?.origin {
            let folder = try folder(origin)
            let contents = try LogContents(of: folder)
            if contents.snapshots.isEmpty && contents.changes.isEmpty {
                Self.removeEmpty(folder)
            } else {
                found.append(folder)
            }
        }
        return found
    }

    /// Snapshots that nothing tells of, and what opening them has made.
    private static func removeEmpty(_ folder: LogFolder) {
        folder.removeFolder { name in
            let own = name.hasSuffix(shared) ? String(name.dropLast(shared.count)) : name
            return LogName.snapshot(own) != nil
        }
    }

    private func isWhole(_ base: LogSnapshot) throws(DatabaseError) -> Bool {
        try reading(base) { session throws(DatabaseError) in try session.committedSnapshot().verify().isSound } ?? false
    }

    /// nil where the snapshot is not what it was.
    private func reading<Result>(
        _ snapshot: LogSnapshot, _ body: (Session) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result? {
        let path = try folder(snapshot.origin).file(LogName.snapshot(snapshot.info.version))
        guard fileBytes(path) == snapshot.info.byteCount else { return nil }
        var options = SessionOptions(path: path).readingOnly
        options.isImmutable = true
        // With `--plain` whoever led before may have had none.
        if try Database.isEncrypted(path) { options.encryptionKey = key.fileKey }
        do throws(DatabaseError) {
            let session = try Session.open(options)
            // It was only read.
            defer { _ = try? session.close() }
            // The version before would open where the newest one is damaged.
            guard try session.replicaPosition(snapshot.origin)?.version == snapshot.info.version else { return nil }
            return try body(session)
        } catch {
            guard [.corrupted, .notAMotteFile, .unsupportedFormat, .fileNotFound].contains(error.code) else {
                throw error
            }
            return nil
        }
    }

    /// From the front, so that what is left is a chain whenever this ends; nil: everything.
    private func remove(
        _ contents: LogContents, before version: Version?, _ folder: LogFolder
    ) throws(DatabaseError) {
        func goes(_ old: Version) -> Bool { version.map { old < $0 } ?? true }
        for old in contents.snapshots where goes(old) {
            try folder.remove(LogName.info(old))
            try folder.remove(LogName.snapshot(old))
            try folder.remove(LogName.snapshot(old) + Self.shared)
        }
        for old in contents.changes where goes(old) { try folder.remove(LogName.changes(after: old)) }
    }
}
