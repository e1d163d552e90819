// Calls that fail half-way, because the file cannot be read where they have to look after they have begun to change
// things: nothing of a write with one can be committed, a savepoint from before brings it back, and a call that fails
// before its first change leaves the write as it was.
import MotteLiveObjects
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

private let schema = """
    Person {
        id: int key, name: string indexed, home: link<Home>, friend: link<Person>, friends: list<Person>,
        homes: list<Home>, marks: map<Person>, tags: set<string>, any: mixed, anys: list<mixed>, anyMap: map<mixed>
    }
    Dog { name: string, owner: link<Person>, any: mixed }
    Counter { number: int }
    embedded Home { city: string, owner: link<Person> }
    """

@Suite struct IncompleteWriteTests {
    private typealias Call = (name: String, body: @Sendable (Session) throws -> Void)

    private static func person(_ session: Session, _ id: Int) throws -> LiveObject {
        try #require(try session.find(try session.tableKey("Person"), primaryKey: .int(Int64(id))))
    }

    private static func list(_ session: Session, _ name: String) throws -> LiveList {
        let person = try person(session, 4)
        return try person.list(person.column(named: name))
    }

    private static func map(_ session: Session, _ name: String) throws -> LiveMap {
        let person = try person(session, 4)
        return try person.map(person.column(named: name))
    }

    private static let calls: [Call] = [
        ("delete", { try person($0, 4).delete() }),
        ("delete many", { _ = try $0.delete(try $0.tableKey("Person"), [0, 3, 4, 5]) }),
        ("delete all", { _ = try $0.deleteAll(try $0.tableKey("Person")) }),
        ("let go of what is owned", { try person($0, 4).set("home", to: .null) }),
        ("set a link", { try person($0, 4).set("friend", to: .link(try person($0, 1).link)) }),
        ("set an indexed text", { try person($0, 4).set("name", to: .string("other")) }),
        ("set nested", { try person($0, 4).set("any", to: .list([.int(1), .string("x")])) }),
        ("insert", { try list($0, "friends").insert([.link(try person($0, 2).link)], at: 0) }),
        ("remove", { try list($0, "friends").remove(at: 0, count: 2) }),
        ("remove what is owned", { try list($0, "homes").remove(at: 0) }),
        ("move", { try list($0, "friends").move(from: 0, to: 1) }),
        ("clear mixed values", { try list($0, "anys").clear() }),
        ("put", { try map($0, "marks").put("new", .link(try person($0, 1).link)) }),
        ("put in place", { try map($0, "marks").put("a", .null) }),
        ("take out of a map", { try map($0, "marks").remove("a") }),
        ("clear a map", { try map($0, "anyMap").clear() }),
        (
            "insert into a set",
            { session in
                let person = try person(session, 4)
                let set = try person.set(person.column(named: "tags"))
                try Value.string("new").withView { _ = try set.insert($0) }
            }
        ),
    ]

    private static func fill(_ session: Session) throws {
        try session.inWrite {
            for id in 0 ..< 8 { try session.add("Person", ["id": .int(Int64(id)), "name": .string("name \(id % 3)")]) }
            for id in 0 ..< 8 {
                let person = try person(session, id), other = try Self.person(session, 7 - id)
                try person.set("friend", to: .link(other.link))
                try person.set("any", to: .list([.link(other.link), .int(2)]))
                let friends = try person.list(person.column(named: "friends"))
                for next in 0 ..< 3 { try friends.append(try Self.person(session, (id + next) % 8)) }
                try person.list(person.column(named: "anys")).append([.link(other.link), .int(Int64(id))])
                try person.map(person.column(named: "marks")).put("a", .link(other.link))
                try person.map(person.column(named: "anyMap")).put("a", .list([.link(other.link)]))
                try Value.string("tag").withView {
                    _ = try person.set(person.column(named: "tags")).insert($0)
                }
                let city = try person.embeddedPut(person.column(named: "home"))
                try city.set("city", to: .string("Rome \(id)"))
                try city.set("owner", to: .link(other.link))
                _ = try person.list(person.column(named: "homes")).embeddedAppend()
            }
            for id in 0 ..< 8 {
                let owner = try person(session, id)
                try session.add(
                    "Dog", ["name": .string("dog"), "owner": .link(owner.link), "any": .link(owner.link)])
            }
            try session.add("Counter", ["number": .int(0)])
        }
    }

