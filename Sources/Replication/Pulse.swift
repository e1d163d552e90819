/// Something that has to go on while the thread that does it otherwise is busy for long: a thread of its own does it
/// again and again until that is over. What it uses nobody else uses meanwhile.
import CMotteShim
import MotteValues

final class Pulse: @unchecked Sendable {  // @unchecked: the word is atomic
    /// 1 when it is over.
    private let word = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)

    private init() { word.initialize(to: 0) }

    deinit { word.deallocate() }

    /// Does `body` every so many milliseconds while `work` is done.
    static func beside<Result>(
        everyMilliseconds period: Int64, _ body: @escaping @Sendable () -> Void,
        _ work: () throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        let pulse = Pulse()
        let thread = WorkThread { pulse.run(period, body) }
        defer {
            motte_shim_store32(pulse.word, 1)
            motte_shim_futex_wake_all(pulse.word)
            thread?.join()
        }
        return try work()
    }

    private func run(_ period: Int64, _ body: () -> Void) {
        var next = monotonicMilliseconds() + period
        while motte_shim_load32(word) == 0 {
            let remaining = next - monotonicMilliseconds()
            if remaining > 0 {
                _ = motte_shim_futex_wait(word, 0, remaining)
            } else {
                body()
                next = monotonicMilliseconds() + period
            }
        }
    }
}
