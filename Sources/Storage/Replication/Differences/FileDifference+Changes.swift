/// What matched objects have with other values, as the changes that a change log would tell of: those of the second
/// file, and those of the first, which lead back.
import MotteColumns
import MotteSchemaModel
import MotteValues

extension FileDifference {
    struct Changes {
        var forth: [ChangeSummary.Table] = []
        var back: [ChangeSummary.Table] = []
    }

    func changes() throws(DatabaseError) -> Changes {
        var changes = Changes()
        for key in classes.keys.sorted() {
            guard let matched = classes[key] else { continue }
            var (forth, back) = (Differences(), Differences())
            if let old = matched.old {
                for (column, former) in matched.columns {
                    if column.isList {
                        try compareCollections(matched, old, column, former, &forth, &back)
                    } else {
                        try compareValues(matched, old, column, former, &forth, &back)
                    }
                }
            }
            var created = KeyRuns()
            for run in matched.created.runs { created.append(run.first ..< run.end) }
            changes.forth.append(forth.table(key, inserted: created, deleted: matched.deleted))
            guard let old = matched.old else { continue }
            changes.back.append(back.table(old.key, inserted: matched.deleted, deleted: matched.created.others))
        }
        return changes
    }

    private struct Differences {
        var columns: [ChangeSummary.Column] = []
        var lists: [ChangeSummary.List] = []
        var maps: [ChangeSummary.Map] = []

        func table(_ key: TableKey, inserted: KeyRuns, deleted: KeyRuns) -> ChangeSummary.Table {
            ChangeSummary.Table(
                table: key, inserted: inserted, deleted: deleted, columns: columns, modifiedKeys: [], lists: lists,
                maps: maps, nested: [])
        }
    }

    // MARK: Values as the first file would have them

    /// The link with the name of its target. Classes that the first file lacks have other numbers than any there.
    func named(_ link: ObjectLink) throws(DatabaseError) -> ObjectLink {
        guard let matched = classes[link.table], let name = matched.name(link.key.rawValue) else {
            throw .corrupted("a link leads to an object that is not there")
        }
        let table = matched.old?.key ?? TableKey(link.table.rawValue | 1 << 31)
        return ObjectLink(table: table, key: ObjectKey(name))
    }

    private func named(_ value: Value) throws(DatabaseError) -> Value {
        try value.mapLinks { link throws(DatabaseError) in try named(link) }
    }

    private func isSame(_ new: ValueView, _ old: ValueView) throws(DatabaseError) -> Bool {
        guard new.kindNumber == old.kindNumber else { return false }
        switch new.kind {
        case .link: return try named(new.linkValue) == old.linkValue
        case .list, .map: return try NestedDocument.encode(named(new.owned)) == [UInt8](old.bytes)
        default: return ValueIdentity.isSame(new, old)
        }
    }

    // MARK: Single values

    private func compareValues(
        _ matched: MatchedClass, _ old: TableView, _ column: StoredColumn, _ former: StoredColumn?,
        _ forth: inout Differences, _ back: inout Differences
    ) throws(DatabaseError) {
        var keys: (new: [Int64], old: [Int64]) = ([], [])
        let slot = try matched.new.layout.slot(column.key)
        let oldSlot = try former.map { former throws(DatabaseError) in try old.layout.slot(former.key) }
        for run in matched.pairs.runs {
            var offset: Int64 = 0
            while offset < run.count {
                let (key, oldKey) = (run.first + offset, run.other + offset)
                let place = try matched.new.requireLocation(ObjectKey(key))
                let chunk = try matched.new.chunk(slot: slot, place.rowGroup)
                var count = min(Int(run.count - offset), try matched.new.rowGroup(place.rowGroup).rowCount - place.slot)
                if let oldSlot {
                    let oldPlace = try old.requireLocation(ObjectKey(oldKey))
                    let oldChunk = try old.chunk(slot: oldSlot, oldPlace.rowGroup)
                    count = min(count, try old.rowGroup(oldPlace.rowGroup).rowCount - oldPlace.slot)
                    for index in 0 ..< count {
                        let value = column.linked(chunk.view(place.slot + index))
                        let oldValue = former?.linked(oldChunk.view(oldPlace.slot + index)) ?? .null
                        if try !isSame(value, oldValue) {
                            keys.new.append(key + Int64(index))
                            keys.old.append(oldKey + Int64(index))
                        }
                    }
                } else {
                    // What a new property has where nobody has set it.
                    for index in 0 ..< count where !chunk.view(place.slot + index).isNull {
                        keys.new.append(key + Int64(index))
                    }
                }
                offset += Int64(max(1, count))
            }
        }
        if !keys.new.isEmpty { forth.columns.append(ChangeSummary.Column(column: column.key, keys: keys.new)) }
        guard let former, !keys.old.isEmpty else { return }
        back.columns.append(ChangeSummary.Column(column: former.key, keys: keys.old.sorted()))
    }

    // MARK: Collections

    /// The elements one after the other as bytes, links by name.
    private func elements(
        _ table: TableView, _ column: StoredColumn, _ key: ObjectKey, isNew: Bool
    ) throws(DatabaseError) -> (bytes: [UInt8], ends: [Int]) {
        var (bytes, ends): ([UInt8], [Int]) = ([], [])
        try table.listValues(column.key, key) { chunk, range throws(DatabaseError) in
            for index in range {
                let value = column.linked(chunk.view(index))
                switch value.kind {
                case .link where isNew:
                    LoggedValue.append(.link(try named(value.linkValue)), longest: .max, to: &bytes)
                case .list where isNew, .map where isNew:
                    try named(value.owned).withView { LoggedValue.append($0, longest: .max, to: &bytes) }
                default: LoggedValue.append(value, longest: .max, to: &bytes)
                }
                ends.append(bytes.count)
            }
        }
        return (bytes, ends)
    }

