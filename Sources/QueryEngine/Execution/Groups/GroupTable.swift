/// The groups that were found: a column for each key and each aggregate, a row for each group.
import MotteColumns
import MotteSchemaModel
import MotteValues

/// @unchecked: nothing changes after it was made, so any thread may read it.
package final class GroupTable: @unchecked Sendable {
    package let columns: [BoundGrouping.Column]
    /// The first so many columns are keys.
    package let keyCount: Int
    package let count: Int
    private let builders: [ChunkBuilder]

    init(_ columns: [BoundGrouping.Column], _ builders: [ChunkBuilder], count: Int) {
        self.columns = columns
        self.builders = builders
        self.count = count
        keyCount = columns.count { $0.isKey }
    }

    /// Borrowed from the table.
    package func view(_ column: Int, _ row: Int) -> ValueView {
        var view = builders[column].view(row)
        // Columns of links do not say where they lead.
        if let target = columns[column].target, view.kind == .link { view.aux = target.rawValue }
        return view
    }

    package func index(ofColumn name: String) -> Int? {
        columns.firstIndex { $0.name.utf8.elementsEqual(name.utf8) }
    }

    /// What tells one group from the others.
    package func key(_ row: Int) -> [Value] { (0 ..< keyCount).map { view($0, row).owned } }
}
