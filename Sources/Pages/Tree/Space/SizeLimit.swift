/// How many pages a file may have.
///
/// What a commit changes needs other pages before its own are free, and deleting is the way out of a full file; so
/// commits that make the tree no larger may pass the limit. What they leave is used again. A commit cannot foresee its
/// pages to the last one: its change record stays until the log is trimmed, and a value that is written again may need
/// a page more. So there is some slack, unless it adds objects.
import MotteValues

package struct SizeLimit {
    /// What the file may grow to for commits that make the tree larger, and what they may have in use.
    let pageCount: PageCount
    /// What a file of this format can have.
    private let endOfFormat: PageCount
    /// What others need beyond that: as much again, for a commit may write everything anew, but so many bytes at least.
    private let leastMore: PageCount
    private static let leastMoreBytes = 8 << 20
    /// So many times that where nothing is added: what is free may lie in pieces, and a value needs one.
    private static let share = 3
    /// Pages by which the tree may be larger than the limit after values were changed.
    private static let slack: PageCount = 64
    private static let leastPages: PageCount = 16

    /// `bytes` nil: what the format allows.
    package init(_ image: PageImage, bytes: Int?) {
        endOfFormat = image.pageLimit
        leastMore = image.pageCount(in: SizeLimit.leastMoreBytes)
        let wanted = bytes.map { max(image.pageCount(in: $0), SizeLimit.leastPages) }
        pageCount = min(wanted ?? image.pageLimit, image.pageLimit)
    }

    /// What a file may grow to for commits that make the tree no larger. Of the tree `foreign` pages are there because
    /// others, or this process before, have made it so large.
    func mostPages(for effect: PageBatch.Effect, beside foreign: PageCount) -> PageCount {
        let base = max(pageCount, foreign)
        let more = max(base, leastMore)
        return min(base + (effect == .adds ? more : more * SizeLimit.share), endOfFormat)
    }

    /// A commit that makes the tree larger.
    struct Growth {
        let effect: PageBatch.Effect
        let entryCount: Int
        /// Pages of its change record.
        let recordPages: PageCount
        /// Pages of a WAL, whose records go into the tree with it. A value that shared a page there may get its own.
        let owed: PageCount
        let foreign: PageCount
    }

    /// Whether it may, and the file be as long as it is then.
    func allows(_ growth: Growth, from before: RootSlot, to root: RootSlot, _ map: SpaceMap) -> Bool {
        if map.pageCount <= max(pageCount, before.pageCount), hasRoom(for: 0, in: map) { return true }
        let most = max(pageCount + SizeLimit.slack, growth.foreign)
        let more = growth.owed * 2 + growth.recordPages
        switch growth.effect {
        case .adds: return false
        case .changes: return root.treePageCount <= most + more
        case .deletes:
            // Each value that is written again may need a page more: links are taken out of it.
            return root.treePageCount <= max(most, before.treePageCount + PageCount(growth.entryCount)) + more
        }
    }

    /// Whether commits that make the tree larger can have so many pages.
    func hasRoom(for count: PageCount, in map: SpaceMap) -> Bool { map.pagesToTake(limit: pageCount) >= count }

    /// The same, as far as the length of the file says it.
    func hasRoom(for count: PageCount, inFileWith pages: PageCount) -> Bool { pageCount - pages >= count }
}
