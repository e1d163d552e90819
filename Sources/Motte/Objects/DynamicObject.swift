/// An object whose class is only known by name: in migrations, in `dynamicObjects("Dog")`, behind `AnyRealmValue`.
import Foundation
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

/// An object with properties by name, for classes that the program has no model of.
@dynamicMemberLookup
public final class DynamicObject: Object {
    /// An unmanaged object, which has no properties. Those of a database come from ``Realm/dynamicObjects(_:)``,
    /// ``Realm/dynamicCreate(_:value:update:)`` and migrations.
    public required init() { super.init() }

    /// A property by name, as by `value(forKey:)`. Assigning takes a write transaction; an unknown name is misuse.
    public subscript(dynamicMember member: String) -> Any? {
        get { value(forKey: member) }
        set { setValue(newValue, forKey: member) }
    }

    /// False: the class stands for others and is none itself.
    public override class func shouldIncludeInDefaultSchema() -> Bool { false }

    func property(named name: String) -> MotteSchemaModel.Property? {
        // No property is found on what was deleted or closed; reading or setting it says why.
        guard let live, let type = try? live.type else { return nil }
        return type.property(named: name)
            ?? session?.swiftType(of: live.table).flatMap { ClassFields.of($0).field(named: name) }
            .flatMap { type.property(named: $0.columnName) }
    }

    /// Ints are number objects; lists, sets and maps are typed by their column.
    func read(_ name: String) -> Any? {
        guard let live, let session else { return nil }
        guard let property = property(named: name) else { return value(forUndefinedKey: name) }
        return attempt(or: nil) { () throws(DatabaseError) in
            if property.isCollection || property.type == .linkingObjects {
                return DynamicCollections.collection(try live.collection(property.name), property, session)
            }
            guard let column = property.columnKey else { return nil }
            // By name all the way, whatever classes the program has.
            if property.type == .link {
                return try live.object(column).map { session.object($0, as: DynamicObject.self) }
            }
            live.session.releaseMemory()
            let view = try live.get(column)
            if view.kind == .link { return session.object(view.linkValue, as: DynamicObject.self) }
            // Live, as that of a declared class is.
            if view.kind == .list || view.kind == .map, let nested = try live.nested(column) {
                return AnyRealmValue(nested, session)._dynamic
            }
            // A number object is cast to an int of any width.
            if property.type == .int, view.kind == .int { return NSNumber(value: view.intValue) }
            return AnyRealmValue.dynamicValue(view, session)
        }
    }

    /// Text as what it is stored as, where it is that.
    private static func parsed(_ value: Any?, _ type: MotteSchemaModel.PropertyType) -> Any? {
        let value = Dynamic.flattened(value)
        guard Dynamic.text(in: value) != nil else { return value }
        let parsed: Any? =
            switch type {
            case .decimal: Decimal128._convert(value)
            case .objectID: ObjectId._convert(value)
            case .uuid: UUID._convert(value)
            default: nil
            }
        return parsed ?? value
    }

    private static func misfit(_ value: Any?, _ name: String) -> DatabaseError {
        DatabaseError(
            .wrongType, "Invalid value '\(Dynamic.text(value))' for property '\(name)'", propertyName: name)
    }

    func write(_ name: String, _ value: Any?) {
        guard let live, let session else { return }
        guard let property = property(named: name), let column = property.columnKey else {
            return setValue(value, forUndefinedKey: name)
        }
        attempt { () throws(DatabaseError) in
            if property.isCollection {
                try DynamicCollections.assign(value, to: live, property, session)
            } else if property.type == .link {
                _ = try live.session.requireWrite()
                try session.whole { () throws(DatabaseError) in
                    try session.link(live, column, to: session.resolvedObject(value, in: property), policy: .error)
                }
            } else if property.type == .mixed {
                guard let mixed = AnyRealmValue._convert(value) else { throw Self.misfit(value, name) }
                _ = try live.session.requireWrite()
                try session.whole { () throws(DatabaseError) in
                    try session.withEncoder { encoder throws(DatabaseError) in
                        mixed._encode(encoder)
                        try encoder.withView { view throws(DatabaseError) in try live.set(column, to: view) }
                    }
                }
            } else {
                guard let stored = Dynamic.storedValue(Self.parsed(value, property.type)) else {
                    throw Self.misfit(value, name)
                }
                try stored.withView { view throws(DatabaseError) in try live.set(column, to: view) }
            }
        }
    }
}

/// An object as a migration block sees it: with its properties by name, as they were or as they become.
public typealias MigrationObject = DynamicObject

