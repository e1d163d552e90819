/// Clocks, medians and file sizes.
import Glibc

func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

func seconds(_ body: () throws -> Void) rethrows -> Double {
    let start = now()
    try body()
    return now() - start
}

func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
}

func percentile(_ values: [Double], _ part: Double) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? .nan : sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))]
}

func sizeOfFile(_ path: String) -> Int {
    var info = stat()
    return stat(path, &info) == 0 ? Int(info.st_blocks) * 512 : 0
}

func removeFolder(_ path: String) {
    guard let directory = opendir(path) else { return }
    while let entry = readdir(directory) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { unlink(path + "/" + name) }
    }
    closedir(directory)
    rmdir(path)
}

func makeFolder() throws -> String {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array((parent + "/motte-bench-XXXXXX").utf8CString)
    guard template.withUnsafeMutableBufferPointer({ $0.baseAddress.flatMap { mkdtemp($0) } != nil }) else {
        throw BenchError("cannot make a folder in \(parent)")
    }
    return template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? parent }
}
