/// A file rewritten in place without its free pages, which takes having it to oneself: every user in every process must
/// have closed it.
///
/// The copy takes the file's place, with its mode and owner, when it is on disk and was compared with it; so a crash
/// leaves the one or the other.
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
    /// nil when `decide`, called with the file's size and the bytes in use, does not want it. Throws `.busy` when
    /// somebody has the file open.
    package static func compact(
        _ options: PageStoreOptions,
        decide: (_ totalBytes: Int, _ usedBytes: Int) throws(DatabaseError) -> Bool = { _, _ in true },
        batchBytes: Int? = nil, progress: PageProgressHandler? = nil
    ) throws(DatabaseError) -> CompactionOutcome? {
        guard case .file(let path) = options.location else {
            throw DatabaseError(.unsupported, "a database in memory has no file to compact")
        }
        guard !options.readOnly, !options.immutable else {
            throw DatabaseError(.readOnly, "'\(path)' is open for reading only and cannot be compacted", path: path)
        }
        var wanted = options
        wanted.noCreate = true
        let place = try FileLocation(path, wanted)
        guard let identity = place.identity else {
            throw DatabaseError(.fileNotFound, "there is no file '\(path)'", path: path)
        }
        let held = HeldFile(place.path)
        defer { held.end() }
        let attachment = try PageRegistry.reserve(place, identity)
        defer { PageRegistry.giveBack(identity) }
        let outcome = try compact(place, identity, options, decide, batchBytes, progress)
        _ = consume attachment
        return outcome
    }

    private static func compact(
        _ place: FileLocation, _ identity: FileIdentity, _ options: PageStoreOptions,
        _ decide: (Int, Int) throws(DatabaseError) -> Bool, _ batchBytes: Int?, _ progress: PageProgressHandler?
    ) throws(DatabaseError) -> CompactionOutcome? {
        var options = options
        // Nobody else reads it, and this reads everything once.
        options.memoryBytes = min(PageCopy.memoryBytes, try options.chosenMemory())
        let pages = try TreePages.openUnshared(place, options)
        pages.beginUse()
        var isOpen = true
        defer { if isOpen { pages.endUse() } }
        // What newer versions have left is in this file alone, where salvage finds it.
        if let passedOver = pages.passedOver {
            throw DatabaseError(
                .corrupted,
                "'\(place.path)' is not replaced by a compacted copy, which would end what may still be salvaged of "
                    + "it: \(passedOver); salvage it first, or copy it", path: place.path)
        }
        let statistics = try pages.statistics()
        guard try decide(statistics.fileBytes, statistics.usedBytes) else { return nil }
        guard let facts = TemporaryFile.facts(place.path) else { throw SystemError.error(ENOENT, "open", place.path) }
        let temporary = try TemporaryFile(.compacting, of: place.path, .replacing(facts))
        var copy = try PageCopy(
            of: try pages.snapshot(), at: place.path, try pages.header, encryptionKey: options.encryptionKey,
            entries: statistics.entryCount, batchBytes: batchBytes, progress: progress)
        try copy.write(to: temporary, options.faults)
        pages.endUse()
        isOpen = false
        try temporary.replace(place.path, identity)
        let after = TemporaryFile.facts(place.path).map { Int($0.st_size) } ?? 0
        return CompactionOutcome(bytesBefore: statistics.fileBytes, bytesAfter: after)
    }
}
