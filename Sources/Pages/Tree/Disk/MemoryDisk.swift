/// A disk in memory: for the tree's own tests, where it is the fastest disk there is.
import MotteValues

package final class MemoryDisk: Disk, @unchecked Sendable {  // @unchecked: the bytes are only touched holding 'lock'
    package let path = ":disk:"
    private let lock = Lock()
    private var bytes: [UInt8] = []

    package init(_ bytes: [UInt8] = []) {
        self.bytes = bytes
    }

    package var contents: [UInt8] {
        lock.lock()
        defer { lock.unlock() }
        return bytes
    }

    package func close() {}
    package func flush() {}

    package func byteCount() -> Int {
        lock.lock()
        defer { lock.unlock() }
        return bytes.count
    }

    package func read(_ target: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        lock.lock()
        defer { lock.unlock() }
        let count = max(0, min(target.count, bytes.count - offset))
        bytes.withUnsafeBytes { bytes in
            if count > 0 { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset ..< offset + count])) }
        }
        return count
    }

    package func write(_ source: UnsafeRawBufferPointer, at offset: Int) {
        lock.lock()
        defer { lock.unlock() }
        grow(to: offset + source.count)
        guard !source.isEmpty else { return }
        bytes.withUnsafeMutableBytes { target in
            UnsafeMutableRawBufferPointer(rebasing: target[offset ..< offset + source.count]).copyMemory(from: source)
        }
    }

    package func resize(to byteCount: Int) {
        lock.lock()
        defer { lock.unlock() }
        if byteCount < bytes.count { bytes.removeSubrange(byteCount...) } else { grow(to: byteCount) }
    }

    private func grow(to byteCount: Int) {
        if byteCount > bytes.count { bytes.append(contentsOf: repeatElement(0, count: byteCount - bytes.count)) }
    }
}
