/// Whether a file has what a difference begins with: every value that it changes, takes away or deletes is compared
/// before anything is done.
import MotteSchemaModel
import MotteValues

extension ApplyingChanges {
    /// Objects that go, and how many elements of each of their collections were compared.
    private struct Going {
        struct Place: Hashable {
            let owner: ObjectLink
            let column: ColumnKey
        }

        var objects: [ObjectLink] = []
        var counts: [Place: Int] = [:]

        mutating func count(_ table: StoredTable, _ column: StoredColumn, _ key: ObjectKey, _ count: Int) {
            counts[Place(owner: ObjectLink(table: table.key, key: key), column: column.key), default: 0] += count
        }
    }

    func compare(_ sections: Sections) throws(DatabaseError) {
        var going = Going()
        for (kind, body) in sections {
            var reader = body
            switch kind {
            case .created: try compareObjects(&reader, &going)
            case .set: try compareValues(&reader)
            case .lists: try compareLists(&reader, &going)
            case .sets: try compareSets(&reader, &going)
            case .maps: try compareMaps(&reader, &going)
            default: continue
            }
            guard reader.remaining == 0 else { throw ChangeBatch.damaged() }
        }
        for owner in going.objects {
            let view = try write.table(owner.table), table = view.layout.stored
            for column in table.columns where column.isList && !column.isMapKeys {
                let count = going.counts[Going.Place(owner: owner, column: column.key)] ?? 0
                guard try view.listCount(column.key, owner.key) == count else { throw isOther(table, column) }
            }
        }
    }

    private func isOther(_ table: StoredTable, _ column: StoredColumn) -> DatabaseError {
        DatabaseError(
            .historyForked,
            "\(table.name).\(column.name) has another value here than where the batch begins: it has been applied "
                + "already, was made for another file, or this one was changed since", className: table.name,
            propertyName: column.name)
    }

    private func require(
        _ stored: ValueView, _ expected: ValueView, _ table: StoredTable, _ column: StoredColumn
    ) throws(DatabaseError) {
        let isSame = try withLocal(expected) { ValueIdentity.isSame(stored, $0) }
        if !isSame { throw isOther(table, column) }
    }

    /// Objects that go.
    private func compareObjects(
        _ reader: inout ChangeBatchReader, _ going: inout Going
    ) throws(DatabaseError) {
        let key = try reader.table()
        let table = try table(key)
        var keys: [ObjectKey] = []
        let runs = try reader.runs()
        let columnCount = try reader.count(minimumSize: 2)
        guard runs.count <= reader.remaining else { throw ChangeBatch.damaged() }
        for key in runs.keys { keys.append(try local(table, key)) }
        if table.columns.contains(where: \.isList) {
            for key in keys { going.objects.append(ObjectLink(table: table.key, key: key)) }
        }
        if columnCount == 0 { _ = try reader.run(runs.count) }
        var compared: Set<ColumnKey> = []
        for _ in 0 ..< columnCount {
            guard let column = columns[key]?[try reader.column()], !column.isList else { throw ChangeBatch.damaged() }
            compared.insert(column.key)
            var values = ChangeBatchReader(try reader.content())
            for key in keys {
                try require(try write.table(table.key).value(column.key, key), try values.value(), table, column)
            }
            guard values.remaining == 0 else { throw ChangeBatch.damaged() }
        }
        // Properties that the origin lacks have what they would have in an object that comes again.
        for column in table.columns where !column.isList && !compared.contains(column.key) {
            let initial = column.type.defaultValue(isNullable: column.isNullable)
            for key in keys { try require(try write.table(table.key).value(column.key, key), initial, table, column) }
        }
    }

    // MARK: Properties that the batch adds

    struct NamedColumn: Hashable {
        let table: TableKey
        let column: ColumnKey
    }

    /// The properties of which the sections say values of objects that are there.
    func namedColumns(_ sections: Sections) throws(DatabaseError) -> Set<NamedColumn> {
        var named: Set<NamedColumn> = []
        for (kind, body) in sections {
            guard [.set, .lists, .sets, .maps].contains(kind) else { continue }
            var reader = body
            let (table, column) = try property(&reader, .none, .list, .set, .map)
            named.insert(NamedColumn(table: table.key, column: column.key))
        }
        return named
    }

