/// Random stores of all types: what was exported and imported exports the same bytes.
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteValues
import Synchronization
import TestSupport
import Testing

@Suite struct StoreRoundTripTests {
    @Test func dumpsMakeTheSameStore() throws {
        try PropertyTest.run(rounds: 40) { random, comment in
            let before = try RandomStore.make(&random)
            let dump = try before.dumpJSON()
            let header = try #require(try Array(dump.utf8).withUnsafeBytes { try StoreDumpHeader($0) })

            let after = try Session.open(SessionOptions(.memory(RandomStore.freshName()), schema: header.schema))
            try after.importJSON(nil, dump)

            #expect(try after.dumpJSON() == dump, "\(comment)")
        }
    }

    @Test func dumpsAreReadInParts() throws {
        try PropertyTest.run(rounds: 5) { random, comment in
            let before = try RandomStore.make(&random)
            let dump = try before.dumpJSON()
            let after = try Session.open(SessionOptions(.memory(RandomStore.freshName()), schema: try before.schema))
            var options = JSONImport.Options()
            options.batchRows = 1 + random.below(5)
            let importer = try JSONImport(after, into: nil, options)
            try after.inWrite {
                let bytes = Array(dump.utf8)
                var start = 0
                while start < bytes.count {
                    let end = min(start + 1 + random.below(300), bytes.count)
                    try bytes[start ..< end].withUnsafeBytes { try importer.feed($0) }
                    start = end
                }
                try importer.finish()
            }
            #expect(try after.dumpJSON() == dump, "\(comment)")
        }
    }

    @Test func dumpsOfAnotherFormAreRefused() throws {
        let error = #expect(throws: DatabaseError.self) {
            try Array("{\"$motte\":2,\"schema\":\"\"}".utf8).withUnsafeBytes { _ = try StoreDumpHeader($0) }
        }
        #expect(error?.code == .unsupportedFormat)
    }
}

/// Classes, objects and values as they come; some objects deleted, so that keys have gaps.
enum RandomStore {
    private static let number = Atomic<Int>(0)

    /// Stores in memory are shared by their name.
    static func freshName() -> String { "exchange-\(number.add(1, ordering: .relaxed).newValue)" }

    static func make(_ random: inout SeededRandom) throws -> Session {
        let schema = try SchemaText.parse(schemaText(&random))
        var options = SessionOptions(.memory(freshName()), schema: schema)
        options.rowGroupSize = 3
        let session = try Session.open(options)
        try session.beginWrite()
        var objects: [String: [LiveObject]] = [:]
        for type in try session.schema.objectTypes where !type.isEmbedded {
            for number in 0 ..< random.below(12) {
                let key = type.primaryKey.map { primaryKey($0, number, &random) }
                guard let table = type.tableKey else { continue }
                objects[type.name, default: []].append(try session.create(table, primaryKey: key).object)
            }
        }
        for type in try session.schema.objectTypes {
            for object in objects[type.name] ?? [] {
                for property in type.properties { try fill(object, property, objects, &random) }
            }
        }
        for object in objects.values.flatMap({ $0 }) where random.chance(20) { try object.delete() }
        try session.commit()
        return session
    }

    private static func schemaText(_ random: inout SeededRandom) -> String {
        let names = ["Alpha", "B\u{E9}ta", "`a class`"]
        var text = ""
        let types = [
            "bool", "int", "float", "double", "string", "data", "timestamp", "decimal", "objectId", "uuid", "mixed",
        ]
        for name in names.prefix(1 + random.below(3)) {
            text += "\(name) {\n"
            if random.chance(60) {
                let type = random.pick(["int", "string", "objectId", "uuid"])
                text += "  id: \(type)\(random.chance(30) ? "?" : "") key\n"
            }
            text += "  first: int\n"
            for number in 0 ..< random.below(14) {
                let type = random.pick(types)
                let element = type + (type != "mixed" && random.chance(40) ? "?" : "")
                let wrapper = random.pick(["", "", "list", "set", "map"])
                text += "  `p \(number)`: " + (wrapper.isEmpty ? element : "\(wrapper)<\(element)>") + "\n"
            }
            text += "  link: link<\(names[0])>\n  links: list<\(names[0])>\n  those: set<\(names[0])>\n"
            text += "  named: map<\(names[0])>\n  part: link<Part>\n  parts: list<Part>\n  named_parts: map<Part>\n}\n"
        }
        return text + """
            embedded Part { n: int, m: mixed, tags: list<string>, to: link<\(names[0])>, inner: link<Part>,
                more: list<Part> }
            """
    }

    private static func primaryKey(_ property: Property, _ number: Int, _ random: inout SeededRandom) -> Value {
        if number == 0, property.isNullable { return .null }
        switch property.type {
        case .int: return .int(Int64(number * 7 - 20))
        case .objectID: return .objectID(ObjectID(low: UInt64(number) << 40, high: 7))
        case .uuid: return .uuid(UUIDBytes(low: UInt64(number), high: random.next()))
        default: return .string("k\"\(number)\\")
        }
    }

