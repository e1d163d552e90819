/// A new file as a leader's was at a time: the newest snapshot before it, and the batches after that. It follows
/// nobody.
///
/// Snapshots and batches are in the order in which they were made. That of their times is another one where a clock was
/// put back, or two leaders' clocks differ: then the file has everything up to the last one whose time is not later
/// than the one asked for, and it is said that some before it have later ones.
import MotteLiveObjects
import MotteStorage
import MotteValues

package struct Restored: Equatable, Sendable {
    package let version: Version
    /// Of the last commit that is in the file.
    package let wallTimeNanoseconds: Int64
    package let batches: Int
    /// When the commits that were shipped together with the next one began, if the time lies among them: some of those
    /// may have been before the time too.
    package let nextWallTimeNanoseconds: Int64?
    /// Something in the file was made by a clock that was ahead of the time asked for, before others that were not.
    package let hasLaterTimes: Bool
}

/// Where restoring begins.
private struct RestoreStart {
    let snapshot: LogSnapshot
    let next: LogSnapshot?
    var hasLaterTimes: Bool
}

package enum Restoring {
    /// Without a time, as of the last batch. The file gets its name when it is complete.
    /// Where changes are missing in the log nothing is made, unless `isPartial`: then what there is before them.
    package static func run(
        _ options: SessionOptions, from log: ReplicationLog, at time: Int64?, isPartial: Bool = false
    ) throws(DatabaseError) -> Restored {
        try log.key.use(options.encryptionKey)
        guard case .file(let target) = options.location else {
            throw DatabaseError(.invalidArgument, "what is restored is a file")
        }
        guard try !Session.exists(options) else {
            throw DatabaseError(.invalidArgument, "there is a file '\(target)' already; name a new one", path: target)
        }
        let start = try snapshot(in: log, at: time)
        let temporary = try Session.temporaryName(beside: target, "copying")
        do throws(DatabaseError) {
            let chosen = start.snapshot
            try log.copySnapshot(chosen.info, of: chosen.origin, to: temporary)
            let restored = try fill(temporary, options, log, start, time, isPartial)
            try Session.rename(temporary, to: target)
            return restored
        } catch {
            // What failed is what is reported.
            _ = try? Session.deleteFile(SessionOptions(path: temporary))
            throw error
        }
    }

    /// The last one from before a time, whoever led then, and the one after it; without a time the newest of who leads.
    private static func snapshot(
        in log: ReplicationLog, at time: Int64?
    ) throws(DatabaseError) -> RestoreStart {
        let leader = try log.knownLeader()
        let all = try log.allSnapshots()
        var chosen: Int?
        var hasLaterTimes = false
        if let time {
            for index in all.indices.reversed() {
                if try isFrom(time, all[index], index + 1 < all.count ? all[index + 1] : nil, log) {
                    chosen = index
                    break
                }
            }
            hasLaterTimes = all[...(chosen ?? -1)].contains { $0.info.wallTimeNanoseconds > time }
        } else {
            chosen = all.lastIndex { $0.origin == leader.origin }
        }
        if let chosen {
            return RestoreStart(
                snapshot: all[chosen], next: chosen + 1 < all.count ? all[chosen + 1] : nil,
                hasLaterTimes: hasLaterTimes)
        }
        guard let oldest = all.first else {
            throw DatabaseError(.fileNotFound, "there is no snapshot in '\(log.place)'", path: log.place)
        }
        guard time != nil else {
            throw DatabaseError(
                .busy,
                "\(leader.name) leads '\(log.place)' and has no snapshot there yet: try again when it has, or restore "
                    + "a time before with --at", path: log.place)
        }
        throw DatabaseError(
            .historyUnavailable,
            "'\(log.place)' begins with version \(oldest.info.version.rawValue), which is later than that time; what "
                + "was before is not there", path: log.place)
    }

    /// Whether a snapshot is from before a time, or something is that was committed after it and before the next one.
    private static func isFrom(
        _ time: Int64, _ snapshot: LogSnapshot, _ next: LogSnapshot?, _ log: ReplicationLog
    ) throws(DatabaseError) -> Bool {
        if snapshot.info.wallTimeNanoseconds <= time { return true }
        return try last(before: time, snapshot, next, log) > snapshot.info.version
    }

    /// What is damaged is in the way only of who needs it: not of who looks ahead, and not where what there is before
    /// it is wanted.
    private static func batch(
        after version: Version, _ snapshot: LogSnapshot, _ log: ReplicationLog, _ mayBeDamaged: Bool = true
    ) throws(DatabaseError) -> ChangeBatch? {
        do throws(DatabaseError) { return try log.changes(after: version, of: snapshot.origin) } catch {
            guard error.code == .corrupted, mayBeDamaged else { throw error }
            return nil
        }
    }

    /// The version of the last batch from before a time, up to the next snapshot.
    private static func last(
        before time: Int64, _ start: LogSnapshot, _ next: LogSnapshot?, _ log: ReplicationLog
    ) throws(DatabaseError) -> Version {
        var last = start.info.version, position = last
        let limit = next.flatMap { $0.origin == start.origin ? $0.info.version : nil }
        while limit.map({ position < $0 }) ?? true,
            let batch = try batch(after: position, start, log), batch.to > position
        {
            position = batch.to
            if batch.wallTimeNanoseconds <= time { last = position }
        }
        return last
    }

    private static func fill(
        _ path: String, _ options: SessionOptions, _ log: ReplicationLog, _ chosen: RestoreStart, _ time: Int64?,
        _ isPartial: Bool
    ) throws(DatabaseError) -> Restored {
        let (start, following) = (chosen.snapshot, chosen.next)
        let last = try time.map { time throws(DatabaseError) in try Self.last(before: time, start, following, log) }
        var hasLaterTimes = chosen.hasLaterTimes
        let end: LogEnd?
        do throws(DatabaseError) { end = try log.end(of: start.origin) } catch {
            guard error.code == .corrupted, isPartial else { throw error }
            end = nil
        }
        var own = options
        own.location = .file(path)
        own.noCreate = true
        let session = try Session.open(own)
        // What was committed is there, and an open write would be rolled back.
        defer { _ = try? session.close() }
        var position = start.info.version
        var wallTime = start.info.wallTimeNanoseconds
        var batches = 0
        var next: Int64?
        var isLater = false
        while true {
            if let last, position >= last {
                do throws(DatabaseError) {
                    guard let batch = try log.changes(after: position, of: start.origin) else { break }
                    // One commit is one version; what changed nothing had no batch of its own.
                    next = batch.to.rawValue - batch.from.rawValue > 1 ? batch.wallTimeNanoseconds : nil
                } catch {
                    // It may be from before the time.
                    guard error.code == .corrupted, isPartial else { throw error }
                }
                isLater = true
                break
            }
            guard let batch = try batch(after: position, start, log, isPartial) else { break }
            _ = try session.apply(batch)
            batches += 1
            position = batch.to
            wallTime = batch.wallTimeNanoseconds
            if let time, wallTime > time { hasLaterTimes = true }
        }
        if let following, time != nil, !isLater, following.origin != start.origin || following.info.version > position {
            // The commits of who led next begin with a snapshot, and so do those after a migration: then there are no
            // batches before it that nothing leads to.
            let last = following.origin == start.origin ? following.info.version : nil
            if try !log.hasChanges(of: start.origin, beyond: position, upTo: last) {
                next = following.info.wallTimeNanoseconds
            }
        }
        if let end, position < end.version, !isLater, next == nil, !isPartial {
            throw DatabaseError(
                .historyUnavailable,
                "'\(log.place)' has changes up to version \(end.version.rawValue), and those after "
                    + "\(position.rawValue) are missing, or of another leader: nothing was restored. With --partial "
                    + "the file is made as of version \(position.rawValue); with --at, as of a time before that",
                path: log.place)
        }
        try session.follow(nil)
        return Restored(
            version: position, wallTimeNanoseconds: wallTime, batches: batches, nextWallTimeNanoseconds: next,
            hasLaterTimes: hasLaterTimes)
    }
}
