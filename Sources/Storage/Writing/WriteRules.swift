/// The rules of the schema that a session was opened with, as its writes follow them: what columns get that new rows do
/// not name, and which values columns take.
///
/// Where all of a class's columns are named and none restricts its values, a row costs one comparison.
import MotteSchemaModel
import MotteValues

package final class WriteRules {
    package let declared: DeclaredRules
    @exclusivity(unchecked) private var known: (layout: TableLayout, rules: TableRules?)?

    /// nil where the schema has none.
    package init?(_ schema: Schema) {
        guard let declared = DeclaredRules(schema) else { return nil }
        self.declared = declared
    }

    func rules(_ layout: TableLayout) -> TableRules? {
        if let known, known.layout === layout { return known.rules }
        let made = declared.hasRules(layout.stored.name) ? TableRules(layout, declared) : nil
        known = (layout, made)
        return made
    }
}

/// Those of one class.
final class TableRules {
    private let layout: TableLayout
    private var starts: [(slot: Int, column: ColumnKey, rule: PropertyRule, kept: KeptViews?)] = []
    private var checks: [(slot: Int, column: ColumnKey, allowed: AllowedValues)] = []
    /// Columns that were last asked about, and whether each that has a start is among them.
    private var asked: (columns: [ColumnKey], areAll: Bool)?

    init(_ layout: TableLayout, _ declared: DeclaredRules) {
        self.layout = layout
        for (slot, column) in layout.columns.enumerated() where !column.isMapKeys {
            guard let rule = declared.rule(layout.stored.name, column.name) else { continue }
            if let allowed = rule.allowed { checks.append((slot, column.key, allowed)) }
            guard !column.isList else { continue }
            switch rule.start {
            case .plain: break
            case .value(let value): starts.append((slot, column.key, rule, KeptViews([value])))
            case .made, .required: starts.append((slot, column.key, rule, nil))
            }
        }
    }

    /// Whether a row of these columns needs no start and has values that are allowed.
    func isPlain(_ columns: [ColumnKey], _ row: UnsafePointer<ValueView>) -> Bool {
        if asked?.columns != columns {
            asked = (columns, starts.allSatisfy { start in columns.contains(start.column) })
        }
        guard asked?.areAll == true else { return false }
        for check in checks {
            guard let position = columns.firstIndex(of: check.column) else { continue }
            if !check.allowed.contains(row[position]) { return false }
        }
        return true
    }

    /// Values for the columns that a batch does not name; functions of the program run here.
    func startSources(
        _ columns: [ColumnKey], rowCount: Int, isEmbedded: Bool
    ) throws(DatabaseError) -> (columns: [ColumnKey], sources: [BatchColumn], kept: [KeptViews]) {
        var made: (columns: [ColumnKey], sources: [BatchColumn], kept: [KeptViews]) = ([], [], [])
        for start in starts where !columns.contains(start.column) {
            let name = layout.columns[start.slot].name
            let kept: KeptViews
            switch start.rule.start {
            case .plain: continue
            case .required:
                // An embedded object is made in its place first.
                if isEmbedded { continue }
                throw missing(name)
            case .value:
                guard let known = start.kept else { continue }
                kept = known
            case .made(let make):
                let values = try make(rowCount)
                guard values.count == rowCount else { throw missing(name) }
                kept = KeptViews(values)
            }
            made.columns.append(start.column)
            made.sources.append(.cells(UnsafePointer(kept.views), stride: kept.count == 1 ? 0 : 1))
            made.kept.append(kept)
        }
        return made
    }

    private func missing(_ name: String) -> DatabaseError {
        DatabaseError(
            .nullNotAllowed, "\(layout.stored.name).\(name) needs a value: it has no default",
            className: layout.stored.name, propertyName: name)
    }

    /// A value of a column, or an element of a collection.
    func check(_ value: ValueView, _ slot: Int) throws(DatabaseError) {
        for check in checks where check.slot == slot {
            guard check.allowed.contains(value) else { throw refused(value, check.slot, check.allowed) }
        }
    }

    func check(_ value: ValueView, _ column: ColumnKey) throws(DatabaseError) {
        for check in checks where check.column == column {
            guard check.allowed.contains(value) else { throw refused(value, check.slot, check.allowed) }
        }
    }

    func check(_ batch: RowBatch) throws(DatabaseError) {
        for check in checks where batch.names(check.slot) {
            for row in 0 ..< batch.rowCount {
                let value = batch.value(check.slot, row)
                guard check.allowed.contains(value) else {
                    throw refused(value, check.slot, check.allowed).at(rowIndex: row)
                }
            }
        }
    }

    private func refused(_ value: ValueView, _ slot: Int, _ allowed: AllowedValues) -> DatabaseError {
        Self.refused(value.owned, allowed, layout.stored.name, layout.columns[slot].name)
    }

    static func refused(
        _ value: Value, _ allowed: AllowedValues, _ className: String, _ name: String
    ) -> DatabaseError {
        DatabaseError(
            .wrongType, "\(className).\(name) takes \(allowed.text), not \(value.text)", className: className,
            propertyName: name)
    }
}

/// Values as views, for as long as this lives.
final class KeptViews {
    let views: UnsafeMutablePointer<ValueView>
    let count: Int
    private let copies = ByteCopies()

    init(_ values: [Value]) {
        count = values.count
        views = .allocate(capacity: max(count, 1))
        for (index, value) in values.enumerated() {
            (views + index).initialize(to: value.withView { copies.copy($0) })
        }
    }

    deinit { views.deallocate() }
}
