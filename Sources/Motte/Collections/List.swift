/// An ordered list: an array of its own while it is unmanaged, a view of the store once its object is in a realm.
import Foundation
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

/// An ordered collection, owned by an object. Unmanaged, it is an array with the same interface.
///
/// Managed, it is live: it shows what its realm shows, may be used only by the realm's owner and changed only in a
/// write transaction. Unmanaged objects that are put into it are added to the realm; objects of an embedded class must
/// be unmanaged, and belong to the list from then on. Everything else is misuse, and so is an index out of range.
public final class List<Element: RealmCollectionValue>: RealmCollection, _ObjcBridgeable, _Persistable,
    MutableCollection, _DefaultConstructible
{
    /// Lists are stored as they are.
    public typealias PersistedType = List
    /// A slice is a view, not a copy. Its indexes are those of the list, so it is only good as long as these stay.
    public typealias SubSequence = Slice<List>

    private enum State {
        case unmanaged([Element])
        case managed(_CollectionHandle)
    }
    private var state: State
    package var _recordedName: String?
    package var _names: KeyPathNames?

    /// An empty unmanaged list.
    public init() { state = .unmanaged([]) }
    private init(_ handle: _CollectionHandle) { state = .managed(handle) }
    package init(unmanaged elements: [Element]) { state = .unmanaged(elements) }

    public static func _collection(_ handle: _CollectionHandle) -> List { List(handle) }
    public var _managed: _CollectionHandle? {
        if case .managed(let handle) = state { return handle.noted }
        return nil
    }
    public static func _nothing() -> List { List() }
    public var _unmanaged: [Element] {
        if case .unmanaged(let elements) = state { return elements }
        return []
    }
    public static var _kindName: String { "List" }

    /// Changes either form; indexes are checked the same way.
    private func change(
        _ unmanaged: (inout [Element]) throws(DatabaseError) -> Void,
        managed: (ManagedList) throws(DatabaseError) -> Void
    ) {
        attempt { () throws(DatabaseError) in
            switch state {
            case .managed(let handle): try managed(ManagedList(handle: handle))
            case .unmanaged(var elements):
                // Let go of, so that the elements are changed in place.
                state = .unmanaged([])
                defer { state = .unmanaged(elements) }
                try unmanaged(&elements)
            }
        }
    }

    private static func check(_ index: Int, _ limit: Int) throws(DatabaseError) {
        guard index >= 0, index < limit else { throw ManagedList.outOfBounds(index, limit) }
    }

    private static func check(_ range: Range<Int>, _ count: Int) throws(DatabaseError) {
        guard range.lowerBound >= 0, range.upperBound <= count else {
            throw ManagedList.outOfBounds(range.lowerBound < 0 ? range.lowerBound : range.upperBound, count)
        }
    }

    // MARK: Elements

    /// The element at a position. Setting it is the same as ``replace(index:object:)``.
    public subscript(index: Int) -> Element {
        get { _element(at: index) }
        set { replace(index: index, object: newValue) }
    }

    /// The elements in a range of positions. Getting it makes a view and copies nothing; setting it is the same as
    /// ``replaceSubrange(_:with:)``.
    public subscript(bounds: Range<Int>) -> Slice<List> {
        get { Slice(base: self, bounds: bounds) }
        set { replaceSubrange(bounds, with: Array(newValue)) }
    }

    /// Adds an element at the end.
    public func append(_ element: Element) { insert(contentsOf: CollectionOfOne(element), at: count) }

    /// Adds elements at the end, in their order. A managed list takes all of them or, after misuse, none.
    public func append<S: Sequence>(objectsIn objects: S) where S.Iterator.Element == Element {
        insert(contentsOf: Array(objects), at: count)
    }

    /// Inserts an element before the one at `index`, which may be the count.
    public func insert(_ element: Element, at index: Int) { insert(contentsOf: CollectionOfOne(element), at: index) }

    /// Inserts elements before the one at `index`, which may be the count. All or none are inserted.
    public func insert<C: Swift.Collection>(contentsOf elements: C, at index: Int) where C.Iterator.Element == Element {
        change { list throws(DatabaseError) in
            try List.check(index, list.count + 1)
            list.insert(contentsOf: elements, at: index)
        } managed: { list throws(DatabaseError) in
            try list.insert(elements, at: index)
        }
    }

    /// Removes the element at a position. An object stays in the realm unless it is embedded.
    public func remove(at index: Int) {
        change { list throws(DatabaseError) in
            try List.check(index, list.count)
            list.remove(at: index)
        } managed: { list throws(DatabaseError) in
            try list.remove(at: index)
        }
    }

    /// Removes the elements at these positions, the last one first. Embedded objects are deleted.
    public func remove(atOffsets offsets: IndexSet) {
        change { list throws(DatabaseError) in
            if let last = offsets.last { try List.check(last, list.count) }
            for index in offsets.reversed() { list.remove(at: index) }
        } managed: { list throws(DatabaseError) in
            try list.remove(offsets)
        }
    }

    /// Removes all elements. Objects stay in the realm unless they are embedded.
    public func removeAll() {
        change { list throws(DatabaseError) in
            list.removeAll()
        } managed: { list throws(DatabaseError) in
            try list.clear()
        }
    }

    /// Removes elements from the beginning, by default one. More than there are, or a negative number, is misuse and
    /// removes nothing.
    public func removeFirst(_ number: Int = 1) {
        let count = count
        guard hasAtLeast(number, count) else { return }
        removeSubrange(0 ..< number)
    }
    /// Removes elements from the end, by default one. More than there are, or a negative number, is misuse and removes
    /// nothing.
    public func removeLast(_ number: Int = 1) {
        let count = count
        guard hasAtLeast(number, count) else { return }
        removeSubrange(count - number ..< count)
    }

    private func hasAtLeast(_ number: Int, _ count: Int) -> Bool {
        if number >= 0, number <= count { return true }
        misuse(
            number < 0
                ? "Cannot pass a negative value for 'index': \(number) elements cannot be removed."
                : "It is not possible to remove more objects (\(number)) from a list than it already contains "
                    + "(\(count)): index is out of bounds.", .invalidInput)
        return false
    }

    /// Removes the elements in a range of positions. Objects stay in the realm unless they are embedded.
    public func removeSubrange<R: RangeExpression>(_ bounds: R) where R.Bound == Int {
        let range = bounds.relative(to: self)
        change { list throws(DatabaseError) in
            try List.check(range, list.count)
            list.removeSubrange(range)
        } managed: { list throws(DatabaseError) in
            try list.remove(at: range.lowerBound, count: range.count)
        }
    }

    /// Removes the elements in a range and inserts others in their place; there may be more or fewer of these. Objects
    /// that are removed stay in the realm unless they are embedded.
    public func replaceSubrange<C: Swift.Collection, R: RangeExpression>(_ bounds: R, with elements: C)
    where C.Iterator.Element == Element, R.Bound == Int {
        let range = bounds.relative(to: self)
        let elements = Array(elements)
        change { list throws(DatabaseError) in
            try List.check(range, list.count)
            list.replaceSubrange(range, with: elements)
        } managed: { list throws(DatabaseError) in
            try list.replace(range, with: elements)
        }
    }

    /// Puts an element in place of the one at `index`. An embedded object that was there is deleted. Observers are
    /// notified of a modification, also where the value is equal.
    public func replace(index: Int, object: Element) {
        change { list throws(DatabaseError) in
            try List.check(index, list.count)
            list[index] = object
        } managed: { list throws(DatabaseError) in
            try list.set(object, at: index)
        }
    }

    /// Moves an element; afterwards it is at `target`. Both are positions of the list, less than its count.
    public func move(from index: Int, to target: Int) {
        change { list throws(DatabaseError) in
            try List.check(index, list.count)
            try List.check(target, list.count)
            list.insert(list.remove(at: index), at: target)
        } managed: { list throws(DatabaseError) in
            try list.move(from: index, to: target)
        }
    }

    /// As SwiftUI's `onMove` has it: `destination` is a position before any element has moved, and may be the count.
    public func move(fromOffsets offsets: IndexSet, toOffset destination: Int) {
        let places = ListMoves.places(offsets, destination)
        change { list throws(DatabaseError) in
            if let last = offsets.last { try List.check(last, list.count) }
            try List.check(destination, list.count + 1)
            for place in places { list.insert(list.remove(at: place.from), at: place.to) }
        } managed: { list throws(DatabaseError) in
            try list.move(offsets, to: destination, places)
        }
    }

    /// Exchanges two elements.
    public func swapAt(_ index: Int, _ other: Int) {
        change { list throws(DatabaseError) in
            try List.check(index, list.count)
            try List.check(other, list.count)
            list.swapAt(index, other)
        } managed: { list throws(DatabaseError) in
            try list.swap(index, other)
        }
    }

    // MARK: By name

    /// A property of every element, in order; see ``value(forKeyPath:)``.
    public func value(forKey key: String) -> [AnyObject] { value(forKeyPath: key) }
    /// What a path of property names leads to from each element, in order, with `NSNull` for null. `self` is the
    /// elements themselves. A path such as `@sum.age` or `@count` gives an array of one total.
    public func value(forKeyPath path: String) -> [AnyObject] { _values(forKeyPath: path) }

    // MARK: As a property

    public static var _shape: _Shape { Element._shape.inside(.list) }
    public static var _isCollection: Bool { true }
    public static func _default() -> List { List() }
    public static func _decode(_ stored: _Stored) -> List? { nil }
    public static func _recorded(_ names: KeyPathNames) -> List { _recording(names) }
    public func _encode(_ encoder: _Encoder) {}
    public static func _convert(_ value: Any?) -> List? {
        guard let value = Dynamic.flattened(value) else { return List() }
        // What comes out of a realm is copied, with embedded objects of its own: it shall not change with what it
        // came from.
        if let list = value as? List, !list._isManaged { return list }
        return _elements(value).map { List(unmanaged: $0) }
    }

    public static func _get(_ object: ObjectBase, _ column: UInt32) -> List {
        guard let live = object.live, let session = object.session else { return List() }
        let list = attempt { () throws(DatabaseError) in try live.list(ColumnKey(column)) }
        return list.map { List(_CollectionHandle($0, session)) } ?? List()
    }
    public static func _set(_ object: ObjectBase, _ column: UInt32, _ value: List) {
        _get(object, column)._assign(value, policy: .all)
    }
}

