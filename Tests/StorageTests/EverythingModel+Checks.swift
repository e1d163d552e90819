// Comparing the store with the model: every value, every index and the change log of every commit.
import MotteSchemaModel
import MotteStorage
import MotteValues
import Testing

extension EverythingModel {
    /// Equal, and of the same kind all the way down: 1 and 1.0 are equal, but not the same.
    static func isSame(_ left: Value, _ right: Value) -> Bool {
        guard left.kind == right.kind else { return false }
        switch (left, right) {
        case (.list(let one), .list(let two)):
            return one.count == two.count && zip(one, two).allSatisfy { isSame($0, $1) }
        case (.map(let one), .map(let two)):
            return one.count == two.count
                && zip(one, two).allSatisfy { $0.key.utf8.elementsEqual($1.key.utf8) && isSame($0.value, $1.value) }
        default: return left == right
        }
    }

    static func isSame(_ left: Field?, _ right: Field?) -> Bool {
        switch (left, right) {
        case (.value(let one), .value(let two)): isSame(one, two)
        case (.elements(let one), .elements(let two)):
            one.count == two.count && zip(one, two).allSatisfy { isSame($0, $1) }
        case (.map(let one), .map(let two)):
            one.count == two.count
                && one.allSatisfy { entry in two[entry.key].map { isSame(entry.value, $0) } ?? false }
        default: false
        }
    }