    /// Puts bytes in place of a stored value, as a version of their own.
    private static func replace(_ session: Session, _ key: [UInt8], _ value: [UInt8]) throws {
        let pages = try session.database.pages
        let lock = try pages.lockForWriting(timeoutMilliseconds: 1_000)
        defer { lock.release() }
        let snapshot = try pages.snapshot()
        var batch = PageBatch()
        let version = Version(snapshot.version.rawValue + 1)
        try HistoryLog.append(ChangeRecorder(), version: version, over: snapshot, into: &batch)
        batch.put(key, value)
        try pages.commit(batch, lock: lock, version: version)
    }

    /// Keys of values that a write of the classes looks at: chunks, open row groups, index blocks.
    private static func stored(_ session: Session) throws -> [(key: [UInt8], value: [UInt8])] {
        let cursor = try session.database.pages.snapshot().makeCursor()
        var found: [(key: [UInt8], value: [UInt8])] = []
        var there = try cursor.seek([])
        while there {
            let key = [UInt8](cursor.key)
            if [KeySpace.chunks, KeySpace.openGroups, KeySpace.indexBlocks].contains(key.first) {
                found.append((key, [UInt8](cursor.value.bytes)))
            }
            there = try cursor.next()
        }
        return found
    }

    @Test func nothingHalfDoneIsCommitted() throws {
        let store = TestStore(schema: schema)
        let keeper = try store.open()
        try Self.fill(keeper)
        #expect(try keeper.committedSnapshot().verify().problems.isEmpty)
        var refused = 0, harmless = 0, wentBack = 0
        for (key, value) in try Self.stored(keeper) {
            var damaged = value
            damaged[damaged.count - 1] ^= 0x5A
            damaged[damaged.count / 2] ^= 0x11
            try Self.replace(keeper, key, damaged)
            for call in Self.calls {
                let session = try store.open()
                defer { _ = try? session.close() }
                try session.beginWrite()
                if (try? call.body(session)) != nil {
                    try session.cancel()
                    continue
                }
                // Something that has to come into the file with whatever is committed.
                if (try? session.add("Counter", ["number": .int(1)])) == nil {
                    try session.cancel()
                    continue
                }
                do {
                    try session.commit()
                    harmless += 1
                } catch {
                    refused += 1
                    #expect(error.message.contains("half-way"), "\(call.name): \(error)")
                    try session.cancel()
                }
                // The same with a savepoint from before.
                let again = try store.open()
                defer { _ = try? again.close() }
                try again.beginWrite()
                guard (try? again.add("Counter", ["number": .int(2)])) != nil else {
                    try again.cancel()
                    continue
                }
                let savepoint = try again.savepoint()
                #expect(throws: DatabaseError.self, "\(call.name)") { try call.body(again) }
                try again.rollBack(to: savepoint)
                try again.commit()
                wentBack += 1
            }
            // What was committed meanwhile changed counters, which the damaged value may have been of.
            if try keeper.database.pages.snapshot().get(key).map({ Array($0.bytes) }) == damaged {
                try Self.replace(keeper, key, value)
            }
            let problems = try store.open().committedSnapshot().verify().problems
            #expect(problems.isEmpty, "after \(key): \(problems)")
        }
        #expect(refused > 20 && harmless > 20 && wentBack > 40, "\(refused) \(harmless) \(wentBack)")
    }

    @Test func aSavepointOfAnEndedWriteIsNotOneOfALaterWrite() throws {
        let session = try TestStore(schema: schema).open()
        try session.beginWrite()
        let old = try session.savepoint()
        try session.cancel()
        try session.beginWrite()
        let new = try session.savepoint()
        try session.add("Counter", ["number": .int(1)])
        #expect(throws: DatabaseError.self) { try session.rollBack(to: old) }
        #expect(throws: DatabaseError.self) { try session.release(old) }
        try session.release(new)
        try session.commit()
        #expect(try session.committedSnapshot().table(try session.tableKey("Counter")).liveCount == 1)
    }
}
