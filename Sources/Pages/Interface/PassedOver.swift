/// Why a file did not open at the newest version that one of its root slots may have named.
///
/// A power cut during a commit leaves one such slot, and what it took was never acknowledged; the page file cannot tell
/// that from damage to the newest commit. Two such slots are more than one cut leaves where commits are flushed: so
/// that is called damage. After a kill there is no such slot, because what was written is then in the file; of a record
/// of the WAL only the first pages may be there.
import MotteValues

package struct PassedOver: Sendable, Equatable, CustomStringConvertible {
    package var opened: Version
    /// The newest version a slot names that could not be opened, and what is wrong with it.
    var newer: (version: Version, reason: String)?
    /// Slots that have something in them which cannot be read.
    var unreadable: [Int] = []
    /// Those, and those of versions that are not whole.
    var slots: [Int] = []
    /// How many versions have left something behind the last whole record of the WAL.
    var strayRecordCount = 0

    /// More than a cut during one commit leaves.
    package var isDamage: Bool { slots.count + strayRecordCount > 1 }

    package static func == (left: PassedOver, right: PassedOver) -> Bool { left.description == right.description }

    package var description: String {
        var text = "opened version \(opened.rawValue)"
        if let newer { text += " and not \(newer.version.rawValue), because \(newer.reason)" }
        if !unreadable.isEmpty {
            text += newer == nil ? "; " : ", and "
            let slots = unreadable.count == 1 ? "a root slot" : "\(unreadable.count) root slots"
            text += slots + " cannot be read"
            if newer == nil { text += ", which may have named a newer version" }
        }
        return text
            + (isDamage
                ? "; that is more than a power cut leaves of a commit with full durability: commits may be lost"
                : "; a power cut during a commit leaves that, but damage to the last commit looks the same")
    }
}
