/// A version of a page file: a root, and what its WAL says beyond it. How one is read on from, and how far it may
/// be trusted after nobody had the file open.
import MotteValues

package struct TreeVersion {
    package internal(set) var root: RootSlot
    package var wal: WALState

    var version: Version { wal.version }

    /// A root without a look at its WAL.
    init(_ root: RootSlot) {
        self.root = root
        wal = WALState(root)
    }

    /// Its slot says that nothing of it may be missing.
    var isSealed: Bool {
        guard let wal = root.wal else { return root.durable == version }
        return root.durable == root.version && wal.sealed == version
    }

    /// Reads the WAL up to a version. False when it does not reach so far.
    mutating func readOn(_ image: PageImage, through limit: Version) throws(DatabaseError) -> Bool {
        if let place = root.wal {
            try wal.readOn(place, image, through: limit)
        }
        return wal.version >= limit
    }

    /// After reading to the end, where nobody else has the file open: whether what a slot promised is there, and
    /// whether something behind it was meant to be.
    mutating func checkEnd(
        _ passedOver: PassedOver?, _ image: PageImage
    ) throws(DatabaseError) -> PassedOver? {
        guard let place = root.wal else { return passedOver }
        // Also behind a seal: commits go on in the same log.
        guard place.sealed < version || place.sealed == version && place.sealedChain == wal.chain else {
            throw .corrupted(
                "its write-ahead log is damaged: it was complete up to version \(place.sealed.rawValue) and now ends at"
                    + " \(version.rawValue)")
        }
        let strays = try wal.strayVersions(place, image)
        guard let stray = strays.max() else { return passedOver }
        wal.mayGrow = false
        var passedOver = passedOver ?? PassedOver(opened: version)
        passedOver.opened = version
        passedOver.strayRecordCount = strays.count
        if passedOver.newer == nil { passedOver.newer = (stray, "its log record is incomplete") }
        return passedOver
    }
}
