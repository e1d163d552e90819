/// Reading a log in a stream: batch by batch from a version on, and where it ends (L4, L5 of `StreamLog`).
import MotteStorage
import MotteValues

extension StreamLog {
    struct Cursor {
        var origin: ChangeOrigin
        var version: Version
        var identity: String
        var number: UInt64
        var term = KnownTerm()
    }

    /// In which leader's term the messages are that are being read; 0: not known.
    struct KnownTerm {
        var number: UInt64 = 0
    }

    func knownRange() throws(DatabaseError) -> LogRange {
        guard let range = try server.range(of: .log) else { throw Self.gone(place) }
        return range
    }

    private enum Found {
        case message(LogMessage)
        /// There is none any more, and there may be others from that number on.
        case gap(before: UInt64, in: String)
        case nothing(in: String?)

        var identity: String? {
            switch self {
            case .message(let message): message.identity
            case .gap(_, let identity): identity
            case .nothing(let identity): identity
            }
        }
    }

    /// nil where it is not there any more. Whoever takes it checks what it is a part of.
    func chunk(_ number: UInt64) throws(DatabaseError) -> LogMessage? {
        if let message = try server.chunk(number) { message } else { try known(number, in: .chunks) }
    }

    /// nil where there is none, or none any more.
    func known(_ number: UInt64, in stream: LogStream) throws(DatabaseError) -> LogMessage? {
        if case .message(let message) = try look(number, in: stream) { message } else { nil }
    }

    /// L4.
    private func look(_ number: UInt64, in stream: LogStream) throws(DatabaseError) -> Found {
        if let message = try server.message(number, in: stream) { return .message(message) }
        // It may have come since.
        guard let range = try server.range(of: stream) else { return .nothing(in: nil) }
        guard number <= range.last else { return .nothing(in: range.identity) }
        if number < range.first { return .gap(before: range.first, in: range.identity) }
        if let message = try server.message(number, in: stream) { return .message(message) }
        // What was being removed when somebody was killed may have gaps.
        return .gap(before: number + 1, in: range.identity)
    }

    /// L5: whether no other leader had begun before that message.
    private func isInForce(
        _ term: UInt64, at number: UInt64, _ known: inout KnownTerm
    ) throws(DatabaseError) -> Bool {
        if known.number > 0 { return term == known.number }
        guard term < number else { return false }
        if let next = try server.next(.leader, from: term + 1), next.number < number { return false }
        known.number = term
        return true
    }

    func isInForce(_ term: UInt64, at number: UInt64) throws(DatabaseError) -> Bool {
        var known = KnownTerm()
        return try isInForce(term, at: number, &known)
    }

    package func changes(after version: Version, of origin: ChangeOrigin) throws(DatabaseError) -> ChangeBatch? {
        if cursor?.origin != origin || cursor?.version != version { cursor = try locate(version, of: origin) }
        guard var place = cursor else { return nil }
        maySeeGap = false
        var reading = PartialBatch()
        reading: while true {
            let found = try look(place.number, in: .log)
            guard found.identity == place.identity else {
                // Another stream is in its place, whose numbers are others.
                (cursor, maySeeGap) = (nil, true)
                return nil
            }
            let message: LogMessage
            switch found {
            case .message(let known): message = known
            case .gap(let next, _):
                place.number = next
                continue
            case .nothing: break reading
            }
            place.number += 1
            switch message.subject {
            case .chunk: continue
            case .snapshot:
                // The schema was changed in a way that no batch carries over, or the leader's log was trimmed.
                let snapshot = try StreamSnapshot(message, name(message.number))
                if snapshot.origin == origin, snapshot.info.version > version { maySeeGap = true }
            case .leader:
                let text = try LogText(message.bytes, name(message.number))
                guard try LeaderRecord(text, name(message.number)).origin == origin else {
                    maySeeGap = true
                    return nil
                }
                reading = PartialBatch()
                place.term.number = message.number
            case .changes:
                let part = try LogPart(message.bytes, name(message.number))
                guard try isInForce(part.term, at: message.number, &place.term) else { continue }
                guard part.origin == origin else { return nil }
                guard let batch = try reading.add(part, key, name(message.number)), batch.to > version else { continue }
                guard batch.from == version else {
                    maySeeGap = true
                    return nil
                }
                place.version = batch.to
                cursor = place
                return batch
            }
        }
        if reading.isEmpty { cursor = place }
        return nil
    }

