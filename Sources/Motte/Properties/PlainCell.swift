/// A value at its place in a chunk of the store: what the accessors of numbers try first. See `CellReads`.
///
/// All of this is inlined into them, so that a read is one call from the program's module and then a few comparisons
/// and a load. Whatever is not plainly there is read the long way, as everything is while reads are tracked.
import CMotteShim
import MotteColumns
import MotteLiveObjects
import MotteValues

/// A value that is there, not null, of the kind that was asked for.
struct PlainCell {
    private let window: UnsafePointer<CellReads.Window>
    private let row: Int

    @inline(__always)
    init?(_ reads: UnsafeMutablePointer<CellReads>, _ column: UInt32, _ key: Int64, _ kind: ColumnKind) {
        guard column < reads.pointee.count else { return nil }
        let gate = UnsafePointer(reads.pointee.gate)
        guard gate.pointee.owner == motte_shim_serial_for_reading(),
            gate.pointee.forkGeneration == motte_shim_read_state()
        else { return nil }
        let window = UnsafePointer(reads.pointee.windows + Int(column))
        let row = key &- window.pointee.firstKey
        guard window.pointee.stamp == gate.pointee.stamp, UInt64(bitPattern: row) < window.pointee.count,
            unsafeBitCast(window.pointee.kind, to: UInt8.self) == unsafeBitCast(kind, to: UInt8.self)
        else { return nil }
        self.window = window
        self.row = Int(row)
        if let validity = window.pointee.validity, !Self.bit(self.row, of: validity) { return nil }
    }

    @inline(__always)
    private static func bit(_ row: Int, of bits: UnsafeRawPointer) -> Bool {
        bits.load(fromByteOffset: row &>> 3, as: UInt8.self) & (1 &<< UInt8(truncatingIfNeeded: row & 7)) != 0
    }

    @inline(__always) var bool: Bool { Self.bit(row, of: window.pointee.values) }

    @inline(__always) var int: Int64 {
        PackedInts.value(
            row, in: window.pointee.values, width: window.pointee.width, reference: window.pointee.reference)
    }

    @inline(__always) var float: Float {
        window.pointee.values.loadUnaligned(fromByteOffset: row &* 4, as: Float.self)
    }
    @inline(__always) var double: Double {
        window.pointee.values.loadUnaligned(fromByteOffset: row &* 8, as: Double.self)
    }
    // Read by address: a chunk is too large to be copied for one value.
    @inline(__always) var timestamp: Timestamp { CellReads.timestamp(window, row) }
    @inline(__always) var bytes: UnsafeRawBufferPointer { CellReads.bytes(window, row) }
}
