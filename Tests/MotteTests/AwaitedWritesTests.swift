/// Writes that tasks wait for: what becomes of them when their realm is invalidated, and who is notified of them.
import Foundation
import Motte
import MotteValues
import Testing

class AwaitedRow: Object {
    @Persisted(primaryKey: true) var id: ObjectId
    @Persisted var n = 0
}

@Suite struct AwaitedWritesTests {
    private static func configuration() -> Realm.Configuration {
        Realm.Configuration(fileURL: temporaryURL(), objectTypes: [AwaitedRow.self])
    }

    /// Holds the write lock on a thread of its own until it is let go.
    private final class Holder: Sendable {
        private let leave = DispatchSemaphore(value: 0)

        init(_ configuration: Realm.Configuration) async {
            let leave = leave
            await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    let realm = try? Realm(configuration: configuration)
                    realm?.beginWrite()
                    continuation.resume()
                    leave.wait()
                    realm?.cancelWrite()
                }
            }
        }
        func end() { leave.signal() }
    }

    @Test @MainActor func invalidatingEndsThem() async throws {
        let configuration = Self.configuration()
        let realm = try await Realm(configuration: configuration, actor: MainActor.shared)
        let holder = await Holder(configuration)
        defer { holder.end() }
        let task = Task { @MainActor in
            do {
                try await realm.asyncWrite { _ = realm.create(AwaitedRow.self) }
                return "written"
            } catch {
                return "\(error)"
            }
        }
        var reported: Swift.Error?
        realm.writeAsync({}, onComplete: { reported = $0 })
        try await Task.sleep(nanoseconds: 50_000_000)
        realm.invalidate()
        task.cancel()
        #expect(await task.value.contains("invalidated"))
        #expect(reported != nil)
    }

    @Test @MainActor func takingThemBackTellsTheirTask() async throws {
        let configuration = Self.configuration()
        let realm = try await Realm(configuration: configuration, actor: MainActor.shared)
        let holder = await Holder(configuration)
        defer { holder.end() }
        let task = Task { @MainActor in try await realm.asyncWrite { _ = realm.create(AwaitedRow.self) } }
        try await Task.sleep(nanoseconds: 50_000_000)
        let last = realm.writeAsync {}
        for id in 0 ... last { try realm.cancelAsyncWrite(id) }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    private actor Background {}

    @Test @MainActor func observersElsewhereAreNotifiedBefore() async throws {
        let realm = try await Realm(configuration: Self.configuration(), actor: MainActor.shared)
        let calls = Locked(0), background = Background()
        for turn in 1 ... 20 {
            let row = try await realm.asyncWrite { realm.create(AwaitedRow.self, value: ["n": 0]) }
            let token = await row.observe(on: background) { (_, change: ObjectChange<AwaitedRow>) in
                if case .change = change { calls.withLock { $0 += 1 } }
            }
            try await realm.asyncWrite { row.n = turn }
            token.invalidate()
        }
        #expect(calls.withLock { $0 } == 20)
    }

    /// Who is busy is not waited for: this ends.
    @Test @MainActor func aBlockedQueueHoldsUpNobody() async throws {
        let configuration = Self.configuration()
        let realm = try await Realm(configuration: configuration, actor: MainActor.shared)
        let row = try await realm.asyncWrite { realm.create(AwaitedRow.self, value: ["n": 0]) }
        let queue = DispatchQueue(label: "blocked")
        let calls = Locked(0)
        let token = row.observe(on: queue) { (_: ObjectChange<AwaitedRow>) in calls.withLock { $0 += 1 } }
        queue.sync {}
        let leave = DispatchSemaphore(value: 0)
        queue.async { leave.wait() }
        for turn in 1 ... 10 { try await realm.asyncWrite { row.n = turn } }
        leave.signal()
        queue.sync {}
        token.invalidate()
    }

    @Test func readOnlyRealmsAreObserved() throws {
        let configuration = Self.configuration()
        let writer = try Realm(configuration: configuration)
        try writer.write { _ = writer.create(AwaitedRow.self) }
        try inAThread {
            var readOnly = configuration
            readOnly.readOnly = true
            let realm = try Realm(configuration: readOnly)
            var counts: [Int] = []
            let token = realm.objects(AwaitedRow.self).observe { change in
                if case .initial(let rows) = change { counts.append(rows.count) }
                if case .update(let rows, _, _, _) = change { counts.append(rows.count) }
            }
            realm.refresh()
            _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.05))
            try inAThread {
                let other = try Realm(configuration: configuration)
                try other.write { _ = other.create(AwaitedRow.self) }
            }
            realm.refresh()
            #expect(counts == [1, 2])
            token.invalidate()
        }
    }

    @Test func frozenIsWhatMayGoAnywhere() throws {
        let list = Motte.List<Int>()
        list.append(1)
        var frozen: [AnyObject] = []
        #expect(misuses { frozen.append(list.freeze()) }.count == 1)
        let row = AwaitedRow()
        #expect(misuses { frozen.append(row.freeze()) }.count == 1)
        #expect(frozen.count == 2 && frozen[0] !== list && frozen[1] !== row)
    }
}
