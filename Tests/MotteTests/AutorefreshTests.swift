// Realms that nobody observes move to new versions by themselves, wherever something turns (97 to 99).
import Dispatch
import Foundation
import Motte
import MotteValues
import Testing

@Suite(.serialized) struct AutorefreshTests {
    private let configuration = Realm.Configuration(fileURL: temporaryURL(), objectTypes: [Counter.self])

    /// By a realm of another thread.
    private func add(_ id: Int) throws { try Self.add(id, configuration) }

    private static func add(_ id: Int, _ configuration: Realm.Configuration) throws {
        try inAThread {
            let realm = try Realm(configuration: configuration)
            try realm.write { _ = realm.create(Counter.self, value: ["id": id]) }
        }
    }

    /// A queue with a realm of its own.
    private final class Desk: @unchecked Sendable {
        // @unchecked: the realm is only used on the queue.
        let queue = DispatchQueue(label: "autorefresh")
        private var realm: Realm?

        init(_ configuration: Realm.Configuration) throws {
            try queue.sync { realm = try Realm(configuration: configuration, queue: queue) }
        }

        func here<T>(_ body: (Realm) throws -> T) rethrows -> T? { try queue.sync { try realm.map(body) } }
        var count: Int { here { $0.objects(Counter.self).count } ?? -1 }
    }

    @Test func realmsOfQueuesMove() async throws {
        let desk = try Desk(configuration)
        #expect(desk.count == 0)
        try add(1)
        try await eventually { desk.count == 1 }
        desk.here { $0.invalidate() }
        try add(2)
        try await eventually { desk.count == 2 }
    }

    @Test func notWithoutAutorefreshAndNotDuringAWrite() async throws {
        let desk = try Desk(configuration)
        desk.here { $0.autorefresh = false }
        try add(1)
        // A realm that advances by itself has been notified by then, and so would the other have been.
        let other = try Desk(configuration)
        try add(2)
        try await eventually { other.count == 2 }
        #expect(desk.count == 0)
        #expect(desk.here { $0.refresh() } == true && desk.count == 2)
    }

    @Test func aWriteThatWasOpenWhenItsPlaceTurned() async throws {
        let desk = try Desk(configuration)
        desk.here { $0.beginWrite() }
        desk.here { $0.cancelWrite() }
        try add(1)
        try await eventually { desk.count == 1 }
    }

    @Test func realmsOfActorsMove() async throws {
        actor Reader {
            private var realm: Realm?
            func open(_ configuration: Realm.Configuration) async throws {
                realm = try await Realm.open(configuration: configuration)
            }
            var count: Int { realm?.objects(Counter.self).count ?? -1 }
        }
        let reader = Reader()
        try await reader.open(configuration)
        #expect(await reader.count == 0)
        try add(1)
        while await reader.count == 0 { try await Task.sleep(nanoseconds: 2_000_000) }
        #expect(await reader.count == 1)
    }

    @Test func threadsMoveWhenTheirRunLoopTurnsOnly() throws {
        let configuration = configuration
        let counts = try inAThread { () -> [Int] in
            let realm = try Realm(configuration: configuration)
            let counters = realm.objects(Counter.self)
            try AutorefreshTests.add(1, configuration)
            let before = counters.count
            // Begins to listen in the first turn.
            _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.01))
            try AutorefreshTests.add(2, configuration)
            let deadline = Date(timeIntervalSinceNow: 60)
            while counters.count < 2, Date() < deadline {
                _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.01))
            }
            return [before, counters.count]
        }
        #expect(counts == [0, 2])
    }
}
