// The naive model that EverythingTests compares the store with: all types, alone and in lists, sets and maps, links and
// embedded objects, as dictionaries and arrays without any cleverness.
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

struct EverythingModel {
    enum Field {
        case value(Value)
        /// Lists, and sets in their order.
        case elements([Value])
        case map([String: Value])
    }

    struct Row {
        var fields: [String: Field] = [:]
    }

    static let text = """
        Thing {
            id: int key,
            flag: bool?, count: int indexed, float: float, double: double?, text: string? indexed, data: data?,
            time: timestamp indexed, decimal: decimal?, oid: objectId indexed, uuid: uuid?, any: mixed indexed,
            friend: link<Thing>, home: link<Part>,
            ints: list<int>, texts: list<string?>, things: list<Thing>, anys: list<mixed>, parts: list<Part>,
            decimals: list<decimal>, oids: list<objectId?>,
            intSet: set<int>, textSet: set<string?>, thingSet: set<Thing>, anySet: set<mixed>, uuidSet: set<uuid>,
            doubleSet: set<double?>,
            intMap: map<int>, textMap: map<string?>, thingMap: map<Thing>, anyMap: map<mixed>, partMap: map<Part>,
        }
        embedded Part {
            name: string, inner: link<Part>, thing: link<Thing>, any: mixed, parts: list<Part>, partMap: map<Part>,
        }
        """

    /// With a class that comes later.
    static let later = text + "Extra { name: string key, things: list<Thing>, late: int }"

    let things: ObjectType
    let parts: ObjectType
    let thingTable: TableKey
    let partTable: TableKey
    private(set) var rows: [ObjectLink: Row] = [:]
    /// Rows that were made, changed or deleted since somebody emptied this.
    var touched: Set<ObjectLink> = []
    /// Of each table, ascending.
    private var order: [TableKey: [ObjectLink]] = [:]
    private var nextID: Int64 = 0
    private(set) var operations = 0

    init(_ schema: Schema) throws {
        things = try schema.type(named: "Thing")
        parts = try schema.type(named: "Part")
        thingTable = try #require(things.tableKey)
        partTable = try #require(parts.tableKey)
    }

    func type(_ table: TableKey) -> ObjectType { table == thingTable ? things : parts }

    /// In order, so that a seed leads to the same choices every time.
    func keys(_ table: TableKey) -> [ObjectLink] { order[table] ?? [] }

    func isOwned(_ property: Property) -> Bool { property.type == .link && property.target == "Part" }

    // MARK: One random change, done to both

    /// Fewer random steps than `most`, in long lists that have small nodes.
    mutating func steps(_ write: WriteTransaction, below most: Int, _ random: inout SeededRandom) throws {
        write.listShape = LongListTests.small
        write.manyObjects = 3
        var candidates = Array(rows.keys.sorted().shuffled(using: &random).prefix(12))
        for _ in 0 ..< random.below(most) { try step(write, &random, &candidates) }
    }

    mutating func step(_ write: WriteTransaction, _ random: inout SeededRandom, _ candidates: inout [ObjectLink]) throws
    {
        operations += 1
        candidates.removeAll { rows[$0] == nil }
        let roll = random.below(40)
        if candidates.count < 3 || roll < 2 {
            candidates += [try create(write, &random)]
            return
        }
        let row = random.pick(candidates)
        if roll == 2, candidates.count > 8 || random.below(8) == 0 {
            return try delete(write, row)
        }
        if roll == 3, random.below(10) == 0 {
            return try deleteSeveral(write, &random)
        }
        if roll == 4, random.below(4) == 0, let id = id(of: row) {
            // Another object with the same primary key.
            try delete(write, row)
            candidates += [try create(write, id: id, &random)]
            return
        }
        if roll == 3, random.below(20) == 0 {
            try deleteAll(write)
            return try createTogether(write, random.below(4) == 0 ? 70 : random.below(8), &random)
        }
        try edit(row, random.pick(type(row.table).properties.filter { !$0.isPrimaryKey }), write, &random, &candidates)
    }

