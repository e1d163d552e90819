/// The log as two streams of a server: one with leaders, batches and marks of snapshots in their order, one with the
/// bytes of snapshots.
///
///     L1  a leader begins with a message in the log; it adds each of its messages as the next number after the one it
///         added last. Once another one has begun, every number it may use is taken: it adds nothing any more, whether
///         it knows of that or not
///     L2  a message whose answer does not come is sent again under its name and number, until the stream says what is
///         there; who gives that up begins to lead again before anything else, so that it can't come later
///     L3  a batch in parts is there when its last part is; parts before another message never get one
///     L4  what is found at a number is the message that was added there; an answer of "nothing" is one only beyond
///         the end that the stream's leader gives
///     L5  each message says which leader added it: so who leads is read off the last one, and whoever adds after that
///         one has seen it
import CMotteShim
import MotteLiveObjects
import MotteStorage
import MotteValues

package final class StreamLog: ReplicationLog {
    package var place: String { server.place }
    package let key = BatchKey()
    let server: LogServer
    /// For how long one message is sent again before its outcome is given up as unknown.
    private let patienceMilliseconds: Int64
    private static let retryMilliseconds: Int64 = 20

    struct Leading {
        var record: LeaderRecord
        /// Number of the message by which it began.
        var term: UInt64
        /// Number of the first message of this origin.
        var since: UInt64
        /// Number of what was added last.
        var last: UInt64
        var bytesSinceSnapshot: Int
    }
    var leading: Leading?
    /// Where reading goes on.
    private var cursor: (origin: ChangeOrigin, version: Version, number: UInt64)?
    package private(set) var hasSeenAnotherLeader = false
    /// Up to where `end` has looked, and what `needed` has found there.
    private var lastSeen: UInt64?
    /// What nobody needs any more. It goes bit by bit, as commits wait meanwhile.
    var trimming: [(stream: LogStream, numbers: Range<UInt64>)] = []
    static let removedAtOnce = 64
    private var neededSeen: LogPosition?
    var temporaryFolder = ScratchFile.namedFolder ?? "/tmp"
    /// Of the snapshot that is being made.
    var snapshotFolder: SnapshotFolder?

    package init(_ server: LogServer, patienceMilliseconds: Int64 = 10_000) {
        self.server = server
        self.patienceMilliseconds = patienceMilliseconds
    }

    package func wait(milliseconds: Int64) throws(DatabaseError) { try server.wait(milliseconds: milliseconds) }

    // MARK: Leaders

    struct FoundLeader {
        var record: LeaderRecord
        /// Of its message.
        var number: UInt64
        /// Number of the first message of its origin.
        var since: UInt64
        /// Where whoever led before ended, which the leader had before it began.
        var before: LogPosition?
        /// What it calls the objects of whoever led before.
        var handover: HandoverPlace?
        /// First and last number in the log, as far as was looked.
        var range: (first: UInt64, last: UInt64)
    }

    /// L5. nil where the log is empty, or not there.
    func foundLeader() throws(DatabaseError) -> FoundLeader? {
        guard let range = try server.range(of: .log), range.first <= range.last,
            var message = try known(range.last, in: .log)
        else { return nil }
        if message.subject != .leader {
            let term =
                message.subject == .changes
                ? try LogPart(message.bytes, name(range.last)).term
                : try StreamSnapshot(message, name(range.last)).term
            guard let leader = try known(term, in: .log), leader.subject == .leader else {
                throw DatabaseError(
                    .corrupted, "\(name(range.last)) is of a leader that is not in '\(place)'", path: place)
            }
            message = leader
        }
        let place = name(message.number)
        let text = try LogText(message.bytes, place)
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
            if isTakeover { last = lastSeen ?? 0 } else if found == nil { last = try knownRange().last }
            let since = isTakeover ? last + 1 : found?.since ?? last + 1
            let before = isTakeover ? neededSeen : found?.before
            let beginning = Beginning(
                record: record, since: since, before: before, handover: isTakeover ? handed : found?.handover)
            guard let term = try begin(beginning, after: last) else {
                guard !isTakeover else {
                    throw DatabaseError(
                        .outOfSequence,
                        "more has come to '\(place)' meanwhile: follow until this file has all, then "
                            + "take over", path: place)
                }
                continue
            }
            leading = Leading(record: record, term: term, since: since, last: term, bytesSinceSnapshot: 0)
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
    private func begin(_ beginning: Beginning, after last: UInt64) throws(DatabaseError) -> UInt64? {
        var number: UInt64 = 0
        withUnsafeMutableBytes(of: &number) { _ = motte_shim_random($0.baseAddress, $0.count) }
        let once = String(number, radix: 16)
        var values = beginning.record.values
        values["since"] = "\(beginning.since)"
        values["once"] = once
        if let handover = beginning.handover { values.merge(handover.values) { $1 } }
        if let before = beginning.before { values.merge(before.valuesOfFormer) { $1 } }
        return try add(LogText(values).bytes, .leader, name: "leader-\(once)", after: last)
    }

    static func gone(_ place: String) -> DatabaseError {
        DatabaseError(.fileNotFound, "'\(place)' is gone: it names no leader any more", path: place)
    }

    package func checkLead(shipped: Version?) throws(DatabaseError) {
        guard let leading else { throw DatabaseError(.internal, "this process does not lead '\(place)'") }
        guard let found = try foundLeader(), found.number > leading.term else { return }
        guard found.record.origin == leading.record.origin else { throw deposed(by: found.record, after: shipped) }
        throw DatabaseError(.busy, "another process ships this file to '\(place)'; end one of them", path: place)
    }

    // MARK: Adding

    /// L2. Its number; nil where there is something else after `last`.
    func add(
        _ bytes: [UInt8], _ subject: LogSubject, name: String, after last: UInt64
    ) throws(DatabaseError) -> UInt64? {
        let limit = server.milliseconds + patienceMilliseconds
        while true {
            var reason = "it does not answer"
            switch try server.add(bytes, subject, name: name, after: last) {
            case .added(let number) where number == last + 1: return number
            case .added(let number), .known(let number):
                guard try isThere(bytes, at: number, subject.stream) else { return nil }
                return number == last + 1 ? number : nil
            case .refused:
                guard let range = try server.range(of: subject.stream) else { throw Self.gone(place) }
                if range.last > last { return try isThere(bytes, at: last + 1, subject.stream) ? last + 1 : nil }
            // Whoever said that it ends here did not know better.
            case .unknown(let why): reason = why
            }
            guard server.milliseconds < limit else {
                leading = nil
                throw DatabaseError(
                    .timeout,
                    "'\(place)' did not say whether it has what was sent (\(reason)); it is asked when "
                        + "shipping goes on", path: place)
            }
            server.pause(milliseconds: Self.retryMilliseconds)
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
        guard let last = leading?.last else { throw lost() }
        guard let number = try add(bytes, subject, name: name, after: last) else {
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

    // MARK: Reading

    func knownRange() throws(DatabaseError) -> (first: UInt64, last: UInt64) {
        guard let range = try server.range(of: .log) else { throw Self.gone(place) }
        return range
    }

    private enum Found {
        case message(LogMessage)
        /// There is none any more, and there may be others from that number on.
        case gap(before: UInt64)
        case nothing
    }

    /// nil where there is none, or none any more.
    func known(_ number: UInt64, in stream: LogStream) throws(DatabaseError) -> LogMessage? {
        if case .message(let message) = try look(number, in: stream) { message } else { nil }
    }

    /// L4.
    private func look(_ number: UInt64, in stream: LogStream) throws(DatabaseError) -> Found {
        if let message = try server.message(number, in: stream) { return .message(message) }
        guard let range = try server.range(of: stream), number <= range.last else { return .nothing }
        if number < range.first { return .gap(before: range.first) }
        if let message = try server.messageOfLeader(number, in: stream) { return .message(message) }
        // What was being removed when somebody was killed may have gaps.
        return .gap(before: number + 1)
    }

    package func changes(after version: Version, of origin: ChangeOrigin) throws(DatabaseError) -> ChangeBatch? {
        if cursor?.origin != origin || cursor?.version != version {
            guard let number = try locate(version, of: origin) else { return nil }
            cursor = (origin, version, number)
        }
        guard var number = cursor?.number else { return nil }
        hasSeenAnotherLeader = false
        var reading = PartialBatch()
        reading: while true {
            let message: LogMessage
            switch try look(number, in: .log) {
            case .message(let found): message = found
            case .gap(let next):
                number = next
                continue
            case .nothing: break reading
            }
            number += 1
            switch message.subject {
            case .snapshot, .chunk: continue
            case .leader:
                let text = try LogText(message.bytes, name(message.number))
                guard try LeaderRecord(text, name(message.number)).origin == origin else {
                    hasSeenAnotherLeader = true
                    return nil
                }
                reading = PartialBatch()
            case .changes:
                let part = try LogPart(message.bytes, name(message.number))
                guard part.origin == origin else { return nil }
                guard let batch = try reading.add(part, key, name(message.number)), batch.to > version else { continue }
                guard batch.from == version else { return nil }
                cursor = (origin, batch.to, number)
                return batch
            }
        }
        if reading.isEmpty { cursor?.number = number }
        return nil
    }

    /// Number from which on the batch after a version is to be looked for; nil where nothing can be.
    private func locate(_ version: Version, of origin: ChangeOrigin) throws(DatabaseError) -> UInt64? {
        guard let leader = try foundLeader() else { return nil }
        guard leader.record.origin == origin else {
            // Whoever led before: up to who came next.
            return try streamSnapshots(of: origin).last { $0.info.version <= version }?.number
        }
        let range = leader.range
        var (low, high) = (max(leader.since, range.first), range.last + 1)
        while low < high {
            let middle = low + (high - low) / 2
            guard let message = try server.next(.changes, from: middle), message.number < high else {
                high = middle
                continue
            }
            let part = try LogPart(message.bytes, name(message.number))
            if part.origin != origin || part.to <= version { low = message.number + 1 } else { high = middle }
        }
        return low
    }

    package func end(of origin: ChangeOrigin) throws(DatabaseError) -> LogEnd? {
        if let end = try shippedEnd(of: origin) { return end }
        // Nothing yet behind what it has handed over.
        guard let leader = try foundLeader(), leader.record.origin == origin, let handed = leader.handover else {
            return nil
        }
        return LogEnd(handed.version, handed.checksum, handed.wallTimeNanoseconds, bytes: 0, nil)
    }

    private func shippedEnd(of origin: ChangeOrigin) throws(DatabaseError) -> LogEnd? {
        guard let leader = try foundLeader() else { return nil }
        lastSeen = leader.range.last
        guard let extent = try extent(of: origin, leader) else { return nil }
        var number = extent.upperBound
        while number >= extent.lowerBound, number > 0 {
            let message = try known(number, in: .log)
            switch message?.subject {
            case .snapshot:
                let snapshot = try message.map { message throws(DatabaseError) in
                    try StreamSnapshot(message, name(number))
                }
                if let snapshot, snapshot.origin == origin { return LogEnd(snapshot.info) }
            case .changes:
                let part = try message.map { message throws(DatabaseError) in try LogPart(message.bytes, name(number)) }
                guard let part, part.origin == origin, part.index == part.count - 1,
                    let batch = try whole(endingAt: number, part)
                else { break }
                let snapshot = try snapshots(of: origin).last
                return LogEnd(batch, bytes: Int(part.bytesSinceSnapshot), snapshot: snapshot)
            default: break
            }
            number -= 1
        }
        return nil
    }

    /// Who has led, as far as the log says it.
    private func allLeaders(
        _ leader: FoundLeader
    ) throws(DatabaseError) -> [(number: UInt64, origin: ChangeOrigin)] {
        var found: [(number: UInt64, origin: ChangeOrigin)] = []
        var number = leader.range.first
        while let message = try server.next(.leader, from: number), message.number <= leader.range.last {
            let place = name(message.number)
            found.append((message.number, try LeaderRecord(try LogText(message.bytes, place), place).origin))
            number = message.number + 1
        }
        return found
    }

    /// Of whom there is something in the log.
    func origins() throws(DatabaseError) -> Set<ChangeOrigin> {
        guard let leader = try foundLeader() else { return [] }
        var found = Set(try streamSnapshots().map(\.origin))
        for each in try allLeaders(leader) { found.insert(each.origin) }
        return found
    }

    /// Between which numbers messages of an origin are; nil where there are none.
    private func extent(
        of origin: ChangeOrigin, _ leader: FoundLeader
    ) throws(DatabaseError) -> (lowerBound: UInt64, upperBound: UInt64)? {
        let range = leader.range
        if leader.record.origin == origin { return (max(leader.since, range.first), range.last) }
        let leaders = try allLeaders(leader)
        var first = leaders.first { $0.origin == origin }?.number
        // The message by which it began may have been removed, with all up to a snapshot of it.
        if first == nil { first = try streamSnapshots(of: origin).first?.number }
        guard let first else { return nil }
        let next = leaders.first { $0.origin != origin && $0.number > first }?.number
        return (first, next.map { $0 - 1 } ?? range.last)
    }

    /// nil where a part of it is not there any more.
    private func whole(endingAt number: UInt64, _ last: LogPart) throws(DatabaseError) -> ChangeBatch? {
        var reading = PartialBatch()
        guard number >= UInt64(last.count) else { return nil }
        for place in number - UInt64(last.count) + 1 ... number {
            guard let message = try known(place, in: .log), message.subject == .changes else { return nil }
            let part = try LogPart(message.bytes, name(place))
            if let batch = try reading.add(part, key, name(place)) { return batch }
        }
        return nil
    }
}
