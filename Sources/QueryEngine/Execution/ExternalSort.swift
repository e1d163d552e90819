/// Sorts what does not fit into memory: values become keys of bytes in the same order; as many as fit are sorted and
/// written to a temporary file as a run; the runs are merged. Stable.
///
/// A key has the pieces that `Sorter` compares one by one, of all levels, one behind the other: so both give the same
/// order. Values are read once, in the order of the objects, and nothing of them is kept but keys; with random access
/// to them a file of many times the memory would be read many times over.
import MotteStorage
import MotteValues

struct ExternalSort {
    private let order: SortOrder
    private let context: RunContext
    private let keys: [Int64]
    private let buffer: RunBuffer
    private let memoryBytes: Int
    private var runs: [SortRun] = []
    private var file: ScratchFile?

    /// Of longer keys only the beginning is kept; what is level in that is compared where it lies.
    static let longestKey = 4_096
    private static let leastMemory = 64 << 10
    private static let mostMemory = 256 << 20
    /// So many are merged into one before there are more: each has a reader with some memory.
    private let mostRuns: Int
    private static let fewestMerged = 64

    init(_ order: SortOrder, _ context: RunContext, _ keys: [Int64], memoryBytes: Int, mostRuns: Int? = nil) {
        let fitting = min(memoryBytes, ExternalSort.mostMemory) / RunMerge.bytesPerRun
        self.mostRuns = mostRuns ?? max(fitting, ExternalSort.fewestMerged)
        self.order = order
        self.context = context
        self.keys = keys
        self.memoryBytes = min(max(memoryBytes, ExternalSort.leastMemory), ExternalSort.mostMemory)
        buffer = RunBuffer(capacity: self.memoryBytes)
    }

    /// The first of them, at most `limit`.
    mutating func sorted(_ limit: Int, on snapshot: Snapshot) throws(DatabaseError) -> [Int64] {
        for position in 0 ..< keys.count {
            if position % QueryWatch.keysPerCheck == 0 { try context.watch?.check() }
            if position % RunContext.keysPerRelease == 0 { try context.releaseMemory() }
            if buffer.isFull { try writeRun(snapshot) }
            buffer.begin(UInt32(position))
            try addKey(keys[position])
            buffer.end()
        }
        var result: [Int64] = []
        result.reserveCapacity(limit)
        guard !runs.isEmpty else {
            try buffer.sort { left, right throws(DatabaseError) in try compare(left, right) }
            for index in 0 ..< min(limit, buffer.count) { result.append(keys[Int(buffer.position(index))]) }
            return result
        }
        let file = try writeRun(snapshot)
        let merge = try RunMerge(runs, file)
        while result.count < limit, let position = try merge.next(compare) {
            if result.count % QueryWatch.keysPerCheck == 0 { try context.watch?.check() }
            result.append(keys[Int(position)])
        }
        return result
    }

    private func addKey(_ key: Int64) throws(DatabaseError) {
        for level in order.levels {
            // The rank comes first, and is known behind.
            let place = buffer.reserveByte()
            let rank = try level.forEachPiece(key) { code, tail in
                buffer.append(code, tail)
                return buffer.keyBytes < ExternalSort.longestKey
            }
            buffer.set(rank, at: place)
            guard buffer.keyBytes < ExternalSort.longestKey else { return }
        }
    }

    /// Of two objects whose keys are level as far as they were kept.
    private func compare(_ left: UInt32, _ right: UInt32) throws(DatabaseError) -> Int {
        try context.watch?.check()
        return try order.compare(keys[Int(left)], keys[Int(right)])
    }

    @discardableResult
    private mutating func writeRun(_ snapshot: Snapshot) throws(DatabaseError) -> ScratchFile {
        // `??` would lose the type of the error.
        let file = if let known = self.file { known } else { try snapshot.makeScratchFile() }
        self.file = file
        try buffer.sort { left, right throws(DatabaseError) in try compare(left, right) }
        let writer = RunWriter(file)
        for index in 0 ..< buffer.count { try writer.add(buffer.position(index), buffer.key(index)) }
        runs.append(try writer.finish())
        buffer.removeAll()
        if runs.count == mostRuns { runs = [try mergedRun(file)] }
        return file
    }

    private func mergedRun(_ file: ScratchFile) throws(DatabaseError) -> SortRun {
        let merge = try RunMerge(runs, file)
        let writer = RunWriter(file)
        while let position = try merge.next(
            compare,
            { position, key throws(DatabaseError) in
                try writer.add(position, key)
            })
        {
            if position % UInt32(QueryWatch.keysPerCheck) == 0 { try context.watch?.check() }
        }
        return try writer.finish()
    }
}

/// The keys of one run until they are written: their bytes one behind the other, and an entry for each.
private final class RunBuffer {
    private struct Entry {
        /// The first eight bytes of the key.
        var prefix: UInt64
        var start: UInt32
        var count: UInt32
        var position: UInt32
    }

    private let bytes: UnsafeMutableRawPointer
    private let capacity: Int
    private var used = 0
    private var start = 0
    private var entries: [Entry] = []

    init(capacity: Int) {
        self.capacity = capacity
        bytes = .allocate(byteCount: capacity + ExternalSort.longestKey + 16, alignment: 8)
    }

    deinit { bytes.deallocate() }

    var count: Int { entries.count }
    var isFull: Bool { used + entries.count * MemoryLayout<Entry>.stride >= capacity }
    /// Of the key that was begun.
    var keyBytes: Int { used - start }

    func begin(_ position: UInt32) {
        start = used
        entries.append(Entry(prefix: 0, start: UInt32(start), count: 0, position: position))
    }

    @inline(__always)
    func reserveByte() -> Int {
        used &+= 1
        return used &- 1
    }

    @inline(__always)
    func set(_ byte: UInt8, at place: Int) { bytes.storeBytes(of: byte, toByteOffset: place, as: UInt8.self) }

    @inline(__always)
    func append(_ code: UInt64, _ tail: UInt8) {
        bytes.storeBytes(of: code.bigEndian, toByteOffset: used, as: UInt64.self)
        set(tail, at: used &+ 8)
        used &+= 9
    }

    func end() {
        used = min(used, start + ExternalSort.longestKey)
        let count = used - start
        var prefix: UInt64 = 0
        for index in 0 ..< min(8, count) {
            prefix |= UInt64(bytes.load(fromByteOffset: start + index, as: UInt8.self)) << UInt64(56 - index * 8)
        }
        entries[entries.count - 1].prefix = prefix
        entries[entries.count - 1].count = UInt32(count)
    }

    func removeAll() {
        used = 0
        entries.removeAll(keepingCapacity: true)
    }

    func position(_ index: Int) -> UInt32 { entries[index].position }
    func key(_ index: Int) -> UnsafeRawBufferPointer { key(entries[index]) }

    private func key(_ entry: Entry) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: bytes + Int(entry.start), count: Int(entry.count))
    }

    func sort(_ compareWhole: (UInt32, UInt32) throws(DatabaseError) -> Int) throws(DatabaseError) {
        var failure: DatabaseError?
        entries.sort { left, right in
            if left.prefix != right.prefix { return left.prefix < right.prefix }
            let order = ValueOrdering.compareBytes(key(left), key(right))
            if order != 0 { return order < 0 }
            guard left.count == ExternalSort.longestKey, failure == nil else { return left.position < right.position }
            do throws(DatabaseError) {
                let order = try compareWhole(left.position, right.position)
                return order == 0 ? left.position < right.position : order < 0
            } catch {
                failure = error
                return left.position < right.position
            }
        }
        if let failure { throw failure }
    }
}
