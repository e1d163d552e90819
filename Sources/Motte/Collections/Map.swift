/// A dictionary with string keys: one of its own while it is unmanaged, a view of the store once its object is in a
/// realm.
import Foundation
import MotteLiveObjects
import MotteQueryEngine
import MotteSchemaModel
import MotteValues

/// A key of a map and its value.
public struct SingleMapEntry<Key: _MapKey, Value: RealmCollectionValue>: Hashable {
    /// The key, as text that has no `.` and does not begin with `$`.
    public var key: Key
    /// The value; for a map of optionals it may be nil.
    public var value: Value
}

/// Values by text key, owned by an object. A key must not contain `.` nor begin with `$`.
///
/// Managed, it is live: it shows what its realm shows, may be used only by the realm's owner and changed only in a
/// write transaction. Unmanaged objects that are put into it are added to the realm; objects of an embedded class must
/// be unmanaged, and belong to the map from then on. When an object in it is deleted, its key stays, with nil.
public final class Map<Key: _MapKey, Value: RealmCollectionValue>: RealmKeyedCollection, _Persistable, _ObjcBridgeable,
    Equatable, _DefaultConstructible
{
    /// Maps are stored as they are.
    public typealias PersistedType = Map

    private enum State {
        case unmanaged([Key: Value])
        case managed(_CollectionHandle)
    }
    private var state: State
    package var _recordedName: String?
    package var _names: KeyPathNames?

    /// An empty unmanaged map.
    public init() { state = .unmanaged([:]) }
    package init(handle: _CollectionHandle) { state = .managed(handle) }
    package init(unmanaged entries: [Key: Value]) { state = .unmanaged(entries) }

    public var _managed: _CollectionHandle? {
        if case .managed(let handle) = state { return handle.noted }
        return nil
    }
    public static func _collection(_ handle: _CollectionHandle) -> Map { Map(handle: handle) }
    private var entries: [Key: Value] {
        if case .unmanaged(let entries) = state { return entries }
        return [:]
    }

    /// Managed maps are equal when they are the same map of the same object in the same realm; unmanaged ones when
    /// their entries are. A managed and an unmanaged map are never equal.
    public static func == (left: Map, right: Map) -> Bool {
        switch (left._managed, right._managed) {
        case (let mine?, let theirs?): mine.live === theirs.live || mine.live.isSameCollection(as: theirs.live)
        case (nil, nil): left.entries == right.entries
        default: false
        }
    }

    // MARK: Looking

    /// The number of entries.
    public var count: Int {
        guard let handle = _managed else { return entries.count }
        return attempt(or: 0) { () throws(DatabaseError) in try handle.live.count() }
    }

    /// The keys, copied: in the order of their bytes once managed, in no particular order before.
    public var keys: [Key] { unmanagedKeys ?? managedEntries { key, _ in key } }
    /// The values, copied: in the order of their keys' bytes once managed, in no particular order before.
    public var values: [Value] {
        if _managed == nil { return Array(entries.values) }
        return managedEntries { _, value in value }
    }

    private var unmanagedKeys: [Key]? { _managed == nil ? Array(entries.keys) : nil }

    private func managedEntries<T>(_ body: (Key, Value) -> T) -> [T] {
        guard let handle = _managed else { return [] }
        return attempt(or: []) { () throws(DatabaseError) in
            var found: [T] = []
            for index in 0 ..< (try handle.live.count()) {
                let key = Key(_mapKeyText: try MapAccess.key(at: index, handle.live))
                let value = Value._decode(_Stored(try handle.live.value(at: index), handle.session))
                found.append(body(key, value ?? Value._default()))
            }
            return found
        }
    }

    private func value(for key: Key) -> Value? {
        guard let handle = _managed else { return entries[key] ?? _recordedElement(as: Value.self) }
        return attempt(or: nil) { () throws(DatabaseError) in
            guard let view = try MapAccess.value(key._mapKeyText, handle.live) else { return nil }
            if view.kind == .list || view.kind == .map,
                let nested = try MapAccess.nested(key._mapKeyText, handle.live)
            {
                return AnyRealmValue(nested, handle.session) as? Value
            }
            return Value._decode(_Stored(view, handle.session))
        }
    }

    /// The value for a key; nil when there is none. Setting nil removes the entry. In a map of optionals a literal
    /// `nil` does so; a nil of the type of the values is stored, as by ``updateValue(_:forKey:)``. Setting it under a
    /// key that has a `.` or begins with `$` is misuse.
    public subscript(key: Key) -> Value? {
        get { value(for: key) }
        set {
            // For a map of optionals `map["key"] = nil` is nil of the outer optional: the key goes.
            if let newValue { updateValue(newValue, forKey: key) } else { removeObject(for: key) }
        }
    }

    /// The value for a key, or `fallback` when there is none. Reading stores nothing; assigning or changing it in place
    /// sets the key.
    public subscript(key: Key, default fallback: @autoclosure () -> Value) -> Value {
        get { value(for: key) ?? fallback() }
        set { updateValue(newValue, forKey: key) }
    }

    /// The value for a key given as `String` or `NSString`; nil when there is none, or when the key is no text.
    public func object(forKey key: AnyObject) -> AnyObject? {
        guard let text = key as? String ?? (key as? NSString).map({ String(describing: $0) }) else { return nil }
        return value(forKey: text)
    }

    /// The value for a key given as text, `NSNull` where it is null; nil when there is none.
    public func value(forKey key: String) -> AnyObject? {
        value(for: Key(_mapKeyText: key)).map { $0._dynamic.map { $0 as AnyObject } ?? NSNull() }
    }
    /// The same as ``value(forKey:)``: the whole text is a key, points do not lead on to properties of the value.
    public func value(forKeyPath path: String) -> AnyObject? { value(forKey: path) }

    /// Whether there is an entry that the function accepts. Reads entries until it finds one.
    public func contains(where predicate: @escaping (_ key: Key, _ value: Value) -> Bool) -> Bool {
        makeIterator().contains { predicate($0.key, $0.value) }
    }

    // MARK: Changing

    private func change(
        _ unmanaged: (inout [Key: Value]) throws(DatabaseError) -> Void,
        managed: (LiveCollection, RealmSession) throws(DatabaseError) -> Void
    ) {
        attempt { () throws(DatabaseError) in
            switch state {
            case .managed(let handle):
                _ = try handle.live.session.requireWrite()
                try handle.session.whole { () throws(DatabaseError) in try managed(handle.live, handle.session) }
            case .unmanaged(var entries):
                state = .unmanaged([:])
                defer { state = .unmanaged(entries) }
                try unmanaged(&entries)
            }
        }
    }

    /// Sets the value for a key, whether the key is there or not. An embedded object that was there is deleted. A key
    /// that has a `.` or begins with `$` is misuse.
    public func updateValue(_ value: Value, forKey key: Key) {
        change { entries throws(DatabaseError) in
            try MapAccess.check(key._mapKeyText)
            entries[key] = value
        } managed: { live, session throws(DatabaseError) in
            try MapAccess.put(value, key._mapKeyText, live, session)
        }
    }

    /// Sets a value of unknown type for a key. nil removes the entry; what cannot be converted to the map's value type
    /// is misuse.
    public func setValue(_ value: Any?, forKey key: String) {
        guard let value = Dynamic.flattened(value) else { return removeObject(for: Key(_mapKeyText: key)) }
        guard let converted = Value._convert(value) else {
            if let handle = _managed, let raw = Map._raw(for: [key: value])?(handle) as? any _MapValue {
                return raw.setValue(value, forKey: key)
            }
            return misuse("Invalid value '\(Dynamic.text(value))' for a map of \(Value._typeName)", .invalidInput)
        }
        updateValue(converted, forKey: Key(_mapKeyText: key))
    }

    /// Removes a key and its value, if it is there. Objects stay in the realm unless they are embedded.
    public func removeObject(for key: Key) {
        change { entries throws(DatabaseError) in
            entries[key] = nil
        } managed: { live, _ throws(DatabaseError) in
            if let map = live as? LiveMap { try map.remove(key._mapKeyText) }
            if let nested = live as? LiveNested { _ = try nested.remove(key._mapKeyText) }
        }
    }

    /// Removes all entries. Objects stay in the realm unless they are embedded.
    public func removeAll() {
        change { entries throws(DatabaseError) in
            entries = [:]
        } managed: { live, _ throws(DatabaseError) in
            if let map = live as? LiveMap { try map.clear() }
            if let nested = live as? LiveNested { try nested.clear() }
        }
    }

    /// Sets entries one by one; `combine` gets the present and the new value of a key that is there already, and what
    /// it returns is stored. If it throws, what was set before stays.
    public func merge<S: Sequence>(
        _ other: S, uniquingKeysWith combine: (Value, Value) throws -> Value
    ) rethrows where S.Element == (key: Key, value: Value) {
        for (key, value) in other {
            updateValue(try self.value(for: key).map { try combine($0, value) } ?? value, forKey: key)
        }
    }

    /// Sets the entries of another map one by one; `combine` gets the present and the new value of a key that is there
    /// already, and what it returns is stored. If it throws, what was set before stays.
    public func merge(_ other: Map<Key, Value>, uniquingKeysWith combine: (Value, Value) throws -> Value) rethrows {
        try merge(other.map { (key: $0.key, value: $0.value) }, uniquingKeysWith: combine)
    }

    // MARK: Iterating

    /// Goes over the entries that are there when the iteration begins, by their keys' bytes once managed. What changes
    /// meanwhile is not seen.
    public func makeIterator() -> AnyIterator<SingleMapEntry<Key, Value>> {
        let all =
            _managed == nil
            ? entries.map { SingleMapEntry(key: $0.key, value: $0.value) }
            : managedEntries { SingleMapEntry(key: $0, value: $1) }
        return AnyIterator(all.makeIterator())
    }

    /// The entries of a map as pairs.
    public struct KeyValueSequence: Sequence {
        let map: Map
        /// Goes over the entries that the map has when this is called.
        public func makeIterator() -> AnyIterator<(key: Key, value: Value)> {
            AnyIterator(map.map { (key: $0.key, value: $0.value) }.makeIterator())
        }
    }
    /// The entries as pairs of key and value, for code that expects those of a dictionary. Each iteration reads the
    /// map.
    public func asKeyValueSequence() -> KeyValueSequence { KeyValueSequence(map: self) }

    // MARK: As a property

    public static var _shape: _Shape { Value._shape.inside(.map) }
    public static var _isCollection: Bool { true }
    public static func _default() -> Map { Map() }
    public static func _decode(_ stored: _Stored) -> Map? { nil }
    public static func _recorded(_ names: KeyPathNames) -> Map { _recording(names) }
    public func _encode(_ encoder: _Encoder) {}
    public static func _convert(_ value: Any?) -> Map? {
        guard let value = Dynamic.flattened(value) else { return Map() }
        if let map = value as? Map, !map._isManaged { return map }
        return _entries(value).map { Map(unmanaged: $0) }
    }

    static func _entries(_ value: Any) -> [Key: Value]? {
        guard let entries = Dynamic.entries(value) else { return nil }
        var found: [Key: Value] = [:]
        for entry in entries {
            guard let value = Value._convert(entry.value) ?? _absent(entry.value) else { return nil }
            found[Key(_mapKeyText: entry.key)] = value
        }
        return found
    }

    /// What stands for null in a map of a type that is stored as an embedded object; in lists nothing does.
    private static func _absent(_ value: Any?) -> Value? {
        guard Dynamic.flattened(value) == nil, Value.self is any _CustomPersistable.Type, Value._shape.type == .link
        else { return nil }
        return Value._default()
    }

    public static func _get(_ object: ObjectBase, _ column: UInt32) -> Map {
        guard let live = object.live, let session = object.session else { return Map() }
        let map = attempt { () throws(DatabaseError) in try live.map(ColumnKey(column)) }
        return map.map { Map(handle: _CollectionHandle($0, session)) } ?? Map()
    }
    public static func _set(_ object: ObjectBase, _ column: UInt32, _ value: Map) {
        _get(object, column)._assign(value, policy: .all)
    }
}

