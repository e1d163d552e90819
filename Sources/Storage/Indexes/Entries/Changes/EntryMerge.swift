/// Sorted runs of index entries as one, handed out in order and in parts.
///
/// Runs of ascending keys lie behind each other: what the lowest run has up to where the next begins is copied at once.
import MottePages

package struct EntryMerge {
    private var runs: [UnsafeBufferPointer<IndexEntry>]
    /// Where runs may lie, which came into memory as they were read; entries read since it was let go.
    private let spill: SpillFile?
    private var readCount = 0
    private static let fewestRead = 1 << 17

    /// The runs outlive this.
    init(_ runs: [UnsafeBufferPointer<IndexEntry>], in spill: SpillFile? = nil) {
        self.runs = runs.filter { !$0.isEmpty }
        self.spill = spill
    }

    package var first: IndexEntry? { runs.lazy.map { $0[0] }.min() }

    package mutating func append(_ number: Int, to output: inout ContiguousArray<IndexEntry>) {
        var wanted = number
        while wanted > 0, let lowest = runs.indices.min(by: { runs[$0][0] < runs[$1][0] }) {
            var limit = IndexEntry.highest
            for index in runs.indices where index != lowest { limit = min(limit, runs[index][0]) }
            // Equal ones of another run may come before or after.
            let ready = max(1, IndexEntries.upperBound(runs[lowest], limit))
            let count = min(ready, wanted)
            output.append(contentsOf: runs[lowest][..<count])
            wanted -= count
            let rest = UnsafeBufferPointer(rebasing: runs[lowest][count...])
            if rest.isEmpty { runs.remove(at: lowest) } else { runs[lowest] = rest }
        }
        readCount += number
        guard let spill, readCount >= max(EntryMerge.fewestRead, spill.plan.memoryBytes / 64) else { return }
        spill.letGo()
        readCount = 0
    }
}
