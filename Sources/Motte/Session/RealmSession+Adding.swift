/// Unmanaged objects become managed, with everything they reach.
///
/// The row is made first, with all plain values at once; then the object is bound to it, so that a cycle of links finds
/// it managed; then links, collections and mixed values are written, which may add other objects.
import Foundation
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

extension RealmSession {
    package typealias Policy = MotteLiveObjects.UpdatePolicy

    /// The object's place in this realm.
    @discardableResult
    package func added(_ object: ObjectBase, policy: Policy) throws(DatabaseError) -> LiveObject {
        if let live = object.live { return try own(live, object) }
        guard !(object is EmbeddedObject) else {
            throw DatabaseError(
                .invalidArgument,
                "Embedded objects cannot be created directly: assign one to a property or put it into a list or map",
                className: type(of: object).className())
        }
        guard !(object is DynamicObject) else { throw unknownObject }
        let binding = try requireBinding(for: type(of: object))
        _ = try session.requireWrite()
        let late = gather(object, binding)
        let usesKey = binding.objectType.primaryKey != nil && policy != .error
        let (live, isNew) = try withEncoder { encoder throws(DatabaseError) in
            encode(object, binding, encoder)
            if let failure = encoder.failure { throw failure }
            return try insert(binding, encoder.rows, usesKey ? policy : nil)
        }
        attach(added: object, to: live, binding)
        attachments?.note(object, binding, late)
        try write(late, of: object, live, binding, isNew: isNew, policy: policy)
        return live
    }

    /// Of one with properties by name that no realm manages: it has neither class nor values.
    private var unknownObject: DatabaseError {
        isLost
            ? ReportedMisuse.error
            : DatabaseError(
                .invalidArgument,
                "A DynamicObject that no Realm manages has no class and cannot be stored: give a dictionary of values, "
                    + "or an object that was created in this Realm")
    }

    private func insert(
        _ binding: ClassBinding, _ views: UnsafeBufferPointer<ValueView>, _ policy: Policy?
    ) throws(DatabaseError) -> (LiveObject, isNew: Bool) {
        if let policy {
            let (live, isNew) = try session.upsert(
                binding.table, columns: binding.scalarColumns, values: views, policy: policy)
            return (live, isNew)
        }
        let key = try session.create(binding.table, columns: binding.scalarColumns, values: views).key
        return (session.newHandle(binding.table, key), true)
    }

    private func own(_ live: LiveObject, _ object: ObjectBase) throws(DatabaseError) -> LiveObject {
        if object.session === self || live.session === session {
            guard live.isValid else {
                throw DatabaseError(
                    .objectDeleted, "Adding a deleted or invalidated object to a Realm is not permitted")
            }
            return live
        }
        guard live.session.hasSameFile(as: session), !live.session.isFrozen else {
            throw DatabaseError(
                .invalidArgument,
                "Object is already managed by another Realm. Use create instead to copy it into this Realm.")
        }
        throw DatabaseError(
            .wrongThread, "this object belongs to the realm of another thread; pass a ThreadSafeReference")
    }

    func encode(_ object: ObjectBase, _ binding: ClassBinding, _ encoder: _Encoder) {
        let base = Unmanaged.passUnretained(object).toOpaque()
        for (index, place) in binding.places.enumerated() {
            if let common = place.common {
                common.encode(at: base + place.offset, of: object, encoder)
            } else {
                binding.scalars[index].field.access.encode(at: base + place.offset, of: object, encoder)
            }
        }
    }

    // MARK: What needs the row

    enum Late {
        case link(UInt32, ObjectBase?)
        case collection(UInt32, any _CollectionValue, elements: [Any])
        case untouched(UInt32)
        case mixed(UInt32, ClassFields.Field)
    }

    /// Before the object is managed, because then its wrappers read the store.
    func gather(_ object: ObjectBase, _ binding: ClassBinding) -> [Late] {
        if binding.late.isEmpty { return [] }
        return binding.late.map { bound in
            let field = bound.field
            let pointer = field.pointer(in: object)
            if field.isCollection {
                guard field.access.keepsUnmanagedCollection(at: pointer),
                    let collection = field.access.collection(at: pointer, of: object)
                else { return .untouched(bound.column) }
                return .collection(bound.column, collection, elements: collection._detachedCopy)
            }
            if field.shape.type == .mixed {
                // Made now if it is its initial value.
                _ = field.access.value(at: pointer, of: object)
                return .mixed(bound.column, field)
            }
            return .link(bound.column, field.access.linkedObject(at: pointer, of: object))
        }
    }

