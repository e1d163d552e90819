/// Collections of the Swift API without the types of their elements.
#if canImport(Motte)
import Foundation
import Motte
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

protocol SwiftCollection {
    var count: Int { get }
    /// One by one, by position.
    var elements: [Any?] { get }
    /// By an iteration.
    var iterated: [Any?] { get }
    func object(at index: Int) -> ObjectBase?
    func index(of value: Any?) -> Int?
    func filtered(_ text: String, _ arguments: [Any?]) -> _CollectionHandle?
    func sorted(_ descriptors: [Motte.SortDescriptor]) -> _CollectionHandle?
    func distinct(_ paths: [String]) -> _CollectionHandle?
    func frozen() -> _CollectionHandle?
    func value(_ path: String) -> Any?
    func observed(_ paths: [String]?, _ note: @escaping (String) -> Void) -> NotificationToken
}

struct Erased<C: RealmCollection>: SwiftCollection {
    let base: C

    var count: Int { base.count }
    var elements: [Any?] { (0 ..< base.count).map { base._element(at: $0)._dynamic } }
    var iterated: [Any?] { base.map { $0._dynamic } }
    func object(at index: Int) -> ObjectBase? {
        if index == 0, base.isEmpty { return nil }
        return base._element(at: index)._linkedObject
    }
    func index(of value: Any?) -> Int? { C.Element._convert(value).flatMap { base.index(of: $0) } }
    func filtered(_ text: String, _ arguments: [Any?]) -> _CollectionHandle? {
        base._filtered(text, arguments)._managed
    }
    func sorted(_ descriptors: [Motte.SortDescriptor]) -> _CollectionHandle? { base.sorted(by: descriptors)._managed }
    func distinct(_ paths: [String]) -> _CollectionHandle? { base.distinct(by: paths)._managed }
    func frozen() -> _CollectionHandle? { base.freeze()._managed }
    func value(_ path: String) -> Any? { base.value(forKeyPath: path) }
    func observed(_ paths: [String]?, _ note: @escaping (String) -> Void) -> NotificationToken {
        base.observe(keyPaths: paths) { change in
            switch change {
            case .initial: note("{ initial }")
            case .update(_, let deletions, let insertions, let modifications):
                note(
                    ObservedEvents.text(
                        deletions.map(\.description), insertions.map(\.description),
                        modifications.map(\.description)))
            case .error(let error): note("error \(error)")
            }
        }
    }
}

struct ErasedMap<Value: RealmCollectionValue>: SwiftCollection {
    let base: Map<String, Value>

    var count: Int { base.count }
    var elements: [Any?] { base.values.map { $0._dynamic } }
    var iterated: [Any?] { base.map { $0.value._dynamic } }
    func object(at index: Int) -> ObjectBase? { base.values[index]._linkedObject }
    func index(of value: Any?) -> Int? {
        Value._convert(value).flatMap { base._values.index(of: $0) }
    }
    func filtered(_ text: String, _ arguments: [Any?]) -> _CollectionHandle? {
        base._values._filtered(text, arguments)._managed
    }
    func sorted(_ descriptors: [Motte.SortDescriptor]) -> _CollectionHandle? { base.sorted(by: descriptors)._managed }
    func distinct(_ paths: [String]) -> _CollectionHandle? { base.distinct(by: paths)._managed }
    func frozen() -> _CollectionHandle? { base.freeze()._managed }
    func value(_ path: String) -> Any? { base._values.value(forKeyPath: path) }
    func observed(_ paths: [String]?, _ note: @escaping (String) -> Void) -> NotificationToken {
        base.observe(keyPaths: paths) { change in
            switch change {
            case .initial: note("{ initial }")
            case .update(_, let deletions, let insertions, let modifications):
                let quoted = { (keys: [String]) in keys.map { "\"\($0)\"" } }
                note(ObservedEvents.text(quoted(deletions), quoted(insertions), quoted(modifications)))
            case .error(let error): note("error \(error)")
            }
        }
    }

    var entries: [(key: String, value: Any?)] { base.map { ($0.key, $0.value._dynamic) } }
    func has(_ key: String) -> Bool { base.keys.contains(key) }
    /// False for what is no value of the map.
    func put(_ value: Any?, _ key: String) -> Bool {
        guard let value = Value._convert(value) else { return false }
        base.updateValue(value, forKey: key)
        return true
    }
    func remove(_ key: String) { base.removeObject(for: key) }
}