    private static func fill(
        _ object: LiveObject, _ property: Property, _ objects: [String: [LiveObject]], _ random: inout SeededRandom,
        depth: Int = 0
    ) throws {
        guard !property.isPrimaryKey, random.chance(80), let column = property.columnKey else { return }
        let session = object.session
        let write = try session.requireWrite()
        let (table, key) = (object.table, object.key)
        if let target = try property.target.flatMap({ try session.schema[$0] }), target.isEmbedded {
            guard depth < 3 else { return }
            for number in 0 ..< (property.collection == .none ? 1 : random.below(3)) {
                let child =
                    switch property.collection {
                    case .none: try write.embeddedPut(table, column, key)
                    case .list, .set: try write.embeddedInsert(table, column, key, at: number)
                    case .map:
                        try "k\(number)".withUTF8Bytes { (bytes) throws(DatabaseError) in
                            try write.embeddedMapPut(table, column, key, bytes)
                        }
                    }
                guard let targetTable = target.tableKey,
                    let part = try session.object(targetTable, at: child)
                else { continue }
                for inner in target.properties { try fill(part, inner, objects, &random, depth: depth + 1) }
            }
            return
        }
        let targets = property.target.flatMap { objects[$0] } ?? []
        let everything = objects.values.flatMap { $0 }
        let count = property.collection == .none ? 1 : random.below(random.chance(10) ? 300 : 5)
        for number in 0 ..< count {
            if property.type == .link, targets.isEmpty, property.collection != .map { continue }
            try value(property, targets, everything, &random).withView { (view) throws(DatabaseError) in
                switch property.collection {
                case .none: try write.set(table, column, key, to: view)
                case .list: try write.listInsert(table, column, key, at: random.below(number + 1) > 0 ? 0 : 0, [view])
                case .set: _ = try write.setInsert(table, column, key, view)
                case .map:
                    let name = random.pick(["", "a", "\u{E9}", "\"q\"", "k\(number)"])
                    try name.withUTF8Bytes { (bytes) throws(DatabaseError) in
                        _ = try write.mapPut(table, column, key, bytes, view)
                    }
                }
            }
        }
    }

    private static func value(
        _ property: Property, _ targets: [LiveObject], _ everything: [LiveObject], _ random: inout SeededRandom
    ) -> Value {
        if property.type == .link {
            if targets.isEmpty || (property.collection == .none && random.chance(20)) { return .null }
            return .link(random.pick(targets).link)
        }
        if property.type == .mixed { return RandomValues.mixed(everything, &random, depth: 0) }
        if property.isNullable, random.chance(25) { return .null }
        return RandomValues.value(property.type, &random)
    }
}

enum RandomValues {
    static func value(_ type: PropertyType, _ random: inout SeededRandom) -> Value {
        switch type {
        case .bool: .bool(random.chance(50))
        case .int: .int(random.pick([0, -1, .max, .min, Int64(random.below(1_000))]))
        case .float: .float(random.pick([0, -0.0, .nan, .infinity, -.infinity, Float(bitPattern: finite32(&random))]))
        case .double: .double(random.pick([0, -0.0, .nan, .infinity, -.infinity, 1e23, double(&random)]))
        case .string: .string(text(&random))
        case .data: .data((0 ..< random.below(20)).map { _ in UInt8(random.below(256)) })
        case .timestamp:
            .timestamp(
                Timestamp(
                    seconds: random.pick([0, -1, .min, .max, Int64(random.below(4_000_000_000)) - 2_000_000_000]),
                    nanoseconds: UInt32(random.pick([0, 1, 999_999_999, random.below(1_000_000_000)]))))
        case .decimal: .decimal(decimal(&random))
        case .objectID: .objectID(ObjectID(low: random.next(), high: random.next()))
        case .uuid: .uuid(UUIDBytes(low: random.next(), high: random.next()))
        case .mixed, .link, .linkingObjects: .null
        }
    }

    static func mixed(_ objects: [LiveObject], _ random: inout SeededRandom, depth: Int) -> Value {
        switch random.below(depth < 4 ? 8 : 6) {
        case 0: return .null
        case 1 where !objects.isEmpty: return .link(random.pick(objects).link)
        case 6: return .list((0 ..< random.below(4)).map { _ in mixed(objects, &random, depth: depth + 1) })
        case 7:
            return .map(
                (0 ..< random.below(4)).map {
                    MapEntry(key: "k\($0)\u{E9}\"", value: mixed(objects, &random, depth: depth + 1))
                })
        default:
            let types: [PropertyType] = [
                .bool, .int, .float, .double, .string, .data, .timestamp, .decimal, .objectID, .uuid,
            ]
            return value(random.pick(types), &random)
        }
    }

    /// With zeros behind the point and far exponents, which are part of what comes back.
    private static func decimal(_ random: inout SeededRandom) -> Decimal128 {
        let text = random.pick([
            "0", "-0", "1.50", "-12", "120E3", "5E-6176", "9.999999999999999999999999999999999E6144", "0.00", "NaN",
            "Infinity", "-Infinity", "0.000000000000000000000000000000000012", "1234567890123456789012345678901234",
            "\(random.below(1_000_000)).\(random.below(1_000))",
        ])
        return text.withUTF8Bytes { DecimalText.parse($0) } ?? .zero
    }

    private static func finite32(_ random: inout SeededRandom) -> UInt32 {
        let bits = UInt32(truncatingIfNeeded: random.next())
        return Float(bitPattern: bits).isFinite ? bits : 0x3F80_0000
    }

    private static func double(_ random: inout SeededRandom) -> Double {
        let value = Double(bitPattern: random.next())
        return value.isFinite ? value : 1.5
    }

    private static func text(_ random: inout SeededRandom) -> String {
        let parts = ["a", "\"", "\\", "\n", "\u{0}", "\u{1F}", "\u{7F}", "é", "e\u{301}", "😀", "\u{2028}", "/", "$"]
        return (0 ..< random.below(8)).map { _ in random.pick(parts) }.joined()
    }
}
