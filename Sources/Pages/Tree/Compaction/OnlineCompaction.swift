/// A compaction that needs nobody to close the file: commits that move what is at the end of the file to free pages
/// before it, a few megabytes each, so that readers and writers go on between two of them. The end leaves the file when
/// no pinned version needs it any more.
///
///     tail      everything behind the length that the file is to have moves to free pages before it
///     window    where values found no room in one piece, the emptiest stretch of the file is emptied for them; what
///               was there goes behind the end for a moment, and the tail is taken up again
///     settle    a commit that moves nothing: pages of the step before become free, and the end goes
///
/// What to move is looked up in each commit, so whatever others commit in between does no harm.
import MotteValues

package final class OnlineCompaction {
    package struct Outcome: Sendable, Equatable {
        package var bytesBefore = 0
        package var bytesAfter = 0
        package var movedBytes = 0
        /// Needed by older versions alone, which somebody has pinned.
        package var heldBytes = 0
    }

    private enum Phase: Equatable {
        case beginning
        case tail(from: [UInt8])
        case window(PageRun, from: [UInt8])
        case settling
        case ended
    }

    package private(set) var outcome = Outcome()
    /// Bytes that there were to move when it began, and how many of them have been.
    package private(set) var progress = PageProgress(done: 0, total: 1)
    private var phase = Phase.beginning
    private let mostBytes: Int
    /// A file of so many pages more than it needs is not worth a commit.
    private let slack: PageCount
    private var target: PageNumber = 0
    /// Pages up to the last one in use, when this target was chosen.
    private var usedEnd: PageCount = 0
    private var round = 0
    private var isFinished = false
    private var settleCount = 0
    /// Values that found no room in this round, and in the one before.
    private var stuck: PageCount = 0
    private var stuckBefore: PageCount?
    private var largestStuck: PageCount = 0

    private static let mostRounds = 32
    private static let mostSettling = 4
    /// Room for the nodes of commits and for values that don't fit: part of what is in use.
    private static let reserveShare = 32
    /// Bytes of a step unless others are wanted.
    package static let stepBytes = 4 << 20

    /// Beside commits of users, who are not to wait for more than a step: nothing is flushed for its sake.
    let isAutomatic: Bool

    package init(stepBytes: Int = OnlineCompaction.stepBytes, slackPages: Int = 16, isAutomatic: Bool = false) {
        mostBytes = max(stepBytes, 1)
        self.isAutomatic = isAutomatic
        slack = PageCount(max(slackPages, 0))
    }

    package var isEnded: Bool { phase == .ended }
    /// The last step has moved everything; one more gives the end of the file back, as far as nobody needs it.
    package var isSettling: Bool { phase == .settling }

    // MARK: Before a commit.

    /// The pages that the next commit is to leave.
    func evacuation(_ map: SpaceMap) -> Evacuation? {
        switch phase {
        case .beginning:
            begin(map)
            return evacuation(map)
        case .window(let window, _): return Evacuation(pages: window, mayGrow: true)
        case .tail, .settling: return Evacuation(pages: PageRun(start: target, count: OnlineCompaction.endless))
        case .ended: return nil
        }
    }

    static let automaticStepBytes = 1 << 20
    private static let endless = PageCount(1 << 44)

    private func begin(_ map: SpaceMap) {
        target = self.target(map)
        usedEnd = map.pageCount - map.unusedEnd
        (stuck, stuckBefore, largestStuck, settleCount) = (0, nil, 0, 0)
        let excess = map.pageCount.end - min(target, map.pageCount.end)
        phase = excess == 0 ? .settling : .tail(from: [])
        progress.total = max(progress.done + excess.rawValue, 1)
    }

    /// The length that the file is to have.
    private func target(_ map: SpaceMap) -> PageNumber {
        let used = map.usedPageCount
        return (used + used / OnlineCompaction.reserveShare + slack).end
    }

    func walk(_ image: PageImage, _ evacuation: Evacuation) -> EvacuationWalk {
        var start: [UInt8] = []
        switch phase {
        case .tail(let position), .window(_, let position): start = position
        default: break
        }
        return EvacuationWalk(image, evacuation, from: start, mostBytes: mostBytes)
    }

    // MARK: After a commit.

    /// Of one commit.
    struct Step {
        /// Pages whose content has another place now.
        var moved: PageCount
        /// Of values that found none, and of the largest of them.
        var left: PageCount
        var largestLeft: PageCount
        /// Where the next one begins; nil at the end of the tree.
        var position: [UInt8]?
    }

    func note(_ step: Step, _ map: SpaceMap, _ image: PageImage) {
        outcome.movedBytes += image.byteCount(of: step.moved)
        outcome.heldBytes = image.byteCount(of: map.heldPageCount)
        progress.done = min(progress.done + step.moved.rawValue, progress.total)
        stuck += step.left
        largestStuck = max(largestStuck, step.largestLeft)
        switch (phase, step.position) {
        case (.tail, let position?): phase = .tail(from: position)
        case (.window(let window, _), let position?): phase = .window(window, from: position)
        case (.tail, nil): endRound(map)
        // The next commit finds the window free, unless somebody needs what was there.
        case (.window, nil): phase = .tail(from: [])
        case (.settling, _):
            // The nodes that this commit replaced may have been the last pages of all.
            settleCount += 1
            if map.endToGain > 0, settleCount < OnlineCompaction.mostSettling { return }
            if isWorthAnother(map) { phase = .beginning } else { end() }
        case (.beginning, _), (.ended, _): break
        }
    }

    func note(bytesBefore: Int) {
        if outcome.bytesBefore == 0 { outcome.bytesBefore = bytesBefore }
    }

    func note(bytesAfter: Int) { outcome.bytesAfter = bytesAfter }

    private func endRound(_ map: SpaceMap) {
        round += 1
        let isBetter = stuckBefore.map { stuck < $0 } ?? true
        var window: PageRun?
        if stuck > 0, isBetter, round < OnlineCompaction.mostRounds, !isAutomatic {
            let count = min(max(max(stuck * 2, largestStuck * 4), 256), target.pagesBefore / 4)
            if count > largestStuck { window = map.emptiestWindow(count, before: target) }
        }
        phase = window.map { .window($0, from: []) } ?? .settling
        stuckBefore = stuck
        stuck = 0
        largestStuck = 0
    }

    /// Nodes that were moved are fuller than before, and others have taken pages behind the target meanwhile: as long
    /// as that makes the file shorter it is done again.
    private func isWorthAnother(_ map: SpaceMap) -> Bool {
        guard !isFinished, round < OnlineCompaction.mostRounds else { return false }
        let end = map.pageCount - map.unusedEnd
        guard end < usedEnd - usedEnd / OnlineCompaction.reserveShare else { return false }
        let target = self.target(map).pagesBefore
        return end > target + target / OnlineCompaction.reserveShare
    }

    /// Nothing more is moved.
    func end() {
        phase = .ended
        progress.done = progress.total
    }

    /// Moves no more, and gives back what there is.
    package func finish() {
        isFinished = true
        guard !isEnded, !isSettling else { return }
        phase = .settling
    }

    /// Once more what the last step does: who needed the end of the file may have gone.
    package func settleAgain() {
        phase = .settling
        settleCount = 0
    }
}
