/// `observe` on objects, collections and realms, for the place the realm belongs to.
///
/// Observing in a write transaction, or something frozen or unmanaged, is misuse. Observations whose callbacks run on
/// another queue or actor are begun there, on the same thing handed over (`ObserveElsewhere`).
import Dispatch
import Foundation
import MotteLiveObjects
import MotteNotifications
import MotteValues

extension RealmSession {
    /// A token for an observation of this session, which is delivered from now on.
    func token(_ begin: () throws(DatabaseError) -> Observation) -> NotificationToken {
        let observation = attempt { () throws(DatabaseError) in
            if session.isFrozen {
                throw DatabaseError(.frozen, "Frozen Realms do not change and do not have change notifications.")
            }
            if session.isInWrite {
                throw DatabaseError(
                    .alreadyInWrite, "Cannot register notification blocks from within write transactions.")
            }
            try startDelivery()
            delivery?.noteObserver()
            do throws(DatabaseError) { return try begin() } catch {
                guard error.code == .unknownProperty, let property = error.details.propertyName,
                    let type = error.details.className
                else { throw error }
                throw DatabaseError(
                    error.code,
                    "Invalid property name: property '\(property)' not found in object of type '\(type)': "
                        + error.message)
            }
        }
        return observation.map { NotificationToken($0, self) } ?? NotificationToken()
    }

    /// Is notified of every version this advances to, and does not keep it open.
    func versions(_ block: @escaping () -> Void) -> NotificationToken? {
        attempt(or: nil) { () throws(DatabaseError) in
            try startDelivery()
            let observation = try session.observe { (_) throws(DatabaseError) in block() }
            return NotificationToken(keeping: [observation]) { observation.stop() }
        }
    }
}

extension Realm {
    /// Notifies of every version that the realm advances to and, while its `autorefresh` is off, of newer ones that it
    /// could advance to.
    public func observe(_ block: @escaping NotificationBlock) -> NotificationToken {
        let token = core.token { () throws(DatabaseError) in
            try core.session.observe { [weak core] (_) throws(DatabaseError) in
                if let core { block(.didChange, Realm(core)) }
            }
        }
        core.tellWhenRefreshIsRequired(token, block)
        return token
    }
}

// MARK: Collections

extension RealmCollection {
    /// Notifies of changes; the first call has the collection as it is.
    ///
    /// - Parameters:
    ///   - keyPaths: which changes within an element count. nil: those of everything it reaches over four links; empty:
    ///     none, so that only insertions, deletions and positions that are set are notified.
    ///   - queue: a serial queue to be notified on; nil: the owner of the realm.
    ///   - block: gets the change sets. Called first with the collection as it is.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmCollectionChange<Self>) -> Void
    ) -> NotificationToken {
        guard let handle = _managed else { return unmanagedToken() }
        if let queue {
            return ObserveElsewhere.on(queue, handle) { (collection: Self) in collection.observeHere(keyPaths, block) }
        }
        return observeHere(keyPaths, block)
    }

    func observeHere(
        _ keyPaths: [String]?, _ block: @escaping (RealmCollectionChange<Self>) -> Void
    ) -> NotificationToken { observeRaw(keyPaths) { block(.from($0, of: self)) } }

    /// Changes as the engine tells them, which can be combined.
    func observeRaw(_ keyPaths: [String]?, _ block: @escaping (ChangeSet) -> Void) -> NotificationToken {
        guard let handle = _managed else { return unmanagedToken() }
        var paths = Element._observedPaths
        if let keyPaths {
            guard let asked = Element._paths(observing: keyPaths) else { return NotificationToken() }
            paths = asked
        }
        return handle.session.token { () throws(DatabaseError) in
            try handle.live.observe(keyPaths: paths.map { $0.map(_columnPath) }) { (changes) throws(DatabaseError) in
                block(changes)
            }
        }
    }

    /// Notifies an actor of changes; the first call has the collection as it is.
    ///
    /// - Parameters:
    ///   - keyPaths: which changes within an element count, as for the form with a queue.
    ///   - actor: where the block runs, with the collection as a realm of that actor shows it.
    ///   - block: gets the change sets.
    /// - Returns: the token, once observing has begun on the actor; one that has ended if the task is cancelled.
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, RealmCollectionChange<Self>) -> Void
    ) async -> NotificationToken {
        guard let handle = _managed else { return unmanagedToken() }
        // Used by the caller only, to make a reference that may be handed over.
        nonisolated(unsafe) let observed = handle
        return await ObserveElsewhere.on(actor, observed) { (collection: Self) in
            collection.observeHere(keyPaths) { change in
                // Made and used where the callback runs.
                nonisolated(unsafe) let change = change
                actor.assumeIsolated { block($0, change) }
            }
        }
    }
}

func unmanagedToken() -> NotificationToken {
    misuse("Change notifications are only supported on objects and collections managed by a Realm.", .invalidInput)
    return NotificationToken()
}