protocol SwiftMap {
    var entries: [(key: String, value: Any?)] { get }
    func has(_ key: String) -> Bool
    func put(_ value: Any?, _ key: String) -> Bool
    func remove(_ key: String)
}
extension ErasedMap: SwiftMap {}

// MARK: - Changing

protocol SwiftEdited { func removeAll() }
extension Motte.List: SwiftEdited {}
extension MutableSet: SwiftEdited {}
extension Map: SwiftEdited {}

protocol SwiftSet {
    func add(_ values: [Any?]) -> Bool
    func discard(_ value: Any?) -> Bool
    func unite(_ other: Any) -> Bool
    func intersect(_ other: Any) -> Bool
    func subtractAll(_ other: Any) -> Bool
    func relation(to other: Any) -> (isSubset: Bool, isSuperset: Bool, intersects: Bool)?
}

extension MutableSet: SwiftSet {
    func add(_ values: [Any?]) -> Bool {
        let elements = values.compactMap { Element._convert($0) }
        guard elements.count == values.count else { return false }
        insert(objectsIn: elements)
        return true
    }
    func discard(_ value: Any?) -> Bool {
        guard let element = Element._convert(value) else { return false }
        remove(element)
        return true
    }
    private func with(_ other: Any, _ body: (MutableSet) -> Void) -> Bool {
        guard let other = other as? MutableSet else { return false }
        body(other)
        return true
    }
    func unite(_ other: Any) -> Bool { with(other, formUnion) }
    func intersect(_ other: Any) -> Bool { with(other, formIntersection) }
    func subtractAll(_ other: Any) -> Bool { with(other, subtract) }
    func relation(to other: Any) -> (isSubset: Bool, isSuperset: Bool, intersects: Bool)? {
        (other as? MutableSet).map { (isSubset(of: $0), isSuperset(of: $0), intersects($0)) }
    }
}

protocol SwiftEditedList {
    /// False for what are no elements of the list.
    func insert(values: [Any?], at index: Int) -> Bool
    func set(_ index: Int, _ value: Any?) -> Bool
    func removeRange(_ range: Range<Int>)
    func move(_ index: Int, _ target: Int)
    func exchange(_ index: Int, _ other: Int)
    func splice(_ range: Range<Int>, _ values: [Any?]) -> Bool
}

extension Motte.List: SwiftEditedList {
    private func converted(_ values: [Any?]) -> [Element]? {
        let elements = values.compactMap { Element._convert($0) }
        return elements.count == values.count ? elements : nil
    }
    func insert(values: [Any?], at index: Int) -> Bool {
        guard let elements = converted(values) else { return false }
        insert(contentsOf: elements, at: index)
        return true
    }
    func set(_ index: Int, _ value: Any?) -> Bool {
        guard let element = Element._convert(value) else { return false }
        self[index] = element
        return true
    }
    func removeRange(_ range: Range<Int>) {
        if range.count == 1 { remove(at: range.lowerBound) } else { removeSubrange(range) }
    }
    func move(_ index: Int, _ target: Int) { move(from: index, to: target) }
    func exchange(_ index: Int, _ other: Int) { swapAt(index, other) }
    func splice(_ range: Range<Int>, _ values: [Any?]) -> Bool {
        guard let elements = converted(values) else { return false }
        replaceSubrange(range, with: elements)
        return true
    }
}

/// A list of the Swift API; what is no element of it is left to the engine to refuse.
struct SwiftList: CaseList {
    private let driver: SwiftCalls
    private let live: LiveCollection
    private let engine: EditedList

    init(_ driver: SwiftCalls, _ live: LiveCollection, _ engine: EditedList) {
        self.driver = driver
        self.live = live
        self.engine = engine
    }

    private func edited() throws -> any SwiftEditedList {
        guard let list = driver.wrapped(live) as? any SwiftEditedList else { throw CaseFailure("this is no list") }
        return list
    }
    private func any(_ values: [ValueView]) -> [Any?] { values.map { driver.any($0, live.session) } }

