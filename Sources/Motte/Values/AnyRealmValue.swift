/// A property or element whose type is decided value by value; nested lists and maps included, to 100 levels.
///
/// What is read from a managed object is live: a list or map in it can be observed and edited in place.
import Foundation
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

/// A value of any type that can be stored, with lists and maps nested to a hundred levels.
public enum AnyRealmValue: _Persistable, RealmCollectionValue, _ObjcBridgeable, _DefaultConstructible, _Indexable,
    MinMaxType, AddableType, SortableType, _QueryNumeric, RealmPropertyType
{
    /// Stored as what it holds, with its type.
    public typealias PersistedType = AnyRealmValue

    /// Null.
    case none
    /// A whole number of 64 bits.
    case int(Int)
    /// True or false.
    case bool(Bool)
    /// A floating-point number of 32 bits.
    case float(Float)
    /// A floating-point number of 64 bits.
    case double(Double)
    /// A text.
    case string(String)
    /// Bytes.
    case data(Data)
    /// A moment.
    case date(Date)
    /// A link to an object that is no embedded one; a ``DynamicObject`` where the program does not declare the class.
    case object(Object)
    /// An identifier of twelve bytes.
    case objectId(ObjectId)
    /// A decimal number of 34 digits.
    case decimal128(Decimal128)
    /// An identifier of sixteen bytes.
    case uuid(UUID)
    /// A map of mixed values. Read from a managed object, it is live and can be changed in place.
    case dictionary(Map<String, AnyRealmValue>)
    /// A list of mixed values. Read from a managed object, it is live and can be changed in place.
    case list(List<AnyRealmValue>)

    /// Null.
    public init() { self = .none }

    // MARK: Payloads, without conversion between numbers

    /// The number, if it is an `Int`; nil otherwise, also for other numbers.
    public var intValue: Int? { if case .int(let value) = self { value } else { nil } }
    /// The value, if it is a `Bool`; nil otherwise.
    public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The number, if it is a `Float`; nil otherwise, also for other numbers.
    public var floatValue: Float? { if case .float(let value) = self { value } else { nil } }
    /// The number, if it is a `Double`; nil otherwise, also for other numbers.
    public var doubleValue: Double? { if case .double(let value) = self { value } else { nil } }
    /// The text, if it is one; nil otherwise.
    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    /// The bytes, if it is data; nil otherwise.
    public var dataValue: Data? { if case .data(let value) = self { value } else { nil } }
    /// The moment, if it is a date; nil otherwise.
    public var dateValue: Date? { if case .date(let value) = self { value } else { nil } }
    /// The identifier, if it is an `ObjectId`; nil otherwise.
    public var objectIdValue: ObjectId? { if case .objectId(let value) = self { value } else { nil } }
    /// The number, if it is a `Decimal128`; nil otherwise, also for other numbers.
    public var decimal128Value: Decimal128? { if case .decimal128(let value) = self { value } else { nil } }
    /// The identifier, if it is a `UUID`; nil otherwise.
    public var uuidValue: UUID? { if case .uuid(let value) = self { value } else { nil } }
    /// The map, if it is one; nil otherwise.
    public var dictionaryValue: Map<String, AnyRealmValue>? { if case .dictionary(let map) = self { map } else { nil } }
    /// The list, if it is one; nil otherwise.
    public var listValue: List<AnyRealmValue>? { if case .list(let list) = self { list } else { nil } }

    /// The object, if it is one of that class, also where it was read as a ``DynamicObject``; nil otherwise.
    public func object<T: Object>(_ type: T.Type) -> T? {
        guard case .object(let object) = self else { return nil }
        if let exact = object as? T { return exact }
        // What was deleted is no object of that class any more.
        guard let live = object.live, let session = object.session, let stored = try? live.type,
            stored.name.hasSameBytes(as: T.className())
        else { return nil }
        return session.object(live, as: T.self)
    }

    /// The object with its properties by name; nil where the value is no managed object.
    public var dynamicObject: DynamicObject? {
        guard case .object(let object) = self, let live = object.live, let session = object.session else { return nil }
        return object as? DynamicObject ?? session.object(live, as: DynamicObject.self)
    }

    /// An unmanaged map with these entries. Keys must not contain `.` nor begin with `$`.
    public static func fromDictionary(_ dictionary: [String: AnyRealmValue]) -> AnyRealmValue {
        .dictionary(Map(unmanaged: dictionary))
    }
    /// An unmanaged list with these elements.
    public static func fromArray(_ array: [AnyRealmValue]) -> AnyRealmValue { .list(List(unmanaged: array)) }

    // MARK: Equality

    /// Whether both are of one type and equal: 1 and 1.0 are not. Objects are equal when they are the same stored
    /// object, lists and maps as these are.
    public static func == (left: AnyRealmValue, right: AnyRealmValue) -> Bool {
        switch (left, right) {
        case (.none, .none): true
        case (.int(let left), .int(let right)): left == right
        case (.bool(let left), .bool(let right)): left == right
        case (.float(let left), .float(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        case (.string(let left), .string(let right)): left == right
        case (.data(let left), .data(let right)): left == right
        case (.date(let left), .date(let right)): left == right
        case (.object(let left), .object(let right)): left == right || left.isSameObject(as: right)
        case (.objectId(let left), .objectId(let right)): left == right
        case (.decimal128(let left), .decimal128(let right)): left == right
        case (.uuid(let left), .uuid(let right)): left == right
        case (.dictionary(let left), .dictionary(let right)): left == right
        case (.list(let left), .list(let right)): left == right
        default: false
        }
    }

    /// By type and value where `==` looks at the value; all lists have one hash, and all maps.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .none: hasher.combine(0)
        case .int(let value): hasher.combine(value)
        case .bool(let value): hasher.combine(value)
        case .float(let value): hasher.combine(value)
        case .double(let value): hasher.combine(value)
        case .string(let value): hasher.combine(value)
        case .data(let value): hasher.combine(value)
        case .date(let value): hasher.combine(value)
        case .object(let value): hasher.combine(value.live?.link)
        case .objectId(let value): hasher.combine(value)
        case .decimal128(let value): hasher.combine(value)
        case .uuid(let value): hasher.combine(value)
        // Their elements change, and managed ones are equal by what they are.
        case .dictionary: hasher.combine(1)
        case .list: hasher.combine(2)
        }
    }

    // MARK: As a property

    public static var _shape: _Shape { _Shape(.mixed, isNullable: true) }
    public static func _default() -> AnyRealmValue { .none }

    public static func _decode(_ stored: _Stored) -> AnyRealmValue? { value(stored.view, stored.session) }

    public static func _get(_ object: ObjectBase, _ column: UInt32) -> AnyRealmValue {
        guard let live = object.live, let session = object.session else { return .none }
        return attempt(or: .none) { () throws(DatabaseError) in
            let view = try live.get(ColumnKey(column))
            if ReadTracking.isOn { session.noteRead(live, column, view) }
            if view.kind == .list || view.kind == .map, let nested = try live.nested(ColumnKey(column)) {
                return AnyRealmValue(nested, session)
            }
            return value(view, session)
        }
    }

    /// A list or map that lives in the store.
    init(_ nested: LiveNested, _ session: RealmSession) {
        let handle = _CollectionHandle(nested, session)
        self = nested.isMap ? .dictionary(Map(handle: handle)) : .list(List._collection(handle))
    }

    private static func value(_ view: ValueView, _ session: RealmSession?) -> AnyRealmValue {
        switch view.kind {
        case .list, .map: return copy(view.owned, session)
        case .bool: return .bool(view.boolValue)
        case .int: return .int(Int(view.intValue))
        case .float: return .float(view.floatValue)
        case .double: return .double(view.doubleValue)
        case .string: return .string(String(decoding: view.bytes, as: UTF8.self))
        case .data: return .data(Data(view.bytes))
        case .timestamp: return .date(Date(view.timestampValue))
        case .decimal: return .decimal128(Decimal128(view.decimalValue))
        case .objectID: return .objectId(ObjectId(view.objectIDValue))
        case .uuid: return .uuid(UUID(view.uuidValue))
        case .link: return session.flatMap { object(view.linkValue, $0) } ?? .none
        case .null, nil: return .none
        }
    }

    private static func object(_ link: ObjectLink, _ session: RealmSession) -> AnyRealmValue? {
        guard
            let live = attempt(
                or: nil, { () throws(DatabaseError) in try session.session.object(link.table, at: link.key) }),
            let object = session.anyObject(live) as? Object
        else { return nil }
        return .object(object)
    }

    /// Detached lists and maps.
    private static func copy(_ value: MotteValues.Value, _ session: RealmSession?) -> AnyRealmValue {
        switch value {
        case .list(let elements): .list(List(unmanaged: elements.map { copy($0, session) }))
        case .map(let entries):
            .dictionary(Map(unmanaged: Dictionary(entries.map { ($0.key, copy($0.value, session)) }) { $1 }))
        default: value.withView { AnyRealmValue.value($0, session) }
        }
    }

    /// As a value of unknown type.
    package static func dynamicValue(_ view: ValueView, _ session: RealmSession? = nil) -> Any? {
        let value = value(view, session)
        return value == .none ? nil : value._payload
    }
    package static func dynamicValue(of value: MotteValues.Value) -> Any? { value.withView { dynamicValue($0) } }

    private var _payload: Any? {
        switch self {
        case .none: nil
        case .int(let value): value
        case .bool(let value): value
        case .float(let value): value
        case .double(let value): value
        case .string(let value): value
        case .data(let value): value
        case .date(let value): value
        case .object(let value): value
        case .objectId(let value): value
        case .decimal128(let value): value
        case .uuid(let value): value
        case .dictionary(let map): map
        case .list(let list): list
        }
    }

    public func _encode(_ encoder: _Encoder) {
        switch self {
        case .none: encoder.put(.null)
        case .int(let value): value._encode(encoder)
        case .bool(let value): value._encode(encoder)
        case .float(let value): value._encode(encoder)
        case .double(let value): value._encode(encoder)
        case .string(let value): value._encode(encoder)
        case .data(let value): value._encode(encoder)
        case .date(let value): value._encode(encoder)
        case .object(let value): encoder.put(object: value)
        case .objectId(let value): value._encode(encoder)
        case .decimal128(let value): value._encode(encoder)
        case .uuid(let value): value._encode(encoder)
        case .dictionary, .list: encoder.put(value: stored(encoder, depth: 0))
        }
    }

    /// Deeper than the store takes is cut, and refused by the store.
    private func stored(_ encoder: _Encoder, depth: Int) -> MotteValues.Value {
        guard depth <= NestedDocument.deepest else { return .list([]) }
        switch self {
        case .list(let list): return .list(list.map { $0.stored(encoder, depth: depth + 1) })
        case .dictionary(let map):
            return .map(
                map.map { MapEntry(key: $0.key, value: $0.value.stored(encoder, depth: depth + 1)) }
                    .sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) })
        case .object(let object): return encoder.link(to: object)
        default: return encoder.nested { _encode($0) }
        }
    }

    public static func _convert(_ value: Any?) -> AnyRealmValue? {
        guard let value = Dynamic.flattened(value) else { return AnyRealmValue.none }
        if let exact = value as? AnyRealmValue { return exact }
        if let object = value as? Object { return .object(object) }
        if let stored = Dynamic.storedValue(value) { return copy(stored, nil) }
        if let entries = Dynamic.entries(value) {
            var map: [String: AnyRealmValue] = [:]
            for entry in entries {
                guard let value = _convert(entry.value) else { return nil }
                map[entry.key] = value
            }
            return fromDictionary(map)
        }
        guard !(value is any _SetValue), let elements = Dynamic.elements(value) else { return nil }
        var list: [AnyRealmValue] = []
        for element in elements {
            guard let value = _convert(element) else { return nil }
            list.append(value)
        }
        return fromArray(list)
    }

    public var _dynamic: Any? { self == .none ? nil : _payload }
    public var _linkedObject: ObjectBase? { if case .object(let object) = self { object } else { nil } }
}

