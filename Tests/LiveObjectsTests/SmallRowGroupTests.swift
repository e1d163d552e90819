// Classes with wide values get row groups of 480 rows in files whose row groups have 1,904; which it is is chosen when
// the first row group has its 480th row, however the rows come. Rows are what they should be before, at and after that,
// for who follows the file, and in what is salvaged.
import MotteLiveObjects
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct SmallRowGroupTests {
    private static let schema = "Doc { id: int key, text: string, tags: list<string>, big: bool } Plain { n: int }"

    private func makeStore() -> TestStore {
        TestStore(.file, rowGroupSize: 1_904, schema: Self.schema)
    }

    private func text(_ random: inout SeededRandom) -> String {
        (0 ..< 19).map { _ in String(random.next(), radix: 36) }.joined()
    }

    private func rowGroupSize(_ session: Session, _ name: String) throws -> Int {
        try session.committedSnapshot().table(session.tableKey(name)).rowGroupSize
    }

    private func add(
        _ session: Session, _ ids: Range<Int>, _ texts: inout [Int64: String], _ random: inout SeededRandom
    ) throws {
        try session.inWrite {
            for id in ids {
                let text = text(&random)
                texts[Int64(id)] = text
                try session.add("Doc", ["id": .int(Int64(id)), "text": .string(text), "big": .bool(id % 3 == 0)])
            }
        }
    }

    private func texts(_ session: Session) throws -> [Int64: String] {
        let docs = try session.objects("Doc")
        let table = try session.tableKey("Doc")
        var found: [Int64: String] = [:]
        for key in try docs.allKeys {
            let doc = try #require(try session.object(table, at: ObjectKey(key)))
            guard case .int(let id) = try doc.get("id"), case .string(let text) = try doc.get("text") else { continue }
            #expect(try doc.get("big") == .bool(id % 3 == 0))
            found[id] = text
        }
        return found
    }

    @Test(arguments: [1, 37, 64, 240, 479, 480, 481, 2_500]) func rowsComeInAnyPortions(portion: Int) throws {
        var random = SeededRandom(seed: PropertyTest.firstSeed)
        let store = makeStore()
        let session = try store.open()
        let follower = try store.open()
        var wanted: [Int64: String] = [:]
        // One by one only around the place where it is decided.
        var count = 0
        while count < 1_300 {
            let next = portion == 1 && (count < 400 || count > 560) ? 80 : portion
            try add(session, count ..< count + next, &wanted, &random)
            count += next
            try follower.refresh()
            if count > 480 - 64, count < 700 || count >= 1_300 { #expect(try texts(follower) == wanted) }
        }
        #expect(try rowGroupSize(session, "Doc") == 480 && rowGroupSize(follower, "Doc") == 480)
        #expect(try follower.database.snapshot().verify().problems == [])
        #expect(try follower.objects("Doc").filter("big == true AND id < 1300").count() == 434)
        try session.close()
        try follower.close()
        #expect(try texts(try store.open()) == wanted)
    }

    @Test func narrowClassesKeepTheFilesNumber() throws {
        let session = try makeStore().open()
        try session.inWrite { for n in 0 ..< 4_000 { try session.add("Plain", ["n": .int(Int64(n))]) } }
        try session.inWrite { for n in 0 ..< 600 { try session.add("Doc", ["id": .int(Int64(n))]) } }
        #expect(try rowGroupSize(session, "Plain") == 1_904 && rowGroupSize(session, "Doc") == 1_904)
    }

    /// Lists are wide as well; where the file's row groups are small nothing is chosen.
    @Test(arguments: [480, 1_904]) func listsCount(rows: Int) throws {
        let store = TestStore(.file, rowGroupSize: rows, schema: Self.schema)
        let session = try store.open()
        var random = SeededRandom(seed: PropertyTest.firstSeed)
        try session.inWrite {
            for n in 0 ..< 500 {
                let tags = try #require(
                    try session.add("Doc", ["id": .int(Int64(n))]).collection("tags") as? LiveList)
                for _ in 0 ..< 6 { try tags.append(.string(String(random.next(), radix: 36))) }
            }
        }
        #expect(try rowGroupSize(session, "Doc") == 480)
    }

    @Test func randomChangesAreFollowed() throws {
        try PropertyTest.run(rounds: 6) { random, comment in
            let store = makeStore()
            let session = try store.open()
            let follower = try store.open()
            let table = try session.tableKey("Doc")
            var wanted: [Int64: String] = [:]
            var next = 0
            for _ in 0 ..< 25 {
                let count = [1, 3, 60, 130, 420][random.below(5)]
                try add(session, next ..< next + count, &wanted, &random)
                next += count
                try session.inWrite {
                    for _ in 0 ..< random.below(4) {
                        let id = Int64(random.below(next))
                        guard let doc = try session.find(table, primaryKey: .int(id)) else { continue }
                        if random.chance(30) {
                            try doc.delete()
                            wanted[id] = nil
                        } else {
                            let text = text(&random)
                            try doc.set("text", to: .string(text))
                            wanted[id] = text
                        }
                    }
                }
                if random.chance(60) {
                    try follower.refresh()
                    #expect(try texts(follower) == wanted, "\(comment)")
                }
            }
            try follower.refresh()
            #expect(try texts(follower) == wanted && texts(session) == wanted, "\(comment)")
            #expect(try follower.database.snapshot().verify().problems == [], "\(comment)")
        }
    }

    /// Without the state of the class its row groups say how many rows they have.
    @Test func salvageFindsTheNumber() throws {
        let session = try makeStore().open()
        var random = SeededRandom(seed: PropertyTest.firstSeed)
        var wanted: [Int64: String] = [:]
        try add(session, 0 ..< 1_200, &wanted, &random)
        try MaintenanceTests().damage(session) { _, batch in batch.delete([2, 0, 0, 0, 1]) }
        var found: [Int64: String] = [:]
        _ = try DamagedFile(session.database).salvage { object in
            let values = Dictionary(uniqueKeysWithValues: object.properties.map { ($0.name, $0.content) })
            if case .value(.int(let id)) = values["id"], case .value(.string(let text)) = values["text"] {
                found[id] = text
            }
        }
        #expect(found == wanted)
    }
}
