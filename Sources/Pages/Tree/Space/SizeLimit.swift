/// How many pages a file may have. What a commit changes needs other pages before its own are free, and deleting is the
/// way out of a full file; so commits that make the tree no larger may pass the limit, and what they leave is used again.
import MotteValues

package struct SizeLimit {
    /// What the file may grow to for commits that make the tree larger, and what they may have in use.
    let pageCount: PageCount
    /// What it may grow to for all others.
    let mostPages: PageCount
    /// This part of the limit, or of a file that is longer when it is opened, but so many bytes at least.
    private static let share = 2
    private static let leastBytes = 4 << 20
    private static let leastPages: PageCount = 16

    /// `bytes` nil: what the format allows.
    package init(_ image: PageImage, bytes: Int?, fileBytes: Int) {
        guard let bytes else {
            pageCount = image.pageLimit
            mostPages = image.pageLimit
            return
        }
        let wanted = max(PageCount(in: bytes, pageBytes: image.pageBytes), SizeLimit.leastPages)
        pageCount = min(wanted, image.pageLimit)
        let base = max(pageCount, image.pageCount(in: fileBytes))
        let more = max(base / SizeLimit.share, image.pageCount(in: SizeLimit.leastBytes))
        mostPages = min(base + more, image.pageLimit)
    }

    /// Whether commits that make the tree larger can have so many pages.
    func hasRoom(for count: PageCount, in map: SpaceMap) -> Bool { map.pagesToTake(limit: pageCount) >= count }

    /// The same, as far as the length of the file says it.
    func hasRoom(for count: PageCount, inFileWith pages: PageCount) -> Bool { pageCount - pages >= count }
}
