/// Applying the difference of two files: to the first, or to another that has the same objects with the same values
/// where the difference has others. What it changes, takes away or deletes is compared before anything is done; so a
/// difference that was applied, and one for another file, is refused.
import MotteSchemaModel
import MotteValues

extension ApplyingChanges {
    typealias Sections = [(ChangeBatchFormat.Section, ChangeBatchReader)]

    mutating func findObjects(_ sections: Sections) throws(DatabaseError) {
        for (kind, body) in sections where kind == .schema {
            var reader = body
            try takeSchema(&reader)
        }
        try find(sections, mayLack: false)
        for (kind, body) in sections where kind == .inverse {
            var reader = body
            let (forth, theirs) = (tables, columns)
            let inverse = try inverseSections(&reader)
            (tables, columns) = ([:], [:])
            // What a batch that leads back deletes is not here yet.
            try find(inverse, mayLack: true)
            try compare(inverse)
            (tables, columns) = (forth, theirs)
        }
    }

    private mutating func find(_ sections: Sections, mayLack: Bool) throws(DatabaseError) {
        var places: [ObjectLink: FoundPlace] = [:]
        for (kind, body) in sections {
            var reader = body
            switch kind {
            case .classes: try takeClasses(&reader)
            case .known: try takeKnown(&reader, mayLack: mayLack)
            case .places: try takePlaces(&reader, &places)
            default: continue
            }
            guard reader.remaining == 0 else { throw ChangeBatch.damaged() }
        }
        try findEmbedded(places, mayLack: mayLack)
    }

    /// Whether objects of the class are found by what they are, not by their key.
    func isFound(_ table: StoredTable) -> Bool { table.primaryKey != nil || table.isEmbedded }

