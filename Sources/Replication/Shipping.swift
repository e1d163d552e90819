/// Shipping a file's changes to a log, step by step: what is new since the last step becomes a batch there, and from
/// time to time the whole file a snapshot, from which new followers start and before which the batches may go.
///
///     S1  what others find in the log is whole
///     S2  batches make a chain without gaps, from the oldest snapshot on; each begins where the one before ends
///     S3  the leader's change log keeps what is not there yet
///     S4  nobody but the one leader adds to the chain: a leader that finds another's batch, or another leader, stops
///
/// It may be killed between any two of its steps, and goes on with what it finds.
import MotteLiveObjects
import MotteStorage
import MotteValues

package struct ShippingOptions: Sendable {
    /// How the leader is called by followers.
    package var name: String
    /// A snapshot is due when the batches since the last one have so many bytes; nil: as many as it has, or a megabyte.
    package var snapshotBytes: Int?
    /// What is older than the newest snapshot before so many seconds ago is removed; nil: nothing is.
    package var keepSeconds: Int64?
    /// The log may be that of another leader, whose changes this file has all.
    package var takesOver = false
    /// The file follows that other leader, and leaves it once the lead is taken.
    package var leavesLeader = false
    /// Writers ask before they commit, and hold the write lock meanwhile: so it is never waited for.
    package var isAsked = false
    /// The file is encrypted, and its changes are not to be.
    package var isPlain = false
    /// Says every few seconds that the leader is there, also while it is busy; `once`: and ends after that.
    package var beats = false
    package var once = false
    /// What has to go on meanwhile as well: another thread does it while this one is busy for long.
    var besides: (@Sendable () -> Void)?
    var besidesMilliseconds = Heartbeat.period * 1_000
    /// Refuses whoever asks for an acknowledgement at this moment, and waits with the write lock; whether anybody did.
    package var refuses: (@Sendable () -> Bool)?
    /// By which name the file keeps its changes for the log; nil: that of the log.
    package var consumer: String?

    package init(name: String) { self.name = name }
}

package enum ShippingStep: Equatable, Sendable {
    /// There was nothing new.
    case nothing
    case changes(from: Version, to: Version, byteCount: Int)
    case snapshot(Version, byteCount: Int)
}