    func write(
        _ late: [Late], of object: ObjectBase, _ live: LiveObject, _ binding: ClassBinding, isNew: Bool, policy: Policy
    ) throws(DatabaseError) {
        if !binding.linked.isEmpty { addings.objects.append((object, binding)) }
        let parts = Addings.Parts(late: late, object: object, live: live, isNew: isNew, policy: policy)
        // Those of a long chain of links are not written within each other.
        guard addings.nesting < Addings.deepest else { return addings.waiting.append(parts) }
        addings.depth += 1
        addings.nesting += 1
        do throws(DatabaseError) {
            try writeParts(parts)
            while addings.nesting == 1, let next = addings.waiting.popLast() { try writeParts(next) }
        } catch {
            addings.nesting -= 1
            if addings.nesting == 0 { addings.waiting = [] }
            addings.end(isWhole: false)
            throw error
        }
        addings.nesting -= 1
        addings.end(isWhole: true)
    }

    private func writeParts(_ parts: Addings.Parts) throws(DatabaseError) {
        let (object, live, isNew, policy) = (parts.object, parts.live, parts.isNew, parts.policy)
        for item in parts.late {
            switch item {
            case .link(let column, let target):
                if isNew, target == nil { continue }
                try link(live, ColumnKey(column), to: target, policy: policy)
            case .collection(let column, let collection, let elements):
                if !collection._isManaged { collection._attach(to: object, column) }
                try collection._fill(from: elements, policy: policy, isNew: isNew)
            case .untouched(let column):
                if !isNew { try clear(live, ColumnKey(column)) }
            case .mixed(let column, let field):
                try withEncoder(policy: policy) { encoder throws(DatabaseError) in
                    field.access.encode(at: field.pointer(in: object), of: object, encoder)
                    try encoder.withView { view throws(DatabaseError) in
                        if isNew, view.isNull { return }
                        if policy == .modified, !isNew, try !live.get(ColumnKey(column)).differs(from: view) { return }
                        try live.set(ColumnKey(column), to: view)
                    }
                }
            }
        }
    }

    private func clear(_ live: LiveObject, _ column: ColumnKey) throws(DatabaseError) {
        let elements = try live.elements(column)
        guard try elements.count() > 0 else { return }
        if let list = elements as? LiveList { try list.clear() }
        if let set = elements as? LiveSet { try set.clear() }
        if let map = elements as? LiveMap { try map.clear() }
    }

    /// Points a property at an object, which is added; an embedded one is moved in.
    package func link(
        _ live: LiveObject, _ column: ColumnKey, to target: ObjectBase?, policy: Policy
    ) throws(DatabaseError) {
        guard let target else {
            if policy == .modified, try live.get(column).isNull { return }
            return try live.set(column, to: .null)
        }
        let targetName = try live.type.property(column)?.target
        if target is EmbeddedObject || isEmbedded(targetName) {
            let own = try live.object(column)
            if let current = target.live, current.session === live.session, let own, own.link == current.link { return }
            try checkIsUnmanaged(target)
            if policy == .modified, let own { return try fill(target, own, policy: policy, isNew: false) }
            return try fill(target, try live.embeddedPut(column), policy: policy)
        }
        let link = try added(target, policy: policy).link
        if policy == .modified {
            let current = try live.get(column)
            if current.kind == .link, current.linkValue == link { return }
        }
        try live.set(column, to: .link(link))
    }

    func isEmbedded(_ className: String?) -> Bool {
        // Of a session that cannot be asked; adding to it says why.
        guard let className, let schema = try? session.schema else { return false }
        return schema[className]?.isEmbedded ?? false
    }

    /// `collection` is what it is added to; nil for a property of one object.
    func checkIsUnmanaged(_ object: ObjectBase, for collection: String? = nil) throws(DatabaseError) {
        guard object.live == nil else {
            throw DatabaseError(
                .invalidArgument,
                collection.map { "Cannot add an existing managed embedded object to a \($0)." }
                    ?? "Cannot set a link to an existing managed embedded object: it has a parent already")
        }
    }

    /// An unmanaged embedded object takes the place of a fresh row, or of one that gets what differs.
    func fill(
        _ object: ObjectBase, _ live: LiveObject, policy: Policy, isNew: Bool = true
    ) throws(DatabaseError) {
        guard !(object is DynamicObject) else { throw unknownObject }
        let binding = try requireBinding(for: type(of: object))
        let late = gather(object, binding)
        try withEncoder { encoder throws(DatabaseError) in
            encode(object, binding, encoder)
            if let failure = encoder.failure { throw failure }
            guard isNew else {
                for (column, view) in zip(binding.scalarColumns, encoder.rows) {
                    if try live.get(column).differs(from: view) { try live.set(column, to: view) }
                }
                return
            }
            try live.setMany(binding.scalarColumns, values: encoder.rows)
        }
        attach(object, to: live)
        attachments?.note(object, binding, late)
        try write(late, of: object, live, binding, isNew: isNew, policy: policy)
    }

