/// Applying a change batch: in sequence, each once, in the transaction that also keeps how far it got.
///
/// Objects come first, without what may link to others; then links; then changes of objects that were there, edits of
/// collections, and last what goes. At that point nothing links to what goes any more, as in the origin, so that
/// deleting changes nothing else.
import MotteValues

package enum ChangeBatchOutcome: Equatable, Sendable {
    case applied
    /// The file has these changes already; nothing was done.
    case known
}

extension WriteTransaction {
    /// After an error the write is to be cancelled: a part may have been done.
    package func apply(_ batch: ChangeBatch) throws(DatabaseError) -> ChangeBatchOutcome {
        try requireOpen()
        let position = try base.replicaPosition(batch.origin)
        guard try isToApply(batch, after: position) else { return .known }
        // In between, an object may have a unique value that another one is about to lose.
        try postponingIndexChecks { () throws(DatabaseError) in
            try batch.bytes.withBytes { bytes throws(DatabaseError) in
                var applying = try ApplyingChanges(self, batch, position)
                if !batch.isPatch, !batch.isDifference { applying.replicas = try base.replicas(of: batch.origin) }
                try applying.run(UnsafeRawBufferPointer(rebasing: bytes[ChangeBatchFormat.headerSize...]))
            }
        }
        // The origin itself has no position.
        if !batch.isDifference, try batch.origin != database.origin() {
            replicaPages[ReplicaPages.position(batch.origin)] = ReplicaPosition(after: batch).page
        }
        noteChange()
        return .applied
    }

    private func isToApply(_ batch: ChangeBatch, after position: ReplicaPosition?) throws(DatabaseError) -> Bool {
        // Whether a difference fits is seen by the objects that it changes.
        guard !batch.isDifference else { return !batch.isEmpty }
        return try isNext(batch, after: position)
    }

    /// Whether the batch is the next one; false if all of it has been applied.
    private func isNext(_ batch: ChangeBatch, after position: ReplicaPosition?) throws(DatabaseError) -> Bool {
        // The inverse of a batch of no version.
        if batch.isPatch, batch.isEmpty, batch.from == batch.to { return false }
        guard try batch.origin != database.origin() else { return try isNextOfItself(batch) }
        if batch.isPatch { return try isNext(patch: batch, after: position) }
        guard let position else {
            guard batch.isWhole else {
                throw DatabaseError(
                    .outOfSequence,
                    "the batch begins at version \(batch.from.rawValue), and nothing of its origin has been applied; "
                        + "apply one from version 0 first")
            }
            return true
        }
        let now = position.version.rawValue
        if batch.to <= position.version {
            if batch.to == position.version, Self.differ(batch.toChecksum, position.checksum) {
                throw forked(now)
            }
            return false
        }
        guard batch.from == position.version else {
            throw DatabaseError(
                .outOfSequence,
                batch.from > position.version
                    ? "changes are missing: the batch begins at version \(batch.from.rawValue), and those of its "
                        + "origin are applied up to \(now); apply those in between first"
                    : "the batch begins at version \(batch.from.rawValue), before \(now), up to which those of its "
                        + "origin are applied, and ends after it; read one from version \(now)")
        }
        if Self.differ(batch.fromChecksum, position.checksum) { throw forked(now) }
        return true
    }

    private func isNextOfItself(_ batch: ChangeBatch) throws(DatabaseError) -> Bool {
        guard batch.isPatch else {
            throw DatabaseError(
                .invalidArgument, "this batch was read from this very file, which has its changes; apply it to another")
        }
        guard batch.from != batch.to || batch.from == base.version else {
            throw DatabaseError(
                .outOfSequence,
                "the patch was made for version \(batch.from.rawValue) of this file, which is at "
                    + "\(base.version.rawValue) now; make another")
        }
        return !batch.isEmpty
    }

    /// A copy goes to and fro along what it has applied.
    private func isNext(patch: ChangeBatch, after position: ReplicaPosition?) throws(DatabaseError) -> Bool {
        guard patch.from != patch.to else {
            throw DatabaseError(
                .invalidArgument, "this patch was made for another file; make one for this file")
        }
        guard let position, patch.from == position.version else {
            throw DatabaseError(
                .outOfSequence,
                "the patch begins at version \(patch.from.rawValue) of its origin, and this file has the changes up to "
                    + "\(position?.version.rawValue ?? 0)")
        }
        if Self.differ(patch.fromChecksum, position.checksum) { throw forked(position.version.rawValue) }
        return true
    }

    private static func differ(_ left: UInt32, _ right: UInt32) -> Bool { left != 0 && right != 0 && left != right }

    private func forked(_ version: UInt64) -> DatabaseError {
        DatabaseError(
            .historyForked,
            "version \(version) of the batch's origin is not the one that was applied here: the origin was replaced by "
                + "an older copy and has gone another way since; begin a new file with a batch from version 0")
    }
}
