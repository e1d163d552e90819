/// What can end a query before it is done: somebody who interrupts it, time that is up, and a caller who is asked now
/// and then.
///
/// A `QueryControl` belongs to a session and may be used by every thread; a `QueryWatch` belongs to one query, which
/// looks at it between row groups, so that rows cost nothing more. Interrupted are the queries that run at that moment:
/// those that begin later compare with a later count. Nothing of the database is changed by a query, so that it can end
/// anywhere.
import MotteValues
import Synchronization

package final class QueryControl: Sendable {
    private let interruptions = Atomic<UInt64>(0)
    private let timeout: Atomic<Int64>
    private let ended = Atomic<Bool>(false)

    package init(timeoutMilliseconds: Int64 = -1) { timeout = Atomic(timeoutMilliseconds) }

    /// From any thread, and from handlers of signals.
    package func interrupt() { _ = interruptions.add(1, ordering: .relaxed) }

    /// Nothing is asked of the session any more; what begins all the same ends at its first look.
    package func end() { ended.store(true, ordering: .relaxed) }
    package var isEnded: Bool { ended.load(ordering: .relaxed) }

    /// How long each query may take. Negative: no limit.
    package var timeoutMilliseconds: Int64 {
        get { timeout.load(ordering: .relaxed) }
        set { timeout.store(newValue, ordering: .relaxed) }
    }

    fileprivate var count: UInt64 {
        @inline(__always) get { interruptions.load(ordering: .relaxed) }
    }
}

package final class QueryWatch {
    private let control: QueryControl
    private let countAtBegin: UInt64
    /// In nanoseconds of the coarse clock.
    private let deadline: Int64
    private let timeoutMilliseconds: Int64
    private let progress: (() throws(DatabaseError) -> Void)?
    /// When the clock says so much, there is something to do.
    private var nextTime: Int64
    private var steps: UInt32 = 0
    private let progressNanoseconds: Int64

    /// About how often `progress` is called.
    package static let progressNanoseconds: Int64 = 50_000_000
    /// How many row groups go by between two looks at the clock.
    private static let stepsPerLook: UInt32 = 8

    /// Of a query that begins now. `timeoutMilliseconds`: another one than the control's.
    package init(
        _ control: QueryControl, timeoutMilliseconds: Int64? = nil, every nanoseconds: Int64 = progressNanoseconds,
        progress: (() throws(DatabaseError) -> Void)? = nil
    ) {
        progressNanoseconds = nanoseconds
        self.control = control
        self.progress = progress
        // After an end no count is the one at the beginning.
        countAtBegin = control.isEnded ? .max : control.count
        let timeout = timeoutMilliseconds ?? control.timeoutMilliseconds
        self.timeoutMilliseconds = timeout
        let now = timeout >= 0 || progress != nil ? CoarseClock.nanoseconds : 0
        let (length, isLong) = timeout.multipliedReportingOverflow(by: 1_000_000)
        deadline = timeout < 0 || isLong || length > .max - now ? .max : now + length
        nextTime = progress == nil ? deadline : min(deadline, now + nanoseconds)
    }

    /// For another thread that works on the same query, from which nobody is called back.
    func forAnotherThread() -> QueryWatch { QueryWatch(following: self) }

    private init(following watch: QueryWatch) {
        control = watch.control
        countAtBegin = watch.countAtBegin
        deadline = watch.deadline
        timeoutMilliseconds = watch.timeoutMilliseconds
        progress = nil
        progressNanoseconds = watch.progressNanoseconds
        nextTime = watch.deadline
    }

    /// Called between row groups, and by loops over keys every `keysPerCheck`.
    @inline(__always)
    package func check() throws(DatabaseError) {
        if control.count != countAtBegin { throw Self.interrupted() }
        if nextTime != .max { try lookAtClock() }
    }

    /// Within a row group, between conditions that may take long: nobody is called back.
    @inline(__always)
    func checkInterruption() throws(DatabaseError) {
        if control.count != countAtBegin { throw Self.interrupted() }
    }

    package static let keysPerCheck = 2_048

    private func lookAtClock() throws(DatabaseError) {
        steps &+= 1
        guard steps % Self.stepsPerLook == 1 else { return }
        let now = CoarseClock.nanoseconds
        if now < nextTime { return }
        guard now < deadline else {
            // The next look of whoever goes on with this watch comes at once.
            steps = 0
            throw DatabaseError(
                .interrupted,
                "the query took longer than the \(timeoutMilliseconds) ms that it may; narrow it, or give it more time")
        }
        nextTime = min(deadline, now + progressNanoseconds)
        try progress?()
    }

    private static func interrupted() -> DatabaseError {
        DatabaseError(.interrupted, "the query was interrupted; what it was asked of is as it was")
    }
}
