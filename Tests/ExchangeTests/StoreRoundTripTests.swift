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
        options.rowsPerCluster = 3
        let session = try Session.open(options)
        try session.beginWrite()
        var objects: [String: [LiveObject]] = [:]
        for type in try session.schema.objectTypes {
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
        for name in names.prefix(1 + random.below(3)) {
            text += "\(name) {\n"
            if random.chance(50) { text += "  id: \(random.pick(["int", "string", "int?", "string?"])) key\n" }
            text += "  first: int\n"
            for number in 0 ..< random.below(10) {
                let type = random.pick(["bool", "int", "float", "double", "string", "data", "timestamp"])
                let optional = random.chance(40) ? "?" : ""
                text += "  `p \(number)`: " + (random.chance(30) ? "list<\(type)\(optional)>" : type + optional) + "\n"
            }
            text += "  link: link<\(names[0])>\n  links: list<\(names[0])>\n}\n"
        }
        return text
    }

    private static func primaryKey(_ property: Property, _ number: Int, _ random: inout SeededRandom) -> Value {
        if number == 0, property.isNullable { return .null }
        return property.type == .int ? .int(Int64(number * 7 - 20)) : .string("k\"\(number)\\")
    }

    private static func fill(
        _ object: LiveObject, _ property: Property, _ objects: [String: [LiveObject]], _ random: inout SeededRandom
    ) throws {
        guard !property.isPrimaryKey, random.chance(80) else { return }
        let targets = property.target.flatMap { objects[$0] } ?? []
        if property.isList {
            let list = try #require(try object.collection(property.name) as? LiveList)
            for _ in 0 ..< random.below(random.chance(10) ? 300 : 5) {
                if property.type == .link, targets.isEmpty { continue }
                try list.append(value(property, targets, &random))
            }
        } else {
            try object.set(property.name, to: value(property, targets, &random))
        }
    }

    private static func value(
        _ property: Property, _ targets: [LiveObject], _ random: inout SeededRandom
    ) -> Value {
        if property.type == .link {
            if targets.isEmpty || (!property.isList && random.chance(20)) { return .null }
            return .link(random.pick(targets).link)
        }
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
        default: .null
        }
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