extension List: WholeElements {
    package func _attach(to object: ObjectBase, _ column: UInt32) { state = List._get(object, column).state }
    package func _hold(_ elements: [Element]) { state = .unmanaged(elements) }
    package func _put(
        _ elements: [Element], policy: MotteLiveObjects.UpdatePolicy, isNew: Bool
    ) throws(DatabaseError) {
        guard let list = _managed.map({ ManagedList(handle: $0) }) else { return }
        if isNew { try list.insert(elements, at: 0, policy: policy) } else { try list.assign(elements, policy: policy) }
    }
}

extension List: BareField {}

extension List: RawElements {
    package static func _raw(for value: Any?) -> RawStorage.Collection? { RawStorage.list(Element.self, value) }
}

/// Several moves at once as moves one after the other.
enum ListMoves {
    static func places(_ offsets: IndexSet, _ destination: Int) -> [(from: Int, to: Int)] {
        var moves: [(from: Int, to: Int)] = []
        let before = offsets.filter { $0 < destination }
        // Those before the destination shift to the left as the ones ahead of them leave.
        for (done, offset) in before.enumerated() { moves.append((offset - done, destination - 1)) }
        for (done, offset) in offsets.filter({ $0 >= destination }).enumerated() {
            moves.append((offset, destination + done))
        }
        return moves
    }
}

extension List: Encodable where Element: Encodable {
    /// Encodes the elements as an array.
    public func encode(to encoder: Encoder) throws { try CollectionCoding.encode(self, to: encoder) }
}

extension List: Decodable where Element: Decodable {
    /// Decodes an array into an unmanaged list. Throws what decoding an element throws.
    public convenience init(from decoder: Decoder) throws {
        var container = try decoder.unkeyedContainer()
        var elements: [Element] = []
        while !container.isAtEnd { elements.append(try container.decode(Element.self)) }
        self.init(unmanaged: elements)
    }
}