    func count() throws -> Int { try driver.count(live) }
    func insert(_ values: [ValueView], at index: Int) throws {
        let list = try edited()
        if try !driver.swift({ list.insert(values: any(values), at: index) }) { try engine.insert(values, at: index) }
    }
    func set(_ index: Int, to value: ValueView) throws {
        let list = try edited()
        if try !driver.swift({ list.set(index, any([value])[0]) }) { try engine.set(index, to: value) }
    }
    func remove(at index: Int, count: Int) throws {
        let list = try edited()
        try driver.swift { list.removeRange(index ..< index + count) }
    }
    func move(from index: Int, to target: Int) throws {
        let list = try edited()
        try driver.swift { list.move(index, target) }
    }
    func swap(_ index: Int, _ other: Int) throws {
        let list = try edited()
        try driver.swift { list.exchange(index, other) }
    }
    func splice(at index: Int, removing count: Int, inserting values: [ValueView]) throws {
        let list = try edited()
        guard count >= 0, try driver.swift({ list.splice(index ..< index + count, any(values)) }) else {
            return try engine.splice(at: index, removing: count, inserting: values)
        }
    }
}

// MARK: - Types

extension SwiftCalls {
    func handle(_ value: Any?) throws -> LiveCollection {
        if let handle = (value as? any RealmCollection)?._managed { return handle.live }
        if let handle = (value as? any RealmKeyedCollection)?._managed { return handle.live }
        throw CaseFailure("'\(String(describing: value))' is no collection of a realm")
    }

    func erased(_ live: LiveCollection) -> any SwiftCollection {
        let base = wrapped(live)
        if let collection = base as? any RealmCollection { return Self.erase(collection) }
        if let map = base as? any ErasableMap { return map.erased }
        return Erased(base: Results<AnyRealmValue>._collection(_CollectionHandle(live, core(live.session))))
    }

    func erasedMap(_ live: LiveCollection) -> (any SwiftMap)? {
        (wrapped(live) as? any ErasableMap)?.erased as? any SwiftMap
    }

    private static func erase(_ collection: some RealmCollection) -> any SwiftCollection { Erased(base: collection) }

    /// As the Swift API has it.
    func wrapped(_ live: LiveCollection) -> Any? {
        let handle = _CollectionHandle(live, core(live.session))
        if live.kind == .backlinks { return LinkingObjects<DynamicObject>._collection(handle) }
        if live.kind == .nestedList { return Motte.List<AnyRealmValue>._collection(handle) }
        if live.kind == .nestedMap { return Map<String, AnyRealmValue>._collection(handle) }
        if live.target != nil {
            if live.kind == .map { return Map<String, DynamicObject?>._collection(handle) }
            return typed(handle, DynamicObject.self)
        }
        switch live.elementType {
        case .bool: return typed(handle, Bool.self, Bool?.self)
        case .int: return typed(handle, Int.self, Int?.self)
        case .float: return typed(handle, Float.self, Float?.self)
        case .double: return typed(handle, Double.self, Double?.self)
        case .string: return typed(handle, String.self, String?.self)
        case .data: return typed(handle, Data.self, Data?.self)
        case .timestamp: return typed(handle, Date.self, Date?.self)
        case .decimal: return typed(handle, Motte.Decimal128.self, Motte.Decimal128?.self)
        case .objectID: return typed(handle, ObjectId.self, ObjectId?.self)
        case .uuid: return typed(handle, UUID.self, UUID?.self)
        case .mixed: return typed(handle, AnyRealmValue.self)
        case .link, .linkingObjects: return nil
        }
    }

    private func typed<E: RealmCollectionValue, O: RealmCollectionValue>(
        _ handle: _CollectionHandle, _ type: E.Type, _ optional: O.Type
    ) -> Any { handle.live.isElementNullable ? typed(handle, optional) : typed(handle, type) }

    private func typed<E: RealmCollectionValue>(_ handle: _CollectionHandle, _ type: E.Type) -> Any {
        switch handle.live.kind {
        case .list: Motte.List<E>._collection(handle)
        case .set: MutableSet<E>._collection(handle)
        case .map: Map<String, E>._collection(handle)
        default: Results<E>._collection(handle)
        }
    }
}

protocol ErasableMap { var erased: any SwiftCollection { get } }
extension Map: ErasableMap {
    var erased: any SwiftCollection {
        guard let same = self as? Map<String, Value> else { preconditionFailure("keys are texts") }
        return ErasedMap(base: same)
    }
}
#endif
