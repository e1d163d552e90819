/// Change batches of a session's file: reading what changed, applying what changed elsewhere.
import MotteStorage
import MotteValues

extension Session {
    /// What changed after `version` up to the newest version, or up to the one that something frozen shows; from
    /// version 0, everything that is there.
    package func changeBatch(since version: Version) throws(DatabaseError) -> ChangeBatch {
        let shown = try committedSnapshot()
        return try database.changeBatch(from: version, to: isFrozen ? shown : try database.snapshot())
    }

    /// What changed after the version that another session of the file shows, most often a frozen one, with what leads
    /// back to it.
    package func changeBatch(since before: Session) throws(DatabaseError) -> ChangeBatch {
        guard try before.database === database else {
            throw DatabaseError(
                .invalidArgument, "what was before is of another file; take something frozen of this one", path: path)
        }
        let former = try before.committedSnapshot()
        let shown = try committedSnapshot()
        return try database.changeBatch(from: former, to: isFrozen ? shown : try database.snapshot())
    }

    /// What leads from what this shows to what another session shows, most often of another file.
    package func changeBatch(to other: Session) throws(DatabaseError) -> ChangeBatch {
        try Database.difference((database, try committedSnapshot()), (other.database, try other.committedSnapshot()))
    }

    /// Applies a batch as one write, whose observers are notified as of any other.
    package func apply(
        _ batch: ChangeBatch, timeoutMilliseconds: Int64 = -1
    ) throws(DatabaseError) -> ChangeBatchOutcome {
        try apply(batch, timeoutMilliseconds, mustFollow: false) ?? .known
    }

    /// The next batch of whom the file follows; false where it does no longer.
    package func follow(by batch: ChangeBatch) throws(DatabaseError) -> Bool {
        try apply(batch, -1, mustFollow: true) != nil
    }

    private func apply(
        _ batch: ChangeBatch, _ timeoutMilliseconds: Int64, mustFollow: Bool
    ) throws(DatabaseError) -> ChangeBatchOutcome? {
        let shown = try beginReplicating("apply changes", timeoutMilliseconds)
        do throws(DatabaseError) {
            let leader = try committedSnapshot().leader()
            if mustFollow, leader?.origin != batch.origin {
                try cancelReplicating(since: shown)
                return nil
            }
            if let leader, leader.origin != batch.origin || batch.isPatch || batch.isDifference {
                throw DatabaseError(
                    .readOnly, "this file follows \(leader.name), and the batch is not of that; apply it elsewhere",
                    path: path)
            }
            let outcome = try requireWrite().apply(batch)
            // It may have brought a schema.
            schemaMoved()
            if outcome == .known { try cancelReplicating(since: shown) } else { try commit() }
            return outcome
        } catch {
            // Unless it was committed, and a callback failed after it.
            if isInWrite { try cancelReplicating(since: shown) }
            throw error
        }
    }

    /// How far the batches of an origin have been applied; nil: none of them.
    package func replicaPosition(_ origin: ChangeOrigin) throws(DatabaseError) -> ReplicaPosition? {
        try committedSnapshot().replicaPosition(origin)
    }

    package func replicaPositions() throws(DatabaseError) -> [ReplicaPosition] {
        try committedSnapshot().replicaPositions()
    }

    /// By which batches name this file.
    package func changeOrigin() throws(DatabaseError) -> ChangeOrigin {
        _ = try committedSnapshot()
        return try database.origin()
    }

    /// The change log keeps all changes after `version`, in a commit of its own; nil: only what observers need.
    package func keepChanges(since version: Version?, timeoutMilliseconds: Int64 = -1) throws(DatabaseError) {
        try writingOfReplication("keep changes", timeoutMilliseconds) { write throws(DatabaseError) in
            try write.keepChanges(since: version)
        }
    }

    /// The same for a consumer of that name, whose position is nobody else's; nil: it needs nothing any more, and false
    /// if there was none of that name.
    @discardableResult
    package func keepChanges(
        since version: Version?, for consumer: String, timeoutMilliseconds: Int64 = -1
    ) throws(DatabaseError) -> Bool {
        var isDone = false
        try writingOfReplication("keep changes", timeoutMilliseconds) { write throws(DatabaseError) in
            isDone = try write.keepChanges(since: version, for: consumer)
        }
        return isDone
    }

    /// Whom the file follows; nil: nobody.
    package func leader() throws(DatabaseError) -> FollowedLeader? { try committedSnapshot().leader() }

    /// Whether the file has followed somebody, or is a restored one, and goes a way of its own since.
    package func hasLeft() throws(DatabaseError) -> Bool { try committedSnapshot().hasLeft() }

