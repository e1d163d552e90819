/// What maps can do: by key, and with their values as a collection.
import Foundation
import MotteLiveObjects
import MotteValues

/// What maps can do.
public protocol RealmKeyedCollection: Sequence, ThreadConfined, CustomStringConvertible {
    /// The type of the keys: `String`.
    associatedtype Key: _MapKey
    /// The type of the values.
    associatedtype Value: RealmCollectionValue
    /// The number of entries.
    var count: Int { get }
    /// Sets the value for a key, whether the key is there or not.
    func updateValue(_ value: Value, forKey key: Key)
    /// Removes a key and its value, if it is there.
    func removeObject(for key: Key)
    /// Removes all entries.
    func removeAll()
    /// The value for a key; nil when there is none. Setting nil removes the entry.
    subscript(key: Key) -> Value? { get set }
    /// The value for a key given as text; nil when there is none.
    func value(forKey key: String) -> AnyObject?
    /// The same as `value(forKey:)`.
    func value(forKeyPath keyPath: String) -> AnyObject?
    /// Sets a value of unknown type for a key; nil removes the entry.
    func setValue(_ value: Any?, forKey key: String)
    /// The values that a predicate holds for.
    func filter(_ predicate: NSPredicate) -> Results<Value>
    /// Whether there is an entry that the function accepts.
    func contains(where predicate: @escaping (_ key: Key, _ value: Value) -> Bool) -> Bool
    /// The values in the order of a property.
    func sorted(byKeyPath keyPath: String, ascending: Bool) -> Results<Value>
    /// The values in the order of several properties.
    func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Value> where S.Iterator.Element == SortDescriptor
    /// The values in their order.
    func sorted(ascending: Bool) -> Results<Value>
    /// The keys, copied; in the order of their bytes once managed.
    var keys: [Key] { get }
    /// The values, copied; in the order of their keys' bytes once managed.
    var values: [Value] { get }
    /// The smallest value of a property over all values; nil when there is none.
    func min<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: MinMaxType
    /// The greatest value of a property over all values; nil when there is none.
    func max<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: MinMaxType
    /// The sum of a property over all values, zero when there is none.
    func sum<T: _HasPersistedType>(ofProperty property: String) -> T where T.PersistedType: AddableType
    /// The average of a property over all values; nil when there is none.
    func average<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: AddableType
    /// Notifies of changes by key; the first call has the map as it is.
    func observe(
        keyPaths: [String]?, on queue: DispatchQueue?, _ block: @escaping (RealmMapChange<Self>) -> Void
    ) -> NotificationToken
    /// Opaque to programs.
    var _managed: _CollectionHandle? { get }
    static func _collection(_ handle: _CollectionHandle) -> Self
}

extension Map {
    /// The realm it belongs to; nil when it is unmanaged.
    public var realm: Realm? { _managed.map { Realm($0.session) } }
    /// Whether the object it belongs to was deleted or its realm invalidated.
    public var isInvalidated: Bool { _managed.map { !$0.live.isValid } ?? false }
    /// Whether it is fixed to one version, and may be used on every thread.
    public var isFrozen: Bool { _managed?.live.isFrozen ?? false }
    /// Whether there is no entry.
    public var isEmpty: Bool { count == 0 }
    /// The entries, for people to read.
    public var description: String { _text(depth: 0) }

    /// The map at the version that its realm shows, fixed and usable on every thread; within a write transaction the
    /// version that the transaction began with. On an unmanaged map it is misuse.
    public func freeze() -> sending Map { frozenForSending(frozen()) }

    private func frozen() -> Map {
        guard let handle = _managed else {
            misuse("Unmanaged collections cannot be frozen.", .invalidInput)
            return Map()
        }
        if handle.live.isFrozen { return self }
        return attempt(or: Map()) { () throws(DatabaseError) in
            let frozen = try handle.session.frozen()
            guard try handle.live.exists() else { throw Results<Value>._gone }
            return Map(handle: _CollectionHandle(try handle.live.frozen(in: frozen.session), frozen))
        }
    }

    /// The live map of a frozen one, in the realm of the calling thread; nil when the object it belongs to is deleted.
    /// On an unmanaged map it is misuse.
    public func thaw() -> Map? {
        guard let handle = _managed else {
            misuse("Unmanaged collections cannot be thawed.", .invalidInput)
            return nil
        }
        guard let thawed = handle.session.thawed() else { return nil }
        if thawed === handle.session { return self }
        return attempt(or: nil) { () throws(DatabaseError) in
            try handle.live.moved(to: thawed.session).map { Map(handle: _CollectionHandle($0, thawed)) }
        }
    }

    /// The values as live results.
    package var _values: Results<Value> {
        guard let handle = _managed else {
            misuse("this works on maps that are managed by a realm only", .invalidInput)
            return Results()
        }
        let results = attempt { () throws(DatabaseError) in try handle.live.results() }
        return results.map { Results._collection(_CollectionHandle($0, handle.session)) } ?? Results()
    }

