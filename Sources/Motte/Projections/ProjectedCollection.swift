/// One property of every object of a list or set, as a collection: `person.friends.projectTo.firstName`.
///
/// Live as the collection behind it; writing an element writes that object's property.
import Dispatch
import Foundation

/// What `projectTo` answers: its members are the properties of the objects in a list or set.
@dynamicMemberLookup
public struct CollectionElementMapper<Element: ObjectBase & RealmCollectionValue> {
    private let make: MapperBase<Element>

    init<C: RealmCollection>(_ base: C) where C.Element == Element { make = Mapper(base) }

    /// The values of one property of all elements: `person.friends.projectTo.name`.
    public subscript<Value: RealmCollectionValue>(
        dynamicMember keyPath: KeyPath<Element, Value>
    ) -> ProjectedCollection<Value> { make.projected(keyPath) }
}

extension List where Element: ObjectBase {
    /// `list.projectTo.name` is the collection of the names of its objects.
    public var projectTo: CollectionElementMapper<Element> { CollectionElementMapper(self) }
}

extension MutableSet where Element: ObjectBase {
    /// `set.projectTo.name` is the collection of the names of its objects, in the set's order.
    public var projectTo: CollectionElementMapper<Element> { CollectionElementMapper(self) }
}

/// One property of every object of a projected list or set. Live, like the list.
public struct ProjectedCollection<Element: RealmCollectionValue>: RandomAccessCollection, CustomStringConvertible,
    ThreadConfined
{
    private let source: ProjectedSource<Element>

    fileprivate init(_ source: ProjectedSource<Element>) { self.source = source }

    /// The realm of the list or set behind it; nil while that is unmanaged.
    public var realm: Realm? { source.realm }
    /// Whether the list or set behind it can no longer be used.
    public var isInvalidated: Bool { source.isInvalidated }
    /// Whether it is fixed to one version, and may be used on every thread.
    public var isFrozen: Bool { source.isFrozen }
    /// The collection at the version that its realm shows, fixed and usable on every thread. On an unmanaged one it is
    /// misuse.
    public func freeze() -> sending Self { frozenForSending(ProjectedCollection(source.frozen())) }
    /// The live counterpart of a frozen collection, in the realm of the calling thread; nil when the object it belongs
    /// to is deleted. On an unmanaged one it is misuse.
    public func thaw() -> Self? { source.thawed().map { ProjectedCollection($0) } }

    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of elements, one more than the last index.
    public var endIndex: Int { source.count }
    /// The number of elements of the list or set behind it.
    public var count: Int { source.count }
    /// The property of the object at a position. Assigning sets that object's property, which takes a write
    /// transaction; a key path that cannot be written to is misuse, and so is a position out of range.
    public subscript(index: Int) -> Element {
        get { source.element(at: index) }
        nonmutating set { source.set(index, to: newValue) }
    }

    /// The first position of a value; nil when it is not there. Reads one object after the other.
    public func index(of element: Element) -> Int? { firstIndex(of: element) }
    /// The position of the first object that a predicate holds for; nil when there is none. The predicate names
    /// properties of the object.
    public func index(matching predicate: NSPredicate) -> Int? { source.index(matching: predicate) }

    /// The values with their positions, for people to read. The form may change.
    public var description: String {
        let lines = enumerated().map { "\t[\($0.offset)] \($0.element)" }
        return "ProjectedCollection<\(Element.self)> {\n\(lines.joined(separator: ",\n"))\n}"
    }

    /// Notifies of insertions and deletions, and of changes of the projected property or, with key paths, of what they
    /// name.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmCollectionChange<ProjectedCollection<Element>>) -> Void
    ) -> NotificationToken { source.observe(keyPaths, queue, block) }

    /// Notifies of insertions, deletions and changes of the projected property, on a serial queue or, for nil, on the
    /// owner of the realm.
    public func observe(
        on queue: DispatchQueue?, _ block: @escaping (RealmCollectionChange<ProjectedCollection<Element>>) -> Void
    ) -> NotificationToken { source.observe(nil, queue, block) }
}

extension ProjectedCollection: Equatable {
    /// Whether the elements are equal, one by one.
    public static func == (left: Self, right: Self) -> Bool { left.elementsEqual(right) }
}

