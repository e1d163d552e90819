/// What a case does with objects and collections, apart from its words: here by the engine's own calls. `SwiftDriver`
/// does the same through the Swift API; what that cannot do (conformance-skips.txt) stays as it is here.
import MotteLiveObjects
import MotteNotifications
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues

class CaseDriver {
    /// Whether the runner delivers through a queue of the engine.
    var bindsQueues: Bool { true }
    var tokens: [String: Observation] = [:]

    func end() { tokens = [:] }

    /// Whether what a step threw is what the case expects.
    func isExpected(_ error: any Error, _ code: ErrorCode, at offset: Int?) throws -> Bool {
        guard let error = error as? DatabaseError else { return false }
        if error.code != code { throw CaseFailure("failed with \(CaseRunner.headerName(error.code)): \(error)") }
        if error.message.isEmpty { throw CaseFailure("the error has no message") }
        if let offset, error.details.queryOffset != offset {
            throw CaseFailure("the error is at offset \(error.details.queryOffset ?? -1): \(error)")
        }
        return true
    }

    // MARK: Transactions

    func beginWrite(_ session: Session, timeoutMilliseconds limit: Int64) throws {
        try session.beginWrite(timeoutMilliseconds: limit)
    }
    func commit(_ session: Session, skipping names: [String]) throws {
        let skipped = try names.map(token)
        let version = try skipped.isEmpty ? session.commit() : session.commit(skipping: skipped)
        if try session.version != version { throw CaseFailure("the commit's version is not the session's") }
    }
    func cancel(_ session: Session) throws { try session.cancel() }
    func refresh(_ session: Session) throws -> Bool { try session.refresh() }
    func freeze(_ session: Session) throws -> Session { try session.freeze() }
    func close(_ session: Session) throws { try session.close() }
    /// Delivers what waits; false where the runner's own queue does that.
    func dispatch(_ session: Session) throws -> Bool { false }

    // MARK: Objects

    func find(_ session: Session, _ type: ObjectType, _ key: Value) throws -> LiveObject? {
        guard let table = type.tableKey else { throw CaseFailure("\(type.name) has no table") }
        return try session.find(table, primaryKey: key)
    }

    /// `isOne` is one of two ways.
    func create(
        _ session: Session, _ type: ObjectType, _ columns: [ColumnKey], _ values: [ValueView],
        _ policy: UpdatePolicy, isOne: Bool
    ) throws -> LiveObject? {
        guard let table = type.tableKey else { throw CaseFailure("\(type.name) has no table") }
        if columns.isEmpty || (isOne && columns.count == 1 && columns.first == type.primaryKey?.columnKey) {
            return try session.create(
                table, primaryKey: values.first?.owned, returnExisting: policy != .error
            ).object
        }
        return try values.withUnsafeBufferPointer { buffer in
            if policy != .error || !isOne {
                return try session.upsert(table, columns: columns, values: buffer, policy: policy).object
            }
            return try session.object(table, at: session.create(table, columns: columns, values: buffer).key)
        }
    }

    func set(_ object: LiveObject, _ columns: [ColumnKey], _ values: [ValueView], isOne: Bool) throws {
        if columns.count == 1, isOne { return try object.set(columns[0], to: values[0]) }
        try values.withUnsafeBufferPointer { buffer in try object.setMany(columns, values: buffer) }
    }

    func get(_ object: LiveObject, _ name: String) throws -> Value { try object.get(name) }
    func target(_ object: LiveObject, _ column: ColumnKey) throws -> LiveObject? { try object.object(column) }
    func exists(_ object: LiveObject) throws -> Bool { try object.exists() }
    func isSame(_ one: LiveObject, _ other: LiveObject) throws -> Bool { one.isSame(as: other) }
    func freeze(_ object: LiveObject) throws -> LiveObject { try object.freeze() }
    func delete(_ object: LiveObject) throws { try object.delete() }
    func delete(_ collection: LiveCollection) throws { try collection.deleteObjects() }
    func deleteAll(_ session: Session) throws { try session.deleteAll() }

    // MARK: Collections

    func all(_ session: Session, _ name: String) throws -> LiveCollection { try session.objects(name) }
    func collection(_ object: LiveObject, _ name: String) throws -> LiveCollection { try object.collection(name) }
    func nested(_ object: LiveObject, _ column: ColumnKey) throws -> LiveCollection? { try object.nested(column) }
    func filter(_ collection: LiveCollection, _ text: String, _ arguments: [Value]) throws -> LiveCollection {
        try collection.filter(text, Arguments(arguments))
    }
    func sorted(_ collection: LiveCollection, _ keys: [(path: String, isAscending: Bool)]) throws -> LiveCollection {
        try collection.sorted(by: keys)
    }
    func distinct(_ collection: LiveCollection, _ paths: [String]) throws -> LiveCollection {
        try collection.distinct(by: paths)
    }
    func freeze(_ collection: LiveCollection) throws -> LiveCollection { try collection.freeze() }