    /// Changes one property of a row.
    mutating func edit(
        _ row: ObjectLink, _ property: Property, _ write: WriteTransaction, _ random: inout SeededRandom,
        _ candidates: inout [ObjectLink]
    ) throws {
        let column = try #require(property.columnKey)
        let place = Place(row: row, property: property, column: column)
        switch property.collection {
        case .none: try set(place, write, &random, &candidates)
        case .list: try editList(place, write, &random, &candidates)
        case .set: try editSet(place, write, &random)
        case .map: try editMap(place, write, &random, &candidates)
        }
    }

    struct Place {
        let row: ObjectLink
        let property: Property
        let column: ColumnKey
        var table: TableKey { row.table }
        var key: ObjectKey { row.key }
    }

    func blank(_ type: ObjectType) -> Row {
        var row = Row()
        for property in type.properties {
            switch property.collection {
            case .map: row.fields[property.name] = .map([:])
            case .list, .set: row.fields[property.name] = .elements([])
            case .none: row.fields[property.name] = .value(property.isNullable ? .null : Self.zero(property.type))
            }
        }
        return row
    }

    static func zero(_ type: PropertyType) -> Value {
        switch type {
        case .bool: .bool(false)
        case .int: .int(0)
        case .float: .float(0)
        case .double: .double(0)
        case .string: .string("")
        case .data: .data([])
        case .timestamp: .timestamp(Timestamp(seconds: 0, nanoseconds: 0))
        case .decimal: .decimal(.zero)
        case .objectID: .objectID(.zero)
        case .uuid: .uuid(UUIDBytes(low: 0, high: 0))
        case .link, .mixed, .linkingObjects: .null
        }
    }

    private func id(of row: ObjectLink) -> Int64? {
        guard row.table == thingTable, let property = things.primaryKey, let field = rows[row]?.fields[property.name],
            case .value(.int(let id)) = field
        else { return nil }
        return id
    }

    private mutating func create(
        _ write: WriteTransaction, id: Int64? = nil, _ random: inout SeededRandom
    ) throws -> ObjectLink {
        var row = blank(things)
        var columns: [ColumnKey] = []
        var values: [Value] = []
        for property in things.properties where property.collection == .none && !isOwned(property) {
            guard property.isPrimaryKey || random.chance(60), let column = property.columnKey else { continue }
            let value = property.isPrimaryKey ? .int(id ?? nextID) : randomValue(property, &random)
            columns.append(column)
            values.append(value)
            row.fields[property.name] = .value(value)
        }
        if id == nil { nextID += random.below(2) == 0 ? 1 : 3 }
        let key = try LongListTests.withViews(values) { views in
            try views.withUnsafeBufferPointer {
                try write.insertBatch(thingTable, columns: columns, rows: $0.baseAddress, rowCount: 1)
            }
        }
        let link = ObjectLink(table: thingTable, key: key)
        add(link, row)
        return link
    }

