// A server of streams in memory, with a clock of its own: answers get lost, messages come late or never, replicas are
// behind when they are read, links are cut, leases run out.
import MotteReplication
import MotteValues
import TestSupport

/// What all servers have together. Each process reaches it by a connection of its own.
final class SimulatedNetwork {
    struct Late {
        var at: Int64
        var body: () -> Void
    }
    var milliseconds: Int64 = 0
    var streams: [LogStream: [LogMessage]] = [:]
    private(set) var identities: [LogStream: String] = [:]
    private var made = 0
    var note: [UInt8]?
    var removed: [LogStream: UInt64] = [:]
    var names: [LogStream: [String: UInt64]] = [:]
    struct Bucket {
        var held: (lease: LogLease, until: Int64)?
        var revision: UInt64 = 0
        /// For how long a lease lasts, by who took the first one.
        var milliseconds: Int64?
        /// It answers nobody, and nobody can remove it.
        var isLost = false
    }
    /// Of the lease, by their numbers.
    var buckets: [UInt64: Bucket] = [:]
    func loseLease() {
        for number in buckets.keys { buckets[number]?.isLost = true }
    }
    private var late: [Late] = []
    var random: SeededRandom
    /// In percent, of messages: without an answer, and of those that do not come at once.
    var lossy = 0
    /// In percent, of readings of chunks that do not see the newest one yet.
    var lagging = 0
    var largestMessage = 200
    private(set) var lostAnswers = 0

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    func pass(_ time: Int64) {
        milliseconds += time
        // What comes late comes in an order that nobody knows.
        while let index = late.indices.first(where: { late[$0].at <= milliseconds }) { late.remove(at: index).body() }
        for (number, bucket) in buckets where bucket.held.map({ $0.until <= milliseconds }) ?? false {
            buckets[number]?.held = nil
        }
    }

    func make(_ stream: LogStream) {
        guard streams[stream] == nil else { return }
        made += 1
        (streams[stream], identities[stream]) = ([], "\(made)")
    }

    /// As a server that is begun again without its files.
    func lose(_ stream: LogStream) {
        (streams[stream], names[stream], removed[stream], identities[stream]) = (nil, nil, nil, nil)
    }

    func add(
        _ bytes: [UInt8], _ subject: LogSubject, _ name: String, in identity: String, after last: UInt64
    ) -> AddOutcome {
        let stream = subject.stream
        guard identities[stream] == identity else { return .unknown("there is no such stream") }
        if let number = names[stream, default: [:]][name] { return .known(number: number) }
        let messages = streams[stream] ?? []
        let end = messages.last?.number ?? removed[stream] ?? 0
        guard end == last else { return .refused }
        streams[stream]?.append(LogMessage(in: identity, number: last + 1, subject: subject, bytes: bytes))
        names[stream, default: [:]][name] = last + 1
        return .added(number: last + 1)
    }

    func addOverTheNetwork(
        _ bytes: [UInt8], _ subject: LogSubject, _ name: String, in identity: String, after last: UInt64
    ) -> AddOutcome {
        guard random.chance(lossy) else { return add(bytes, subject, name, in: identity, after: last) }
        lostAnswers += 1
        switch random.below(3) {
        case 0: break
        case 1: _ = add(bytes, subject, name, in: identity, after: last)
        default:
            let at = milliseconds + Int64(random.below(400))
            late.append(Late(at: at) { [unowned self] in _ = add(bytes, subject, name, in: identity, after: last) })
        }
        return .unknown("lost by the test")
    }
}

final class SimulatedServer: LogServer {
    let network: SimulatedNetwork
    var isCut = false
    /// Ends the process before or after a message is added, as the faults say.
    var step: () throws(DatabaseError) -> Void = {}
    /// While it waits.
    var waiting: () -> Void = {}
    /// After it was asked what the log has.
    var asked: () -> Void = {}
    /// Of so many messages that are added no answer comes.
    var lostAnswers = 0
    let place = "nats://simulated/people"

    init(_ network: SimulatedNetwork) { self.network = network }

    private func reach() throws(DatabaseError) {
        guard !isCut else { throw DatabaseError(.timeout, "the link is cut, says the test", path: place) }
    }

    var largestMessage: Int { network.largestMessage }
    var milliseconds: Int64 { network.milliseconds }

