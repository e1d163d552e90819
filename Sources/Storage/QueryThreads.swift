/// How many threads a query may go through its row groups with.
import MotteValues

package struct QueryThreads: Sendable, Equatable {
    /// The one that asks among them.
    package let most: Int
    /// How many estimated nanoseconds of work are worth one of them: beginning a thread and waiting for it takes some
    /// ten thousand.
    package let leastWork: Double

    package init(_ most: Int, leastWork: Double = 1_000_000) {
        self.most = most
        self.leastWork = leastWork
    }

    package static let one = QueryThreads(1)

    /// Where nobody says otherwise: as many as the machine has processors, and no more than a few, since others want
    /// some too.
    package static let standardCount = max(1, min(4, WorkThread.processors))
    package static let mostCount = 64
}
