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
    /// For how long a leader that is gone keeps others from taking over: in a bucket that this one makes.
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

    let options: SessionOptions
    let path: String
    let log: StreamLog
    let own: StandbyOptions
    private var role = Role.nobody
    var needsRenewal = false
    var lease = HeldLease()
    private var lookedAt: Int64?
    let renewal: Renewal

    package init(_ options: SessionOptions, _ log: StreamLog, _ own: StandbyOptions) throws(DatabaseError) {
        guard case .file(let path) = options.location else {
            throw DatabaseError(.invalidArgument, "what follows and may lead is a file")
        }
        (self.options, self.path, self.log, self.own) = (options, path, log, own)
        renewal = try Renewal(options, from: log)
        log.key.isPlain = own.shipping.isPlain
        try log.key.use(options.encryptionKey)
    }

    package var shipping: Shipping? { if case .leading(let shipping) = role { shipping } else { nil } }
    package var following: Following? { if case .following(let following) = role { following } else { nil } }

    package func close() {
        // What was committed is there; whoever closes has no write open.
        _ = try? (shipping?.session ?? following?.session)?.close()
        role = .nobody
        renewal.forget()
    }

    package func step() throws(DatabaseError) -> StandbyEvent {
        switch role {
        case .nobody: try begin()
        case .following(let following): try follow(following)
        case .leading(let shipping): try lead(shipping)
        }
    }

    /// The one who leads by what the file says goes on with it.
    func holder(_ origin: ChangeOrigin) -> String { "\(own.shipping.name) \(origin.text)" }

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
            var follows = try isFollower(session, followed, of: leader)
            if let followed, !follows, !needsRenewal {
                follows = try Following.goOn(session, after: followed.origin, in: log, with: leader)
            }
            if follows, !needsRenewal {
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
        if shipping.beats {
            // The thread that steps is busy then, and nobody else uses the lease.
            nonisolated(unsafe) let standby = self
            let holder = holder(try session.changeOrigin())
            shipping.besides = { standby.renewWhileBusy(holder) }
            shipping.besidesMilliseconds = max(50, leaseMilliseconds / 6)
        }
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

    // MARK: Following

    private func follow(_ following: Following) throws(DatabaseError) -> StandbyEvent {
        let step: FollowingStep
        do throws(DatabaseError) { step = try following.step() } catch {
            if [.historyForked, .outOfSequence, .schemaMismatch].contains(error.code) {
                // Where another one leads it is asked first whether this file can go on with that one.
                needsRenewal = error.code != .historyForked
                if !needsRenewal { needsRenewal = try log.leader()?.origin == following.leader.origin }
                close()
                return .ended(error.message)
            }
            throw error
        }
        if step == .left {
            throw DatabaseError(
                .invalidArgument, "'\(path)' follows \(following.leader.name) no longer: somebody has ended that",
                path: path)
        }
        guard step == .nothing else { return .following(step) }
        let now = log.server.milliseconds
        guard now - (lookedAt ?? .min / 2) >= leaseMilliseconds / 4 else { return .nothing }
        lookedAt = now
        // Where the streams are gone it is for who led to make others (L6).
        guard try log.leader() != nil else { throw StreamLog.gone(log.place) }
        guard try takeLease(holder(try following.session.changeOrigin())) else { return .nothing }
        do throws(DatabaseError) {
            // T2.
            return try beginLeading(following.session, takesOver: true)
        } catch {
            // Somebody else gets on with it, or this one when it has the rest.
            try log.server.leaveLease(after: lease.revision)
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
        if log.server.milliseconds - lease.renewedAt >= leaseMilliseconds / 3 {
            guard try renewLease(holder(shipping.origin)) else {
                close()
                return .ended("somebody else holds the lease")
            }
            isRenewed = true
        }
        do throws(DatabaseError) {
            // Whoever has nothing to ship finds out here that another one leads.
            if isRenewed {
                try log.sayLeaseNumber()
                try log.checkLead(shipped: shipping.shipped)
            }
            return .leading(try shipping.step())
        } catch {
            try failed(error)
            return .ended(error.message)
        }
    }

    /// What an acknowledgement or a step of the leader ended with.
    package func failed(_ error: DatabaseError) throws(DatabaseError) {
        switch error.code {
        case .schemaChanged:
            // Another session knows the new one.
            close()
        case .historyForked:
            // The log goes on without it, or with a commit that it lost.
            needsRenewal = true
            close()
        case .timeout, .busy, .outcomeUnknown, .fileNotFound, .inputOutput:
            // What the log has is asked again by who begins again.
            close()
            throw error
        default: throw error
        }
    }
}
