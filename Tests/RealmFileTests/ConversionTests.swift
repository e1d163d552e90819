// Realm files converted: what the new files hold, beside what realm-core read from the old ones.
import MotteColumns
import MotteExchange
import MotteLiveObjects
import MotteRealmFile
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

/// A Motte file that was made from a fixture, and which objects there are those of the Realm file.
struct Converted {
    let session: Session
    /// By class: the keys in the Realm file, in the order of the keys here.
    private var sourceKeys: [String: [Int64]] = [:]
    private let firstKey: Int64

    init(_ session: Session, _ json: JSONValue, firstKey: Int64 = 0) throws {
        self.session = session
        self.firstKey = firstKey
        for type in json["classes"]?.elements ?? [] {
            sourceKeys[type["name"]?.text ?? ""] = (type["objects"]?.elements ?? []).compactMap { $0["key"]?.number }
        }
    }

    private func target(_ link: ObjectLink) -> (String, Int64) {
        let name = (try? session.schema)?[link.table]?.name ?? "?"
        let position = Int(link.key.rawValue - firstKey)
        let keys = sourceKeys[name] ?? []
        return (name, keys.indices.contains(position) ? keys[position] : -1)
    }

    private func elements(_ table: TableKey, _ property: Property, _ key: ObjectKey) throws -> JSONValue {
        let view = try session.table(table)
        let column = try #require(property.columnKey)
        let values = try (0 ..< view.listCount(column, key)).map {
            Written.value(try view.listElement(column, key, $0), target)
        }
        switch property.collection {
        case .set: return .object([("set", .array(values))])
        case .map:
            let keys = try (0 ..< values.count).map {
                JSONValue.string(String(decoding: try view.mapKey(column, key, $0), as: UTF8.self))
            }
            return .object([("map", .array(zip(keys, values).map { .array([$0, $1]) }))])
        default: return .array(values)
        }
    }

    /// All of it, beside what the JSON says; the number of values.
    @discardableResult
    func compare(_ json: JSONValue) throws -> Int {
        var compared = 0
        for type in json["classes"]?.elements ?? [] {
            let name = try #require(type["name"]?.text)
            let stored = try session.schema.type(named: name)
            let table = try #require(stored.tableKey)
            #expect(stored.isEmbedded == (type["kind"] == .string("embedded")))
            #expect(stored.primaryKey?.name == type["primary_key"]?.text)
            let objects = try #require(type["objects"]).elements
            #expect(try session.table(table).liveCount == objects.count, "\(name)")
            for (position, object) in objects.enumerated() {
                let key = ObjectKey(firstKey + Int64(position))
                for (property, expected) in object["values"]?.members ?? [] {
                    let property = try stored.requiredProperty(named: property)
                    let found =
                        try property.collection != .none
                        ? elements(table, property, key)
                        : Written.value(try session.value(table, try #require(property.columnKey), key), target)
                    if !Self.isSame(found, expected) {
                        Issue.record("\(name).\(property.name) of \(object["key"] ?? .null): \(found), not \(expected)")
                    }
                    compared += 1
                }
            }
        }
        return compared
    }

    /// Sets as sets; the one date that cannot be expressed is the first that can.
    private static func isSame(_ found: JSONValue, _ expected: JSONValue) -> Bool {
        if let set = expected["set"] {
            var rest = found["set"]?.elements ?? []
            var clamped = 0
            for element in set.elements {
                if let index = rest.firstIndex(where: { isSame($0, element) }) {
                    rest.remove(at: index)
                } else if element["date"]?.elements.first == .int(.min) {
                    clamped += 1
                } else {
                    return false
                }
            }
            // Two dates of that second are one.
            return rest.isEmpty && clamped <= 1
        }
        if expected.elements == [.int(.min), .int(-999_999_999)] {
            return found.elements == [.int(.min), .int(0)]
        }
        switch (found, expected) {
        case (.array(let one), .array(let two)):
            return one.count == two.count && zip(one, two).allSatisfy(isSame)
        case (.object(let one), .object(let two)):
            return one.count == two.count && zip(one, two).allSatisfy { $0.key == $1.key && isSame($0.value, $1.value) }
        default: return found == expected
        }
    }
}

@Suite struct ConversionTests {
    private func convert(
        _ fixture: Fixture, to path: String, _ change: (inout RealmConversion.Options) -> Void = { _ in }
    ) throws -> RealmSummary {
        var options = RealmConversion.Options()
        options.sourceKey = try fixture.key()
        change(&options)
        return try RealmConversion.convert(fixture.path, to: path, options)
    }

    private static let expectedNotes: Set<String> = [
        "dates within the first second that can be expressed are its beginning",
        "links to objects that were deleted on another device are left out",
        "equal elements of sets are one element, also numbers of different types",
    ]

    @Test(arguments: Fixture.allCases) func everyValueIsThere(_ fixture: Fixture) throws {
        let directory = TemporaryDirectory()
        let json = try fixture.json()
        let before = fixture.bytes
        var steps: [(Int, Int)] = []

        let summary = try convert(fixture, to: directory.file()) { options in
            options.commitEvery = 100
            options.progress = { (done, total) throws(DatabaseError) in steps.append((done, total)) }
        }

        let session = try Session.open(SessionOptions(path: directory.file()))
        #expect(try Converted(session, json).compare(json) > 0)
        let version = json["schema_version"]?.number ?? 0
        #expect(try session.schemaVersion == (version == -1 ? 0 : UInt64(version)))
        #expect(summary.objects == summary.created)
        #expect(summary.classes.count == json["classes"]?.elements.count)
        #expect(try session.committedSnapshot().verify().isSound)
        #expect(fixture.bytes == before)
        #expect(directory.names == ["test.motte", "test.motte-shared"])
        #expect(steps.last?.0 == 2 * summary.objects)
        #expect(steps.allSatisfy { $0.1 == 2 * summary.objects })
        #expect(zip(steps, steps.dropFirst()).allSatisfy { $0.0 <= $1.0 })
        for note in summary.notes { #expect(Self.expectedNotes.contains(note.reason), "\(note.text)") }
    }
}