/// What a projected collection is to code that does not know its types.
protocol ProjectedCollectionValue {
    /// By names of stored properties, from an element on.
    var elementPaths: [String] { get }
    /// The list's name in a prototype that turns key paths into names, where it was declared with `let`.
    var recordedName: String? { get }
}

extension ProjectedCollection: ProjectedCollectionValue {
    var elementPaths: [String] { source.elementPaths }
    var recordedName: String? { source.recordedName }
}

// MARK: - The collection behind it

/// A mapper whose collection's type is not known.
private class MapperBase<Element: ObjectBase & RealmCollectionValue> {
    func projected<Value>(_ keyPath: KeyPath<Element, Value>) -> ProjectedCollection<Value> {
        preconditionFailure("abstract")
    }
}

private final class Mapper<Base: RealmCollection>: MapperBase<Base.Element>
where Base.Element: ObjectBase & RealmCollectionValue {
    private let base: Base
    init(_ base: Base) { self.base = base }

    override func projected<Value>(_ keyPath: KeyPath<Base.Element, Value>) -> ProjectedCollection<Value> {
        ProjectedCollection(ProjectedElements(base, keyPath))
    }
}

/// What a projected collection asks for, whatever is behind it.
private class ProjectedSource<Value: RealmCollectionValue> {
    var realm: Realm? { preconditionFailure("abstract") }
    var isInvalidated: Bool { preconditionFailure("abstract") }
    var isFrozen: Bool { preconditionFailure("abstract") }
    var count: Int { preconditionFailure("abstract") }
    var elementPaths: [String] { preconditionFailure("abstract") }
    var recordedName: String? { preconditionFailure("abstract") }
    func element(at index: Int) -> Value { preconditionFailure("abstract") }
    func set(_ index: Int, to value: Value) { preconditionFailure("abstract") }
    func index(matching predicate: NSPredicate) -> Int? { preconditionFailure("abstract") }
    func frozen() -> ProjectedSource { preconditionFailure("abstract") }
    func thawed() -> ProjectedSource? { preconditionFailure("abstract") }
    func observe(
        _ keyPaths: [String]?, _ queue: DispatchQueue?,
        _ block: @escaping (RealmCollectionChange<ProjectedCollection<Value>>) -> Void
    ) -> NotificationToken { preconditionFailure("abstract") }
}

private final class ProjectedElements<Base: RealmCollection, Value: RealmCollectionValue>: ProjectedSource<Value>
where Base.Element: ObjectBase & RealmCollectionValue {
    private let base: Base
    private let keyPath: KeyPath<Base.Element, Value>

    init(_ base: Base, _ keyPath: KeyPath<Base.Element, Value>) {
        self.base = base
        self.keyPath = keyPath
    }

    override var realm: Realm? { base.realm }
    override var isInvalidated: Bool { base.isInvalidated }
    override var isFrozen: Bool { base.isFrozen }
    override var count: Int { base.count }
    override var elementPaths: [String] { ProjectedPaths.paths(keyPath) }
    override var recordedName: String? { (base as? any _CollectionValue)?._recordedName }
    override func element(at index: Int) -> Value { base[index][keyPath: keyPath] }

    override func set(_ index: Int, to value: Value) {
        guard let writable = keyPath as? ReferenceWritableKeyPath<Base.Element, Value> else {
            return misuse("\(keyPath) cannot be written to; set the property of the object", .invalidInput)
        }
        base[index][keyPath: writable] = value
    }

    override func index(matching predicate: NSPredicate) -> Int? { base.index(matching: predicate) }
    override func frozen() -> ProjectedSource<Value> { ProjectedElements(base.freeze(), keyPath) }
    override func thawed() -> ProjectedSource<Value>? { base.thaw().map { ProjectedElements($0, keyPath) } }

    override func observe(
        _ keyPaths: [String]?, _ queue: DispatchQueue?,
        _ block: @escaping (RealmCollectionChange<ProjectedCollection<Value>>) -> Void
    ) -> NotificationToken {
        let keyPath = keyPath
        return base.observe(keyPaths: keyPaths ?? elementPaths, on: queue) { change in
            switch change {
            case .initial(let base): block(.initial(ProjectedCollection(ProjectedElements(base, keyPath))))
            case .update(let base, let deletions, let insertions, let modifications):
                block(
                    .update(
                        ProjectedCollection(ProjectedElements(base, keyPath)), deletions: deletions,
                        insertions: insertions, modifications: modifications))
            case .error(let error): block(.error(error))
            }
        }
    }
}