    private func inverseSections(_ reader: inout ChangeBatchReader) throws(DatabaseError) -> Sections {
        let head = try reader.run(12)
        let count = UInt32(littleEndian: head.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
        return try split(try reader.run(reader.remaining), count: count)
    }

    /// Objects of the first file, or that a batch which leads back deletes.
    private mutating func takeKnown(_ reader: inout ChangeBatchReader, mayLack: Bool) throws(DatabaseError) {
        let (table, column) = try property(&reader, .none)
        guard column.isPrimaryKey else { throw ChangeBatch.damaged() }
        var keys: [Int64] = []
        var next: Int64 = 0
        for _ in 0 ..< (try reader.count(minimumSize: 2)) { keys.append(try reader.key(after: &next)) }
        let view = try write.table(table.key)
        var found = KeyMap()
        for key in keys {
            let value = try reader.value()
            guard let local = try view.find(primaryKey: value) else {
                if mayLack { continue }
                throw DatabaseError(
                    .historyForked,
                    "the batch needs the \(table.name) with the primary key \(value.owned.text), which is not in this "
                        + "file; \(advice)", className: table.name, propertyName: column.name)
            }
            guard found.append(key, to: local.rawValue) else { throw ChangeBatch.damaged() }
        }
        try keep(found, table.key)
    }

    private mutating func keep(_ found: KeyMap, _ table: TableKey) throws(DatabaseError) {
        guard let merged = KeyMap(found, self.found[table]) else { throw ChangeBatch.damaged() }
        self.found[table] = merged
    }

    // MARK: Embedded objects

    struct FoundPlace {
        let owner: ObjectLink
        let column: StoredColumn
        let index: Int
        let key: [UInt8]
    }

    private func takePlaces(
        _ reader: inout ChangeBatchReader, _ places: inout [ObjectLink: FoundPlace]
    ) throws(DatabaseError) {
        let table = try table(try reader.table())
        guard table.isEmbedded else { throw ChangeBatch.damaged() }
        var keys: [Int64] = []
        var next: Int64 = 0
        for _ in 0 ..< (try reader.count(minimumSize: 4)) { keys.append(try reader.key(after: &next)) }
        for key in keys {
            let number = try reader.table()
            guard let column = columns[number]?[try reader.column()], column.isLink, column.target == table.key,
                column.collection != .set
            else { throw ChangeBatch.damaged() }
            let owner = ObjectLink(table: try self.table(number).key, key: ObjectKey(try reader.position()))
            let index = column.collection == .list ? Int(try reader.position()) : 0
            let entry = column.collection == .map ? [UInt8](try reader.content()) : []
            let link = ObjectLink(table: table.key, key: ObjectKey(key))
            places[link] = FoundPlace(owner: owner, column: column, index: index, key: entry)
        }
    }

    /// Owners first. They may be embedded in turn, however deep.
    private mutating func findEmbedded(
        _ places: [ObjectLink: FoundPlace], mayLack: Bool
    ) throws(DatabaseError) {
        var known: [ObjectLink: ObjectKey?] = [:]
        for start in places.keys {
            var path = [start]
            while let last = path.last, let place = places[last], places[place.owner] != nil, known[place.owner] == nil
            {
                guard path.count <= places.count else { throw ChangeBatch.damaged() }
                path.append(place.owner)
            }
            for link in path.reversed() where known[link] == nil {
                guard let place = places[link] else { continue }
                let owner: ObjectKey?
                if let found = known[place.owner] {
                    owner = found
                } else {
                    owner = try live(place.owner.table, place.owner.key.rawValue)
                }
                known[link] = .some(try owner.flatMap { owner throws(DatabaseError) in try child(place, owner) })
            }
        }
        var found: [TableKey: [(key: Int64, local: Int64)]] = [:]
        for (link, local) in known {
            // The inverse says where an object will be, and there another one may be now.
            if mayLack, self.found[link.table]?.other(link.key.rawValue) != nil { continue }
            guard let local else {
                if mayLack { continue }
                let table = write.catalog.table(link.table)
                throw DatabaseError(
                    .historyForked,
                    "the batch needs an embedded \(table?.name ?? "object") that is not in its place in this file; "
                        + advice, className: table?.name)
            }
            found[link.table, default: []].append((link.key.rawValue, local.rawValue))
        }
        for (table, var pairs) in found {
            pairs.sort { $0.key < $1.key }
            var map = KeyMap()
            for pair in pairs {
                guard map.append(pair.key, to: pair.local) else { throw ChangeBatch.damaged() }
            }
            try keep(map, table)
        }
    }

    private func child(_ place: FoundPlace, _ owner: ObjectKey) throws(DatabaseError) -> ObjectKey? {
        let view = try write.table(place.owner.table)
        let column = place.column.key
        let value: ValueView
        switch place.column.collection {
        case .map:
            guard
                let index = try place.key.withBytes({ key throws(DatabaseError) in
                    try view.mapFind(column, owner, key)
                })
            else { return nil }
            value = try view.listElement(column, owner, index)
        case .none: value = try view.value(column, owner)
        default:
            guard place.index < (try view.listCount(column, owner)) else { return nil }
            value = try view.listElement(column, owner, place.index)
        }
        return value.kind == .link ? value.linkValue.key : nil
    }

    // MARK: Names

    /// An object that a difference names: it was made by it, is found by its primary key, or goes by its key.
    func live(_ view: TableView, ofDifference key: Int64) throws(DatabaseError) -> ObjectKey? {
        guard let local = made[view.key]?.other(key) ?? found[view.key]?.other(key) else {
            return isFound(view.layout.stored) ? nil : try named(view, key)
        }
        return try ownNames.standing(view, local)
    }

    // MARK: What was there before

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

    private func compare(_ sections: Sections) throws(DatabaseError) {
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
        for _ in 0 ..< columnCount {
            guard let column = columns[key]?[try reader.column()], !column.isList else { throw ChangeBatch.damaged() }
            var values = ChangeBatchReader(try reader.content())
            for key in keys {
                try require(try write.table(table.key).value(column.key, key), try values.value(), table, column)
            }
            guard values.remaining == 0 else { throw ChangeBatch.damaged() }
        }
    }

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
                let isThere = try withLocal(value) { value throws(DatabaseError) in
                    try view.setFind(column.key, key, value) != nil
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

extension KeyMap {
    /// Both of them; nil where a key is in both with different ones there.
    init?(_ one: KeyMap, _ other: KeyMap?) {
        self = one
        guard let other else { return }
        self = KeyMap()
        var all: [(key: Int64, other: Int64)] = []
        for run in one.runs + other.runs {
            for offset in 0 ..< run.count { all.append((run.first + offset, run.other + offset)) }
        }
        all.sort { $0.key < $1.key }
        for (index, pair) in all.enumerated() {
            if index > 0, all[index - 1].key == pair.key {
                guard all[index - 1].other == pair.other else { return nil }
                continue
            }
            guard append(pair.key, to: pair.other) else { return nil }
        }
    }
}
