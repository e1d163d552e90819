/// The bounds of all blocks of a committed ordered index, and the blocks as far as somebody has looked at them; and a
/// walk over them for many values in order.
import MottePages
import MotteValues

final class OrderedDirectory {
    var bounds: ContiguousArray<UInt8> = []
    /// Where each bound ends.
    var ends: ContiguousArray<Int> = []
    var bytes: ContiguousArray<UnsafeRawBufferPointer> = []
    /// nil until checked.
    var blocks: ContiguousArray<OrderedBlock?> = []
    let arena = ChunkArena()

    var count: Int { ends.count }

    func withBound<Answer>(_ ordinal: Int, _ body: (UnsafeRawBufferPointer) -> Answer) -> Answer {
        let start = ordinal == 0 ? 0 : ends[ordinal - 1]
        return bounds.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start ..< ends[ordinal]])) }
    }

    /// The last block whose bound is not above `bytes`; the first if all are.
    func ordinal(of wanted: UnsafeRawBufferPointer) -> Int {
        var low = 0, high = count
        while low < high {
            let middle = (low &+ high) &>> 1
            if withBound(middle, { OrderedReader.compare($0, wanted) }) > 0 {
                high = middle
            } else {
                low = middle + 1
            }
        }
        return max(0, low - 1)
    }
}

/// Looks up values that come in ascending order, and takes each block apart once.
struct OrderedWalk {
    private let reader: OrderedReader
    private let directory: OrderedDirectory
    private var ordinal = -1
    private var groups: OrderedBlock.Groups?
    /// Of the group that the walk stands at.
    private let bytes: UnsafeMutableRawPointer
    private var count = 0
    private var isAtGroup = false

    /// `room`: for `OrderedBytes.longest` bytes.
    init(_ reader: OrderedReader, room: UnsafeMutableRawPointer) throws(DatabaseError) {
        self.reader = reader
        directory = try reader.readDirectory()
        bytes = room
    }

    /// Whether some row has just these bytes, which are not below those of the call before, nor cut off.
    mutating func contains(_ wanted: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        guard directory.count > 0 else { return false }
        if ordinal < 0 || isReached(ordinal + 1, wanted) {
            let isNext = ordinal >= 0 && !isReached(ordinal + 2, wanted)
            ordinal = isNext ? ordinal + 1 : directory.ordinal(of: wanted)
            groups = OrderedBlock.Groups(try reader.block(directory, ordinal))
            isAtGroup = false
        }
        while true {
            if !isAtGroup {
                guard let group = groups?.next() else { return false }
                if let suffix = group.suffix.baseAddress {
                    (bytes + group.shared).copyMemory(from: suffix, byteCount: group.suffix.count)
                }
                count = group.shared + group.suffix.count
                isAtGroup = true
            }
            let order = OrderedReader.compare(UnsafeRawBufferPointer(start: bytes, count: count), wanted)
            if order >= 0 { return order == 0 }
            isAtGroup = false
        }
    }

    private func isReached(_ ordinal: Int, _ wanted: UnsafeRawBufferPointer) -> Bool {
        ordinal < directory.count && directory.withBound(ordinal) { OrderedReader.compare($0, wanted) } <= 0
    }
}
