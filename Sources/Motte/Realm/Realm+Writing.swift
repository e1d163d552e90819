/// Changing a realm: write transactions, adding, creating and deleting objects.
import Foundation
import MotteLiveObjects
import MotteNotifications
import MotteSchemaModel
import MotteValues

extension Realm {
    /// Whether a write transaction of this realm has begun and not ended. Writes of other realms do not count.
    public var isInWriteTransaction: Bool { core.session.isInWrite }

    /// Runs `block` in a write transaction and commits it; a block that throws rolls back.
    ///
    /// - Parameters:
    ///   - tokens: observations that are not notified of it.
    ///   - block: changes the realm.
    @discardableResult
    public func write<Result>(
        withoutNotifying tokens: [NotificationToken] = [], _ block: () throws -> Result
    ) throws -> Result {
        guard tokens.allSatisfy({ $0.belongs(to: core) }) else {
            throw foreignToken()
        }
        try translating(core.session.path) { try core.session.beginWrite() }
        var outcome: Result?
        do {
            outcome = try block()
            if isInWriteTransaction { try commitWrite(withoutNotifying: tokens) }
        } catch {
            if isInWriteTransaction { cancelWrite() }
            throw error
        }
        // A block that did not throw has returned.
        return outcome.unsafelyUnwrapped
    }

    /// Waits for the write lock among all threads and processes, and advances to the newest version. Within a write
    /// transaction, or in a frozen realm, it is misuse.
    public func beginWrite() { attempt { () throws(DatabaseError) in try core.session.beginWrite() } }

    /// Makes the changes a version, durable as the configuration says, and notifies observers of this realm before it
    /// returns. `tokens` are observations that are not notified of it; one that is not of this realm is misuse, as is a
    /// call without a write transaction. Throws what writing the file fails with.
    public func commitWrite(withoutNotifying tokens: [NotificationToken] = []) throws {
        guard isInWriteTransaction else {
            return misuse("Can't commit a non-existing write transaction", .invalidInput)
        }
        // Thrown after a handler that returned, so that nobody takes the write for committed.
        guard tokens.allSatisfy({ $0.belongs(to: core) }) else { throw foreignToken() }
        try core.committing {
            // What a query that was ended gave may be in it.
            try QueryScope.check(core.session)
            core.isCommitting = true
            defer { core.isCommitting = false }
            let version = try core.session.commit(skipping: tokens.flatMap(\.observations))
            core.noteCommit(version)
        }
        try core.makeDurable()
        core.tracking?.writeHasEnded(core)
        core.startDueDelivery()
    }

    /// Misuse, and for where the handler returns the error that says the same.
    private func foreignToken() -> any Swift.Error {
        let message =
            "Cannot skip notifications: the NotificationToken does not belong to this Realm; pass tokens that observe "
            + "this Realm, on this thread or queue"
        misuse(message, .invalidInput)
        return Realm.Error(DatabaseError(.invalidArgument, message))
    }

    /// Undoes everything since the write transaction began. Objects that were added in it are invalidated, deleted ones
    /// are there again. A call without a write transaction is misuse.
    public func cancelWrite() {
        guard isInWriteTransaction else {
            return misuse("Can't cancel a non-existing write transaction", .invalidInput)
        }
        attempt { () throws(DatabaseError) in try core.session.cancel() }
        core.startDueDelivery()
    }

    // MARK: Adding

    /// Makes an object managed, with everything it reaches; all of it or, after misuse, nothing. It takes a write
    /// transaction. `update` says what happens where there is an object with the same primary key. An object of another
    /// realm is misuse: ``create(_:value:update:)`` copies it.
    public func add(_ object: Object, update: UpdatePolicy = .error) {
        core.session.releaseMemory()
        attempt { () throws(DatabaseError) in
            try core.whole { () throws(DatabaseError) in try core.added(object, update) }
        }
    }

