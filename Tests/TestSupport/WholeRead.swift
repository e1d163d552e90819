/// Everything that a source shows, read by every path there is: object by object, row group by row group as scans do,
/// through the indexes and, of a session, sorted. What the paths say must be the same; what it is comes as text, so
/// that it can be compared with what the same source showed before, or another one shows.
import MotteColumns
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues
import Testing

package enum WholeRead {
    /// Every class, its objects by key, and every stored property of each.
    @discardableResult
    package static func check(_ source: RowSource, _ comment: String) throws -> String {
        var lines: [String] = []
        for type in source.schema.objectTypes.sorted(by: { $0.name < $1.name }) {
            guard let key = type.tableKey else { continue }
            lines.append(type.name)
            lines += try check(try source.table(key), type, comment)
        }
        return lines.joined(separator: "\n")
    }

    @discardableResult
    package static func check(_ session: Session, _ comment: String) throws -> String {
        let text = try check(try session.source(), comment)
        for type in try session.schema.objectTypes {
            let all = try session.objects(type.name).allKeys
            let view = try session.source().table(try session.tableKey(type.name))
            #expect(all.count == view.liveCount, "\(type.name); \(comment)")
            for property in type.properties
            where property.collection == .none && property.isStored && property.type != .link && property.type != .mixed
            {
                let column = try #require(property.columnKey)
                let sorted = try session.objects(type.name).sorted(by: [(path: property.name, isAscending: true)])
                    .allKeys
                #expect(
                    Set(sorted) == Set(all) && sorted.count == all.count, "\(type.name).\(property.name); \(comment)")
                var last: Value?
                for key in sorted {
                    let value = try view.value(column, ObjectKey(key)).owned
                    if let last, Value.compare(last, value) > 0 {
                        Issue.record("\(type.name).\(property.name) is not sorted; \(comment)")
                    }
                    last = value
                }
            }
        }
        return text
    }

    private static func check(_ view: TableView, _ type: ObjectType, _ comment: String) throws -> [String] {
        var lines: [Int64: String] = [:]
        var keys: [Int64] = []
        for rowGroup in 0 ..< view.rowGroupCount {
            let rows = try view.rowGroup(rowGroup)
            let live = Array(rows.liveKeys)
            #expect(live.count == rows.liveCount, "\(type.name); \(comment)")
            keys += live
        }
        #expect(keys.count == view.liveCount && keys == keys.sorted(), "\(type.name); \(comment)")
        for key in keys { lines[key] = "  #\(key)" }
        for property in type.properties where property.isStored {
            let name = "\(type.name).\(property.name)"
            let column = try #require(property.columnKey)
            var byObject: [Int64: [Value]] = [:]
            for key in keys {
                byObject[key] = try values(view, property, column, ObjectKey(key))
                lines[key]? += " \(property.name)=" + (byObject[key]?.map(brief).joined(separator: ",") ?? "")
            }
            for rowGroup in 0 ..< view.rowGroupCount where try view.rowGroup(rowGroup).liveCount > 0 {
                for (key, scanned) in try self.scanned(view, property, column, rowGroup) where scanned != byObject[key]
                {
                    Issue.record("a scan finds \(scanned.map(brief)) in \(name) of \(key); \(comment)")
                }
            }
            if property.hasIndex, property.collection == .none, property.type != .link, property.type != .mixed {
                try checkIndex(view, column, byObject, name, comment)
            }
        }
        return keys.compactMap { lines[$0] }
    }

    /// Long ones by a number that is as good as they are while the process lives.
    private static func brief(_ value: Value) -> String {
        switch value {
        case .string(let text) where text.utf8.count > 16: "\(text.utf8.count):\(text.hashValue)"
        case .data, .list, .map: "\(value.hashValue)"
        default: value.text
        }
    }

    private static func values(
        _ view: TableView, _ property: Property, _ column: ColumnKey, _ key: ObjectKey
    ) throws -> [Value] {
        guard property.collection != .none else { return [try view.value(column, key).owned] }
        var values: [Value] = []
        try view.listValues(column, key) { chunk, range in for index in range { values.append(chunk.view(index).owned) }
        }
        #expect(try view.listCount(column, key) == values.count)
        guard property.isMap else { return values }
        // Its keys beside its values.
        return try values.indices.flatMap {
            [.string(String(decoding: try view.mapKey(column, key, $0), as: UTF8.self)), values[$0]]
        }
    }

    /// As a scan reads them: the chunk with all that it refers to, and of that the live rows. Long lists lie elsewhere.
    private static func scanned(
        _ view: TableView, _ property: Property, _ column: ColumnKey, _ rowGroup: Int
    ) throws -> [Int64: [Value]] {
        let rows = try view.rowGroup(rowGroup)
        var found: [Int64: [Value]] = [:]
        if property.collection == .none {
            let chunk = try view.chunk(column, rowGroup)
            for key in rows.liveKeys {
                var value = chunk.view(Int(key - rows.firstKey))
                if value.kind == .link, property.type == .link, let target = view.layout.target(of: column) {
                    value.aux = target
                }
                found[key] = [value.owned]
            }
        } else {
            let chunk = try view.listChunk(column, rowGroup)
            for key in rows.liveKeys where !property.isMap && !chunk.isExternal(Int(key - rows.firstKey)) {
                found[key] = chunk.range(Int(key - rows.firstKey)).map { chunk.elements.view($0).owned }
            }
        }
        return found
    }

    private static func checkIndex(
        _ view: TableView, _ column: ColumnKey, _ values: [Int64: [Value]], _ name: String, _ comment: String
    ) throws {
        var expected: [Value: Set<Int64>] = [:]
        for (key, value) in values { for value in value { expected[value, default: []].insert(key) } }
        for (value, keys) in expected {
            var found: [Int64] = []
            try value.withView { value throws(DatabaseError) in
                try view.indexKeys(column, equal: value, into: &found)
            }
            if Set(found) != keys {
                Issue.record("the index of \(name) for \(brief(value)) finds \(found); \(comment)")
            }
        }
    }
}

extension TableLayout {
    fileprivate func target(of column: ColumnKey) -> UInt32? { stored.column(column)?.target?.rawValue }
}
