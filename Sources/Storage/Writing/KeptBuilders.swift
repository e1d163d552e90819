/// What a write leaves to the next one on the same snapshot, so that small commits in turn do not read back and decode
/// what they have just written: the builders of open row groups, and what is known of indexes and long values.
///
/// It holds for exactly one version. A snapshot keeps it until it moves to a version that somebody else has made, and
/// whoever takes it has it alone: a write that is cancelled or fails leaves nothing, and the next one reads the file.
import MotteValues

struct KeptBuilders {
    /// The rows of an open row group in builders, none of which refers to the write that they come from.
    struct OpenGroup {
        /// Found again by being the same, which that of a schema changed in between is not.
        let layout: TableLayout
        let rowGroup: DirtyRowGroup
        /// Of rows that came one at a time.
        let plan: RowPlan?
    }

    let version: Version
    /// Those written last are last.
    private var openGroups: [OpenGroup] = []
    /// Of primary keys: no entry has this value or a higher one.
    private var free: [(index: IndexKey, from: UInt64)] = []
    /// Nowhere in the file.
    var hasNoLongValues = false

    /// An open row group takes some ten kilobytes.
    private static let mostOpenGroups = 4

    /// What is left of another, for a version in which nothing else has changed than what is then added to this.
    init(_ version: Version, rest: KeptBuilders?) {
        self.version = version
        guard let rest else { return }
        openGroups = rest.openGroups
        free = rest.free
    }

    mutating func takeOpenGroup(_ layout: TableLayout) -> OpenGroup? {
        guard let place = openGroups.firstIndex(where: { $0.layout === layout }) else { return nil }
        return openGroups.remove(at: place)
    }

    mutating func add(_ openGroup: OpenGroup) {
        if openGroups.count >= Self.mostOpenGroups { openGroups.removeFirst() }
        openGroups.append(openGroup)
    }

    mutating func takeFree(_ index: IndexKey) -> UInt64? {
        guard let place = free.firstIndex(where: { $0.index == index }) else { return nil }
        return free.remove(at: place).from
    }

    mutating func add(_ index: IndexKey, freeFrom value: UInt64) {
        if free.count >= Self.mostOpenGroups { free.removeFirst() }
        free.append((index, value))
    }
}
