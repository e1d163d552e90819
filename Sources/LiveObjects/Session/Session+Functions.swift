/// Functions of the program that a call needs which reads: what has been read and what comes after it must be of one
/// state, and what is known of a version is shared with other sessions.
///
///     reading     the function can only read: whatever would change something or move the session is refused before
///                 it does anything
///     unmoved     the call fails afterwards where the function has changed something
import MotteValues

extension Session {
    /// Calls a function of the program that may only read in this session.
    func reading<Result>(
        in function: String, _ body: () throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        // What is frozen can only be read, and several threads may.
        guard !isFrozen else { return try body() }
        let outer = calledFunction
        calledFunction = function
        defer { calledFunction = outer }
        return try body()
    }

    /// Whether it is in one of them.
    package var callsFunction: Bool { calledFunction != nil }

    /// Of one that is not frozen, for whoever moves it and runs what waits for that.
    package func checkMayMove(_ action: String) throws(DatabaseError) {
        try checkIsLive(action)
        try checkCallsNoFunction(action)
    }

    /// Before anything that changes objects, begins or ends a write, or moves the session.
    func checkCallsNoFunction(_ action: String) throws(DatabaseError) {
        guard let calledFunction else { return }
        throw DatabaseError(
            .reentrant,
            "cannot \(action) in \(calledFunction); do it when the call that needs the function has returned",
            path: path)
    }

    /// Calls a function of the program and fails where it has changed something in this session, or moved it.
    package func unmoved<Result>(
        _ caller: String, _ body: () throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        let epoch = viewEpoch
        let result = try body()
        guard viewEpoch == epoch else {
            throw DatabaseError(.reentrant, "\(caller) has changed the database, or refreshed it", path: path)
        }
        return result
    }

    /// The progress of a call that reads.
    package func unmoved(
        by progress: ((Int) throws(DatabaseError) -> Void)?
    ) -> ((Int) throws(DatabaseError) -> Void)? {
        guard let progress else { return nil }
        return { (count) throws(DatabaseError) in
            try self.unmoved("a progress function") { () throws(DatabaseError) in try progress(count) }
        }
    }
}
