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
    /// All of them, for the length of a call: views outlive nothing, and the last mention of this may be before their
    /// last use.
    func withAll<Result>(
        _ body: ([ValueView]) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        try withExtendedLifetime(self) { () throws(DatabaseError) in try body(views) }
    }

    subscript(index: Int) -> ValueView { views[index] }
}
