/// Group commit: writes of one session, one after another, that become durable with one flush.
///
///     beginGroup      takes the write lock once for all of them
///     beginWrite, commit, cancel
///                     as ever; each commit has a version and an entry in the change log of its own, and a write that
///                     is cancelled, or whose commit fails, takes nothing with it but its own changes
///     endGroup        flushes. If that fails, all of them are taken back
///
/// Until the flush nobody is notified of any of it: no observer, no other session, no reference. After it the observers
/// of this session are notified of each write by itself, in order, as if each had just been committed; others see the
/// newest version, as they do when commits come faster than they look. Reading between the writes shows what is
/// committed so far; it is meant to be short. What is frozen goes to others, so freezing flushes what is committed so
/// far.
///
/// Asynchronous writes of every language binding are made of this: collect what was asked for, run it in a group where
/// the session belongs until `isGroupFull`, end the group, and then complete each with its own result.
import MotteStorage
import MotteValues

/// A group under way.
final class SessionGroup {
    struct Member {
        let version: Version
        /// What the session shows while its observers are notified; nil when nobody observes.
        let shown: Snapshot?
        let outcome: WriteOutcome?
        let births: ClosedRange<UInt32>
        /// Observers that are not notified of it.
        let skipped: [AnyObject]
    }

    let pages: WriteGroup
    /// The version in the file.
    let base: Snapshot
    private(set) var members: [Member] = []

    init(_ pages: WriteGroup, base: Snapshot) {
        self.pages = pages
        self.base = base
    }

    func note(
        _ version: Version, shown: Snapshot?, _ outcome: WriteOutcome?, births: ClosedRange<UInt32>,
        skipped: [AnyObject]
    ) {
        members.append(
            Member(version: version, shown: shown?.copy(), outcome: outcome, births: births, skipped: skipped))
    }
}

/// The versions of a group that observers are still to be notified of, one after the other.
struct GroupNews {
    private var left: [(shown: Snapshot, skipped: [AnyObject])]
    /// What is shown before the next of them.
    var last: Snapshot?

    /// `newest` is what the session shows in the end.
    init(_ members: [SessionGroup.Member], newest: Snapshot, after last: Snapshot?) {
        left = members.dropLast().compactMap { member in member.shown.map { ($0, member.skipped) } }
        left.append((newest, members.last?.skipped ?? []))
        left.reverse()
        self.last = last
    }

    mutating func next() -> (shown: Snapshot, skipped: [AnyObject])? { left.popLast() }
}

extension Session {
    package var isInGroup: Bool { group != nil }

    /// What waits for the flush takes so much memory that the group had better end.
    package var isGroupFull: Bool { group?.pages.isFull ?? false }

    /// Waits for the write lock (negative: for ever) and moves to the newest version.
    package func beginGroup(timeoutMilliseconds: Int64 = -1) throws(DatabaseError) {
        try checkMayWrite()
        try checkIsNotMigrating("group writes")
        guard group == nil else {
            throw DatabaseError(.reentrant, "this session collects a group of writes already", path: path)
        }
        try movingToNewest { snapshot throws(DatabaseError) in
            let pages = try database.beginGroup(
                on: snapshot, timeoutMilliseconds: timeoutMilliseconds,
                maximumLiveVersions: options.maximumLiveVersions, as: writeHolder)
            group = SessionGroup(pages, base: snapshot.copy())
        }
    }

    /// Makes what was committed since `beginGroup` durable and tells the observers. Throws when that failed: what is
    /// above the version that is shown then is not there.
    package func endGroup() throws(DatabaseError) {
        try checkIsLive("end a group of writes")
        try checkCallsNoFunction("end a group of writes")
        guard let group else {
            throw DatabaseError(.notInWrite, "this session collects no group of writes", path: path)
        }
        guard write == nil else {
            throw DatabaseError(
                .alreadyInWrite, "a write of the group is still open; commit or cancel it first", path: path)
        }
        forgetTables()
        self.group = nil
        defer { group.pages.release() }
        do throws(DatabaseError) {
            try group.pages.flush()
        } catch {
            flushedVersion = group.pages.flushed
            takeBack(group)
            throw error
        }
        // Still under the lock, so that it is exactly the version just made. Where that fails, the session goes on
        // showing it from memory.
        if let snapshot { try? database.settle(snapshot, group.pages) }
        for member in group.members { member.outcome?.commit(member.version) }
        epochBase &+= 1
        flushedVersion = group.pages.flushed
        // Observers may write.
        group.pages.release()
        tell(of: group)
    }

    /// The session is being closed by a member: what was committed before is kept.
    func leave(_ group: SessionGroup) {
        self.group = nil
        // Whoever ends the group sees by the version whether that failed.
        try? group.pages.flush()
        flushedVersion = group.pages.flushed
        for member in group.members {
            if member.version > flushedVersion {
                member.outcome?.cancel()
            } else {
                member.outcome?.commit(member.version)
            }
        }
        group.pages.release()
    }

    private func takeBack(_ group: SessionGroup) {
        snapshot = group.base
        previous = nil
        epochBase &+= 1
        // Large writes are flushed before the others.
        let flushed = group.pages.flushed
        if flushed > group.base.version {
            // Observers are notified of it by the next refresh.
            keepPrevious()
            // The flush has failed and is the cause; the next refresh advances.
            _ = try? database.advance(group.base)
        }
        for member in group.members {
            if member.version > flushed {
                births.cancel(member.births)
                member.outcome?.cancel()
            } else {
                member.outcome?.commit(member.version)
            }
        }
        for place in nestedPlaces { place.nested?.groupWasLost(after: flushed) }
    }

    private func tell(of group: SessionGroup) {
        guard let hook, let newest = snapshot else {
            previous = nil
            return
        }
        let before = previous
        guard !group.members.isEmpty else {
            show(newest, after: before)
            return deliver(hook, at: .refresh)
        }
        let last = before?.version == group.base.version ? before : nil
        untold = GroupNews(group.members, newest: newest, after: last)
        tellRest()
    }

    /// Shows each version that is left in turn while its observers are notified. A callback that writes has the others
    /// notified of before it moves the session: they are commits of their own.
    func tellRest() {
        while let next = untold?.next() {
            guard let hook else { break }
            show(next.shown, after: untold?.last)
            untold?.last = next.shown.copy()
            hook.skip(next.skipped)
            deliver(hook, at: .commit)
            // Where nothing could be prepared, they are not skipped with what comes next.
            _ = hook.takeSkipped()
        }
        untold = nil
    }

    private func show(_ other: Snapshot, after last: Snapshot?) {
        forgetTables()
        previous = last
        guard snapshot !== other else { return }
        snapshot = other
        epochBase &+= 1
    }
}