    /// What the first file lacked, this one may have: then it has no value there yet. Lists are asked for their length
    /// when they are edited.
    func compareAdded(_ sections: Sections, _ compared: Set<NamedColumn>) throws(DatabaseError) {
        // What the batch makes has nothing yet, whoever is in its place.
        var created: [TableKey: KeyRuns] = [:]
        for (kind, body) in sections where kind == .created {
            var reader = body
            created[try table(try reader.table()).key] = try reader.runs()
        }
        for (kind, body) in sections {
            guard [.set, .sets, .maps].contains(kind) else { continue }
            var reader = body
            let (table, column) = try property(&reader, .none, .set, .map)
            guard !compared.contains(NamedColumn(table: table.key, column: column.key)) else { continue }
            let view = try write.table(table.key)
            let initial = column.type.defaultValue(isNullable: column.isNullable)
            var next: Int64 = 0
            for _ in 0 ..< (try reader.count(minimumSize: 2)) {
                let key = try reader.key(after: &next)
                let isNew = created[table.key]?.contains(key) == true
                let local = isNew ? nil : try live(table.key, key)
                switch kind {
                case .set:
                    guard let local else { continue }
                    try require(try view.value(column.key, local), initial, table, column)
                case .sets:
                    for _ in 0 ..< (try reader.count()) { _ = try reader.value() }
                default:
                    for _ in 0 ..< (try reader.count(minimumSize: 2)) {
                        _ = try reader.content()
                        if try reader.byte() == 1 { _ = try reader.value() }
                    }
                }
                guard kind != .set, let local else { continue }
                guard try view.listCount(column.key, local) == 0 else { throw isOther(table, column) }
            }
        }
    }

    /// Nothing but what goes too links to what goes: that link would be taken away unseen.
    func requireNoLinks(_ table: StoredTable, _ keys: [Int64]) throws(DatabaseError) {
        let view = try write.table(table.key)
        for key in keys {
            for link in try write.linking(to: ObjectKey(key), view) where !goes(link) {
                throw DatabaseError(
                    .historyForked,
                    "a \(write.catalog.table(link.table)?.name ?? "") links to a \(table.name) that the batch deletes, "
                        + "and did not where the batch begins; \(advice)", className: table.name)
            }
        }
    }

    // MARK: Values and collections

    private func compareValues(_ reader: inout ChangeBatchReader) throws(DatabaseError) {
        let (table, column) = try property(&reader, .none)
        var keys: [ObjectKey] = []
        var next: Int64 = 0
        for _ in 0 ..< (try reader.count(minimumSize: 2)) {
            keys.append(try local(table, try reader.key(after: &next)))
        }
        for key in keys {
            try require(try write.table(table.key).value(column.key, key), try reader.value(), table, column)
        }
    }

    /// Elements that were replaced or went: where an inverse puts them is where they are.
    private func compareLists(
        _ reader: inout ChangeBatchReader, _ going: inout Going
    ) throws(DatabaseError) {
        let (table, column) = try property(&reader, .list)
        try forEachOwner(table, &reader) { key, reader throws(DatabaseError) in
            _ = try reader.position()
            let view = try write.table(table.key)
            let count = try view.listCount(column.key, key)
            for _ in 0 ..< (try reader.count(minimumSize: 3)) {
                let kind = try reader.byte()
                let index = Int(try reader.position())
                switch kind {
                case 1, 3:
                    let elements = try reader.count()
                    if kind == 1 { going.count(table, column, key, elements) }
                    for offset in 0 ..< elements {
                        let value = try reader.value()
                        guard index < count - offset else { throw isOther(table, column) }
                        try require(
                            try view.listElement(column.key, key, index + offset), value, table, column)
                    }
                case 2, 4: _ = try reader.position()
                default: throw ChangeBatch.damaged()
                }
            }
        }
    }

    private func compareSets(
        _ reader: inout ChangeBatchReader, _ going: inout Going
    ) throws(DatabaseError) {
        let (table, column) = try property(&reader, .set)
        try forEachOwner(table, &reader) { key, reader throws(DatabaseError) in
            let count = try reader.count()
            let view = try write.table(table.key)
            guard try view.listCount(column.key, key) == count else { throw isOther(table, column) }
            going.count(table, column, key, count)
            for _ in 0 ..< count {
                let value = try reader.value()
                // 1 and 1.0 are one in a set, and not the same.
                let isThere = try withLocal(value) { value throws(DatabaseError) in
                    guard let place = try view.setFind(column.key, key, value) else { return false }
                    return ValueIdentity.isSame(try view.listElement(column.key, key, place), value)
                }
                if !isThere { throw isOther(table, column) }
            }
        }
    }

    private func compareMaps(
        _ reader: inout ChangeBatchReader, _ going: inout Going
    ) throws(DatabaseError) {
        let (table, column) = try property(&reader, .map)
        try forEachOwner(table, &reader) { key, reader throws(DatabaseError) in
            let view = try write.table(table.key)
            for _ in 0 ..< (try reader.count(minimumSize: 2)) {
                let name = try reader.content()
                let place = try view.mapFind(column.key, key, name)
                switch try reader.byte() {
                case 1:
                    let value = try reader.value()
                    guard let place else { throw isOther(table, column) }
                    going.count(table, column, key, 1)
                    try require(try view.listElement(column.key, key, place), value, table, column)
                case 2:
                    if place != nil { throw isOther(table, column) }
                default: throw ChangeBatch.damaged()
                }
            }
        }
    }
}
