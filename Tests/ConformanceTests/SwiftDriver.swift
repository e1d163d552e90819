/// Cases by the Swift API: objects with properties by name, collections, `filter`, `freeze`, `observe`.
///
/// Files and sessions are the engine's, each with a realm over it that belongs to the thread. Between two steps every
/// object and collection is the engine's handle again, so that each call of the Swift API begins with one of its own.
#if canImport(Motte)
import Foundation
import MisuseSupport
import Motte
import MotteLiveObjects
import MotteNotifications
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues

/// A broken rule.
struct BrokenRule: Error, CustomStringConvertible {
    let description: String
    let code: Realm.Error.Code
}

class SwiftCalls: CaseDriver {
    override var bindsQueues: Bool { false }
    private var cores: [ObjectIdentifier: RealmSession] = [:]
    var observed: [String: ObservedEvents] = [:]

    override func end() {
        super.end()
        observed = [:]
        cores = [:]
    }

    func core(_ session: Session) -> RealmSession {
        if let known = cores[ObjectIdentifier(session)] { return known }
        let made = RealmSession(session, Realm.Configuration(inMemoryIdentifier: session.path, objectTypes: []))
        // Versions are moved to by the steps that say so.
        made.autorefresh = false
        cores[ObjectIdentifier(session)] = made
        return made
    }

    func realm(_ session: Session) -> Realm { Realm(core(session)) }

    /// Throws what was misused.
    func swift<T>(_ body: () throws -> T) throws -> T {
        let (outcome, misuses) = try MisuseCollector.collecting(body)
        if let misuse = misuses.first { throw BrokenRule(description: misuse.message, code: misuse.code) }
        return outcome
    }

    /// The Swift API groups errors; where one has no group of its own, any will do.
    override func isExpected(_ error: any Error, _ code: ErrorCode, at offset: Int?) throws -> Bool {
        let found: Realm.Error.Code
        switch error {
        case let error as BrokenRule: found = error.code
        case let error as Realm.Error: found = error.code
        default: return try super.isExpected(error, code, at: offset)
        }
        let expected = Realm.Error(DatabaseError(code, "expected")).code
        let ofNoGroup: Set<Realm.Error.Code> = [.fail, .invalidInput]
        guard found == expected || ofNoGroup.contains(found) && ofNoGroup.contains(expected) else {
            throw CaseFailure("failed with \(found), expected \(expected): \(error)")
        }
        return true
    }

    // MARK: Values

    func any(_ view: ValueView, _ session: Session) -> Any? { AnyRealmValue.dynamicValue(view, core(session)) }

    func value(_ any: Any?) throws -> Value {
        if let value = Dynamic.storedValue(any) { return value }
        // Lists and maps in mixed values.
        if let value = AnyRealmValue._convert(any).flatMap({ Dynamic.storedValue($0) }) { return value }
        throw CaseFailure("'\(String(describing: any))' is no value that can be stored")
    }

    func dynamic(_ live: LiveObject) -> DynamicObject { core(live.session).object(live, as: DynamicObject.self) }

    private func live(_ object: ObjectBase?) throws -> LiveObject? {
        guard let object else { return nil }
        guard let live = object.live else { throw CaseFailure("the object is managed by no realm") }
        return live
    }

    private func name(_ column: ColumnKey, _ table: TableKey, _ session: Session) throws -> String {
        guard let name = try session.schema[table]?.property(column)?.name else { throw CaseFailure("no such column") }
        return name
    }

    // MARK: Transactions

    override func commit(_ session: Session, skipping names: [String]) throws {
        let tokens = try names.map { name in
            guard let known = observed[name] else { throw CaseFailure("the token '\(name)' was not declared") }
            return known.token
        }
        try swift { try realm(session).commitWrite(withoutNotifying: tokens) }
    }
    override func cancel(_ session: Session) throws { try swift { realm(session).cancelWrite() } }
    override func refresh(_ session: Session) throws -> Bool { try swift { realm(session).refresh() } }
    override func freeze(_ session: Session) throws -> Session {
        let frozen = try swift { realm(session).freeze() }
        cores[ObjectIdentifier(frozen.core.session)] = frozen.core
        return frozen.core.session
    }

