/// What is behind the `Realm` values of one thread and file: the engine's session, the classes bound to its tables, and
/// the event source that delivers changes on the main thread.
import Foundation
import MotteLiveObjects
import MotteNotifications
import MotteSchemaModel
import MotteValues
import Synchronization

/// A model class with the columns of its properties in one file.
package struct ClassBinding {
    let type: Object.Type
    package let table: TableKey
    package let hasPrimaryKey: Bool
    let objectType: ObjectType
    let fields: [(field: ClassFields.Field, column: _Column?)]
}

package final class RealmSession {
    package let session: Session
    let configuration: Realm.Configuration
    private var bindings: [ObjectIdentifier: ClassBinding] = [:]
    private var queue: DeliveryQueue?
    private var source: (any DispatchSourceRead)?

    init(_ session: Session, _ configuration: Realm.Configuration) {
        self.session = session
        self.configuration = configuration
    }

    // MARK: Opening

    /// Sessions by thread and file: two realms of one thread on one file are the same.
    private struct Key: Hashable {
        let thread: ObjectIdentifier
        let path: String
    }

    private final class WeakSession: @unchecked Sendable {  // @unchecked: only touched holding the mutex
        weak var session: RealmSession?
        init(_ session: RealmSession) { self.session = session }
    }

    private static let open = Mutex<[Key: WeakSession]>([:])

    static func open(_ configuration: Realm.Configuration) throws -> RealmSession {
        guard let name = configuration.inMemoryIdentifier ?? configuration.fileURL?.path else {
            preconditionFailure("A configuration needs a fileURL or an inMemoryIdentifier")
        }
        let key = Key(thread: ObjectIdentifier(Thread.current), path: name)
        if let known = open.withLock({ $0[key]?.session }), !known.session.isClosed { return known }
        if configuration.fileURL == Realm.Configuration.defaultFileURL {
            // Nobody else makes the folder for application data.
            let folder = Realm.Configuration.defaultFileURL.deletingLastPathComponent()
            try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        let made = try translating(name) {
            let schema = try declaredSchema(configuration)
            var options =
                configuration.inMemoryIdentifier != nil
                ? SessionOptions(.memory(name), schema: schema) : SessionOptions(path: name, schema: schema)
            options.isReadOnly = configuration.readOnly
            return RealmSession(try Session.open(options), configuration)
        }
        let entry = WeakSession(made)
        open.withLock { sessions in
            sessions = sessions.filter { $0.value.session != nil }
            sessions[key] = entry
        }
        return made
    }

    private static func declaredSchema(_ configuration: Realm.Configuration) throws(DatabaseError) -> Schema {
        let types = configuration.objectTypes?.compactMap { $0 as? Object.Type } ?? ClassDiscovery.objectTypes()
        // Sorted, so that discovery order does not decide table keys.
        let declared = types.map(ClassFields.objectType).sorted { $0.name < $1.name }
        return try Schema(declared).validated()
    }

    deinit { source?.cancel() }

    // MARK: Classes

    package func binding(for type: ObjectBase.Type) -> ClassBinding {
        if let known = bindings[ObjectIdentifier(type)] { return known }
        guard let objectClass = type as? Object.Type, let schema = try? session.schema,
            let stored = schema[objectClass.className()], let table = stored.tableKey
        else { preconditionFailure("\(type) is not managed by the realm; add it to objectTypes") }
        let fields = ClassFields.of(type).fields.map { field in
            (field, stored.property(named: field.name)?.columnKey.map(_Column.init))
        }
        let binding = ClassBinding(
            type: objectClass, table: table, hasPrimaryKey: stored.primaryKey != nil, objectType: stored, fields: fields
        )
        bindings[ObjectIdentifier(type)] = binding
        return binding
    }

    // MARK: Objects

    package func object<T: Object>(_ link: ObjectLink, as type: T.Type) throws -> T? {
        guard let live = try session.object(link.table, at: link.key) else { return nil }
        return try object(live, as: type)
    }

    package func object<T: Object>(_ live: LiveObject, as type: T.Type) throws -> T {
        let object = type.init()
        attach(object, to: live)
        return object
    }

    func attach(_ object: ObjectBase, to live: LiveObject) {
        object.live = live
        object.session = self
        for (field, column) in binding(for: Swift.type(of: object)).fields {
            field.persisted._bind(at: field.pointer(in: object), to: object, column)
        }
    }

    /// The object's place in this realm; an unmanaged object becomes managed, with everything it reaches.
    package func added(_ object: Object, update: Realm.UpdatePolicy = .error) throws -> LiveObject {
        if let live = object.live {
            guard object.session === self else { preconditionFailure("The object belongs to another realm") }
            return live
        }
        let binding = binding(for: type(of: object))
        let values: [(field: ClassFields.Field, column: _Column, value: Any)] = binding.fields.compactMap {
            field, column in
            column.map { (field, $0, field.persisted._unmanaged(at: field.pointer(in: object))) }
        }
        let key = values.first { $0.field.isPrimaryKey }.flatMap { ($0.value as? any _Persistable)?._stored?.value }
        let (live, _) = try session.create(binding.table, primaryKey: key, returnExisting: update != .error)
        attach(object, to: live)
        // Set after the object is managed, so that cycles find it there.
        for (field, column, value) in values where !field.isPrimaryKey {
            field.persisted._setManaged(value, on: object, column)
        }
        return live
    }

    // MARK: Frozen counterpart

    private var frozenSession: (version: Version, session: RealmSession)?

    func frozen() -> RealmSession {
        misuse {
            let version = try session.version
            if let known = frozenSession, known.version == version { return known.session }
            let made = RealmSession(try session.freeze(), configuration)
            frozenSession = (version, made)
            return made
        }
    }

    // MARK: Delivery

    func token(_ observe: () throws -> Observation) -> NotificationToken {
        misuse {
            try startDelivery()
            return NotificationToken(try observe(), keeping: self)
        }
    }

    /// On the main thread, changes arrive through its run loop. Elsewhere they arrive with `refresh` and writes.
    private func startDelivery() throws {
        guard queue == nil, Thread.isMainThread else { return }
        let queue = try DeliveryQueue()
        try queue.bind(session)
        let source = DispatchSource.makeReadSource(fileDescriptor: queue.descriptor, queue: .main)
        source.setEventHandler { _ = misuse { try queue.dispatch() } }
        source.resume()
        self.queue = queue
        self.source = source
    }
}
