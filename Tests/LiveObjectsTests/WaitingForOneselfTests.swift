// Who would wait for itself gets an error at once, and opening waits for others only as long as it may.
import CMotteShim
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct WaitingForOneselfTests {
    private let store = TestStore(.file, schema: "Person { id: int key, name: string }")

    private func wider(_ change: (inout SessionOptions) -> Void = { _ in }) throws -> SessionOptions {
        var options = try store.options
        options.schema = try SchemaText.parse("Person { id: int key, name: string }\nDog { id: int key }")
        change(&options)
        return options
    }

    /// The code, and that it came at once.
    private func refusal(_ body: () throws -> Void) throws -> ErrorCode? {
        let began = motte_shim_monotonic_ms()
        defer { #expect(motte_shim_monotonic_ms() - began < 5_000) }
        do {
            try body()
            return nil
        } catch let error as DatabaseError {
            return error.code
        }
    }

    @Test func aSchemaIsNotChangedDuringAWriteOfOnesOwn() throws {
        let session = try store.open()
        try session.beginWrite()
        try session.add("Person", ["id": .int(1)])

        for timeout in [Int64(-1), 60_000] {
            let options = try wider { $0.openTimeoutMilliseconds = timeout }
            let code = try refusal { _ = try Session.open(options) }
            #expect(code == (timeout < 0 ? .reentrant : .timeout))
        }
        // What takes no write opens.
        let same = try store.open()
        #expect(try same.objects("Person").count() == 0)
        try session.commit()
        #expect(try Session.open(try wider()).schema["Dog"] != nil)
    }

    @Test func aSecondSessionOfTheThreadDoesNotWaitForTheFirst() throws {
        let first = try store.open(), second = try store.open()
        try first.beginWrite()
        #expect(try refusal { try second.beginWrite() } == .reentrant)
        #expect(try refusal { try second.beginGroup() } == .reentrant)
        #expect(try refusal { try second.beginWrite(timeoutMilliseconds: 60_000) } == .timeout)
        try first.cancel()
        try second.beginWrite()
        try second.cancel()
        try first.beginGroup()
        #expect(try refusal { try second.beginWrite() } == .reentrant)
        try first.endGroup()
        try second.beginWrite()
        try second.cancel()
    }

    /// Other threads wait for their turn, and who has handed its session on is no longer waited for by itself.
    @Test func onlyTheThreadThatWritesIsRefused() throws {
        let first = try store.open()
        try first.beginWrite()
        let store = store
        let other = ThreadRun { () throws -> Int in
            let session = try store.open()
            try session.beginWrite(timeoutMilliseconds: 60_000)
            try session.add("Person", ["id": .int(2)])
            try session.commit()
            return try session.objects("Person").count()
        }
        try first.add("Person", ["id": .int(1)])
        try first.commit()
        #expect(try other.join() == 2)
    }

    @Test func openingWithinOpeningIsRefused() throws {
        let seen = Locked<[ErrorCode?]>([])
        var options = try store.options
        let endless = try wider { $0.openTimeoutMilliseconds = -1 }
        let trial: @Sendable () -> Void = {
            let began = motte_shim_monotonic_ms()
            var code: ErrorCode?
            do throws(DatabaseError) { _ = try Session.open(endless) } catch { code = error.code }
            #expect(motte_shim_monotonic_ms() - began < 5_000)
            seen.withLock { $0.append(code) }
        }
        options.firstOpen = { _ in trial() }
        let made = try Session.open(options)
        #expect(seen.withLock { $0 } == [.reentrant])
        try made.close()

        options.schema = try SchemaText.parse("Person { id: int key, name: string, age: int }")
        options.schemaVersion = 1
        options.migration.step = { _ in trial() }
        _ = try Session.open(options)
        #expect(seen.withLock { $0 } == [.reentrant, .reentrant])
    }

    @Test func aFileIsVerifiedAndSalvagedDuringAWriteOfOnesOwn() throws {
        let session = try store.open()
        try session.inWrite { _ = try session.add("Person", ["id": .int(1)]) }
        try session.beginWrite()
        try session.add("Person", ["id": .int(2)])
        let options = try store.options
        var found: [Int] = []
        let code = try refusal {
            found.append(try session.committedSnapshot().verify().problems.count)
            let report = try options.openForSalvage().salvage { _ in }
            // What is committed.
            found += [report.objects, report.losses.count]
        }
        #expect(code == nil && found == [0, 1, 0])
        try session.commit()
    }

    @Test func openingWaitsForAWriterAsLongAsItMay() throws {
        let session = try store.open()
        try session.beginWrite()
        let options = try wider { $0.openTimeoutMilliseconds = 50 }
        let waited = try ThreadRun { () throws -> (ErrorCode?, Int64) in
            let began = motte_shim_monotonic_ms()
            var code: ErrorCode?
            do throws(DatabaseError) { _ = try Session.open(options) } catch { code = error.code }
            return (code, motte_shim_monotonic_ms() - began)
        }.join()
        #expect(waited.0 == .timeout && waited.1 >= 40 && waited.1 < 5_000)
        try session.cancel()
        #expect(try Session.open(options).schema["Dog"] != nil)
    }
}
