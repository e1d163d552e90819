/// A property of a class in a Realm file, as the file declares it: the name that is stored there, the type, and
/// whether it is one value or a collection of them. Public names, default values and computed properties are in no
/// file.
import MotteValues

package struct RealmColumn: Sendable {
    package enum Collection: Sendable { case none, list, set, map }

    package let name: String
    /// nil: mixed. `.link` for objects.
    package let type: ValueKind?
    package let collection: Collection
    /// Of the value, or of the elements.
    package let isNullable: Bool
    /// By the user's wish, or as the primary key.
    package let isIndexed: Bool
    package let hasFullTextIndex: Bool
    /// For links to one class: its index in `RealmFile.tables`.
    package let target: Int?
    /// Of maps with keys that are ints: they are given as decimal text.
    package let hasIntKeys: Bool

    package init(
        name: String, type: ValueKind?, collection: Collection, isNullable: Bool, isIndexed: Bool,
        hasFullTextIndex: Bool, target: Int?, hasIntKeys: Bool
    ) {
        self.name = name
        self.type = type
        self.collection = collection
        self.isNullable = isNullable
        self.isIndexed = isIndexed
        self.hasFullTextIndex = hasFullTextIndex
        self.target = target
        self.hasIntKeys = hasIntKeys
    }
}
