/// A file that follows, and leads when nobody else does: one of several on different machines, all begun alike.
///
///     T1  who leads is settled by the log (L1); the lease says only when it is time to try, so that two who believe to
///         hold it do no harm
///     T2  it takes the lead only with everything that the log has: the message by which it begins stands right after
///         the last one that it has applied
///     T3  a file that led, or followed who leads no longer, is set aside and begun again from the newest snapshot;
///         what it had committed and not shipped is kept as a batch, and its writers are refused from before then on
///     T4  it may be killed between any two steps: role and position are in the file and in the log alone
import MotteLiveObjects
import MotteStorage
import MotteValues

package struct StandbyOptions: Sendable {
    package var shipping: ShippingOptions
    /// For how long a leader that is gone keeps others from taking over.
    package var leaseSeconds: Int

    package init(_ shipping: ShippingOptions, leaseSeconds: Int) {
        self.shipping = shipping
        self.leaseSeconds = leaseSeconds
    }
}

package enum StandbyEvent: Equatable, Sendable {
    case nothing
    case follows(String, from: Version)
    case leads(from: Version)
    case following(FollowingStep)
    case leading(ShippingStep)
    /// It leads or follows no longer, and begins again; why.
    case ended(String)
    /// The file got another name, and another one took its place; with what was not shipped, if anything was.
    case setAside(file: String?, batch: String?)
}

