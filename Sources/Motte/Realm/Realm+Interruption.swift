/// Ending queries that take too long: from another thread, or when their time is up.
///
///     let interruption = realm.interruption
///     button.action = { interruption.interrupt() }
///     let found = try realm.interruptible(timeout: 2) { realm.objects(Person.self).where { ... }.count }
import Foundation
import MotteLiveObjects
import MotteQueryEngine

extension Realm {
    /// Ends queries of the realm that it came from; every thread may keep and use it.
    public struct Interruption: Sendable {
        let control: QueryControl

        /// Ends the parts of programs that ``Realm/interruptible(timeout:_:)`` runs now. Those that begin later are not
        /// concerned.
        public func interrupt() { control.interrupt() }
    }

    /// What ends queries of this realm, for another thread.
    public var interruption: Interruption { Interruption(control: core.session.queryControl) }

    /// Runs `body`, in which queries of this realm end early when ``Interruption/interrupt()`` is called or when
    /// `timeout` seconds are over, and then throws ``Realm/Error/queryInterrupted``.
    ///
    /// Reading cannot throw: from the query that was ended to the end of `body`, counts are 0, collections empty and
    /// everything else that has to be searched for is nil. Nothing of that stays: what `body` returns is dropped, and a
    /// write transaction that is to be committed in it throws the same error and is rolled back by
    /// ``Realm/write(withoutNotifying:_:)``. Outside of such a part queries run to their end, as do those of observers.
    ///
    /// - Parameters:
    ///   - timeout: seconds that all queries of `body` have together; nil for no limit.
    ///   - body: runs at once, on this thread.
    public func interruptible<Result>(timeout: TimeInterval? = nil, _ body: () throws -> Result) throws -> Result {
        let milliseconds = timeout.map { Int64(max(0, min($0.isNaN ? 0 : $0 * 1_000, 1e15))) } ?? -1
        return try QueryScope.run(core.session, timeoutMilliseconds: milliseconds) { scope in
            let outcome = Swift.Result { try body() }
            if let failure = scope.failure { throw Realm.Error(failure, path: core.session.path) }
            return try outcome.get()
        }
    }
}
