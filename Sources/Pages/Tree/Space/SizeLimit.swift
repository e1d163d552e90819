/// How many pages a file may have. What a commit changes needs other pages before its own are free, and deleting is the
/// way out of a full file; so commits that make the tree no larger may pass the limit. What they leave is used again.
import MotteValues

package struct SizeLimit {
    /// What the file may grow to for commits that make the tree larger, and what they may have in use.
    let pageCount: PageCount
    /// What a file of this format can have.
    private let endOfFormat: PageCount
    /// What others need beyond that: this part, but so many bytes at least.
    private static let share = 2
    private let leastMore: PageCount
    private static let leastMoreBytes = 4 << 20
    private static let leastPages: PageCount = 16

    /// `bytes` nil: what the format allows.
    package init(_ image: PageImage, bytes: Int?) {
        endOfFormat = image.pageLimit
        leastMore = image.pageCount(in: SizeLimit.leastMoreBytes)
        let wanted = bytes.map { max(image.pageCount(in: $0), SizeLimit.leastPages) }
        pageCount = min(wanted ?? image.pageLimit, image.pageLimit)
    }

    /// What a file may grow to for commits that make the tree no larger. It may have more in use than the limit, since
    /// others have made it longer.
    func mostPages(after root: RootSlot) -> PageCount {
        let base = max(pageCount, root.treePageCount)
        return min(base + max(base / SizeLimit.share, leastMore), endOfFormat)
    }

    /// Whether commits that make the tree larger can have so many pages.
    func hasRoom(for count: PageCount, in map: SpaceMap) -> Bool { map.pagesToTake(limit: pageCount) >= count }

    /// The same, as far as the length of the file says it.
    func hasRoom(for count: PageCount, inFileWith pages: PageCount) -> Bool { pageCount - pages >= count }
}