extension Map: _MapValue {
    package var _dynamicEntries: [(key: String, value: Any?)] { map { ($0.key._mapKeyText, $0.value._dynamic) } }
    package func _attach(to object: ObjectBase, _ column: UInt32) { state = Map._get(object, column).state }
    package var _detachedCopy: [Any] { entries.map { SingleMapEntry(key: $0.key, value: $0.value) } }
    package func _detach(_ elements: [Any]) {
        let entries = elements as? [SingleMapEntry<Key, Value>] ?? []
        state = .unmanaged(Dictionary(entries.map { ($0.key, $0.value) }) { $1 })
    }
    package var _isManaged: Bool { _managed != nil }

    package func _fill(from elements: [Any], policy: MotteLiveObjects.UpdatePolicy, isNew: Bool) throws(DatabaseError) {
        guard let handle = _managed, let elements = elements as? [SingleMapEntry<Key, Value>] else { return }
        if !isNew, let map = handle.live as? LiveMap {
            let wanted = Set(elements.map { NameKey($0.key._mapKeyText) })
            for index in (0 ..< (try map.count())).reversed() {
                let key = try map.keyText(at: index)
                if !wanted.contains(NameKey(key)) { try map.remove(key) }
            }
        }
        for entry in elements {
            try MapAccess.put(entry.value, entry.key._mapKeyText, handle.live, handle.session, policy: policy)
        }
    }

