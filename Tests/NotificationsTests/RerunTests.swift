// Observed results that cannot be patched are evaluated again only when what they are made from has changed.
import MotteLiveObjects
import MotteNotifications
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct RerunTests {
    @Test func unrelatedChangesCostNoEvaluation() throws {
        let session = try TestStore(schema: kennelSchema).open()
        let people = try session.inWrite {
            try (0 ..< 6).map { try session.add("Person", ["id": .int(Int64($0)), "age": .int(Int64($0 * 10))]) }
        }
        let friends = try #require(try people[0].collection("friends") as? LiveList)
        let tags = try #require(try people[0].collection("tags") as? LiveList)
        let otherTags = try #require(try people[1].collection("tags") as? LiveList)
        try session.inWrite {
            for person in people[2...] { try friends.append(person) }
            try tags.append(.string("b"))
        }
        let old = try friends.filter("age > 25").observe()
        let texts = try tags.filter("SELF > 'a'").observe()
        let dogs = try people[0].collection("dogs").filter("name == 'Rex'").observe()
        for token in [old, texts, dogs] { _ = try token.pull() }

        func reruns(_ body: () throws -> Void) throws -> UInt64 {
            let before = session.counters.read().fullReruns
            try session.inWrite(body)
            return UInt64(session.counters.read().fullReruns - before)
        }
        let cat = try session.inWrite { try session.add("Cat", ["name": .string("Tom")]) }
        #expect(try reruns { try cat.set("name", to: .string("Kit")) } == 0)
        #expect(try old.pull() == nil && texts.pull() == nil && dogs.pull() == nil)

        #expect(try reruns { try tags.append(.string("c")) } >= 1)
        #expect(try texts.pull()?.short == "+[1]")
        // The owner is no element of its own list, but it is of the same class.
        _ = try reruns { try otherTags.append(.string("c")) }
        #expect(try texts.pull() == nil)
        #expect(try reruns { try people[2].set("age", to: .int(30)) } >= 1)
        #expect(try old.pull()?.short == "+[0]")
        let rex = try session.inWrite { try session.add("Dog", ["name": .string("Rex"), "owner": .link(people[0])]) }
        #expect(try dogs.pull()?.short == "+[0]")
        try session.inWrite { try rex.delete() }
        #expect(try dogs.pull()?.short == "-[0]")
        try session.inWrite { try people[0].delete() }
        #expect(try texts.pull()?.deletions == [0, 1])
        #expect(try old.pull()?.deletions == [0, 1, 2, 3])
    }
}