    static func stored(_ view: TableView, _ property: Property, _ key: ObjectKey) throws -> Field {
        let column = try #require(property.columnKey)
        if property.collection == .none { return .value(try view.value(column, key).owned) }
        let count = try view.listCount(column, key)
        var elements: [Value] = []
        let target = view.layout.columns[try view.layout.slot(column)].target?.rawValue ?? 0
        try view.listValues(column, key) { chunk, range in
            for index in range {
                var element = chunk.view(index)
                if property.type == .link, !element.isNull { element.aux = target }
                elements.append(element.owned)
            }
        }
        #expect(elements.count == count)
        guard property.isMap else { return .elements(elements) }
        var map: [String: Value] = [:]
        var last: [UInt8]?
        for index in 0 ..< count {
            let bytes = [UInt8](try view.mapKey(column, key, index))
            if let last { #expect(last.lexicographicallyPrecedes(bytes)) }
            last = bytes
            #expect(try bytes.withBytes { name throws(DatabaseError) in try view.mapFind(column, key, name) } == index)
            map[String(decoding: bytes, as: UTF8.self)] = elements[index]
        }
        return .map(map)
    }

    // MARK: Contents

    /// Everything.
    func check(_ source: RowSource, _ comment: String) throws {
        for type in [things, parts] {
            let table = try #require(type.tableKey)
            let view = try source.table(table)
            var found: [ObjectLink] = []
            for rowGroup in 0 ..< view.rowGroupCount {
                found += try view.rowGroup(rowGroup).liveKeys.map { ObjectLink(table: table, key: ObjectKey($0)) }
            }
            #expect(found == keys(table), "\(comment)")
            #expect(view.liveCount == found.count, "\(comment)")
            for row in found { try checkFields(view, type, row, comment) }
            try checkIndexes(view, type, comment)
        }
        try checkLinks(source, comment)
    }

    private func checkFields(_ view: TableView, _ type: ObjectType, _ row: ObjectLink, _ comment: String) throws {
        for property in type.properties where property.isStored {
            let stored = try Self.stored(view, property, row.key)
            let expected = rows[row]?.fields[property.name]
            // Made only when needed: most are equal.
            if Self.isSame(stored, expected) { continue }
            Issue.record(
                "\(property.name) of \(row): \(stored), not \(String(describing: expected)); \(comment)")
        }
    }

    /// What a write touched: these rows, what the indexes say of them, and how many there are. `before` is the model
    /// as it was, whose values the indexes must have forgotten.
    func checkTouched(_ source: RowSource, since before: EverythingModel, _ comment: String) throws {
        for type in [things, parts] {
            let table = try #require(type.tableKey)
            let view = try source.table(table)
            #expect(view.liveCount == keys(table).count, "\(comment)")
            for row in touched where row.table == table {
                let isThere = try view.locate(row.key) != nil
                #expect(isThere == (rows[row] != nil), "\(row); \(comment)")
                if isThere { try checkFields(view, type, row, comment) }
                for property in type.properties where property.hasIndex {
                    let column = try #require(property.columnKey)
                    let now = value(row, property)
                    let values = [value(row, property), before.value(row, property)].compactMap { $0 }
                    for (turn, value) in values.enumerated() where turn == 0 || now == nil || now != value {
                        var found: [Int64] = []
                        try value.withView { view_ throws(DatabaseError) in
                            try view.indexKeys(column, equal: view_, into: &found)
                        }
                        if found.contains(row.key.rawValue) != (value == now) {
                            Issue.record("\(property.name) == \(value) by index of \(row): \(found); \(comment)")
                        }
                    }
                }
            }
        }
    }

    private func value(_ row: ObjectLink, _ property: Property) -> Value? {
        if case .value(let value) = rows[row]?.fields[property.name] { return value }
        return nil
    }

    private func checkIndexes(_ view: TableView, _ type: ObjectType, _ comment: String) throws {
        for property in type.properties where property.hasIndex {
            let column = try #require(property.columnKey)
            let all = keys(view.key)
            let groups = Dictionary(grouping: all) { link -> Value in
                if case .value(let value) = rows[link]?.fields[property.name] { return value }
                return .null
            }
            for (value, keys) in groups {
                var found: [Int64] = []
                try value.withView { view_ throws(DatabaseError) in
                    try view.indexKeys(column, equal: view_, into: &found)
                }
                #expect(found == keys.map(\.key.rawValue), "\(property.name) == \(value); \(comment)")
            }
        }
    }

    private func checkLinks(_ source: RowSource, _ comment: String) throws {
        for type in [things, parts] {
            let table = try #require(type.tableKey)
            for property in type.properties where property.type == .link || property.type == .mixed {
                let column = try #require(property.columnKey)
                let stored = try #require(source.catalog.table(table)?.column(column))
                var expected: [ObjectLink: Int] = [:]
                for row in keys(table) {
                    for link in Self.links(rows[row]?.fields[property.name]) { expected[link, default: 0] += 1 }
                }
                for target in rows.keys {
                    let count: Int
                    if property.type == .mixed {
                        let index = try #require(stored.linkIndex)
                        count = try source.indexView(index).count(IndexValue.mixedLink(to: target))
                    } else {
                        guard stored.target == target.table else { continue }
                        count = try source.table(target.table).backlinkCount(origin: table, column, target.key)
                    }
                    #expect(count == expected[target] ?? 0, "\(property.name) -> \(target); \(comment)")
                }
                guard isOwned(property) else { continue }
                for (child, count) in expected {
                    #expect(count == 1, "\(comment)")
                    let owner = try source.table(partTable).owner(ofEmbedded: child.key)
                    let row = try #require(owner)
                    let field = rows[ObjectLink(table: row.table, key: row.key)]?.fields.values.contains {
                        Self.links($0).contains(child)
                    }
                    #expect(field == true, "\(comment)")
                }
            }
        }
    }

    // MARK: The change log

    /// What the log calls unchanged has to be unchanged, and its edits have to lead from one state to the other.
    static func checkLog(
        _ changes: ChangeSummary, from old: EverythingModel, to new: EverythingModel, _ comment: String
    ) throws {
        for type in [new.things, new.parts] {
            let table = try #require(type.tableKey)
            let change = changes.table(table)
            // What was not touched is unchanged.
            let before = Set(new.touched.filter { $0.table == table && old.rows[$0] != nil })
            let after = Set(new.touched.filter { $0.table == table && new.rows[$0] != nil })
            for row in after.subtracting(before) {
                #expect(change?.inserted.contains(row.key.rawValue) == true, "\(row); \(comment)")
            }
            for row in before.subtracting(after) {
                #expect(change?.deleted.contains(row.key.rawValue) == true, "\(row); \(comment)")
            }
            for row in before.intersection(after) {
                for property in type.properties {
                    let column = try #require(property.columnKey)
                    let was = old.rows[row]?.fields[property.name]
                    let now = new.rows[row]?.fields[property.name]
                    if !isSame(was, now) {
                        #expect(
                            change?.column(column)?.contains(row.key.rawValue) == true, "\(property.name); \(comment)")
                    }
                    switch (was, now) {
                    case (.elements(let was), .elements(let now)):
                        let edits = change?.list(column, row.key.rawValue)?.operations ?? []
                        LongListTests.replay(edits, from: was, to: now, comment)
                    case (.map(let was), .map(let now)):
                        replay(change?.map(column, row.key.rawValue)?.changes ?? [], from: was, to: now, comment)
                    default: break
                    }
                }
            }
        }
    }

    private static func replay(
        _ changes: [MapChange], from old: [String: Value], to new: [String: Value], _ comment: String
    ) {
        var rest = old
        for change in changes {
            let key = String(decoding: change.key, as: UTF8.self)
            switch change.kind {
            case .inserted: #expect(old[key] == nil && new[key] != nil, "\(comment)")
            case .modified: #expect(old[key] != nil && new[key] != nil, "\(comment)")
            case .removed: #expect(old[key] != nil && new[key] == nil, "\(comment)")
            }
            rest[key] = nil
        }
        for (key, value) in rest { #expect(new[key].map { isSame($0, value) } == true, "\(key); \(comment)") }
        let named = Set(changes.map { String(decoding: $0.key, as: UTF8.self) })
        for key in new.keys where old[key] == nil { #expect(named.contains(key), "\(comment)") }
    }
}