package final class Standby {
    private enum Role {
        case nobody
        case following(Following)
        case leading(Shipping)
    }

    private let options: SessionOptions
    private let path: String
    private let log: StreamLog
    private let own: StandbyOptions
    private var role = Role.nobody
    private var needsRenewal = false
    private var revision: UInt64 = 0
    private var lookedAt: Int64?
    private var renewedAt: Int64 = 0

    package init(_ options: SessionOptions, _ log: StreamLog, _ own: StandbyOptions) throws(DatabaseError) {
        guard case .file(let path) = options.location else {
            throw DatabaseError(.invalidArgument, "what follows and may lead is a file")
        }
        (self.options, self.path, self.log, self.own) = (options, path, log, own)
        log.key.isPlain = own.shipping.isPlain
        try log.key.use(options.encryptionKey)
    }

    package var shipping: Shipping? { if case .leading(let shipping) = role { shipping } else { nil } }
    package var following: Following? { if case .following(let following) = role { following } else { nil } }

    package func close() {
        // What was committed is there; whoever closes has no write open.
        _ = try? (shipping?.session ?? following?.session)?.close()
        role = .nobody
    }

    package func step() throws(DatabaseError) -> StandbyEvent {
        switch role {
        case .nobody: try begin()
        case .following(let following): try follow(following)
        case .leading(let shipping): try lead(shipping)
        }
    }

    /// The one who leads by what the file says goes on with it.
    private func holder(_ origin: ChangeOrigin) -> String { "\(own.shipping.name) \(origin.text)" }

    // MARK: Beginning

    private func begin() throws(DatabaseError) -> StandbyEvent {
        let leader = try log.leader()
        guard try Session.exists(options) else { return try beginFollowing(try log.knownLeader()) }
        var existing = options
        existing.noCreate = true
        let session = try Session.open(existing)
        do throws(DatabaseError) {
            let origin = try session.changeOrigin()
            let followed = try session.leader()
            if leader?.origin == origin || leader == nil && followed == nil, !needsRenewal {
                return try beginLeading(session, origin)
            }
            guard let leader else { throw StreamLog.gone(log.place) }
            if try isFollower(session, followed, of: leader), !needsRenewal {
                _ = try session.close()
                return try beginFollowing(leader)
            }
            return try renew(session, origin, followed, leader)
        } catch {
            // What failed is what is reported.
            if case .nobody = role { _ = try? session.close() }
            throw error
        }
    }

    /// Of that leader: it has something of it, and has not gone a way of its own since.
    private func isFollower(
        _ session: Session, _ followed: FollowedLeader?, of leader: LeaderRecord
    ) throws(DatabaseError) -> Bool {
        guard try session.replicaPosition(leader.origin) != nil, try !session.hasLeft() else { return false }
        return followed == nil || followed?.origin == leader.origin
    }

    private func beginFollowing(_ leader: LeaderRecord) throws(DatabaseError) -> StandbyEvent {
        let following = try Following(options, from: log)
        role = .following(following)
        lookedAt = nil
        return .follows(leader.name, from: following.position.version)
    }

    /// By what the file and the log say this one leads, or nobody does yet.
    private func beginLeading(_ session: Session, _ origin: ChangeOrigin) throws(DatabaseError) -> StandbyEvent {
        guard try takeLease(holder(origin)) else {
            _ = try session.close()
            return .nothing
        }
        return try beginLeading(session, takesOver: false)
    }

    private func beginLeading(_ session: Session, takesOver: Bool) throws(DatabaseError) -> StandbyEvent {
        var shipping = own.shipping
        shipping.takesOver = takesOver
        shipping.leavesLeader = true
        do throws(DatabaseError) {
            role = .leading(try Shipping(session, to: log, shipping))
        } catch {
            guard error.code == .historyForked, !takesOver else { throw error }
            // The log has what this file lost, or another one leads.
            needsRenewal = true
            _ = try session.close()
            return .ended(error.message)
        }
        return .leads(from: try session.version)
    }

    private func takeLease(_ holder: String) throws(DatabaseError) -> Bool {
        let held = try log.server.lease()
        guard held == nil || held?.holder == holder else { return false }
        guard let taken = try log.server.takeLease(holder, seconds: own.leaseSeconds, after: held?.revision ?? 0) else {
            return false
        }
        (revision, renewedAt) = (taken, log.server.milliseconds)
        return true
    }

    /// As after the last time; where it is another one by now, it is looked at again.
    private func renewLease(_ holder: String) throws(DatabaseError) -> Bool {
        let taken = try log.server.takeLease(holder, seconds: own.leaseSeconds, after: revision)
        guard let taken else { return try takeLease(holder) }
        (revision, renewedAt) = (taken, log.server.milliseconds)
        return true
    }

    // MARK: Following

    private func follow(_ following: Following) throws(DatabaseError) -> StandbyEvent {
        let step: FollowingStep
        do throws(DatabaseError) { step = try following.step() } catch {
            if error.code == .historyForked || error.code == .outOfSequence {
                needsRenewal = error.code == .outOfSequence
                close()
                return .ended(error.message)
            }
            throw error
        }
        guard step == .nothing else { return .following(step) }
        let now = log.server.milliseconds
        guard now - (lookedAt ?? .min / 2) >= Int64(own.leaseSeconds) * 250 else { return .nothing }
        lookedAt = now
        guard try takeLease(holder(try following.session.changeOrigin())) else { return .nothing }
        do throws(DatabaseError) {
            // T2.
            return try beginLeading(following.session, takesOver: true)
        } catch {
            // Somebody else gets on with it, or this one when it has the rest.
            try log.server.leaveLease(after: revision)
            guard [.outOfSequence, .historyForked].contains(error.code) else {
                // The lead may have been taken, or not: the log says.
                close()
                throw error
            }
            return .nothing
        }
    }

    // MARK: Leading

    private func lead(_ shipping: Shipping) throws(DatabaseError) -> StandbyEvent {
        var isRenewed = false
        if log.server.milliseconds - renewedAt >= Int64(own.leaseSeconds) * 1_000 / 3 {
            guard try renewLease(holder(shipping.origin)) else {
                close()
                return .ended("somebody else holds the lease")
            }
            isRenewed = true
        }
        do throws(DatabaseError) {
            // Whoever has nothing to ship finds out here that another one leads.
            if isRenewed { try log.checkLead(shipped: shipping.shipped) }
            return .leading(try shipping.step())
        } catch {
            try failed(error)
            return .ended(error.message)
        }
    }

    /// What an acknowledgement or a step of the leader ended with.
    package func failed(_ error: DatabaseError) throws(DatabaseError) {
        switch error.code {
        case .historyForked:
            // The log goes on without it, or with a commit that it lost.
            needsRenewal = true
            close()
        case .timeout, .busy:
            close()
            throw error
        default: throw error
        }
    }

    // MARK: Beginning again

    /// T3.
    private func renew(
        _ session: Session, _ origin: ChangeOrigin, _ followed: FollowedLeader?, _ leader: LeaderRecord
    ) throws(DatabaseError) -> StandbyEvent {
        let end = try log.end(of: origin)
        guard try isOfTheLog(session, origin, followed, end) else {
            throw DatabaseError(
                .invalidArgument,
                "this file has nothing of \(leader.name), and '\(log.place)' nothing of this file: name a new one",
                path: path)
        }
        if let held = try log.server.lease(), held.holder == holder(origin) {
            try log.server.leaveLease(after: held.revision)
        }
        // It may have commits of its own.
        let hasLed = followed == nil || end != nil
        guard let newest = try log.snapshots(of: leader.origin).last else {
            throw DatabaseError(
                .fileNotFound, "there is no snapshot in '\(log.place)' yet to begin with", path: log.place)
        }
        if followed == nil { try refuseWriters(session, leader) }
        let batch = try hasLed ? keepUnshipped(session, end) : nil
        _ = try session.close()
        let aside = try unusedName()
        let temporary = try Session.temporaryName(beside: aside, "copying")
        try log.copySnapshot(newest, of: leader.origin, to: temporary, encryptionKey: options.encryptionKey)
        do throws(DatabaseError) {
            try Session.rename(path, to: aside)
        } catch {
            // Somebody has it open; what failed is what is reported.
            _ = try? Session.deleteFile(SessionOptions(path: temporary))
            throw error
        }
        try Session.rename(temporary, to: path)
        needsRenewal = false
        guard !hasLed else { return .setAside(file: aside, batch: batch) }
        // Everything in it came from the log.
        _ = try Session.deleteFile(SessionOptions(path: aside))
        return .setAside(file: nil, batch: nil)
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
        _ session: Session, _ origin: ChangeOrigin, _ followed: FollowedLeader?, _ end: LogEnd?
    ) throws(DatabaseError) -> Bool {
        if followed != nil || end != nil { return true }
        if try log.foundLeader()?.before?.origin == origin { return true }
        for position in try session.replicaPositions() {
            if try log.end(of: position.origin) != nil { return true }
        }
        return false
    }

    private func unusedName() throws(DatabaseError) -> String {
        var number = 1
        while fileBytes("\(path).former-\(number)") > 0 { number += 1 }
        return "\(path).former-\(number)"
    }

    /// What was committed after the log's end, beside the file; nil where there is nothing, or no way to tell.
    private func keepUnshipped(_ session: Session, _ end: LogEnd?) throws(DatabaseError) -> String? {
        // Of an encrypted file the former one alone is kept, which is.
        guard let end, options.encryptionKey == nil || own.shipping.isPlain else { return nil }
        let shown = try session.freeze()
        guard try shown.version > end.version else { return nil }
        let batch: ChangeBatch
        do throws(DatabaseError) { batch = try shown.changeBatch(since: end.version) } catch {
            guard error.code == .historyUnavailable else { throw error }
            return nil
        }
        guard !batch.isEmpty else { return nil }
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { String(path[..<$0]) } ?? "."
        let base = slash.map { String(path[path.index(after: $0)...]) } ?? path
        let name = "\(base).unshipped-\(end.version.rawValue)-\(batch.to.rawValue).batch"
        // One of that name is this one, from before this process was killed.
        _ = try LogFolder(folder, making: false).create(name, batch.bytes)
        return slash == nil ? name : "\(folder)/\(name)"
    }
}
