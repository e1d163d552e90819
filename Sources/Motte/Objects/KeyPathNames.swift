/// Swift key paths as the names of stored properties: `\Person.dog?.name` is `dog.name`. These are the program's names;
/// what the file calls them (`StoredNames`) is for the engine alone.
///
/// A key path is evaluated once on a prototype whose properties note that they were read; the outcome is remembered by
/// key path.
import Foundation
import MotteValues

/// Collects the names of the properties that a key path passes. Opaque to programs.
public final class KeyPathNames {
    package var names: [String] = []
    package init() {}

    package func add(_ name: String) { names.append(name) }

    private static let known = Locked<[AnyKeyPath: String]>(ofProcess: [:])

    /// nil for a path that reads no stored property. A path through more than the prototype has says so at its first
    /// name that is none.
    package static func path<Root: ObjectBase>(_ keyPath: PartialKeyPath<Root>) -> String? {
        if let name = known.withLock({ $0[keyPath] }) { return name }
        let names = KeyPathNames()
        let value = Root._prototype(names)[keyPath: keyPath]
        // A list declared with `let` is not asked when it is read; what comes out tells which one it is.
        if let collection = value as? any _CollectionValue, let name = collection._recordedName,
            !names.names.last.hasSameBytes(as: name)
        {
            names.add(name)
        }
        guard !names.names.isEmpty else { return nil }
        let path = names.names.joined(separator: ".")
        known.withLock { $0[keyPath] = path }
        return path
    }
}

extension ObjectBase {
    /// An object whose properties note in `names` that they were read.
    package static func _prototype(_ names: KeyPathNames) -> Self {
        let prototype = Self()
        prototype._objectNotes = ObjectNotes(recorder: names)
        for (index, field) in ClassFields.of(Self.self).fields.enumerated() {
            field.access.record(at: field.pointer(in: prototype), field.name, index, names)
        }
        return prototype
    }

    func _recordedRead<Value: _HasPersistedType>(_ field: UInt32) -> Value {
        guard let recorder = _objectNotes?.recorder else { return Value._default() }
        _noteRead(field)
        return Value._recorded(recorder)
    }

    func _noteRead(_ field: UInt32) {
        let fields = ClassFields.of(type(of: self)).fields
        if Int(field) < fields.count { _objectNotes?.recorder?.add(fields[Int(field)].name) }
    }
}

extension ObjectBase {
    public static func _path(of keyPath: AnyKeyPath) -> String {
        (keyPath as? PartialKeyPath<Self>).map { _name(for: $0) } ?? ""
    }
}

/// The path of property names that a key path stands for, for code that builds queries by text.
public func _name<T: ObjectBase>(for keyPath: PartialKeyPath<T>) -> String {
    if let name = KeyPathNames.path(keyPath) { return name }
    misuse("\(keyPath) does not read a persisted property of \(T.className())")
    return ""
}
