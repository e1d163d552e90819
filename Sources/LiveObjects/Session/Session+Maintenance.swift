/// Copies and compaction of the file a session has open.
import MotteStorage
import MotteValues

extension Session {
    /// Writes what the session shows to a new file without free space; others go on writing meanwhile.
    package func copy(
        to path: String, progress: ((MaintenanceProgress) -> Void)? = nil
    ) throws(DatabaseError) {
        let snapshot = try committedSnapshot()
        guard !isInWrite else {
            throw DatabaseError(
                .alreadyInWrite, "a copy shows what is committed; commit or cancel this write first", path: path)
        }
        try database.copy(snapshot, to: path, progress: progress)
    }

    /// Rewrites a file that nobody has open.
    package static func compact(
        _ options: SessionOptions, progress: ((MaintenanceProgress) -> Void)? = nil
    ) throws(DatabaseError) -> CompactionOutcome {
        let outcome = try Database.compact(options.databaseOptions, progress: progress)
        guard let outcome else { throw DatabaseError(.internal, "a compaction decided against itself") }
        return outcome
    }

    /// Rewrites the session's own file if nobody else has it open, otherwise `.busy`. The session goes on at the newest
    /// version either way; frozen things count as others.
    package func compact(progress: ((MaintenanceProgress) -> Void)? = nil) throws(DatabaseError) -> CompactionOutcome {
        try checkIsLive("compact the file")
        try checkIsNotDelivering("compact the file")
        guard !isInWrite else {
            throw DatabaseError(.alreadyInWrite, "cannot compact during a write; commit or cancel first", path: path)
        }
        try leaveFile()
        let outcome: Result<CompactionOutcome, DatabaseError>
        do throws(DatabaseError) {
            outcome = .success(try Session.compact(options, progress: progress))
        } catch {
            outcome = .failure(error)
        }
        try returnToFile()
        return try outcome.get()
    }
}