    package func _assign(_ value: Any, policy: MotteLiveObjects.UpdatePolicy) {
        if let other = value as? Map, other === self || other == self, other._isManaged { return }
        // Of a map as it is: keys that a dictionary takes for one may be two in a file.
        let new =
            (value as? Map).map { Array($0) }
            ?? Map._entries(value)?.map { SingleMapEntry(key: $0.key, value: $0.value) }
        guard let new else {
            return misuse("Invalid value '\(Dynamic.text(value))' for a Map<\(Value._typeName)>", .invalidInput)
        }
        change { entries throws(DatabaseError) in
            entries = Dictionary(new.map { ($0.key, $0.value) }) { $1 }
        } managed: { _, _ throws(DatabaseError) in
            try _fill(from: new, policy: policy, isNew: false)
        }
    }

    package func _text(depth: Int) -> String {
        let all = map { ($0.key, $0.value) }
        let address = ObjectText.address(_managed?.live as AnyObject? ?? self)
        return ObjectText.list("Map<string, \(Value._storedName)> <\(address)>", all.count, depth: depth) {
            "[\(all[$0].0)]: \(ObjectText.text(all[$0].1._dynamic, depth: depth + 1))"
        }
    }
}

extension Map: BareField {}

extension Map: RawElements {
    package static func _raw(for value: Any?) -> RawStorage.Collection? {
        RawStorage.map(Key.self, Value.self, value)
    }
}

