/// Savepoints of the open write, and what is made of them: calls that do several things, all of them or none.
import MotteStorage
import MotteValues

extension Session {
    package func savepoint() throws(DatabaseError) -> WriteTransaction.Savepoint { try requireWrite().savepoint() }

    /// Keeps what has been done since, and ends the savepoint and those that began after it.
    package func release(_ savepoint: WriteTransaction.Savepoint) throws(DatabaseError) {
        let write = try requireWrite()
        try checkInside(savepoint, write)
        try write.release(savepoint)
    }

    /// A function of the program that a call calls can't end what that call goes back to where it fails.
    private func checkInside(_ savepoint: WriteTransaction.Savepoint, _ write: WriteTransaction) throws(DatabaseError) {
        guard let inner = atomic.savepoint, savepoint.serial < inner.serial, write.isOpen(inner) else { return }
        throw DatabaseError(
            .reentrant, "this savepoint was made before the call that is running here: end it after that call",
            path: path)
    }

    /// Undoes what has been done since, and ends the savepoint and those that began after it. Objects that were made
    /// since are as those of a cancelled write.
    package func rollBack(to savepoint: WriteTransaction.Savepoint) throws(DatabaseError) {
        let write = try requireWrite()
        try checkInside(savepoint, write)
        let undone = try write.rollBack(to: savepoint)
        forgetTables()
        births.cut(from: undone.firstKeys)
        writeOutcome?.rollBack(births)
        for place in nestedPlaces { place.nested?.writeWasRolledBack(undone, write.nestedEditLog) }
    }

    /// Whether the open write has savepoints, which a commit would end.
    package var hasSavepoints: Bool { write?.hasSavepoints ?? false }

    /// Commits what there is and goes on in a new write; what `atomically` undoes begins there.
    package func commitAndGoOn() throws(DatabaseError) {
        try commit()
        try beginWrite()
        if atomic.isActive { atomic.savepoint = try savepoint() }
    }

    /// What `body` changes in the open write is undone where it throws. Without a write it fails by itself.
    @inline(__always)
    package func atomically<Outcome, Failure: Error>(
        _ body: () throws(Failure) -> Outcome
    ) throws(Failure) -> Outcome {
        // Of a write that can only be cancelled there is none: what is changed in it will not be committed.
        let first = isInWrite ? try? savepoint() : nil
        let outer = atomic
        atomic = (first != nil, first)
        defer { atomic = outer }
        do throws(Failure) {
            let outcome = try body()
            // It is open, so nothing can fail.
            if let savepoint = openSavepoint() { try? release(savepoint) }
            return outcome
        } catch {
            // Where that fails the write says so and can only be cancelled.
            if let savepoint = openSavepoint() { try? rollBack(to: savepoint) }
            throw error
        }
    }

    /// All or nothing of something that changes several values: one may take what another gives up. What has to differ
    /// is looked at after each change, which says best what is wrong, and where that fails, once more at the end.
    package func atOnce<Outcome>(
        _ body: () throws(DatabaseError) -> Outcome
    ) throws(DatabaseError) -> Outcome {
        do throws(DatabaseError) { return try atomically(body) } catch {
            guard error.code == .duplicateValue, isInWrite else { throw error }
            let first = error
            do throws(DatabaseError) {
                let write = try requireWrite()
                return try atomically { () throws(DatabaseError) in try write.postponingIndexChecks(body) }
            } catch { throw error.code == .duplicateValue ? first : error }
        }
    }

    private func openSavepoint() -> WriteTransaction.Savepoint? {
        guard let savepoint = atomic.savepoint, let write, write.isOpen(savepoint) else { return nil }
        return savepoint
    }
}
