/// Commits whose outcome nobody knew: each reached the place that the file is shipped to, and not the file, which has
/// taken it in from there. It is the same version with the same objects, and another change record; so the file also
/// keeps by which checksum others know that version, and any place may stand at it for long.
///
///     page: kind 0x54, sealed as all of replication; origin 16 bytes; of each, by version: u64 version, u32 checksum
///
///     V1  only the very next version is taken in, and only where its objects get the keys that they have there
///     V2  a copy of the file, which has another origin, has no such version
///     V3  the last 256 are kept
import MottePages
import MotteValues

struct TakenVersions: Equatable {
    struct Taken: Equatable {
        let version: Version
        let checksum: UInt32
    }
    let origin: ChangeOrigin
    private(set) var all: [Taken] = []

    private static let kind: UInt8 = 0x54
    private static let most = 256
    private static let size = 12

    init(of origin: ChangeOrigin) { self.origin = origin }

    mutating func add(_ version: Version, _ checksum: UInt32) {
        all.append(Taken(version: version, checksum: checksum))
        all.removeFirst(max(0, all.count - Self.most))
    }

    var page: [UInt8] {
        var body: [UInt8] = []
        body.append(u64: origin.high)
        body.append(u64: origin.low)
        for taken in all {
            body.append(u64: taken.version.rawValue)
            body.append(u32: taken.checksum)
        }
        return ReplicaPages.sealed(Self.kind, body, key: ReplicaPages.taken)
    }

    static func of(_ pages: PageSnapshot) throws(DatabaseError) -> TakenVersions? {
        guard let page = try pages.get(ReplicaPages.taken) else { return nil }
        let body = try ReplicaPages.opened(kind, page.bytes, key: ReplicaPages.taken)
        var reader = LogReader(body)
        var taken = TakenVersions(of: ChangeOrigin(high: try reader.u64(), low: try reader.u64()))
        guard reader.remaining % size == 0 else { throw .corrupted("versions taken in have an impossible length") }
        while reader.remaining > 0 { taken.add(Version(try reader.u64()), try reader.u32()) }
        return taken
    }

    /// By which checksum others know a version of a file.
    static func checksum(
        _ own: UInt32, of version: Version, _ origin: ChangeOrigin, in pages: PageSnapshot
    ) throws(DatabaseError) -> UInt32 {
        guard own != 0, let known = try of(pages), known.origin == origin else { return own }
        return known.all.last { $0.version == version }?.checksum ?? own
    }
}

extension Database {
    /// Of the change record of a version, as others know it; 0 where it is not known, nil where there is no such
    /// version.
    package func changeChecksum(of version: Version, _ snapshot: Snapshot) throws(DatabaseError) -> UInt32? {
        guard version <= snapshot.version else { return nil }
        let own = try HistoryLog.checksum(of: version, in: snapshot.pages)
        return try TakenVersions.checksum(own, of: version, try origin(), in: snapshot.pages)
    }
}

extension WriteTransaction {
    /// Takes in what follows the newest version by what others have of this very file.
    package func takeIn(_ batch: ChangeBatch) throws(DatabaseError) {
        try requireOpen()
        let origin = try database.origin()
        let known = try database.changeChecksum(of: base.version, base) ?? 0
        guard batch.origin == origin, batch.from == base.version, batch.to.rawValue == base.version.rawValue + 1,
            !batch.isPatch, !batch.isDifference, !batch.isWhole, !batch.breaksSchema,
            known == batch.fromChecksum || known == 0 || batch.fromChecksum == 0
        else { throw Self.cannotTakeIn("it is not the one that follows") }
        var isRenamed = false
        try postponingIndexChecks { () throws(DatabaseError) in
            try batch.bytes.withBytes { bytes throws(DatabaseError) in
                var applying = try ApplyingChanges(self, batch, nil)
                applying.givesTheirKeys = true
                applying.replicas = .copy
                try applying.run(UnsafeRawBufferPointer(rebasing: bytes[ChangeBatchFormat.headerSize...]))
                isRenamed = applying.isRenamed
            }
        }
        // V1.
        if isRenamed { throw Self.cannotTakeIn("its objects would have other keys here") }
        var taken = TakenVersions(of: origin)
        if let known = try TakenVersions.of(base.pages), known.origin == origin { taken = known }
        taken.add(batch.to, batch.toChecksum)
        replicaPages[ReplicaPages.taken] = taken.page
        noteChange()
    }

    private static func cannotTakeIn(_ why: String) -> DatabaseError {
        DatabaseError(.historyForked, "a commit that the file lacks cannot be taken in: \(why)")
    }
}