    private func compareCollections(
        _ matched: MatchedClass, _ old: TableView, _ column: StoredColumn, _ former: StoredColumn?,
        _ forth: inout Differences, _ back: inout Differences
    ) throws(DatabaseError) {
        var returning: (lists: [ChangeSummary.List], maps: [ChangeSummary.Map]) = ([], [])
        try matched.pairs.forEach { key, oldKey throws(DatabaseError) in
            let count = try matched.new.listCount(column.key, ObjectKey(key))
            let oldCount = try former.map { former throws(DatabaseError) in
                try old.listCount(former.key, ObjectKey(oldKey))
            }
            guard count > 0 || oldCount ?? 0 > 0 else { return }
            let theirs = try elements(matched.new, column, ObjectKey(key), isNew: true)
            let ours = try former.map { former throws(DatabaseError) in
                try elements(old, former, ObjectKey(oldKey), isNew: false)
            }
            if column.collection == .map {
                let entries = try Self.entries(matched.new, column, key, theirs)
                var oldEntries: [[UInt8]: [UInt8]] = [:]
                if let former { oldEntries = try Self.entries(old, former, oldKey, ours ?? ([], [])) }
                let changed = Self.changedKeys(entries, oldEntries)
                guard !changed.isEmpty else { return }
                forth.maps.append(ChangeSummary.Map(column: column.key, owner: key, changes: changed))
                if let former {
                    returning.maps.append(ChangeSummary.Map(column: former.key, owner: oldKey, changes: changed))
                }
                return
            }
            if let ours, theirs.bytes == ours.bytes, theirs.ends == ours.ends { return }
            let operations: [ListOperation]
            if column.collection == .set {
                // Sets are given whole. Their order may differ from file to file.
                guard Set(Self.split(theirs)) != Set(Self.split(ours ?? ([], []))) else { return }
                operations = []
            } else {
                operations = Self.operations(Self.split(ours ?? ([], [])), Self.split(theirs))
            }
            forth.lists.append(ChangeSummary.List(column: column.key, owner: key, operations: operations))
            guard let former else { return }
            returning.lists.append(
                ChangeSummary.List(
                    column: former.key, owner: oldKey, operations: operations.reversed().map(\.reversed)))
        }
        back.lists += returning.lists.sorted { $0.owner < $1.owner }
        back.maps += returning.maps.sorted { $0.owner < $1.owner }
    }

    private static func split(_ elements: (bytes: [UInt8], ends: [Int])) -> [[UInt8]] {
        var start = 0
        return elements.ends.map { end in
            defer { start = end }
            return Array(elements.bytes[start ..< end])
        }
    }

    private static func operations(_ old: [[UInt8]], _ new: [[UInt8]]) -> [ListOperation] {
        var numbers: [[UInt8]: Int] = [:]
        func number(_ element: [UInt8]) -> Int {
            if let known = numbers[element] { return known }
            numbers[element] = numbers.count
            return numbers.count - 1
        }
        let (before, after) = (old.map(number), new.map(number))
        return ListDifference.operations(ListDifference.common(before, after), old.count, new.count)
    }

    private static func entries(
        _ table: TableView, _ column: StoredColumn, _ key: Int64, _ elements: (bytes: [UInt8], ends: [Int])
    ) throws(DatabaseError) -> [[UInt8]: [UInt8]] {
        var entries: [[UInt8]: [UInt8]] = [:]
        for (index, element) in split(elements).enumerated() {
            entries[[UInt8](try table.mapKey(column.key, ObjectKey(key), index))] = element
        }
        return entries
    }

    private static func changedKeys(_ new: [[UInt8]: [UInt8]], _ old: [[UInt8]: [UInt8]]) -> [MapChange] {
        var changes: [MapChange] = []
        for (key, value) in new where old[key] != value {
            changes.append(MapChange(key: key, kind: old[key] == nil ? .inserted : .modified))
        }
        for key in old.keys where new[key] == nil { changes.append(MapChange(key: key, kind: .removed)) }
        return changes.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }
}

extension StoredColumn {
    /// Links lie in their column without the class they belong to.
    func linked(_ value: ValueView) -> ValueView {
        guard value.kindNumber == ValueKind.link.rawValue, let target else { return value }
        return .link(ObjectLink(table: target, key: value.linkValue.key))
    }
}

extension Value {
    /// With other links, also within lists and maps.
    func mapLinks(_ body: (ObjectLink) throws(DatabaseError) -> ObjectLink) throws(DatabaseError) -> Value {
        switch self {
        case .link(let link): return .link(try body(link))
        case .list(let elements):
            var mapped: [Value] = []
            for element in elements { mapped.append(try element.mapLinks(body)) }
            return .list(mapped)
        case .map(let entries):
            var mapped: [MapEntry] = []
            for entry in entries { mapped.append(MapEntry(key: entry.key, value: try entry.value.mapLinks(body))) }
            return .map(mapped)
        default: return self
        }
    }
}