/// The engine's maps, and those inside mixed values, by key.
enum MapAccess {
    static func key(at index: Int, _ live: LiveCollection) throws(DatabaseError) -> String {
        if let map = live as? LiveMap { return try map.keyText(at: index) }
        if let nested = live as? LiveNested { return String(decoding: try nested.mapKey(at: index), as: UTF8.self) }
        throw DatabaseError(.wrongKind, "this collection has no keys")
    }

    static func value(_ key: String, _ live: LiveCollection) throws(DatabaseError) -> ValueView? {
        try key.withUTF8Bytes { bytes throws(DatabaseError) in
            if let map = live as? LiveMap { return try map.get(bytes) }
            if let nested = live as? LiveNested { return try nested.get(bytes) }
            return nil
        }
    }

    /// The list or map under a key of a map of mixed values.
    static func nested(_ key: String, _ live: LiveCollection) throws(DatabaseError) -> LiveNested? {
        if let nested = live as? LiveNested { return try nested.nested(key) }
        guard let map = live as? LiveMap else { return nil }
        let index = try key.withUTF8Bytes { bytes throws(DatabaseError) in try map.position(of: bytes) }
        return try index.flatMap { index throws(DatabaseError) in try map.nested(at: index) }
    }

    /// The rule for keys, for maps that are not in a store yet.
    static func check(_ key: String) throws(DatabaseError) {
        guard !key.utf8.contains(UInt8(ascii: ".")), key.utf8.first != UInt8(ascii: "$") else {
            throw DatabaseError(
                .invalidArgument,
                "Invalid key '\(key)': keys of maps must not contain '.' or start with '$'; percent-encode them")
        }
    }

