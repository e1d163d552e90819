/// A directory of its own for a test, removed with everything in it when the object goes.
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

public final class TemporaryDirectory: Sendable {
    public let path: String

    public init() {
        var template =
            Array((TestScale.environment("TMPDIR") ?? "/tmp").utf8CString.dropLast())
            + Array("/motte-XXXXXX".utf8CString)
        path = template.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress, mkdtemp(base) != nil else { return "/tmp" }
            return String(cString: base)
        }
    }

    deinit {
        guard path != "/tmp", let directory = opendir(path) else { return }
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { unlink(path + "/" + name) }
        }
        closedir(directory)
        rmdir(path)
    }

    public func file(_ name: String = "test.motte") -> String { path + "/" + name }
}
