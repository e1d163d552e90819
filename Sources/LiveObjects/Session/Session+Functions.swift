/// Functions of the program that a call needs which reads: what has been read and what comes after it must be of one
/// state, and what is known of a version is shared with other sessions.
/// So they can only read: whatever would change something or move the session is refused before it does anything.
import MotteValues

extension Session {
    /// Calls a function of the program that can only read in this session.
    package func reading<Result>(
        in function: String, _ body: () throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        // What is frozen can only be read, and each thread may do it.
        if let frozenSources { return try frozenSources.reading(in: function, body) }
        let (outer, epoch) = (calledFunction, viewEpoch)
        calledFunction = function
        defer { calledFunction = outer }
        let result = try body()
        // The last handle of a realm ends its write wherever it is released.
        guard viewEpoch == epoch else {
            throw DatabaseError(.reentrant, "the write was ended in \(function)", path: path)
        }
        return result
    }

    /// The progress of a call that reads.
    package func reading(
        by progress: ((Int) throws(DatabaseError) -> Void)?
    ) -> ((Int) throws(DatabaseError) -> Void)? {
        guard let progress else { return nil }
        return { (count) throws(DatabaseError) in
            try self.reading(in: "a progress function") { () throws(DatabaseError) in try progress(count) }
        }
    }

    /// Whether it is in one of them.
    package var callsFunction: Bool { functionUnderWay != nil }

    private var functionUnderWay: String? {
        if let frozenSources { frozenSources.calledFunction } else { calledFunction }
    }

    /// Of one that is not frozen, for whoever moves it and runs what waits for that.
    package func checkMayMove(_ action: String) throws(DatabaseError) {
        try checkIsLive(action)
        try checkCallsNoFunction(action)
    }

    /// Before anything that changes objects, begins or ends a write, or moves the session.
    func checkCallsNoFunction(_ action: String) throws(DatabaseError) {
        guard let calledFunction = functionUnderWay else { return }
        throw DatabaseError(
            .reentrant,
            "cannot \(action) in \(calledFunction); do it when the call that needs the function has returned",
            path: path)
    }
}
