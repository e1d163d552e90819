/// What can be published, and the properties and functions that publish it.
import Dispatch
import Foundation
import OpenCombine

/// Change sets of collections, maps and sections.
protocol CollectionChange {
    associatedtype Observed
    /// nil where the observation failed.
    var collection: Observed? { get }
    var isInitial: Bool { get }
}

extension CollectionChange {
    /// Passes on what changed, and says when nothing can follow.
    func pass(to receive: (Any) -> Void, sendsInitial: Bool, _ finish: () -> Void) {
        guard let collection else { return finish() }
        if sendsInitial || !isInitial { receive(collection) }
    }
}

extension RealmCollectionChange: CollectionChange {
    var isInitial: Bool { if case .initial = self { true } else { false } }
}
extension RealmMapChange: CollectionChange {
    var isInitial: Bool { if case .initial = self { true } else { false } }
}
extension SectionedResultsChange: CollectionChange {
    var isInitial: Bool { if case .initial = self { true } else { false } }
}

// MARK: Collections

extension RealmSubscribable where Self: RealmCollection {
    public var _isObservable: Bool { _managed != nil }
    public func _observe(
        _ keyPaths: [String]?, on queue: DispatchQueue?, sendsInitial: Bool, _ receive: @escaping (Any) -> Void,
        finish: @escaping () -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths, on: queue) { $0.pass(to: receive, sendsInitial: sendsInitial, finish) }
    }
}

extension Results: RealmSubscribable {}
extension List: RealmSubscribable {}
extension MutableSet: RealmSubscribable {}
extension LinkingObjects: RealmSubscribable {}
extension AnyRealmCollection: RealmSubscribable {}

extension RealmCollection where Self: RealmSubscribable {
    /// Void after every change.
    public var objectWillChange: RealmPublishers.WillChange<Self> { RealmPublishers.WillChange(self) }
    /// The collection as it is, and again after every change.
    public var collectionPublisher: RealmPublishers.Value<Self> { RealmPublishers.Value(self) }
    /// The collection as it is, and again after every change of what the key paths name; nil stands for everything that
    /// elements reach over four links.
    public func collectionPublisher(keyPaths: [String]?) -> RealmPublishers.Value<Self> {
        RealmPublishers.Value(self, keyPaths)
    }
    /// The change sets of `observe`.
    public var changesetPublisher: RealmPublishers.CollectionChangeset<Self> { changesetPublisher(keyPaths: nil) }
    /// The change sets of `observe`, of what the key paths name; nil stands for everything that elements reach over
    /// four links.
    public func changesetPublisher(keyPaths: [String]?) -> RealmPublishers.CollectionChangeset<Self> {
        RealmPublishers.Changes(isObservable: _isObservable) { queue, receive, _ in
            observe(keyPaths: keyPaths, on: queue, receive)
        }
    }
}

extension RealmCollection where Self: RealmSubscribable, Element: ObjectBase {
    /// The collection as it is, and again after every change of what the key paths name.
    public func collectionPublisher(keyPaths: [PartialKeyPath<Element>]) -> RealmPublishers.Value<Self> {
        RealmPublishers.Value(self, keyPaths.map { _name(for: $0) })
    }
    /// The change sets of `observe`, of what the key paths name.
    public func changesetPublisher(
        keyPaths: [PartialKeyPath<Element>]
    ) -> RealmPublishers.CollectionChangeset<Self> { changesetPublisher(keyPaths: keyPaths.map { _name(for: $0) }) }
}

extension List: ObservableObject {
    /// Void after every change of the list. An unmanaged list cannot be subscribed to.
    public var objectWillChange: RealmPublishers.WillChange<List> { RealmPublishers.WillChange(self) }
}
extension MutableSet: ObservableObject {
    /// Void after every change of the set. An unmanaged set cannot be subscribed to.
    public var objectWillChange: RealmPublishers.WillChange<MutableSet> { RealmPublishers.WillChange(self) }
}

