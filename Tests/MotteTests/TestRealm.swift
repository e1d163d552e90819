// What the tests of the Swift API share: realms of their own, and a look at broken rules without ending the program.
import Dispatch
import Foundation
import MisuseSupport
import Motte
import MotteValues
import Testing

/// A realm of its own file.
func makeRealm(
    _ types: [ObjectBase.Type], version: UInt64 = 0, url: URL? = nil,
    _ change: (inout Realm.Configuration) -> Void = { _ in }
) throws -> Realm {
    _ = MisuseCollector.isInstalled
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
    _ = MisuseCollector.isInstalled
    return try MisuseCollector.collecting(body).misuses.map(\.message)
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

extension MisuseCollector {
    /// A broken rule that no test looks at fails the test instead of ending all of them.
    static let isInstalled: Void = install { Issue.record("misuse: \($0.message)") }
}
