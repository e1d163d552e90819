/// The difference of two files as a change batch: applied to the first, or to a file that has the same objects there,
/// it gives the second.
///
/// Objects are the same in both files if they have the same primary key; without one, if one file keeps that it has the
/// other's object (`ObjectNames`); else if they have the same key, as in copies. Embedded objects are the same if they
/// are in the same place of the same object. However objects are matched, what comes out has the values of the second
/// file; only how much has to be said depends on it.
///
/// In the batch objects go by their keys in the first file. Those that only the second has get names above all keys:
/// 2^47 and the keys that the first file would give next, so that no name is the key of an object. A file that applies
/// the difference keeps them up there, each difference's in a place of its own (`ChangeBatch.firstKeptName`).
import MotteSchemaModel
import MotteValues

struct FileDifference {
    static let firstName: Int64 = 1 << 47
    static let keyLimit: Int64 = 1 << 45

    let before: Snapshot
    let after: Snapshot
    let origins: (before: ChangeOrigin, after: ChangeOrigin)
    /// By the second file's tables.
    private(set) var classes: [TableKey: MatchedClass] = [:]
    /// The second file's schema, where the first lacks some of it.
    private(set) var changesSchema = false

    /// A class of the second file, and what is known of its objects in the first.
    struct MatchedClass {
        let new: TableView
        let old: TableView?
        let columns: [(new: StoredColumn, old: StoredColumn?)]
        /// From objects of the second file to the same of the first.
        var pairs = KeyMap()
        /// From objects that only the second file has to what they are called.
        var created = KeyMap()
        /// Only the first file has them.
        var deleted = KeyRuns()

        func name(_ key: Int64) -> Int64? { pairs.other(key) ?? created.other(key) }
    }

    init(
        _ before: Snapshot, _ after: Snapshot, origins: (before: ChangeOrigin, after: ChangeOrigin)
    ) throws(DatabaseError) {
        self.before = before
        self.after = after
        self.origins = origins
        try matchSchemas()
        for key in classes.keys.sorted() { try matchObjects(key) }
        try matchEmbedded()
        for key in classes.keys { try nameObjects(key) }
    }

    // MARK: Classes

    private mutating func matchSchemas() throws(DatabaseError) {
        let (old, new) = (before.catalog, after.catalog)
        for table in old.tables {
            guard let other = new.table(named: table.name) else {
                throw Self.lost("class \(table.name)", table.name)
            }
            for column in table.columns where !column.isMapKeys && other.column(named: column.name) == nil {
                throw Self.lost("\(table.name).\(column.name)", table.name)
            }
        }
        do throws(DatabaseError) {
            changesSchema = try CatalogChanges.applying(new.schema, schemaVersion: nil, to: old) != nil
        } catch {
            throw DatabaseError(
                .schemaMismatch,
                "the second file's schema is not the first one's with additions, and a batch carries over nothing "
                    + "else: \(error.message)")
        }
        for table in new.tables {
            let former = old.table(named: table.name)
            classes[table.key] = MatchedClass(
                new: try after.table(table.key),
                old: try former.flatMap { former throws(DatabaseError) in try before.table(former.key) },
                columns: table.columns.filter { !$0.isMapKeys }.map { ($0, former?.column(named: $0.name)) })
        }
    }

    private static func lost(_ what: String, _ className: String) -> DatabaseError {
        DatabaseError(
            .schemaMismatch,
            "\(what) of the first file is missing in the second, and a batch takes nothing of a schema away; "
                + "migrate one of them first", className: className)
    }

    // MARK: Objects

    private mutating func matchObjects(_ key: TableKey) throws(DatabaseError) {
        guard var matched = classes[key], let old = matched.old, !matched.new.layout.stored.isEmbedded else { return }
        if old.layout.stored.primaryKey != nil {
            try Self.matchByPrimaryKey(&matched, old)
        } else {
            try matchByIdentity(&matched, old)
        }
        classes[key] = matched
    }

    private static func matchByPrimaryKey(_ matched: inout MatchedClass, _ old: TableView) throws(DatabaseError) {
        guard let column = matched.new.layout.stored.primaryKey?.key,
            let oldColumn = old.layout.stored.primaryKey?.key
        else { return }
        var last: (new: Int64, old: Int64)?
        for run in try matched.new.liveRuns().runs {
            for key in run {
                let value = try matched.new.value(column, ObjectKey(key))
                // In copies it is most often where one would look.
                let guess = ObjectKey(last.map { $0.old + key - $0.new } ?? key)
                let found: ObjectKey?
                if try old.locate(guess) != nil, ValueIdentity.isSame(try old.value(oldColumn, guess), value) {
                    found = guess
                } else {
                    found = try old.find(primaryKey: value)
                }
                guard let found else { continue }
                try append(key, found.rawValue, to: &matched.pairs)
                last = (key, found.rawValue)
            }
        }
    }

