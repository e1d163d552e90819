/// An ordered collection that belongs to an object: `@Persisted var dogs: List<Dog>`.
///
/// Unmanaged it is an array; once its object is in a realm it reads and writes the stored list, keeping its identity.
import Foundation
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

public final class List<Element: RealmCollectionValue>: RealmCollection, ExpressibleByArrayLiteral {
    private var elements: [Element] = []
    private var managed: LiveList?
    private var session: RealmSession?

    public init() {}
    public init(arrayLiteral elements: Element...) { self.elements = elements }

    public var _live: _LiveCollection? {
        guard let managed, let session else { return nil }
        return _LiveCollection(live: managed, session: session)
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { count }
    public var count: Int { managed.map { list in misuse { try list.count() } } ?? elements.count }

    public subscript(position: Int) -> Element {
        get {
            guard let managed, let session else { return elements[position] }
            let value = misuse { try managed.value(at: position).owned }
            guard let element = element(value, session) else {
                preconditionFailure("The element at \(position) no longer exists")
            }
            return element
        }
        set {
            guard let managed else {
                elements[position] = newValue
                return
            }
            stored(newValue).withView { view in misuse { try managed.set(position, to: view) } }
        }
    }

    /// The element as stored; an unmanaged object is added to the realm.
    private func stored(_ element: Element) -> Value {
        let holder = ObjectBase()
        holder.session = session
        return element._storedForWriting(holder).value
    }

    // MARK: Changing

    public func append(_ element: Element) { insert(element, at: count) }
    public func append<S: Sequence>(objectsIn elements: S) where S.Element == Element {
        for element in Array(elements) { append(element) }
    }

    public func insert(_ element: Element, at index: Int) {
        guard let managed else {
            elements.insert(element, at: index)
            return
        }
        stored(element).withView { view in misuse { try managed.insert(view, at: index) } }
    }

    public func remove(at index: Int) {
        guard let managed else {
            elements.remove(at: index)
            return
        }
        misuse { try managed.remove(at: index) }
    }

    public func removeAll() {
        elements.removeAll()
        if let managed { misuse { try managed.clear() } }
    }

    public func removeFirst(_ number: Int = 1) { for _ in 0 ..< number { remove(at: 0) } }
    public func removeLast(_ number: Int = 1) { for _ in 0 ..< number { remove(at: count - 1) } }

    public func move(from: Int, to: Int) {
        guard let managed else {
            elements.insert(elements.remove(at: from), at: to)
            return
        }
        misuse { try managed.move(from: from, to: to) }
    }

    public func swapAt(_ first: Int, _ second: Int) {
        guard let managed else {
            elements.swapAt(first, second)
            return
        }
        misuse { try managed.swap(first, second) }
    }

    // MARK: Becoming managed

    fileprivate func attach(_ list: LiveList, _ session: RealmSession) {
        managed = list
        self.session = session
    }

    fileprivate func takeUnmanaged() -> [Element] {
        defer { elements = [] }
        return elements
    }
}

/// A list whatever its elements are. Opaque to programs.
public protocol _AnyList: AnyObject {
    var _isManaged: Bool { get }
    func _replace(with value: Any)
}

extension List: _AnyList {
    public var _isManaged: Bool { _live != nil }

    /// Assigning a list to itself changes nothing.
    public func _replace(with value: Any) {
        guard let other = value as? List<Element>, other !== self else { return }
        let elements = Array(other)
        removeAll()
        append(objectsIn: elements)
    }
}

extension List: _Persistable {
    public static var _shape: _PropertyShape {
        let element = Element._optionalShape
        return _PropertyShape(type: element.type, collection: .list, target: element.target)
    }

    public static func _default() -> List { List() }
    public static func _read(_ object: ObjectBase, _ column: _Column) -> List {
        let list = List()
        if let session = object.session { list.attach(misuse { try object.requireLive().list(column.key) }, session) }
        return list
    }

    /// What an unmanaged list held is written into the stored one.
    public func _write(_ object: ObjectBase, _ column: _Column) {
        let pending = _isManaged ? takeUnmanaged() : Array(self)
        if !_isManaged, let session = object.session {
            attach(misuse { try object.requireLive().list(column.key) }, session)
        }
        elementsReplaced(by: pending)
    }

    private func elementsReplaced(by pending: [Element]) {
        if count > 0 { removeAll() }
        append(objectsIn: pending)
    }

    public static func _attached(_ value: List?, to object: ObjectBase, _ column: _Column?, origin: String?) -> List? {
        guard let column, let session = object.session else { return nil }
        let list = value ?? List()
        list.attach(misuse { try object.requireLive().list(column.key) }, session)
        return list
    }

    public var _stored: _StoredValue? { nil }
    public static func _fromAny(_ value: Any?) -> List? {
        if let list = value as? List { return list }
        let list = List()
        for element in value as? [Any] ?? [] {
            guard let converted = Element._optionalFromAny(element) else { return nil }
            list.append(converted)
        }
        return list
    }
}
