/// What lists, sets, results and inverse links have in common.
///
/// Everything that is the same for all of them is in extensions over two requirements: the engine's collection behind a
/// managed one, and the elements of an unmanaged one. Managed collections are live and lazy: nothing is computed
/// before it is asked for, and indexes may change under you whenever the realm moves.
import Foundation
import MotteLiveObjects
import MotteQueryEngine
import MotteValues

/// The engine's collection behind a managed one. Opaque to programs.
public struct _CollectionHandle {
    package let live: LiveCollection
    package let session: RealmSession

    package init(_ live: LiveCollection, _ session: RealmSession) {
        self.live = live
        self.session = session
    }

    /// Where an element is. No element equals what is in no file, or in another one.
    func position(of element: some _HasPersistedType) throws(DatabaseError) -> Int? {
        let encoder = _Encoder(asking: ())
        element._encode(encoder)
        guard encoder.files.isSubset(of: [live.session.databaseNumber]) else { return nil }
        return try encoder.withView { view throws(DatabaseError) in try live.find(view) }
    }
}

/// What lists, sets, results and inverse links are to Swift: lazy collections with random access, confined to the owner
/// of their realm.
public protocol RealmCollectionBase: RandomAccessCollection, LazyCollectionProtocol, CustomStringConvertible,
    ThreadConfined
where Element: RealmCollectionValue {
    /// Another name for the type of the elements.
    typealias ElementType = Element
}

/// What lists, sets, results and inverse links can do, managed and unmanaged.
///
/// Managed ones are live and confined to the owner of their realm.
public protocol RealmCollection: RealmCollectionBase, Equatable where Iterator == RLMIterator<Element>, Index == Int {
    /// nil while it is unmanaged. Opaque to programs.
    var _managed: _CollectionHandle? { get }
    /// Of an unmanaged one.
    var _unmanaged: [Element] { get }
    static func _collection(_ handle: _CollectionHandle) -> Self
    /// One without elements, where misuse leaves nothing else to hand out.
    static func _nothing() -> Self
    static var _kindName: String { get }
}

/// What a collection is to code that does not know its element type.
package protocol _CollectionValue {
    /// Becomes the collection of a managed object's property.
    func _attach(to object: ObjectBase, _ column: UInt32)
    /// Elements that it had before it was attached.
    var _detachedCopy: [Any] { get }
    /// Makes it an unmanaged one of these again.
    func _detach(_ elements: [Any])
    /// Writes elements of an unmanaged collection into this managed one.
    func _fill(from elements: [Any], policy: MotteLiveObjects.UpdatePolicy, isNew: Bool) throws(DatabaseError)
    /// Makes it consist of the elements of a collection, array or dictionary.
    func _assign(_ value: Any, policy: MotteLiveObjects.UpdatePolicy)
    /// Its name, in a prototype that turns key paths into names.
    var _recordedName: String? { get }
    /// Where names are noted, in such a prototype.
    var _names: KeyPathNames? { get }
    func _text(depth: Int) -> String
    var _isManaged: Bool { get }
}

package protocol _MapValue: _CollectionValue {
    var _dynamicEntries: [(key: String, value: Any?)] { get }
    func setValue(_ value: Any?, forKey key: String)
}

/// Goes over the elements that the collection had when the iteration began.
public struct RLMIterator<Element: RealmCollectionValue>: IteratorProtocol {
    private enum Source {
        case live(LiveCollection, RealmSession)
        case elements([Element])
    }

    private let source: Source
    /// Of objects, instead of the source: by their keys, which stay while the collection changes.
    @usableFromInline let objects: _ObjectSource?
    private let count: Int
    @usableFromInline var index = 0

