// Object keys are given out once, also where the object never came into the file: its write was cancelled, refused or
// lost, or went back to a savepoint.
import MotteLiveObjects
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct GivenKeysTests {
    private let schema = """
        Row { id: int key, name: string indexed, friend: link<Row>, tags: list<string>, part: link<Part>,
            indexed(name, id) }
        embedded Part { text: string }
        """

    private func add(_ session: Session, _ id: Int) throws -> LiveObject {
        let row = try session.add("Row", ["id": .int(Int64(id)), "name": .string("name \(id % 3)")])
        try row.list(row.column(named: "tags")).append(.string("tag \(id)"))
        _ = try row.embeddedPut(row.column(named: "part"))
        return row
    }

    private func addNew(_ session: Session, _ id: Int, _ given: inout Set<Int64>) throws {
        let key = try add(session, id).key.rawValue
        #expect(given.insert(key).inserted, "object \(id)")
    }

    private func check(_ session: Session, _ ids: [Int], _ comment: String) throws {
        try WholeRead.check(session, comment)
        #expect(try session.objects("Row").allKeys.count == ids.count, "\(comment)")
        for id in ids {
            let row = try #require(try session.find(try session.tableKey("Row"), primaryKey: .int(Int64(id))))
            #expect(try row.get("name") == .string("name \(id % 3)"), "\(comment)")
        }
        if !session.isInWrite {
            let report = try session.committedSnapshot().verify()
            #expect(report.isSound, "\(report.text); \(comment)")
        }
    }

    @Test(arguments: [3, 480, 1_904]) func afterCancelledWrites(_ rowGroupSize: Int) throws {
        let store = TestStore(.file, rowGroupSize: rowGroupSize, schema: schema)
        let session = try store.open(), other = try store.open()
        var ids: [Int] = []
        var given: Set<Int64> = []
        var lost: [LiveObject] = []
        var next = 0
        for count in [1, 2, 61, 70, 1, 500, 3] {
            try session.beginWrite()
            for number in 0 ..< count {
                let row = try add(session, next + number)
                #expect(given.insert(row.key.rawValue).inserted)
                if count < 10 { lost.append(row) }
            }
            try session.cancel()
            for row in lost { #expect(!row.isValid) }
            // Sessions of one process know of each other's keys.
            let writer = count % 2 == 0 ? session : other
            for _ in 0 ..< 2 {
                try writer.inWrite {
                    let row = try add(writer, next)
                    #expect(given.insert(row.key.rawValue).inserted, "after \(count)")
                    ids.append(next)
                    next += 1
                    try check(writer, ids, "in a write, after \(count)")
                }
            }
            _ = try session.refresh()
            _ = try other.refresh()
            try check(session, ids, "after \(count)")
            try check(other, ids, "after \(count)")
            try check(try store.open(), ids, "opened after \(count)")
            for row in lost { #expect(!row.isValid) }
        }
    }

    @Test func afterSavepointsAndWithinThem() throws {
        let session = try TestStore(.file, schema: schema).open()
        var given: Set<Int64> = []
        var ids: [Int] = []
        try session.beginWrite()
        for round in 0 ..< 6 {
            let savepoint = try session.savepoint()
            for id in 0 ..< 1 + round * round { try addNew(session, 10_000 + id, &given) }
            let inner = try session.savepoint()
            for id in 0 ..< 7 { try addNew(session, 20_000 + id, &given) }
            try session.rollBack(to: inner)
            for id in 0 ..< 7 { try addNew(session, 20_000 + id, &given) }
            try session.rollBack(to: savepoint)
            try check(session, ids, "round \(round)")
            try addNew(session, round, &given)
            ids.append(round)
            try check(session, ids, "round \(round)")
        }
        let last = try session.savepoint()
        try addNew(session, 30_000, &given)
        try session.rollBack(to: last)
        try session.commit()
        try check(session, ids, "committed")
        // What the write itself undid at its end.
        try session.inWrite { try addNew(session, 100, &given) }
        try check(session, ids + [100], "the next write")
    }

    @Test func afterARefusedCommitAndALostGroup() throws {
        let faults = FaultInjection()
        var options = DatabaseOptions(location: .memory(identifier: "given-keys"))
        options.faults = faults
        let database = try Database.open(options)
        defer { withExtendedLifetime(database) {} }
        let session = try Session.open(SessionOptions(.memory("given-keys"), schema: try SchemaText.parse(schema)))
        try session.onCommit { (_) throws(DatabaseError) in throw DatabaseError(.callback, "no") }
        try session.beginWrite()
        let refused = try add(session, 1)
        #expect(throws: DatabaseError.self) { try session.commit() }
        try session.onCommit(nil)
        var kept: LiveObject?
        try session.inWrite { kept = try add(session, 1) }
        #expect(kept?.key != refused.key && !refused.isValid)
        try session.beginGroup()
        try session.beginWrite()
        let member = try add(session, 2)
        try session.commit()
        try session.beginWrite()
        try session.cancel()
        faults.failCommit(1)
        #expect(throws: DatabaseError.self) { try session.endGroup() }
        #expect(!member.isValid)
        try session.inWrite { kept = try add(session, 2) }
        #expect(kept?.key != member.key && !member.isValid)
        try check(session, [1, 2], "at the end")
    }

    /// The size of a class's row groups is chosen at the 480th row; keys that are passed over may lead there and beyond
    /// it.
    @Test(arguments: [480, 960, 1_904], [0, 1, 300, 479, 480, 481, 1_000])
    func aroundTheChoiceOfARowGroupSize(_ rowGroupSize: Int, _ stored: Int) throws {
        let schema = "Row { id: int, text: string }"
        var random = SeededRandom(seed: PropertyTest.firstSeed)
        for lost in [1, 479, 480, 481, 1_903, 1_904, 2_383, 2_384, 2_385, 3_000, 5_000] {
            let ways = [(false, false), (true, false), (false, true), (true, true)]
            // One of them where tests are to be short, another one each time.
            for (isWide, isUndoneInside) in TestScale.factor < 1 ? [random.pick(ways)] : ways {
                let comment = "\(stored) stored, \(lost) lost, wide: \(isWide), undone inside: \(isUndoneInside)"
                let session = try TestStore(.memory, rowGroupSize: rowGroupSize, schema: schema).open()
                let table = try session.tableKey("Row")
                func text(_ id: Int) -> String { isWide ? String(repeating: "\(id) ", count: 60) : "\(id % 2)" }
                func add(_ id: Int) throws {
                    try session.add("Row", ["id": .int(Int64(id)), "text": .string(text(id))])
                }
                func checkRows(_ ids: Range<Int>, _ state: String) throws {
                    let rows = try session.objects("Row").allKeys.map { key -> [Value] in
                        let row = try #require(try session.object(table, at: ObjectKey(key)))
                        return [try row.get("id"), try row.get("text")]
                    }
                    let expected = ids.map { [Value.int(Int64($0)), .string(text($0))] }
                    #expect(rows == expected, "\(state); \(comment)")
                }
                try session.inWrite { for id in 0 ..< stored { try add(id) } }
                try session.beginWrite()
                let savepoint = try session.savepoint()
                _ = try session.insertBatch(table, columns: [], rows: nil, rowCount: lost)
                if isUndoneInside {
                    try session.rollBack(to: savepoint)
                } else {
                    try session.cancel()
                    try session.beginWrite()
                }
                for id in stored ..< stored + 3 { try add(id) }
                try checkRows(0 ..< stored + 3, "in the write")
                try session.commit()
                for id in stored + 3 ..< stored + 50 { try session.inWrite { try add(id) } }
                try session.inWrite { for id in stored + 50 ..< stored + 500 { try add(id) } }
                try checkRows(0 ..< stored + 500, "committed")
                try WholeRead.check(session, comment)
                let report = try session.committedSnapshot().verify()
                #expect(report.isSound, "\(report.text); \(comment)")
            }
        }
    }

    /// A key that nobody has costs a bit or less.
    @Test func passedOverKeysTakeHardlyAnyRoom() throws {
        let store = TestStore(.file, rowGroupSize: 1_904, schema: "Row { number: int, text: string, list: list<int> }")
        let session = try store.open()
        let table = try session.tableKey("Row")
        try session.inWrite { try session.add("Row", ["number": .int(1)]) }
        let count = 1_000_000
        try session.beginWrite()
        _ = try session.insertBatch(table, columns: [], rows: nil, rowCount: count)
        try session.cancel()
        var key: ObjectKey?
        try session.inWrite { key = try session.add("Row", ["number": .int(2)]).key }
        #expect(key == ObjectKey(Int64(count) + 1))
        #expect(try session.objects("Row").count() == 2)
        #expect(try session.objects("Row").filter("number == 2").count() == 1)
        #expect(try session.committedSnapshot().verify().isSound)
        let bytes = try session.database.pages.statistics().fileBytes
        #expect(bytes < 300 << 10, "\(bytes) bytes")
    }
}
