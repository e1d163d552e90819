/// Who may have pointers into a file's pages. Memory of pages that were given up is taken only when no hold can have a
/// pointer into it, and a hold knows nothing of pages: it says of the image's clock from when on its owner may have
/// kept what it was lent, and when its owner last was lent something.
///
///     since   the owner has kept nothing from before
///     last    the owner has been lent nothing that was read into memory after; or `open`: it may be lent things now
///
/// The clock advances whenever pages are given up. A page that was read at `stamp` and given up at `end` may be held
/// by whom `since` <= `end` and `stamp` <= `last`.
///
/// A hold is one thread's at a time. Its owner reads on through `lend`, and calls `renew` when nothing that it was lent
/// is used any more.
import CMotteShim
import MotteValues

package final class PageHold: @unchecked Sendable {  // @unchecked: others read the words, which are atomic
    private let image: PageImage
    private let words: UnsafeMutablePointer<UInt64>
    private var depth = 0
    /// Whether the owner says when it is lent nothing.
    private var rests = false
    /// The clock at the last `renew`; since then the owner has looked up again whatever it was lent.
    private var renewed: UInt64
    /// In the image's list.
    var place = 0

    static let open = UInt64.max

    init(_ image: PageImage) {
        self.image = image
        words = .allocate(capacity: 2)
        words[1] = PageHold.open
        renewed = image.clock
        words[0] = renewed
        image.add(self)
    }

    deinit {
        image.remove(self)
        words.deallocate()
    }

    var since: UInt64 { motte_shim_load64(words) }
    var last: UInt64 { motte_shim_load64(words + 1) }

    /// Pages have been given up since the last `renew`, so that another is worth its price.
    @inline(__always)
    package var isDue: Bool { image.clock != renewed }

    /// The clock itself, as long as there is this or another hold of the file: looking at it costs a load, where asking
    /// a hold counts references.
    package var clock: UnsafePointer<UInt64> { image.clockAddress }

    /// Nothing is used any more of what the owner was lent.
    package func renew() {
        renewed = image.clock
        motte_shim_release64(words, renewed)
    }

    /// The owner has forgotten where things are, and nothing is used any more but what it was lent since it last did.
    package func renewButLatest() {
        let former = renewed
        renewed = image.clock
        motte_shim_release64(words, former)
    }

    /// Keeps what an earlier hold of the same owner keeps, which rests.
    package func keep(_ earlier: PageHold) {
        renewed = min(renewed, earlier.renewed)
        motte_shim_store64(words, min(since, earlier.since))
        motte_shim_store64(words + 1, max(last, earlier.last))
    }

    /// From here on the owner is lent things within `lend` only, and uses nothing that it was lent before.
    package func mayRest() {
        guard !rests else { return }
        rests = true
        motte_shim_store64(words + 1, 0)
    }

    @inline(__always)
    func lend<Result>(_ body: () throws(DatabaseError) -> Result) throws(DatabaseError) -> Result {
        guard rests else { return try body() }
        begin()
        defer { end() }
        return try body()
    }

    @inline(__always)
    func begin() {
        guard rests else { return }
        depth += 1
        // Who takes memory away sees this, or we see what it gave up: it makes all threads pass a barrier in between.
        if depth == 1 { motte_shim_open_hold(words + 1) }
    }

    @inline(__always)
    func end() {
        guard rests else { return }
        depth -= 1
        if depth == 0 { rest() }
    }

    private func rest() { motte_shim_release64(words + 1, image.clock) }
}