    private func matchByIdentity(_ matched: inout MatchedClass, _ old: TableView) throws(DatabaseError) {
        let new = matched.new
        let areOne = origins.before == origins.after
        let itself = (
            before: ObjectNames(before.pages, ReplicaPages.itself), after: ObjectNames(after.pages, ReplicaPages.itself)
        )
        var pairs: [(new: Int64, old: Int64)] = []
        if !areOne, try after.replicaPosition(origins.before) != nil {
            let names = ObjectNames(after.pages, origins.before)
            try Self.forEachNamed(names, (old, itself.before), (new, itself.after)) { pairs.append(($1, $0)) }
            return try Self.append(some: pairs, to: &matched.pairs)
        }
        if !areOne, try before.replicaPosition(origins.after) != nil {
            let names = ObjectNames(before.pages, origins.after)
            try Self.forEachNamed(names, (new, itself.after), (old, itself.before)) { pairs.append(($0, $1)) }
            return try Self.append(some: pairs, to: &matched.pairs)
        }
        for run in try new.liveRuns().runs {
            for key in run where try old.locate(ObjectKey(key)) != nil {
                try Self.append(key, key, to: &matched.pairs)
            }
        }
        // What came again in one of them.
        for run in try old.liveRuns().subtracting(matched.pairs.others).runs {
            for key in run {
                if let same = try itself.after.standing(new, key) { pairs.append((same.rawValue, key)) }
            }
        }
        for run in try new.liveRuns().subtracting(matched.pairs.keys).runs {
            for key in run {
                if let same = try itself.before.standing(old, key) { pairs.append((key, same.rawValue)) }
            }
        }
        try Self.append(some: pairs, to: &matched.pairs)
    }

    /// `names` are those that the second file keeps of the first one's objects; both may have come again since.
    private static func forEachNamed(
        _ names: ObjectNames, _ named: (table: TableView, itself: ObjectNames),
        _ naming: (table: TableView, itself: ObjectNames), _ body: (_ named: Int64, _ naming: Int64) -> Void
    ) throws(DatabaseError) {
        try names.forEachRun(naming.table.key, in: 0 ..< named.table.nextKey) { run throws(DatabaseError) in
            for offset in 0 ..< run.count {
                guard let theirs = try named.itself.standing(named.table, run.first + offset) else { continue }
                guard let ours = try naming.itself.standing(naming.table, run.local + offset) else { continue }
                body(theirs.rawValue, ours.rawValue)
            }
        }
    }

    /// But for those of objects that have been paired, and each object once.
    private static func append(
        some all: [(new: Int64, old: Int64)], to map: inout KeyMap
    ) throws(DatabaseError) {
        guard !all.isEmpty else { return }
        var pairs = all
        let others = map.others
        var byOld = KeyMap(), more = KeyMap()
        pairs.sort { $0.old < $1.old }
        for pair in pairs where map.other(pair.new) == nil && !others.contains(pair.old) {
            _ = byOld.append(pair.old, to: pair.new)
        }
        pairs.removeAll(keepingCapacity: true)
        try byOld.forEach { pairs.append((new: $1, old: $0)) }
        pairs.sort { $0.new < $1.new }
        for pair in pairs { _ = more.append(pair.new, to: pair.old) }
        guard !map.runs.isEmpty else { return map = more }
        guard let merged = KeyMap(more, map) else { throw .corrupted("two objects have the same name") }
        map = merged
    }

    private static func append(_ key: Int64, _ other: Int64, to map: inout KeyMap) throws(DatabaseError) {
        guard map.append(key, to: other) else { throw .corrupted("two objects have the same key, or the same name") }
    }

    private static func append(
        _ pairs: inout [(new: Int64, old: Int64)], to map: inout KeyMap
    ) throws(DatabaseError) {
        pairs.sort { $0.new < $1.new }
        for pair in pairs { try append(pair.new, pair.old, to: &map) }
    }

    // MARK: Embedded objects

    private struct Owner {
        let table: TableKey
        let new: Int64
        let old: Int64
    }