extension RealmCollection where Element: ObjectBase {
    /// Notifies of changes; the first call has the collection as it is. Key paths limit which changes within an element
    /// count; with an empty list none does.
    public func observe(
        keyPaths: [PartialKeyPath<Element>], on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmCollectionChange<Self>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { _name(for: $0) }, on: queue, block)
    }

    /// Notifies an actor of changes; the first call has the collection as it is. Returns once observing has begun
    /// there. Key paths limit which changes within an element count; with an empty list none does.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Element>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, RealmCollectionChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(keyPaths: keyPaths.map { _name(for: $0) }, on: actor, block)
    }
}

extension RealmCollection where Element: OptionalProtocol, Element.Wrapped: ObjectBase {
    /// Notifies of changes of a collection that may hold nil; the first call has the collection as it is. Key paths
    /// limit which changes within an element count; with an empty list none does.
    public func observe(
        keyPaths: [PartialKeyPath<Element.Wrapped>], on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmCollectionChange<Self>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { _name(for: $0) }, on: queue, block)
    }
}

// MARK: Maps

extension RealmKeyedCollection {
    /// Notifies of changes by key; the first call has the map as it is. Observing within a write transaction, or a map
    /// that is frozen or unmanaged, is misuse.
    ///
    /// - Parameters:
    ///   - keyPaths: which changes within a value count. nil: those of everything it reaches over four links; empty:
    ///     none, so that only insertions, deletions and keys that are set are notified.
    ///   - queue: a serial queue to be notified on; nil: the owner of the realm.
    ///   - block: gets the change sets.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmMapChange<Self>) -> Void
    ) -> NotificationToken {
        guard let handle = _managed else { return unmanagedToken() }
        if let queue {
            return ObserveElsewhere.on(queue, handle) { Self._collection($0).observeHere(keyPaths, block) }
        }
        return observeHere(keyPaths, block)
    }

    func observeHere(_ keyPaths: [String]?, _ block: @escaping (RealmMapChange<Self>) -> Void) -> NotificationToken {
        observeRaw(keyPaths) { block(.from($0, of: self)) }
    }

    /// Changes as the engine tells them, which can be combined.
    func observeRaw(_ keyPaths: [String]?, _ block: @escaping (ChangeSet) -> Void) -> NotificationToken {
        guard let handle = _managed else { return unmanagedToken() }
        let paths = keyPaths.map { $0.map { StoredNames.path($0, of: Value._shape.target) } }
        return handle.session.token { () throws(DatabaseError) in
            try handle.live.observe(keyPaths: paths) { (changes) throws(DatabaseError) in block(changes) }
        }
    }
}

extension Map {
    /// Notifies an actor of changes by key; the first call has the map as it is. Returns once observing has begun
    /// there; if the task is cancelled, with a token that has ended.
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, RealmMapChange<Map>) -> Void
    ) async -> NotificationToken {
        guard let handle = _managed else { return unmanagedToken() }
        // Used by the caller only, to make a reference that may be handed over.
        nonisolated(unsafe) let observed = handle
        return await ObserveElsewhere.on(actor, observed) { (handle: _CollectionHandle) in
            Map(handle: handle).observeHere(keyPaths) { change in
                // Made and used where the callback runs.
                nonisolated(unsafe) let change = change
                actor.assumeIsolated { block($0, change) }
            }
        }
    }
}

extension Map where Value: OptionalProtocol, Value.Wrapped: ObjectBase {
    /// Notifies of changes by key; the first call has the map as it is. Key paths limit which changes within a value
    /// count; with an empty list none does.
    public func observe(
        keyPaths: [PartialKeyPath<Value.Wrapped>], on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmMapChange<Map>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { _name(for: $0) }, on: queue, block)
    }
    /// Notifies an actor of changes by key; the first call has the map as it is. Returns once observing has begun
    /// there. Key paths limit which changes within a value count; with an empty list none does.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Value.Wrapped>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, RealmMapChange<Map>) -> Void
    ) async -> NotificationToken {
        await observe(keyPaths: keyPaths.map { _name(for: $0) }, on: actor, block)
    }
}

// MARK: Objects

extension ThreadConfined where Self: ObjectBase {
    /// Notifies of changed properties and of the deletion of this object. Without key paths its own properties count,
    /// and nothing behind links. On a queue the block sees the object of that queue. Observing in a write transaction,
    /// or an object that is frozen or unmanaged, is misuse.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil,
        _ block: @escaping (ObjectChange<Self>) -> Void
    ) -> NotificationToken { _observe(keyPaths, queue, block) }

    /// Notifies of changes of what the key paths name, and of the deletion of this object. On a queue the block sees
    /// the object of that queue.
    public func observe(
        keyPaths: [PartialKeyPath<Self>], on queue: DispatchQueue? = nil,
        _ block: @escaping (ObjectChange<Self>) -> Void
    ) -> NotificationToken { _observe(keyPaths.map { _name(for: $0) }, queue, block) }

    /// Notifies an actor of changed properties and of the deletion of this object. The block sees the object of that
    /// actor; the call returns once observing has begun there.
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, ObjectChange<Self>) -> Void
    ) async -> NotificationToken { await _observe(keyPaths, actor, block) }

    /// Notifies an actor of changes of what the key paths name, and of the deletion of this object. The call returns
    /// once observing has begun there.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Self>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, ObjectChange<Self>) -> Void
    ) async -> NotificationToken { await _observe(keyPaths.map { _name(for: $0) }, actor, block) }
}

