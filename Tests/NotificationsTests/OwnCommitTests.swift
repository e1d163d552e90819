// What a process has committed itself is handed to its observers in memory: nobody reads the record back that was just
// written.
import MotteLiveObjects
import MotteNotifications
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct OwnCommitTests {
    private func open() throws -> (store: TestStore, session: Session, people: [LiveObject]) {
        let store = TestStore(.file, schema: kennelSchema)
        let session = try store.open()
        let people = try session.inWrite {
            try (0 ..< 10).map { try session.add("Person", ["id": .int(Int64($0)), "age": .int(Int64($0 * 10))]) }
        }
        return (store, session, people)
    }

    @Test func aCommitReadsNoRecordBack() throws {
        let (_, session, people) = try open()
        let recorder = Recorder()
        let results = try session.objects("Person").filter("age > 45").observe { recorder.sets.append($0) }
        let friends = try people[1].list(try people[1].column(named: "friends"))
        let list = try friends.observe { recorder.sets.append($0) }
        let object = try people[2].observe { recorder.sets.append($0) }
        try session.refresh()
        let before = session.counters.read().logRecordsRead
        recorder.sets = []
        try session.inWrite {
            try people[0].set("age", to: .int(50))
            try friends.append(people[3])
            try people[2].set("name", to: .string("Ada"))
        }
        #expect(recorder.sets.count == 3)
        #expect(recorder.sets.last?.properties.first?.old == .string(""))
        #expect(recorder.sets.last?.properties.first?.new == .string("Ada"))
        #expect(session.counters.read().logRecordsRead == before)
        withExtendedLifetime((results, list, object)) {}
    }

    @Test func otherSessionsOfTheProcessReadNoneEither() throws {
        let (store, writer, people) = try open()
        let reader = try store.open()
        let recorder = Recorder()
        let token = try reader.objects("Person").filter("age > 45").observe { recorder.sets.append($0) }
        try reader.refresh()
        recorder.sets = []
        let before = reader.counters.read().logRecordsRead
        for age in 50 ..< 53 { try writer.inWrite { try people[0].set("age", to: .int(Int64(age))) } }
        try reader.refresh()
        #expect(recorder.texts == ["+[0]"])
        #expect(reader.counters.read().logRecordsRead == before)
        withExtendedLifetime(token) {}
    }

    @Test func aGroupIsHandedOverToo() throws {
        let (_, session, people) = try open()
        let recorder = Recorder()
        let token = try session.objects("Person").filter("age > 45").observe { recorder.sets.append($0) }
        try session.refresh()
        recorder.sets = []
        let before = session.counters.read().logRecordsRead
        try session.beginGroup()
        for index in 0 ..< 3 { try session.inWrite { try people[index].set("age", to: .int(60)) } }
        try session.endGroup()
        #expect(recorder.texts == ["+[0]", "+[1]", "+[2]"])
        #expect(session.counters.read().logRecordsRead == before)
        withExtendedLifetime(token) {}
    }

    /// Far more than is kept for nobody in particular.
    @Test func aLargeCommitIsHandedOverToo() throws {
        let (_, session, _) = try open()
        try session.inWrite {
            for id in 100 ..< 15_100 { try session.add("Person", ["id": .int(Int64(id)), "age": .int(1)]) }
        }
        let recorder = Recorder()
        let token = try session.objects("Person").filter("age = 2").observe { recorder.sets.append($0) }
        try session.refresh()
        recorder.sets = []
        let before = session.counters.read().logRecordsRead
        try session.inWrite {
            let table = try session.tableKey("Person")
            let age = try #require(try session.schema["Person"]?.property(named: "age")?.columnKey)
            for key in try session.objects("Person").allKeys.dropFirst(10) {
                try session.set(table, age, ObjectKey(key), to: .int(2))
            }
        }
        #expect(recorder.sets.last?.insertions.count == 15_000)
        #expect(session.counters.read().logRecordsRead == before)
        withExtendedLifetime(token) {}
    }
}
