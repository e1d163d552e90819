// The naive model that StoreModelTests compares the store with: dictionaries and arrays, no cleverness.
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

struct StoreModel {
    struct Row {
        var values: [String: Value] = [:]
        var tags: [String] = []
        var friends: [Int64] = []
    }

    private(set) var rows: [Int64: Row] = [:]
    private var nextID: Int64 = 0

    // MARK: One random change, done to both

    mutating func step(_ write: WriteTransaction, _ random: inout SeededRandom) throws {
        let type = try #require(write.schema["Person"])
        let table = try #require(type.tableKey)
        let keys = rows.keys.sorted()
        switch random.below(10) {
        case 0 ... 2: try insert(write, type, table, count: random.below(8) + 1, &random)
        case 3 where !keys.isEmpty:
            let key = keys[random.below(keys.count)]
            try write.delete(table, ObjectKey(key))
            rows[key] = nil
            for other in rows.keys {
                if rows[other]?.values["friend"] == .link(ObjectLink(table: table, key: ObjectKey(key))) {
                    rows[other]?.values["friend"] = .null
                }
                rows[other]?.friends.removeAll { $0 == key }
            }
        case 4 ... 6 where !keys.isEmpty:
            let key = keys[random.below(keys.count)]
            let property = type.properties[random.below(8) + 1]
            let value = Self.randomValue(property, keys, table, &random)
            let column = try #require(property.columnKey)
            try value.withView { view throws(DatabaseError) in try write.set(table, column, ObjectKey(key), to: view) }
            rows[key]?.values[property.name] = value
        case 7 ... 9 where !keys.isEmpty: try editList(write, type, table, keys, &random)
        default: break
        }
    }

    private mutating func insert(
        _ write: WriteTransaction, _ type: ObjectType, _ table: TableKey, count: Int, _ random: inout SeededRandom
    ) throws {
        let properties = Array(type.properties[0 ..< 9])
        let existing = rows.keys.sorted()
        for _ in 0 ..< count {
            var row = Row()
            for property in properties {
                row.values[property.name] = Self.randomValue(property, existing, table, &random)
            }
            row.values["id"] = .int(nextID)
            nextID += random.below(2) == 0 ? 1 : 3
            let values = properties.map { row.values[$0.name] ?? .null }
            let columns = properties.compactMap(\.columnKey)
            let key = try Self.withViews(values) { views throws(DatabaseError) in
                try write.insertBatch(table, columns: columns, rows: views, rowCount: 1)
            }
            #expect(rows[key.rawValue] == nil)
            rows[key.rawValue] = row
        }
    }

    private mutating func editList(
        _ write: WriteTransaction, _ type: ObjectType, _ table: TableKey, _ keys: [Int64], _ random: inout SeededRandom
    ) throws {
        let key = keys[random.below(keys.count)]
        let tags = try #require(type.property(named: "tags")?.columnKey)
        let friends = try #require(type.property(named: "friends")?.columnKey)
        let count = rows[key]?.tags.count ?? 0
        switch random.below(6) {
        case 0, 1:
            let text = "tag \(random.below(1_000))"
            let index = random.below(count + 1)
            try Value.string(text).withView { view throws(DatabaseError) in
                try write.listInsert(table, tags, ObjectKey(key), at: index, [view])
            }
            rows[key]?.tags.insert(text, at: index)
        case 2 where count > 0:
            let index = random.below(count)
            try write.listRemove(table, tags, ObjectKey(key), at: index)
            rows[key]?.tags.remove(at: index)
        case 3 where count > 0:
            let from = random.below(count)
            let to = random.below(count)
            try write.listMove(table, tags, ObjectKey(key), from: from, to: to)
            if let tag = rows[key]?.tags.remove(at: from) { rows[key]?.tags.insert(tag, at: to) }
        case 4:
            let target = keys[random.below(keys.count)]
            let link = ValueView.link(ObjectLink(table: table, key: ObjectKey(target)))
            try write.listInsert(table, friends, ObjectKey(key), at: 0, [link, link])
            rows[key]?.friends.insert(contentsOf: [target, target], at: 0)
        default:
            try write.listClear(table, friends, ObjectKey(key))
            rows[key]?.friends.removeAll()
        }
    }

