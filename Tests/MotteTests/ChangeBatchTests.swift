// Change batches between two realms of typed models.
import Foundation
import Motte
import Testing

class BatchPerson: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String
    @Persisted var friends: List<BatchPerson>
}

@Suite(.serialized) struct ChangeBatchTests {
    @Test func aRealmFollowsAnother() throws {
        let origin = try makeRealm([BatchPerson.self])
        let copy = try makeRealm([BatchPerson.self])
        try origin.keepChanges(since: 1)
        try origin.write { origin.add(BatchPerson(value: ["id": 1, "name": "Ada"])) }
        let everything = try origin.changes(since: 0)
        #expect(everything.isWhole && !everything.isEmpty && everything.fromVersion == 0)
        #expect(try everything.origin == origin.changeOrigin)
        #expect(try copy.appliedVersion(of: everything.origin) == nil)
        #expect(try copy.apply(everything))
        let people = copy.objects(BatchPerson.self).sorted(byKeyPath: "id")
        var inserted: [Int] = []
        let token = people.observe { changes in
            if case .update(_, _, let insertions, _) = changes { inserted += insertions }
        }
        copy.refresh()
        try origin.write {
            let ada = try #require(origin.object(ofType: BatchPerson.self, forPrimaryKey: 1))
            ada.friends.append(origin.create(BatchPerson.self, value: ["id": 2, "name": "Bo"]))
        }
        let later = try origin.changes(since: everything.toVersion)
        let sent = try ChangeBatch(data: later.data)
        #expect(sent == later)
        #expect(try copy.apply(sent))
        #expect(try !copy.apply(sent))
        #expect(people.map(\.name) == ["Ada", "Bo"])
        #expect(people[0].friends.first?.id == 2)
        #expect(try copy.appliedVersion(of: later.origin) == later.toVersion)
        _ = inserted
        token.invalidate()
    }

    private struct Refusal: Error, Equatable { let reason: String }

    @Test func aWriteIsUndoneAndRedone() throws {
        let realm = try makeRealm([BatchPerson.self])
        try realm.keepChanges(since: 1)
        try realm.write { realm.add(BatchPerson(value: ["id": 1, "name": "Ada"])) }
        let before = realm.freeze()
        try realm.write {
            realm.object(ofType: BatchPerson.self, forPrimaryKey: 1)?.name = "Eve"
            realm.add(BatchPerson(value: ["id": 2, "name": "Bo"]))
        }
        let done = try realm.changes(since: before)
        let undo = try done.inverse()
        #expect(undo.isPatch && !done.isPatch)
        #expect(try realm.apply(undo))
        #expect(realm.objects(BatchPerson.self).map(\.name) == ["Ada"])
        #expect(try realm.apply(try undo.inverse()))
        #expect(realm.objects(BatchPerson.self).sorted(byKeyPath: "id").map(\.name) == ["Eve", "Bo"])
        #expect(throws: Realm.Error.self) { _ = try realm.changes(since: done.fromVersion).inverse() }
    }

    @Test func aBlockIsAskedBeforeCommits() throws {
        let realm = try makeRealm([BatchPerson.self])
        let copy = try makeRealm([BatchPerson.self])
        try copy.apply(try realm.changes(since: 0))
        var refusal: Refusal?
        var calls = 0
        try realm.onCommit(reversible: true) { batch in
            calls += 1
            if let refusal { throw refusal }
            _ = try batch.inverse()
            try copy.apply(batch)
        }
        try realm.write { realm.add(BatchPerson(value: ["id": 1, "name": "Ada"])) }
        #expect(copy.objects(BatchPerson.self).map(\.name) == ["Ada"])
        refusal = Refusal(reason: "not today")
        let failed = #expect(throws: Refusal.self) {
            try realm.write { realm.add(BatchPerson(value: ["id": 2, "name": "Bo"])) }
        }
        #expect(failed == refusal && calls == 2 && !realm.isInWriteTransaction)
        #expect(realm.objects(BatchPerson.self).count == 1)
        refusal = nil
        try realm.onCommit(nil)
        try realm.write { realm.add(BatchPerson(value: ["id": 2, "name": "Bo"])) }
        #expect(calls == 2)
    }

    @Test func whatDoesNotFollowIsAnError() throws {
        let origin = try makeRealm([BatchPerson.self])
        let copy = try makeRealm([BatchPerson.self])
        try origin.write { origin.add(BatchPerson(value: ["id": 1, "name": "Ada"])) }
        let everything = try origin.changes(since: 0)
        #expect(throws: Realm.Error.self) { try origin.apply(everything) }
        #expect(throws: Realm.Error.self) { _ = try ChangeBatch(data: Data("text".utf8)) }
        do {
            _ = try origin.changes(since: 10_000)
            Issue.record("there is no such version")
        } catch Realm.Error.incompatibleHistories {}
        copy.beginWrite()
        #expect(throws: Realm.Error.self) { try copy.apply(everything) }
        copy.cancelWrite()
        #expect(try copy.apply(everything))
        try origin.keepChanges(since: nil)
    }

    @Test func eachConsumerOfChangesHasAPosition() throws {
        let realm = try makeRealm([BatchPerson.self])
        #expect(try realm.changeConsumers.isEmpty)
        try realm.keepChanges(since: 1, for: "feed")
        try realm.write { realm.add(BatchPerson(value: ["id": 1, "name": "Ada"])) }
        try realm.keepChanges(since: 1)
        let consumers = try realm.changeConsumers
        #expect(consumers.map(\.name) == [nil, "feed"] && consumers.map(\.version) == [1, 1])
        #expect(consumers.allSatisfy { $0.commits == 1 && $0.isKept })
        #expect(try realm.keepChanges(since: nil, for: "feed"))
        #expect(try !realm.keepChanges(since: nil, for: "feed"))
        #expect(try realm.changeConsumers.map(\.name) == [nil])
        #expect(throws: Realm.Error.self) { try realm.keepChanges(since: 1, for: "") }
    }

    @Test func aDifferenceLeadsFromOneRealmToAnother() throws {
        let first = try makeRealm([BatchPerson.self])
        let second = try makeRealm([BatchPerson.self])
        try first.write { first.add(BatchPerson(value: ["id": 1, "name": "Ada"])) }
        try second.write { second.add(BatchPerson(value: ["id": 1, "name": "Eve"])) }
        let difference = try first.changes(to: second)
        #expect(difference.isDifference && !difference.isPatch && !difference.isEmpty)
        #expect(try first.apply(difference))
        #expect(first.objects(BatchPerson.self).map(\.name) == ["Eve"])
        #expect(throws: Realm.Error.self) { try first.apply(difference) }
        #expect(try first.apply(try difference.inverse()))
        #expect(first.objects(BatchPerson.self).map(\.name) == ["Ada"])
        #expect(try first.changes(to: first).isEmpty)
    }
}
