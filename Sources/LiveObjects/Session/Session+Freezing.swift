/// Frozen sessions: each shows one version for good and serves every thread.
///
///     freeze          one that its caller closes
///     sharedFrozen    the one of all that is frozen by itself at a version, which nobody closes
import CMotteShim
import MotteQueryEngine
import MotteStorage
import MotteValues

extension Session {
    /// A session that shows this version for good, within a write the one that this began with, and may be used from
    /// every thread. Each is closed by itself, also one that is made of a frozen one.
    package func freeze() throws(DatabaseError) -> Session {
        try check()
        try checkIsNotMigrating("freeze")
        if let frozenSources {
            let (snapshot, database) = try frozenSources.duplicate()
            return counterpart(of: database, showing: snapshot)
        }
        return try freeze(isShared: false)
    }

    private func freeze(isShared: Bool) throws(DatabaseError) -> Session {
        try checkIsNotMigrating("freeze")
        // Others may rely on what they read there, so it must not be what a power cut or a full disk takes back.
        try group?.pages.flush()
        let copy = try committedSnapshot().copy()
        // Where that fails, it is read from memory.
        if let group { try? database.settle(copy, group.pages) }
        return counterpart(of: try database, showing: copy, isShared: isShared)
    }

    private func counterpart(of database: Database, showing snapshot: Snapshot, isShared: Bool = false) -> Session {
        let frozen = Session(
            options, database, snapshot, owner: 0,
            frozen: FrozenSources(snapshot, of: database, isShared: isShared, viewsAreShort: viewsAreShort))
        frozen.queryControl.timeoutMilliseconds = queryControl.timeoutMilliseconds
        frozen.queryThreads = queryThreads
        return frozen
    }

    /// The frozen session that objects and collections share which are frozen by themselves at this version, so that
    /// any number of them costs one. They have the limits that queries have when they are frozen. Nobody closes it: it
    /// goes with the last of them.
    package func sharedFrozen() throws(DatabaseError) -> Session {
        try check()
        if let frozenSources {
            if frozenSources.isShared { return self }
            return try frozenSources.shared({ $0.hasLimits(of: self) }) { snapshot, database in
                counterpart(of: database, showing: snapshot, isShared: true)
            }
        }
        if let known = lastFrozen, lastFrozenVersion == snapshot?.version, known.hasLimits(of: self) { return known }
        let made = try freeze(isShared: true)
        lastFrozen = made
        lastFrozenVersion = try version
        return made
    }

    /// Whether queries end, and use as many threads, as those of another session do.
    package func hasLimits(of other: Session) -> Bool {
        queryControl.timeoutMilliseconds == other.queryControl.timeoutMilliseconds && queryThreads == other.queryThreads
    }

    /// A frozen session of no other one, for looking at a version that somebody has got hold of.
    package static func frozen(_ snapshot: Snapshot, of database: Database, _ control: QueryControl) -> Session {
        Session(
            SessionOptions(.memory("")), database, snapshot, owner: 0,
            frozen: FrozenSources(snapshot, of: database, isShared: true, viewsAreShort: true), control: control)
    }

    /// Queries under way run to their end.
    @discardableResult
    func end(_ frozenSources: FrozenSources) -> Bool {
        owner = Self.nobody
        return frozenSources.close(isOutermost: motte_shim_calls() <= outermostCall)
    }
}