    // MARK: Objects

    override func find(_ session: Session, _ type: ObjectType, _ key: Value) throws -> LiveObject? {
        guard type.primaryKey != nil else { return try super.find(session, type, key) }
        let given: Any? = key.withView { any($0, session) }
        let key = given ?? NSNull()
        return try live(swift { realm(session).dynamicObject(ofType: type.name, forPrimaryKey: key) })
    }

    override func create(
        _ session: Session, _ type: ObjectType, _ columns: [ColumnKey], _ values: [ValueView],
        _ policy: MotteLiveObjects.UpdatePolicy, isOne: Bool
    ) throws -> LiveObject? {
        guard let table = type.tableKey else { throw CaseFailure("\(type.name) has no table") }
        var given: [String: Any] = [:]
        for (column, view) in zip(columns, values) {
            given[try name(column, table, session)] = any(view, session) ?? NSNull()
        }
        let update: Realm.UpdatePolicy = policy == .error ? .error : policy == .modified ? .modified : .all
        return try live(swift { realm(session).dynamicCreate(type.name, value: given, update: update) })
    }

    override func set(_ object: LiveObject, _ columns: [ColumnKey], _ values: [ValueView], isOne: Bool) throws {
        let dynamic = dynamic(object)
        for (column, view) in zip(columns, values) {
            let name = try name(column, object.table, object.session)
            try swift { dynamic[name] = any(view, object.session) }
        }
    }

    override func get(_ object: LiveObject, _ name: String) throws -> Value {
        try value(swift { dynamic(object)[name] })
    }
    override func target(_ object: LiveObject, _ column: ColumnKey) throws -> LiveObject? {
        let name = try name(column, object.table, object.session)
        return try live(swift { dynamic(object)[name] } as? DynamicObject)
    }
    override func exists(_ object: LiveObject) throws -> Bool { try swift { !dynamic(object).isInvalidated } }
    override func isSame(_ one: LiveObject, _ other: LiveObject) throws -> Bool {
        try swift { dynamic(one).isSameObject(as: dynamic(other)) }
    }
    override func freeze(_ object: LiveObject) throws -> LiveObject {
        let frozen = try swift { dynamic(object).freeze() }
        guard let live = frozen.live, let core = frozen.session else { throw CaseFailure("the object is not managed") }
        cores[ObjectIdentifier(live.session)] = core
        return live
    }
    override func delete(_ object: LiveObject) throws { try swift { realm(object.session).delete(dynamic(object)) } }
    override func delete(_ collection: LiveCollection) throws {
        let realm = realm(collection.session)
        switch wrapped(collection) {
        case let objects as Motte.List<DynamicObject>: try swift { realm.delete(objects) }
        case let objects as MutableSet<DynamicObject>: try swift { realm.delete(objects) }
        case let objects as Results<DynamicObject>: try swift { realm.delete(objects) }
        case let objects as LinkingObjects<DynamicObject>: try swift { realm.delete(objects) }
        case let objects as Map<String, DynamicObject?>: try swift { realm.delete(objects) }
        default: try super.delete(collection)
        }
    }
    override func deleteAll(_ session: Session) throws { try swift { realm(session).deleteAll() } }

    // MARK: Collections

    override func all(_ session: Session, _ name: String) throws -> LiveCollection {
        try handle(swift { realm(session).dynamicObjects(name) })
    }
    override func collection(_ object: LiveObject, _ name: String) throws -> LiveCollection {
        try handle(swift { dynamic(object)[name] })
    }
    override func nested(_ object: LiveObject, _ column: ColumnKey) throws -> LiveCollection? {
        let name = try name(column, object.table, object.session)
        let value = try swift { dynamic(object)[name] }
        return value is any RealmCollection || value is any RealmKeyedCollection ? try handle(value) : nil
    }