    init(_ handle: _CollectionHandle) {
        let live = handle.live
        if let target = live.target, !live.isElementNullable {
            let keys = attempt(or: [Int64]()) { () throws(DatabaseError) in try live.keys() }
            let type = Element.self as? ObjectBase.Type
            objects = _ObjectSource(keys, type, target, handle, isFixed: live.isSnapshot)
            source = .elements([])
            count = keys.count
            return
        }
        objects = nil
        if live.session.isInWrite {
            let elements = attempt(or: [Element]()) { () throws(DatabaseError) in
                var elements: [Element] = []
                for index in 0 ..< (try live.count()) {
                    if let element = Element._decode(_Stored(try live.value(at: index), handle.session)) {
                        elements.append(element)
                    }
                }
                return elements
            }
            source = .elements(elements)
            count = elements.count
        } else {
            source = .live(live, handle.session)
            count = attempt(or: 0) { () throws(DatabaseError) in try live.count() }
        }
    }

    init(_ elements: [Element]) {
        source = .elements(elements)
        objects = nil
        count = elements.count
    }

    /// The next element; nil at the end. An iteration over objects gives those whose keys the collection had when it
    /// began.
    @inlinable public mutating func next() -> Element? {
        guard let object = objects?._next(index) else { return nextOtherwise() }
        index &+= 1
        // The source only has objects of this very type.
        return unsafeBitCast(object, to: Element.self)
    }

    @usableFromInline mutating func nextOtherwise() -> Element? {
        guard index < count else { return nil }
        defer { index += 1 }
        if let objects { return Element._object(objects.key(index), of: objects) ?? Element._default() }
        switch source {
        case .elements(let elements): return elements[index]
        case .live(let live, let session):
            return attempt(or: nil) { () throws(DatabaseError) in
                live.session.releaseMemory()
                guard index < (try live.count()) else { return nil }
                return Element._decode(_Stored(try live.value(at: index), session))
            }
        }
    }
}

// MARK: Elements

extension RealmCollection {
    /// The realm it belongs to; nil while it is unmanaged.
    public var realm: Realm? { _managed.map { Realm($0.session) } }
    /// Whether it can no longer be used: the object it belongs to was deleted, or its realm was invalidated. False for
    /// an unmanaged one.
    public var isInvalidated: Bool { _managed.map { !$0.live.isValid } ?? false }
    /// Whether it is fixed to one version, and may be used on every thread.
    public var isFrozen: Bool { _managed?.live.isFrozen ?? false }

    /// Goes over the elements. Objects are those that the collection has now, whatever is inserted or removed
    /// meanwhile; so are values within a write transaction.
    public func makeIterator() -> RLMIterator<Element> {
        if let handle = _managed { return RLMIterator(handle) }
        return RLMIterator(_unmanaged)
    }

    /// The number of elements. Of results this evaluates the query, unless it is evaluated for this version already.
    public var count: Int {
        guard let handle = _managed else { return _unmanaged.count }
        return attempt(or: 0) { () throws(DatabaseError) in try handle.live.count() }
    }
    /// Whether there is no element.
    public var isEmpty: Bool { count == 0 }
    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of elements, one more than the last index.
    public var endIndex: Int { count }
    /// The next index; nothing is checked or read.
    public func index(after index: Int) -> Int { index + 1 }
    /// The index before; nothing is checked or read.
    public func index(before index: Int) -> Int { index - 1 }

    /// The first element; nil when there is none.
    public var first: Element? { count > 0 ? _element(at: 0) : nil }
    /// The last element; nil when there is none.
    public var last: Element? {
        let count = count
        return count > 0 ? _element(at: count - 1) : nil
    }

    @inline(__always)
    package func _element(at index: Int) -> Element {
        guard let handle = _managed else {
            let elements = _unmanaged
            guard index >= 0, index < elements.count else { return _outOfBounds(index, elements.count) }
            return elements[index]
        }
        handle.live.session.releaseMemory()
        do throws(DatabaseError) {
            let view: ValueView
            do throws(DatabaseError) { view = try handle.live.value(at: index) } catch {
                // In the words that programs look for.
                throw error.code == .outOfBounds ? ManagedList.outOfBounds(index, try handle.live.count()) : error
            }
            if view.kind == .list || view.kind == .map, let nested = try handle.live.nestedCollection(at: index) {
                return AnyRealmValue(nested, handle.session) as? Element ?? Element._default()
            }
            if let element = Element._decode(_Stored(view, handle.session)) { return element }
            throw DatabaseError(.objectDeleted, "the element at index \(index) cannot be read as \(Element.self)")
        } catch {
            if error.code == .outOfBounds { return _outOfBounds(index, count) }
            misuse(error)
            return Element._default()
        }
    }