    /// In one call.
    mutating func createTogether(_ write: WriteTransaction, _ count: Int, _ random: inout SeededRandom) throws {
        let named = things.properties.filter {
            $0.collection == .none && !isOwned($0) && ($0.isPrimaryKey || random.chance(40))
        }
        let columns = try named.map { try #require($0.columnKey) }
        var made: [Row] = []
        var values: [Value] = []
        for _ in 0 ..< count {
            var row = blank(things)
            for property in named {
                let value = property.isPrimaryKey ? .int(nextID) : randomValue(property, &random)
                values.append(value)
                row.fields[property.name] = .value(value)
            }
            nextID += 1
            made.append(row)
        }
        let first = try LongListTests.withViews(values) { views in
            try views.withUnsafeBufferPointer {
                try write.insertBatch(thingTable, columns: columns, rows: $0.baseAddress, rowCount: count)
            }
        }
        for (index, row) in made.enumerated() {
            add(ObjectLink(table: thingTable, key: ObjectKey(first.rawValue + Int64(index))), row)
        }
    }

    mutating func delete(_ write: WriteTransaction, _ row: ObjectLink) throws {
        try write.delete(row.table, row.key)
        delete(row, isOwnerChanged: false)
    }

    /// In one call, some of them perhaps twice.
    mutating func deleteSeveral(_ write: WriteTransaction, _ random: inout SeededRandom) throws {
        let gone = (0 ..< 2 + random.below(8)).map { _ in random.pick(keys(thingTable)) }
        #expect(try write.delete(thingTable, gone.map(\.key.rawValue)) == Set(gone).count)
        for link in gone { delete(link, isOwnerChanged: false) }
    }

    mutating func deleteAll(_ write: WriteTransaction) throws {
        #expect(try write.deleteAll(thingTable) == keys(thingTable).count)
        for link in keys(thingTable) { delete(link, isOwnerChanged: false) }
    }

    private mutating func adopt(_ key: ObjectKey, _ candidates: inout [ObjectLink]) -> Value {
        let link = ObjectLink(table: partTable, key: key)
        add(link, blank(parts))
        candidates.append(link)
        return .link(link)
    }

    private mutating func add(_ link: ObjectLink, _ row: Row) {
        rows[link] = row
        touched.insert(link)
        // Keys are never used again, so this is the highest.
        order[link.table, default: []].append(link)
    }

    private mutating func put(_ field: Field, _ name: String, _ link: ObjectLink) {
        rows[link]?.fields[name] = field
        touched.insert(link)
    }

    // MARK: Single values

    private mutating func set(
        _ place: Place, _ write: WriteTransaction, _ random: inout SeededRandom, _ candidates: inout [ObjectLink]
    ) throws {
        let old = value(place)
        if isOwned(place.property) {
            if random.chance(70) {
                let key = try write.embeddedPut(place.table, place.column, place.key)
                set(place, adopt(key, &candidates))
            } else {
                try write.set(place.table, place.column, place.key, to: .null)
                set(place, .null)
            }
            if case .link(let former) = old { delete(former) }
            return
        }
        let new = randomValue(place.property, &random)
        try new.withView { view throws(DatabaseError) in try write.set(place.table, place.column, place.key, to: view) }
        set(place, new)
    }

    func value(_ place: Place) -> Value {
        if case .value(let value) = rows[place.row]?.fields[place.property.name] { return value }
        return .null
    }

    mutating func set(_ place: Place, _ value: Value) { put(.value(value), place.property.name, place.row) }

    // MARK: Lists

    func elements(_ place: Place) -> [Value] {
        if case .elements(let elements) = rows[place.row]?.fields[place.property.name] { return elements }
        return []
    }

    mutating func set(_ place: Place, _ elements: [Value]) {
        put(.elements(elements), place.property.name, place.row)
    }

    private mutating func editList(
        _ place: Place, _ write: WriteTransaction, _ random: inout SeededRandom, _ candidates: inout [ObjectLink]
    ) throws {
        var list = elements(place)
        let table = place.table
        let column = place.column
        let key = place.key
        var gone: [Value] = []
        switch random.below(9) {
        case 0 ... 2 where isOwned(place.property):
            let index = random.below(list.count + 1)
            list.insert(adopt(try write.embeddedInsert(table, column, key, at: index), &candidates), at: index)
        case 0 ... 2:
            let values = (0 ..< random.below(4) + 1).map { _ in randomValue(place.property, &random) }
            let index = random.below(list.count + 1)
            try LongListTests.withViews(values) { try write.listInsert(table, column, key, at: index, $0) }
            list.insert(contentsOf: values, at: index)
        case 3 where !list.isEmpty:
            let index = random.below(list.count)
            let count = min(random.below(3) + 1, list.count - index)
            try write.listRemove(table, column, key, at: index, count: count)
            gone = Array(list[index ..< index + count])
            list.removeSubrange(index ..< index + count)
        case 4 where !list.isEmpty:
            let index = random.below(list.count)
            if isOwned(place.property) {
                gone = [list[index]]
                list[index] = adopt(try write.embeddedSet(table, column, key, at: index), &candidates)
            } else {
                let value = randomValue(place.property, &random)
                try LongListTests.withViews([value]) { try write.listSet(table, column, key, at: index, $0[0]) }
                list[index] = value
            }
        case 5 where !list.isEmpty:
            let from = random.below(list.count)
            let to = random.below(list.count)
            try write.listMove(table, column, key, from: from, to: to)
            list.insert(list.remove(at: from), at: to)
        case 6 where !list.isEmpty:
            let first = random.below(list.count)
            let second = random.below(list.count)
            try write.listSwap(table, column, key, first, second)
            list.swapAt(first, second)
        case 7 where random.below(5) == 0:
            try write.listClear(table, column, key)
            gone = list
            list.removeAll()
        default: return
        }
        set(place, list)
        if isOwned(place.property) { for case .link(let child) in gone { delete(child) } }
    }

    // MARK: Sets

    private mutating func editSet(
        _ place: Place, _ write: WriteTransaction, _ random: inout SeededRandom
    ) throws {
        var set = elements(place)
        let table = place.table
        let column = place.column
        let key = place.key
        switch random.below(8) {
        case 0 ... 3:
            let value = randomValue(place.property, &random)
            let result = try value.withView { view throws(DatabaseError) in
                try write.setInsert(table, column, key, view)
            }
            let index = set.firstIndex { $0 >= value } ?? set.count
            let isThere = index < set.count && set[index] == value
            #expect(result.index == index && result.inserted == !isThere)
            if !isThere { set.insert(value, at: index) }
        case 4, 5:
            let value = !set.isEmpty && random.chance(60) ? random.pick(set) : randomValue(place.property, &random)
            let index = try value.withView { view throws(DatabaseError) in
                try write.setRemove(table, column, key, view)
            }
            #expect(index == set.firstIndex { $0 == value })
            set.removeAll { $0 == value }
        case 6:
            var others = (0 ..< random.below(6)).map { _ in randomValue(place.property, &random) }
            for _ in 0 ..< random.below(4) where !set.isEmpty { others.append(random.pick(set)) }
            let operation = random.pick([
                SetOperation.union, .intersection, .subtraction, .symmetricDifference, .assignment,
            ])
            try LongListTests.withViews(others) { try write.setCombine(table, column, key, operation, $0) }
            let other = Self.distinct(others)
            let shared = set.filter { other.contains($0) }
            let new = other.filter { !set.contains($0) }
            let old = set.filter { !other.contains($0) }
            switch operation {
            case .union: set += new
            case .intersection: set = shared
            case .subtraction: set = old
            case .symmetricDifference: set = old + new
            case .assignment: set = shared + new
            }
            set.sort()
        default:
            guard random.below(5) == 0 else { return }
            try write.setClear(table, column, key)
            set.removeAll()
        }
        self.set(place, set)
    }

    private static func distinct(_ values: [Value]) -> [Value] {
        // Of equal ones any may stay; the store keeps the first.
        var kept: [Value] = []
        for value in values where !kept.contains(value) { kept.append(value) }
        return kept
    }

    // MARK: Maps

    func map(_ place: Place) -> [String: Value] {
        if case .map(let map) = rows[place.row]?.fields[place.property.name] { return map }
        return [:]
    }

    mutating func set(_ place: Place, _ map: [String: Value]) { put(.map(map), place.property.name, place.row) }

    static func randomKey(_ random: inout SeededRandom) -> String {
        random.pick(["", "a", "b", "é", "key", "a longer key %2E", "k\(random.below(30))"])
    }

    private mutating func editMap(
        _ place: Place, _ write: WriteTransaction, _ random: inout SeededRandom, _ candidates: inout [ObjectLink]
    ) throws {
        var map = map(place)
        let table = place.table
        let column = place.column
        let key = place.key
        let name = Self.randomKey(&random)
        var gone: [Value] = []
        switch random.below(8) {
        case 0 ... 4:
            if isOwned(place.property), random.chance(80) {
                let child = try name.withUTF8Bytes { bytes throws(DatabaseError) in
                    try write.embeddedMapPut(table, column, key, bytes)
                }
                if let old = map[name] { gone = [old] }
                map[name] = adopt(child, &candidates)
            } else {
                let value = isOwned(place.property) ? .null : randomValue(place.property, &random)
                let inserted = try value.withView { view throws(DatabaseError) in
                    try name.withUTF8Bytes { bytes throws(DatabaseError) in
                        try write.mapPut(table, column, key, bytes, view)
                    }
                }
                #expect(inserted == (map[name] == nil))
                if let old = map[name] { gone = [old] }
                map[name] = value
            }
        case 5, 6:
            let removed = try name.withUTF8Bytes { bytes throws(DatabaseError) in
                try write.mapRemove(table, column, key, bytes)
            }
            #expect(removed == (map[name] != nil))
            if let old = map.removeValue(forKey: name) { gone = [old] }
        default:
            guard random.below(5) == 0 else { return }
            try write.mapClear(table, column, key)
            gone = Array(map.values)
            map.removeAll()
        }
        set(place, map)
        if isOwned(place.property) { for case .link(let child) in gone { delete(child) } }
    }

    // MARK: Deletion

    /// Of a part, whoever calls may have changed its owner.
    mutating func delete(_ link: ObjectLink, isOwnerChanged: Bool = true) {
        guard let row = rows.removeValue(forKey: link) else { return }
        touched.insert(link)
        order[link.table]?.removeAll { $0 == link }
        for property in type(link.table).properties where isOwned(property) {
            for child in Self.links(row.fields[property.name]) { delete(child) }
        }
        // Nobody but the owner links to a part.
        guard link.table == thingTable || !isOwnerChanged else { return }
        for other in rows.keys {
            for property in type(other.table).properties where property.type == .link || property.type == .mixed {
                guard let field = rows[other]?.fields[property.name], Self.links(field).contains(link) else { continue }
                put(Self.without(link, field, property), property.name, other)
            }
        }
    }

    static func links(_ field: Field?) -> [ObjectLink] {
        switch field {
        case .value(let value): links(value)
        case .elements(let elements): elements.flatMap { links($0) }
        case .map(let map): map.values.flatMap { links($0) }
        case nil: []
        }
    }

    static func links(_ value: Value) -> [ObjectLink] {
        switch value {
        case .link(let link): [link]
        case .list(let elements): elements.flatMap { links($0) }
        case .map(let entries): entries.flatMap { links($0.value) }
        default: []
        }
    }

    private static func without(_ link: ObjectLink, _ field: Field, _ property: Property) -> Field {
        switch field {
        case .value(let value): return .value(without(link, value))
        case .map(let map): return .map(map.mapValues { without(link, $0) })
        case .elements(let elements):
            if property.isSet {
                return .elements(distinct(elements.filter { $0 != .link(link) }.map { without(link, $0) }).sorted())
            }
            return property.type == .link
                ? .elements(elements.filter { $0 != .link(link) }) : .elements(elements.map { without(link, $0) })
        }
    }

    static func without(_ link: ObjectLink, _ value: Value) -> Value {
        switch value {
        case .link(let other): other == link ? .null : value
        case .list(let elements): .list(elements.map { without(link, $0) })
        case .map(let entries): .map(entries.map { MapEntry(key: $0.key, value: without(link, $0.value)) })
        default: value
        }
    }
}
