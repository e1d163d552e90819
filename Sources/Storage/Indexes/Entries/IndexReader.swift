/// An index as one committed version has it. Made by a snapshot, kept as long as the snapshot and over versions in
/// which the index stays as it is; one thread at a time.
///
/// It is read through an `IndexView`, which a write transaction gives its pending changes too.
import MottePages
import MotteValues

package final class IndexReader: IndexReading {
    package let index: IndexKey
    let values: StoredEntries
    let nulls: StoredEntries

    package init(_ index: IndexKey, pages: PageSnapshot) {
        self.index = index
        values = StoredEntries(.values(index), pages: pages)
        nulls = StoredEntries(.nulls(index), pages: pages)
    }

    /// To a version with the same entries.
    package func advance(to pages: PageSnapshot) {
        values.advance(to: pages)
        nulls.advance(to: pages)
    }
}