extension AnyRealmValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    /// A text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An `Int`.
    public init(integerLiteral value: Int) { self = .int(value) }
    /// A `Double`.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// A `Bool`.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// An unmanaged list.
    public init(arrayLiteral elements: AnyRealmValue...) { self = .fromArray(elements) }
    /// An unmanaged map; of equal keys the last one counts.
    public init(dictionaryLiteral elements: (String, AnyRealmValue)...) {
        self = .fromDictionary(Dictionary(elements) { $1 })
    }
    /// Null.
    public init(nilLiteral: ()) { self = .none }
}

extension AnyRealmValue: Encodable {
    /// Encodes the value without its type: lists as arrays, maps as dictionaries, identifiers and decimals as text.
    /// Throws `EncodingError.invalidValue` for an object.
    public func encode(to encoder: Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .none: try container.encodeNil()
        case .int(let value): try container.encode(value)
        case .bool(let value): try container.encode(value)
        case .float(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .data(let value): try container.encode(value)
        case .date(let value): try container.encode(value)
        case .objectId(let value): try container.encode(value)
        case .decimal128(let value): try container.encode(value)
        case .uuid(let value): try container.encode(value)
        case .dictionary(let map): try container.encode(map)
        case .list(let list): try container.encode(list)
        case .object(let object):
            throw EncodingError.invalidValue(
                object, .init(codingPath: encoder.codingPath, debugDescription: "an object in an AnyRealmValue"))
        }
    }
}
