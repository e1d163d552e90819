/// A version of a page file: a root, and what its journal says beyond it. How one is read on from, and how far it may
/// be trusted after nobody had the file open.
import MotteValues

struct TreeVersion {
    var root: RootSlot
    var journal: JournalState

    var version: UInt64 { journal.version }

    /// A root without a look at its journal.
    init(_ root: RootSlot) {
        self.root = root
        journal = JournalState(root)
    }

    /// Its slot says that nothing of it may be missing.
    var isSealed: Bool {
        guard let journal = root.journal else { return root.durable == version }
        return root.durable == root.version && journal.sealed == version
    }

    /// Reads the journal up to a version. False when it does not reach so far.
    mutating func readOn(_ image: PageImage, through limit: UInt64) throws(DatabaseError) -> Bool {
        if let place = root.journal {
            try journal.readOn(place, image, through: limit)
        }
        return journal.version >= limit
    }

    /// After reading to the end, where nobody else has the file open: whether what a slot promised is there, and
    /// whether something behind it was meant to be.
    mutating func checkEnd(
        _ passedOver: PassedOver?, _ disk: any Disk, _ image: PageImage
    ) throws(DatabaseError) -> PassedOver? {
        guard let place = root.journal else { return passedOver }
        if place.sealed == version, place.sealedChain == journal.chain { return passedOver }
        guard place.sealed < version else {
            throw .corrupted(
                "its journal is damaged: of version \(place.sealed), which was complete, it has only what is up to"
                    + " \(version)")
        }
        let strays = try journal.strayVersions(place, disk, pageBytes: image.pageBytes)
        guard let stray = strays.max() else { return passedOver }
        journal.mayGrow = false
        var passedOver = passedOver ?? PassedOver(opened: Version(version))
        passedOver.opened = Version(version)
        passedOver.strayRecordCount = strays.count
        if passedOver.newer == nil { passedOver.newer = (Version(stray), "its record in the journal is not whole") }
        return passedOver
    }
}
