// The numbered behaviours of the semantics list that concern queued and asynchronous writes. Numbers are in the names.
import Dispatch
import Foundation
import Motte
import MotteValues
import OpenCombine
import Testing

/// A realm of a queue, and what was notified there.
private final class Desk: @unchecked Sendable {
    // @unchecked: the realm is only used on the queue.
    let queue = DispatchQueue(label: "desk")
    private var realm: Realm?
    let notified = Locked<[String]>([])

    init() throws {
        let configuration = Realm.Configuration(fileURL: temporaryURL(), objectTypes: [Counter.self])
        try queue.sync { realm = try Realm(configuration: configuration, queue: queue) }
    }

    func tell(_ text: String) { notified.withLock { $0.append(text) } }

    @discardableResult
    func here<T>(_ body: (Realm) throws -> T) rethrows -> T? { try queue.sync { try realm.map(body) } }

    /// What was notified once everything queued has been.
    func idle() async throws -> [String] {
        try await eventually { self.here { !$0.isPerformingAsynchronousWriteOperations } == true }
        return notified.withLock { $0 }
    }

    var ids: [Int] { here { $0.objects(Counter.self).map(\.id) } ?? [] }
}

@Suite(.serialized) struct AsyncWriteRulesTests {
    private func add(_ realm: Realm, _ id: Int) { realm.create(Counter.self, value: ["id": id]) }

    @Test func rules23And24BeginsFollowEachOther() async throws {
        let desk = try Desk()
        desk.here { realm in
            realm.beginAsyncWrite {
                add(realm, 1)
                desk.tell("left open")
                realm.beginAsyncWrite {
                    desk.tell("from inside")
                    add(realm, 3)
                    realm.commitAsyncWrite()
                }
            }
            realm.beginAsyncWrite {
                desk.tell("second")
                add(realm, 2)
                realm.commitAsyncWrite()
            }
        }
        #expect(try await desk.idle() == ["left open", "second", "from inside"])
        #expect(desk.ids == [2, 3], "what was left open is rolled back")
    }

    @Test func rules24And25SynchronousWritesGoFirst() async throws {
        let desk = try Desk()
        try desk.here { realm in
            realm.writeAsync { add(realm, 1) }
            try realm.write {
                add(realm, 2)
                realm.writeAsync { add(realm, 3) }
            }
            realm.beginWrite()
            add(realm, 4)
            try realm.commitWrite()
            #expect(realm.objects(Counter.self).map(\.id) == [2, 4])
        }
        _ = try await desk.idle()
        #expect(desk.ids == [2, 4, 1, 3])
    }

    @Test func rules26To28CommitsReportLater() async throws {
        let desk = try Desk()
        desk.here { realm in
            realm.beginWrite()
            add(realm, 1)
            realm.commitAsyncWrite(allowGrouping: true) { desk.tell("1 \($0 == nil)") }
            #expect(realm.objects(Counter.self).count == 1 && !realm.isInWriteTransaction, "readable at once")
            #expect(desk.notified.withLock { $0 }.isEmpty, "and reported later")
            realm.beginWrite()
            add(realm, 2)
            realm.commitAsyncWrite { desk.tell("2 \($0 == nil)") }
            #expect(misuses { realm.commitAsyncWrite() }.count == 1)
        }
        #expect(try await desk.idle() == ["1 true", "2 true"])
    }

    @Test func freezingShowsTheWritesBefore() async throws {
        let desk = try Desk()
        desk.here { realm in
            realm.writeAsync { add(realm, 1) }
            realm.writeAsync {
                add(realm, 2)
                let frozen = Array(realm.freeze().objects(Counter.self).map(\.id))
                desk.tell("\(frozen) of \(realm.objects(Counter.self).count)")
            } onComplete: {
                desk.tell("written \($0 == nil)")
            }
            realm.beginWrite()
            add(realm, 3)
            realm.commitAsyncWrite(allowGrouping: true) { desk.tell("grouped \($0 == nil)") }
            desk.tell("\(Array(realm.freeze().objects(Counter.self).map(\.id)))")
        }
        let notified = try await desk.idle().sorted()
        #expect(notified == ["[3, 1] of 3", "[3]", "grouped true", "written true"])
    }

