/// A commit whose outcome nobody knew: it reached the place that the file is shipped to, and not the file, which has
/// taken it in from there. It is the same version with the same objects, and another change record; so the file also
/// keeps by which checksum others know that version.
///
///     page: kind 0x54, sealed as all of replication; origin 16 bytes, u64 version, u32 checksum
///
///     V1  only the very next version is taken in, and only where its objects get the keys that they have there
///     V2  a copy of the file, which has another origin, has no such version
import MottePages
import MotteValues

struct TakenVersion: Equatable {
    let origin: ChangeOrigin
    let version: Version
    let checksum: UInt32

    private static let kind: UInt8 = 0x54

    var page: [UInt8] {
        var body: [UInt8] = []
        body.append(u64: origin.high)
        body.append(u64: origin.low)
        body.append(u64: version.rawValue)
        body.append(u32: checksum)
        return ReplicaPages.sealed(Self.kind, body, key: ReplicaPages.taken)
    }

    static func of(_ pages: PageSnapshot) throws(DatabaseError) -> TakenVersion? {
        guard let page = try pages.get(ReplicaPages.taken) else { return nil }
        var reader = LogReader(try ReplicaPages.opened(kind, page.bytes, key: ReplicaPages.taken))
        let origin = ChangeOrigin(high: try reader.u64(), low: try reader.u64())
        return TakenVersion(origin: origin, version: Version(try reader.u64()), checksum: try reader.u32())
    }

    /// By which checksum others know a version of a file.
    static func checksum(
        _ own: UInt32, of version: Version, _ origin: ChangeOrigin, in pages: PageSnapshot
    ) throws(DatabaseError) -> UInt32 {
        guard own != 0, let taken = try of(pages), taken.version == version, taken.origin == origin else { return own }
        return taken.checksum
    }
}

extension Database {
    /// Of the change record of a version, as others know it; 0 where it is not known, nil where there is no such
    /// version.
    package func changeChecksum(of version: Version, _ snapshot: Snapshot) throws(DatabaseError) -> UInt32? {
        guard version <= snapshot.version else { return nil }
        let own = try HistoryLog.checksum(of: version, in: snapshot.pages)
        return try TakenVersion.checksum(own, of: version, try origin(), in: snapshot.pages)
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
                try applying.run(UnsafeRawBufferPointer(rebasing: bytes[ChangeBatchFormat.headerSize...]))
                applying.names.forEachChangedPage { _, _ in isRenamed = true }
            }
        }
        // V1.
        if isRenamed { throw Self.cannotTakeIn("its objects would have other keys here") }
        replicaPages[ReplicaPages.taken] =
            TakenVersion(origin: origin, version: batch.to, checksum: batch.toChecksum).page
        noteChange()
    }

    private static func cannotTakeIn(_ why: String) -> DatabaseError {
        DatabaseError(.historyForked, "a commit that the file lacks cannot be taken in: \(why)")
    }
}
