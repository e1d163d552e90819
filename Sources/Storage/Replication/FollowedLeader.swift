/// Whom a file follows. It is kept in the file, so that whoever writes to it otherwise is refused, in every process,
/// with where to write.
///
///     page: kind 0x46, sealed as all of replication; u8 0: nobody any more, 2: nobody yet, or 1; the origin that it is
///     a copy of, 16 bytes; of 1 also name and source; a text is its byte count and UTF-8
import MottePages
import MotteValues

package struct FollowedLeader: Equatable, Sendable {
    package let origin: ChangeOrigin
    /// As people call the leader.
    package let name: String
    /// From where its changes come.
    package let source: String

    package init(origin: ChangeOrigin, name: String, source: String) {
        self.origin = origin
        self.name = name
        self.source = source
    }

    package static func == (left: FollowedLeader, right: FollowedLeader) -> Bool {
        left.origin == right.origin && left.name.hasSameBytes(as: right.name)
            && left.source.hasSameBytes(as: right.source)
    }

    private static let kind: UInt8 = 0x46

    private static let nobodyAnyMore: UInt8 = 0
    private static let somebody: UInt8 = 1
    private static let nobodyYet: UInt8 = 2

    /// Of a copy that may follow, whatever the file did that it was made of.
    static func newCopy(of origin: ChangeOrigin) -> [UInt8] { page(nobodyYet, origin) }

    /// Of a file that follows nobody any more.
    static func formerCopy(of origin: ChangeOrigin) -> [UInt8] { page(nobodyAnyMore, origin) }

    static func page(_ leader: FollowedLeader) -> [UInt8] {
        page(somebody, leader.origin, [leader.name, leader.source])
    }

    private static func page(_ state: UInt8, _ origin: ChangeOrigin, _ texts: [String] = []) -> [UInt8] {
        var body: [UInt8] = [state]
        body.append(u64: origin.high)
        body.append(u64: origin.low)
        for text in texts { ChangeBatchWriter.append(text, to: &body) }
        return ReplicaPages.sealed(kind, body, key: ReplicaPages.following)
    }

    /// Which file this one is or was a copy of, and whether it follows nobody any more.
    static func original(
        _ page: UnsafeRawBufferPointer
    ) throws(DatabaseError) -> (origin: ChangeOrigin, hasLeft: Bool) {
        var reader = LogReader(try ReplicaPages.opened(kind, page, key: ReplicaPages.following))
        let state = try reader.byte()
        return (ChangeOrigin(high: try reader.u64(), low: try reader.u64()), state == nobodyAnyMore)
    }

    /// nil: nobody.
    static func decode(_ page: UnsafeRawBufferPointer) throws(DatabaseError) -> FollowedLeader? {
        var reader = LogReader(try ReplicaPages.opened(kind, page, key: ReplicaPages.following))
        guard try reader.byte() == somebody else { return nil }
        let origin = ChangeOrigin(high: try reader.u64(), low: try reader.u64())
        var texts: [String] = []
        for _ in 0 ..< 2 {
            texts.append(String(decoding: try reader.run(Int(clamping: try reader.position())), as: UTF8.self))
        }
        return FollowedLeader(origin: origin, name: texts[0], source: texts[1])
    }

    /// Whom the file follows in a version of it; nil: nobody.
    static func leader(in pages: PageSnapshot) throws(DatabaseError) -> FollowedLeader? {
        guard let page = try pages.get(ReplicaPages.following) else { return nil }
        return try decode(page.bytes)
    }

    var refusal: DatabaseError {
        DatabaseError(
            .readOnly,
            "this file follows \(name), which alone changes it: write there, or end that with "
                + "'motte follow FILE --stop'")
    }
}

extension Snapshot {
    /// Whom the file follows; nil: nobody.
    package func leader() throws(DatabaseError) -> FollowedLeader? { try FollowedLeader.leader(in: pages) }

    /// Whether the file has followed somebody, or is a restored one, and goes a way of its own since.
    package func hasLeft() throws(DatabaseError) -> Bool {
        guard let page = try pages.get(ReplicaPages.following) else { return false }
        return try FollowedLeader.original(page.bytes).hasLeft
    }

    /// Whether the file has what an origin keeps of others: it is or was a copy of that.
    func replicas(of origin: ChangeOrigin) throws(DatabaseError) -> ApplyingChanges.Replicas {
        guard let page = try pages.get(ReplicaPages.following) else { return .none }
        let (original, hasLeft) = try FollowedLeader.original(page.bytes)
        return original != origin ? .none : hasLeft ? .formerCopy : .copy
    }
}

extension Database {
    /// Where a snapshot of this file stands in its own history.
    package func ownPosition(_ snapshot: Snapshot) throws(DatabaseError) -> ReplicaPosition {
        let record = try ChangeBatchReading.record(of: snapshot)
        let checksum = try changeChecksum(of: snapshot.version, snapshot)
        return ReplicaPosition(
            origin: try origin(), version: snapshot.version, checksum: checksum ?? 0,
            wallTimeNanoseconds: record?.wallTimeNanoseconds ?? 0, schemaChangedIn: snapshot.catalog.changedIn)
    }
}

extension WriteTransaction {
    /// From this commit on only the leader's batches are applied; nil: everybody may write.
    package func follow(_ leader: FollowedLeader?) throws(DatabaseError) {
        try requireOpen()
        if let leader {
            replicaPages[ReplicaPages.following] = FollowedLeader.page(leader)
        } else {
            // A copy of no other file is one of itself.
            var original = try database.origin()
            if let page = try base.pages.get(ReplicaPages.following) {
                original = try FollowedLeader.original(page.bytes).origin
            }
            replicaPages[ReplicaPages.following] = FollowedLeader.formerCopy(of: original)
        }
        noteChange()
    }

    /// The file is a copy of the origin's at that position: its objects are the origin's, with the same keys.
    package func adopt(_ position: ReplicaPosition) throws(DatabaseError) {
        try requireOpen()
        let names = ObjectNames(base.pages, position.origin)
        for stored in catalog.tables {
            let end = try table(stored.key).nextKey
            guard end > 0 else { continue }
            _ = try names.add(stored.key, 0 ..< end, local: 0, replacing: true)
        }
        names.forEachChangedPage { replicaPages[$0] = $1 }
        replicaPages[ReplicaPages.position(position.origin)] = position.page
        replicaPages[ReplicaPages.following] = FollowedLeader.newCopy(of: position.origin)
        if let record = try base.pages.get(PageKeys.catalog) {
            replicaPages[ReplicaPages.catalog(position.origin)] = [UInt8](record.bytes)
        }
        noteChange()
    }
}
