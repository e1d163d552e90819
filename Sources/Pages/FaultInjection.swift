/// Lets the k-th commit fail as a disk would, before anything of it is visible. For tests of the layers
/// above; a store without one pays nothing.
import MotteValues

package final class FaultInjection: Sendable {
    private struct State {
        var commits = 0
        var failures: [Int: ErrorCode] = [:]
        var failingPins = 0
        var pinsToFail = 0
    }

    private let state = Locked(State())

    /// A deliberate mistake of the page file, to see that tests find such a one: pages of the versions that must be
    /// kept are used again. Set before opening.
    package let reusesPagesTooEarly: Bool

    /// Called with the path of each copy that is written, on the disk, and not yet compared with its source.
    package let willCheckCopy: (@Sendable (String) -> Void)?

    /// Called between finding the header record of a version and reading what it says.
    package let willReadHeader: (@Sendable () -> Void)?

    /// Called before the newest version is looked up; what it throws is what the look-up fails with.
    package let willLook: (@Sendable () throws(DatabaseError) -> Void)?

    package init(
        reusesPagesTooEarly: Bool = false, willCheckCopy: (@Sendable (String) -> Void)? = nil,
        willReadHeader: (@Sendable () -> Void)? = nil,
        willLook: (@Sendable () throws(DatabaseError) -> Void)? = nil
    ) {
        self.reusesPagesTooEarly = reusesPagesTooEarly
        self.willCheckCopy = willCheckCopy
        self.willReadHeader = willReadHeader
        self.willLook = willLook
    }

    /// Commits seen so far, failed ones included.
    package var commitCount: Int { state.withLock { $0.commits } }

    /// The commit that comes `number`-th from now (1 is the next one) fails with `code`.
    package func failCommit(_ number: Int, with code: ErrorCode = .diskFull) {
        state.withLock { $0.failures[$0.commits + number] = code }
    }

    /// From the next commit on, so many versions cannot be pinned.
    package func failPins(afterNextCommit count: Int) {
        state.withLock { $0.pinsToFail = count }
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