    func _outOfBounds(_ index: Int, _ count: Int) -> Element {
        if let element = (self as? any _CollectionValue)?._recordedElement(as: Element.self) { return element }
        misuse(ManagedList.outOfBounds(index, count).message, .invalidInput)
        return Element._default()
    }

    /// The elements at these positions, ascending. A position out of range is misuse.
    public func objects(at indexes: IndexSet) -> [Element] { indexes.map { _element(at: $0) } }

    /// Managed collections are equal when they are the same list, set or nested collection of the same object in the
    /// same realm; results and inverse links only when they are one and the same. Unmanaged ones are equal when their
    /// elements are. A managed and an unmanaged collection are never equal.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left._managed, right._managed) {
        case (let left?, let right?): left.live === right.live || left.live.isSameCollection(as: right.live)
        case (nil, nil): left._unmanaged == right._unmanaged
        default: false
        }
    }

    /// The first hundred elements, for people to read. The form may change.
    public var description: String { _text(depth: 0) }

    package func _text(depth: Int) -> String {
        let address = ObjectText.address(_managed?.live as AnyObject? ?? self as AnyObject)
        return ObjectText.list("\(Self._kindName)<\(Element._storedName)> <\(address)>", count, depth: depth) {
            "\t[\($0)] " + ObjectText.text(_element(at: $0)._dynamic, depth: depth + 1)
        }
    }

    // MARK: Versions

    /// The collection at the version that its realm shows, fixed and usable on every thread; a frozen one gives itself.
    /// Within a write transaction it is the version that the transaction began with. On an unmanaged collection it is
    /// misuse. The version is kept in the file until the frozen collection is released.
    public func freeze() -> sending Self { frozenForSending(frozen()) }

    private func frozen() -> Self {
        guard let handle = _managed else {
            misuse("Unmanaged collections cannot be frozen.", .invalidInput)
            return Self._nothing()
        }
        if handle.live.isFrozen { return self }
        // Not itself: what is handed out may go anywhere.
        return attempt(or: Self._nothing()) { () throws(DatabaseError) in
            let frozen = try handle.session.frozen()
            guard try handle.live.exists() else { throw Self._gone }
            return Self._collection(_CollectionHandle(try handle.live.frozen(in: frozen.session), frozen))
        }
    }

    /// The live counterpart of a frozen collection, in the realm of the calling thread; a live one gives itself. nil
    /// when the object it belongs to is deleted. On an unmanaged collection it is misuse.
    public func thaw() -> Self? {
        guard let handle = _managed else {
            misuse("Unmanaged collections cannot be thawed.", .invalidInput)
            return nil
        }
        guard let thawed = handle.session.thawed() else { return nil }
        if thawed === handle.session { return self }
        return attempt(or: nil) { () throws(DatabaseError) in
            try handle.live.moved(to: thawed.session).map { Self._collection(_CollectionHandle($0, thawed)) }
        }
    }

    static var _gone: DatabaseError {
        DatabaseError(.objectDeleted, "the object that this collection belongs to has been deleted")
    }

    // MARK: Looking for elements

    /// The position of the first element that equals this one; nil when there is none. A managed collection finds
    /// objects by their identity, so an unmanaged object, or one of another file, is never in it.
    public func index(of element: Element) -> Int? {
        guard let handle = _managed else { return _unmanaged.firstIndex(of: element) }
        return attempt(or: nil) { () throws(DatabaseError) in try handle.position(of: element) }
    }

    /// The position of the first element that a predicate holds for; nil when there is none. What the predicate names
    /// and the elements lack is misuse, and so is a predicate made of a block, if the collection is managed.
    public func index(matching predicate: NSPredicate) -> Int? {
        _managed == nil ? _firstIndex(matching: predicate) : _firstIndex(in: filter(predicate))
    }
    /// The position of the first element that a query text with its arguments holds for; nil when there is none. Text
    /// that cannot be read is misuse.
    public func index(matching format: String, _ args: Any...) -> Int? {
        _managed == nil
            ? _firstIndex(matching: NSPredicate(format: format, argumentArray: args))
            : _firstIndex(in: _filtered(format, args))
    }
    /// The position of the first element that a typed query holds for; nil when there is none.
    public func index(matching isIncluded: (Query<Element>) -> Query<Bool>) -> Int? {
        _managed == nil
            ? _firstIndex(matching: isIncluded(Query<Element>._root(Element._shape.target != nil)))
            : _firstIndex(in: self.where(isIncluded))
    }

    private func _firstIndex(in results: Results<Element>) -> Int? {
        guard let first = results.first else { return nil }
        return index(of: first)
    }

    // MARK: By name

    /// The value of a property of every element; the elements themselves for `self`.
    public func value(forKey key: String) -> Any? { value(forKeyPath: key) }

    /// What a path of property names leads to from each element, as an array with `NSNull` for null; `self` is the
    /// elements themselves. `@count`, `@min.age`, `@max.age`, `@sum.age` and `@avg.age` give one total instead,
    /// `@unionOfObjects.name` the values as they are and `@distinctUnionOfObjects.name` each of them once.
    public func value(forKeyPath path: String) -> Any? {
        if let total = _CollectionTotals.total(of: self, path) { return total }
        // A total of nothing.
        if path.hasPrefix("@") { return nil }
        if path == "self" { return map { $0._dynamic ?? NSNull() } as [Any] }
        let target = Element._shape.target
        guard target != nil || Element._shape.type == .mixed else {
            misuse(
                "'\(path)' is no property of the elements of a \(Self._kindName)<\(Element._typeName)>, which are "
                    + "values: use 'self'", .invalidInput)
            return nil
        }
        let values = map { $0._linkedObject?.value(forKeyPath: path) ?? NSNull() } as [Any]
        // There is no element to say that it does not have the property.
        if values.isEmpty, let target, target != DynamicObject.self { _ = target.init().value(forKeyPath: path) }
        return values
    }

    /// For lists and sets, whose own signatures promise an array of objects.
    func _values(forKeyPath path: String) -> [AnyObject] {
        let value: Any? = value(forKeyPath: path)
        if let values = value as? [Any] { return values.map { $0 as AnyObject } }
        return value.map { [$0 as AnyObject] } ?? []
    }

    /// Sets a property of every element, by the name it has in Swift. It takes a write transaction; a value that does
    /// not fit is misuse.
    public func setValue(_ value: Any?, forKey key: String) {
        for element in Array(self) { element._linkedObject?.setValue(value, forKey: key) }
    }
}

