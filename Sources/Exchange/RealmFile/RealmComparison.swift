/// Whether a database holds what a Realm file does: every object, value by value, in order, both read as they are.
///
/// Lists in their order, sets as sets, maps by key, links by the keys that their targets have here. Numbers compare by
/// their bits, so that -0.0 and each NaN are themselves. Memory is bounded by a cluster and by the largest set or map.
import MotteColumns
import MotteLiveObjects
import MotteRealmFile
import MotteStorage
import MotteValues

final class RealmComparison {
    private static let mostElements = 4_096

    private let translation: RealmTranslation
    /// Whether embedded objects that are found get their owners by it.
    private let adopts: Bool
    private var session: Session { translation.session }

    init(_ translation: RealmTranslation, adopts: Bool = false) {
        self.translation = translation
        self.adopts = adopts
    }

    /// All objects of all classes, which were all imported into classes without objects. `progress` counts objects.
    func run(_ progress: (Int) throws(DatabaseError) -> Void) throws(DatabaseError) {
        translation.resolvesAll = true
        defer { translation.resolvesAll = false }
        for type in translation.plan.order {
            let wanted = type.type.isEmbedded ? type.ownedCount : type.source.objectCount
            let found = try session.table(type.table).liveCount
            guard found == wanted else {
                throw DatabaseError(
                    .inputOutput, "\(type.type.name) has \(found) objects after the conversion instead of \(wanted)",
                    className: type.type.name)
            }
            var cursor = try type.source.cursor()
            while let cluster = try cursor.next() {
                try compare(type, cluster, onlyEarly: false)
                try progress(cluster.count)
            }
        }
    }

    /// `onlyEarly`: links that are assigned in the second pass are passed over.
    func compare(
        _ type: RealmClassPlan, _ cluster: RealmCluster, onlyEarly: Bool
    ) throws(DatabaseError) {
        let wasNoting = translation.isNoting
        translation.isNoting = false
        defer { translation.isNoting = wasNoting }
        let view = try session.table(type.table)
        for field in type.fields {
            translation.begin(type, field, cluster)
            for row in 0 ..< cluster.count where onlyEarly || type.isOwned(cluster.firstPosition + row) {
                translation.begin(object: cluster.key(row))
                if onlyEarly, field.mayBeLate, try isLate(field, cluster, row) { continue }
                try compare(type, field, cluster, row, view)
                if cluster.heldBytes + translation.arena.count > 1 << 22 {
                    cluster.release()
                    translation.arena.reset()
                }
            }
            cluster.release()
            translation.arena.reset()
        }
    }

    /// One property of one object.
    func compare(
        _ type: RealmClassPlan, _ field: RealmClassPlan.Field, _ cluster: RealmCluster, _ row: Int
    ) throws(DatabaseError) {
        let wasNoting = translation.isNoting
        translation.isNoting = false
        defer { translation.isNoting = wasNoting }
        try compare(type, field, cluster, row, try session.table(type.table))
    }

    private func isLate(
        _ field: RealmClassPlan.Field, _ cluster: RealmCluster, _ row: Int
    ) throws(DatabaseError) -> Bool {
        guard field.isCollection else { return try translation.isLate(try cluster.value(field.index, row)) }
        var isLate = false
        try cluster.elements(field.index, row, keeping: false) { (_, view) throws(DatabaseError) in
            if !isLate, try translation.isLate(view) { isLate = true }
        }
        return isLate
    }

    @inline(__always)
    private func compare(
        _ type: RealmClassPlan, _ field: RealmClassPlan.Field, _ cluster: RealmCluster, _ row: Int, _ view: TableView
    ) throws(DatabaseError) {
        let key = ObjectKey(type.firstKey + Int64(cluster.firstPosition + row))
        guard !field.isCollection else { return try compareElements(type, field, cluster, row, view, key) }
        let wanted = try translation.value(try cluster.value(field.index, row))
        let found = try view.value(field.column, key)
        guard Self.isSame(wanted, found) else { throw differs(type, field, cluster.key(row)) }
        if adopts, field.ownsTarget { try adopt(wanted, type, field, cluster.key(row)) }
    }

    private func adopt(
        _ value: ValueView, _ type: RealmClassPlan, _ field: RealmClassPlan.Field, _ key: Int64
    ) throws(DatabaseError) {
        guard !value.isNull, let target = field.target.flatMap({ translation.plan.classes[$0] }) else { return }
        guard target.adopt(Int(value.linkValue.key.rawValue - target.firstKey)) else {
            throw differs(type, field, key)
        }
    }

    private func differs(_ type: RealmClassPlan, _ field: RealmClassPlan.Field, _ key: Int64) -> DatabaseError {
        DatabaseError(
            .inputOutput,
            "\(type.type.name).\(field.property.name) differs from the Realm file in the object with the key \(key) "
                + "there; convert again, and report it if it happens again", className: type.type.name,
            propertyName: field.property.name)
    }

    // MARK: Collections

    private func compareElements(
        _ type: RealmClassPlan, _ field: RealmClassPlan.Field, _ cluster: RealmCluster, _ row: Int,
        _ view: TableView, _ key: ObjectKey
    ) throws(DatabaseError) {
        let count = try view.listCount(field.column, key)
        let stored = try cluster.elementCount(field.index, row)
        if stored == 0, count == 0 { return }
        var matches = false
        switch field.property.collection {
        case .set: matches = try compareSet(field, cluster, row, view, key, count)
        case .map: matches = try compareMap(type, field, cluster, row, view, key, count)
        default: matches = try compareList(type, field, cluster, row, view, key, count)
        }
        guard matches else { throw differs(type, field, cluster.key(row)) }
    }