    /// The values that a predicate holds for.
    public func filter(_ predicate: NSPredicate) -> Results<Value> { _values.filter(predicate) }
    /// The values that a query text with its arguments holds for.
    public func filter(_ format: String, _ args: Any...) -> Results<Value> { _values._filtered(format, args) }
    /// The values that a typed query holds for.
    public func `where`(_ isIncluded: (Query<Value>) -> Query<Bool>) -> Results<Value> { _values.where(isIncluded) }
    /// The values in the order of values: numbers by size, dates by time, texts by their UTF-8 bytes.
    public func sorted(ascending: Bool = true) -> Results<Value> {
        _values._sorted([SortDescriptor(keyPath: "self", ascending: ascending)])
    }
    /// The values in the order of a property.
    public func sorted(byKeyPath keyPath: String, ascending: Bool = true) -> Results<Value> {
        _values._sorted([SortDescriptor(keyPath: keyPath, ascending: ascending)])
    }
    /// The values in the order of several properties.
    public func sorted<S: Sequence>(by descriptors: S) -> Results<Value> where S.Iterator.Element == SortDescriptor {
        _values._sorted(Array(descriptors))
    }
    /// The values without those that equal an earlier one in all of these properties.
    public func distinct<S: Sequence>(by keyPaths: S) -> Results<Value> where S.Iterator.Element == String {
        _values.distinct(by: keyPaths)
    }

    /// What a property of the values is called in the store.
    private func _columnName(_ name: String) -> String {
        _managed == nil ? name : _CollectionTotals.columnName(name, of: Value._shape)
    }

    /// The smallest value of a property over all values; nil when there is none.
    public func min<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: MinMaxType {
        _CollectionTotals.value(of: _managed, values, .min, _columnName(property))
    }
    /// The greatest value of a property over all values; nil when there is none.
    public func max<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: MinMaxType {
        _CollectionTotals.value(of: _managed, values, .max, _columnName(property))
    }
    /// The sum of a property over all values, zero when there is none.
    public func sum<T: _HasPersistedType>(ofProperty property: String) -> T where T.PersistedType: AddableType {
        _CollectionTotals.value(of: _managed, values, .sum, _columnName(property)) ?? T._default()
    }
    /// The average of a property over all values; nil when there is none.
    public func average<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: AddableType {
        _CollectionTotals.value(of: _managed, values, .average, _columnName(property))
    }
}

extension RealmKeyedCollection where Value: OptionalProtocol, Value.Wrapped: ObjectBase {
    /// The smallest value of a property over all values; nil when there is none.
    public func min<T: _HasPersistedType>(of keyPath: KeyPath<Value.Wrapped, T>) -> T?
    where T.PersistedType: MinMaxType {
        min(ofProperty: _name(for: keyPath))
    }
    /// The greatest value of a property over all values; nil when there is none.
    public func max<T: _HasPersistedType>(of keyPath: KeyPath<Value.Wrapped, T>) -> T?
    where T.PersistedType: MinMaxType {
        max(ofProperty: _name(for: keyPath))
    }
    /// The sum of a property over all values, zero when there is none.
    public func sum<T: _HasPersistedType>(of keyPath: KeyPath<Value.Wrapped, T>) -> T
    where T.PersistedType: AddableType {
        sum(ofProperty: _name(for: keyPath))
    }
    /// The average of a property over all values; nil when there is none.
    public func average<T: _HasPersistedType>(
        of keyPath: KeyPath<Value.Wrapped, T>
    ) -> T? where T.PersistedType: AddableType { average(ofProperty: _name(for: keyPath)) }
    /// The values in the order of a property.
    public func sorted<T: _HasPersistedType>(
        by keyPath: KeyPath<Value.Wrapped, T>, ascending: Bool = true
    ) -> Results<Value> where T.PersistedType: SortableType {
        sorted(byKeyPath: _name(for: keyPath), ascending: ascending)
    }
}

extension RealmKeyedCollection where Value.PersistedType: MinMaxType {
    /// The smallest value; nil when there is none.
    public func min() -> Value? { _CollectionTotals.value(of: _managed, values, .min, nil) }
    /// The greatest value; nil when there is none.
    public func max() -> Value? { _CollectionTotals.value(of: _managed, values, .max, nil) }
}

extension RealmKeyedCollection where Value.PersistedType: AddableType {
    /// The sum of the values, zero when there is none.
    public func sum() -> Value { _CollectionTotals.value(of: _managed, values, .sum, nil) ?? Value._default() }
    /// The average of the values; nil when there is none.
    public func average<T: _HasPersistedType>() -> T? where T.PersistedType: AddableType {
        _CollectionTotals.value(of: _managed, values, .average, nil)
    }
}
