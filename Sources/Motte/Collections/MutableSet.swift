/// A set: each value once. Managed, it is in the store's order of values; unmanaged, in the order of insertion.
import Foundation
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

/// Values or objects without duplicates, in no order that means anything, owned by an object.
///
/// Managed, it is live: it shows what its realm shows, may be used only by the realm's owner and changed only in a
/// write transaction. Unmanaged objects that are put into it are added to the realm. Positions are for reading only;
/// they may change with every element that is inserted or removed.
public final class MutableSet<Element: RealmCollectionValue>: RealmCollection, _ObjcBridgeable, _Persistable,
    _DefaultConstructible
{
    /// Sets are stored as they are.
    public typealias PersistedType = MutableSet

    private enum State {
        case unmanaged([Element], Set<Element>)
        case managed(_CollectionHandle)
    }
    private var state: State
    package var _recordedName: String?
    package var _names: KeyPathNames?

    /// An empty unmanaged set.
    public init() { state = .unmanaged([], []) }
    private init(_ handle: _CollectionHandle) { state = .managed(handle) }
    package convenience init(unmanaged elements: [Element]) {
        self.init()
        insert(objectsIn: elements)
    }

    public static func _collection(_ handle: _CollectionHandle) -> MutableSet { MutableSet(handle) }
    public var _managed: _CollectionHandle? {
        if case .managed(let handle) = state { return handle.noted }
        return nil
    }
    public static func _nothing() -> MutableSet { MutableSet() }
    public var _unmanaged: [Element] {
        if case .unmanaged(let elements, _) = state { return elements }
        return []
    }
    public static var _kindName: String { "MutableSet" }
    /// The element at a position: in the order of values once managed, in the order of insertion before. A position out
    /// of range is misuse; if the handler returns, the answer is a default value.
    public subscript(index: Int) -> Element { _element(at: index) }

    /// Misuse, as in RealmSwift: sets have no positions that last.
    public func index(of element: Element) -> Int? {
        misuse("index(of:) is not available on MutableSet", .invalidInput)
        return nil
    }
    /// Misuse, as in RealmSwift: sets have no positions that last.
    public func index(matching predicate: NSPredicate) -> Int? {
        misuse("index(matching:) is not available on MutableSet", .invalidInput)
        return nil
    }

    private func change(
        _ unmanaged: (inout [Element], inout Set<Element>) -> Void,
        managed: (LiveSet, RealmSession) throws(DatabaseError) -> Void
    ) {
        attempt { () throws(DatabaseError) in
            switch state {
            case .managed(let handle):
                _ = try handle.live.session.requireWrite()
                guard let set = handle.live as? LiveSet else { return }
                try managed(set, handle.session)
            case .unmanaged(var elements, var members):
                state = .unmanaged([], [])
                unmanaged(&elements, &members)
                state = .unmanaged(elements, members)
            }
        }
    }

    // MARK: Members

    /// Whether an element is in the set. A managed set contains no object that is unmanaged or of another file.
    public func contains(_ element: Element) -> Bool {
        switch state {
        case .unmanaged(_, let members): return members.contains(element)
        case .managed(let handle):
            let handle = handle.noted
            return attempt(or: false) { () throws(DatabaseError) in try handle.position(of: element) != nil }
        }
    }

    /// Inserts an element, if it is not there.
    public func insert(_ element: Element) { insert(objectsIn: CollectionOfOne(element)) }

    /// Inserts those elements that are not there. A managed set takes all of them or, after misuse, none.
    public func insert<S: Sequence>(objectsIn objects: S) where S.Iterator.Element == Element {
        change { elements, members in
            for object in objects where members.insert(object).inserted { elements.append(object) }
        } managed: { set, session throws(DatabaseError) in
            try session.whole { () throws(DatabaseError) in
                try session.withEncoder { encoder throws(DatabaseError) in
                    for object in objects { object._encode(encoder) }
                    _ = try set.insert(Array(encoder.checkedRows()))
                }
            }
        }
    }

    /// Removes an element, if it is there. An object stays in the realm.
    public func remove(_ element: Element) {
        change { elements, members in
            if members.remove(element) != nil { elements.removeAll { $0 == element } }
        } managed: { set, session throws(DatabaseError) in
            if let object = element._linkedObject, object.live == nil { return }
            try session.withEncoder { encoder throws(DatabaseError) in
                element._encode(encoder)
                try encoder.withView { view throws(DatabaseError) in _ = try set.remove(view) }
            }
        }
    }

    /// Removes all elements. Objects stay in the realm.
    public func removeAll() {
        change { elements, members in
            elements = []
            members = []
        } managed: { set, _ throws(DatabaseError) in
            try set.clear()
        }
    }

    // MARK: Algebra

    /// Inserts the elements of another set, which may be unmanaged. Objects of another realm are misuse.
    public func formUnion(_ other: MutableSet<Element>) {
        combine(other) { set, theirs throws(DatabaseError) in
            try set.formUnion(theirs)
        } otherwise: {
            insert(objectsIn: Array(other))
        }
    }

    /// Removes the elements that are not in the other set, which may be unmanaged. A set with objects of another realm
    /// is misuse.
    public func formIntersection(_ other: MutableSet<Element>) {
        combine(other) { set, theirs throws(DatabaseError) in
            try set.formIntersection(theirs)
        } otherwise: {
            removeAll { !other.contains($0) }
        }
    }

    /// Removes the elements that are in the other set, which may be unmanaged. A set with objects of another realm is
    /// misuse.
    public func subtract(_ other: MutableSet<Element>) {
        combine(other) { set, theirs throws(DatabaseError) in
            try set.subtract(theirs)
        } otherwise: {
            removeAll { other.contains($0) }
        }
    }

    /// Whether the sets have an element in common.
    public func intersects(_ other: MutableSet<Element>) -> Bool { contains { other.contains($0) } }
    /// Whether all elements of this set are in the other; equal sets are subsets of each other.
    public func isSubset(of other: MutableSet<Element>) -> Bool { allSatisfy { other.contains($0) } }
    /// Whether all elements of the other set are in this one.
    public func isSuperset(of other: MutableSet<Element>) -> Bool { other.isSubset(of: self) }

    private var liveSet: LiveSet? { _managed?.live as? LiveSet }

    /// By the engine where both are managed in one session. Of others the values are taken, but not the objects, which
    /// are other ones.
    private func combine(
        _ other: MutableSet<Element>, _ body: (LiveSet, LiveSet) throws(DatabaseError) -> Void,
        otherwise fallback: () -> Void
    ) {
        guard let theirs = other.liveSet else { return fallback() }
        let mine = liveSet
        if let mine, mine.session === theirs.session {
            attempt { () throws(DatabaseError) in try body(mine, theirs) }
        } else if Element._shape.type == .link || (Element._shape.type == .mixed && other.hasObjects) {
            // Unmanaged sets may hold objects of any realm.
            guard let mine, !mine.session.hasSameFile(as: theirs.session) else { return fallback() }
            misuse("A set cannot be combined with objects of another Realm", .invalidInput)
        } else {
            fallback()
        }
    }

    private var hasObjects: Bool { contains { $0._linkedObject != nil } }

    /// All of them or none.
    private func removeAll(where isLeaving: (Element) -> Bool) {
        let leaving = Array(self).filter(isLeaving)
        change { elements, members in
            members.subtract(leaving)
            elements.removeAll { !members.contains($0) }
        } managed: { set, session throws(DatabaseError) in
            try session.whole { () throws(DatabaseError) in
                try session.withEncoder { encoder throws(DatabaseError) in
                    for element in leaving { element._encode(encoder) }
                    for view in try encoder.checkedRows() { _ = try set.remove(view) }
                }
            }
        }
    }

    // MARK: By name

    /// A property of every element; see ``value(forKeyPath:)``.
    public func value(forKey key: String) -> [AnyObject] { value(forKeyPath: key) }
    /// What a path of property names leads to from the elements, each value once, with `NSNull` for null. `self` is the
    /// elements themselves. A path such as `@sum.age` or `@count` gives an array of one total.
    public func value(forKeyPath path: String) -> [AnyObject] {
        var seen: Set<AnyHashable> = []
        return _values(forKeyPath: path).filter { value in
            (value as? AnyHashable).map { seen.insert($0).inserted } ?? true
        }
    }

    // MARK: As a property

    public static var _shape: _Shape { Element._shape.inside(.set) }
    public static var _isCollection: Bool { true }
    public static func _default() -> MutableSet { MutableSet() }
    public static func _decode(_ stored: _Stored) -> MutableSet? { nil }
    public static func _recorded(_ names: KeyPathNames) -> MutableSet { _recording(names) }
    public func _encode(_ encoder: _Encoder) {}
    public static func _convert(_ value: Any?) -> MutableSet? {
        guard let value = Dynamic.flattened(value) else { return MutableSet() }
        if let set = value as? MutableSet { return set._isManaged ? MutableSet(unmanaged: Array(set)) : set }
        return _elements(value).map { MutableSet(unmanaged: $0) }
    }

    public static func _get(_ object: ObjectBase, _ column: UInt32) -> MutableSet {
        guard let live = object.live, let session = object.session else { return MutableSet() }
        let set = attempt { () throws(DatabaseError) in try live.set(ColumnKey(column)) }
        return set.map { MutableSet(_CollectionHandle($0, session)) } ?? MutableSet()
    }
    public static func _set(_ object: ObjectBase, _ column: UInt32, _ value: MutableSet) {
        _get(object, column)._assign(value, policy: .all)
    }
}

