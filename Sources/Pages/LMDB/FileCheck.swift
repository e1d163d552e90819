/// Looks at a file with plain reads before LMDB maps it, because LMDB believes what it finds: a file that is not ours,
/// too new, cut short or with nonsense in its meta pages is an error here instead of a crash there.
///
///     pages 0 and 1, the meta pages: u64 page number, u16, u16 flags (8: meta), u32; then u32 magic, u32 version,
///         u64, u64 map size, the tree of free pages, the main tree, u64 last page, u64 number of the commit
///     tree: u32 page bytes (first tree only), u16 flags, u16 depth, u64 branch, leaf, overflow pages, entries, root
import MotteValues
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

struct FileCheck {
    struct Meta {
        var pageBytes: Int
        var lastPage: UInt64
        var number: UInt64
        var freeRoot: UInt64
        var freeDepth: Int
        var mainRoot: UInt64
        var mainDepth: Int
    }

    static let magic: UInt32 = 0xBEEF_C0DE
    static let noPage = UInt64.max
    private static let metaBytes = 152
    private static let metaFlag: UInt16 = 0x08
    static let deepestTree = 32

    let path: String
    let descriptor: Int32
    var sizeBytes = 0
    private static let mostAttempts = 50

    /// Throws when LMDB must not open the file. Others may be writing to it: what the latest meta page reaches is not
    /// overwritten before the second commit after it, so a finding counts only if no commit came in between.
    static func check(_ path: String) throws(DatabaseError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError.error(errno, "open", path) }
        defer { close(descriptor) }
        var check = FileCheck(path: path, descriptor: descriptor)
        for attempt in 1 ... mostAttempts {
            let latest = try check.latestMeta()
            // After the meta page: the file had grown before that was written.
            var facts = stat()
            guard fstat(descriptor, &facts) == 0 else { throw SystemError.error(errno, "look at", path) }
            check.sizeBytes = Int(facts.st_size)
            do throws(DatabaseError) {
                try check.checkBounds(latest)
                return try check.checkHeader(latest)
            } catch {
                guard attempt < mostAttempts, try check.latestMeta().number != latest.number else { throw error }
            }
        }
    }

    private func latestMeta() throws(DatabaseError) -> Meta {
        let first = try meta(at: 0)
        let second = try meta(at: first.pageBytes)
        guard first.pageBytes == second.pageBytes else { throw .corrupted("its meta pages disagree on the page size") }
        return first.number >= second.number ? first : second
    }

    /// One of the two meta pages. A magic that is wrong means that the file is not ours.
    private func meta(at offset: Int) throws(DatabaseError) -> Meta {
        var bytes = [UInt8](repeating: 0, count: FileCheck.metaBytes)
        let got = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
        guard got >= 0 else { throw SystemError.error(errno, "read", path) }
        return try bytes.withBytes { bytes throws(DatabaseError) in
            func load<T: FixedWidthInteger>(_ offset: Int, _: T.Type) -> T {
                bytes.loadUnaligned(fromByteOffset: offset, as: T.self)
            }
            let isMeta = load(10, UInt16.self) & FileCheck.metaFlag != 0
            guard got >= 24, isMeta, load(16, UInt32.self) == FileCheck.magic else {
                if offset > 0 { throw .corrupted("its second meta page is damaged or cut off") }
                throw DatabaseError(.notAMotteFile, "'\(path)' is not a Motte file", path: path)
            }
            guard load(20, UInt32.self) == 1 else {
                throw DatabaseError(
                    .unsupportedFormat, "'\(path)' was written by another version of the pager", path: path)
            }
            guard got == FileCheck.metaBytes else { throw .corrupted("it is cut off in its meta pages") }
            let meta = Meta(
                pageBytes: Int(load(40, UInt32.self)), lastPage: load(136, UInt64.self), number: load(144, UInt64.self),
                freeRoot: load(80, UInt64.self), freeDepth: Int(load(46, UInt16.self)),
                mainRoot: load(128, UInt64.self), mainDepth: Int(load(94, UInt16.self)))
            guard (512 ... 65_536).contains(meta.pageBytes), meta.pageBytes & (meta.pageBytes - 1) == 0 else {
                throw .corrupted("its meta page says \(meta.pageBytes) bytes a page")
            }
            return meta
        }
    }

    private func checkBounds(_ meta: Meta) throws(DatabaseError) {
        func isRoot(_ root: UInt64, _ depth: Int) -> Bool {
            if root == FileCheck.noPage { return depth == 0 }
            return root >= 2 && root <= meta.lastPage && depth >= 1 && depth <= FileCheck.deepestTree
        }
        guard meta.lastPage >= 1, meta.lastPage < 1 << 47,
            isRoot(meta.freeRoot, meta.freeDepth), isRoot(meta.mainRoot, meta.mainDepth)
        else { throw .corrupted("its meta page points outside the file") }
        let present = UInt64(sizeBytes / meta.pageBytes)
        guard present <= meta.lastPage, try !areFree(from: present, meta) else { return }
        throw .corrupted("it has \(present) of the \(meta.lastPage + 1) pages its meta page counts; it was cut short")
    }
}
