/// What `create` takes out of the values that it is given: copies of unmanaged objects, which stay as they are, and
/// changes to embedded objects that are there already.
import Foundation
import MotteLiveObjects
import MotteValues

/// Objects that are being added, from the first of a graph to the last: what they keep of each other is let go of when
/// all of them are there.
struct Addings {
    /// What an object has that is written once its row is there.
    struct Parts {
        let late: [RealmSession.Late]
        let object: ObjectBase
        let live: LiveObject
        let isNew: Bool
        let policy: RealmSession.Policy
    }
    /// Written when those around them are.
    var waiting: [Parts] = []
    /// How many objects are being written within each other.
    var nesting = 0
    static let deepest = 64

    var depth = 0
    var objects: [(object: ObjectBase, binding: ClassBinding)] = []

    mutating func end(isWhole: Bool) {
        depth -= 1
        guard depth == 0, !objects.isEmpty else { return }
        let ended = objects
        objects = []
        guard isWhole else { return }
        for (object, binding) in ended where object.live != nil {
            for bound in binding.linked { bound.field.access.release(at: bound.field.pointer(in: object)) }
        }
    }
}

/// The copies of one call, each object's once, so that a cycle of links becomes a cycle.
struct Copies {
    /// An object by what it is: the instance, or the row that a managed one shows.
    private enum Original: Hashable {
        case instance(ObjectIdentifier)
        case row(database: UInt64, ObjectLink)

        init(_ object: ObjectBase) {
            if let live = object.live {
                self = .row(database: live.session.databaseNumber, live.link)
            } else {
                self = .instance(ObjectIdentifier(object))
            }
        }
    }
    private var known: [Original: (original: ObjectBase, copy: ObjectBase)] = [:]
    /// Copies that have not got their values, because too many others wait for theirs: those of a long chain of links
    /// are not made within each other.
    var waiting: [(original: ObjectBase, copy: ObjectBase)] = []
    var depth = 0
    static let deepest = 64

    func copy(of object: ObjectBase) -> ObjectBase? { known[Original(object)]?.copy }
    mutating func note(_ object: ObjectBase, _ copy: ObjectBase) { known[Original(object)] = (object, copy) }
}

extension RealmSession {
    /// The copy of an unmanaged object, or of another realm's, with copies of those that it links to.
    func copy(
        _ object: ObjectBase, as type: ObjectBase.Type? = nil, _ policy: Policy, _ failure: inout DatabaseError?
    ) -> ObjectBase {
        // A stored embedded object is copied for each of the copies that have one: it has one parent.
        let isPart = object is EmbeddedObject && object.live != nil
        if !isPart, let known = copies?.copy(of: object) { return known }
        let copy = (type ?? Swift.type(of: object)).init()
        if !isPart { copies?.note(object, copy) }
        guard let depth = copies?.depth, depth >= Copies.deepest else {
            fill(copy, from: object, policy, &failure)
            return copy
        }
        copies?.waiting.append((object, copy))
        return copy
    }

    private func fill(
        _ copy: ObjectBase, from object: ObjectBase, _ policy: Policy, _ failure: inout DatabaseError?
    ) {
        copies?.depth += 1
        ObjectValues.assign(object, to: copy) { value, shape in self.resolved(value, shape, policy, &failure) }
        copies?.depth -= 1
    }

    /// Before what links to them is added: not while one is being filled.
    func finishCopies(_ policy: Policy, _ failure: inout DatabaseError?) {
        while failure == nil, copies?.depth == 0, let next = copies?.waiting.popLast() {
            fill(next.copy, from: next.original, policy, &failure)
        }
    }

    /// `isElements` of a collection of mixed values, which may be a set.
    func mixedCopy(
        _ value: Any, isElements: Bool = false, _ policy: Policy, _ failure: inout DatabaseError?
    ) -> Any? {
        switch value {
        case let object as Object:
            return mixedCopy(of: object, policy, &failure)
        case let mixed as AnyRealmValue:
            if case .object(let object) = mixed { return mixedCopy(object, policy, &failure) }
            if case .list(let list) = mixed { return mixedCopy(list, policy, &failure) }
            if case .dictionary(let map) = mixed { return mixedCopy(map, policy, &failure) }
            return mixed
        default: break
        }
        if let entries = Dynamic.entries(value) {
            var copies: [String: Any?] = [:]
            for entry in entries {
                copies[entry.key] = entry.value.flatMap { mixedCopy($0, policy, &failure) }
            }
            return copies
        }
        if value is any _SetValue, !isElements { return value }
        guard let elements = Dynamic.elements(value) else { return value }
        return elements.map { element in element.flatMap { mixedCopy($0, policy, &failure) } }
    }

