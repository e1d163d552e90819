/// One property of a projection: `@Projected(\Person.address?.city) var city`.
///
/// It stores only the key path. Reading it reads the root object; writing works where the key path leads to a property
/// that can be set, and needs a write transaction as the property itself does.
import Foundation
import MotteValues

/// A property of a ``Projection``, by the key path that it stands for.
@propertyWrapper
public struct Projected<Root: ObjectBase, Value> {
    private let keyPath: KeyPath<Root, Value>

    /// Stands for what the key path leads to from the root object. It may pass links, computed properties and, by
    /// `projectTo`, the elements of a list or set.
    public init(_ keyPath: KeyPath<Root, Value>) { self.keyPath = keyPath }

    /// Not available: the property is used in a ``Projection``, by its name.
    @available(*, unavailable, message: "@Projected can only be used as a property of a Projection")
    public var wrappedValue: Value {
        get { preconditionFailure("unavailable") }
        nonmutating set { preconditionFailure("unavailable \(newValue)") }
    }

    /// Reads from or writes to the root object. Called by the compiler for each use of the property. Writing takes what
    /// writing to the root takes; a key path that cannot be written to is misuse.
    public static subscript<Owner: ProjectionObservable>(
        _enclosingInstance instance: Owner, wrapped wrappedKeyPath: ReferenceWritableKeyPath<Owner, Value>,
        storage storageKeyPath: ReferenceWritableKeyPath<Owner, Self>
    ) -> Value where Owner.Root == Root {
        get { instance.rootObject[keyPath: instance[keyPath: storageKeyPath].keyPath] }
        set { instance[keyPath: storageKeyPath].set(newValue, in: instance.rootObject) }
    }

    private func set(_ value: Value, in root: Root) {
        guard let writable = keyPath as? ReferenceWritableKeyPath<Root, Value> else {
            return misuse("\(keyPath) cannot be written to; set the property of the root object", .invalidInput)
        }
        root[keyPath: writable] = value
    }
}

/// A projected property to code that does not know its types.
protocol ProjectedProperty {
    /// As names of the root's properties.
    var paths: [String] { get }
    var isCollection: Bool { get }
    /// Whether it is one of the root's stored properties as it is.
    var isStored: Bool { get }
    func value(of root: ObjectBase) -> Any?
    /// False where the value does not fit.
    func set(_ value: Any?, in root: ObjectBase) -> Bool
}

extension Projected: ProjectedProperty {
    var paths: [String] { ProjectedPaths.paths(keyPath) }

    var isCollection: Bool { Value.self is any Sequence.Type && Value.self != String.self && Value.self != Data.self }

    var isStored: Bool {
        paths.count == 1 && keyPath is ReferenceWritableKeyPath<Root, Value> && !paths[0].contains(".")
    }

    func value(of root: ObjectBase) -> Any? {
        guard let root = root as? Root else { return nil }
        let value = root[keyPath: keyPath]
        return (value as? any _HasPersistedType)?._dynamic ?? Dynamic.flattened(value)
    }

    func set(_ value: Any?, in root: ObjectBase) -> Bool {
        guard let root = root as? Root else { return false }
        let converted =
            (Value.self as? any _HasPersistedType.Type).map { $0._convert(value) as? Value } ?? value as? Value
        guard let converted else { return false }
        set(converted, in: root)
        return true
    }
}

/// Key paths of a root as names of its properties.
enum ProjectedPaths {
    /// Most key paths read one stored property after another and are one path. A computed property on the way may read
    /// several of its object's, and then there are as many.
    static func paths<Root: ObjectBase>(_ keyPath: PartialKeyPath<Root>) -> [String] {
        paths(of: Root.self) { $0[keyPath: keyPath] }
    }

    static func paths<P: ProjectionObservable>(projected keyPath: PartialKeyPath<P>) -> [String] {
        paths(of: P.Root.self) { P(projecting: $0)[keyPath: keyPath] }
    }

    private static func paths<Root: ObjectBase>(of root: Root.Type, _ read: (Root) -> Any) -> [String] {
        let recorder = KeyPathNames()
        let value = read(Root._prototype(recorder))
        var names = recorder.names
        if let mapped = value as? any ProjectedCollectionValue {
            if let list = mapped.recordedName, !names.last.hasSameBytes(as: list) { names.append(list) }
            return split(names, root).flatMap { path in mapped.elementPaths.map { "\(path).\($0)" } }
        }
        // A collection declared with `let` is not asked when it is read; what comes out tells which one it is.
        if let collection = value as? any _CollectionValue, let name = collection._recordedName,
            !names.last.hasSameBytes(as: name)
        {
            names.append(name)
        }
        return split(names, root)
    }

    /// A name continues the path before it where that leads to objects of a class that has such a property, and begins
    /// a new path at the root otherwise.
    private static func split(_ names: [String], _ root: ObjectBase.Type) -> [String] {
        var paths: [[String]] = []
        var reached: ObjectBase.Type?
        for name in names {
            if let field = reached.flatMap({ ClassFields.of($0).field(named: name) }) {
                paths[paths.count - 1].append(name)
                reached = field.shape.target
            } else {
                paths.append([name])
                reached = ClassFields.of(root).field(named: name)?.shape.target
            }
        }
        var seen: Set<NameKey> = []
        return paths.map { $0.joined(separator: ".") }.filter { seen.insert(NameKey($0)).inserted }
    }
}