    private static func embedded(
        _ key: String, of map: LiveMap, _ session: RealmSession
    ) throws(DatabaseError) -> LiveObject? {
        let link = try key.withUTF8Bytes { bytes throws(DatabaseError) -> ObjectLink? in
            guard let view = try map.get(bytes), view.kind == .link else { return nil }
            return view.linkValue
        }
        return try link.flatMap { link throws(DatabaseError) in try session.session.object(link.table, at: link.key) }
    }

    static func put<Value: RealmCollectionValue>(
        _ value: Value, _ key: String, _ live: LiveCollection, _ session: RealmSession,
        policy: MotteLiveObjects.UpdatePolicy = .error
    ) throws(DatabaseError) {
        if let map = live as? LiveMap, ManagedList(handle: _CollectionHandle(live, session)).isEmbedded,
            let object = value._linkedObject
        {
            try session.checkIsUnmanaged(object, for: "Dictionary")
            if policy == .modified, let own = try embedded(key, of: map, session) {
                return try session.fill(object, own, policy: policy, isNew: false)
            }
            let row = try key.withUTF8Bytes { bytes throws(DatabaseError) in try map.embeddedPut(bytes) }
            return try session.fill(object, row, policy: policy)
        }
        try session.withEncoder(policy: policy) { encoder throws(DatabaseError) in
            value._encode(encoder)
            try encoder.withView { view throws(DatabaseError) in
                if let map = live as? LiveMap {
                    try key.withUTF8Bytes { bytes throws(DatabaseError) in
                        if policy == .modified, let old = try map.get(bytes), !old.differs(from: view) { return }
                        try map.put(bytes, view)
                    }
                } else if let nested = live as? LiveNested {
                    try nested.put(key, view.owned)
                }
            }
        }
    }
}

extension Map: Encodable where Key: Encodable, Value: Encodable {
    /// Encodes the entries as a dictionary with text keys.
    public func encode(to encoder: Encoder) throws {
        // As a dictionary, whose keys are data that a strategy for keys leaves alone.
        var container = encoder.singleValueContainer()
        try container.encode(Dictionary(map { ($0.key._mapKeyText, $0.value) }) { $1 })
    }
}

extension Map: Decodable where Key: Decodable, Value: Decodable {
    /// Decodes a dictionary with text keys into an unmanaged map. Throws what decoding a value throws.
    public convenience init(from decoder: Decoder) throws {
        let entries = try decoder.singleValueContainer().decode([String: Value].self)
        self.init(unmanaged: Dictionary(entries.map { (Key(_mapKeyText: $0.key), $0.value) }) { $1 })
    }
}
