/// The integers of a chunk: a reference, and beside it what each differs by in 0, 1, 2, 4 or 8 bytes.
///
/// Inlined into whoever reads one, also above this layer: a read in place must not cost a call.
package enum PackedInts {
    @inlinable @inline(__always)
    package static func value(
        _ row: Int, in values: UnsafeRawPointer, width: UInt8, reference: Int64
    ) -> Int64 {
        switch width {
        case 0: reference
        case 1: reference &+ Int64(values.load(fromByteOffset: row, as: UInt8.self))
        case 2: reference &+ Int64(values.loadUnaligned(fromByteOffset: row &* 2, as: UInt16.self))
        case 4: reference &+ Int64(values.loadUnaligned(fromByteOffset: row &* 4, as: UInt32.self))
        default: reference &+ values.loadUnaligned(fromByteOffset: row &* 8, as: Int64.self)
        }
    }
}
