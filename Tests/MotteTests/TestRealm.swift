// What the tests of the Swift API share: realms of their own, and a look at broken rules without ending the program.
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
    let thread = ObjectIdentifier(Thread.current)
    let collector = MisuseCollector { _ in ObjectIdentifier(Thread.current) == thread }
    defer { collector.remove() }
    try body()
    return collector.messages.withLock { $0 }
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

/// Takes the misuse that it wants, until it is removed; the latest of several that want it. Tests run side by side and
/// there is one handler, so none of them sets it.
final class MisuseCollector: Sendable {
    let messages = Locked<[String]>([])
    private let wants: @Sendable (Realm.Misuse) -> Bool
    private static let all = Locked<[MisuseCollector]>([])

    /// A broken rule that no test looks at fails the test instead of ending all of them.
    static let isInstalled: Void = {
        Realm.misuseHandler = { misuse in
            guard let collector = all.withLock({ $0.last { $0.wants(misuse) } }) else {
                Issue.record("misuse: \(misuse.message)")
                return
            }
            collector.messages.withLock { $0.append(misuse.message) }
        }
    }()

    init(_ wants: @escaping @Sendable (Realm.Misuse) -> Bool) {
        _ = MisuseCollector.isInstalled
        self.wants = wants
        MisuseCollector.all.withLock { $0.append(self) }
    }

    func remove() { MisuseCollector.all.withLock { $0.removeAll { $0 === self } } }
}
