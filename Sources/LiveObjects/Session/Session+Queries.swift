/// How queries of a session end before they are done: by `queryControl`, by time, by what is asked meanwhile.
///
/// Queries of observers, and those that callbacks of observers ask, run to their end: nobody could take the error.
import CMotteShim
import MotteQueryEngine
import MotteStorage
import MotteValues

extension Session {
    /// For a query that begins now; nil where nothing ends it.
    package func queryWatch() -> QueryWatch? {
        if hook?.isDelivering == true { return nil }
        if let scope = QueryScope.current, scope.session === self { return scope.watch }
        if options.queriesEndInScopesOnly { return nil }
        return QueryWatch(queryControl, every: queryProgressNanoseconds, progress: watchedProgress)
    }

    /// What a query of this session reads. Those of callbacks stay with the thread that is called back.
    package func querySource() throws(DatabaseError) -> RowSource {
        let source = try source()
        if let snapshot = source as? Snapshot {
            snapshot.queryThreads = hook?.isDelivering == true ? .one : queryThreads
        }
        return source
    }

    /// Calls `body` about twenty times a second on the thread of a query of this session, from when it has run for a
    /// twentieth of a second; what it throws ends the query. The session refuses to be used meanwhile. Frozen sessions
    /// do not ask, since other threads may wait for what their queries compute.
    package func onQueryProgress(_ body: (() throws(DatabaseError) -> Void)?) throws(DatabaseError) {
        try checkIsLive("ask for the progress of queries")
        queryProgress = body
    }

    /// Calls a caller back, who gets REENTRANT for whatever is done with the session meanwhile.
    func asking(_ what: Asking, _ body: () throws(DatabaseError) -> Void) throws(DatabaseError) {
        let before = gate.pointee.owner
        gate.pointee.owner = SessionConfinement.elsewhere
        isAsking = what
        defer {
            isAsking = nil
            gate.pointee.owner = before
        }
        try body()
    }

    private var watchedProgress: (() throws(DatabaseError) -> Void)? {
        guard queryProgress != nil, !isFrozen else { return nil }
        return { () throws(DatabaseError) in
            guard let body = self.queryProgress else { return }
            try self.asking(.forProgress, body)
        }
    }
}

/// A part of a program in which queries of one session may end early, on one thread: what ends one ends all, at the
/// latest when the time of the whole part is up. For a language whose accessors cannot throw.
package final class QueryScope {
    let session: Session
    let watch: QueryWatch
    private let outer: QueryScope?
    /// What ended a query of it.
    package private(set) var failure: DatabaseError?

    private init(_ session: Session, timeoutMilliseconds: Int64, _ outer: QueryScope?) {
        self.session = session
        self.outer = outer
        watch = QueryWatch(session.queryControl, timeoutMilliseconds: timeoutMilliseconds)
    }

    package static var current: QueryScope? {
        motte_shim_scope().map { Unmanaged<QueryScope>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Runs `body` in a new scope, which the thread leaves in whatever way `body` ends. A negative timeout: no limit.
    package static func run<T>(
        _ session: Session, timeoutMilliseconds: Int64, _ body: (QueryScope) throws -> T
    ) rethrows -> T {
        let scope = QueryScope(session, timeoutMilliseconds: timeoutMilliseconds, current)
        motte_shim_set_scope(Unmanaged.passUnretained(scope).toOpaque())
        defer {
            motte_shim_set_scope(scope.outer.map { Unmanaged.passUnretained($0).toOpaque() })
            withExtendedLifetime(scope) {}
        }
        return try body(scope)
    }

    /// Keeps what ended a query where there is no way to throw it; false if it is something else.
    package static func note(_ error: DatabaseError) -> Bool {
        guard error.code == .interrupted, let scope = current else { return false }
        scope.failure = scope.failure ?? error
        return true
    }

    /// Throws what ended a query of the calling thread's scope, where that is of this session.
    package static func check(_ session: Session) throws(DatabaseError) {
        if let scope = current, scope.session === session, let failure = scope.failure { throw failure }
    }
}
