// What the tests of the typed face share: realms of their own, and a look at broken rules without ending the program.
import Dispatch
import Foundation
import Motte
import MotteValues
import Testing

/// A realm of its own file.
func makeRealm(
    _ types: [ObjectBase.Type], version: UInt64 = 0, url: URL? = nil,
    _ change: (inout Realm.Configuration) -> Void = { _ in }
) throws -> Realm {
    _ = MisuseLock.reportsUnexpected
    var configuration = Realm.Configuration(
        fileURL: url ?? temporaryURL(), schemaVersion: version, objectTypes: types)
    change(&configuration)
    return try Realm(configuration: configuration)
}

func temporaryURL() -> URL {
    FileManager.default.temporaryDirectory.appendingPathComponent("motte-\(UUID().uuidString).realm")
}

/// Messages of the rules that `body` breaks on this thread.
func misuses(_ body: () throws -> Void) rethrows -> [String] {
    let lock = MisuseLock.shared
    lock.lock()
    defer { lock.unlock() }
    let before = Realm.misuseHandler
    let messages = Locked<[String]>([])
    let thread = ObjectIdentifier(Thread.current)
    Realm.misuseHandler = { misuse in
        guard ObjectIdentifier(Thread.current) == thread else { return before(misuse) }
        messages.withLock { $0.append(misuse.message) }
    }
    defer { Realm.misuseHandler = before }
    try body()
    return messages.withLock { $0 }
}

/// Runs `body` on a thread of its own, whose realms are its own.
func inAThread<T>(_ body: @escaping () throws -> T) throws -> T {
    // Escaping, because the thread lets go of it only after it has said that it is done.
    nonisolated(unsafe) let body = body
    nonisolated(unsafe) var outcome: Result<T, any Error>?
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
        outcome = Result { try body() }
        done.signal()
    }
    thread.stackSize = 8 << 20
    thread.start()
    done.wait()
    return try #require(outcome).get()
}

private enum MisuseLock {
    static let shared = NSRecursiveLock()
    /// A broken rule that no test looks at fails the test instead of ending all of them.
    static let reportsUnexpected: Void = { Realm.misuseHandler = { Issue.record("misuse: \($0.message)") } }()
}
