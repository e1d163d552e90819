/// A database that was made under a temporary name gets its own: it is there as a whole or not at all, and nothing is
/// replaced.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension PageStore {
    /// A name beside `target` that nothing has and nobody can foresee. What a killed maker left under such a name is
    /// removed.
    package static func temporaryName(
        beside target: String, _ purpose: String
    ) throws(DatabaseError) -> String {
        guard !TemporaryFile.isThere(target) else { throw TemporaryFile.exists(target) }
        var number: UInt64 = 0
        guard motte_shim_random(&number, 8) == 0 else {
            throw DatabaseError(.inputOutput, "the system gives no random numbers", path: target)
        }
        let digits = String(number, radix: 16)
        let zeros = String(repeating: "0", count: 16 - digits.utf8.count)
        removeAbandoned(beside: target, purpose)
        return target + "." + purpose + "-" + zeros + digits
    }

    /// Gives the file at `options` the name `target`; nobody may have it open. `.invalidArgument` when there is
    /// something under that name already.
    package static func rename(_ options: PageStoreOptions, to target: String) throws(DatabaseError) {
        guard case .file(let path) = options.location else {
            throw DatabaseError(.unsupported, "a database in memory has no file to name")
        }
        let place = try FileLocation(path, options)
        guard let identity = place.identity else { throw SystemError.error(ENOENT, "open", path) }
        let attachment = try PageRegistry.reserve(place, identity, acceptsDamage: false)
        defer { PageRegistry.giveBack(identity) }
        // A second name rather than a rename, which would replace what somebody else has just made.
        if link(place.path, target) == 0 {
            unlink(place.path)
        } else {
            let number = errno
            guard number != EEXIST else { throw TemporaryFile.exists(target) }
            guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(number), !TemporaryFile.isThere(target) else {
                throw SystemError.error(number, "write", target)
            }
            guard renameFile(place.path, target) == 0 else { throw SystemError.error(errno, "write", target) }
        }
        unlink(place.sidecarPath)
        place.flushDirectory()
        _ = consume attachment
    }

    /// Gives the file at `copy` the name of the one at `options`, which goes, or stays under the name `aside`; nobody
    /// may have either open. One of the two has that name at every moment, so that whoever opens it finds a file, where
    /// the file system has second names for files. `check` may refuse, and shows what goes while nobody can change it.
    package static func replace(
        _ options: PageStoreOptions, with copy: String, keepingAs aside: String?,
        check: ((any PageSnapshot) throws(DatabaseError) -> Void)?
    ) throws(DatabaseError) {
        guard case .file(let path) = options.location else {
            throw DatabaseError(.unsupported, "a database in memory has no file to replace")
        }
        let place = try FileLocation(path, options), other = try FileLocation(copy, PageStoreOptions(path: copy))
        guard let identity = place.identity else { throw SystemError.error(ENOENT, "open", path) }
        guard let newIdentity = other.identity else { throw SystemError.error(ENOENT, "open", copy) }
        let held = HeldFile(place.path)
        defer { held.end() }
        let attachment = try PageRegistry.reserve(place, identity)
        defer { PageRegistry.giveBack(identity) }
        let newAttachment = try PageRegistry.reserve(other, newIdentity)
        defer { PageRegistry.giveBack(newIdentity) }
        if let check { try show(place, options, to: check) }
        if let aside, link(place.path, aside) != 0 {
            let number = errno
            if number == EEXIST {
                let isThere = TemporaryFile.facts(aside).map { FileIdentity($0) } == identity
                guard isThere else { throw TemporaryFile.exists(aside) }
            } else {
                // Of file systems without second names this asks for a moment in which the file has none.
                let mayHaveNone = [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(number) && !TemporaryFile.isThere(aside)
                guard mayHaveNone, renameFile(place.path, aside) == 0 else {
                    throw SystemError.error(number, "keep the former file as", aside)
                }
            }
        }
        guard renameFile(other.path, place.path) == 0 else { throw SystemError.error(errno, "replace", place.path) }
        unlink(other.sidecarPath)
        unlink(place.sidecarPath)
        place.flushDirectory()
        _ = consume attachment
        _ = consume newAttachment
    }

    private static func show(
        _ place: FileLocation, _ options: PageStoreOptions, to body: (any PageSnapshot) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        var reading = options
        (reading.readOnly, reading.memoryBytes) = (true, min(PageCopy.memoryBytes, try options.chosenMemory()))
        let pages = try TreePages.openUnshared(place, reading)
        pages.beginUse()
        defer { pages.endUse() }
        try body(try pages.snapshot())
    }

    /// Those that somebody has open are being made.
    private static func removeAbandoned(beside target: String, _ purpose: String) {
        let bytes = Array(target.utf8)
        let slash = bytes.lastIndex(of: UInt8(ascii: "/"))
        let directory =
            slash == nil ? "." : slash == 0 ? "/" : String(decoding: bytes[..<(slash ?? 0)], as: UTF8.self)
        let start = Array(bytes[(slash.map { $0 + 1 } ?? 0)...]) + Array(".\(purpose)-".utf8)
        guard let stream = motte_shim_open_folder(directory) else { return }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            guard name.starts(with: start), name.count == start.count + 16 else { continue }
            let path = directory + "/" + String(decoding: name, as: UTF8.self)
            var options = PageStoreOptions(path: path)
            options.openTimeoutMilliseconds = 0
            // Left where it cannot be removed: it is in nobody's way.
            _ = try? deleteFile(options)
        }
    }
}

/// The system's `rename`, which the method of that name hides.
private func renameFile(_ from: String, _ to: String) -> Int32 { rename(from, to) }
