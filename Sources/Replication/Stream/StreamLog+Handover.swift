/// With the message by which a leader begins goes what it calls the objects of the one before, in chunks among those of
/// snapshots, which are there before. Whoever has followed the former leader goes on with the new one from there; who
/// cannot have them begins again from a snapshot.
import CMotteShim
import MotteStorage
import MotteValues

/// Where a handover is, and from which version of the new leader on.
package struct HandoverPlace: Equatable {
    package internal(set) var firstChunk: UInt64
    var chunkCount: UInt64
    var version: Version
    var checksum: UInt32
    var wallTimeNanoseconds: Int64

    init(_ handover: NameHandover, firstChunk: UInt64, chunkCount: UInt64) {
        (self.firstChunk, self.chunkCount) = (firstChunk, chunkCount)
        (version, checksum) = (handover.position.version, handover.position.checksum)
        wallTimeNanoseconds = handover.position.wallTimeNanoseconds
    }

    /// nil where the leader began without one.
    init?(_ text: LogText, _ place: String) throws(DatabaseError) {
        guard text.values["handover-chunk"] != nil else { return nil }
        firstChunk = try text.number("handover-chunk", place)
        chunkCount = try text.number("handover-chunks", place)
        version = Version(try text.number("handover-version", place))
        checksum = try text.number("handover-checksum", place)
        wallTimeNanoseconds = try text.number("handover-time", place)
        guard !firstChunk.addingReportingOverflow(chunkCount).overflow else { throw LogText.damaged(place) }
    }

    var values: LogText.Values {
        [
            "handover-chunk": "\(firstChunk)", "handover-chunks": "\(chunkCount)",
            "handover-version": "\(version.rawValue)", "handover-checksum": "\(checksum)",
            "handover-time": "\(wallTimeNanoseconds)",
        ]
    }
}

extension StreamLog {
    /// Before the lead is taken: where nobody takes it after that the chunks are nobody's, and go with those before
    /// them. nil where somebody else adds chunks at the same time.
    func put(_ handover: NameHandover) throws(DatabaseError) -> HandoverPlace? {
        guard let range = try server.range(of: .chunks) else { return nil }
        let bytes = handover.bytes
        var number: UInt64 = 0
        withUnsafeMutableBytes(of: &number) { _ = motte_shim_random($0.baseAddress, $0.count) }
        var last = range.last
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, start + server.largestMessage)
            let name = "handover-\(String(number, radix: 16))-\(start)"
            guard
                let added = try add(
                    Array(bytes[start ..< end]), .chunk, name: name, in: range.identity, after: last)
            else { return nil }
            (last, start) = (added, end)
        }
        return HandoverPlace(handover, firstChunk: range.last + 1, chunkCount: last - range.last)
    }

    package func handover(to leader: LeaderRecord) throws(DatabaseError) -> NameHandover? {
        guard let found = try foundLeader(), found.record.origin == leader.origin, let place = found.handover else {
            return nil
        }
        var bytes: [UInt8] = []
        for number in place.firstChunk ..< place.firstChunk &+ min(place.chunkCount, UInt64(UInt32.max)) {
            // With what nobody needs any more it may have been removed.
            guard let message = try known(number, in: .chunks) else { return nil }
            bytes += message.bytes
        }
        let handover = try NameHandover(decoding: bytes)
        guard handover.position.origin == leader.origin, handover.position.version == place.version else {
            throw DatabaseError(
                .corrupted, "what \(leader.name) has handed over in '\(self.place)' is another leader's",
                path: self.place)
        }
        return handover
    }
}
