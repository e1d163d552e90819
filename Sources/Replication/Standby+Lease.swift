/// Taking and renewing the lease, and what becomes of one whose bucket does not answer any more.
///
/// Servers can lose a bucket: nats-server 2.9.10 resets a replica that disagrees with the others about its last
/// message, and two that have been reset wait for each other for ever; or each server knows another bucket of that
/// name, none of which has a majority, and removing it changes nothing. The lease only says when it is time to try
/// (T1), so another bucket, by another name, takes its place once it has not answered for long while the log did.
/// Whoever leads says by which number its bucket goes.
import MotteValues

struct HeldLease {
    var number: UInt64 = 1
    var revision: UInt64 = 0
    /// For how long it lasts by what the bucket says, which may be of another machine, or of before this one's options
    /// were changed.
    var milliseconds: Int64?
    var renewedAt: Int64 = 0
    /// Since when there has been no answer.
    var silentSince: Int64?
}

extension Standby {
    /// Without an answer for so many times as long as the lease lasts, another bucket is made.
    private static let longestSilence: Int64 = 10

    /// Until the bucket has been asked, as long as this one's options say.
    package var leaseMilliseconds: Int64 { lease.milliseconds ?? Int64(own.leaseSeconds) * 1_000 }

    func takeLease(_ holder: String) throws(DatabaseError) -> Bool {
        try listening { () throws(DatabaseError) in try take(holder) }
    }

    /// If it is this one's.
    func leaveLease(_ holder: String) throws(DatabaseError) {
        _ = try listening { () throws(DatabaseError) in
            guard let held = try log.server.lease(), held.holder.hasSameBytes(as: holder) else { return false }
            try log.server.leaveLease(after: held.revision)
            return true
        }
    }

    /// As after the last time; where it is another one by now, it is looked at again.
    func renewLease(_ holder: String) throws(DatabaseError) -> Bool {
        try listening { () throws(DatabaseError) in
            let taken: UInt64?
            do throws(DatabaseError) {
                taken = try log.server.takeLease(holder, seconds: own.leaseSeconds, after: lease.revision)
            } catch {
                // Somebody may have made another bucket.
                guard error.code == .timeout, try log.server.lease() == nil else { throw error }
                return try take(holder)
            }
            guard let taken else { return try take(holder) }
            (lease.revision, lease.renewedAt) = (taken, log.server.milliseconds)
            return true
        }
    }

    /// Each third of its time. Whether it was lost is found out after that.
    func renewWhileBusy(_ holder: String) {
        guard log.server.milliseconds - lease.renewedAt >= leaseMilliseconds / 3 else { return }
        // The next renewal, or the end of the lease, says what is wrong.
        _ = try? renewLease(holder)
    }

    private func take(_ holder: String) throws(DatabaseError) -> Bool {
        let held = try log.server.lease()
        // Whoever waits looks as often as the lease may run out.
        if lease.milliseconds == nil { lease.milliseconds = try log.server.leaseMilliseconds() }
        guard held.map({ $0.holder.isEmpty || $0.holder.hasSameBytes(as: holder) }) ?? true else { return false }
        guard let taken = try log.server.takeLease(holder, seconds: own.leaseSeconds, after: held?.revision ?? 0) else {
            return false
        }
        (lease.revision, lease.renewedAt) = (taken, log.server.milliseconds)
        // The bucket may have been made just now, by this one or another.
        lease.milliseconds = try log.server.leaseMilliseconds()
        return true
    }

    /// Also that there is none yet.
    private var logAnswers: Bool {
        do throws(DatabaseError) { _ = try log.server.range(of: .log) } catch { return false }
        return true
    }

    private func listening(_ body: () throws(DatabaseError) -> Bool) throws(DatabaseError) -> Bool {
        if lease.number != log.server.leaseNumber {
            lease = HeldLease(number: log.server.leaseNumber, renewedAt: lease.renewedAt)
        }
        do throws(DatabaseError) {
            let answer = try body()
            lease.silentSince = nil
            return answer
        } catch {
            guard error.code == .timeout else { throw error }
            // Where the log does not answer either, it is not the bucket; nor is it where all servers were away.
            guard logAnswers else {
                lease.silentSince = nil
                throw error
            }
            let now = log.server.milliseconds
            let since = lease.silentSince ?? now
            lease.silentSince = since
            guard now - since >= leaseMilliseconds * Self.longestSilence else { throw error }
            // Where nobody can remove it either it stays.
            log.server.dropLease()
            log.server.leaseNumber = lease.number + 1
            throw error
        }
    }
}
