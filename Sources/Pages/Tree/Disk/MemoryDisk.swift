/// A disk in memory: for the tree's own tests, where it is the fastest disk there is.
import MotteValues

package final class MemoryDisk: Disk, Sendable {
    package let path = ":disk:"
    private let bytes: Locked<[UInt8]>

    package init(_ bytes: [UInt8] = []) {
        self.bytes = Locked(bytes)
    }

    package var contents: [UInt8] { bytes.withLock { $0 } }

    package func close() {}
    package func flush() {}

    package func byteCount() -> Int { bytes.withLock { $0.count } }

    package func read(_ target: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        bytes.withLock { bytes in
            let count = max(0, min(target.count, bytes.count - offset))
            guard count > 0 else { return 0 }
            bytes.withUnsafeBytes { bytes in
                target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset ..< offset + count]))
            }
            return count
        }
    }

    package func write(_ source: UnsafeRawBufferPointer, at offset: Int) {
        bytes.withLock { bytes in
            MemoryDisk.grow(&bytes, to: offset + source.count)
            guard !source.isEmpty else { return }
            bytes.withUnsafeMutableBytes { target in
                UnsafeMutableRawBufferPointer(rebasing: target[offset ..< offset + source.count])
                    .copyMemory(from: source)
            }
        }
    }

    package func resize(to byteCount: Int) {
        bytes.withLock { bytes in
            guard byteCount < bytes.count else { return MemoryDisk.grow(&bytes, to: byteCount) }
            bytes.removeSubrange(byteCount...)
        }
    }

    private static func grow(_ bytes: inout [UInt8], to byteCount: Int) {
        if byteCount > bytes.count { bytes.append(contentsOf: repeatElement(0, count: byteCount - bytes.count)) }
    }
}