    /// Makes objects managed, with everything they reach; all of them or, after misuse, none.
    public func add<S: Sequence>(_ objects: S, update: UpdatePolicy = .error) where S.Iterator.Element: Object {
        attempt { () throws(DatabaseError) in
            try core.whole { () throws(DatabaseError) in
                // Others may run code of the program between two objects.
                guard let array = objects as? [S.Iterator.Element] else {
                    for object in objects { try core.added(object, update) }
                    return
                }
                var run = AddingRun(core, update)
                for object in array where try !run.takes(object) {
                    try run.finish()
                    try core.added(object, update)
                }
                try run.finish()
            }
        }
    }

    /// Creates a managed object from a dictionary by property name, from an array in the order of declaration, or as a
    /// copy of another object. Unmanaged objects that the value reaches are copied, too. With an `update` other than
    /// `error`, an object with the same primary key gets the values instead. After misuse the answer is an unmanaged
    /// object.
    @discardableResult
    public func create<T: Object>(_ type: T.Type, value: Any = [String: Any](), update: UpdatePolicy = .error) -> T {
        core.session.releaseMemory()
        let made: T?? = attempt { () throws(DatabaseError) in
            try core.requireWrite(to: "create objects")
            try core.checkPolicy(update, type)
            return try core.wholeOfValues { () throws(DatabaseError) in
                try core.created(type, value, policy: update.engine) as? T
            }
        }
        return made.flatMap { $0 } ?? T()
    }

    /// A managed object of a class by its name, made from a dictionary by property name or an array in the order of the
    /// properties. With an `update` other than `error`, an object with the same primary key gets the values instead.
    @discardableResult
    public func dynamicCreate(
        _ typeName: String, value: Any = [String: Any](), update: UpdatePolicy = .error
    ) -> DynamicObject {
        let made: DynamicObject? = attempt { () throws(DatabaseError) in
            try core.requireWrite(to: "create objects")
            return try core.wholeOfValues { () throws(DatabaseError) in
                try core.dynamicCreated(typeName, value, policy: update.engine)
            }
        }
        return made ?? DynamicObject()
    }

    // MARK: Deleting

    /// Deletes an object of this realm. Links to it become nil, lists and sets lose it, maps keep its key with nil;
    /// embedded objects in it are deleted with it. It takes a write transaction.
    public func delete(_ object: ObjectBase) {
        core.session.releaseMemory()
        attempt { () throws(DatabaseError) in
            guard let live = object.live else {
                throw DatabaseError(.invalidArgument, "Can only delete an object from the Realm it belongs to.")
            }
            guard live.session === core.session else {
                throw DatabaseError(.invalidArgument, "Can only delete an object from the Realm it belongs to.")
            }
            try live.delete()
        }
    }

    /// Deletes objects. One that is not of this realm, or was deleted before, is misuse, and none is deleted then.
    public func delete<S: Sequence>(_ objects: S) where S.Iterator.Element: ObjectBase {
        let objects = Array(objects)
        attempt { () throws(DatabaseError) in
            _ = try core.session.requireWrite()
            var lives: [LiveObject] = []
            lives.reserveCapacity(objects.count)
            for object in objects {
                guard let live = object.live, live.session === core.session else {
                    throw DatabaseError(.invalidArgument, "Can only delete an object from the Realm it belongs to.")
                }
                guard try live.exists() else { throw DatabaseError(.objectDeleted, "the object has been deleted") }
                lives.append(live)
            }
            // One may go with another, or be named twice.
            for live in lives where try live.exists() { try live.delete() }
        }
    }

    /// Deletes the objects in the list, which is empty afterwards. The list must be of this realm.
    public func delete<Element: ObjectBase>(_ objects: List<Element>) { delete(all: objects) }
    /// Deletes the objects in the set, which is empty afterwards. The set must be of this realm.
    public func delete<Element: ObjectBase>(_ objects: MutableSet<Element>) { delete(all: objects) }
    /// Deletes the objects that a query finds. The results must be of this realm.
    public func delete<Element: ObjectBase>(_ objects: Results<Element>) { delete(all: objects) }
    /// Deletes the objects that link to one. These inverse links must be of this realm.
    public func delete<Element: ObjectBase>(_ objects: LinkingObjects<Element>) { delete(all: objects) }
    /// Deletes the objects in the collection, which must be of this realm.
    public func delete<Element: ObjectBase>(_ objects: AnyRealmCollection<Element>) { delete(all: objects) }