    // MARK: From values of unknown type

    /// A managed object made from a dictionary, an array or another object; what a dictionary leaves out keeps its
    /// value in an object that exists. Unmanaged objects are copied, those that the value reaches too: each once.
    package func created(
        _ type: ObjectBase.Type, _ value: Any, policy: Policy
    ) throws(DatabaseError) -> ObjectBase {
        let isOutermost = copies == nil
        if isOutermost { copies = Copies() }
        defer { if isOutermost { copies = nil } }
        let binding = try requireBinding(for: type)
        _ = try session.requireWrite()
        if policy != .error, let existing = try existing(type, binding, value) {
            var failure: DatabaseError?
            let changes = changes(in: value, for: existing, policy, &failure)
            ObjectValues.assign(changes, to: existing) { value, shape in
                self.resolved(value, shape, policy, &failure)
            }
            if let failure { throw failure }
            return existing
        }
        let object = type.init()
        if let original = value as? ObjectBase { copies?.note(original, object) }
        var failure: DatabaseError?
        var kept: [(value: ObjectValues.Kept, field: ClassFields.Field)] = []
        let fits = ObjectValues.assign(
            value, to: object, resolving: { value, shape in self.resolved(value, shape, policy, &failure) },
            keeping: { kept.append(($0, $1)) })
        if let failure { throw failure }
        // What was misused is not added in part; it has been reported.
        guard fits else { throw ReportedMisuse.error }
        _ = try added(object, policy: policy)
        for (value, field) in kept { try ObjectValues.store(value, field, in: object) }
        return object
    }

    /// The object that has the primary key which the value names.
    private func existing(
        _ type: ObjectBase.Type, _ binding: ClassBinding, _ value: Any
    ) throws(DatabaseError) -> ObjectBase? {
        guard let primaryKey = binding.objectType.primaryKey, Dynamic.entries(value) != nil,
            let field = ClassFields.of(type).field(inColumn: primaryKey.name),
            let entry = Dynamic.entries(value)?.first(where: { $0.key.hasSameBytes(as: field.name) }),
            let key = field.access.storedValue(entry.value), let live = try session.find(binding.table, primaryKey: key)
        else { return nil }
        return object(live, as: type)
    }

    /// Without the primary key, which is fixed; with `.modified`, without what is equal.
    func changes(
        in value: Any, for object: ObjectBase, _ policy: Policy, _ failure: inout DatabaseError?
    ) -> Any {
        let fields = ClassFields.of(type(of: object))
        var changes: [String: Any?] = [:]
        for entry in Dynamic.entries(value) ?? [] {
            if let field = fields.field(named: entry.key) {
                if field.isPrimaryKey { continue }
                if policy == .modified, isUnchanged(field, of: object, entry.value) { continue }
                if policy == .modified, field.shape.type == .link, field.shape.collection == .none,
                    let embedded = embedded(field, of: object),
                    change(embedded, to: entry.value, policy, &failure)
                {
                    continue
                }
                if policy == .modified, field.shape.collection == .list, let value = Dynamic.flattened(entry.value),
                    let list = field.access.collection(at: field.pointer(in: object), of: object)
                {
                    // Element by element: what stays where it is has not changed.
                    if let known = embeddedElements(field, of: object), var elements = Dynamic.elements(value) {
                        for (index, old) in known.enumerated() where index < elements.count {
                            if change(old, to: elements[index], policy, &failure) { elements[index] = old }
                        }
                        if failure == nil { list._assign(elements, policy: policy) }
                        continue
                    }
                    let elements = resolved(value, field.shape, policy, &failure)
                    if failure == nil { list._assign(elements as Any, policy: policy) }
                    continue
                }
            }
            changes[entry.key] = .some(entry.value)
        }
        return changes
    }

    private func isUnchanged(_ field: ClassFields.Field, of object: ObjectBase, _ value: Any?) -> Bool {
        if field.isCollection {
            guard field.shape.collection == .list, let old = storedElements(field, of: object),
                let new = Dynamic.elements(value), old.count == new.count
            else { return false }
            return zip(old, new).allSatisfy { old, new in
                // The elements that are there are of this file.
                guard let old = Dynamic.asked(old), let new = Dynamic.asked(new) else { return false }
                return old.value == new.value && new.files.isSubset(of: [session.databaseNumber])
            }
        }
        // As it is stored, which may be no value of the property's type.
        guard field.shape.type != .link, Dynamic.asked(value)?.files.isSubset(of: [session.databaseNumber]) != false,
            let new = field.access.storedValue(value),
            // What cannot be compared is assigned, which says why.
            let old = try? object.live?.get(field.columnName)
        else { return false }
        return new == old
    }