    override func filter(_ collection: LiveCollection, _ text: String, _ arguments: [Value]) throws -> LiveCollection {
        let arguments = arguments.map { argument -> Any? in
            // Those with names.
            if case .map(let entries) = argument {
                return Dictionary(
                    uniqueKeysWithValues: entries.map { ($0.key, $0.value.withView { any($0, collection.session) }) })
            }
            return argument.withView { any($0, collection.session) }
        }
        return try derived(collection) { $0.filtered(text, arguments) }
    }
    override func sorted(
        _ collection: LiveCollection, _ keys: [(path: String, isAscending: Bool)]
    ) throws -> LiveCollection {
        let descriptors = keys.map { Motte.SortDescriptor(keyPath: $0.path, ascending: $0.isAscending) }
        return try derived(collection) { $0.sorted(descriptors) }
    }
    override func distinct(_ collection: LiveCollection, _ paths: [String]) throws -> LiveCollection {
        // Of objects as such it is the engine's alone.
        if paths.isEmpty, collection.target != nil { return try super.distinct(collection, paths) }
        return try derived(collection) { $0.distinct(paths) }
    }
    override func freeze(_ collection: LiveCollection) throws -> LiveCollection {
        let frozen = try derived(collection) { $0.frozen() }
        cores[ObjectIdentifier(frozen.session)] = lastCore
        return frozen
    }
    private var lastCore: RealmSession?

    private func derived(
        _ collection: LiveCollection, _ body: (any SwiftCollection) -> _CollectionHandle?
    ) throws -> LiveCollection {
        let swiftly = erased(collection)
        guard let handle = try swift({ body(swiftly) }) else { throw CaseFailure("there is no collection") }
        lastCore = handle.session
        return handle.live
    }

    override func count(_ collection: LiveCollection) throws -> Int {
        let swiftly = erased(collection)
        return try swift { swiftly.count }
    }
    override func elements(_ collection: LiveCollection) throws -> [Value] {
        let swiftly = erased(collection)
        let (single, gone) = try swift { (swiftly.elements, swiftly.iterated) }
        let (values, others) = (try single.map(value), try gone.map(value))
        guard values == others else { throw CaseFailure("an iteration gives \(others), reads of elements \(values)") }
        return values
    }
    override func entries(_ collection: LiveCollection) throws -> [MapEntry] {
        guard let map = erasedMap(collection) else { return try super.entries(collection) }
        let entries = try swift { map.entries }
        return try entries.map { MapEntry(key: $0.key, value: try value($0.value)) }
    }
    override func object(_ collection: LiveCollection, at index: Int) throws -> LiveObject? {
        let swiftly = erased(collection)
        return try live(swift { swiftly.object(at: index) })
    }
    override func index(_ collection: LiveCollection, of value: ValueView) throws -> Int? {
        // Positions of sets are for reading only.
        guard collection.kind != .set else { return try super.index(collection, of: value) }
        let swiftly = erased(collection), value = any(value, collection.session)
        return try swift { swiftly.index(of: value) }
    }
    override func total(
        _ collection: LiveCollection, _ operation: AggregateOperation, _ column: ColumnKey?
    ) throws -> Value {
        let names: [AggregateOperation: String] = [.min: "@min", .max: "@max", .sum: "@sum", .average: "@avg"]
        guard let word = names[operation], collection.kind != .map, collection.kind != .nestedMap else {
            return try super.total(collection, operation, column)
        }
        var path = "self"
        if let column, let target = collection.target { path = try name(column, target, collection.session) }
        let swiftly = erased(collection)
        return try value(swift { swiftly.value("\(word).\(path)") })
    }