    func prepare() throws(DatabaseError) {
        try reach()
        for stream in LogStream.allCases { network.make(stream) }
    }

    func range(of stream: LogStream) throws(DatabaseError) -> LogRange? {
        try reach()
        defer { if stream == .log { asked() } }
        guard let messages = network.streams[stream], let identity = network.identities[stream] else { return nil }
        let removed = network.removed[stream] ?? 0
        return LogRange(identity: identity, first: removed + 1, last: messages.last?.number ?? removed)
    }

    func add(
        _ bytes: [UInt8], _ subject: LogSubject, name: String, in identity: String, after last: UInt64
    ) throws(DatabaseError) -> AddOutcome {
        try step()
        if isCut { return .unknown("the link is cut, says the test") }
        if lostAnswers > 0 {
            lostAnswers -= 1
            _ = network.add(bytes, subject, name, in: identity, after: last)
            return .unknown("lost by the test")
        }
        let outcome = network.addOverTheNetwork(bytes, subject, name, in: identity, after: last)
        try step()
        return outcome
    }

    func chunk(_ number: UInt64) throws(DatabaseError) -> LogMessage? {
        try reach()
        let messages = network.streams[.chunks] ?? []
        let missing = network.random.chance(network.lagging) ? 1 + network.random.below(2) : 0
        return messages.dropLast(missing).first { $0.number == number }
    }

    func message(_ number: UInt64, in stream: LogStream) throws(DatabaseError) -> LogMessage? {
        try reach()
        return network.streams[stream]?.first { $0.number == number }
    }

    func next(_ subject: LogSubject, from number: UInt64) throws(DatabaseError) -> LogMessage? {
        try reach()
        return network.streams[subject.stream]?.first { $0.number >= number && $0.subject == subject }
    }

    func last(_ subject: LogSubject) throws(DatabaseError) -> LogMessage? {
        try reach()
        return network.streams[subject.stream]?.last { $0.subject == subject }
    }

    func setNote(_ bytes: [UInt8]) throws(DatabaseError) {
        try reach()
        network.note = bytes
    }

    func note() throws(DatabaseError) -> [UInt8]? {
        try reach()
        return network.note
    }

    func remove(_ numbers: Range<UInt64>, in stream: LogStream) throws(DatabaseError) -> Bool {
        guard !isCut else { return false }
        // Some may get lost.
        let isWhole = !network.random.chance(network.lossy)
        network.streams[stream]?.removeAll {
            numbers.contains($0.number) && (isWhole || network.random.chance(50))
        }
        let first = network.streams[stream]?.first?.number ?? numbers.upperBound
        network.removed[stream] = max(network.removed[stream] ?? 0, first - 1)
        return isWhole
    }

    func tell() throws(DatabaseError) {}
    func wait(milliseconds: Int64) throws(DatabaseError) {
        waiting()
        network.pass(milliseconds)
    }
    func pause(milliseconds: Int64) { network.pass(milliseconds) }

    var leaseNumber: UInt64 = 1

    private func bucket() throws(DatabaseError) -> SimulatedNetwork.Bucket {
        try reach()
        let bucket = network.buckets[leaseNumber] ?? SimulatedNetwork.Bucket()
        guard !bucket.isLost else {
            throw DatabaseError(.timeout, "the bucket of the lease is lost, says the test", path: place)
        }
        return bucket
    }

    func lease() throws(DatabaseError) -> LogLease? { try bucket().held?.lease }

    func leaseMilliseconds() throws(DatabaseError) -> Int64? { try bucket().milliseconds }

    func takeLease(_ holder: String, seconds: Int, after revision: UInt64) throws(DatabaseError) -> UInt64? {
        var bucket = try bucket()
        guard bucket.held?.lease.revision ?? 0 == revision else { return nil }
        let lasting = bucket.milliseconds ?? Int64(seconds) * 1_000
        bucket.milliseconds = lasting
        bucket.revision += 1
        bucket.held = (LogLease(holder: holder, revision: bucket.revision), network.milliseconds + lasting)
        network.buckets[leaseNumber] = bucket
        return bucket.revision
    }

    func leaveLease(after revision: UInt64) throws(DatabaseError) {
        if try bucket().held?.lease.revision == revision { network.buckets[leaseNumber]?.held = nil }
    }

    func dropLease() {}
}