// MARK: Maps

extension Map: RealmSubscribable, ObservableObject {
    public var _isObservable: Bool { _managed != nil }
    public func _observe(
        _ keyPaths: [String]?, on queue: DispatchQueue?, sendsInitial: Bool, _ receive: @escaping (Any) -> Void,
        finish: @escaping () -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths, on: queue) { $0.pass(to: receive, sendsInitial: sendsInitial, finish) }
    }

    /// Void after every change of the map. An unmanaged map cannot be subscribed to.
    public var objectWillChange: RealmPublishers.WillChange<Map> { RealmPublishers.WillChange(self) }
    /// The map as it is, and again after every change.
    public var collectionPublisher: RealmPublishers.Value<Map> { RealmPublishers.Value(self) }
    /// The map as it is, and again after every change of what the key paths name; nil stands for everything that values
    /// reach over four links.
    public func collectionPublisher(keyPaths: [String]?) -> RealmPublishers.Value<Map> {
        RealmPublishers.Value(self, keyPaths)
    }
    /// The change sets of `observe`.
    public var changesetPublisher: RealmPublishers.MapChangeset<Map> { changesetPublisher(keyPaths: nil) }
    /// The change sets of `observe`, of what the key paths name; nil stands for everything that values reach over four
    /// links.
    public func changesetPublisher(keyPaths: [String]?) -> RealmPublishers.MapChangeset<Map> {
        RealmPublishers.Changes(isObservable: _isObservable) { queue, receive, _ in
            self.observe(keyPaths: keyPaths, on: queue, receive)
        }
    }
}

// MARK: Objects and projections

extension ObjectChange {
    /// Passes the change on, and says when it was the last.
    fileprivate func pass(to receive: (ObjectChange) -> Void, _ finish: () -> Void) {
        receive(self)
        if case .deleted = self { finish() }
    }

    /// Passes on what changed, and says when nothing can follow.
    fileprivate func pass(value receive: (Any) -> Void, _ finish: () -> Void) {
        switch self {
        case .change(let object, _): receive(object)
        case .deleted: finish()
        // What follows starts over.
        case .error: break
        }
    }
}

extension RealmSubscribable where Self: ObjectBase, Self: ThreadConfined {
    public var _isObservable: Bool { realm != nil }
    public func _observe(
        _ keyPaths: [String]?, on queue: DispatchQueue?, sendsInitial: Bool, _ receive: @escaping (Any) -> Void,
        finish: @escaping () -> Void
    ) -> NotificationToken {
        _observe(keyPaths, queue) { (change: ObjectChange<Self>) in change.pass(value: receive, finish) }
    }
}

extension Object: RealmSubscribable, ObservableObject {
    /// Void after every change.
    public var objectWillChange: RealmPublishers.WillChange<Object> { RealmPublishers.WillChange(self) }
}
extension EmbeddedObject: RealmSubscribable, ObservableObject {
    /// Void after every change of the object.
    public var objectWillChange: RealmPublishers.WillChange<EmbeddedObject> { RealmPublishers.WillChange(self) }
}

extension RealmSubscribable where Self: ProjectionObservable {
    public var _isObservable: Bool { rootObject.realm != nil }
    public func _observe(
        _ keyPaths: [String]?, on queue: DispatchQueue?, sendsInitial: Bool, _ receive: @escaping (Any) -> Void,
        finish: @escaping () -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths, on: queue) { change in change.pass(value: receive, finish) }
    }
}

extension Projection: RealmSubscribable, ObservableObject {
    /// Void after every change of a projected property.
    public var objectWillChange: RealmPublishers.WillChange<Projection> { RealmPublishers.WillChange(self) }
}

/// The object, after every change of it or of what `keyPaths` name; finished when it is deleted.
public func valuePublisher<T: ObjectBase & ThreadConfined & RealmSubscribable>(
    _ object: T, keyPaths: [String]? = nil
) -> RealmPublishers.Value<T> { RealmPublishers.Value(object, keyPaths) }

