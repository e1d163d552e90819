/// Publishers: what each sends and when, that cancelling ends it, and values on their way to other threads.
import Foundation
import Motte
import MotteValues
import OpenCombine
import OpenCombineDispatch
import Testing

class PublishedToy: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String
    @Persisted var price: Int
    @Persisted var parts: List<PublishedToy>
    @Persisted var related: MutableSet<PublishedToy>
    @Persisted var labels: Map<String, String>
}

final class ToyView: Projection<PublishedToy> {
    @Projected(\PublishedToy.name) var title
}

@Suite(.serialized) struct PublisherTests {
    let realm: Realm
    let toy: PublishedToy

    init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("motte-\(UUID().uuidString).motte")
        let realm = try Realm(configuration: Realm.Configuration(fileURL: url, objectTypes: [PublishedToy.self]))
        toy = try realm.write { realm.create(PublishedToy.self, value: ["id": 1, "name": "car", "price": 10]) }
        self.realm = realm
    }

    final class Received: @unchecked Sendable {  // @unchecked: 'lines' is only touched holding 'lock'
        private let lock = NSLock()
        private var lines: [String] = []
        func add(_ line: String) { lock.withLock { lines.append(line) } }
        var all: [String] { lock.withLock { lines } }
    }

    /// Begins a write, which delivers what waits.
    func deliver() throws {
        realm.refresh()
        try realm.write {}
    }

    // MARK: Objects

    @Test func objectsSayThatTheyChanged() throws {
        let received = Received()
        let cancellable = toy.objectWillChange.sink { received.add(toy.name) }

        try deliver()
        #expect(received.all.isEmpty)
        try realm.write { toy.name = "bus" }
        try deliver()
        // After the change, despite the name.
        #expect(received.all == ["bus"])
        cancellable.cancel()
        try realm.write { toy.name = "tram" }
        try deliver()
        #expect(received.all == ["bus"])
    }

    @Test func objectsArePublishedUntilTheyAreDeleted() throws {
        let received = Received()
        let values = valuePublisher(toy, keyPaths: ["name"])
            .sink {
                received.add("value \($0)")
            } receiveValue: {
                received.add("value \($0.name)")
            }
        let changes = changesetPublisher(toy)
            .sink {
                received.add("change \($0)")
            } receiveValue: { change in
                switch change {
                case .change(_, let properties): received.add("change \(properties.map(\.name))")
                case .deleted: received.add("change deleted")
                case .error: received.add("change error")
                }
            }

        try deliver()
        try realm.write { toy.price = 11 }
        try realm.write { toy.name = "bus" }
        try realm.write { realm.delete(toy) }
        try deliver()

        #expect(
            received.all.filter { $0.hasPrefix("change") } == [
                "change [\"price\"]", "change [\"name\"]", "change deleted", "change finished",
            ])
        #expect(received.all.filter { $0.hasPrefix("value") } == ["value bus", "value finished"])
        values.cancel()
        changes.cancel()
    }

    @Test func keyPathsMayBeTyped() throws {
        let received = Received()
        let value = valuePublisher(toy, keyPaths: [\PublishedToy.price])
            .sink(receiveCompletion: { _ in }, receiveValue: { received.add("\($0.price)") })

        try deliver()
        try realm.write { toy.name = "bus" }
        try realm.write { toy.price = 12 }
        try deliver()

        #expect(received.all == ["12"])
        value.cancel()
    }

    @Test func projectionsPublishWhatTheyProject() throws {
        let received = Received()
        let view = ToyView(projecting: toy)
        let subscriptions = [
            view.objectWillChange.sink { received.add("will") },
            changesetPublisher(view).sink { change in
                if case .change(let view, let properties) = change {
                    received.add("\(view.title) \(properties.map(\.name))")
                }
            },
            valuePublisher(view).sink(receiveCompletion: { _ in }, receiveValue: { received.add("value \($0.title)") }),
        ]

        try deliver()
        try realm.write { toy.price = 11 }
        try deliver()
        #expect(received.all.isEmpty)
        try realm.write { toy.name = "bus" }
        try deliver()
        #expect(received.all.sorted() == ["bus [\"title\"]", "value bus", "will"])
        for subscription in subscriptions { subscription.cancel() }
    }

    // MARK: Collections

    @Test func collectionsArePublishedAsTheyAreAndAfterEveryChange() throws {
        let received = Received()
        let toys = realm.objects(PublishedToy.self)
        let subscriptions = [
            toys.objectWillChange.sink { received.add("will") },
            toys.collectionPublisher.sink(
                receiveCompletion: { _ in }, receiveValue: { received.add("value \($0.count)") }),
            toys.changesetPublisher.sink { change in
                switch change {
                case .initial(let toys): received.add("change \(toys.count)")
                case .update(_, let deletions, let insertions, let modifications):
                    received.add("change \(deletions) \(insertions) \(modifications)")
                case .error: received.add("change error")
                }
            },
        ]

        try deliver()
        try realm.write { realm.create(PublishedToy.self, value: ["id": 2]) }
        try deliver()

        #expect(received.all.filter { $0.hasPrefix("value") } == ["value 1", "value 2"])
        #expect(received.all.filter { $0.hasPrefix("change") } == ["change 1", "change [] [1] []"])
        #expect(received.all.filter { $0 == "will" }.count == 1)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func keyPathsNarrowWhatACollectionPublishes() throws {
        let received = Received()
        let toys = realm.objects(PublishedToy.self)
        let subscriptions = [
            toys.collectionPublisher(keyPaths: ["price"])
                .sink(receiveCompletion: { _ in }, receiveValue: { _ in received.add("price") }),
            toys.changesetPublisher(keyPaths: [\PublishedToy.name]).sink { _ in received.add("name") },
        ]
        try deliver()
        #expect(received.all.sorted() == ["name", "price"])

        try realm.write { toy.name = "bus" }
        try realm.write { toy.price = 3 }
        try realm.write { toy.name = "tram" }
        try deliver()

        #expect(Array(received.all.dropFirst(2)) == ["name", "price", "name"])
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func listsSetsAndMapsPublish() throws {
        let received = Received()
        let subscriptions = [
            toy.parts.objectWillChange.sink { received.add("list") },
            toy.related.objectWillChange.sink { received.add("set") },
            toy.labels.objectWillChange.sink { received.add("map") },
            toy.labels.collectionPublisher.sink(
                receiveCompletion: { _ in }, receiveValue: { received.add("labels \($0.keys.sorted())") }),
            toy.labels.changesetPublisher.sink { change in
                if case .update(_, _, let insertions, _) = change { received.add("inserted \(insertions)") }
            },
            toy.parts.changesetPublisher.sink { change in
                if case .update(_, _, let insertions, _) = change { received.add("appended \(insertions)") }
            },
            changesetPublisher(toy.labels).sink { change in
                if case .update(_, _, let insertions, _) = change { received.add("inserted by name \(insertions)") }
            },
            valuePublisher(toy.labels).sink(
                receiveCompletion: { _ in }, receiveValue: { if !$0.isEmpty { received.add("value \($0.count)") } }),
        ]
        try deliver()
        #expect(received.all == ["labels []"])

        try realm.write { toy.labels["a"] = "b" }
        try deliver()
        #expect(
            received.all.dropFirst().sorted() == [
                "inserted [\"a\"]", "inserted by name [\"a\"]", "labels [\"a\"]", "map", "value 1",
            ])

        try realm.write {
            toy.parts.append(PublishedToy(value: ["id": 2]))
            toy.related.insert(toy)
        }
        try deliver()
        #expect(received.all.dropFirst(6).sorted() == ["appended [0]", "list", "set"])
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func sectionsPublish() throws {
        let received = Received()
        let sections = realm.objects(PublishedToy.self).sectioned(by: \.name, ascending: true)
        let cars = sections[0]
        let subscriptions = [
            sections.objectWillChange.sink { received.add("will") },
            sections.collectionPublisher.sink(
                receiveCompletion: { _ in }, receiveValue: { received.add("keys \($0.allKeys)") }),
            sections.changesetPublisher.freeze().sink { change in
                if case .update(let sections, _, let insertions, _, let sectionsToInsert, _) = change {
                    received.add("\(sections.isFrozen) \(insertions) \(Array(sectionsToInsert))")
                }
            },
            cars.objectWillChange.sink { received.add("cars") },
        ]
        try deliver()
        #expect(received.all == ["keys [\"car\"]"])

        try realm.write { realm.create(PublishedToy.self, value: ["id": 2, "name": "bus"]) }
        try deliver()
        #expect(received.all.dropFirst().sorted() == ["keys [\"bus\", \"car\"]", "true [[0, 0]] [0]", "will"])

        try realm.write { realm.create(PublishedToy.self, value: ["id": 3, "name": "car"]) }
        try deliver()
        #expect(received.all.filter { $0 == "cars" }.count == 1)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func realmsSayThatTheyChanged() throws {
        let received = Received()
        let cancellable = realm.objectWillChange.sink { received.add("changed") }

        try realm.write { toy.price += 1 }
        try realm.write { toy.price += 1 }

        #expect(received.all.count == 2)
        cancellable.cancel()
        try realm.write { toy.price += 1 }
        #expect(received.all.count == 2)
    }

    // MARK: Tokens

    final class Owner { var token: NotificationToken? }

    @Test func savedTokensCanBeLeftOutOfAWrite() throws {
        let received = Received()
        let owner = Owner()
        let cancellable = realm.objects(PublishedToy.self).collectionPublisher
            .saveToken(on: owner, at: \.token)
            .sink(receiveCompletion: { _ in }, receiveValue: { received.add("\($0.count)") })
        try deliver()
        let token = try #require(owner.token)

        try realm.write(withoutNotifying: [token]) { realm.create(PublishedToy.self, value: ["id": 2]) }
        try realm.write { realm.create(PublishedToy.self, value: ["id": 3]) }
        try deliver()

        #expect(received.all == ["1", "3"])
        cancellable.cancel()
    }

    // MARK: Elsewhere

    @Test func frozenValuesGoAnywhere() throws {
        let received = Received()
        let queue = DispatchQueue(label: "frozen")
        let cancellable = realm.objects(PublishedToy.self).collectionPublisher
            .freeze()
            .receive(on: queue)
            .sink(
                receiveCompletion: { _ in },
                receiveValue: { received.add("\($0.isFrozen) \(Array($0.map(\.name)))") })

        try deliver()
        try realm.write { toy.name = "bus" }
        try deliver()
        queue.sync {}

        #expect(received.all == ["true [\"car\"]", "true [\"bus\"]"])
        cancellable.cancel()
    }

    @Test func frozenChangesGoAnywhere() throws {
        let received = Received()
        let queue = DispatchQueue(label: "frozen")
        let subscriptions = [
            realm.objects(PublishedToy.self).changesetPublisher.freeze().receive(on: queue).sink { change in
                if case .update(let toys, _, _, let modifications) = change {
                    received.add("\(toys.isFrozen) \(modifications)")
                }
            },
            changesetPublisher(toy).freeze().receive(on: queue).sink { change in
                if case .change(let toy, _) = change { received.add("\(toy.isFrozen) \(toy.name)") }
            },
        ]

        try deliver()
        try realm.write { toy.name = "bus" }
        try deliver()
        queue.sync {}

        #expect(received.all.sorted() == ["true [0]", "true bus"])
        for subscription in subscriptions { subscription.cancel() }
    }

    /// A subscriber may keep what arrived on its queue, whichever thread runs that next.
    @Test func whatArrivedOnAQueueBelongsToIt() throws {
        let queue = DispatchQueue(label: "kept")
        let kept = Locked<[Results<PublishedToy>]>([])
        let arrived = DispatchSemaphore(value: 0)
        let cancellable = realm.objects(PublishedToy.self).collectionPublisher
            .threadSafeReference()
            .receive(on: queue)
            .sink(
                receiveCompletion: { _ in },
                receiveValue: { toys in
                    kept.withLock { $0.append(toys) }
                    arrived.signal()
                })
        try deliver()
        #expect(arrived.wait(timeout: .now() + 20) == .success)
        // Runs on this thread.
        let names = queue.sync { kept.withLock { $0 }.first.map { Array($0.map(\.name)) } }
        #expect(names == ["car"])
        queue.sync { kept.withLock { $0 = [] } }
        cancellable.cancel()
    }

    @Test func referencesAreResolvedWhereTheyArrive() throws {
        let received = Received()
        let queue = DispatchQueue(label: "handover")
        let arrived = DispatchSemaphore(value: 0)
        let cancellable = realm.objects(PublishedToy.self).changesetPublisher
            .threadSafeReference()
            .receive(on: queue)
            .sink { change in
                if case .update(let toys, _, _, let modifications) = change {
                    received.add("\(toys.isFrozen) \(Array(toys.map(\.name))) \(modifications)")
                    arrived.signal()
                }
            }

        try deliver()
        try realm.write { toy.name = "bus" }
        try deliver()

        #expect(arrived.wait(timeout: .now() + 10) == .success)
        #expect(received.all == ["false [\"bus\"] [0]"])
        cancellable.cancel()
    }

    @Test func sectionsAreResolvedWhereTheyArrive() throws {
        let received = Received()
        let queue = DispatchQueue(label: "handover")
        let arrived = DispatchSemaphore(value: 0)
        let cancellable = realm.objects(PublishedToy.self).sectioned(by: \.name, ascending: true).changesetPublisher
            .threadSafeReference()
            .receive(on: queue)
            .sink { change in
                if case .update(let sections, _, _, let modifications, _, _) = change {
                    received.add("\(sections.isFrozen) \(sections.allKeys) \(modifications)")
                    arrived.signal()
                }
            }

        try deliver()
        try realm.write { toy.price = 12 }
        try deliver()

        #expect(arrived.wait(timeout: .now() + 10) == .success)
        #expect(received.all == ["false [\"car\"] [[0, 0]]"])
        cancellable.cancel()
    }

    @Test func valuesMayBeObservedOnAQueue() throws {
        let received = Received()
        let queue = DispatchQueue(label: "subscribed")
        let arrived = DispatchSemaphore(value: 0)
        let cancellable = realm.objects(PublishedToy.self).collectionPublisher
            .subscribe(on: queue)
            .sink(
                receiveCompletion: { _ in },
                receiveValue: { toys in
                    dispatchPrecondition(condition: .onQueue(queue))
                    received.add("\(Array(toys.map(\.name)))")
                    arrived.signal()
                })

        #expect(arrived.wait(timeout: .now() + 10) == .success)
        try realm.write { toy.name = "bus" }
        #expect(arrived.wait(timeout: .now() + 10) == .success)
        #expect(received.all == ["[\"car\"]", "[\"bus\"]"])
        cancellable.cancel()
    }
}
