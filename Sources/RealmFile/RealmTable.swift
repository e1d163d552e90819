/// A class of a Realm file: its columns, and its objects by cluster or by key.
import MotteValues

package final class RealmTable {
    package enum Kind: Sendable { case object, embedded, asymmetric }

    /// Without the "class_" that the file puts before it.
    package let name: String
    /// In `RealmFile.tables`.
    package let index: Int
    package let kind: Kind
    /// Without backlinks, in the order of declaration.
    package let columns: [RealmColumn]
    /// Index in `columns`.
    package let primaryKey: Int?
    package let objectCount: Int

    init(
        name: String, index: Int, kind: Kind, columns: [RealmColumn], primaryKey: Int?, objectCount: Int
    ) {
        self.name = name
        self.index = index
        self.kind = kind
        self.columns = columns
        self.primaryKey = primaryKey
        self.objectCount = objectCount
    }

    /// Clusters in ascending order of keys.
    package func cursor() throws(DatabaseError) -> RealmCursor { RealmCursor() }

    /// How many objects have smaller keys; nil when there is no object with that key. O(log n).
    package func position(of key: Int64) throws(DatabaseError) -> Int? { nil }

    /// The cluster with that object and its row there; nil when there is none. Clusters found stay readable whatever
    /// is found or iterated later.
    package func find(_ key: Int64) throws(DatabaseError) -> (cluster: RealmCluster, row: Int)? { nil }

    /// Compares the links of this class with the backlinks of the classes that they lead to, as multisets.
    package func checkBacklinks() throws(DatabaseError) {}
}

/// `next` gives a cluster; views of the one before it are no longer valid then.
package struct RealmCursor {
    package mutating func next() throws(DatabaseError) -> RealmCluster? { nil }
}
