/// Lets the k-th commit fail as a disk would, before anything of it is visible. For tests of the layers
/// above; a store without one pays nothing.
import MotteValues

package final class FaultInjection: @unchecked Sendable {  // @unchecked: the state is only touched holding 'lock'
    private let lock = Lock()
    private var commits = 0
    private var failures: [Int: ErrorCode] = [:]
    private var failingPins = 0
    private var pinsToFail = 0

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
    package var commitCount: Int {
        lock.lock()
        defer { lock.unlock() }
        return commits
    }

    /// The commit that comes `number`-th from now (1 is the next one) fails with `code`.
    package func failCommit(_ number: Int, with code: ErrorCode = .diskFull) {
        lock.lock()
        defer { lock.unlock() }
        failures[commits + number] = code
    }

    /// From the next commit on, so many versions cannot be pinned.
    package func failPins(afterNextCommit count: Int) {
        lock.lock()
        defer { lock.unlock() }
        pinsToFail = count
    }

    func willPin() throws(DatabaseError) {
        lock.lock()
        defer { lock.unlock() }
        guard failingPins > 0 else { return }
        failingPins -= 1
        throw DatabaseError(.outOfHandles, "pinning a version was made to fail by the test")
    }

    func willCommit() throws(DatabaseError) {
        lock.lock()
        defer { lock.unlock() }
        commits += 1
        (failingPins, pinsToFail) = (failingPins + pinsToFail, 0)
        guard let code = failures.removeValue(forKey: commits) else { return }
        throw DatabaseError(code, "commit \(commits) was made to fail by the test")
    }
}
