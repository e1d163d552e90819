/// Goes through all entries of an index that have a value (not the nulls), in order, a batch at a time.
///
/// Pending changes are taken as they are when the walk begins. Batches are read through raw buffers, valid until the
/// next batch.
import MotteValues

package final class IndexWalk {
    package struct Batch {
        package let values: UnsafeBufferPointer<UInt64>
        package let keys: UnsafeBufferPointer<Int64>
    }

    private static let batchSize = 1_024

    private let stored: StoredEntries?
    private let blockCount: Int
    private let adds: ContiguousArray<IndexEntry>
    private let removes: ContiguousArray<IndexEntry>
    private let values: UnsafeMutablePointer<UInt64>
    private let keys: UnsafeMutablePointer<Int64>

    private var ordinal = 0
    private var block: IndexBlock?
    private var indexInBlock = 0
    private var nextAdd = 0
    private var nextRemove = 0

    init(_ stored: StoredEntries?, _ delta: IndexDelta?) throws(DatabaseError) {
        self.stored = stored
        blockCount = try stored?.countBlocks() ?? 0
        (adds, removes) = delta?.values.net() ?? ([], [])
        values = .allocate(capacity: Self.batchSize)
        keys = .allocate(capacity: Self.batchSize)
    }

    deinit {
        values.deallocate()
        keys.deallocate()
    }

    /// nil after the last entry.
    package func next() throws(DatabaseError) -> Batch? {
        let count = adds.isEmpty && removes.isEmpty ? try fillFromBlocks() : try fillMerging()
        guard count > 0 else { return nil }
        return Batch(
            values: UnsafeBufferPointer(start: values, count: count),
            keys: UnsafeBufferPointer(start: keys, count: count))
    }

    private func loadBlock() throws(DatabaseError) -> Bool {
        if let block, indexInBlock < block.count { return true }
        guard ordinal < blockCount else {
            block = nil
            return false
        }
        block = try stored?.blockForWalk(ordinal)
        ordinal += 1
        indexInBlock = 0
        return block != nil
    }

    private func fillFromBlocks() throws(DatabaseError) -> Int {
        var count = 0
        while count < Self.batchSize, try loadBlock() {
            guard let block else { break }
            let end = min(block.count, indexInBlock + Self.batchSize - count)
            block.decode(indexInBlock ..< end, values: values + count, keys: keys + count)
            count += end - indexInBlock
            indexInBlock = end
        }
        return count
    }

    private func fillMerging() throws(DatabaseError) -> Int {
        var count = 0
        while count < Self.batchSize {
            let hasStored = try loadBlock()
            let entry: IndexEntry
            if hasStored, let stored = block?.entry(indexInBlock), nextAdd == adds.count || !(adds[nextAdd] < stored) {
                entry = stored
                indexInBlock += 1
            } else if nextAdd < adds.count {
                entry = adds[nextAdd]
                nextAdd += 1
            } else {
                break
            }
            while nextRemove < removes.count, removes[nextRemove] < entry { nextRemove += 1 }
            if nextRemove < removes.count, removes[nextRemove] == entry {
                nextRemove += 1
                continue
            }
            values[count] = entry.value
            keys[count] = Int64(bitPattern: entry.key)
            count += 1
        }
        return count
    }
}
