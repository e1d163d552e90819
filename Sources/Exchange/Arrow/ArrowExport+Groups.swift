/// Groups as Arrow data: one batch, with a column for each key and each aggregate.
import MotteLiveObjects
import MotteQueryEngine
import MotteSchemaModel
import MotteValues

extension ArrowExport {
    /// As they are now, the first so many; the outcome belongs to no session.
    package static func groups(
        _ groups: LiveGroups, atMost most: Int = .max, options: Options = Options()
    ) throws(DatabaseError) -> ArrowExport {
        let table = try groups.table()
        let count = min(most, table.count)
        let source = try groups.session.source()
        // Nothing is read from rows, and so nothing of an open write can be missed.
        let maker = ArrowMaker(source, isInWrite: true, options)
        var fields: [ArrowField] = []
        var columns: [ArrowData] = []
        for (index, column) in table.columns.enumerated() {
            var property = Property(name: column.name, type: column.type, isNullable: column.isNullable)
            property.target = column.target.flatMap { source.schema[$0]?.name }
            let (field, values) = try maker.values(property, named: column.name)
            for row in 0 ..< count { try values.append(table.view(index, row)) }
            fields.append(field)
            columns.append(try values.finish())
        }
        return ArrowExport(
            ArrowField("", "+s", isNullable: false, children: fields),
            ArrowData(length: count, nullCount: 0, buffers: [ArrowBuffer()], children: columns))
    }
}
