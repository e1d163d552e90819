/// Sessions for tests: on a database in memory or on a file in a directory of its own, with row groups of three rows so
/// that a dozen objects already cross every boundary.
import MotteLiveObjects
import MotteNotifications
import MotteSchemaModel
import MotteStorage
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// One store that a test may open several sessions on.
public final class TestStore: Sendable {
    private let location: SessionOptions.Location
    private let directory: TemporaryDirectory?
    private let schemaText: String
    public let rowGroupSize: Int

    private static let nextNumber = Locked(0)

    /// Until the process ends: a session may outlive its store, and a file that is gone takes no writes.
    private static let kept = Locked<[TemporaryDirectory]>([])

    private static func keep(_ directory: TemporaryDirectory) {
        kept.withLock { kept in
            if kept.isEmpty { atexit { TestStore.kept.withLock { $0 = [] } } }
            kept.append(directory)
        }
    }

    public enum Kind: Sendable, CaseIterable {
        case memory, file
    }

    public init(_ kind: Kind = .memory, rowGroupSize: Int = 3, schema: String) {
        switch kind {
        case .memory:
            directory = nil
            let number = TestStore.nextNumber.withLock { number in
                number += 1
                return number
            }
            location = .memory("test-\(number)")
        case .file:
            let made = TemporaryDirectory()
            directory = made
            TestStore.keep(made)
            location = .file(made.file())
        }
        schemaText = schema
        self.rowGroupSize = rowGroupSize
    }

    package var options: SessionOptions {
        get throws {
            var options = SessionOptions(location, schema: try SchemaText.parse(schemaText))
            options.rowGroupSize = rowGroupSize
            options.isDurable = false
            return options
        }
    }

    package func open() throws -> Session { try Session.open(try options) }
}

extension Session {
    /// Runs a write and commits it; an error cancels it.
    @discardableResult
    package func inWrite<Result>(_ body: () throws -> Result) throws -> Result {
        try beginWrite()
        do {
            let result = try body()
            try commit()
            return result
        } catch {
            if isInWrite { try cancel() }
            throw error
        }
    }

    /// A new object with values by name.
    @discardableResult
    package func add(_ className: String, _ values: [String: Value] = [:]) throws -> LiveObject {
        let table = try tableKey(className)
        let type = try schema.type(named: className)
        let primaryKey = type.primaryKey.flatMap { values[$0.name] }
        let object = try create(table, primaryKey: primaryKey).object
        for (name, value) in values.sorted(by: { $0.key < $1.key }) where name != type.primaryKey?.name {
            try object.set(name, to: value)
        }
        return object
    }
}

/// A migration step that may throw anything; what is no error of the engine becomes a `.callback`.
package func step(
    _ body: @escaping @Sendable (Migration) throws -> Void
) -> @Sendable (Migration) throws(DatabaseError) -> Void {
    { (migration) throws(DatabaseError) in try typed { try body(migration) } }
}

package func typed<Result>(_ body: () throws -> Result) throws(DatabaseError) -> Result {
    do {
        return try body()
    } catch let error as DatabaseError {
        throw error
    } catch {
        throw DatabaseError(.callback, "\(error)")
    }
}

extension Migration {
    /// `enumerate` with a body that may throw anything.
    package func pairs(_ className: String, _ body: (LiveObject?, LiveObject?) throws -> Void) throws {
        try enumerate(className) { (old, new) throws(DatabaseError) in try typed { try body(old, new) } }
    }
}

extension LiveCollection {
    package var allKeys: [Int64] { get throws { try (0 ..< count()).map { try key(at: $0).rawValue } } }
    package var allValues: [Value] { get throws { try (0 ..< count()).map { try value(at: $0).owned } } }
}

extension LiveSet {
    /// True if it is new.
    @discardableResult
    package func put(_ value: Value) throws -> Bool {
        try value.withView { view throws(DatabaseError) in try insert(view).inserted }
    }

    /// False if it was not there.
    @discardableResult
    package func drop(_ value: Value) throws -> Bool {
        try value.withView { view throws(DatabaseError) in try remove(view) }
    }
}

extension Value {
    package static func link(_ object: LiveObject) -> Value { .link(object.link) }
}

/// Runs `body` on a thread of its own and waits for it.
public func onAnotherThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) throws -> Result {
    try ThreadRun(body).join()
}
