/// Keeps the number of a file that loses its name: with another one that is made meanwhile and gets the same, this
/// process would take it for the one that nobody may open yet.
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

struct HeldFile {
    private let descriptor: Int32

    /// `O_PATH` of Linux, which not every C library shows: such a descriptor is no access, and closing it ends no lock.
    private static let pathOnly: Int32 = 0o10000000

    init(_ path: String) {
        #if os(Linux) || os(Android)
        descriptor = openDescriptor(path, HeldFile.pathOnly)
        #else
        descriptor = -1
        #endif
    }

    func end() { if descriptor >= 0 { closeDescriptor(descriptor) } }
}
