// Every way to open: reading only, seeds, compaction on launch, limits on versions, kinds of durability, lock files
// elsewhere; and copies and compaction of open files.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct SessionOptionsTests {
    let directory = TemporaryDirectory()
    let schema =
        "Person { id: int key, name: string, friend: link<Person>, friends: list<Person>, tags: list<string> }"

    func options(
        _ name: String = "test.motte", _ change: (inout SessionOptions) -> Void = { _ in }
    ) throws -> SessionOptions {
        var options = SessionOptions(path: directory.file(name), schema: try SchemaText.parse(schema))
        options.rowGroupSize = 3
        options.isDurable = false
        change(&options)
        return options
    }

    func open(
        _ name: String = "test.motte", _ change: (inout SessionOptions) -> Void = { _ in }
    ) throws -> Session { try Session.open(try options(name, change)) }

    @discardableResult
    func fill(_ session: Session, _ range: Range<Int> = 0 ..< 20) throws -> String {
        try session.inWrite {
            for number in range {
                let person = try session.add("Person", ["id": .int(Int64(number)), "name": .string("P\(number)")])
                let tags = try #require(try person.collection("tags") as? LiveList)
                try tags.append(.string(String(repeating: "tag \(number) ", count: 200)))
            }
        }
        return try StoreDump.text(session)
    }

    func size(_ name: String = "test.motte") -> Int {
        var facts = stat()
        return stat(directory.file(name), &facts) == 0 ? Int(facts.st_size) : -1
    }

    // MARK: Reading only

    @Test func aReaderRefusesEveryChange() throws {
        try fill(try open())
        let session = try open { $0.isReadOnly = true }
        let table = try session.tableKey("Person")
        let person = try #require(try session.object(table, at: ObjectKey(1)))
        let list = try #require(try person.collection("friends") as? LiveList)
        let tags = try #require(try person.collection("tags") as? LiveList)
        #expect(code { try session.beginWrite() } == .readOnly)
        #expect(code { try person.set("name", to: .string("x")) } == .readOnly)
        #expect(code { try person.delete() } == .readOnly)
        #expect(code { _ = try session.create(table, primaryKey: .int(99)) } == .readOnly)
        #expect(code { _ = try session.delete(table, [1]) } == .readOnly)
        #expect(code { try list.append(person) } == .readOnly)
        #expect(code { try list.clear() } == .readOnly)
        #expect(code { try tags.remove(at: 0) } == .readOnly)
        #expect(code { try tags.move(from: 0, to: 0) } == .readOnly)
        #expect(code { try tags.append(.string("x")) } == .readOnly)
        #expect(code { try session.commit() } == .readOnly)
        #expect(try person.get("name") == .string("P1"))
    }

    @Test func aReaderSeesMissingClassesAsEmpty() throws {
        let writer = try open()
        try fill(writer)
        let wider = try SchemaText.parse(
            schema + " Dog { name: string key, owner: link<Person>, of: inverse<Bone.dog> } Bone { dog: link<Dog> }")
        let session = try open { change in
            change.isReadOnly = true
            change.schema = wider
        }
        #expect(try session.objects("Dog").count() == 0)
        #expect(try session.objects("Dog").filter("owner.name == 'P1'").allKeys == [])
        #expect(try session.find(session.tableKey("Dog"), primaryKey: .string("Rex")) == nil)
        #expect(try session.objects("Person").count() == 20)
        try fill(writer, 20 ..< 25)
        #expect(try session.refresh())
        #expect(try session.objects("Person").count() == 25)
        #expect(try session.objects("Dog").count() == 0)
        // Once the class is really there, the session has to be reopened.
        _ = try open { $0.schema = wider }
        #expect(code { try session.refresh() } == .schemaChanged)

        let lacking = try SchemaText.parse("Person { id: int key, name: string, shoe: int }")
        #expect(
            code {
                _ = try open { change in
                    change.isReadOnly = true
                    change.schema = lacking
                }
            } == .schemaMismatch)
        #expect(code { _ = try open("missing.motte") { $0.isReadOnly = true } } == .fileNotFound)
    }

    // MARK: Versions

    @Test(arguments: [true, false])
    func tooManyLiveVersionsStopTheWriter(inMemory: Bool) throws {
        let location: SessionOptions.Location =
            inMemory ? .memory("live-versions") : .file(directory.file())
        let writer = try open { change in
            change.location = location
            change.maximumLiveVersions = 4
        }
        let reader = try open { $0.location = location }
        for number in 0 ..< 3 { try fill(writer, number ..< number + 1) }
        #expect(code { try writer.beginWrite() } == nil)
        try writer.cancel()
        try fill(writer, 3 ..< 4)
        let error = #expect(throws: DatabaseError.self) { try writer.beginWrite() }
        #expect(error?.code == .busy)
        #expect(error?.message.contains("5 live versions and 4 are allowed") == true, "\(error?.message ?? "")")
        // The place is free again, and others have no such limit.
        try reader.refresh()
        try fill(writer, 4 ..< 5)
        let frozen = try writer.freeze()
        try reader.refresh()
        for number in 5 ..< 9 { try fill(writer, number ..< number + 1) }
        #expect(code { try writer.beginWrite() } == .busy)
        try frozen.close()
        try reader.refresh()
        try fill(writer, 9 ..< 10)
    }

    // MARK: Seeds

    @Test func aSeedIsCopiedOnce() throws {
        let seedText = try fill(try open("seed.motte"))
        let first = try open { $0.seedPath = directory.file("seed.motte") }
        #expect(try StoreDump.text(first) == seedText)
        let uuids = try (first.database.epoch(), open("seed.motte").database.epoch())
        #expect(uuids.0 != uuids.1)
        try fill(first, 20 ..< 30)
        let later = try StoreDump.text(first)
        try first.close()
        try fill(try open("seed.motte"), 50 ..< 60)
        let again = try open { $0.seedPath = directory.file("seed.motte") }
        #expect(try StoreDump.text(again) == later)
        // It is not needed any more once the file is there, but needed before.
        _ = try open { $0.seedPath = directory.file("nothing.motte") }
        #expect(code { _ = try open("other.motte") { $0.seedPath = directory.file("nothing.motte") } } == .fileNotFound)
        #expect(size("other.motte") == -1)
    }

    // MARK: Copies and compaction

    @Test func copiesAreWholeWhileWritersGoOn() throws {
        let writer = try open()
        try fill(writer)
        let running = Atomic(true)
        let path = directory.file()
        let schema = schema
        let thread = ThreadRun {
            var options = SessionOptions(path: path, schema: try SchemaText.parse(schema))
            options.isDurable = false
            let session = try Session.open(options)
            var number = 1000
            while running.load(ordering: .relaxed) {
                try session.inWrite {
                    // Always two at once: a copy that shows an odd number is torn.
                    for _ in 0 ..< 2 {
                        try session.add("Person", ["id": .int(Int64(number))])
                        number += 1
                    }
                }
            }
        }
        let session = try open()
        for round in 0 ..< 8 {
            _ = try session.refresh()
            let shown = try StoreDump.text(session)
            let reports = Locked(0)
            try session.copy(to: directory.file("copy\(round).motte")) { _ in reports.withLock { $0 += 1 } }
            #expect(reports.withLock { $0 } > 0)
            let copy = try open("copy\(round).motte")
            #expect(try StoreDump.text(copy) == shown)
            #expect(try copy.objects("Person").count() % 2 == 0)
            #expect(try copy.database.epoch() != session.database.epoch())
            // It is a file like any other.
            try fill(copy, 50 ..< 52)
        }
        running.store(false, ordering: .relaxed)
        try thread.join()
        #expect(code { try session.copy(to: directory.file("copy1.motte")) } == .invalidArgument)
        #expect(code { try session.copy(to: directory.file("no/such.motte")) } == .fileNotFound)
    }

    @Test func compactionNeedsTheFileToItself() throws {
        let session = try open()
        try fill(session, 0 ..< 300)
        try session.inWrite { _ = try session.delete(session.tableKey("Person"), Array(10 ..< 300)) }
        let text = try StoreDump.text(session)
        let before = size()
        let other = try open()
        #expect(code { _ = try session.compact() } == .busy)
        #expect(try StoreDump.text(session) == text)
        try other.close()
        let person = try #require(try session.object(session.tableKey("Person"), at: ObjectKey(3)))
        let frozen = try session.freeze()
        #expect(code { _ = try session.compact() } == .busy)
        try frozen.close()
        let outcome = try session.compact()
        #expect(outcome.bytesBefore == before)
        #expect(outcome.bytesAfter == size())
        #expect(size() * 3 < before)
        #expect(try StoreDump.text(session) == text)
        #expect(try person.get("name") == .string("P3"))
        try fill(session, 400 ..< 410)
        #expect(try session.objects("Person").count() == 20)
        #expect(try open().objects("Person").count() == 20)
        try session.beginWrite()
        #expect(code { _ = try session.compact() } == .alreadyInWrite)
        try session.cancel()
    }

    @Test func compactionOnLaunchIsAskedOnlyWhenNobodyHasTheFile() throws {
        let asked = Locked<[[Int]]>([])
        func launching(_ answer: Bool) -> (inout SessionOptions) -> Void {
            { change in
                change.compactOnLaunch = { total, used in
                    asked.withLock { $0.append([total, used]) }
                    return answer
                }
            }
        }
        var session = try open("test.motte", launching(true))
        #expect(asked.withLock { $0 } == [])
        try fill(session, 0 ..< 300)
        try session.inWrite { _ = try session.delete(session.tableKey("Person"), Array(10 ..< 300)) }
        let text = try StoreDump.text(session)
        _ = try open("test.motte", launching(true))
        #expect(asked.withLock { $0 } == [])
        try session.close()
        let before = size()
        session = try open("test.motte", launching(false))
        #expect(size() == before)
        try session.close()
        session = try open("test.motte", launching(true))
        let answers = asked.withLock { $0 }
        #expect(answers.map { $0[0] } == [before, before])
        #expect(answers.allSatisfy { $0[1] < $0[0] / 2 })
        #expect(size() * 3 < before)
        #expect(try StoreDump.text(session) == text)
        // In memory there is nothing to compact.
        _ = try open("x") { change in
            change.location = .memory("compact")
            launching(true)(&change)
        }
        #expect(asked.withLock { $0.count } == 2)
    }

    // MARK: Locks elsewhere

    @Test func lockFilesCanLieElsewhere() throws {
        let locks = TemporaryDirectory()
        let elsewhere = { (change: inout SessionOptions) in change.lockDirectory = locks.path }
        let session = try open("test.motte", elsewhere)
        let text = try fill(session)
        #expect(size("test.motte-shared") == -1)
        let other = try open("test.motte", elsewhere)
        #expect(try StoreDump.text(other) == text)
        try session.beginWrite()
        #expect(code { try other.beginWrite(timeoutMilliseconds: 0) } == .timeout)
        try session.cancel()
        try session.close()
        try other.close()
        #expect(try StoreDump.text(try open("test.motte", elsewhere)) == text)
        #expect(code { _ = try open { $0.lockDirectory = directory.file("none") } } == .fileNotFound)
        // A directory that cannot be written can then be read, and nothing appears in it.
        #expect(size("test.motte-shared") == -1)
    }

    // MARK: Durability

    @Test func everyDurabilityKeepsWhatWasCommitted() throws {
        for (number, durability) in [DatabaseOptions.Durability.full, .relaxed, .none].enumerated() {
            let name = "durable\(number).motte"
            let session = try open(name) { $0.durability = durability }
            let text = try fill(session)
            try session.close()
            #expect(try StoreDump.text(try open(name)) == text)
        }
    }
}