    @Test func rules29And30CancellingAndBeingBusy() async throws {
        let desk = try Desk()
        try desk.here { realm in
            #expect(!realm.isPerformingAsynchronousWriteOperations)
            let never = realm.beginAsyncWrite { desk.tell("cancelled") }
            realm.writeAsync {
                add(realm, 1)
            } onComplete: { _ in
                desk.tell("done")
                #expect(realm.isPerformingAsynchronousWriteOperations, "until the last has been notified")
            }
            try realm.cancelAsyncWrite(never)
            #expect(realm.isPerformingAsynchronousWriteOperations)
            realm.beginWrite()
            add(realm, 2)
            let missed = realm.commitAsyncWrite { _ in desk.tell("unheard") }
            try realm.cancelAsyncWrite(missed)
        }
        #expect(try await desk.idle() == ["done"] && desk.ids == [2, 1])
    }

    @Test func rule31MisuseIsNotSwallowed() async throws {
        let desk = try Desk()
        desk.here { realm in
            realm.writeAsync {
                add(realm, 1)
                let messages = misuses { realm.add(Counter(value: ["id": 1])) }
                desk.tell("\(messages.count)")
            } onComplete: {
                desk.tell("\($0 == nil)")
            }
        }
        #expect(try await desk.idle() == ["1", "true"])
    }

    @Test func rule32InvalidatingDropsWhatHasNotBegun() async throws {
        let desk = try Desk()
        desk.here { realm in
            realm.beginWrite()
            add(realm, 1)
            realm.commitAsyncWrite { _ in desk.tell("committed") }
            realm.writeAsync { desk.tell("never") }
            realm.invalidate()
            #expect(desk.notified.withLock { $0 } == ["committed"] && !realm.isPerformingAsynchronousWriteOperations)
            let counters = realm.objects(Counter.self)
            let token = counters.observe { change in
                guard case .update = change else { return }
                realm.invalidate()
                desk.tell("\(counters.count) \(counters[0].isInvalidated)")
            }
            realm.refresh()
            try? realm.write { add(realm, 2) }
            token.invalidate()
        }
        #expect(try await desk.idle() == ["committed", "2 false"], "within a callback nothing happens")
    }

    @MainActor @Test func rules33And34WritesOfActors() async throws {
        let configuration = Realm.Configuration(fileURL: temporaryURL(), objectTypes: [Counter.self])
        let realm = try await Realm(configuration: configuration)
        let result = try await realm.asyncWrite {
            add(realm, 1)
            realm.cancelWrite()
            realm.beginWrite()
            add(realm, 2)
            return "passed through"
        }
        #expect(result == "passed through" && realm.objects(Counter.self).map(\.id) == [2])
        struct Stop: Error {}
        await #expect(throws: Stop.self) {
            try await realm.asyncWrite {
                add(realm, 3)
                throw Stop()
            }
        }
        #expect(realm.objects(Counter.self).count == 1 && !realm.isInWriteTransaction)
        let task = Task { @MainActor in
            withUnsafeCurrentTask { $0?.cancel() }
            try await realm.asyncWrite { add(realm, 4) }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(realm.objects(Counter.self).count == 1, "34")
    }

    // MARK: Opening

    @Test func openingIsPublished() async throws {
        let queue = DispatchQueue(label: "opening")
        let notified = Locked<[String]>([])
        let good = Realm.Configuration(fileURL: temporaryURL(), objectTypes: [Counter.self])
        let bad = Realm.Configuration(fileURL: temporaryURL(), readOnly: true, objectTypes: [Counter.self])
        func listen(_ configuration: Realm.Configuration) -> AnyCancellable {
            Realm.asyncOpen(configuration: configuration).receive(on: queue).sink { completion in
                if case .failure = completion { notified.withLock { $0.append("failed") } }
                if case .finished = completion { notified.withLock { $0.append("finished") } }
            } receiveValue: { realm in
                dispatchPrecondition(condition: .onQueue(queue))
                notified.withLock { $0.append("\(realm.isEmpty)") }
            }
        }
        let first = listen(good)
        try await eventually { notified.withLock { $0 } == ["true", "finished"] }
        let second = listen(bad)
        try await eventually { notified.withLock { $0 }.last == "failed" }
        let third = listen(good)
        third.cancel()
        let last = listen(good)
        try await eventually { notified.withLock { $0 }.count == 5 }
        queue.sync {}
        #expect(notified.withLock { $0 } == ["true", "finished", "failed", "true", "finished"], "not of the cancelled")
        withExtendedLifetime((first, second, last)) {}
    }
}