/// The object, after every change of what the key paths name; finished when it is deleted.
public func valuePublisher<T: ObjectBase & ThreadConfined & RealmSubscribable>(
    _ object: T, keyPaths: [PartialKeyPath<T>]
) -> RealmPublishers.Value<T> { RealmPublishers.Value(object, keyPaths.map { _name(for: $0) }) }

/// The projection, after every change of what the labels or key paths name; for nil, of anything projected. Finished
/// when the root object is deleted.
public func valuePublisher<P: ProjectionObservable & RealmSubscribable>(
    _ projection: P, keyPaths: [String]? = nil
) -> RealmPublishers.Value<P> { RealmPublishers.Value(projection, keyPaths) }

/// The projection, after every change of these projected properties; finished when the root object is deleted.
public func valuePublisher<P: ProjectionObservable & RealmSubscribable>(
    _ projection: P, keyPaths: [PartialKeyPath<P>]
) -> RealmPublishers.Value<P> {
    RealmPublishers.Value(projection, keyPaths.flatMap { ProjectedPaths.paths(projected: $0) })
}

/// The collection as it is, and again after every change of what the key paths name.
public func valuePublisher<C: RealmCollection & RealmSubscribable>(
    _ collection: C, keyPaths: [String]? = nil
) -> RealmPublishers.Value<C> { RealmPublishers.Value(collection, keyPaths) }

/// The map as it is, and again after every change of what the key paths name.
public func valuePublisher<Key: _MapKey, Value: RealmCollectionValue>(
    _ map: Map<Key, Value>, keyPaths: [String]? = nil
) -> RealmPublishers.Value<Map<Key, Value>> { RealmPublishers.Value(map, keyPaths) }

/// The change sets of the object; finished when it is deleted.
public func changesetPublisher<T: ObjectBase & ThreadConfined & RealmSubscribable>(
    _ object: T, keyPaths: [String]? = nil
) -> RealmPublishers.ObjectChangeset<T> {
    RealmPublishers.Changes(isObservable: object._isObservable) { queue, receive, finish in
        object._observe(keyPaths, queue) { (change: ObjectChange<T>) in change.pass(to: receive, finish) }
    }
}

/// The change sets of what the key paths name; the last is the deletion of the object.
public func changesetPublisher<T: ObjectBase & ThreadConfined & RealmSubscribable>(
    _ object: T, keyPaths: [PartialKeyPath<T>]
) -> RealmPublishers.ObjectChangeset<T> { changesetPublisher(object, keyPaths: keyPaths.map { _name(for: $0) }) }

/// The change sets of the projection, under its labels; the last is the deletion of the root object.
public func changesetPublisher<P: ProjectionObservable & RealmSubscribable>(
    _ projection: P, keyPaths: [String]? = nil
) -> RealmPublishers.ObjectChangeset<P> {
    RealmPublishers.Changes(isObservable: projection._isObservable) { queue, receive, finish in
        projection.observe(keyPaths: keyPaths, on: queue) { change in change.pass(to: receive, finish) }
    }
}

/// The change sets of the collection; the first is its initial state.
public func changesetPublisher<C: RealmCollection & RealmSubscribable>(
    _ collection: C, keyPaths: [String]? = nil
) -> RealmPublishers.CollectionChangeset<C> { collection.changesetPublisher(keyPaths: keyPaths) }

/// The change sets of the map; the first is its initial state.
public func changesetPublisher<Key: _MapKey, Value: RealmCollectionValue>(
    _ map: Map<Key, Value>, keyPaths: [String]? = nil
) -> RealmPublishers.MapChangeset<Map<Key, Value>> { map.changesetPublisher(keyPaths: keyPaths) }

extension Realm {
    /// Void for every version that the realm advances to; without autorefresh, for newer ones that it could advance to,
    /// too.
    public var objectWillChange: RealmPublishers.RealmWillChange { RealmPublishers.RealmWillChange(self) }
}
