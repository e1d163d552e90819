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
            let compared = try namedColumns(inverse)
            (tables, columns) = (forth, theirs)
            try compareAdded(sections, compared)
        }
    }

    private mutating func find(_ sections: Sections, mayLack: Bool) throws(DatabaseError) {
        var places: [ObjectLink: FoundPlace] = [:]
        var taken: Set<TableKey> = []
        for (kind, body) in sections {
            var reader = body
            switch kind {
            case .classes: try takeClasses(&reader)
            case .known, .places:
                // Each class once, so that what is found is not sorted again and again.
                var start = body
                guard taken.insert(try start.table()).inserted else { throw ChangeBatch.damaged() }
                try kind == .known ? takeKnown(&reader, mayLack: mayLack) : takePlaces(&reader, &places)
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
        try note(found, table.key)
    }

    private mutating func note(_ found: KeyMap, _ table: TableKey) throws(DatabaseError) {
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
            try note(map, table)
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

    /// Under which names the file keeps what the difference made, and what it deleted that is found by what it is: by
    /// its inverse, or by itself again, it comes again as another object, and others still name the former one. Names
    /// and keys of one difference don't meet, those of two have places of their own.
    private func keptNames(_ keys: Range<Int64>) -> Range<Int64> {
        let isKey = keys.lowerBound < FileDifference.firstName
        let distance = batch.firstKeptName - (isKey ? 0 : FileDifference.firstName)
        return keys.lowerBound + distance ..< keys.upperBound + distance
    }

    /// The object here of a kept name.
    func keptName(_ table: TableKey, _ key: Int64) throws(DatabaseError) -> ObjectKey? {
        try ownNames.local(table, keptNames(key ..< key + 1).lowerBound)
    }

    /// Objects that the difference has made.
    func keep(_ table: StoredTable, _ keys: Range<Int64>, _ local: Int64) throws(DatabaseError) {
        let view = try write.table(table.key)
        for key in keys {
            guard let former = try keptName(table.key, key) else { continue }
            if try view.locate(former) == nil {
                try lead(table.key, former.rawValue, to: local + key - keys.lowerBound)
            } else if !isFound(table) {
                throw isHere(table)
            }
        }
        guard keys.lowerBound >= FileDifference.firstName else { return }
        guard try ownNames.add(table.key, keptNames(keys), local: local, replacing: true) else {
            throw ChangeBatch.damaged()
        }
    }

    /// Objects that the difference deletes.
    func keepDeleted(_ table: StoredTable, _ runs: KeyRuns) throws(DatabaseError) {
        guard isFound(table), let found = found[table.key] else { return }
        for run in runs.runs {
            let keys = run.clamped(to: 0 ..< FileDifference.keyLimit)
            try found.forEachRun(in: keys) { pairs throws(DatabaseError) in
                let names = keptNames(pairs.first ..< pairs.end)
                guard try ownNames.add(table.key, names, local: pairs.other, replacing: true) else {
                    throw ChangeBatch.damaged()
                }
            }
        }
    }

    /// The objects here of names that differences made up.
    func objects(_ table: TableView, named run: Range<Int64>) throws(DatabaseError) -> [ObjectKey] {
        let start = FileDifference.firstName
        let run = run.clamped(to: start ..< start + FileDifference.keyLimit)
        guard !run.isEmpty else { return [] }
        var found: [ObjectKey] = []
        try ownNames.forEach(table.key, in: keptNames(run)) { key throws(DatabaseError) in
            if let key = try ownNames.standing(table, key.rawValue) { found.append(key) }
        }
        return found
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
