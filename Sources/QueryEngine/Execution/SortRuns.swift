/// Sorted runs in a temporary file: how they are written, and several read as one.
///
/// A run is in blocks of its own, filled with records of a place (i64), the number of bytes of a key (u32) and those
/// bytes; records go on from one block to the next.
import MotteStorage
import MotteValues

struct SortRun {
    let firstBlock: Int
    let blockCount: Int
    let recordCount: Int
}

private let headBytes = 12

final class RunWriter {
    private let file: ScratchFile
    private let firstBlock: Int
    private let block = UnsafeMutableRawPointer.allocate(byteCount: ScratchFile.wholeBytes, alignment: 8)
    private var used = 0
    private var recordCount = 0

    init(_ file: ScratchFile) {
        self.file = file
        firstBlock = file.blockCount
    }

    deinit { block.deallocate() }

    func add(_ place: Int64, _ key: UnsafeRawBufferPointer) throws(DatabaseError) {
        var head = (place, UInt32(key.count))
        let added: DatabaseError? = withUnsafeBytes(of: &head) { head in
            do throws(DatabaseError) {
                try add(UnsafeRawBufferPointer(rebasing: head.prefix(headBytes)))
                return nil
            } catch {
                return error
            }
        }
        if let added { throw added }
        try add(key)
        recordCount += 1
    }

    private func add(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = min(rest.count, file.blockBytes - used)
            UnsafeMutableRawBufferPointer(start: block + used, count: count)
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: rest.prefix(count)))
            rest = rest.dropFirst(count)
            used += count
            if used == file.blockBytes { try flush() }
        }
    }

    private func flush() throws(DatabaseError) {
        try file.append(block)
        used = 0
    }

    func finish() throws(DatabaseError) -> SortRun {
        if used > 0 {
            (block + used).initializeMemory(as: UInt8.self, repeating: 0, count: ScratchFile.wholeBytes - used)
            try flush()
        }
        return SortRun(firstBlock: firstBlock, blockCount: file.blockCount - firstBlock, recordCount: recordCount)
    }
}

/// Reads one run from its beginning.
private final class RunReader {
    private let file: ScratchFile
    private var nextBlock: Int
    private let endBlock: Int
    private var left: Int
    /// What was read and not yet passed, a block at a time behind what is left of the one before.
    private let bytes: UnsafeMutableRawPointer
    private var start = 0
    private var end = 0

    private(set) var place: Int64 = 0
    private(set) var key = UnsafeRawBufferPointer(start: nil, count: 0)

    init(_ run: SortRun, _ file: ScratchFile) {
        self.file = file
        nextBlock = run.firstBlock
        endBlock = run.firstBlock + run.blockCount
        left = run.recordCount
        bytes = .allocate(byteCount: RunMerge.bytesPerRun, alignment: 8)
    }

    deinit { bytes.deallocate() }

    /// To the next record; false behind the last. The key is there until the next call.
    func advance() throws(DatabaseError) -> Bool {
        guard left > 0 else { return false }
        left -= 1
        try require(headBytes)
        place = bytes.loadUnaligned(fromByteOffset: start, as: Int64.self)
        let count = Int(bytes.loadUnaligned(fromByteOffset: start + 8, as: UInt32.self))
        guard count <= ExternalSort.longestKey else { throw RunReader.damaged }
        try require(headBytes + count)
        key = UnsafeRawBufferPointer(start: bytes + start + headBytes, count: count)
        start += headBytes + count
        return true
    }

    /// So many bytes from `start` on.
    private func require(_ count: Int) throws(DatabaseError) {
        while end - start < count {
            guard nextBlock < endBlock else { throw RunReader.damaged }
            bytes.copyMemory(from: bytes + start, byteCount: end - start)
            (start, end) = (0, end - start)
            try file.read(nextBlock, into: bytes + end)
            nextBlock += 1
            end += file.blockBytes
        }
    }

    private static var damaged: DatabaseError {
        DatabaseError(.inputOutput, "a temporary file does not have what was written to it")
    }
}

/// Several runs as one: a heap of their readers.
final class RunMerge {
    /// What a block and a record take that begins in the one before.
    static let bytesPerRun = headBytes + ExternalSort.longestKey + ScratchFile.wholeBytes
    private var heap: [RunReader] = []
    private var isBegun = false

    init(_ runs: [SortRun], _ file: ScratchFile) throws(DatabaseError) {
        for run in runs {
            let reader = RunReader(run, file)
            if try reader.advance() { heap.append(reader) }
        }
    }

    /// The place of the next record; `body` is given its key as well. `compare` decides where keys were cut.
    func next(
        _ compare: (Int64, Int64) throws(DatabaseError) -> Int,
        _ body: (Int64, UnsafeRawBufferPointer) throws(DatabaseError) -> Void = { _, _ in }
    ) throws(DatabaseError) -> Int64? {
        if !isBegun {
            for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { try siftDown(index, compare) }
            isBegun = true
        }
        guard let first = heap.first else { return nil }
        let place = first.place
        try body(place, first.key)
        if try !first.advance() {
            heap[0] = heap[heap.count - 1]
            heap.removeLast()
        }
        try siftDown(0, compare)
        return place
    }

    private func siftDown(
        _ start: Int, _ compare: (Int64, Int64) throws(DatabaseError) -> Int
    ) throws(DatabaseError) {
        var parent = start
        while true {
            var child = parent * 2 + 1
            guard child < heap.count else { return }
            if child + 1 < heap.count, try isBefore(heap[child + 1], heap[child], compare) { child += 1 }
            guard try isBefore(heap[child], heap[parent], compare) else { return }
            heap.swapAt(parent, child)
            parent = child
        }
    }

    private func isBefore(
        _ left: RunReader, _ right: RunReader, _ compare: (Int64, Int64) throws(DatabaseError) -> Int
    ) throws(DatabaseError) -> Bool {
        var order = ValueOrdering.compareBytes(left.key, right.key)
        if order == 0, left.key.count == ExternalSort.longestKey { order = try compare(left.place, right.place) }
        return order == 0 ? left.place < right.place : order < 0
    }
}
