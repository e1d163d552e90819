/// A file that is to follow another leader than it did, or led itself, begins again (T3): it is set aside, and the
/// newest snapshot takes its place.
import MotteLiveObjects
import MotteStorage
import MotteValues

extension Standby {
    func renew(
        _ session: Session, _ origin: ChangeOrigin, _ followed: FollowedLeader?, _ leader: LeaderRecord
    ) throws(DatabaseError) -> StandbyEvent {
        let end = try log.end(of: origin)
        // It may have commits of its own: it led, also where its writers were refused since.
        var hasLed = followed == nil || end != nil
        if let followed, try session.replicaPosition(followed.origin) == nil { hasLed = true }
        let newest = try renewal.newest(of: leader)
        guard try isOfTheLog(session, origin, end, newest, leader) else {
            renewal.forget()
            throw DatabaseError(
                .invalidArgument,
                "this file has nothing of \(leader.name), and '\(log.place)' nothing of this file: name a new one",
                path: path)
        }
        try leaveLease(holder(origin))
        if followed == nil { try refuseWriters(session, leader) }
        let batch = try hasLed ? keepUnshipped(session, origin, end) : nil
        _ = try session.close()
        let aside = try renewal.replace(with: newest, of: leader, instead: hasLed ? nil : followed?.origin)
        needsRenewal = false
        return .setAside(file: aside, batch: batch)
    }

    // MARK: What it was

    /// Up to where the log has what this file has: it may have gone another way before the log's end.
    private func shared(
        _ session: Session, _ origin: ChangeOrigin, _ end: LogEnd
    ) throws(DatabaseError) -> Version {
        func isSame(_ version: Version, _ checksum: UInt32) throws(DatabaseError) -> Bool {
            guard let own = try session.changeChecksum(of: version) else { return false }
            return own == checksum || own == 0 || checksum == 0
        }
        if try isSame(end.version, end.checksum) { return end.version }
        var shared = Version(0)
        for info in try log.snapshots(of: origin) where try isSame(info.version, info.checksum) {
            shared = info.version
        }
        while let batch = try log.changes(after: shared, of: origin), batch.to > shared,
            try isSame(batch.to, batch.toChecksum)
        { shared = batch.to }
        return shared
    }

    /// Who holds the write lock may be waiting for this process to acknowledge, and is answered before the next try.
    private func refuseWriters(_ session: Session, _ leader: LeaderRecord) throws(DatabaseError) {
        do throws(DatabaseError) {
            try session.follow(
                FollowedLeader(origin: leader.origin, name: leader.name, source: log.place), timeoutMilliseconds: 0)
        } catch {
            guard error.code == .timeout else { throw error }
            throw DatabaseError(.busy, "'\(path)' is being written to; try again when that has ended", path: path)
        }
    }

    /// Files that have nothing to do with the log are left alone.
    private func isOfTheLog(
        _ session: Session, _ origin: ChangeOrigin, _ end: LogEnd?, _ newest: SnapshotInfo, _ leader: LeaderRecord
    ) throws(DatabaseError) -> Bool {
        if end != nil { return true }
        if try log.foundLeader()?.before?.origin == origin { return true }
        let positions = try session.replicaPositions()
        let led = try log.origins()
        if positions.contains(where: { led.contains($0.origin) }) { return true }
        // The log may have been trimmed since; a leader's file keeps what it has of all who led before it.
        var known: Set<ChangeOrigin> = [leader.origin]
        for position in try renewal.origins(in: newest, of: leader) { known.insert(position.origin) }
        return known.contains(origin) || positions.contains { known.contains($0.origin) }
    }

    /// What was committed after the log's end, beside the file; nil where there is nothing, or no way to tell.
    private func keepUnshipped(
        _ session: Session, _ origin: ChangeOrigin, _ end: LogEnd?
    ) throws(DatabaseError) -> String? {
        // Of an encrypted file the former one alone is kept, which is.
        guard let end, options.encryptionKey == nil || own.shipping.isPlain else { return nil }
        let shown = try session.freeze()
        let shared = try self.shared(session, origin, end)
        // Since the beginning would be everything.
        guard shared > Version(0), try shown.version > shared else { return nil }
        let batch: ChangeBatch
        do throws(DatabaseError) { batch = try shown.changeBatch(since: shared) } catch {
            guard error.code == .historyUnavailable else { throw error }
            return nil
        }
        guard !batch.isEmpty else { return nil }
        let (folder, base) = FilePath.split(path)
        let place = try LogFolder(folder, making: false)
        let start = "\(base).unshipped-\(shared.rawValue)-\(batch.to.rawValue)"
        var name = start + ".batch"
        var number = 1
        // One of that name is this one, from before this process was killed, or another: versions come again.
        while try !place.create(name, batch.bytes), try place.read(name) != batch.bytes {
            number += 1
            name = "\(start)-\(number).batch"
        }
        return path.utf8.contains(UInt8(ascii: "/")) ? "\(folder)/\(name)" : name
    }
}
