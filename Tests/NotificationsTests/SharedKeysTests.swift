// Observers of the same query share its keys and what each move changed, whatever session they belong to.
import MotteLiveObjects
import MotteNotifications
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct SharedKeysTests {
    private static let query = "age >= 10 SORT(age DESC)"

    private func open() throws -> (store: TestStore, session: Session) {
        let store = TestStore(schema: kennelSchema)
        let session = try store.open()
        try session.inWrite {
            for id in 0 ..< 60 { try session.add("Person", ["id": .int(Int64(id)), "age": .int(Int64(id * 7 % 60))]) }
        }
        return (store, session)
    }

    @Test func theSecondObserverEvaluatesNothing() throws {
        let (store, session) = try open()
        let first = try session.objects("Person").filter(Self.query).observe()
        _ = try first.next()
        let other = try store.open()
        _ = try other.objects("Person").count()
        let before = other.counters.read().chunksDecoded
        let second = try other.objects("Person").filter("age >= 10").filter("TRUEPREDICATE SORT(age DESC)").observe()
        _ = try second.next()
        #expect(other.counters.read().chunksDecoded == before)
        // Nor do results that nobody observes.
        let results = try other.objects("Person").filter(Self.query)
        let keys = try results.allKeys
        #expect(other.counters.read().chunksDecoded == before)
        #expect(keys.count == 50)
        withExtendedLifetime((first, second)) {}
    }

    @Test func argumentsAndKeyPathsAreDistinguished() throws {
        let (store, session) = try open()
        let other = try store.open()
        let people = try session.objects("Person")
        let all = try people.filter("age >= 10").observe()
        let fewer = try people.filter("age >= 11").observe()
        let names = try people.filter("age >= 10").observe(keyPaths: ["name"])
        let limited = try people.filter("age >= 10 LIMIT(3)").observe()
        for token in [all, fewer, names, limited] { _ = try token.next() }
        try other.inWrite {
            try other.objects("Person").filter("age == 10").object(at: 0)?.set("age", to: .int(20))
        }
        try session.refresh()
        func notified(_ token: Observation) throws -> String? {
            guard case .changes(let changes) = try token.next() else { return nil }
            return changes.short
        }
        #expect(try notified(all)?.hasPrefix("~") == true)
        #expect(try notified(fewer)?.hasPrefix("+") == true)
        #expect(try notified(names) == nil)
        #expect(try notified(limited) == nil)
    }
}
