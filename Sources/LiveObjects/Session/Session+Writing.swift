/// A session's writes: one at a time, or several in a group that becomes durable together (`Session+Groups`).
import MotteStorage
import MotteValues

extension Session {
    /// Waits for the write lock (negative: for ever), advances to the newest version, delivers what is pending.
    /// Where a callback fails that has changed something in it, no write is open: all of that is undone.
    /// `asFollower`: no write of the program, who is notified by the commit, or by whoever cancels it.
    package func beginWrite(
        timeoutMilliseconds: Int64 = -1, asFollower: Bool = false
    ) throws(DatabaseError) {
        try checkMayWrite()
        if let group {
            try beginWrite(in: group)
        } else {
            try movingToNewest { snapshot throws(DatabaseError) in
                write = try database.beginWrite(
                    on: snapshot, timeoutMilliseconds: timeoutMilliseconds,
                    maximumLiveVersions: options.maximumLiveVersions, as: writeHolder, asFollower: asFollower)
            }
        }
        write?.commitCheck = commitCheck
        write?.rules = asFollower ? nil : writeRules
        writeSerial &+= 1
        births.begin()
        // Members of a group are notified of those before them when all are durable.
        guard let hook, !asFollower, group?.members.isEmpty ?? true else { return }
        isBeginningWrite = true
        defer { isBeginningWrite = false }
        do throws(DatabaseError) { try hook.deliver(self, at: .beginWrite) } catch {
            if let write { undo(write) }
            throw error
        }
    }

    /// A callback that runs while a write begins cannot end it under whoever began it.
    private func checkHasBegun(_ action: String) throws(DatabaseError) {
        guard !isBeginningWrite else {
            throw DatabaseError(
                .reentrant, "cannot \(action) in a callback of the call that begins the write; do it after that call",
                path: path)
        }
    }

    func checkMayWrite() throws(DatabaseError) {
        try checkIsLive("write")
        try checkCallsNoFunction("write")
        guard !options.isReadOnly, !options.isImmutable else {
            throw DatabaseError(
                .readOnly, "this session is open for reading only; open another without that flag", path: path)
        }
        guard write == nil else {
            throw DatabaseError(
                .alreadyInWrite, "this session is in a write already; commit or cancel that one first", path: path)
        }
    }

    /// `body` moves the snapshot. Where it has moved when `body` fails, observers are notified before the error is
    /// thrown: what begins to observe then would not know of what they were not notified of.
    func movingToNewest(_ body: (Snapshot) throws(DatabaseError) -> Void) throws(DatabaseError) {
        tellRest()
        let snapshot = try committedSnapshot()
        let before = snapshot.version
        let hadPrevious = previous != nil
        forgetTables()
        keepPrevious()
        do throws(DatabaseError) { try body(snapshot) } catch {
            if snapshot.version != before {
                epochBase &+= 1
                deliver(hook, at: .refresh)
            } else if !hadPrevious {
                previous = nil
            }
            throw error
        }
        if snapshot.version != before { epochBase &+= 1 }
    }

    private func beginWrite(in group: SessionGroup) throws(DatabaseError) {
        forgetTables()
        write = try database.beginWrite(on: try committedSnapshot(), in: group.pages)
    }

    /// Makes the changes durable and delivers them here. After a failure of the disk the write is still open; whoever
    /// is asked before the commit and refuses cancels it. Callbacks of observers that fail come after the commit, which
    /// has succeeded. In a group all of that happens when the group ends.
    @discardableResult
    package func commit() throws(DatabaseError) -> Version {
        let transaction = try requireWrite()
        try checkIsNotMigrating("commit")
        try checkHasBegun("commit")
        for place in nestedPlaces { try place.nested?.writeWillEnd() }
        forgetTables()
        keepPrevious()
        let version: Version
        do throws(DatabaseError) { version = try transaction.commit() } catch {
            if transaction.isRefused { undo(transaction) }
            throw error
        }
        for place in nestedPlaces { place.nested?.writeWasCommitted(as: version) }
        if let group {
            group.note(
                version, shown: hook == nil ? nil : transaction.base, writeOutcome, births: births.ofWrite,
                skipped: hook?.takeSkipped() ?? [])
            endWrite()
            return version
        }
        writeOutcome?.commit(version)
        endWrite()
        deliver(hook, at: .commit)
        hook?.writeHasEnded()
        return version
    }

    /// After something that is done, and does not fail for what observers do about it.
    func deliver(_ hook: (any SessionHook)?, at point: DeliveryPoint) {
        do throws(DatabaseError) { try hook?.deliver(self, at: point) } catch { onObserverFailure?(error) }
    }

    package func cancel() throws(DatabaseError) {
        let transaction = try requireWrite()
        try checkIsNotMigrating("cancel")
        try checkHasBegun("cancel")
        undo(transaction)
    }

    /// Cancels a write that nobody is left to end, also in a function of the program that may only read: the call that
    /// needs the function fails with that.
    package func abandonWrite() throws(DatabaseError) {
        try check()
        try checkIsNotMigrating("cancel")
        try checkHasBegun("cancel")
        if let write { undo(write) }
    }

    private func undo(_ transaction: WriteTransaction) {
        forgetTables()
        transaction.cancel()
        births.cancel(births.ofWrite)
        for place in nestedPlaces { place.nested?.writeWasCancelled(writeSerial) }
        writeOutcome?.cancel()
        endWrite()
        if group == nil { hook?.writeHasEnded() }
    }

    /// nil outside of writes.
    func outcomeOfWrite() -> WriteOutcome? {
        guard write != nil else { return nil }
        let outcome = writeOutcome ?? WriteOutcome()
        writeOutcome = outcome
        return outcome
    }

    private func endWrite() {
        writeOutcome = nil
        epochBase = viewEpoch &+ 1
        write = nil
    }

    /// The open write, for whoever changes something.
    @inline(__always)
    package func requireWrite() throws(DatabaseError) -> WriteTransaction {
        try check()
        if let write, calledFunction == nil { return write }
        throw cannotChange()
    }

    @inline(never)
    private func cannotChange() -> DatabaseError {
        do throws(DatabaseError) { try checkCallsNoFunction("change anything") } catch { return error }
        if isFrozen {
            return DatabaseError(.frozen, "cannot modify something frozen; use the live session", path: path)
        }
        if options.isReadOnly || options.isImmutable {
            return DatabaseError(
                .readOnly, "this session is open for reading only; open another without that flag", path: path)
        }
        return DatabaseError(.notInWrite, "changes need a write transaction; begin one first", path: path)
    }
}
