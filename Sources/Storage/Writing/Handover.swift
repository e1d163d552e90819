/// What a write leaves to the next one on the same snapshot, so that small commits in turn do not read back and decode
/// what they have just written: the builders of tails, and what is known of indexes and long values.
///
/// It holds for exactly one version. A snapshot keeps it until it moves to a version that somebody else has made, and
/// whoever takes it has it alone: a write that is cancelled or fails leaves nothing, and the next one reads the file.
import MotteValues

struct Handover {
    /// The rows of a table's tail in builders, none of which refers to the write that they come from.
    struct Tail {
        /// Found again by being the same, which that of a schema changed in between is not.
        let layout: TableLayout
        let cluster: DirtyCluster
        /// Of rows that came one at a time.
        let plan: RowPlan?
    }

    let version: Version
    /// Those written last are last.
    private var tails: [Tail] = []
    /// Of primary keys: no entry has this value or a higher one.
    private var free: [(index: IndexKey, from: UInt64)] = []
    /// Nowhere in the file.
    var hasNoLongValues = false

    /// A tail takes some ten kilobytes.
    private static let mostTails = 4

    /// What is left of another, for a version in which nothing else has changed than what is then added to this.
    init(_ version: Version, rest: Handover?) {
        self.version = version
        guard let rest else { return }
        tails = rest.tails
        free = rest.free
    }

    mutating func takeTail(_ layout: TableLayout) -> Tail? {
        guard let place = tails.firstIndex(where: { $0.layout === layout }) else { return nil }
        return tails.remove(at: place)
    }

    mutating func add(_ tail: Tail) {
        if tails.count >= Self.mostTails { tails.removeFirst() }
        tails.append(tail)
    }

    mutating func takeFree(_ index: IndexKey) -> UInt64? {
        guard let place = free.firstIndex(where: { $0.index == index }) else { return nil }
        return free.remove(at: place).from
    }

    mutating func add(_ index: IndexKey, freeFrom value: UInt64) {
        if free.count >= Self.mostTails { free.removeFirst() }
        free.append((index, value))
    }
}
