/// Inserting one object: programs add them one after the other, and a batch of one costs several times what a row
/// does.
import MotteSchemaModel
import MotteValues

extension WriteTransaction {
    /// nil where the row is to go the way of batches: it needs more than a look, or does not fit.
    func insertPlainRow(
        _ writer: TableWriter, _ columns: [ColumnKey], _ row: UnsafePointer<ValueView>
    ) throws(DatabaseError) -> ObjectKey? {
        guard let plan = writer.rowPlan(columns), plan.fits(row), try isNewKey(plan, writer.layout.key, row) else {
            return nil
        }
        for declared in plan.declared {
            let rows = IndexedRows(row, places: declared.places, of: ObjectKey(writer.nextNewKey))
            try pending(declared.index)?.writer.check(adding: rows, isPostponed: postponesIndexChecks)
        }
        let rowGroup = try writer.rowGroupForAppend()
        guard plan.turn(to: rowGroup) else { return nil }
        let key = ObjectKey(writer.state.nextKey)
        plan.append(row)
        writer.finishAppend(rowGroup, rows: 1)
        for field in plan.indexed {
            guard let index = field.index else { continue }
            delta(index, field.form).add(IndexValue(row[field.source], of: field.type), key)
        }
        for declared in plan.declared {
            pending(declared.index)?.add(IndexedRows(row, places: declared.places, of: key))
        }
        recorder.inserted(writer.layout.key, key)
        noteChange()
        return key
    }

    private func isNewKey(
        _ plan: RowPlan, _ table: TableKey, _ row: UnsafePointer<ValueView>
    ) throws(DatabaseError) -> Bool {
        guard let field = plan.primaryKey, let index = field.index, !isDeferred(index) else { return true }
        let value = row[field.source]
        // Ascending integers are the common case: nothing to look up.
        if field.type == .int, !value.isNull {
            let raw = IndexValue.int(value.intValue).raw
            if try delta(index, field.form).exceedsAll(raw, in: base.reader(index)) { return true }
        }
        return try self.table(table).find(primaryKey: value) == nil
    }
}
