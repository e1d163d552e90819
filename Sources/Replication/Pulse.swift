/// Something that has to go on while the thread that does it otherwise is busy for long: a thread of its own does it
/// again and again until that is over. What it uses nobody else uses meanwhile.
import MotteValues
import Synchronization

final class Pulse: Sendable {
    private let isOver = Atomic<Bool>(false)
    private static let pauseMilliseconds: Int64 = 20

    /// Does `body` every so many milliseconds while `work` is done.
    static func beside<Result>(
        everyMilliseconds period: Int64, _ body: @escaping @Sendable () -> Void,
        _ work: () throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        let pulse = Pulse()
        let thread = WorkThread {
            var next = monotonicMilliseconds() + period
            while !pulse.isOver.load(ordering: .acquiring) {
                sleepMilliseconds(pauseMilliseconds)
                guard monotonicMilliseconds() >= next else { continue }
                body()
                next = monotonicMilliseconds() + period
            }
        }
        defer {
            pulse.isOver.store(true, ordering: .releasing)
            thread?.join()
        }
        return try work()
    }
}
