/// Pages that a file with a limit keeps for commits that make it no fuller: what a commit changes needs other pages
/// before its own are free, and deleting is the way out of a full file.
import MotteValues

struct SpaceReserve {
    private let pageLimit: PageCount
    /// Deleting one object writes what its row group has in one piece: hundreds of kilobytes, where values are wide.
    private static let mostPages: PageCount = 512
    /// This part of a small file.
    private static let share = 4

    init(_ image: PageImage) { pageLimit = image.pageLimit }

    var pageCount: PageCount { min(SpaceReserve.mostPages, pageLimit / SpaceReserve.share) }

    /// Whether commits can have so many pages, and the reserve is left.
    func isLeft(by count: PageCount, of map: SpaceMap) -> Bool {
        map.pagesToTake(limit: pageLimit) >= count + pageCount
    }

    /// The same, as far as the length of the file says it.
    func isLeft(by count: PageCount, ofFileWith pages: PageCount) -> Bool { pageLimit - pages >= count + pageCount }
}
