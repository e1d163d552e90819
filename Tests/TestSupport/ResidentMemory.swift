/// Which memory of this process the system has in place.
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package enum ResidentMemory {
    /// Of a mapping of whole pages.
    package static func bytes(in range: Range<UnsafeRawPointer>) throws(DatabaseError) -> Int {
        let pageBytes = Int(sysconf(Int32(_SC_PAGESIZE)))
        let pages = (range.upperBound - range.lowerBound) / pageBytes
        let descriptor = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw DatabaseError(.internal, "there is no page map of this process") }
        defer { close(descriptor) }
        // A word a page, whose highest bit says that the page is there.
        var words = [UInt64](repeating: 0, count: pages)
        let start = Int(bitPattern: range.lowerBound) / pageBytes * 8
        let count = pread(descriptor, &words, pages * 8, off_t(start))
        guard count == pages * 8 else { throw DatabaseError(.internal, "the page map of this process cannot be read") }
        return words.count { $0 >> 63 == 1 } * pageBytes
    }
}