    /// From now on only the leader's batches are applied, and other writes refused; nil: everybody may write.
    package func follow(_ leader: FollowedLeader?, timeoutMilliseconds: Int64 = -1) throws(DatabaseError) {
        try writingOfReplication("follow", timeoutMilliseconds) { write throws(DatabaseError) in
            try write.follow(leader)
        }
    }

    /// Whether changes may be kept by that name.
    package func checkConsumer(_ name: String) throws(DatabaseError) { try committedSnapshot().checkConsumer(name) }

    /// The file follows nobody any more, and keeps its changes from here on for a consumer: in one commit, so that no
    /// change comes before, and none goes.
    package func lead(keepingChangesFor consumer: String) throws(DatabaseError) {
        try writingOfReplication("lead") { write throws(DatabaseError) in
            try write.follow(nil)
            try write.keepChanges(since: write.versionBefore, for: consumer)
        }
    }

    /// What the file calls the objects of an origin, for others that follow it too; nil: it has followed another.
    package func handover(of origin: ChangeOrigin) throws(DatabaseError) -> NameHandover? {
        try database.handover(of: origin, try committedSnapshot())
    }

    /// The file follows `leader` from now on, which followed the same as this one, and has what the handover says.
    package func take(_ handover: NameHandover, _ leader: FollowedLeader) throws(DatabaseError) {
        try writingOfReplication("follow") { write throws(DatabaseError) in try write.take(handover, leader) }
    }

    /// The file is a copy of the origin's at that position.
    package func adopt(_ position: ReplicaPosition) throws(DatabaseError) {
        try writingOfReplication("begin to follow") { write throws(DatabaseError) in try write.adopt(position) }
    }

    /// Takes in the commit that follows the newest one by what others have of this very file: its writer could not tell
    /// what became of it.
    package func takeIn(_ batch: ChangeBatch) throws(DatabaseError) {
        try writingOfReplication("take in a commit", 0) { write throws(DatabaseError) in
            try write.takeIn(batch)
            schemaMoved()
        }
    }

    /// Throws `.fileMoved` where the file is not at its path any more, or another one is.
    package func checkPlace() throws(DatabaseError) { try database.pages.checkPlace() }

    /// Where what is shown stands in the file's own history.
    package func ownPosition() throws(DatabaseError) -> ReplicaPosition {
        try database.ownPosition(try committedSnapshot())
    }

    /// Of the file's own change record of a version; 0 where it is not known, nil where there is no such version.
    package func changeChecksum(of version: Version) throws(DatabaseError) -> UInt32? {
        try database.changeChecksum(of: version, try committedSnapshot())
    }

    /// From where on the change log is kept, and for whom.
    package func keptChanges() throws(DatabaseError) -> KeptChanges { try committedSnapshot().keptChanges() }

    /// Whoever changes are kept for, with what each does not have; without a name first.
    package func changeConsumers() throws(DatabaseError) -> [(
        name: String?, version: Version, backlog: ChangeBacklog
    )] {
        try committedSnapshot().consumers()
    }

    /// How many commits after a version, and up to another or what is shown, have changed something.
    package func backlog(
        after version: Version, through last: Version? = nil
    ) throws(DatabaseError) -> ChangeBacklog {
        try committedSnapshot().backlog(after: version, through: last)
    }

    package var encryptionKey: [UInt8]? { options.encryptionKey }

    /// A commit of its own that changes no object.
    private func writingOfReplication(
        _ action: String, _ timeoutMilliseconds: Int64 = -1, _ body: (WriteTransaction) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let shown = try beginReplicating(action, timeoutMilliseconds)
        do throws(DatabaseError) {
            try body(try requireWrite())
            try commit()
        } catch {
            if isInWrite { try cancelReplicating(since: shown) }
            throw error
        }
    }

    /// Begins a write that is none of the program: its observers are notified before, and change nothing in it. Answers
    /// which version they know.
    private func beginReplicating(
        _ action: String, _ timeoutMilliseconds: Int64
    ) throws(DatabaseError) -> Version {
        try checkMayApply(action)
        try refresh()
        try checkMayApply(action)
        let shown = try version
        try beginWrite(timeoutMilliseconds: timeoutMilliseconds, asFollower: true)
        return shown
    }

    /// Nothing was done. What others have committed meanwhile is shown now, and observers are notified of it.
    private func cancelReplicating(since shown: Version) throws(DatabaseError) {
        try cancel()
        if try version != shown { deliver(hook, at: .refresh) }
    }

    private func checkMayApply(_ action: String) throws(DatabaseError) {
        try checkMayWrite()
        try checkIsNotDelivering(action)
        try checkIsNotMigrating(action)
        guard !isInGroup else {
            throw DatabaseError(
                .alreadyInWrite, "cannot \(action) while writes are collected; flush them first", path: path)
        }
    }
}
