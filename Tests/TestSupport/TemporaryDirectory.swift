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

    /// Of the files in it, sorted.
    public var names: [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    public func file(_ name: String = "test.motte") -> String { path + "/" + name }

    /// All of a file; nothing where there is none.
    public static func read(_ path: String) -> [UInt8] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        fseek(file, 0, SEEK_END)
        var bytes = [UInt8](repeating: 0, count: ftell(file))
        fseek(file, 0, SEEK_SET)
        return fread(&bytes, 1, bytes.count, file) == bytes.count ? bytes : []
    }

    /// Whether all of it could be written.
    @discardableResult
    public static func write(_ bytes: [UInt8], _ path: String) -> Bool {
        guard let file = fopen(path, "w") else { return false }
        defer { fclose(file) }
        return fwrite(bytes, 1, bytes.count, file) == bytes.count
    }
}
