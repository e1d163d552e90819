/// What only some objects keep beside their values, and the hash of an object, which is the reason to keep something.
///
/// An object with a primary key has the hash of that key, managed or not. A managed object that is deleted has no key
/// any more, so whoever was hashed keeps the hash; who was not has never been in a set.
import MotteLiveObjects
import MotteValues

package final class ObjectNotes {
    /// Of the prototypes that turn key paths into property names.
    var recorder: KeyPathNames?
    /// Of the primary key, once the object is managed.
    fileprivate(set) var keyHash: Int?

    init(recorder: KeyPathNames? = nil) { self.recorder = recorder }
}

extension ObjectBase {
    /// Of the class that it is an object of, also where its properties are seen by name.
    final var storedClassName: String {
        // What was deleted has no class to ask for.
        if self is DynamicObject, let live, let type = try? live.type { return type.name }
        return Swift.type(of: self).className()
    }

    final func hashIdentity(into hasher: inout Hasher) {
        if let live, isFrozen {
            // Equal to other frozen ones alone, and read on any thread.
            hasher.combine(live.link)
        } else if let hash = _objectNotes?.keyHash {
            hasher.combine(hash)
        } else if let key = primaryKey {
            noteHash(live == nil ? nil : key.hashValue)
            hasher.combine(key.hashValue)
        } else {
            hasher.combine(ObjectIdentifier(self))
        }
    }

    /// Makes an unmanaged one remember when it becomes managed.
    private final func noteHash(_ hash: Int?) {
        let notes = _objectNotes ?? ObjectNotes()
        notes.keyHash = hash
        _objectNotes = notes
        // Somebody may have it in a set, so that it cannot stand for another row.
        _objectKeeps = live != nil
    }

    /// As it is stored, null included; nil for a class without, and for what was deleted.
    private final var primaryKey: Value? {
        let field = ClassFields.of(type(of: self)).primaryKey
        guard let live else { return field.map { $0.access.storedValue($0.value(of: self)) ?? .null } }
        // What cannot be read is equal to nothing but itself.
        if let field { return try? live.get(field.columnName) }
        guard self is DynamicObject, let type = try? live.type, let property = type.primaryKey else { return nil }
        return try? live.get(property.name)
    }

    /// Before it becomes managed: see `noteHash`.
    final func keepHash() {
        guard let notes = _objectNotes, notes.recorder == nil, let key = primaryKey else { return }
        notes.keyHash = key.hashValue
    }

    /// It is unmanaged again, and its key may be changed.
    final func forgetHash() { _objectNotes?.keyHash = nil }
}
