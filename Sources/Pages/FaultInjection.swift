/// Lets the k-th commit, read or growth of a spill file fail as a disk would, before anything of it is visible. For
/// tests of the layers above; a store without one pays nothing.
import MotteValues

package final class FaultInjection: Sendable {
    private struct State {
        var commits = 0
        var failures: [Int: ErrorCode] = [:]
        var failingPins = 0
        var pinsToFail = 0
        var reads = 0
        var failingRead: (number: Int, code: ErrorCode)?
        var growths = 0
        var failingGrowth: Int?
    }

    private let state = Locked(State())

    /// A deliberate mistake of the page file, to see that tests find such a one: pages of the versions that must be
    /// kept are used again. Set before opening.
    package let reusesPagesTooEarly: Bool

    /// Looking up a key and each move of a cursor are counted as reads. Set before opening.
    package let countsReads: Bool

    /// Called with the path of each copy that is written, on the disk, and not yet compared with its source.
    package let willCheckCopy: (@Sendable (String) -> Void)?

    /// Called between finding the header record of a version and reading what it says.
    package let willReadHeader: (@Sendable () -> Void)?

    /// Called before the newest version is looked up; what it throws is what the look-up fails with.
    package let willLook: (@Sendable () throws(DatabaseError) -> Void)?

    package init(
        reusesPagesTooEarly: Bool = false, countsReads: Bool = false,
        willCheckCopy: (@Sendable (String) -> Void)? = nil,
        willReadHeader: (@Sendable () -> Void)? = nil,
        willLook: (@Sendable () throws(DatabaseError) -> Void)? = nil
    ) {
        self.reusesPagesTooEarly = reusesPagesTooEarly
        self.countsReads = countsReads
        self.willCheckCopy = willCheckCopy
        self.willReadHeader = willReadHeader
        self.willLook = willLook
    }

    /// Commits seen so far, failed ones included.
    package var commitCount: Int { state.withLock { $0.commits } }

    /// The commit that comes `number`-th from now (1 is the next one) fails with `code`.
    package func failCommit(_ number: Int, with code: ErrorCode = .inputOutput) {
        state.withLock { $0.failures[$0.commits + number] = code }
    }

    /// From the next commit on, so many versions cannot be pinned.
    package func failPins(afterNextCommit count: Int) {
        state.withLock { $0.pinsToFail = count }
    }

    /// The read that comes `number`-th from now fails with `code`, and no other; 0: none.
    package func failRead(_ number: Int, with code: ErrorCode = .inputOutput) {
        state.withLock { $0.failingRead = number > 0 ? ($0.reads + number, code) : nil }
    }

    package var readCount: Int { state.withLock { $0.reads } }
    /// Whether the read that was to fail has not come yet.
    package var isReadToFail: Bool { state.withLock { $0.failingRead != nil } }

    /// A spill file cannot grow, the `number`-th time from now that room is asked for; 0: it can.
    package func failGrowth(_ number: Int) {
        state.withLock { $0.failingGrowth = number > 0 ? $0.growths + number : nil }
    }

    func willRead() throws(DatabaseError) {
        try state.withLock { state throws(DatabaseError) in
            state.reads += 1
            guard let failing = state.failingRead, failing.number == state.reads else { return }
            state.failingRead = nil
            throw DatabaseError(failing.code, "a read was made to fail by the test")
        }
    }

    func willGrow() throws(DatabaseError) {
        try state.withLock { state throws(DatabaseError) in
            state.growths += 1
            guard state.failingGrowth == state.growths else { return }
            state.failingGrowth = nil
            throw DatabaseError(.diskFull, "a spill file was made to fail by the test")
        }
    }

    func willPin() throws(DatabaseError) {
        try state.withLock { state throws(DatabaseError) in
            guard state.failingPins > 0 else { return }
            state.failingPins -= 1
            throw DatabaseError(.outOfHandles, "pinning a version was made to fail by the test")
        }
    }

    func willCommit() throws(DatabaseError) {
        try state.withLock { state throws(DatabaseError) in
            state.commits += 1
            (state.failingPins, state.pinsToFail) = (state.failingPins + state.pinsToFail, 0)
            guard let code = state.failures.removeValue(forKey: state.commits) else { return }
            throw DatabaseError(code, "commit \(state.commits) was made to fail by the test")
        }
    }
}

/// Counts what is read of a version, and fails where a test wants it.
final class CountedSnapshot: PageSnapshot {
    private let base: PageSnapshot
    private let faults: FaultInjection

    init(_ base: PageSnapshot, _ faults: FaultInjection) {
        self.base = base
        self.faults = faults
    }

    var version: Version { base.version }
    var storedVersion: Version { base.storedVersion }
    func hasMovedValues(since version: Version) -> Bool { base.hasMovedValues(since: version) }
    var mostEntryCount: Int { base.mostEntryCount }
    var hold: PageHold? { base.hold }
    var exceedsMemory: Bool { base.exceedsMemory }
    var memoryBytes: Int { base.memoryBytes }
    var passedOver: PassedOver? { base.passedOver }
    func pageProblems() throws(DatabaseError) -> [PageProblem] { try base.pageProblems() }
    func contentProblems() throws(DatabaseError) -> [PageProblem] { try base.contentProblems() }
    func sharing() -> PageSnapshot { CountedSnapshot(base.sharing(), faults) }
    func makeScratchFile() throws(DatabaseError) -> ScratchFile { try base.makeScratchFile() }

    func get(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> PageBytes? {
        try faults.willRead()
        return try base.get(key)
    }

    func makeCursor() throws(DatabaseError) -> PageCursor { CountedCursor(try base.makeCursor(), faults) }
}

private final class CountedCursor: PageCursorEntry, PageCursor {
    private let base: PageCursor
    private let faults: FaultInjection

    init(_ base: PageCursor, _ faults: FaultInjection) {
        self.base = base
        self.faults = faults
    }

    private func move(_ body: () throws(DatabaseError) -> Bool) throws(DatabaseError) -> Bool {
        try faults.willRead()
        base.skipsValues = skipsValues
        guard try body() else { return false }
        key = base.key
        value = base.value
        skippedByteCount = base.skippedByteCount
        return true
    }

    func seek(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        try move { () throws(DatabaseError) in try base.seek(key) }
    }

    func seekLast(atMost key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        try move { () throws(DatabaseError) in try base.seekLast(atMost: key) }
    }

    func next() throws(DatabaseError) -> Bool { try move { () throws(DatabaseError) in try base.next() } }
    func previous() throws(DatabaseError) -> Bool { try move { () throws(DatabaseError) in try base.previous() } }
}
