/// Lets the k-th commit of a store fail as a disk would, before anything of it is visible. For tests of the floors
/// above; a store without one pays nothing.
import MotteValues

package final class FaultInjection: @unchecked Sendable {  // @unchecked: the state is only touched holding 'lock'
    private let lock = Lock()
    private var commits = 0
    private var failures: [Int: ErrorCode] = [:]

    /// A deliberate mistake of our own pager, to see that tests find such a one: pages of the versions that must be
    /// kept are used again. Set before opening.
    package let reusesPagesTooEarly: Bool

    /// Called with the path of each copy that is written, on the disk, and not yet compared with its source.
    package let willCheckCopy: (@Sendable (String) -> Void)?

    package init(reusesPagesTooEarly: Bool = false, willCheckCopy: (@Sendable (String) -> Void)? = nil) {
        self.reusesPagesTooEarly = reusesPagesTooEarly
        self.willCheckCopy = willCheckCopy
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

    func willCommit() throws(DatabaseError) {
        lock.lock()
        defer { lock.unlock() }
        commits += 1
        guard let code = failures.removeValue(forKey: commits) else { return }
        throw DatabaseError(code, "commit \(commits) was made to fail by the test")
    }
}
