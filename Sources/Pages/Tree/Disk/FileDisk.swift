/// A disk that is a file.
///
/// A file that grows by each small commit has its length and its blocks written by each flush too, through the WAL
/// of the file system. So behind a small write at its end it gets zeros for some of those to come: then these only
/// overwrite what is there. Zeros that are written, since blocks that are only reserved have to be entered as well.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

// @unchecked: 'knownEnd' is only touched by who writes, holding the write lock of the file.
final class FileDisk: Disk, @unchecked Sendable {
    let path: String
    private let descriptor: Int32
    /// Where the file ended when it was last looked at; it may have grown since, not shrunk but by `resize`.
    private var knownEnd = 0
    /// No further than this it grows ahead of what is written.
    private var growthLimit = Int.max

    /// Of its length, this part and at most so many bytes are added behind it.
    private static let growthShift = 4
    private static let mostGrowth = 1 << 20

    /// The page cache keeps what comes in one call in one piece, and goes through all of a piece for each small write
    /// to it later: flushes of 36 KB into what calls of 1 MB had written took a sixth longer than so.
    private static let pieceBytes = 128 << 10

    /// Of the file at a path, or of one that is being made and then has this path only for messages.
    init(_ path: String, isWritable: Bool, making temporary: TemporaryFile?) throws(DatabaseError) {
        self.path = path
        let access = isWritable ? O_RDWR : O_RDONLY
        if let temporary {
            descriptor = try temporary.openAgain()
        } else {
            // A reading that is noted in the file's inode makes the next flush write that too. Not everybody may ask.
            let quiet = motte_shim_open_plain(path, access | FileDisk.readsAreNotNoted)
            descriptor = quiet >= 0 || errno != EPERM ? quiet : motte_shim_open_plain(path, access)
        }
        guard descriptor >= 0 else { throw SystemError.notOpened(errno, path) }
    }

    /// O_NOATIME of Linux, which the C library declares for its own extensions only.
    private static let readsAreNotNoted: Int32 = 0o1000000

    func close() { closeDescriptor(descriptor) }

    func byteCount() throws(DatabaseError) -> Int {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { throw SystemError.error(errno, "look at", path) }
        return Int(facts.st_size)
    }

    /// SEEK_DATA and SEEK_HOLE of Linux, which the C library declares for its own extensions only.
    private static let (seekData, seekHole): (Int32, Int32) = (3, 4)

    func firstHole(in range: Range<Int>) throws(DatabaseError) -> Range<Int>? {
        let end = try byteCount()
        guard !range.isEmpty, range.lowerBound < end else { return range.isEmpty ? nil : range }
        // The end of the file is one, too, and all that file systems have which know of no others.
        let hole = lseek(descriptor, off_t(range.lowerBound), FileDisk.seekHole)
        let start = hole < 0 ? end : Int(hole)
        guard start < range.upperBound else { return nil }
        let data = start < end ? lseek(descriptor, off_t(start), FileDisk.seekData) : -1
        return start ..< (data < 0 ? range.upperBound : min(Int(data), range.upperBound))
    }

    func read(_ target: UnsafeMutableRawBufferPointer, at offset: Int) throws(DatabaseError) -> Int {
        var done = 0
        while done < target.count, let start = target.baseAddress {
            let count = pread(descriptor, start + done, target.count - done, off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SystemError.error(errno, "read", path) }
            if count == 0 { break }
            done += count
        }
        return done
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DatabaseError) {
        var done = 0
        while done < bytes.count, let start = bytes.baseAddress {
            let piece = min(bytes.count - done, FileDisk.pieceBytes)
            let count = pwrite(descriptor, start + done, piece, off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw SystemError.error(count == 0 ? ENOSPC : errno, "write", path) }
            done += count
        }
        try grow(behind: offset + bytes.count, bytes.count)
    }

    func limitGrowth(to byteCount: Int) { growthLimit = byteCount }

    /// A disk that has no room for more than was written is none of the writer's business.
    private func grow(behind end: Int, _ count: Int) throws(DatabaseError) {
        guard end > knownEnd else { return }
        knownEnd = try byteCount()
        let growth = min(end >> FileDisk.growthShift, FileDisk.mostGrowth, growthLimit - min(end, growthLimit))
        // What is written in large pieces would be written twice.
        guard end == knownEnd, growth > 2 * count else { return }
        let zeros = UnsafeMutableRawBufferPointer.allocate(
            byteCount: min(growth, FileDisk.pieceBytes), alignment: 4096)
        defer { zeros.deallocate() }
        zeros.initializeMemory(as: UInt8.self, repeating: 0)
        while knownEnd < end + growth {
            let piece = min(zeros.count, end + growth - knownEnd)
            let written = pwrite(descriptor, zeros.baseAddress, piece, off_t(knownEnd))
            guard written > 0 else { return }
            knownEnd += written
        }
    }

    func flush() throws(DatabaseError) {
        // A signal that ends the wait says nothing of what was written, as a failure would: it is asked again.
        while fdatasync(descriptor) != 0 {
            if errno == EINTR { continue }
            throw SystemError.error(errno, "flush", path)
        }
    }

    func resize(to byteCount: Int) throws(DatabaseError) {
        while ftruncate(descriptor, off_t(byteCount)) != 0 {
            if errno == EINTR { continue }
            throw SystemError.error(errno, "resize", path)
        }
        knownEnd = byteCount
    }
}
