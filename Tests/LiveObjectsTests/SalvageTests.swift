// What is left of a small page file when one of its leaves is damaged: all chunks on pages of their own, although that
// leaf was the only one that said where they are.
import CMotteShim
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

    // MARK: Rows in many chunks

    private static func name(_ id: Int64) -> String { "name \(id &* 7_919)" }

    /// Of several commits or one, after the one that made the schema. Few of them have indexes of all kinds.
    private func rows(_ count: Int, commits: Int) throws -> (store: TestStore, options: SessionOptions) {
        let indexes =
            count < 10_000 ? ", indexed(name [c], id desc), indexed(even, name), unique(name, even)" : ""
        let store = TestStore(
            .file, rowGroupSize: 240, schema: "Item { id: int key, name: string, even: bool\(indexes) }")
        var options = try store.options
        options.isDurable = true
        let session = try Session.open(options)
        for commit in 0 ..< commits {
            try session.inWrite {
                for id in count / commits * commit ..< count / commits * (commit + 1) {
                    let id = Int64(id)
                    try session.add(
                        "Item", ["id": .int(id), "name": .string(Self.name(id)), "even": .bool(id % 2 == 0)])
                }
            }
        }
        try session.close()
        return (store, options)
    }

    /// By their identity, which is lost to no damage that these tests do: of each that was found whole whether it is
    /// right.
    private func found(_ options: SessionOptions) throws -> (whole: Set<Int64>, keys: Set<Int64>, losses: [String]) {
        var whole: Set<Int64> = []
        var keys: Set<Int64> = []
        let report = try options.openForSalvage().salvage { object in
            keys.insert(object.key)
            var values: [Value] = []
            for property in object.properties { if case .value(let value) = property.content { values.append(value) } }
            let isNamed = object.properties.count == 3
            guard isNamed, case .int(let id) = values[0] else { return }
            let isRight = values[1] == .string(Self.name(id)) && values[2] == .bool(id % 2 == 0)
            #expect(isRight && whole.insert(id).inserted, "\(id): \(values)")
        }
        return (whole, keys, report.losses)
    }

    private static func branches(_ bytes: [UInt8]) -> [Int] {
        stride(from: 4 * 4096, to: bytes.count, by: 4096).filter {
            bytes[$0 + 8 ..< $0 + 12].elementsEqual("MTND".utf8) && bytes[$0 + 12] > 0
        }
    }

    @Test(arguments: [(5_000, 1), (5_000, 4), (12_000, 4)])
    func aDamagedBranchLosesNoObject(count: Int, commits: Int) throws {
        let (store, options) = try rows(count, commits: commits)
        defer { withExtendedLifetime(store) {} }
        let sound = TemporaryDirectory.read(options.name)
        let branches = Self.branches(sound)
        #expect(!branches.isEmpty)
        for page in branches {
            var damaged = sound
            for position in page ..< page + 4096 { damaged[position] = 0 }
            TemporaryDirectory.write(damaged, options.name)
            let (whole, _, losses) = try found(options)
            #expect(whole.count == count, "page \(page / 4096): \(losses)")
        }
    }

    /// Every object that is not found whole is among those that are said to be lost.
    @Test func objectsOfAFileThatWasCutAreFoundOrReported() throws {
        for (count, commits, step) in [(960, 1, 4096), (20_000, 1, 13 * 4096), (20_000, 4, 13 * 4096)] {
            let (store, options) = try rows(count, commits: commits)
            defer { withExtendedLifetime(store) {} }
            let sound = TemporaryDirectory.read(options.name)
            let sizes = [sound.count - 1] + stride(from: sound.count - 4096, to: 6 * 4096, by: -step)
            var foundCount = 0
            for size in sizes {
                TemporaryDirectory.write(Array(sound[..<size]), options.name)
                do {
                    let (whole, keys, losses) = try found(options)
                    foundCount += keys.count
                    #expect(losses.contains { $0.contains("the file is cut short") }, "\(size): \(losses)")
                    // In the order in which the objects were added.
                    var lost = Set(0 ..< Int64(count)).subtracting(keys)
                    let isUnknown = losses.contains { $0.hasPrefix("the schema: ") }
                    for loss in losses { lost.subtract(Self.reported(loss, last: keys.max() ?? -1, count)) }
                    #expect(isUnknown || lost.isEmpty, "\(size): \(lost.count) of \(count), \(losses)")
                    let isWhole = whole.count == keys.count || losses.contains { $0.hasPrefix("Item.") }
                    #expect(isUnknown || isWhole, "\(size): \(losses)")
                } catch let error as DatabaseError {
                    #expect(error.code == .corrupted && error.message.contains("restore"), "\(size): \(error)")
                }
            }
            #expect(foundCount > 0, "\(count) in \(commits)")
        }
    }

    /// The keys that a sentence says are lost.
    private static func reported(_ loss: String, last: Int64, _ count: Int) -> Set<Int64> {
        func from(_ key: Int64) -> Set<Int64> { key < Int64(count) ? Set(key ..< Int64(count)) : [] }
        if loss.hasSuffix("those behind the last chunk that is left are lost") { return from(last + 1) }
        let numbers = loss.split { !$0.isNumber }.compactMap { Int64($0) }
        if loss.contains("may be of an older version: objects from"), let first = numbers.first { return from(first) }
        guard loss.hasPrefix("Item."), loss.contains("of objects"), numbers.count >= 2 else { return [] }
        return Set(numbers[0] ... numbers[1])
    }

    /// A copy with little in it has one node, and everything else is on pages of its own.
    @Test(arguments: [false, true]) func theOnlyNodeOfASmallCopyMayBeDamaged(isHeadDamaged: Bool) throws {
        let store = TestStore(.file, rowGroupSize: 480, schema: "Item { id: int key, name: string }")
        let session = try Session.open(store.options)
        try session.inWrite {
            for id in Int64(0) ..< 960 {
                try session.add("Item", ["id": .int(id), "name": .string(Self.name(id &* 0x9E37_79B9_7F4A))])
            }
        }
        let options = SessionOptions(.file(try store.options.name + ".copy"))
        try session.copy(to: options.name)
        try session.close()
        var bytes = TemporaryDirectory.read(options.name)
        let nodes = stride(from: 4 * 4096, to: bytes.count, by: 4096).filter {
            bytes[$0 + 8 ..< $0 + 12].elementsEqual("MTND".utf8)
        }
        #expect(nodes.count == 1)
        for node in nodes { bytes[node + 1_000] ^= 1 }
        if isHeadDamaged { for position in 0 ..< 4096 { bytes[position] = 0 } }
        TemporaryDirectory.write(bytes, options.name)
        let (objects, losses) = try salvage(options)
        let found = try #require(objects["table1"], "\(losses)")
        #expect(found.count >= 959 && losses.contains { $0.hasPrefix("the schema: ") })
        let names = found.values.compactMap { properties -> Value? in
            if case .value(let value)? = properties["column2"] { return value }
            return nil
        }
        #expect(Set(names).count >= 959)
    }

    /// A file as a killed process leaves it opens at the version before, where the newest one is cut off.
    @Test func whatOpeningPassesOverIsReported() throws {
        let store = TestStore(.file, rowGroupSize: 240, schema: "Item { id: int key, name: string, even: bool }")
        var options = try store.options
        options.isDurable = true
        let session = try Session.open(options)
        for commit in Int64(0) ..< 2 {
            try session.inWrite {
                for id in commit * 480 ..< (commit + 1) * 480 {
                    try session.add(
                        "Item", ["id": .int(id), "name": .string(Self.name(id)), "even": .bool(id % 2 == 0)])
                }
            }
        }
        let bytes = TemporaryDirectory.read(options.name)
        let killed = SessionOptions(.file(options.name + ".killed"))
        TemporaryDirectory.write(bytes, killed.name)
        #expect(try found(killed).losses.isEmpty)
        TemporaryDirectory.write(Array(bytes[..<(bytes.count - 4096)]), killed.name)
        let (whole, _, losses) = try found(killed)
        #expect(whole.count == 480)
        #expect(losses.contains { $0.contains("and not 3, because the file ends before its last page") }, "\(losses)")
        try session.close()
    }

    /// The format number is part of what the first page's checksum covers.
    @Test func aDamagedFormatNumberIsSalvaged() throws {
        let (store, options) = try rows(960, commits: 1)
        defer { withExtendedLifetime(store) {} }
        let sound = TemporaryDirectory.read(options.name)
        for position in 8 ..< 12 {
            var damaged = sound
            damaged[position] ^= 0x42
            TemporaryDirectory.write(damaged, options.name)
            let error = try failure { try Session.open(options) }
            #expect(error.code == .unsupportedFormat)
            #expect(try found(options).whole.count == 960)
        }
        // A sound file of another format is refused.
        var other = sound
        other[10] ^= 0x42
        other.replaceSubrange(128 ..< 136, with: Self.checksum(other[..<128]))
        TemporaryDirectory.write(other, options.name)
        let error = try failure { try options.openForSalvage() }
        #expect(error.code == .unsupportedFormat)
    }

    private func failure<Answer>(_ body: () throws -> Answer) throws -> DatabaseError {
        try #require(#expect(throws: DatabaseError.self) { _ = try body() })
    }

    private static func checksum(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        let sum = Array(bytes).withUnsafeBytes { motte_shim_xxh3($0.baseAddress, $0.count) }
        return (0 ..< 8).map { UInt8(truncatingIfNeeded: sum >> (8 * UInt64($0))) }
    }

    /// What to do is part of the message, and not to run what was just run.
    @Test func errorsOfDamageSayWhatHelps() throws {
        let (store, options) = try rows(960, commits: 1)
        defer { withExtendedLifetime(store) {} }
        var bytes = TemporaryDirectory.read(options.name)
        for position in 4 * 4096 ..< bytes.count { bytes[position] = 0 }
        TemporaryDirectory.write(bytes, options.name)
        let opening = try failure { try Session.open(options) }
        #expect(opening.code == .corrupted && opening.message.hasSuffix("read what is left with 'motte salvage'"))
        let salvaging = try failure { try options.openForSalvage() }
        #expect(salvaging.code == .corrupted)
        #expect(salvaging.message.hasSuffix("nothing of it can be read; restore it from a copy"))
    }

    private static func isSame(_ found: SalvagedContent, _ wanted: SalvagedContent) -> Bool {
        switch (found, wanted) {
        case (.value(let found), .value(let wanted)): found == wanted
        case (.elements(let found), .elements(let wanted)): found == wanted
        default: false
        }
    }
}
