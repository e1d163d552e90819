// Everything that files hold, beside what realm-core read from them: schema, keys, values, links and their backlinks;
// once cluster by cluster, once object by object in random order.
import MotteRealmFile
import MotteValues
import TestSupport
import Testing

@Suite struct FixtureTests {
    /// The one date that cannot be expressed: it is given as the first that can.
    private func asGiven(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements):
            if elements == [.int(.min), .int(-999_999_999)] { return .array([.int(.min), .int(0)]) }
            return .array(elements.map(asGiven))
        case .object(let members): return .object(members.map { ($0.key, asGiven($0.value)) })
        default: return value
        }
    }

    private func classes(_ json: JSONValue, _ file: RealmFile) throws -> [(json: JSONValue, table: RealmTable)] {
        let classes = try #require(json["classes"]).elements
        #expect(classes.count == file.tables.count)
        return try classes.map { json in
            (json, try #require(file.tables.first { $0.name == json["name"]?.text }, "\(json["name"] ?? .null)"))
        }
    }

    @Test(arguments: Fixture.allCases) func schemaIsRead(_ fixture: Fixture) throws {
        let json = try fixture.json()
        let file = try fixture.open()

        #expect(file.format == 24)
        #expect(file.isEncrypted == (json["key"] != nil))
        #expect(.int(Int64(bitPattern: file.schemaVersion)) == json["schema_version"])
        for (index, table) in file.tables.enumerated() { #expect(table.index == index) }
        for (json, table) in try classes(json, file) {
            #expect("\(table.kind)" == json["kind"]?.text)
            #expect(table.primaryKey.map { table.columns[$0].name } == json["primary_key"]?.text)
            #expect(table.objectCount == json["objects"]?.elements.count)
            let properties = table.columns.map { Written.property($0, file) }
            #expect(.array(properties) == json["properties"], "\(table.name)")
        }
    }

    @Test(arguments: Fixture.allCases, [true, false])
    func valuesAreReadClusterByCluster(_ fixture: Fixture, keeping: Bool) throws {
        let file = try fixture.open()
        var compared = 0

        for (json, table) in try classes(try fixture.json(), file) {
            let objects = try #require(json["objects"]).elements
            var position = 0
            var cursor = try table.cursor()
            while let cluster = try cursor.next() {
                #expect(cluster.firstPosition == position)
                for row in 0 ..< cluster.count {
                    let expected = objects[position]
                    #expect(.int(cluster.key(row)) == expected["key"])
                    compared += try compare(cluster, row, table, expected, keeping: keeping, file)
                    if row % 7 == 0 { cluster.release() }
                    position += 1
                }
            }
            #expect(position == objects.count)
        }
        try file.checkUnchanged()
        #expect(compared > 0)
    }

    @Test(arguments: Fixture.allCases) func objectsAreFoundInAnyOrder(_ fixture: Fixture) throws {
        let file = try fixture.open()
        var random = SeededRandom(seed: PropertyTest.firstSeed)
        let comment = "repeat with MOTTE_TEST_SEED=\(random.seed)"
        var wanted: [(table: RealmTable, json: JSONValue, position: Int)] = []
        for (json, table) in try classes(try fixture.json(), file) {
            for (position, object) in (json["objects"]?.elements ?? []).enumerated() {
                wanted.append((table, object, position))
            }
        }

        for (table, json, position) in wanted.shuffled(using: &random) {
            let key = try #require(json["key"]?.number)
            let found = try #require(try table.find(key), "\(table.name) \(key), \(comment)")
            #expect(found.cluster.key(found.row) == key)
            #expect(try table.position(of: key) == position, "\(comment)")
            try compare(found.cluster, found.row, table, json, keeping: true, file)
        }
        for table in file.tables {
            let last = wanted.last { $0.table === table }?.json["key"]?.number ?? -1
            for missing in [last + 1, .max, -1, .min] {
                #expect(try table.find(missing) == nil)
                #expect(try table.position(of: missing) == nil)
            }
        }
    }

    @discardableResult
    private func compare(
        _ cluster: RealmCluster, _ row: Int, _ table: RealmTable, _ json: JSONValue, keeping: Bool, _ file: RealmFile
    ) throws -> Int {
        let values = try Written.object(cluster, row, table, keeping: keeping, file)
        let expected = asGiven(try #require(json["values"])).members
        #expect(values.map(\.key) == expected.map(\.key))
        for (value, other) in zip(values, expected) where value.value != other.value {
            Issue.record("\(table.name).\(value.key) of \(cluster.key(row)): \(value.value), not \(other.value)")
        }
        for (column, property) in table.columns.enumerated() where property.collection != .none {
            let stored = try cluster.elementCount(column, row)
            let shown = values[column].value
            let seen = (shown[property.collection == .set ? "set" : "map"] ?? shown).elements.count
            #expect(property.type == .link && property.collection != .map ? stored >= seen : stored == seen)
        }
        return values.count
    }

    /// By the JSON's own lists of backlinks, links are compared with what the file has of both.
    @Test(arguments: Fixture.allCases) func linksAndBacklinksFit(_ fixture: Fixture) throws {
        let json = try fixture.json()
        let file = try fixture.open()
        try file.checkBacklinks()
        for table in file.tables { try table.checkBacklinks() }

        var links: [String: [Int64]] = [:]
        for (_, table) in try classes(json, file) {
            var cursor = try table.cursor()
            while let cluster = try cursor.next() {
                for (column, property) in table.columns.enumerated() where property.type == .link {
                    let name = "\(table.name).\(property.name)"
                    for row in 0 ..< cluster.count {
                        let origin = cluster.key(row)
                        func note(_ view: ValueView) {
                            guard view.kind == .link else { return }
                            let target = file.tables[Int(view.linkValue.table.rawValue)].name
                            links["\(target) \(view.linkValue.key.rawValue) \(name)", default: []].append(origin)
                        }
                        if property.collection == .none {
                            note(try cluster.value(column, row))
                        } else {
                            try cluster.elements(column, row, keeping: false) { _, view in note(view) }
                        }
                    }
                }
            }
        }
        for (json, table) in try classes(json, file) {
            for object in json["objects"]?.elements ?? [] {
                for (property, origins) in object["backlinks"]?.members ?? [] {
                    let name = "\(table.name) \(object["key"]?.number ?? -1) \(property)"
                    #expect(
                        links.removeValue(forKey: name)?.sorted() == origins.elements.compactMap(\.number), "\(name)")
                }
            }
        }
        #expect(links.isEmpty)
    }

    @Test func aDateBeforeAllOthersIsGivenAsTheFirstAndCounted() throws {
        let file = try Fixture.scalars.open()
        #expect(file.clampedTimestamps == 0)
        for table in file.tables {
            var cursor = try table.cursor()
            while let cluster = try cursor.next() {
                for (column, property) in table.columns.enumerated() where property.type == .timestamp {
                    for row in 0 ..< cluster.count { _ = try cluster.value(column, row) }
                }
            }
        }
        #expect(file.clampedTimestamps > 0)
    }
}
