/// A file rewritten in place without its free space, which takes having it to oneself: every user in every process must
/// have closed it.
///
/// The copy takes the file's name when it is complete and on disk, so that a crash leaves the one or the other.
import CMotteShim
import MotteValues

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

package struct CompactionOutcome: Sendable {
    package let bytesBefore: Int
    package let bytesAfter: Int
}

extension PageStore {
    /// nil when `decide`, told the file's size and the bytes in use, does not want it. Throws `.busy` when somebody has
    /// the file open.
    package static func compact(
        _ options: PageStoreOptions,
        decide: (_ totalBytes: Int, _ usedBytes: Int) throws(DatabaseError) -> Bool = { _, _ in true },
        progress: PageProgressHandler? = nil
    ) throws(DatabaseError) -> CompactionOutcome? {
        guard case .file(let path) = options.location else {
            throw DatabaseError(.unsupported, "a store in memory has no file to compact")
        }
        guard !options.readOnly, !options.immutable else {
            throw DatabaseError(.readOnly, "'\(path)' is open for reading only and cannot be compacted", path: path)
        }
        var wanted = options
        wanted.noCreate = true
        let place = try FilePlace(path, wanted)
        guard let identity = place.identity else {
            throw DatabaseError(.fileNotFound, "there is no file '\(path)'", path: path)
        }
        let attachment = try PageRegistry.reserve(place, identity)
        defer { PageRegistry.giveBack(identity) }
        let outcome = try compact(place, options, decide, progress)
        _ = consume attachment
        return outcome
    }

    private static func compact(
        _ place: FilePlace, _ options: PageStoreOptions, _ decide: (Int, Int) throws(DatabaseError) -> Bool,
        _ progress: PageProgressHandler?
    ) throws(DatabaseError) -> CompactionOutcome? {
        let isOurs = try TreePages.isOurs(place)
        guard isOurs || options.encryptionKey == nil else { throw FileHead.isPlain(place.path) }
        let pages: SharedPages =
            isOurs ? try TreePages.openUnshared(place, options) : try LMDBPages.openUnshared(place, options)
        pages.beginUse()
        var isOpen = true
        defer { if isOpen { pages.endUse() } }
        let statistics = try pages.statistics()
        guard try decide(statistics.fileBytes, statistics.usedBytes) else { return nil }
        let temporary = place.path + ".compacting"
        try PageCopy.write(
            try pages.snapshot(), try pages.header, entries: statistics.entryCount, bytes: statistics.fileBytes,
            to: temporary, as: isOurs ? .own(encryptionKey: options.encryptionKey) : .lmdb, mode: place.mode,
            progress: progress)
        pages.endUse()
        isOpen = false
        try PageCopy.replace(place.path, by: temporary)
        var facts = stat()
        let after = stat(place.path, &facts) == 0 ? Int(facts.st_size) : 0
        return CompactionOutcome(bytesBefore: statistics.fileBytes, bytesAfter: after)
    }
}
