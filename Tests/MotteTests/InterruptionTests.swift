// Queries that are ended: what accessors that cannot throw give, what is thrown, and that nothing of it stays.
import Foundation
import Motte
import Testing

class InterruptedItem: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String
    @Persisted var number: Int
}

@Suite(.serialized) struct InterruptionTests {
    private static func realm() throws -> Realm {
        let realm = try makeRealm([InterruptedItem.self])
        try realm.write {
            for id in 0 ..< 100 {
                realm.create(InterruptedItem.self, value: ["id": id, "name": "\(id % 7)", "number": id % 10])
            }
        }
        return realm
    }

    @Test func whatCannotThrowGivesNothingAndThePartThrows() throws {
        let realm = try Self.realm()
        let items = realm.objects(InterruptedItem.self)
        let broken = misuses {
            #expect(throws: Realm.Error.self) {
                try realm.interruptible(timeout: 0) {
                    #expect(items.where { $0.number > 4 }.count == 0)
                    #expect(items.where { $0.number > 4 }.first == nil)
                    #expect(Array(items.where { $0.number > 4 }).isEmpty)
                    #expect(items.where { $0.number > 4 }.sorted(byKeyPath: "name").map(\.id) == [])
                    #expect(items.filter("number > 4").grouped(by: "name").count == 0)
                    let sum: Int = items.filter("number > 4").sum(ofProperty: "number")
                    #expect(sum == 0)
                }
            }
        }
        #expect(broken == [])
        do {
            try realm.interruptible(timeout: 0) { _ = items.where { $0.number > 4 }.count }
            Issue.record("nothing was thrown")
        } catch Realm.Error.queryInterrupted {
            // As it is to be.
        }
        // What was ended is not what the collection has.
        #expect(items.where { $0.number > 4 }.count == 50)
        #expect(try realm.interruptible(timeout: 600) { items.where { $0.number > 4 }.count } == 50)
        #expect(try realm.interruptible { items.where { $0.number > 5 }.count } == 40)
    }

    @Test func anInterruptionEndsWhatRunsNow() throws {
        let realm = try Self.realm()
        let interruption = realm.interruption
        let items = realm.objects(InterruptedItem.self)
        #expect(throws: Realm.Error.self) {
            try realm.interruptible {
                let done = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    interruption.interrupt()
                    done.signal()
                }
                done.wait()
                _ = items.where { $0.number > 4 }.count
            }
        }
        // Outside of such a part nothing ends, and later parts are not concerned.
        interruption.interrupt()
        #expect(items.where { $0.number > 4 }.count == 50)
        #expect(try realm.interruptible { items.where { $0.number > 5 }.count } == 40)
    }

    @Test func aWriteWithWhatWasEndedIsRolledBack() throws {
        let realm = try Self.realm()
        let items = realm.objects(InterruptedItem.self)
        #expect(throws: Realm.Error.self) {
            try realm.interruptible(timeout: 0) {
                try realm.write { items.forEach { $0.number = items.where { $0.number > 4 }.count } }
            }
        }
        #expect(!realm.isInWriteTransaction && items.where { $0.number > 4 }.count == 50)
        // A write around such a part is not concerned, where the program catches what is thrown.
        try realm.write {
            items[0].number = 100
            _ = try? realm.interruptible(timeout: 0) { items.where { $0.number > 4 }.count }
        }
        #expect(items[0].number == 100)
    }

    @Test func whatTheBodyThrowsComesOut() throws {
        struct Own: Swift.Error {}
        let realm = try Self.realm()
        #expect(throws: Own.self) { try realm.interruptible(timeout: 600) { throw Own() } }
        let frozen = realm.freeze()
        #expect(throws: Realm.Error.self) {
            try frozen.interruptible(timeout: 0) {
                _ = frozen.objects(InterruptedItem.self).where { $0.number > 4 }.count
            }
        }
        #expect(frozen.objects(InterruptedItem.self).where { $0.number > 4 }.count == 50)
    }
}
