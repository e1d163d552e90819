/// What happened to something observed between two versions. Immutable, of no thread.
///
///     deletions           positions in the old collection of elements that went away
///     insertions          positions in the new collection of elements that came
///     modifications       elements that stayed and changed: old and new position, paired
///
/// All ascend without duplicates, and what stays keeps its order: taking `deletions` out of the old collection and
/// putting the new elements in at `insertions` gives the new one. An element that moved is a deletion and an insertion;
/// one that came and changed is only an insertion. A slot of a list that was set, to the same element or to another, is
/// a modification.
import MotteValues

package struct ChangeSet: Sendable {
    package enum Kind: UInt32, Sendable {
        case session = 1
        case object = 2
        case collection = 3
        case sections = 4
    }

    /// A property of an observed object, before and after. Collections, inverse properties, and old values that the
    /// log did not keep, are null. Where only something changed that the property leads to, both are the same.
    package struct PropertyChange: Sendable {
        package let name: String
        /// nil for an inverse property.
        package let column: ColumnKey?
        package let old: Value
        package let new: Value
        /// False when `old` is null because the log did not keep it.
        package let isOldKnown: Bool

        package init(name: String, column: ColumnKey?, old: Value, new: Value, isOldKnown: Bool) {
            self.name = name
            self.column = column
            self.old = old
            self.new = new
            self.isOldKnown = isOldKnown
        }
    }

    package var kind: Kind
    /// Nothing changed yet: the state that observation starts from.
    package var isInitial = false
    /// The object, or the owner of the list, is gone; nothing follows.
    package var isSourceDeleted = false
    package var fromVersion: Version
    package var toVersion: Version
    package var deletions: [Int] = []
    package var insertions: [Int] = []
    package var modificationsOld: [Int] = []
    package var modificationsNew: [Int] = []
    /// For `moves`.
    var moveSource = MoveSource.listed([])
    package var properties: [PropertyChange] = []
    /// Of a session: its schema is another one.
    package var hasNewSchema = false
    /// Of maps: the keys at `deletions`, `insertions` and `modificationsNew`, in their order. The last change set, with
    /// the owner gone, has no keys.
    package var keyDeletions: [String] = []
    package var keyInsertions: [String] = []
    package var keyModifications: [String] = []

    /// What kept the observer from finding out what changed: the change set says nothing else. What comes after it
    /// starts over.
    package var failure: DatabaseError?

    /// Of sections: all there is to tell but for the initial state.
    package var sectioned: SectionedChanges?

    package init(_ kind: Kind, from: Version, to: Version) {
        self.kind = kind
        fromVersion = from
        toVersion = to
    }

    /// Whether there is anything to report of a collection or an object.
    package var isEmpty: Bool {
        !isInitial && !isSourceDeleted && failure == nil && deletions.isEmpty && insertions.isEmpty
            && modificationsOld.isEmpty
            && properties.isEmpty && (sectioned?.changes.isEmpty ?? true)
    }
}

extension ChangeSet: CustomStringConvertible {
    package var description: String {
        var parts = ["\(fromVersion.rawValue)->\(toVersion.rawValue)"]
        if isInitial { parts.append("initial") }
        if let failure { parts.append("failed: \(failure.message)") }
        if isSourceDeleted { parts.append("deleted") }
        if !deletions.isEmpty { parts.append("-\(deletions)") }
        if !insertions.isEmpty { parts.append("+\(insertions)") }
        if !modificationsOld.isEmpty { parts.append("~\(modificationsOld)~\(modificationsNew)") }
        if !(keyDeletions + keyInsertions + keyModifications).isEmpty {
            parts.append("keys -\(keyDeletions)+\(keyInsertions)~\(keyModifications)")
        }
        if !properties.isEmpty { parts.append("properties \(properties.map(\.name))") }
        if let sectioned { parts.append("\(sectioned.changes)") }
        return parts.joined(separator: " ")
    }
}