    private func compareList(
        _ type: RealmClassPlan, _ field: RealmClassPlan.Field, _ cluster: RealmCluster, _ row: Int,
        _ view: TableView, _ key: ObjectKey, _ count: Int
    ) throws(DatabaseError) -> Bool {
        var values: [ValueView] = []
        var done = 0
        var matches = true
        func flush() throws(DatabaseError) {
            guard matches, !values.isEmpty else { return }
            matches = try isRun(field.column, values, from: done, of: count, view, key, targetTable(field))
            if matches, adopts, field.ownsTarget {
                for value in values { try adopt(value, type, field, cluster.key(row)) }
            }
            done += values.count
            values.removeAll(keepingCapacity: true)
            translation.arena.reset()
        }
        try cluster.elements(field.index, row, keeping: false) { (_, element) throws(DatabaseError) in
            guard matches else { return }
            let value = try translation.value(element, copies: true)
            if value.isNull, field.property.type == .link { return }
            values.append(value)
            if values.count == Self.mostElements || translation.arena.count > 1 << 22 { try flush() }
        }
        try flush()
        return matches && done == count
    }

    /// Of equal elements of a set one is there, which may be any of them.
    private func compareSet(
        _ field: RealmClassPlan.Field, _ cluster: RealmCluster, _ row: Int, _ view: TableView, _ key: ObjectKey,
        _ count: Int
    ) throws(DatabaseError) -> Bool {
        var values: [ValueView] = []
        try cluster.elements(field.index, row, keeping: false) { (_, element) throws(DatabaseError) in
            let value = try translation.value(element, copies: true)
            if value.isNull, field.property.type == .link { return }
            values.append(value)
        }
        values.sort { ValueOrdering.compare($0, $1) < 0 }
        var start = 0
        var index = 0
        var matches = true
        let target = targetTable(field)
        try view.listValues(field.column, key) { (chunk, range) throws(DatabaseError) in
            for position in range where matches {
                guard start < values.count else {
                    matches = false
                    return
                }
                var end = start + 1
                while end < values.count, ValueOrdering.compare(values[start], values[end]) == 0 { end += 1 }
                let found = Self.linked(chunk.view(position), target)
                matches = values[start ..< end].contains { Self.isSame($0, found) }
                start = end
                index += 1
            }
        }
        return matches && start == values.count && index == count
    }

    private func compareMap(
        _ type: RealmClassPlan, _ field: RealmClassPlan.Field, _ cluster: RealmCluster, _ row: Int,
        _ view: TableView, _ key: ObjectKey, _ count: Int
    ) throws(DatabaseError) -> Bool {
        var names: [UnsafeRawBufferPointer] = []
        var values: [ValueView] = []
        try cluster.elements(field.index, row, keeping: false) { (name, element) throws(DatabaseError) in
            names.append(translation.arena.copy(name))
            values.append(try translation.value(element, copies: true))
        }
        guard names.count == count, let keyColumn = try view.mapKeyColumn(field.column) else { return false }
        let legal = try translation.legalKeys(names) ?? names
        let order = legal.indices.sorted { ValueOrdering.compareBytes(legal[$0], legal[$1]) < 0 }
        guard try isRun(keyColumn, order.map { .string(legal[$0]) }, from: 0, of: count, view, key),
            try isRun(
                field.column, order.map { values[$0] }, from: 0, of: count, view, key, targetTable(field))
        else { return false }
        if adopts, field.ownsTarget { for value in values { try adopt(value, type, field, cluster.key(row)) } }
        return true
    }

    /// Whether these are the elements from a position on.
    private func isRun(
        _ column: ColumnKey, _ values: [ValueView], from first: Int, of count: Int, _ view: TableView,
        _ key: ObjectKey, _ target: TableKey? = nil
    ) throws(DatabaseError) -> Bool {
        guard first + values.count <= count else { return false }
        var index = 0
        var matches = true
        try view.listValues(column, key, from: first, limit: values.count) { (chunk, range) throws(DatabaseError) in
            for position in range where matches {
                matches = Self.isSame(values[index], Self.linked(chunk.view(position), target))
                index += 1
            }
        }
        return matches && index == values.count
    }

    private func targetTable(_ field: RealmClassPlan.Field) -> TableKey? {
        field.target.flatMap { translation.plan.classes[$0]?.table }
    }

    /// In columns of links the class stands in the column.
    private static func linked(_ view: ValueView, _ target: TableKey?) -> ValueView {
        guard let target, view.kind == .link else { return view }
        return .link(ObjectLink(table: target, key: view.linkValue.key))
    }

    @inline(__always)
    static func isSame(_ left: ValueView, _ right: ValueView) -> Bool {
        guard left.kindNumber == right.kindNumber else { return false }
        switch left.kind {
        case .null: return true
        case .string, .data, .list, .map:
            let (one, two) = (left.bytes, right.bytes)
            return one.count == two.count && ValueOrdering.compareBytes(one, two) == 0
        case .timestamp, .link: return left.low == right.low && left.aux == right.aux
        case .bool, .int, .float, .double: return left.low == right.low
        case .decimal, .objectID, .uuid: return left.low == right.low && left.high == right.high
        case nil: return false
        }
    }
}