    /// From the objects that have them, downwards.
    private mutating func matchEmbedded() throws(DatabaseError) {
        var found: [TableKey: [(new: Int64, old: Int64)]] = [:]
        var waiting: [Owner] = []
        for (table, matched) in classes where !matched.new.layout.stored.isEmbedded {
            guard !owning(matched).isEmpty else { continue }
            try matched.pairs.forEach { new, old throws(DatabaseError) in
                waiting.append(Owner(table: table, new: new, old: old))
                while let owner = waiting.popLast() { try matchChildren(owner, &found, &waiting) }
            }
        }
        for (table, var pairs) in found {
            guard var matched = classes[table] else { continue }
            try Self.append(&pairs, to: &matched.pairs)
            classes[table] = matched
        }
    }

    private func owning(_ matched: MatchedClass) -> [(new: StoredColumn, old: StoredColumn)] {
        matched.columns.compactMap { new, old in
            guard new.isLink, let target = new.target, after.catalog.table(target)?.isEmbedded ?? false, let old else {
                return nil
            }
            return (new, old)
        }
    }

    private func matchChildren(
        _ owner: Owner, _ found: inout [TableKey: [(new: Int64, old: Int64)]], _ waiting: inout [Owner]
    ) throws(DatabaseError) {
        guard let matched = classes[owner.table], let old = matched.old else { return }
        for (column, oldColumn) in owning(matched) {
            guard let target = column.target else { continue }
            let theirs = try Self.children(matched.new, column, ObjectKey(owner.new))
            let ours = try Self.children(old, oldColumn, ObjectKey(owner.old))
            for pair in Self.same(ours, theirs, column.collection) {
                found[target, default: []].append(pair)
                waiting.append(Owner(table: target, new: pair.new, old: pair.old))
            }
        }
    }

    /// With the key that each has in a map.
    private static func children(
        _ table: TableView, _ column: StoredColumn, _ owner: ObjectKey
    ) throws(DatabaseError) -> [(place: [UInt8], key: Int64)] {
        guard column.isList else {
            let value = try table.value(column.key, owner)
            return value.kind == .link ? [([], value.linkValue.key.rawValue)] : []
        }
        var children: [(place: [UInt8], key: Int64)] = []
        for index in 0 ..< (try table.listCount(column.key, owner)) {
            let place = column.collection == .map ? [UInt8](try table.mapKey(column.key, owner, index)) : []
            let value = try table.listElement(column.key, owner, index)
            if value.kind == .link { children.append((place, value.linkValue.key.rawValue)) }
        }
        return children
    }

    /// Those in the same place: of maps by key, of lists of one length by index, which is all there is in files that
    /// are equal and otherwise unrelated. Of others, those with the same key that stand in the same order, if there are
    /// any.
    private static func same(
        _ old: [(place: [UInt8], key: Int64)], _ new: [(place: [UInt8], key: Int64)], _ kind: CollectionKind
    ) -> [(new: Int64, old: Int64)] {
        guard kind != .map else {
            let byPlace = Dictionary(old.map { ($0.place, $0.key) }) { first, _ in first }
            return new.compactMap { child in byPlace[child.place].map { (child.key, $0) } }
        }
        let common =
            old.count == new.count ? [] : ListDifference.common(old.map { Int($0.key) }, new.map { Int($0.key) })
        guard common.isEmpty else { return common.map { (new[$0.new].key, old[$0.old].key) } }
        return zip(new, old).map { ($0.key, $1.key) }
    }

    // MARK: Names

    private mutating func nameObjects(_ key: TableKey) throws(DatabaseError) {
        guard var matched = classes[key] else { return }
        if let old = matched.old { matched.deleted = try old.liveRuns().subtracting(matched.pairs.others) }
        var next = Self.firstName + (matched.old?.nextKey ?? 0)
        for run in try matched.new.liveRuns().subtracting(matched.pairs.keys).runs {
            guard matched.created.append(run.lowerBound, count: Int64(run.count), to: next) else {
                throw .corrupted("the keys of a class do not ascend")
            }
            next += Int64(run.count)
        }
        guard next <= Self.firstName + Self.keyLimit else {
            let name = matched.new.layout.stored.name
            throw DatabaseError(.valueTooLarge, "\(name) has no object keys left for a difference", className: name)
        }
        classes[key] = matched
    }
}

extension Database {
    /// What leads from what `before` shows of one file to what `after` shows of another, or of the same.
    package static func difference(
        _ before: (database: Database, snapshot: Snapshot), _ after: (database: Database, snapshot: Snapshot)
    ) throws(DatabaseError) -> ChangeBatch {
        let origins = (before: try before.database.origin(), after: try after.database.origin())
        return try FileDifference(before.snapshot, after.snapshot, origins: origins).batch()
    }
}
