/// Asking before a commit: with the changes as a batch, before anything of them is durable.
///
/// The session refuses to be used meanwhile, so what is committed is what was asked about. What the callback throws
/// cancels the write whole, in whatever call committed it.
import MotteStorage
import MotteValues

extension Session {
    /// Calls `body` before each commit of this session that changes something. Other sessions of the file have theirs.
    package func onCommit(
        isReversible: Bool = false, _ body: ((ChangeBatch) throws(DatabaseError) -> Void)?
    ) throws(DatabaseError) {
        try checkIsLive("be asked before commits")
        try checkIsNotMigrating("be asked before commits")
        guard write == nil else {
            throw DatabaseError(
                .alreadyInWrite, "who is asked before commits is settled outside of writes; commit or cancel first",
                path: path)
        }
        guard let body else { return commitCheck = nil }
        commitCheck = CommitCheck(isReversible: isReversible) { [unowned self] (batch) throws(DatabaseError) in
            try self.asking(.beforeCommit) { () throws(DatabaseError) in try body(batch) }
        }
    }
}
