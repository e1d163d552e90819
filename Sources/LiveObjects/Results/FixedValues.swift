/// Copies of values, kept where views of them stay good: what a snapshot of a list of values consists of.
import MotteValues

package final class FixedValues: @unchecked Sendable {
    // @unchecked: filled by its maker, constant afterwards.
    private var views: [ValueView] = []
    private var buffers: [UnsafeMutableRawPointer] = []

    init(capacity: Int) { views.reserveCapacity(capacity) }

    deinit {
        for buffer in buffers { buffer.deallocate() }
    }

    func append(_ value: ValueView) {
        var copy = value
        switch value.kind {
        case .string, .data, .list, .map:
            let bytes = value.bytes
            let buffer = UnsafeMutableRawPointer.allocate(byteCount: max(bytes.count, 1), alignment: 1)
            if let start = bytes.baseAddress { buffer.copyMemory(from: start, byteCount: bytes.count) }
            buffers.append(buffer)
            copy.low = UInt64(UInt(bitPattern: buffer))
        default: break
        }
        views.append(copy)
    }

    var count: Int { views.count }
    /// Good for as long as this is.
    var all: [ValueView] { views }
    subscript(index: Int) -> ValueView { views[index] }
}
