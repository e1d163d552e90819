/// Somebody who is asked before a commit, with what is to be committed as a batch: it may be stored elsewhere first, or
/// looked at and refused. Nothing of the write has reached the file then. Where nobody asks, no batch is made.
import MottePages
import MotteValues

package struct CommitCheck {
    /// Whether the batch carries what leads back.
    package let isReversible: Bool
    /// What it throws is what the commit fails with.
    package let body: (ChangeBatch) throws(DatabaseError) -> Void

    package init(isReversible: Bool, _ body: @escaping (ChangeBatch) throws(DatabaseError) -> Void) {
        self.isReversible = isReversible
        self.body = body
    }
}

extension WriteTransaction {
    /// `batch` is what the commit writes, and `recorded` its change record.
    func ask(_ check: CommitCheck, _ batch: borrowing PageBatch, _ version: Version) throws(DatabaseError) {
        guard let recorded else { return }
        let after = Snapshot(
            pages: try base.pages.with(batch, as: version),
            catalog: newCatalog?.stamped(changedIn: version.rawValue) ?? base.catalog, counters: counters,
            rowGroupSize: rowGroupSize)
        var reading = try ChangeBatchReading(after, origin: try database.origin())
        let summary = ChangeSummary([recorded], from: base.version, to: version)
        let changes = try reading.changes(summary, since: check.isReversible && newCatalog == nil ? base : nil)
        try check.body(changes)
    }
}
