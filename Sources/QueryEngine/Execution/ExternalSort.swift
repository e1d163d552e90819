/// Sorts what does not fit into memory: values become keys of bytes in the same order; as many as fit are sorted and
/// written to a temporary file as a run; the runs are merged. Stable.
///
/// A key has the pieces that `Sorter` compares one by one, of all levels, one behind the other: so both give the same
/// order. Values are read once, in the order of the objects, and nothing of them is kept but keys; with random access
/// to them a file of many times the memory would be read many times over.
///
/// Objects come one by one, as they are found, or are those of an array. Of all of them in the order that they came in
/// nothing is kept but their places: their keys, which ascend as they are found, or positions in the array.
import MotteStorage
import MotteValues

package struct ExternalSort {
    private let order: SortOrder
    private let context: RunContext
    /// nil where the places are the keys of objects.
    private let array: [Int64]?
    private let buffer: RunBuffer
    private let memoryBytes: Int
    private var count = 0
    private var runs: [SortRun] = []
    private var file: ScratchFile?

    /// Of longer keys only the beginning is kept; what is level in that is compared where it lies.
    static let longestKey = 4_096
    private static let leastMemory = 64 << 10
    private static let mostMemory = 256 << 20
    /// So many are merged into one before there are more: each has a reader with some memory.
    private let mostRuns: Int
    private static let fewestMerged = 64

    package init(_ order: SortOrder, _ context: RunContext, _ array: [Int64]?, memoryBytes: Int, mostRuns: Int? = nil) {
        let fitting = min(memoryBytes, ExternalSort.mostMemory) / RunMerge.bytesPerRun
        self.mostRuns = mostRuns ?? max(fitting, ExternalSort.fewestMerged)
        self.order = order
        self.context = context
        self.array = array
        self.memoryBytes = min(max(memoryBytes, ExternalSort.leastMemory), ExternalSort.mostMemory)
        buffer = RunBuffer(capacity: self.memoryBytes)
    }

    /// The first of an array, at most `limit`.
    package mutating func sorted(_ limit: Int, on source: RowSource) throws(DatabaseError) -> [Int64] {
        for position in 0 ..< (array?.count ?? 0) {
            if position % RunContext.keysPerRelease == 0 { try context.releaseMemory() }
            try add(Int64(position), on: source)
        }
        return try finish(limit, on: source)
    }

    /// The next object by its key, or the one at a position of the array. Places ascend.
    mutating func add(_ place: Int64, on source: RowSource) throws(DatabaseError) {
        if count % QueryWatch.keysPerCheck == 0 { try context.watch?.check() }
        count += 1
        if buffer.isFull { try writeRun(source) }
        buffer.begin(place)
        try addKey(key(place))
        buffer.end()
    }

    @inline(__always)
    private func key(_ place: Int64) -> Int64 { array.map { $0[Int(place)] } ?? place }

    /// The first of them, at most `limit`, without the first `skipped` of these.
    mutating func finish(
        _ limit: Int, skipping skipped: Int = 0, on source: RowSource
    ) throws(DatabaseError) -> [Int64] {
        let end = min(limit, count)
        var result: [Int64] = []
        guard skipped < end else { return result }
        result.reserveCapacity(end - skipped)
        guard !runs.isEmpty else {
            try buffer.sort { left, right throws(DatabaseError) in try compare(left, right) }
            for index in skipped ..< end { result.append(key(buffer.place(index))) }
            return result
        }
        let file = try writeRun(source)
        buffer.giveBackMemory()
        let merge = try RunMerge(runs, file)
        for index in 0 ..< end {
            if index % QueryWatch.keysPerCheck == 0 { try context.watch?.check() }
            guard let place = try merge.next(compare) else { break }
            if index >= skipped { result.append(key(place)) }
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
    private func compare(_ left: Int64, _ right: Int64) throws(DatabaseError) -> Int {
        try context.watch?.check()
        return try order.compare(key(left), key(right))
    }

    @discardableResult
    private mutating func writeRun(_ source: RowSource) throws(DatabaseError) -> ScratchFile {
        // `??` would lose the type of the error.
        let file = if let known = self.file { known } else { try source.makeScratchFile() }
        self.file = file
        try buffer.sort { left, right throws(DatabaseError) in try compare(left, right) }
        let writer = RunWriter(file)
        for index in 0 ..< buffer.count { try writer.add(buffer.place(index), buffer.key(index)) }
        runs.append(try writer.finish())
        buffer.removeAll()
        if runs.count == mostRuns { runs = [try mergedRun(file)] }
        return file
    }

    private func mergedRun(_ file: ScratchFile) throws(DatabaseError) -> SortRun {
        let merge = try RunMerge(runs, file)
        let writer = RunWriter(file)
        while let place = try merge.next(
            compare,
            { place, key throws(DatabaseError) in
                try writer.add(place, key)
            })
        {
            if place % Int64(QueryWatch.keysPerCheck) == 0 { try context.watch?.check() }
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
        var place: Int64
    }

    private var bytes: UnsafeMutableRawPointer
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

    func begin(_ place: Int64) {
        start = used
        entries.append(Entry(prefix: 0, start: UInt32(start), count: 0, place: place))
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

    /// Nothing is added any more.
    func giveBackMemory() {
        bytes.deallocate()
        bytes = .allocate(byteCount: 8, alignment: 8)
        entries = []
    }

    func place(_ index: Int) -> Int64 { entries[index].place }
    func key(_ index: Int) -> UnsafeRawBufferPointer { key(entries[index]) }

    private func key(_ entry: Entry) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: bytes + Int(entry.start), count: Int(entry.count))
    }

    func sort(_ compareWhole: (Int64, Int64) throws(DatabaseError) -> Int) throws(DatabaseError) {
        var failure: DatabaseError?
        entries.sort { left, right in
            if left.prefix != right.prefix { return left.prefix < right.prefix }
            let order = ValueOrdering.compareBytes(key(left), key(right))
            if order != 0 { return order < 0 }
            guard left.count == ExternalSort.longestKey, failure == nil else { return left.place < right.place }
            do throws(DatabaseError) {
                let order = try compareWhole(left.place, right.place)
                return order == 0 ? left.place < right.place : order < 0
            } catch {
                failure = error
                return left.place < right.place
            }
        }
        if let failure { throw failure }
    }
}