    private static func randomValue(
        _ property: Property, _ keys: [Int64], _ table: TableKey, _ random: inout SeededRandom
    ) -> Value {
        if property.isNullable, random.below(4) == 0 { return .null }
        switch property.type {
        case .bool: return .bool(random.below(2) == 0)
        case .int:
            return .int(
                random.below(3) == 0
                    ? Int64(random.below(1_000_000)) << Int64(random.below(20)) : Int64(random.below(20)))
        case .float: return .float(Float(random.below(1_000)) / 8)
        case .double: return .double(Double(random.below(1_000)) / 7)
        case .string:
            return .string(
                ["", "a", "é", "Ada \(random.below(50))", String(repeating: "x", count: random.below(300))][
                    random.below(5)])
        case .data: return .data([UInt8](repeating: UInt8(random.below(256)), count: random.below(40)))
        case .timestamp:
            return .timestamp(
                Timestamp(seconds: Int64(random.below(1_000_000)) - 500_000, nanoseconds: UInt32(random.below(2) * 123))
            )
        case .decimal: return .decimal(Decimal128(Double(random.below(1_000)) / 8))
        case .objectID: return .objectID(ObjectID(low: UInt64(random.below(50)), high: UInt64(random.below(3))))
        case .uuid: return .uuid(UUIDBytes(low: UInt64(random.below(50)), high: UInt64(random.below(3))))
        case .mixed:
            return random.below(2) == 0
                ? .int(Int64(random.below(20)))
                : .list([.string("x"), .map([MapEntry(key: "k", value: .bool(true))])])
        case .link, .linkingObjects:
            return keys.isEmpty
                ? .null : .link(ObjectLink(table: table, key: ObjectKey(keys[random.below(keys.count)])))
        }
    }

    private static func withViews<T>(
        _ values: [Value], _ body: (UnsafePointer<ValueView>?) throws(DatabaseError) -> T
    ) throws(DatabaseError) -> T {
        // Strings and data are copied to memory that outlives the call.
        var owned: [UnsafeMutableRawBufferPointer] = []
        defer { owned.forEach { $0.deallocate() } }
        let views: [ValueView] = values.map { value in
            value.withView { view in
                guard view.kindNumber == 5 || view.kindNumber == 6 else { return view }
                let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: view.bytes.count, alignment: 1)
                copy.copyBytes(from: view.bytes)
                owned.append(copy)
                var moved = view
                moved.low = UInt64(UInt(bitPattern: copy.baseAddress))
                return moved
            }
        }
        return try views.withUnsafeBufferPointer { buffer throws(DatabaseError) in try body(buffer.baseAddress) }
    }

    // MARK: Comparing

    func check(_ source: RowSource, _ location: SourceLocation = #_sourceLocation) throws {
        let type = try #require(source.schema["Person"])
        let table = try #require(type.tableKey)
        let view = try source.table(table)
        #expect(view.liveCount == rows.count, sourceLocation: location)
        var found: [Int64] = []
        for rowGroup in 0 ..< view.rowGroupCount {
            let rows = try view.rowGroup(rowGroup)
            for row in 0 ..< rows.rowCount
            where rows.liveWords.map({ $0[row >> 6] & (1 << UInt64(row & 63)) != 0 }) ?? true {
                found.append(rows.firstKey + Int64(row))
            }
        }
        #expect(found == rows.keys.sorted(), sourceLocation: location)
        let tags = try #require(type.property(named: "tags")?.columnKey)
        let friends = try #require(type.property(named: "friends")?.columnKey)
        for (key, row) in rows {
            for property in type.properties[0 ..< 9] {
                let column = try #require(property.columnKey)
                let value = try view.value(column, ObjectKey(key)).owned
                let expected = row.values[property.name] ?? .null
                #expect(value == expected, "\(property.name) of \(key)", sourceLocation: location)
            }
            var stored: [String] = []
            for index in 0 ..< (try view.listCount(tags, ObjectKey(key))) {
                if case .string(let text) = try view.listElement(tags, ObjectKey(key), index).owned {
                    stored.append(text)
                }
            }
            #expect(stored == row.tags, sourceLocation: location)
            var linked: [Int64] = []
            try view.listValues(friends, ObjectKey(key)) { chunk, range in
                for index in range { linked.append(chunk.link(index)) }
            }
            #expect(linked == row.friends, sourceLocation: location)
        }
        try checkIndexes(view, type, table, location)
    }

    private func checkIndexes(_ view: TableView, _ type: ObjectType, _ table: TableKey, _ location: SourceLocation)
        throws
    {
        let friend = try #require(type.property(named: "friend")?.columnKey)
        let friends = try #require(type.property(named: "friends")?.columnKey)
        for name in ["id", "name", "age"] {
            let column = try #require(type.property(named: name)?.columnKey)
            let groups = Dictionary(grouping: rows.keys) { rows[$0]?.values[name] ?? .null }
            for (value, keys) in groups {
                var found: [Int64] = []
                try value.withView { view_ throws(DatabaseError) in
                    try view.indexKeys(column, equal: view_, into: &found)
                }
                #expect(found == keys.sorted(), "\(name) == \(value)", sourceLocation: location)
            }
        }
        for key in rows.keys {
            let link = Value.link(ObjectLink(table: table, key: ObjectKey(key)))
            let pointing = rows.filter { $0.value.values["friend"] == link }.keys.sorted()
            var found: [Int64] = []
            try view.backlinks(origin: table, friend, ObjectKey(key), into: &found)
            #expect(found == pointing, sourceLocation: location)
            let listed = rows.reduce(0) { $0 + $1.value.friends.filter { $0 == key }.count }
            #expect(try view.backlinkCount(origin: table, friends, ObjectKey(key)) == listed, sourceLocation: location)
        }
    }
}