extension _HasPersistedType {
    /// As messages name the element type.
    static var _typeName: String { _shape.target?.className() ?? "\(Self.self)" }
    /// As descriptions of collections do: by what it is stored as.
    static var _storedName: String { _shape.target?.className() ?? PropertyType(_shape.type).description }
}

extension LiveCollection {
    /// The list or map at a position of a collection of mixed values.
    func nestedCollection(at index: Int) throws(DatabaseError) -> LiveNested? {
        if let elements = self as? LiveElements { return try elements.nested(at: index) }
        if let nested = self as? LiveNested { return try nested.nested(at: index) }
        return nil
    }

    /// The same list, set or map of the same object seen through the same session.
    func isSameCollection(as other: LiveCollection) -> Bool {
        guard session === other.session else { return false }
        if let mine = self as? LiveElements, let theirs = other as? LiveElements {
            return mine.owner.link == theirs.owner.link && mine.column == theirs.column && mine.kind == theirs.kind
        }
        if let mine = self as? LiveNested, let theirs = other as? LiveNested {
            guard mine.owner.link == theirs.owner.link, mine.column == theirs.column,
                // What is gone is no collection to be the same as.
                let here = try? mine.path(), let there = try? theirs.path()
            else { return false }
            return here == there
        }
        return false
    }
}