extension MutableSet: WholeElements {
    package func _attach(to object: ObjectBase, _ column: UInt32) { state = MutableSet._get(object, column).state }
    package func _hold(_ elements: [Element]) { state = MutableSet(unmanaged: elements).state }
    package func _put(
        _ elements: [Element], policy: MotteLiveObjects.UpdatePolicy, isNew: Bool
    ) throws(DatabaseError) {
        guard let set = liveSet, let session = _managed?.session else { return }
        _ = try set.session.requireWrite()
        try session.whole { () throws(DatabaseError) in
            try session.withEncoder(policy: policy) { encoder throws(DatabaseError) in
                for element in elements { element._encode(encoder) }
                try set.assign(Array(encoder.checkedRows()))
            }
        }
    }
}

extension MutableSet: BareField {}

extension MutableSet: RawElements {
    package static func _raw(for value: Any?) -> RawStorage.Collection? { RawStorage.set(Element.self, value) }
}

extension MutableSet: Encodable where Element: Encodable {
    /// Encodes the elements as an array, in the order they have now.
    public func encode(to encoder: Encoder) throws { try CollectionCoding.encode(self, to: encoder) }
}

extension MutableSet: Decodable where Element: Decodable {
    /// Decodes an array into an unmanaged set; of equal elements the first is kept. Throws what decoding an element
    /// throws.
    public convenience init(from decoder: Decoder) throws {
        var container = try decoder.unkeyedContainer()
        var elements: [Element] = []
        while !container.isAtEnd { elements.append(try container.decode(Element.self)) }
        self.init(unmanaged: elements)
    }
}

/// What mixed values do not hold.
protocol _SetValue {}

extension MutableSet: _SetValue {}
