/// Up to 256 objects of a class, column by column.
///
/// Views borrow from the cluster: until the cursor's next one, or while the cluster is held where `find` gave it. Values of
/// fixed size and short strings lie in leaves that are read once; larger ones (blobs, elements of collections, nested lists
/// and maps) are held from when they are read on, `heldBytes` of them, until `release`.
import MotteValues

package final class RealmCluster {
    /// 0 to 256.
    package let count: Int
    /// Objects of the table before it.
    package let firstPosition: Int

    init(count: Int, firstPosition: Int) {
        self.count = count
        self.firstPosition = firstPosition
    }

    package func key(_ row: Int) -> Int64 { 0 }

    /// A single value. A leaf is validated once per cluster and column, so this is cheap in a loop by column.
    package func value(_ column: Int, _ row: Int) throws(DatabaseError) -> ValueView { .null }

    /// Elements in order; with their keys for maps (empty otherwise). `body` may throw. Unresolved links are left out of
    /// lists and sets, and null elsewhere. With `keeping` false a view is valid only for the length of its call of `body`,
    /// so that a collection of any size takes no memory.
    package func elements(
        _ column: Int, _ row: Int, keeping: Bool = true,
        _ body: (_ mapKey: UnsafeRawBufferPointer, _ value: ValueView) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {}

    /// As stored, with unresolved links.
    package func elementCount(_ column: Int, _ row: Int) throws(DatabaseError) -> Int { 0 }

    /// Memory of larger values read so far.
    package var heldBytes: Int { 0 }

    /// Gives that memory up: views of strings, data, nested lists and maps, and of elements, are no longer valid. For
    /// loops over rows with large values.
    package func release() {}
}