    func count(_ collection: LiveCollection) throws -> Int { try collection.count() }
    func elements(_ collection: LiveCollection) throws -> [Value] {
        try (0 ..< collection.count()).map { try collection.value(at: $0).owned }
    }
    /// Of a map, in the order of the keys' bytes.
    func entries(_ collection: LiveCollection) throws -> [MapEntry] {
        try (0 ..< collection.count()).map { index in
            let key: UnsafeRawBufferPointer
            switch collection {
            case let map as LiveMap: key = try map.mapKey(at: index)
            case let map as LiveNested: key = try map.mapKey(at: index)
            default: throw CaseFailure("this is no map")
            }
            let text = String(decoding: key, as: UTF8.self)
            return MapEntry(key: text, value: try collection.value(at: index).owned)
        }
    }
    func object(_ collection: LiveCollection, at index: Int) throws -> LiveObject? {
        try collection.object(at: index)
    }
    func index(_ collection: LiveCollection, of value: ValueView) throws -> Int? { try collection.find(value) }
    func total(_ collection: LiveCollection, _ operation: AggregateOperation, _ column: ColumnKey?) throws -> Value {
        try collection.aggregate(operation, column)
    }

    func list(_ collection: LiveCollection) throws -> any CaseList { try EditedList(collection) }
    func clear(_ collection: LiveCollection) throws {
        switch collection {
        case let list as LiveList: try list.clear()
        case let set as LiveSet: try set.clear()
        case let map as LiveMap: try map.clear()
        case let nested as LiveNested: try nested.clear()
        default: throw CaseFailure("this collection is computed")
        }
    }
    func assign(_ collection: LiveCollection, _ values: [ValueView]) throws {
        switch collection {
        case let list as LiveList: try list.assign(values)
        case let set as LiveSet: try set.assign(values)
        default: throw CaseFailure("this is neither list nor set")
        }
    }

    /// How many were new.
    func add(_ set: LiveSet, _ values: [ValueView]) throws -> Int {
        values.count == 1 ? try set.insert(values[0]).inserted ? 1 : 0 : try set.insert(values)
    }
    func remove(_ set: LiveSet, _ value: ValueView) throws -> Bool { try set.remove(value) }
    func unite(_ set: LiveSet, _ other: LiveCollection) throws { try set.formUnion(other) }
    func intersect(_ set: LiveSet, _ other: LiveCollection) throws { try set.formIntersection(other) }
    func subtract(_ set: LiveSet, _ other: LiveCollection) throws { try set.subtract(other) }
    func relation(_ set: LiveSet, _ other: LiveCollection) throws -> LiveSet.Relation { try set.relation(to: other) }

    /// Whether the key is new.
    func put(_ map: LiveMap, _ key: UnsafeRawBufferPointer, _ value: ValueView) throws -> Bool {
        try map.put(key, value)
    }
    func remove(_ map: LiveMap, _ key: UnsafeRawBufferPointer) throws -> Bool { try map.remove(key) }
    func has(_ map: LiveMap, _ key: UnsafeRawBufferPointer) throws -> Bool { try map.has(key) }

    // MARK: Changes

    func token(_ name: String) throws -> Observation {
        guard let token = tokens[name] else { throw CaseFailure("the token '\(name)' was not declared") }
        return token
    }
    func observe(_ name: String, _ paths: [String]?, _ object: LiveObject) throws {
        tokens[name] = try object.observe(keyPaths: paths)
    }
    func observe(_ name: String, _ paths: [String]?, _ collection: LiveCollection) throws {
        tokens[name] = try collection.observe(keyPaths: paths)
    }
    func observe(_ name: String, _ session: Session) throws { tokens[name] = try session.observe(nil) }
    func stop(_ name: String) throws { try token(name).stop() }

    /// Whether these are the next changes, in the words of a case.
    func expectChanges(
        _ name: String, _ expected: String, _ text: (ChangeSet) throws -> String
    ) throws {
        let actual: String
        switch try token(name).next() {
        case .pending: actual = "none"
        case .end: actual = "end"
        case .changes(let changes): actual = try text(changes)
        }
        if actual != expected { throw CaseFailure("changes are \(actual)") }
    }
}

/// A list that can be changed.
protocol CaseList {
    func count() throws -> Int
    func insert(_ values: [ValueView], at index: Int) throws
    func set(_ index: Int, to value: ValueView) throws
    func remove(at index: Int, count: Int) throws
    func move(from index: Int, to target: Int) throws
    func swap(_ index: Int, _ other: Int) throws
    func splice(at index: Int, removing count: Int, inserting values: [ValueView]) throws
}