    /// Those of a failable type as what they are stored as: not all may be values of the type.
    private func storedElements(_ field: ClassFields.Field, of object: ObjectBase) -> [Any?]? {
        let collection = field.access.collection(at: field.pointer(in: object), of: object)
        guard let handle = (collection as? any RawElements)?._managed,
            let stored = field.access.rawElements([Any]())?(handle)
        else { return Dynamic.elements(collection) }
        return Dynamic.elements(stored)
    }

    /// Nested dictionaries that stand for objects become managed objects first.
    func resolved(
        _ value: Any?, _ shape: _Shape, _ policy: Policy, _ failure: inout DatabaseError?
    ) -> Any? {
        let resolved = resolvedParts(value, shape, policy, &failure)
        finishCopies(policy, &failure)
        return resolved
    }

    private func resolvedParts(
        _ value: Any?, _ shape: _Shape, _ policy: Policy, _ failure: inout DatabaseError?
    ) -> Any? {
        guard let value = Dynamic.flattened(value) else { return nil }
        if shape.type == .mixed {
            return mixedCopy(value, isElements: shape.collection == .set, policy, &failure)
        }
        guard let target = shape.target, shape.type == .link else { return value }
        if target is EmbeddedObject.Type { return embeddedCopy(value, policy, &failure) }
        switch shape.collection {
        case .none: return resolvedObject(value, target, policy, &failure)
        case .list, .set:
            guard let elements = Dynamic.elements(value) else { return value }
            return elements.map { resolvedObject($0 as Any, target, policy, &failure) }
        case .map:
            guard let entries = Dynamic.entries(value) else { return value }
            var objects: [String: Any?] = [:]
            for entry in entries { objects[entry.key] = resolvedObject(entry.value as Any, target, policy, &failure) }
            return objects
        }
    }

    private func resolvedObject(
        _ value: Any, _ target: ObjectBase.Type, _ policy: Policy, _ failure: inout DatabaseError?
    ) -> Any? {
        guard let value = Dynamic.flattened(value) else { return nil }
        do throws(DatabaseError) {
            guard let object = value as? ObjectBase else { return try created(target, value, policy: policy) }
            // Whatever it is assigned to refuses another class.
            guard object.storedClassName.hasSameBytes(as: target.className()) else { return object }
            if object.session === self, let live = object.live {
                return type(of: object) == target ? object : self.object(live, as: target)
            }
            // Objects of another realm are matched by their primary keys.
            return try counterpart(of: object, target) ?? copy(object, as: target, policy, &failure)
        } catch {
            failure = error
            return nil
        }
    }

    /// The object of this realm that has the primary key of one of another realm.
    func counterpart(
        of foreign: ObjectBase, _ target: ObjectBase.Type
    ) throws(DatabaseError) -> ObjectBase? {
        guard foreign.live != nil, let binding = binding(for: target),
            let primaryKey = binding.objectType.primaryKey,
            let field = ClassFields.of(target).field(inColumn: primaryKey.name),
            let key = Dynamic.storedValue(foreign.value(forKey: field.name)),
            let live = try session.find(binding.table, primaryKey: key)
        else { return nil }
        return object(live, as: target)
    }

    /// What a link of an object by name is set to.
    func resolvedObject(
        _ value: Any?, in property: MotteSchemaModel.Property
    ) throws(DatabaseError) -> ObjectBase? {
        guard let value = Dynamic.flattened(value) else { return nil }
        if let object = value as? ObjectBase {
            if let name = property.target, !object.storedClassName.hasSameBytes(as: name) {
                throw DatabaseError(
                    .wrongType,
                    "Invalid value of type '\(object.storedClassName)' for property '\(property.name)', which links to "
                        + "'\(name)'", propertyName: property.name)
            }
            return object
        }
        guard let name = property.target, let type = swiftType(named: name) else {
            throw DatabaseError(
                .wrongType, "Invalid value '\(Dynamic.text(value))' for property '\(property.name)'",
                propertyName: property.name)
        }
        if type is EmbeddedObject.Type {
            let object = type.init()
            ObjectValues.assign(value, to: object)
            return object
        }
        return try created(type, value, policy: .error)
    }
}

extension _Encoder {
    /// A link; an unmanaged object is added to the realm.
    package func put(object: ObjectBase) {
        if case .link(let link) = link(to: object) { put(.link(link)) } else { put(.null) }
    }
}
