/// Collections that a class declares with `let`, without the wrapper: the field is a reference to the collection
/// itself.
import MotteLiveObjects
import MotteValues

package protocol BareField: FieldAccess, _Persistable, _CollectionValue, AnyObject {
    var _recordedName: String? { get set }
    var _names: KeyPathNames? { get set }
}

extension BareField {
    package static var shape: _Shape { _shape }
    package static var isCollection: Bool { true }
    package static var isWrapper: Bool { false }

    private static func read(_ pointer: UnsafeMutableRawPointer) -> Self {
        pointer.assumingMemoryBound(to: Self.self).pointee
    }

    package static func declaration(at pointer: UnsafeMutableRawPointer) -> (options: FieldOptions, origin: String?) {
        ([], nil)
    }
    package static func bind(at pointer: UnsafeMutableRawPointer, to object: ObjectBase, _ column: UInt32) {
        read(pointer)._attach(to: object, column)
    }
    package static func record(
        at pointer: UnsafeMutableRawPointer, _ name: String, _ field: Int, _ names: KeyPathNames
    ) {
        let collection = read(pointer)
        collection._recordedName = name
        collection._names = names
    }
    package static func value(at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> Any? { read(pointer) }
    package static func assign(_ value: Any?, at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> Bool {
        guard let collection = _convert(value) else { return false }
        read(pointer)._assign(collection, policy: .all)
        return true
    }
    package static func rawElements(_ value: Any?) -> RawStorage.Collection? {
        (Self.self as? any RawElements.Type)?._raw(for: value)
    }
    package static func encode(at pointer: UnsafeMutableRawPointer, of object: ObjectBase, _ encoder: _Encoder) {}
    package static func linkedObject(at pointer: UnsafeMutableRawPointer, of object: ObjectBase) -> ObjectBase? { nil }
    package static func collection(
        at pointer: UnsafeMutableRawPointer, of object: ObjectBase
    ) -> (any _CollectionValue)? { read(pointer) }
    package static func keepsUnmanagedCollection(at pointer: UnsafeMutableRawPointer) -> Bool { true }

    static func _recording(_ names: KeyPathNames) -> Self {
        let collection = _default()
        collection._names = names
        return collection
    }
}

extension _CollectionValue {
    /// What a key path that goes on behind an element reads, in a prototype that turns key paths into names.
    func _recordedElement<Element: _HasPersistedType>(as type: Element.Type) -> Element? {
        guard let names = _names else { return nil }
        // Declared with `let` it was not asked when it was read.
        if let name = _recordedName, !names.names.last.hasSameBytes(as: name) { names.add(name) }
        return Element._recorded(names)
    }
}
