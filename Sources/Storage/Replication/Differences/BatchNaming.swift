/// How a batch calls the objects of a file, where that is not by their keys there, and which ones it calls: whoever
/// applies it has to find them.
import MotteValues

final class BatchNaming {
    /// nil for an object that has no name.
    private let name: (TableKey, Int64) -> Int64?
    private(set) var named: [TableKey: Set<Int64>] = [:]
    /// Tables whose objects are found by their primary key, or in their place.
    private let sought: Set<TableKey>

    init(sought: Set<TableKey>, _ name: @escaping (TableKey, Int64) -> Int64?) {
        self.sought = sought
        self.name = name
    }

    func name(_ table: TableKey, _ key: Int64) throws(DatabaseError) -> Int64 {
        guard let name = name(table, key) else { throw .corrupted("a link leads to an object that is not there") }
        note(table, name)
        return name
    }

    /// Called by its name from the start. False if it was before.
    @discardableResult
    func note(_ table: TableKey, _ name: Int64) -> Bool {
        sought.contains(table) && named[table, default: []].insert(name).inserted
    }
}

/// Where an embedded object is, by the names of a batch.
struct EmbeddedPlace {
    let table: TableKey
    let column: StoredColumn
    let owner: Int64
    /// In a list.
    let index: Int
    /// In a map.
    let key: [UInt8]
}

extension FileDifference {
    /// The batch that leads from the first file to the second. It also says what was there before.
    func batch() throws(DatabaseError) -> ChangeBatch {
        let changes = try changes()
        let classes = self.classes
        func sought(_ table: TableView) -> Bool {
            table.layout.stored.primaryKey != nil || table.layout.stored.isEmbedded
        }

        var forth = try ChangeBatchReading(after, origin: origins.before)
        let naming = BatchNaming(sought: Set(classes.values.map(\.new).filter(sought).map(\.key))) {
            classes[$0]?.name($1)
        }
        forth.naming = naming
        if changesSchema { try forth.addSchema() }
        try forth.add(ChangeSummary(changes.forth, from: before.version, to: after.version))
        // Those that it makes are not to be found.
        let places = EmbeddedPlaces(classes, isNew: false)
        try forth.addSought(places, naming) { table, name in
            guard let old = classes[table]?.old, name < old.nextKey else { return nil }
            return (old, ObjectKey(name))
        }

        var back = try ChangeBatchReading(before, origin: origins.before)
        let returning = BatchNaming(sought: Set(classes.values.compactMap(\.old).filter(sought).map(\.key))) { $1 }
        back.naming = returning
        try back.add(ChangeSummary(changes.back, from: after.version, to: before.version))
        var numbers: [TableKey: MatchedClass] = [:]
        var keys: [TableKey: KeyMap] = [:]
        for matched in classes.values {
            guard let old = matched.old else { continue }
            numbers[old.key] = matched
            keys[old.key] = matched.keysByName
        }
        try back.addSought(EmbeddedPlaces(classes, isNew: true), returning) { table, name in
            guard let matched = numbers[table], let key = keys[table]?.other(name) else { return nil }
            return (matched.new, ObjectKey(key))
        }
        return try forth.finish(difference: back, before, origins.after)
    }
}

extension FileDifference.MatchedClass {
    /// From names to the objects of the second file.
    var keysByName: KeyMap {
        var all = pairs.runs + created.runs
        all.sort { $0.other < $1.other }
        var keys = KeyMap()
        for run in all { _ = keys.append(run.other, count: run.count, to: run.first) }
        return keys
    }
}

/// Finds where embedded objects of one of two files are.
final class EmbeddedPlaces {
    private let classes: [TableKey: FileDifference.MatchedClass]
    private let isNew: Bool
    /// Of the object that was asked for last: where each of its children is.
    private var latest: (owner: ObjectLink, column: ColumnKey, children: [Int64: (index: Int, key: [UInt8])])?

