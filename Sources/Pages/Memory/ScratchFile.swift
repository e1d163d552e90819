/// What does not fit into memory while it is worked out, such as runs of a sort: blocks of one size in a file that has
/// no name, so that nothing is left behind however the process ends. Of an encrypted database they are encrypted, by a
/// key that is nowhere but in this process's memory.
///
/// It lies where TMPDIR says, else beside the database, else in /var/tmp or /tmp. Owned by one thread.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package final class ScratchFile {
    private let descriptor: Int32
    private let cipher: PageCipher?
    private let folder: String
    package private(set) var blockCount = 0

    /// Of a block, what its user has of it.
    package let blockBytes: Int
    /// Of memory for a block.
    package static let wholeBytes = 16 << 10
    private static let fullDisk = [ENOSPC, EDQUOT, EFBIG]

    /// `path` is the database's, nil where it has none.
    package init(beside path: String?, isEncrypted: Bool) throws(DatabaseError) {
        var (found, opened) = ("", -ENOENT)
        for folder in ScratchFile.folders(path) where opened < 0 {
            (found, opened) = (folder, SpillFile.openUnlinked(in: folder))
        }
        guard opened >= 0 else {
            throw DatabaseError(
                .inputOutput,
                "no temporary file could be made in '\(found)'; name a folder in the environment variable TMPDIR, or "
                    + "allow more memory", path: found, systemError: -opened)
        }
        (folder, descriptor) = (found, opened)
        do throws(DatabaseError) {
            cipher = isEncrypted ? try PageCipher.ofThisProcess() : nil
        } catch {
            close(opened)
            throw error
        }
        blockBytes = ScratchFile.wholeBytes - (isEncrypted ? PageCipher.trailerBytes : 0)
    }

    deinit { close(descriptor) }

    /// What the environment variable TMPDIR names.
    package static var namedFolder: String? {
        getenv("TMPDIR").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func folders(_ path: String?) -> [String] {
        let own = path.map { FilePath.split($0).directory }
        return [namedFolder, own].compactMap { $0 } + ["/var/tmp", "/tmp"]
    }

    private func unit(_ number: Int) -> PageCipher.Unit {
        PageCipher.Unit(kind: .record, page: PageNumber(number), byteCount: blockBytes)
    }

    /// Adds a block; `bytes` have room for a whole one, and are worth nothing afterwards.
    package func append(_ bytes: UnsafeMutableRawPointer) throws(DatabaseError) {
        if let cipher {
            let random = try PageCipher.drawRandom(1)
            try cipher.seal(unit(blockCount), bytes, count: ScratchFile.wholeBytes, to: bytes, random: random[...])
        }
        var done = 0
        while done < ScratchFile.wholeBytes {
            let offset = off_t(blockCount * ScratchFile.wholeBytes + done)
            let count = pwrite(descriptor, bytes + done, ScratchFile.wholeBytes - done, offset)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure("write", count < 0 ? errno : ENOSPC) }
            done += count
        }
        blockCount += 1
    }

    /// Reads a block that was added into memory for a whole one.
    package func read(_ number: Int, into bytes: UnsafeMutableRawPointer) throws(DatabaseError) {
        var done = 0
        while done < ScratchFile.wholeBytes {
            let offset = off_t(number * ScratchFile.wholeBytes + done)
            let count = pread(descriptor, bytes + done, ScratchFile.wholeBytes - done, offset)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure("read", count < 0 ? errno : EIO) }
            done += count
        }
        guard let cipher else { return }
        guard try cipher.unseal(unit(number), bytes, count: ScratchFile.wholeBytes) else {
            throw failure("read", EIO)
        }
    }

    private func failure(_ what: String, _ number: Int32) -> DatabaseError {
        guard ScratchFile.fullDisk.contains(number) else {
            return SystemError.error(number, what, "a temporary file in \(folder)")
        }
        return DatabaseError(
            .diskFull,
            "there is no room for a temporary file in '\(folder)'; free some, name another folder in the environment "
                + "variable TMPDIR, or allow more memory", path: folder, systemError: number)
    }
}
