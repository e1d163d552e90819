// What is left of a small page file when one of its leaves is damaged: all chunks on pages of their own, although that
// leaf was the only one that said where they are.
import MotteLiveObjects
import MottePages
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct SalvageTests {
    private static let rows = 1_000
    private static let schema = """
        Person { id: int key, name: string, weight: double?, tags: list<int>, isOld: bool, best: link<Dog> }
        Dog { name: string, scores: map<int> }
        """

    private typealias Objects = [String: [Int64: [String: SalvagedContent]]]

    private func file(copied: Bool) throws -> (store: TestStore, options: SessionOptions) {
        let store = TestStore(.file, rowGroupSize: 480, schema: Self.schema)
        var options = try store.options
        options.isDurable = true
        let session = try Session.open(options)
        var random = SeededRandom(seed: PropertyTest.firstSeed)
        for _ in 0 ..< 4 {
            try session.inWrite {
                for index in 0 ..< Self.rows / 4 {
                    let dog = try session.add("Dog", ["name": .string("a dog of a long name, \(random.next())")])
                    let scores = try #require(try dog.collection("scores") as? LiveMap)
                    _ = try scores.put("now", .int(Int64(index)))
                    _ = try scores.put("then", .int(Int64(truncatingIfNeeded: random.next())))
                    let person = try session.add(
                        "Person",
                        [
                            "id": .int(Int64(truncatingIfNeeded: random.next())),
                            "name": .string("name \(random.next())"),
                            "weight": .double(Double(random.next())), "isOld": .bool(index % 2 == 0),
                            "best": .link(dog),
                        ])
                    let tags = try #require(try person.collection("tags") as? LiveList)
                    for _ in 0 ..< 3 { try tags.append(.int(Int64(truncatingIfNeeded: random.next()))) }
                }
            }
        }
        try session.inWrite {
            let person = try #require(try session.object(session.tableKey("Person"), at: ObjectKey(7)))
            try person.set("name", to: .string("changed later"))
        }
        if copied {
            let name = try store.options.name + ".copy"
            try session.copy(to: name)
            options = SessionOptions(.file(name))
        }
        try session.close()
        return (store, options)
    }

    private func salvage(_ options: SessionOptions) throws -> (Objects, [String]) {
        var objects: Objects = [:]
        let report = try options.openForSalvage().salvage { object in
            objects[object.className, default: [:]][object.key] = Dictionary(
                uniqueKeysWithValues: object.properties.map { ($0.name, $0.content) })
        }
        return (objects, report.losses)
    }

    /// Of a file with older pages, and of a copy, which has none.
    @Test(arguments: [false, true]) func oneDamagedLeafLosesNoChunk(copied: Bool) throws {
        let (store, options) = try file(copied: copied)
        defer { withExtendedLifetime(store) {} }
        let (whole, _) = try salvage(options)
        #expect(whole["Person"]?.count == Self.rows && whole["Dog"]?.count == Self.rows)
        let path = options.name
        let sound = TemporaryDirectory.read(path)
        var leaves = 0
        for page in stride(from: 4 * 4096, to: sound.count, by: 4096)
        where sound[page + 8 ..< page + 12].elementsEqual("MTND".utf8) && sound[page + 12] == 0 {
            var damaged = sound
            damaged[page + 1000] ^= 1
            TemporaryDirectory.write(damaged, path)
            let (rest, losses) = try salvage(options)
            leaves += 1
            // Chunks of less than half a page lie in the leaf and go with it: those of flags, links and the last rows.
            // So may the names.
            let isNamed = rest["Person"] != nil
            for (name, table, columns) in [
                ("Person", "table1", ["id": 1, "name": 2, "weight": 3, "tags": 4]),
                ("Dog", "table2", ["name": 1]),
            ] {
                for (key, properties) in try #require(whole[name]) where key < Self.rows / 480 * 480 {
                    let found = try #require(
                        rest[isNamed ? name : table]?[key], "\(name) \(key), page \(page / 4096): \(losses)")
                    for (property, number) in columns {
                        let content = try #require(
                            found[isNamed ? property : "column\(number)"],
                            "\(name).\(property), page \(page / 4096): \(losses)")
                        #expect(Self.isSame(content, try #require(properties[property])), "\(name).\(property) \(key)")
                    }
                }
            }
        }
        #expect(leaves > (copied ? 0 : 3))
        TemporaryDirectory.write(sound, path)
    }

    private static func isSame(_ found: SalvagedContent, _ wanted: SalvagedContent) -> Bool {
        switch (found, wanted) {
        case (.value(let found), .value(let wanted)): found == wanted
        case (.elements(let found), .elements(let wanted)): found == wanted
        default: false
        }
    }
}