package final class Shipping {
    package let session: Session
    package let origin: ChangeOrigin
    package let log: ReplicationLog
    private let record: LeaderRecord
    private let options: ShippingOptions
    /// Up to where the log has everything; nil: it has nothing.
    package private(set) var shipped: Version?
    /// Of that version there, and up to which version it is known to be that of the file too.
    private var shippedChecksum: UInt32 = 0
    private var compared: Version?
    /// By which name the file keeps its changes for the log, and from where on.
    private let consumer: String
    private var kept: Version?
    private var settledAt = monotonicMilliseconds()
    private var beatAt: Int64?
    /// Another thread says meanwhile that the leader is there.
    private var isBusy = false
    private var newestSnapshot: SnapshotInfo?
    private var bytesSinceSnapshot = 0
    /// Keeping the log from later on is a commit of its own, so it is not done at each step.
    private static let versionsBetweenKeeping: UInt64 = 1_024
    private static let mostVersionsBetweenKeeping: UInt64 = 2_048
    private static let keepingMilliseconds: Int64 = 500
    private static let fewestSnapshotBytes = 1 << 20
    /// What may take long on a slow line.
    private static let largeBytes = 1 << 16
    private static let looksForACommit = 50
    /// Whoever was refused gives the write lock back, and may have it again soon.
    private static let triesBehindARefusal = 50
    private static let microsecondsBetweenTries: Int64 = 50
    /// Since the file was behind what is shipped.
    private var stepsBehind = 0
    private static let stepsBetweenLooks = 10

    package init(_ session: Session, to log: ReplicationLog, _ options: ShippingOptions) throws(DatabaseError) {
        self.session = session
        self.options = options
        self.log = log
        origin = try session.changeOrigin()
        consumer = options.consumer ?? log.consumer
        log.key.isPlain = options.isPlain
        try log.key.use(session.encryptionKey)
        let former = try session.leader()
        if let leader = former, leader.origin != origin, !options.leavesLeader {
            throw DatabaseError(
                .readOnly, "the file follows \(leader.name) and leads nobody; end that with 'motte follow --stop'",
                path: session.path)
        }
        record = LeaderRecord(name: options.name, origin: origin)
        // Before the lead is taken, so that who is refused changes nothing, and again when nobody else adds anything.
        try findShipped(takesIn: false)
        try session.checkConsumer(consumer)
        try takeLead()
        if former != nil { try session.lead(keepingChangesFor: consumer) }
        try findShipped(takesIn: true)
        try keep()
    }

    // MARK: The lead

    private func takeLead() throws(DatabaseError) {
        let found = try log.leader()
        if found == nil, let followed = try session.leader() {
            // Nothing says any more that this file has everything.
            throw DatabaseError(
                .outOfSequence,
                "'\(log.place)' is gone: the file of \(followed.name), who led, makes it again; without that file say "
                    + "'motte follow --stop' for this one, and begin again with it", path: log.place)
        }
        if let found, found.origin != origin {
            guard options.takesOver else { throw otherLeader(found) }
            // What the other one has shipped must be here.
            if let needed = try log.needed(of: found) {
                let position = try session.replicaPosition(needed.origin)
                guard position?.version ?? Version(0) >= needed.version else {
                    throw DatabaseError(
                        .outOfSequence,
                        "\(found.name) has shipped up to version \(needed.version.rawValue), and this file has its "
                            + "changes up to \(position?.version.rawValue ?? 0): follow until it has all, then take "
                            + "over", path: log.place)
                }
            }
        }
        try log.lead(record, inPlaceOf: found, handing: try handover(found))
    }

    /// For those who followed whom this file follows. What it calls objects is not shown where changes are not.
    private func handover(_ former: LeaderRecord?) throws(DatabaseError) -> NameHandover? {
        guard let former, former.origin != origin, session.encryptionKey == nil || options.isPlain,
            let followed = try session.leader()
        else { return nil }
        return try session.handover(of: followed.origin)
    }

    private func otherLeader(_ found: LeaderRecord) -> DatabaseError {
        DatabaseError(
            .historyForked,
            "'\(log.place)' has the changes of \(found.name), which is another file (\(found.origin.text)); ship "
                + "elsewhere, or take over with --take-over once this file has all of its changes", path: log.place)
    }

    // MARK: Where it goes on

    private func findShipped(takesIn: Bool) throws(DatabaseError) {
        guard let end = try log.end(of: origin) else { return }
        try session.refresh()
        if options.isAsked, try end.version > session.version {
            guard takesIn else { return }
            try waitFor(end)
        }
        let now = try session.version
        let reason: String
        if end.version > now {
            reason = "it ends at version \(now.rawValue), and the log has one \(end.version.rawValue)"
        } else if let own = try session.changeChecksum(of: end.version), own != 0, end.checksum != 0,
            own != end.checksum
        {
            reason = "its version \(end.version.rawValue) is another one than the log has"
        } else {
            (shipped, bytesSinceSnapshot, newestSnapshot) = (end.version, end.bytes, end.snapshot)
            shippedChecksum = end.checksum
            return
        }
        throw forked(reason)
    }

    /// Whoever asked last may be about to commit; else what it asked for is taken in as soon as nobody holds the write
    /// lock. A program that tries again and again holds it while it waits for an answer, and is refused meanwhile.
    private func waitFor(_ end: LogEnd) throws(DatabaseError) {
        let batch = try lostBatch(after: try session.version, upTo: end)
        var isLocked = false
        for _ in 0 ..< Self.looksForACommit {
            let tries = options.refuses?() == true ? Self.triesBehindARefusal : 1
            for count in 1 ... tries {
                guard let batch else { break }
                let outcome = try takeIn(batch)
                if outcome == .taken { return }
                isLocked = outcome == .locked
                guard isLocked, count < tries else { break }
                sleepMicroseconds(Self.microsecondsBetweenTries)
            }
            try log.wait(milliseconds: 20)
            try session.refresh()
            if try session.version >= end.version { return }
        }
        if isLocked { throw takenInFirst() }
    }

    /// What reached the log, and not the file: its writer could not tell what became of it, or ended at that moment.
    private func lostBatch(after version: Version, upTo end: LogEnd) throws(DatabaseError) -> ChangeBatch? {
        guard let batch = try log.changes(after: version, of: origin), batch.to == end.version else { return nil }
        return batch
    }

    private enum TakenIn { case taken, locked, impossible }

    private func takeIn(_ batch: ChangeBatch) throws(DatabaseError) -> TakenIn {
        do throws(DatabaseError) {
            try session.takeIn(batch)
            try session.refresh()
            return .taken
        } catch {
            switch error.code {
            case .historyForked, .schemaMismatch, .corrupted, .duplicatePrimaryKey: return .impossible
            case .timeout, .busy: return .locked
            default: throw error
            }
        }
    }

    private func takenInFirst() -> DatabaseError {
        DatabaseError(
            .timeout,
            "'\(session.path)' is being written to, and a commit that '\(log.place)' has is to be taken in first",
            path: log.place)
    }

    private func forked(_ reason: String) -> DatabaseError {
        DatabaseError(
            .historyForked,
            "this file was replaced by an older copy, or lost a commit that was acknowledged, and has gone another way "
                + "than '\(log.place)': \(reason). Restore it from there, or ship it elsewhere", path: log.place)
    }

    /// What was acknowledged before it was committed may have been lost, and something else committed as that version.
    private func compare() throws(DatabaseError) {
        guard let shipped, compared != shipped, try session.version >= shipped else { return }
        if let own = try session.changeChecksum(of: shipped), own != 0, shippedChecksum != 0, own != shippedChecksum {
            throw forked("its version \(shipped.rawValue) is another one than the log has")
        }
        compared = shipped
    }

    /// What was acknowledged is committed, or its writer has ended: then nobody holds the write lock.
    private func lookForLost() throws(DatabaseError) {
        guard options.isAsked, let shipped, try session.version < shipped else { return stepsBehind = 0 }
        stepsBehind += 1
        guard stepsBehind % Self.stepsBetweenLooks == 0 else { return }
        do throws(DatabaseError) { try session.beginWrite(timeoutMilliseconds: 0) } catch {
            guard error.code == .timeout || error.code == .busy else { throw error }
            return
        }
        try session.cancel()
        try session.refresh()
        let now = try session.version
        guard now < shipped else { return }
        if let end = try log.end(of: origin), end.version == shipped, let batch = try lostBatch(after: now, upTo: end) {
            switch try takeIn(batch) {
            case .taken: return
            case .locked: throw takenInFirst()
            case .impossible: break
            }
        }
        throw forked("it ends at version \(now.rawValue), and the log has one \(shipped.rawValue)")
    }

    // MARK: Acknowledging

    /// Called by who is about to commit and holds the write lock: returns when the log has the batch.
    package func acknowledge(_ batch: ChangeBatch) throws(DatabaseError) {
        try session.refresh()
        guard batch.origin == origin, try session.version == batch.from else {
            throw DatabaseError(
                .invalidArgument,
                "what is to be acknowledged is no commit that follows version "
                    + "\(try session.version.rawValue) of the file that is shipped", path: session.path)
        }
        // Whoever waits for it waits for the thread, too.
        if batch.bytes.count < Self.largeBytes { return try add(batch) }
        try whileBusy { () throws(DatabaseError) in try add(batch) }
    }

    private func add(_ batch: ChangeBatch) throws(DatabaseError) {
        try compare()
        if newestSnapshot == nil { _ = try shipSnapshot() }
        if let shipped, shipped < batch.from {
            // What was committed by others, who did not ask; also if it changed nothing that is shipped.
            let missing: ChangeBatch?
            do throws(DatabaseError) { missing = try session.freeze().changeBatch(since: shipped) } catch {
                guard error.code == .historyUnavailable else { throw error }
                missing = nil
            }
            if let missing, !missing.breaksSchema { _ = try ship(missing) } else { _ = try shipSnapshot() }
        }
        // No batch carries it; a snapshot does, as soon as it is committed.
        if batch.breaksSchema { return }
        // That of a writer that has ended since; whoever begins again takes it in.
        if let shipped, shipped > batch.from { throw takenInFirst() }
        guard shipped == batch.from else {
            throw forked("it is at version \(batch.from.rawValue), and the log at \(shipped?.rawValue ?? 0)")
        }
        guard try log.append(batch) else { throw forked("the log has another commit after \(batch.from.rawValue)") }
        (shipped, shippedChecksum) = (batch.to, batch.toChecksum)
        bytesSinceSnapshot += batch.bytes.count
    }

    /// S3. The log is kept from the end of the log's changes on, or from a little before.
    private func keep() throws(DatabaseError) {
        var wanted = shipped
        if wanted == nil { wanted = try session.version }
        var known = kept
        if known == nil { known = try session.keptChanges()[consumer]?.version }
        guard let wanted else { return }
        if let known, known <= wanted, wanted.rawValue - known.rawValue < Self.versionsBetweenKeeping {
            kept = known
            return
        }
        // Somebody may be writing for long: whoever keeps too much waits for a better moment, but among many writers
        // only those have a turn who wait for it.
        var patience: Int64 = -1
        if let known, known <= wanted {
            let surplus = wanted.rawValue - known.rawValue
            patience = surplus < Self.mostVersionsBetweenKeeping ? 0 : Self.keepingMilliseconds
        }
        if options.isAsked { patience = 0 }
        try whileBusy { () throws(DatabaseError) in try keep(from: wanted, waits: patience) }
    }

    private func keep(from version: Version, waits milliseconds: Int64) throws(DatabaseError) {
        do throws(DatabaseError) {
            try session.keepChanges(since: version, for: consumer, timeoutMilliseconds: milliseconds)
            kept = version
        } catch {
            guard milliseconds >= 0, error.code == .timeout || error.code == .busy else { throw error }
        }
    }

    /// For who has nothing to do, each `milliseconds`, or ends: the log is kept from just where the place has
    /// everything, so that nobody takes it for being behind.
    package func settle(milliseconds: Int64 = 0) throws(DatabaseError) {
        let now = monotonicMilliseconds()
        guard now - settledAt >= milliseconds, let kept, let shipped, kept < shipped else { return }
        settledAt = now
        try session.refresh()
        // What only keeps the log does not count: else this would have to be done for ever.
        guard try session.version >= shipped, try session.backlog(after: kept, through: shipped).commits > 0 else {
            return
        }
        try keep(from: shipped, waits: 0)
    }

    // MARK: Steps

    /// Ships what has been committed since the last step.
    package func step() throws(DatabaseError) -> ShippingStep {
        try session.refresh()
        try compare()
        try lookForLost()
        try log.goOnTrimming()
        guard let shipped, newestSnapshot != nil else { return try shipSnapshot() }
        let due = options.snapshotBytes ?? max(Self.fewestSnapshotBytes, newestSnapshot?.byteCount ?? 0)
        let isDue = bytesSinceSnapshot > 0 && bytesSinceSnapshot >= due
        guard try session.version > shipped else {
            // What was acknowledged is shipped already, and counts too.
            guard isDue, try session.version == shipped else { return .nothing }
            return try shipSnapshot()
        }
        return try whileBusy { () throws(DatabaseError) in try shipNew(after: shipped, due: due) }
    }

    private func shipNew(after shipped: Version, due: Int) throws(DatabaseError) -> ShippingStep {
        let isDue = bytesSinceSnapshot > 0 && bytesSinceSnapshot >= due
        let shown = try session.freeze()
        let batch: ChangeBatch
        do throws(DatabaseError) { batch = try shown.changeBatch(since: shipped) } catch {
            // Somebody has let the log be trimmed: the chain begins again.
            guard error.code == .historyUnavailable else { throw error }
            return try shipSnapshot()
        }
        // As when only the log is kept from later on. Commits that undo each other are there, as they are counted.
        if batch.isEmpty, try shown.backlog(after: shipped).commits == 0 {
            return isDue ? try shipSnapshot() : .nothing
        }
        if bytesSinceSnapshot >= due || batch.breaksSchema { return try shipSnapshot() }
        return try ship(batch)
    }

    private func ship(_ batch: ChangeBatch) throws(DatabaseError) -> ShippingStep {
        if batch.bytes.count < Self.largeBytes { return try append(batch) }
        return try whileBusy { () throws(DatabaseError) in try append(batch) }
    }

    private func append(_ batch: ChangeBatch) throws(DatabaseError) -> ShippingStep {
        if try !log.append(batch) {
            try takeUp(batch)
        } else {
            (shipped, shippedChecksum) = (batch.to, batch.toChecksum)
            bytesSinceSnapshot += batch.bytes.count
        }
        try keep()
        return .changes(from: batch.from, to: shipped ?? batch.to, byteCount: batch.bytes.count)
    }

    /// There is a batch from there on: our own, if we were killed after it was added, or that of another leader (S4).
    private func takeUp(_ batch: ChangeBatch) throws(DatabaseError) {
        guard let found = try log.changes(after: batch.from, of: origin) else {
            throw DatabaseError(.busy, "'\(log.place)' is being changed by somebody else", path: log.place)
        }
        let own = try session.changeChecksum(of: found.to)
        guard found.origin == origin, found.to <= batch.to, let own, own == found.toChecksum || own == 0 else {
            throw DatabaseError(
                .historyForked,
                "what is in '\(log.place)' after version \(batch.from.rawValue) is not of this file: another copy of "
                    + "it has shipped there, and only one can lead. Restore this one from there, or ship it elsewhere",
                path: log.place)
        }
        (shipped, shippedChecksum) = (found.to, found.toChecksum)
        bytesSinceSnapshot += found.bytes.count
    }

    /// The whole file at its newest version; the chain goes on from there.
    package func shipSnapshot() throws(DatabaseError) -> ShippingStep {
        try whileBusy { () throws(DatabaseError) in try makeSnapshot() }
    }

    private func makeSnapshot() throws(DatabaseError) -> ShippingStep {
        try session.refresh()
        let shown = try session.freeze()
        let version = try shown.version
        try log.checkLead(shipped: shipped)
        if let shipped, version > shipped {
            // S2: whoever is at the end of the chain goes on to the snapshot.
            do throws(DatabaseError) {
                let batch = try shown.changeBatch(since: shipped)
                guard !batch.breaksSchema else { return try addSnapshot(shown, version) }
                _ = try ship(batch)
                if let end = self.shipped, end != version {
                    return .changes(from: shipped, to: end, byteCount: 0)
                }
            } catch {
                // Somebody has let the log be trimmed: the chain begins again.
                guard error.code == .historyUnavailable else { throw error }
            }
        }
        return try addSnapshot(shown, version)
    }

    private func addSnapshot(_ shown: Session, _ version: Version) throws(DatabaseError) -> ShippingStep {
        let position = try shown.ownPosition()
        let temporary = try log.placeForSnapshot(version)
        try log.step(.make)
        try shown.copy(to: temporary)
        try log.step(.write)
        do throws(DatabaseError) {
            try Following.adopt(temporary, position, session)
        } catch {
            // What failed is what is reported; what is left goes with the next shipping.
            _ = try? Session.deleteFile(SessionOptions(path: temporary))
            throw error
        }
        try log.step(.name)
        let info = SnapshotInfo(
            version: version,
            // A copy does not say when its version was committed.
            wallTimeNanoseconds: position.wallTimeNanoseconds == 0
                ? wallTimeNanoseconds() : position.wallTimeNanoseconds,
            checksum: position.checksum, byteCount: fileBytes(temporary), uptime: .now)
        try log.addSnapshot(info, from: temporary)
        (shipped, newestSnapshot, bytesSinceSnapshot) = (version, info, 0)
        shippedChecksum = info.checksum
        try trim()
        try keep()
        return .snapshot(version, byteCount: info.byteCount)
    }

    /// Removes what nobody needs who wants a time of the last `keepSeconds`: never the newest snapshot.
    private func trim() throws(DatabaseError) {
        guard let seconds = options.keepSeconds else { return }
        let ages = SnapshotAges(
            try log.allSnapshots(), leader: origin, wallTimeNanoseconds: wallTimeNanoseconds(), uptime: .now)
        if let base = ages.newest(asOldAs: seconds) { try log.trim(before: base) }
    }

    // MARK: Being there

    /// Every few seconds: looks whether the file and the lead are still this one's, and the newest snapshot is there,
    /// and says that the leader is there.
    package func beat() throws(DatabaseError) {
        let now = monotonicMilliseconds()
        if let beatAt, now - beatAt < Heartbeat.period * 1_000 { return }
        beatAt = now
        try session.checkPlace()
        try log.checkLead(shipped: shipped)
        // The next step makes another one.
        if let known = newestSnapshot, try !log.has(known) { newestSnapshot = nil }
        guard options.beats else { return }
        try log.beat(heartbeat(at: try session.version))
    }

    private func heartbeat(at version: Version) -> Heartbeat {
        Heartbeat(
            origin: origin, wallTimeNanoseconds: wallTimeNanoseconds(), version: version,
            seconds: options.once ? 0 : Heartbeat.period)
    }

    /// For whatever may take long: a large commit, a snapshot, somebody else's write.
    private func whileBusy<Result>(_ work: () throws(DatabaseError) -> Result) throws(DatabaseError) -> Result {
        guard options.beats, !isBusy else { return try work() }
        isBusy = true
        defer { isBusy = false }
        let version = try session.version
        // The log gets heartbeats from there; what else is asked of it meanwhile goes by the same connection.
        nonisolated(unsafe) let shipping = self
        let beating = { @Sendable () -> Void in
            shipping.options.besides?()
            // The next one comes a little later.
            _ = try? shipping.log.beat(shipping.heartbeat(at: version))
        }
        return try Pulse.beside(everyMilliseconds: options.besidesMilliseconds, beating, work)
    }
}