    package func hasChanges(
        of origin: ChangeOrigin, beyond version: Version, upTo last: Version?
    ) throws(DatabaseError) -> Bool {
        let range = try knownRange()
        // Where reading has come to, if it was this that was read.
        let isHere = cursor?.origin == origin && cursor?.version == version && cursor?.identity == range.identity
        var number = isHere ? cursor?.number ?? range.first : range.first
        while let (found, part) = try part(from: number, before: range.last + 1, of: origin) {
            if part.from > version, last.map({ part.to <= $0 }) ?? true { return true }
            number = found + 1
        }
        return false
    }

    /// From where on the batch after a version is to be looked for; nil where nothing can be.
    private func locate(_ version: Version, of origin: ChangeOrigin) throws(DatabaseError) -> Cursor? {
        guard let leader = try foundLeader() else { return nil }
        let range = leader.range
        func cursor(_ number: UInt64) -> Cursor {
            Cursor(origin: origin, version: version, identity: range.identity, number: number)
        }
        guard leader.record.origin == origin else {
            // Whoever led before: up to who came next.
            return try streamSnapshots(of: origin).last { $0.info.version <= version }.map { cursor($0.number) }
        }
        var (low, high) = (max(leader.since, range.first), range.last + 1)
        while low < high {
            let middle = low + (high - low) / 2
            guard let (number, part) = try part(from: middle, before: high, of: origin) else {
                high = middle
                continue
            }
            if part.to <= version { low = number + 1 } else { high = middle }
        }
        return cursor(low)
    }

    /// The next one of the origin that counts.
    private func part(
        from first: UInt64, before end: UInt64, of origin: ChangeOrigin
    ) throws(DatabaseError) -> (number: UInt64, LogPart)? {
        var next = first
        while let message = try server.next(.changes, from: next), message.number < end {
            let part = try LogPart(message.bytes, name(message.number))
            if part.origin == origin, try isInForce(part.term, at: message.number) { return (message.number, part) }
            next = message.number + 1
        }
        return nil
    }

    package func end(of origin: ChangeOrigin) throws(DatabaseError) -> LogEnd? {
        if let end = try shippedEnd(of: origin) { return end }
        // Nothing yet behind what it has handed over.
        guard let leader = try foundLeader(), leader.record.origin == origin, let handed = leader.handover else {
            return nil
        }
        return LogEnd(handed.version, handed.checksum, handed.wallTimeNanoseconds, bytes: 0, nil)
    }

    func shippedEnd(of origin: ChangeOrigin) throws(DatabaseError) -> LogEnd? {
        guard let leader = try foundLeader() else { return nil }
        lastSeen = (leader.range.identity, leader.range.last)
        guard let extent = try extent(of: origin, leader) else { return nil }
        var number = extent.upperBound
        while number >= extent.lowerBound, number > 0 {
            defer { number -= 1 }
            guard let message = try known(number, in: .log) else { continue }
            switch message.subject {
            case .snapshot:
                let snapshot = try StreamSnapshot(message, name(number))
                guard snapshot.origin == origin, try isInForce(snapshot.term, at: number) else { continue }
                return LogEnd(snapshot.info, isThere: try isThere(snapshot))
            case .changes:
                let part = try LogPart(message.bytes, name(number))
                guard part.origin == origin, part.index == part.count - 1, try isInForce(part.term, at: number),
                    let batch = try whole(endingAt: number, part)
                else { continue }
                let snapshot = try snapshots(of: origin).last
                return LogEnd(batch, bytes: Int(part.bytesSinceSnapshot), snapshot: snapshot)
            default: continue
            }
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
