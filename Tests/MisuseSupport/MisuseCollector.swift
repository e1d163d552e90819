/// A look at broken rules without ending the program, for all tests of the process.
import Foundation
import Motte
import MotteValues

/// Takes the misuse that it wants, until it is removed; the latest of several that want it. Tests run side by side and
/// there is one handler, so none of them sets it.
package final class MisuseCollector: Sendable {
    package let found = Locked<[Realm.Misuse]>([])
    private let wants: @Sendable (Realm.Misuse) -> Bool
    private static let all = Locked<[MisuseCollector]>([])
    private static let unexpected = Locked<@Sendable (Realm.Misuse) -> Void>({ print("misuse: \($0.message)") })

    private static let isInstalled: Void = {
        Realm.misuseHandler = { misuse in
            guard let collector = all.withLock({ $0.last { $0.wants(misuse) } }) else {
                return unexpected.withLock { $0 }(misuse)
            }
            collector.found.withLock { $0.append(misuse) }
        }
    }()

    /// A broken rule that no test looks at goes there instead of ending all of them.
    package static func install(_ unexpected: @escaping @Sendable (Realm.Misuse) -> Void) {
        Self.unexpected.withLock { $0 = unexpected }
        _ = isInstalled
    }

    package init(_ wants: @escaping @Sendable (Realm.Misuse) -> Bool) {
        _ = MisuseCollector.isInstalled
        self.wants = wants
        MisuseCollector.all.withLock { $0.append(self) }
    }

    package func remove() { MisuseCollector.all.withLock { $0.removeAll { $0 === self } } }

    package var messages: [String] { found.withLock { $0.map(\.message) } }

    /// What `body` breaks on this thread.
    package static func collecting<T>(_ body: () throws -> T) rethrows -> (outcome: T, misuses: [Realm.Misuse]) {
        let thread = ObjectIdentifier(Thread.current)
        let collector = MisuseCollector { _ in ObjectIdentifier(Thread.current) == thread }
        defer { collector.remove() }
        let outcome = try body()
        return (outcome, collector.found.withLock { $0 })
    }
}
