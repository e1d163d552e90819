/// The log as two streams of a server: one with leaders, batches and marks of snapshots in their order, one with the
/// bytes of snapshots.
///
///     L1  a leader begins with a message in the log; it adds each of its messages as the next number after the one it
///         added last. Once another one has begun, every number it may use is taken: it adds nothing any more, whether
///         it knows of that or not
///     L2  a message whose answer does not come is sent again under its name and number, until the stream says what is
///         there, also where it says half of that and then nothing more; who gives that up begins to lead again before
///         anything else, so that it can't come later
///     L3  a batch in parts is there when its last part is; parts before another message never get one
///     L4  what is found at a number is the message that was added there; an answer of "nothing" is one only beyond
///         the end that the stream's leader gives
///     L5  who leads is whose message of a leader is the last one. Each other message says in which leader's term it
///         was added; one that stands behind the message of a later leader is passed over, as where a server has lost
///         the end of a stream and its numbers are given again
///     L6  a leader adds to the stream in which it began, and to none that was made in its place: what it has sent, and
///         what comes late, reaches that stream or none. Where the streams are gone the file that led makes others,
///         and begins with a snapshot; who only followed does not, as nothing says that it has everything
import CMotteShim
import MotteLiveObjects
import MotteStorage
import MotteValues

package final class StreamLog: ReplicationLog {
    package var place: String { server.place }
    package let key = BatchKey()
    package let server: LogServer
    /// For how long one message is sent again before its outcome is given up as unknown.
    private let patienceMilliseconds: Int64
    private static let retryMilliseconds: Int64 = 20

    struct Leading {
        var record: LeaderRecord
        /// Of the log's stream.
        var identity: String
        /// Number of the message by which it began.
        var term: UInt64
        /// Number of the first message of this origin.
        var since: UInt64
        /// Number of what was added last.
        var last: UInt64
        var bytesSinceSnapshot: Int
        /// As its message says it.
        var leaseNumber: UInt64
    }
    var leading: Leading?
    /// Where reading goes on.
    var cursor: Cursor?
    package internal(set) var maySeeGap = false
    /// Up to where `end` has looked, and what `needed` has found there.
    var lastSeen: (identity: String, number: UInt64)?
    /// What nobody needs any more. It goes bit by bit, as commits wait meanwhile.
    var trimming: [(stream: LogStream, numbers: Range<UInt64>)] = []
    static let removedAtOnce = 64
    private var neededSeen: LogPosition?
    package var temporaryFolder = ScratchFile.namedFolder ?? "/tmp"
    /// Of the snapshot that is being made.
    var snapshotFolder: SnapshotFolder?

    package init(_ server: LogServer, patienceMilliseconds: Int64 = 10_000) {
        self.server = server
        self.patienceMilliseconds = patienceMilliseconds
    }

    package func wait(milliseconds: Int64) throws(DatabaseError) { try server.wait(milliseconds: milliseconds) }

    // MARK: Leaders

    package struct FoundLeader {
        var record: LeaderRecord
        /// Of its message.
        var number: UInt64
        /// Number of the first message of its origin.
        var since: UInt64
        /// Where whoever led before ended, which the leader had before it began.
        var before: LogPosition?
        /// What it calls the objects of whoever led before.
        package internal(set) var handover: HandoverPlace?
        /// What was in the log, as far as was looked.
        var range: LogRange
    }

    /// L5. nil where the log is empty, or not there.
    package func foundLeader() throws(DatabaseError) -> FoundLeader? {
        var asked: LogRange?
        while let range = try server.range(of: .log), range.first <= range.last {
            if let message = try server.last(.leader), message.identity == range.identity {
                return try foundLeader(message, range)
            }
            // The server may have been begun again between the two answers, and have another stream by now.
            guard range.identity != asked?.identity else {
                throw DatabaseError(.corrupted, "'\(place)' has messages and no leader", path: place)
            }
            asked = range
        }
        return nil
    }

    private func foundLeader(_ message: LogMessage, _ range: LogRange) throws(DatabaseError) -> FoundLeader {
        let place = name(message.number)
        let text = try LogText(message.bytes, place)
        // Others may have found that the bucket before answers nobody.
        if text.values["lease"] != nil {
            let number: UInt32 = try text.number("lease", place)
            server.leaseNumber = max(server.leaseNumber, UInt64(number))
        }
        return FoundLeader(
            record: try LeaderRecord(text, place), number: message.number,
            since: try text.number("since", place), before: try LogPosition(former: text, place),
            handover: try HandoverPlace(text, place), range: range)
    }

    package func needed(of leader: LeaderRecord) throws(DatabaseError) -> LogPosition? {
        if let end = try shippedEnd(of: leader.origin) {
            neededSeen = LogPosition(origin: leader.origin, version: end.version)
        } else {
            let found = try foundLeader()
            neededSeen = found?.record.origin == leader.origin ? found?.before : nil
        }
        return neededSeen
    }

    func name(_ number: UInt64) -> String { "\(place), message \(number)" }

    package func leader() throws(DatabaseError) -> LeaderRecord? { try foundLeader()?.record }

    package func lead(
        _ record: LeaderRecord, inPlaceOf former: LeaderRecord?, handing handover: NameHandover?
    ) throws(DatabaseError) {
        leading = nil
        // Its numbers may be those of a stream that is gone.
        trimming = []
        SnapshotFolder.removeLeftovers(in: temporaryFolder)
        if former == nil { try server.prepare() }
        let handed = try handover.flatMap { handover throws(DatabaseError) in try put(handover) }
        while true {
            let found = try foundLeader()
            guard found?.record.origin == former?.origin else {
                throw found.map { deposed(by: $0.record, after: nil) } ?? Self.gone(place)
            }
            // What the former one has added since `end` looked would be passed over.
            let isTakeover = former != nil && former?.origin != record.origin
            var last = found?.range.last ?? 0
            var identity = found?.range.identity ?? ""
            if isTakeover {
                (identity, last) = lastSeen ?? (identity, 0)
            } else if found == nil {
                let range = try knownRange()
                (identity, last) = (range.identity, range.last)
            }
            let since = isTakeover ? last + 1 : found?.since ?? last + 1
            let before = isTakeover ? neededSeen : found?.before
            let beginning = Beginning(
                record: record, since: since, before: before, handover: isTakeover ? handed : found?.handover)
            let leaseNumber = server.leaseNumber
            guard let term = try begin(beginning, leaseNumber, in: identity, after: last) else {
                guard !isTakeover else {
                    throw DatabaseError(
                        .outOfSequence,
                        "more has come to '\(place)' meanwhile: follow until this file has all, then "
                            + "take over", path: place)
                }
                continue
            }
            leading = Leading(
                record: record, identity: identity, term: term, since: since, last: term, bytesSinceSnapshot: 0,
                leaseNumber: leaseNumber)
            leading?.bytesSinceSnapshot = try end(of: record.origin)?.bytes ?? 0
            return try server.tell()
        }
    }

    /// What a leader says when it begins.
    private struct Beginning {
        var record: LeaderRecord
        var since: UInt64
        var before: LogPosition?
        var handover: HandoverPlace?
    }

    /// nil where something else is there by now.
    private func begin(
        _ beginning: Beginning, _ leaseNumber: UInt64, in identity: String, after last: UInt64
    ) throws(DatabaseError) -> UInt64? {
        var number: UInt64 = 0
        withUnsafeMutableBytes(of: &number) { _ = motte_shim_random($0.baseAddress, $0.count) }
        let once = String(number, radix: 16)
        var values = beginning.record.values
        values["since"] = "\(beginning.since)"
        values["once"] = once
        if leaseNumber > 1 { values["lease"] = "\(leaseNumber)" }
        if let handover = beginning.handover { values.merge(handover.values) { $1 } }
        if let before = beginning.before { values.merge(before.valuesOfFormer) { $1 } }
        return try add(LogText(values).bytes, .leader, name: "leader-\(once)", in: identity, after: last)
    }

    /// Whoever comes later is to look at the same bucket as the leader.
    package func sayLeaseNumber() throws(DatabaseError) {
        guard let leading, leading.leaseNumber != server.leaseNumber else { return }
        try lead(leading.record, inPlaceOf: leading.record, handing: nil)
    }

    static func gone(_ place: String) -> DatabaseError {
        DatabaseError(.fileNotFound, "'\(place)' is gone: it names no leader any more", path: place)
    }

    package func checkLead(shipped: Version?) throws(DatabaseError) {
        guard let leading else { throw DatabaseError(.internal, "this process does not lead '\(place)'") }
        guard let found = try foundLeader() else { throw Self.gone(place) }
        guard found.number > leading.term || found.range.identity != leading.identity else { return }
        guard found.record.origin == leading.record.origin else { throw deposed(by: found.record, after: shipped) }
        throw DatabaseError(.busy, "another process ships this file to '\(place)'; end one of them", path: place)
    }

    // MARK: Adding

    /// L2. Its number; nil where there is something else after `last`.
    func add(
        _ bytes: [UInt8], _ subject: LogSubject, name: String, in identity: String, after last: UInt64
    ) throws(DatabaseError) -> UInt64? {
        let limit = server.milliseconds + patienceMilliseconds
        // Whether it may be there, or come.
        var isSent = false
        while true {
            var reason = "it does not answer"
            switch try server.add(bytes, subject, name: name, in: identity, after: last) {
            case .added(let number) where number == last + 1: return number
            case .added(let number), .known(let number):
                isSent = true
                let found = try whereItAnswers { () throws(DatabaseError) in
                    try isThere(bytes, at: number, subject.stream)
                }
                if let found { return found && number == last + 1 ? number : nil }
            case .refused:
                let look = { () throws(DatabaseError) -> (isLonger: Bool, isThere: Bool) in
                    guard try self.range(of: subject.stream, identity).last > last else { return (false, false) }
                    return (true, try self.isThere(bytes, at: last + 1, subject.stream))
                }
                let found = try isSent ? whereItAnswers(look) : look()
                if let found, found.isLonger { return found.isThere ? last + 1 : nil }
            // Whoever said that it ends here did not know better.
            case .unknown(let why):
                reason = why
                isSent = true
                // What reached one that is gone is gone with it.
                _ = try whereItAnswers { () throws(DatabaseError) in try range(of: subject.stream, identity) }
            }
            guard server.milliseconds < limit else {
                leading = nil
                throw DatabaseError(
                    .outcomeUnknown,
                    "the outcome is unknown: '\(place)' did not say whether it has what was sent (\(reason)); it is "
                        + "asked when shipping goes on", path: place)
            }
            server.pause(milliseconds: Self.retryMilliseconds)
        }
    }

    /// Throws where the stream is not there, or another one in its place (L6).
    private func range(of stream: LogStream, _ identity: String) throws(DatabaseError) -> LogRange {
        guard let range = try server.range(of: stream), range.identity == identity else {
            leading = nil
            throw Self.gone(place)
        }
        return range
    }

    /// nil where no answer comes.
    private func whereItAnswers<Result>(_ body: () throws(DatabaseError) -> Result) throws(DatabaseError) -> Result? {
        do throws(DatabaseError) { return try body() } catch {
            guard error.code == .timeout || error.code == .inputOutput else { throw error }
            return nil
        }
    }

    private func isThere(_ bytes: [UInt8], at number: UInt64, _ stream: LogStream) throws(DatabaseError) -> Bool {
        try known(number, in: stream).map { $0.bytes == bytes } ?? false
    }

    package func append(_ batch: ChangeBatch) throws(DatabaseError) -> Bool {
        guard let leading else { throw lost() }
        let sum = leading.bytesSinceSnapshot + batch.bytes.count
        let parts = LogPart.parts(
            of: batch, try key.encoded(batch), term: leading.term, bytesSinceSnapshot: sum,
            largest: server.largestMessage)
        for part in parts { try addNext(part.encoded, .changes, name: part.name, shipped: batch.from) }
        self.leading?.bytesSinceSnapshot = sum
        try server.tell()
        return true
    }

    private func lost() -> DatabaseError {
        DatabaseError(.timeout, "'\(place)' has to be asked first what it has; shipping begins again", path: place)
    }

    /// Adds what is next in the log.
    func addNext(
        _ bytes: [UInt8], _ subject: LogSubject, name: String, shipped: Version?
    ) throws(DatabaseError) {
        guard let (identity, last) = leading.map({ ($0.identity, $0.last) }) else { throw lost() }
        guard let number = try add(bytes, subject, name: name, in: identity, after: last) else {
            let term = leading?.term
            try checkLead(shipped: shipped)
            leading = nil
            // Nobody leads, and there is something: a message of this process that came late.
            throw DatabaseError(
                .timeout,
                "'\(place)' has a message after \(last) that is not the one sent in term \(term ?? 0); "
                    + "shipping begins again", path: place)
        }
        leading?.last = number
    }
}
