/// What calls for single rows name again and again, kept from one to the next: properties of a class as columns.
/// Looking them up in the schema costs several times what the row does.
import CMotte
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

/// Properties of one class that hold single values, and room for a value of each.
final class RowShape {
    let columns: [ColumnKey]
    /// Whether the class has a primary key that is not among them.
    let lacksPrimaryKey: Bool
    private let cls: motte_class
    private let props: [motte_prop]
    /// Where there are links, and the class that those without one go to.
    private let targets: [(position: Int, table: UInt32)]
    private let views: UnsafeMutablePointer<ValueView>

    fileprivate init(
        _ schema: Schema, _ cls: motte_class, _ props: UnsafeBufferPointer<motte_prop>
    ) throws(DatabaseError) {
        let type = try schema.type(cls)
        self.cls = cls
        self.props = Array(props)
        let columns = try MotteCExports.columns(props.baseAddress, props.count, of: TableKey(cls), schema)
        self.columns = columns
        lacksPrimaryKey = type.primaryKey?.columnKey.map { !columns.contains($0) } ?? false
        var targets: [(position: Int, table: UInt32)] = []
        for (position, column) in columns.enumerated() {
            guard let target = type.property(column)?.target, let table = schema[target]?.tableKey else { continue }
            targets.append((position, table.rawValue))
        }
        self.targets = targets
        views = .allocate(capacity: max(props.count, 1))
    }

    deinit { views.deallocate() }

    fileprivate func isOf(_ cls: motte_class, _ props: UnsafeBufferPointer<motte_prop>) -> Bool {
        guard cls == self.cls, props.count == self.props.count else { return false }
        for index in 0 ..< props.count where props[index] != self.props[index] { return false }
        return true
    }

    /// Checked values for the properties, links completed; until the next call.
    func checked(
        _ values: UnsafePointer<motte_value>?, in session: Session
    ) throws(DatabaseError) -> UnsafeBufferPointer<ValueView> {
        let source = try input(values, columns.count)
        for index in 0 ..< source.count {
            do throws(DatabaseError) { views[index] = try ValueView.checked(source[index], in: session) } catch {
                throw error.at(rowIndex: index)
            }
        }
        for target in targets where views[target.position].kind == .link && views[target.position].aux == 0 {
            views[target.position].aux = target.table
        }
        return UnsafeBufferPointer(start: views, count: source.count)
    }
}

/// The shapes that calls on one realm have used.
final class RowShapes: @unchecked Sendable {
    // @unchecked: used by whoever has checked that the session is its thread's; of frozen sessions, which are every
    // thread's, nothing is kept.
    private static let mostKept = 32
    private var kept: [RowShape] = []
    private var latest: RowShape?
    private var epoch: UInt64 = 0

    func shape(
        _ session: Session, _ cls: motte_class, _ props: UnsafePointer<motte_prop>?, _ count: Int
    ) throws(DatabaseError) -> RowShape {
        let props = try input(props, count)
        if session.isFrozen { return try RowShape(session.schema, cls, props) }
        if epoch != session.baseEpoch { forgetAll(session.baseEpoch) }
        if let latest, latest.isOf(cls, props) { return latest }
        if let known = kept.first(where: { $0.isOf(cls, props) }) {
            latest = known
            return known
        }
        let made = try RowShape(session.schema, cls, props)
        if kept.count == Self.mostKept { kept.removeAll(keepingCapacity: true) }
        kept.append(made)
        latest = made
        return made
    }

    /// Of another version or schema there may be other properties.
    private func forgetAll(_ epoch: UInt64) {
        kept.removeAll(keepingCapacity: true)
        latest = nil
        self.epoch = epoch
    }
}