    override func list(_ collection: LiveCollection) throws -> any CaseList {
        guard collection.kind == .list || collection.kind == .nestedList else { return try super.list(collection) }
        return SwiftList(self, collection, try EditedList(collection))
    }
    override func clear(_ collection: LiveCollection) throws {
        guard let edited = wrapped(collection) as? any SwiftEdited else { return try super.clear(collection) }
        try swift { edited.removeAll() }
    }
    override func assign(_ collection: LiveCollection, _ values: [ValueView]) throws {
        guard let elements = collection as? LiveElements else { return try super.assign(collection, values) }
        let owner = dynamic(elements.owner)
        let name = try name(elements.column, elements.owner.table, collection.session)
        try swift { owner[name] = values.map { any($0, collection.session) ?? NSNull() } as [Any] }
    }

    override func add(_ set: LiveSet, _ values: [ValueView]) throws -> Int {
        guard let edited = wrapped(set) as? any SwiftSet else { return try super.add(set, values) }
        let before = try count(set)
        let given = values.map { any($0, set.session) }
        guard try swift({ edited.add(given) }) else { return try super.add(set, values) }
        return try count(set) - before
    }
    override func remove(_ set: LiveSet, _ value: ValueView) throws -> Bool {
        guard let edited = wrapped(set) as? any SwiftSet else { return try super.remove(set, value) }
        let before = try count(set)
        let given = any(value, set.session)
        guard try swift({ edited.discard(given) }) else { return try super.remove(set, value) }
        return try count(set) < before
    }
    private func combine(
        _ set: LiveSet, _ other: LiveCollection, _ body: (any SwiftSet, Any) -> Bool
    ) throws -> Bool {
        guard other is LiveSet, let mine = wrapped(set) as? any SwiftSet, let theirs = wrapped(other) else {
            return false
        }
        return try swift { body(mine, theirs) }
    }
    override func unite(_ set: LiveSet, _ other: LiveCollection) throws {
        if try !combine(set, other, { $0.unite($1) }) { try super.unite(set, other) }
    }
    override func intersect(_ set: LiveSet, _ other: LiveCollection) throws {
        if try !combine(set, other, { $0.intersect($1) }) { try super.intersect(set, other) }
    }
    override func subtract(_ set: LiveSet, _ other: LiveCollection) throws {
        if try !combine(set, other, { $0.subtractAll($1) }) { try super.subtract(set, other) }
    }
    override func relation(_ set: LiveSet, _ other: LiveCollection) throws -> LiveSet.Relation {
        var relation: LiveSet.Relation = []
        let isKnown = try combine(set, other) { mine, theirs in
            guard let found = mine.relation(to: theirs) else { return false }
            if found.isSubset { relation.insert(.isSubset) }
            if found.isSuperset { relation.insert(.isSuperset) }
            if found.intersects { relation.insert(.intersects) }
            return true
        }
        return isKnown ? relation : try super.relation(set, other)
    }

    override func put(_ map: LiveMap, _ key: UnsafeRawBufferPointer, _ value: ValueView) throws -> Bool {
        guard let edited = erasedMap(map), let text = String(validating: key) else {
            return try super.put(map, key, value)
        }
        let isNew = try swift { !edited.has(text) }
        let given = any(value, map.session)
        guard try swift({ edited.put(given, text) }) else { return try super.put(map, key, value) }
        return isNew
    }
    override func remove(_ map: LiveMap, _ key: UnsafeRawBufferPointer) throws -> Bool {
        guard let edited = erasedMap(map), let text = String(validating: key) else { return try super.remove(map, key) }
        let isThere = try swift { edited.has(text) }
        try swift { edited.remove(text) }
        return isThere
    }
    override func has(_ map: LiveMap, _ key: UnsafeRawBufferPointer) throws -> Bool {
        guard let edited = erasedMap(map), let text = String(validating: key) else { return try super.has(map, key) }
        return try swift { edited.has(text) }
    }
}

extension String {
    /// nil for what is no UTF-8.
    init?(validating bytes: UnsafeRawBufferPointer) {
        guard let text = String(validatingCString: bytes.map { CChar(bitPattern: $0) } + [0]) else { return nil }
        self = text
    }
}
#endif