    private func delete<C: RealmCollection>(all objects: C) {
        attempt { () throws(DatabaseError) in
            guard let handle = objects._managed, handle.live.session === core.session else {
                throw DatabaseError(.invalidArgument, "Can only delete objects from the Realm they belong to.")
            }
            try handle.live.deleteObjects()
        }
    }

    /// Deletes the objects in a map, one after the other. Its keys stay, with nil for values.
    public func delete<Key: _MapKey, Value: ObjectBase>(_ map: Map<Key, Value?>) {
        for value in map.values { if let value, !value.isInvalidated { delete(value) } }
    }

    /// Deletes every object of every class; the schema stays. It takes a write transaction.
    public func deleteAll() {
        attempt { () throws(DatabaseError) in
            try core.requireWrite(to: "delete objects")
            _ = try core.session.deleteAll()
        }
    }
}

extension RealmSession {
    func noteCommit(_ version: Version) {
        Logger.write(.debug, .transaction) { "\(session.path): committed version \(version.rawValue)" }
    }

    func requireWrite(to action: String) throws(DatabaseError) {
        _ = try session.requireWrite()
    }

    fileprivate func added(_ object: Object, _ update: Realm.UpdatePolicy) throws(DatabaseError) {
        try requireWrite(to: "add objects")
        try checkPolicy(update, type(of: object))
        try added(object, policy: update.engine)
    }

    /// Updating needs something to find the object by.
    func checkPolicy(_ policy: Realm.UpdatePolicy, _ type: ObjectBase.Type) throws(DatabaseError) {
        guard policy != .error else { return }
        guard try requireBinding(for: type).objectType.primaryKey != nil else {
            throw DatabaseError(
                .noPrimaryKey, "'\(type.className())' does not have a primary key and can not be updated")
        }
    }

    package func dynamicCreated(
        _ typeName: String, _ value: Any, policy: Policy
    ) throws(DatabaseError) -> DynamicObject {
        if let type = swiftType(named: typeName), binding(for: type) != nil {
            let object = try created(type, value, policy: policy)
            guard let live = object.live else { throw DatabaseError(.internal, "a created object is not managed") }
            return self.object(live, as: DynamicObject.self)
        }
        // A class without a Swift type: made empty, then filled by name.
        let table = try session.tableKey(typeName)
        let type = try session.schema.type(named: typeName)
        var entries = Dynamic.entries(value) ?? []
        if entries.isEmpty, let values = Dynamic.elements(value) {
            entries = zip(type.storedProperties, values).map { ($0.name, $1) }
        }
        var primaryKey: Value?
        if let property = type.primaryKey {
            let entry = entries.first { $0.key.hasSameBytes(as: property.name) }
            primaryKey = Dynamic.storedValue(entry?.value) ?? .null
        }
        let (live, isNew) = try session.create(table, primaryKey: primaryKey, returnExisting: policy != .error)
        let object = self.object(live, as: DynamicObject.self)
        for entry in entries where !(type.primaryKey?.name).hasSameBytes(as: entry.key) {
            guard let property = type.property(named: entry.key) else { continue }
            if policy == .modified, !isNew, try isUnchanged(property, of: live, entry.value) { continue }
            object.setValue(entry.value, forKey: entry.key)
        }
        return object
    }

    /// Whether a property holds a value, or a list its elements, already. What cannot be compared is set, which says
    /// why.
    private func isUnchanged(
        _ property: MotteSchemaModel.Property, of live: LiveObject, _ value: Any?
    ) throws(DatabaseError) -> Bool {
        guard let column = property.columnKey else { return false }
        func isHeld(_ old: ValueView, _ new: Any?) -> Bool {
            guard let new = Dynamic.asked(new), new.files.isSubset(of: [session.databaseNumber]) else { return false }
            return new.value.withView { !old.differs(from: $0) }
        }
        if property.collection == .none { return isHeld(try live.get(column), value) }
        guard property.collection == .list, let elements = Dynamic.elements(value) else { return false }
        let list = try live.list(column)
        guard try list.count() == elements.count else { return false }
        for (index, element) in elements.enumerated() {
            guard isHeld(try list.value(at: index), element) else { return false }
        }
        return true
    }
}
