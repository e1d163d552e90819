/// Sets of keys as observed results hold them, used by several threads; what they hold is tested by patching results.
import MotteLiveObjects
import TestSupport
import Testing

struct KeySetTests {
    /// Under the thread sanitizer: what has no elements must not be written to either.
    @Test func positionsOfNothingAreFoundOnSeveralThreads() throws {
        let set = KeySet([1, 5, 5_000])
        let none = KeySet([Int64]())
        let threads = (0 ..< 3).map { _ in
            ThreadRun {
                var found = 0
                for _ in 0 ..< 200 {
                    found += set.positions(of: []).count + none.positions(of: [1]).count
                    found += set.positions(of: [5, 5_000]).reduce(0, +)
                }
                return found
            }
        }
        for thread in threads { #expect(try thread.join() == 600) }
    }
}
