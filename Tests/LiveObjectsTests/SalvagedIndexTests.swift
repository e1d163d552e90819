// Indexes of all kinds in a file of which a byte of one page is changed, each page in turn: what they answer is right
// or an error, and what is salvaged makes a file of which they answer the same as scans.
import MotteLiveObjects
import MotteQueryEngine
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct SalvagedIndexTests {
    private static let count = 1_200
    private static let schema = """
        Item { id: int key, name: string?, city: string indexed, age: int indexed, score: double, indexed(name [c]),
               indexed(city, age desc), indexed(score desc), unique(name, age) }
        """

    /// Each is answered by an index, and by a scan with a part behind it that no index can answer.
    private static let conditions = [
        "city == 'a city of a long name, 3'", "age == 7", "age > 95", "name ==[c] 'NAME 7'",
        "name BEGINSWITH[c] 'Name 12'", "city == 'a city of a long name, 3' AND age > 40",
        "city BEGINSWITH 'a city of a long name, 7'", "score > 287.5", "score == 1.5",
        "name == 'name 5' AND age == 11", "id == 71", "id < 40",
    ]
    private static let orders = ["SORT(city ASC, age DESC) LIMIT(30)", "SORT(score DESC) LIMIT(9)", "DISTINCT(city)"]

    private struct Answers: Equatable {
        var byIndexes: [[Int64]?] = []
        var byScans: [[Int64]?] = []

        var isComplete: Bool { !byIndexes.contains(nil) && !byScans.contains(nil) }
    }

    /// By `id`, since what is salvaged gets other keys. nil where a page that is asked for is damaged.
    private func answers(_ session: Session) throws -> Answers {
        var answers = Answers()
        for text in Self.conditions {
            answers.byIndexes.append(try ids(session, text))
            answers.byScans.append(try ids(session, "(\(text) OR id == -1)"))
        }
        for text in Self.orders {
            answers.byIndexes.append(try ids(session, "TRUEPREDICATE " + text))
            answers.byScans.append(try ids(session, "(id >= 0 OR score == -1) " + text))
        }
        return answers
    }

    private func ids(_ session: Session, _ text: String) throws -> [Int64]? {
        do {
            var ids: [Int64] = []
            for key in try session.objects("Item").filter(text).keys() {
                let item = try #require(try session.object(session.tableKey("Item"), at: ObjectKey(key)))
                guard case .int(let id) = try item.get("id") else { return nil }
                ids.append(id)
            }
            return text.contains("SORT") ? ids : ids.sorted()
        } catch let error as DatabaseError {
            #expect(error.code == .corrupted, "\(text): \(error)")
            return nil
        }
    }

    private static func values(_ id: Int) -> [String: Value] {
        [
            "id": .int(Int64(id)),
            "name": id % 6 == 5 ? .null : .string(id % 2 == 0 ? "name \(id / 3)" : "NAME \(id / 3)"),
            "city": .string("a city of a long name, \(id % 40)"), "age": .int(Int64(id * 7 % 101)),
            "score": .double(Double(id * 13 % count) / 4),
        ]
    }

    /// In several commits, the last of which change and delete some.
    private func file() throws -> SessionOptions {
        let store = TestStore(.file, rowGroupSize: 240, schema: Self.schema)
        var options = try store.options
        options.isDurable = true
        let session = try Session.open(options)
        for part in 0 ..< 2 {
            try session.inWrite {
                for id in part * Self.count / 2 ..< (part + 1) * Self.count / 2 {
                    try session.add("Item", Self.values(id))
                }
            }
        }
        try session.inWrite {
            let table = try session.tableKey("Item")
            for id in stride(from: 0, to: Self.count, by: 9) {
                let item = try #require(try session.find(table, primaryKey: .int(Int64(id))))
                if id % 2 == 0 {
                    try item.set("name", to: .string("Changed \(id)"))
                    try item.set("city", to: .string("a city of a long name, \(id % 7)"))
                } else {
                    try item.delete()
                }
            }
        }
        try session.close()
        return options
    }

    @Test func whateverPageIsDamaged() throws {
        let options = try file()
        let sound = TemporaryDirectory.read(options.name)
        let (wanted, version) = try open(options) { session throws -> (Answers, Version) in
            for text in Self.conditions {
                let plan = try session.query(session.tableKey("Item"), text).explain()
                #expect(plan.hasPrefix("Item: index("), "\(plan)")
            }
            return (try answers(session), try session.version)
        }
        #expect(wanted.isComplete && wanted.byIndexes == wanted.byScans)
        var random = SeededRandom(seed: PropertyTest.firstSeed)
        var refused = 0, salvaged = 0, whole = 0, indexPages: [Int] = []
        for page in 0 ..< sound.count / 4096 {
            var damaged = sound
            let place = page * 4096 + random.below(4096)
            damaged[place] ^= 1 << UInt8(random.below(8))
            TemporaryDirectory.write(damaged, options.name)
            let note: Comment = "byte \(place), page \(page), seed \(PropertyTest.firstSeed)"
            do {
                try open(options) { session in
                    let found = try answers(session)
                    for (index, scan) in zip(found.byIndexes, found.byScans) where index != nil && scan != nil {
                        #expect(index == scan, note)
                    }
                    if found.byIndexes.contains(nil), !found.byScans.contains(nil) { indexPages.append(page) }
                    guard try session.version == version else { return }
                    for (index, right) in zip(found.byIndexes, wanted.byIndexes) where index != nil {
                        #expect(index == right, note)
                    }
                }
            } catch let error as DatabaseError {
                #expect([.corrupted, .unsupportedFormat].contains(error.code), "\(error), \(note)")
                refused += 1
            }
            // Of other pages one in three, as making a file takes a while.
            let isSalvaged = page % 3 == 0 || indexPages.last == page
            if isSalvaged { salvaged += 1 }
            if isSalvaged, try loadedAgain(options, note) == wanted { whole += 1 }
        }
        TemporaryDirectory.write(sound, options.name)
        // Pages of all kinds were met: of indexes alone, without which nothing is lost, and of rows.
        #expect(indexPages.count > 3 && whole >= indexPages.count && whole < salvaged)
        print(
            "note: of \(sound.count / 4096) pages \(indexPages.count) damaged indexes alone, \(refused) kept the file"
                + " from being opened; \(salvaged) were salvaged, \(whole) of them without a loss")
    }

    /// What a new file answers that has all objects that are left whole; nil where some are as they were once.
    private func loadedAgain(_ options: SessionOptions, _ note: Comment) throws -> Answers? {
        let session = try TestStore(rowGroupSize: 240, schema: Self.schema).open()
        var isOlder = false
        var objects: [[String: Value]] = []
        do {
            let report = try options.openForSalvage().salvage { object in
                var values: [String: Value] = [:]
                for (name, content) in object.properties {
                    if case .value(let value) = content { values[name] = value }
                }
                if object.className == "Item", values.count == 5 { objects.append(values) }
            }
            isOlder = report.losses.contains { $0.contains("older") }
        } catch {
            #expect([.corrupted, .unsupportedFormat].contains(error.code), "\(error), \(note)")
            return nil
        }
        try session.inWrite {
            var ids: Set<Value> = [], pairs: Set<[Value]> = []
            for values in objects {
                let (id, name, age) = (values["id"] ?? .null, values["name"] ?? .null, values["age"] ?? .null)
                // One row of each of two versions.
                let isNew = ids.insert(id).inserted && (name == .null || pairs.insert([name, age]).inserted)
                #expect(isNew || isOlder, "\(values), \(note)")
                if isNew { try session.add("Item", values) }
            }
        }
        #expect(try session.database.snapshot().verify().isSound, note)
        let found = try answers(session)
        #expect(found.isComplete && found.byIndexes == found.byScans, note)
        return found
    }

    private func open<Result>(_ options: SessionOptions, _ body: (Session) throws -> Result) throws -> Result {
        let session = try Session.open(options)
        defer { do { try session.close() } catch { Issue.record("\(error)") } }
        return try body(session)
    }
}