    init(_ classes: [TableKey: FileDifference.MatchedClass], isNew: Bool) {
        self.classes = classes
        self.isNew = isNew
    }

    /// With the numbers of the classes and properties in that file; nil where nothing has it.
    func place(_ table: TableView, _ key: ObjectKey) throws(DatabaseError) -> EmbeddedPlace? {
        for (origin, column) in table.layout.incoming {
            var owners: [Int64] = []
            try table.backlinks(origin: origin, column.key, key, into: &owners)
            guard let owner = owners.first else { continue }
            let children = try children(ObjectLink(table: origin, key: ObjectKey(owner)), column, table.source)
            let (index, entry) = children[key.rawValue] ?? (0, [])
            return EmbeddedPlace(table: origin, column: column, owner: owner, index: index, key: entry)
        }
        return nil
    }

    private func children(
        _ owner: ObjectLink, _ column: StoredColumn, _ source: RowSource
    ) throws(DatabaseError) -> [Int64: (index: Int, key: [UInt8])] {
        guard column.isList else { return [:] }
        if let latest, latest.owner == owner, latest.column == column.key { return latest.children }
        let table = try source.table(owner.table)
        var children: [Int64: (index: Int, key: [UInt8])] = [:]
        for index in 0 ..< (try table.listCount(column.key, owner.key)) {
            let entry = column.collection == .map ? [UInt8](try table.mapKey(column.key, owner.key, index)) : []
            let value = try table.listElement(column.key, owner.key, index)
            if value.kind == .link { children[value.linkValue.key.rawValue] = (index, entry) }
        }
        latest = (owner, column.key, children)
        return children
    }

    /// How the batch calls an object of the file, and the class and property there as the batch's side has them.
    func named(_ place: EmbeddedPlace) -> Int64? {
        guard isNew else { return place.owner }
        return classes[place.table]?.name(place.owner)
    }

    /// The same class and property on the other side of the difference.
    func counterpart(_ place: EmbeddedPlace) -> (table: TableView, column: StoredColumn)? {
        for matched in classes.values {
            guard let old = matched.old, (isNew ? matched.new.key : old.key) == place.table else { continue }
            for (new, former) in matched.columns {
                guard let former, (isNew ? new.key : former.key) == place.column.key else { continue }
                return isNew ? (old, former) : (matched.new, new)
            }
        }
        return nil
    }
}

extension ChangeBatchReading {
    /// How objects that the batch calls, and does not make, are to be found. `place` says where one is, nil for what it
    /// makes.
    mutating func addSought(
        _ places: EmbeddedPlaces, _ naming: BatchNaming,
        _ place: (TableKey, Int64) -> (table: TableView, key: ObjectKey)?
    ) throws(DatabaseError) {
        var found: [TableKey: [Int64: EmbeddedPlace]] = [:]
        var waiting = naming.named.flatMap { table, names in names.map { (table, $0) } }
        while let (table, name) = waiting.popLast() {
            guard let stored = snapshot.catalog.table(table), stored.isEmbedded, let source = place(table, name),
                try source.table.locate(source.key) != nil, let at = try places.place(source.table, source.key)
            else { continue }
            guard let (owner, column) = places.counterpart(at), let called = places.named(at) else { continue }
            found[table, default: [:]][name] = EmbeddedPlace(
                table: owner.key, column: column, owner: called, index: at.index, key: at.key)
            if naming.note(owner.key, called) { waiting.append((owner.key, called)) }
        }
        for table in naming.named.keys.sorted() {
            let view = try snapshot.table(table)
            if let found = found[table] { addPlaces(view, found) }
            guard view.layout.stored.primaryKey != nil else { continue }
            var known: [(name: Int64, table: TableView, key: ObjectKey)] = []
            for name in (naming.named[table] ?? []).sorted() {
                guard let source = place(table, name) else { continue }
                if try source.table.locate(source.key) != nil { known.append((name, source.table, source.key)) }
            }
            try addKnown(view, known)
        }
    }
}