/// Collections of objects by name, typed by what their column holds.
enum DynamicCollections {
    static func collection(_ live: LiveCollection, _ property: MotteSchemaModel.Property, _ session: RealmSession)
        -> Any?
    {
        let handle = _CollectionHandle(live, session)
        if property.type == .linkingObjects { return LinkingObjects<DynamicObject>._collection(handle) }
        switch (property.type, property.isNullable) {
        case (.bool, false): return typed(handle, property, Bool.self)
        case (.bool, true): return typed(handle, property, Bool?.self)
        case (.int, false): return typed(handle, property, Int.self)
        case (.int, true): return typed(handle, property, Int?.self)
        case (.float, false): return typed(handle, property, Float.self)
        case (.float, true): return typed(handle, property, Float?.self)
        case (.double, false): return typed(handle, property, Double.self)
        case (.double, true): return typed(handle, property, Double?.self)
        case (.string, false): return typed(handle, property, String.self)
        case (.string, true): return typed(handle, property, String?.self)
        case (.data, false): return typed(handle, property, Data.self)
        case (.data, true): return typed(handle, property, Data?.self)
        case (.timestamp, false): return typed(handle, property, Date.self)
        case (.timestamp, true): return typed(handle, property, Date?.self)
        case (.decimal, false): return typed(handle, property, Decimal128.self)
        case (.decimal, true): return typed(handle, property, Decimal128?.self)
        case (.objectID, false): return typed(handle, property, ObjectId.self)
        case (.objectID, true): return typed(handle, property, ObjectId?.self)
        case (.uuid, false): return typed(handle, property, UUID.self)
        case (.uuid, true): return typed(handle, property, UUID?.self)
        case (.mixed, _): return typed(handle, property, AnyRealmValue.self)
        case (.link, _):
            return property.isMap
                ? Map<String, DynamicObject?>(handle: handle) : typed(handle, property, DynamicObject.self)
        case (.linkingObjects, _): return nil
        }
    }

    private static func typed<Element: RealmCollectionValue>(
        _ handle: _CollectionHandle, _ property: MotteSchemaModel.Property, _ type: Element.Type
    ) -> Any {
        switch property.collection {
        case .set: MutableSet<Element>._collection(handle)
        case .map: Map<String, Element>(handle: handle)
        case .list, .none: List<Element>._collection(handle)
        }
    }

    static func assign(
        _ value: Any?, to live: LiveObject, _ property: MotteSchemaModel.Property, _ session: RealmSession
    ) throws(DatabaseError) {
        let elements = try live.collection(property.name)
        _ = try live.session.requireWrite()
        // Of objects it is given those of the program's class, which has the values that they come with.
        let type = property.type == .link ? property.target.flatMap { session.swiftType(named: $0) } : nil
        let known = (type as? any _RealmCollectionValueInsideOptional.Type).map {
            objects(_CollectionHandle(elements, session), property, $0)
        }
        guard let target = (known ?? collection(elements, property, session)) as? any _CollectionValue else { return }
        try session.wholeOfValues { () throws(DatabaseError) in
            target._assign(try objects(value, property, session, type) ?? [Any](), policy: .all)
        }
    }

    private static func objects<Element: _RealmCollectionValueInsideOptional>(
        _ handle: _CollectionHandle, _ property: MotteSchemaModel.Property, _ type: Element.Type
    ) -> Any { property.isMap ? Map<String, Element?>(handle: handle) : typed(handle, property, type) }

    /// Elements for a collection of objects as such: dictionaries and arrays stand for objects, which are embedded or
    /// made here.
    private static func objects(
        _ value: Any?, _ property: MotteSchemaModel.Property, _ session: RealmSession, _ type: ObjectBase.Type?
    ) throws(DatabaseError) -> Any? {
        guard property.type == .link, let value = Dynamic.flattened(value) else { return value }
        let object = { (value: Any?) throws(DatabaseError) -> Any in
            let made = try session.resolvedObject(value, in: property)
            guard let made, let type, made is DynamicObject, made.session === session, let live = made.live else {
                return made ?? NSNull()
            }
            return session.object(live, as: type)
        }
        if property.isMap {
            guard let entries = Dynamic.entries(value) else { return value }
            var objects: [String: Any] = [:]
            for entry in entries { objects[entry.key] = try object(entry.value) }
            return objects
        }
        guard let elements = Dynamic.elements(value) else { return value }
        var objects: [Any] = []
        for element in elements { objects.append(try object(element)) }
        return objects
    }
}