    private func mixedCopy(
        of object: Object, _ policy: Policy, _ failure: inout DatabaseError?
    ) -> ObjectBase? {
        if object.live == nil { return copy(object, policy, &failure) }
        guard object.session !== self, let type = swiftType(named: object.storedClassName) else { return object }
        do throws(DatabaseError) {
            return try counterpart(of: object, type) ?? copy(object, as: type, policy, &failure)
        } catch {
            failure = error
            return nil
        }
    }

    /// Of embedded objects, alone or in a collection.
    func embeddedCopy(_ value: Any, _ policy: Policy, _ failure: inout DatabaseError?) -> Any? {
        if let object = value as? EmbeddedObject {
            return object.live == nil || object.session !== self ? copy(object, policy, &failure) : object
        }
        guard let collection = value as? any _CollectionValue, !isOwn(collection) else { return value }
        if let entries = Dynamic.entries(collection) {
            var copies: [String: Any?] = [:]
            for entry in entries {
                copies[entry.key] = entry.value.flatMap { embeddedCopy($0, policy, &failure) }
            }
            return copies
        }
        guard let elements = Dynamic.elements(collection) else { return value }
        return elements.map { element in element.flatMap { embeddedCopy($0, policy, &failure) } }
    }

    private func isOwn(_ collection: any _CollectionValue) -> Bool {
        let handle =
            (collection as? any RealmCollection)?._managed ?? (collection as? any RealmKeyedCollection)?._managed
        return handle?.session === self
    }

    // MARK: Embedded objects that are there

    /// The embedded object that a property has, also behind a type of the program's own.
    func embedded(_ field: ClassFields.Field, of object: ObjectBase) -> EmbeddedObject? {
        guard let target = field.shape.target, target is EmbeddedObject.Type, let live = object.live,
            // Without one to be changed in place, a new one is assigned, which fails with the cause.
            let column = try? live.type.property(named: field.columnName)?.columnKey,
            let own = try? live.object(column)
        else { return nil }
        return self.object(own, as: target) as? EmbeddedObject
    }

    /// nil for what is no list of embedded objects.
    func embeddedElements(_ field: ClassFields.Field, of object: ObjectBase) -> [EmbeddedObject]? {
        guard let target = field.shape.target, target is EmbeddedObject.Type, let live = object.live,
            // As above.
            let column = try? live.type.property(named: field.columnName)?.columnKey,
            let list = try? live.list(column), let count = try? list.count()
        else { return nil }
        return (0 ..< count).compactMap { index in
            // As above: what cannot be read is not changed in place.
            guard let link = try? list.value(at: index).linkValue else { return nil }
            return self.object(link, as: target) as? EmbeddedObject
        }
    }

    /// In place: who has it sees the new values, and what is not named stays. False for a value that has to replace it.
    func change(
        _ embedded: EmbeddedObject, to value: Any?, _ policy: Policy, _ failure: inout DatabaseError?
    ) -> Bool {
        guard let value = Dynamic.flattened(value), let live = embedded.live else { return false }
        if Dynamic.entries(value) != nil {
            let changes = changes(in: value, for: embedded, policy, &failure)
            ObjectValues.assign(changes, to: embedded) { value, shape in
                self.resolved(value, shape, policy, &failure)
            }
            return true
        }
        guard let object = (value as? any _HasPersistedType)?._linkedObject, type(of: object) == type(of: embedded)
        else { return false }
        if let own = object.live { return own.session === live.session && own.link == live.link }
        do throws(DatabaseError) {
            let copy = copy(object, policy, &failure)
            finishCopies(policy, &failure)
            try fill(copy, live, policy: policy, isNew: false)
        } catch {
            failure = failure ?? error
        }
        return true
    }
}
