// The files of Tests/RealmFiles: made by realm-core 14, each with what realm-core read from it as JSON.
import MotteRealmFile
import MotteValues
import TestSupport
import Testing

enum Fixture: String, CaseIterable, CustomTestStringConvertible {
    case tiny, scalars, collections, mixed, renamed, encrypted, copied
    case copiedEncrypted = "copied-encrypted"
    case sizes, enumerated

    var testDescription: String { rawValue }

    private static let folder: String = {
        var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        parts.removeLast(2)
        return parts.joined(separator: "/") + "/RealmFiles/"
    }()

    var path: String { Self.folder + rawValue + ".realm" }
    var bytes: [UInt8] { TemporaryDirectory.read(path) }

    func json() throws -> JSONValue {
        try JSONValue(TemporaryDirectory.read(Self.folder + rawValue + ".json"))
    }

    func key() throws -> [UInt8]? { try json()["key"]?.text.map(Self.bytes) }

    static func bytes(hex: String) -> [UInt8] {
        var digits = Array(hex.utf8)[...]
        var bytes: [UInt8] = []
        while digits.count > 1 {
            bytes.append(UInt8(String(decoding: digits.prefix(2), as: UTF8.self), radix: 16) ?? 0)
            digits = digits.dropFirst(2)
        }
        return bytes
    }

    func open() throws -> RealmFile { try RealmFile(path, key: try key()) }
}

/// What is read, in the form of the JSON.
enum Written {
    static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    static func hex(_ number: UInt64, digits: Int = 16) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: digits - text.count) + text
    }

    private static func one(_ key: String, _ value: JSONValue) -> JSONValue { .object([(key, value)]) }

    private static func fnv1a(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        bytes.reduce(14_695_981_039_346_656_037) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
    }

    private static func long(_ key: String, _ bytes: UnsafeRawBufferPointer) -> JSONValue {
        one(key, .array([.int(Int64(bytes.count)), .string(hex(fnv1a(bytes)))]))
    }

    static func value(_ view: ValueView, _ file: RealmFile) -> JSONValue {
        value(view) { (file.tables[Int($0.table.rawValue)].name, $0.key.rawValue) }
    }

    /// `target` says the class that a link leads to, and the key there.
    static func value(_ view: ValueView, _ target: (ObjectLink) -> (String, Int64)) -> JSONValue {
        switch view.kind {
        case .null, nil: return .null
        case .bool: return .bool(view.boolValue)
        case .int: return .int(view.intValue)
        case .float: return one("float", .string(hex(UInt64(view.floatValue.bitPattern), digits: 8)))
        case .double: return one("double", .string(hex(view.doubleValue.bitPattern)))
        case .string:
            if view.bytes.count > 1_024 { return long("long_string", view.bytes) }
            return .string(String(decoding: view.bytes, as: UTF8.self))
        case .data:
            return view.bytes.count > 1_024 ? long("long_data", view.bytes) : one("data", .string(hex(view.bytes)))
        case .timestamp:
            var (seconds, nanoseconds) = (view.timestampValue.seconds, Int64(view.timestampValue.nanoseconds))
            if seconds < 0, nanoseconds > 0 { (seconds, nanoseconds) = (seconds + 1, nanoseconds - 1_000_000_000) }
            return one("date", .array([.int(seconds), .int(nanoseconds)]))
        case .link:
            let (name, key) = target(view.linkValue)
            return one("link", .array([.string(name), .int(key)]))
        case .decimal: return one("decimal", .string(hex(view.decimalValue.high) + hex(view.decimalValue.low)))
        case .objectID: return one("objectId", .string(view.objectIDValue.withBytes { hex($0) }))
        case .uuid: return one("uuid", .string(view.uuidValue.withBytes { hex($0) }))
        case .list, .map:
            let kind = view.kind == .map ? ValueKind.map : .list
            #expect(throws: Never.self) { try NestedDocument.validate(view.bytes, as: kind) }
            let document = NestedDocument(trusted: view.bytes)
            let values = (0 ..< document.count).map { value(document.value(at: $0), target) }
            guard document.isMap else { return .array(values) }
            let keys = (0 ..< document.count).map { String(decoding: document.key(at: $0), as: UTF8.self) }
            return one("map", .array(zip(keys, values).map { .array([.string($0), $1]) }))
        }
    }

    static func collection(
        _ cluster: RealmCluster, _ column: Int, _ row: Int, _ property: RealmColumn, keeping: Bool, _ file: RealmFile
    ) throws -> JSONValue {
        var values: [JSONValue] = []
        try cluster.elements(column, row, keeping: keeping) { key, view in
            let value = value(view, file)
            values.append(
                property.collection == .map
                    ? .array([.string(String(decoding: key, as: UTF8.self)), value]) : value)
        }
        switch property.collection {
        case .none, .list: return .array(values)
        case .set: return one("set", .array(values))
        case .map: return one("map", .array(values))
        }
    }

    static func object(
        _ cluster: RealmCluster, _ row: Int, _ table: RealmTable, keeping: Bool, _ file: RealmFile
    ) throws -> [(key: String, value: JSONValue)] {
        try table.columns.enumerated().map { index, column in
            let value =
                column.collection == .none
                ? Written.value(try cluster.value(index, row), file)
                : try collection(cluster, index, row, column, keeping: keeping, file)
            return (column.name, value)
        }
    }

    static func property(_ column: RealmColumn, _ file: RealmFile) -> JSONValue {
        var members: [(key: String, value: JSONValue)] = [
            ("name", .string(column.name)),
            ("type", .string(column.type.map { typeNames[$0] ?? "?" } ?? "mixed")),
            ("collection", .string("\(column.collection)")),
            ("nullable", .bool(column.isNullable)),
        ]
        if column.isIndexed { members.append(("indexed", .bool(true))) }
        if let target = column.target { members.append(("target", .string(file.tables[target].name))) }
        return .object(members)
    }

    private static let typeNames: [ValueKind: String] = [
        .bool: "bool", .int: "int", .float: "float", .double: "double", .string: "string", .data: "data",
        .timestamp: "date", .link: "object", .decimal: "decimal", .objectID: "objectId", .uuid: "uuid",
    ]
}