extension ObjectBase {
    /// For a block that says which class it wants to see; notifies of changed properties and of the deletion of this
    /// object.
    @_disfavoredOverload
    public func observe<T: ObjectBase>(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil, _ block: @escaping (ObjectChange<T>) -> Void
    ) -> NotificationToken { _observe(keyPaths, queue, block) }

    /// For a block that says which class it wants to see; notifies of changes of what the key paths name, and of the
    /// deletion of this object.
    @_disfavoredOverload
    public func observe<T: ObjectBase>(
        keyPaths: [PartialKeyPath<T>], on queue: DispatchQueue? = nil, _ block: @escaping (ObjectChange<T>) -> Void
    ) -> NotificationToken { _observe(keyPaths.map { _name(for: $0) }, queue, block) }

    /// For a block that says which class it wants to see; notifies an actor of changed properties and of the deletion
    /// of this object.
    @_disfavoredOverload
    public func observe<A: Actor, T: ObjectBase>(
        keyPaths: [String]? = nil, on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, ObjectChange<T>) -> Void
    ) async -> NotificationToken { await _observe(keyPaths, actor, block) }

    /// For a block that says which class it wants to see; notifies an actor of changes of what the key paths name, and
    /// of the deletion of this object.
    @_disfavoredOverload
    public func observe<A: Actor, T: ObjectBase>(
        keyPaths: [PartialKeyPath<T>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, ObjectChange<T>) -> Void
    ) async -> NotificationToken { await _observe(keyPaths.map { _name(for: $0) }, actor, block) }

    func _observe<T: ObjectBase>(
        _ keyPaths: [String]?, _ queue: DispatchQueue?, _ block: @escaping (ObjectChange<T>) -> Void
    ) -> NotificationToken {
        guard live != nil else { return unmanagedToken() }
        guard let queue else { return observeHere(keyPaths, block) }
        return ObserveElsewhere.on(queue, self) { $0.observeHere(keyPaths, block) }
    }

    func _observe<A: Actor, T: ObjectBase>(
        _ keyPaths: [String]?, _ actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, ObjectChange<T>) -> Void
    ) async -> NotificationToken {
        guard live != nil else { return unmanagedToken() }
        // Used by the caller only, to make a reference that may be handed over.
        nonisolated(unsafe) let object = self
        return await ObserveElsewhere.on(actor, object) { (object: ObjectBase) in
            object.observeHere(keyPaths) { (change: ObjectChange<T>) in
                // Made and used where the callback runs.
                nonisolated(unsafe) let change = change
                actor.assumeIsolated { block($0, change) }
            }
        }
    }

    func observeHere<T: ObjectBase>(
        _ keyPaths: [String]?, _ block: @escaping (ObjectChange<T>) -> Void
    ) -> NotificationToken {
        guard let live, let session else { return unmanagedToken() }
        let declaredType = declaredType
        return session.token { () throws(DatabaseError) in
            try live.observe(keyPaths: keyPaths.map { $0.map { StoredNames.path($0, of: declaredType) } }) {
                (changes) throws(DatabaseError) in
                if let failure = changes.failure { return block(.error(Realm.Error(failure) as NSError)) }
                if changes.isSourceDeleted { return block(.deleted) }
                guard !changes.isInitial else { return }
                let object = self as? T ?? session.object(live, as: T.self)
                block(.change(object, self.properties(changes)))
            }
        }
    }

    /// Whose property names are those of paths, also where this is seen by name.
    private var declaredType: ObjectBase.Type {
        let declared = self is DynamicObject ? live.flatMap { session?.swiftType(of: $0.table) } : nil
        return declared ?? type(of: self)
    }

    private func properties(_ changes: ChangeSet) -> [PropertyChange] {
        let fields = ClassFields.of(declaredType)
        let isOwn = session?.isCommitting == true
        return changes.properties.map { change in
            let field = fields.field(inColumn: change.name)
            let isCollection = field?.isCollection ?? false
            return PropertyChange(
                name: field?.name ?? change.name,
                oldValue: isCollection || !change.isOldKnown || isOwn
                    ? nil : field?.access.dynamicValue(change.old, session) ?? dynamic(change.old),
                newValue: isCollection
                    ? nil
                    : self is DynamicObject
                        ? value(forKey: change.name) : field?.value(of: self) ?? dynamic(change.new))
        }
    }

    private func dynamic(_ value: Value) -> Any? {
        value.withView { AnyRealmValue.dynamicValue($0, session) }
    }
}
